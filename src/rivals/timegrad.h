/* TimeGrad (Rasul et al. 2021): a recurrent network reads lagged values; at each row a small
 * diffusion draws the vector of all series given its state, and the draw is fed back.
 *
 *     docs/spec/rivals.md 5 */
#ifndef LL_RIVALS_TIMEGRAD_H
#define LL_RIVALS_TIMEGRAD_H

#include "rivals/common.h"

enum { LL_TIMEGRAD_LAGS = 8, LL_TIMEGRAD_LAYERS = 4 }; /* at most */

typedef struct ll_timegrad_config {
    ll_reals       lags; /* rows back, increasing, from 1 */
    int64_t        cells, cond;
    int            n_layers;                          /* of the recurrent network */
    double         dropout;                           /* between them */
    int64_t        channels, step_width, step_hidden; /* the table of steps is 2 step_width wide */
    int            n_blocks, dilation_cycle;
    double         min_scale;
    ll_noise_steps steps;
} ll_timegrad_config;

int64_t ll_timegrad_longest(const ll_timegrad_config *cfg); /* lag */

typedef struct ll_timegrad_in {
    ll_tensor *series;   /* [B,K + H,D], filled over context and horizon; [B,K,D] to sample */
    ll_tensor *observed; /* the same of masks */
    ll_tensor *time;     /* [B,K - longest lag + H,.] of the rows that are read */
    int64_t    context;  /* K */
} ll_timegrad_in;

/* Mean of |x| of each series over the context behind the longest lag, [B,1,D]; x is 0 where
 * observed is. */
ll_tensor *ll_timegrad_scale(ll_graph *g, const ll_timegrad_config *cfg, ll_tensor *x,
                             ll_tensor *observed);

/* The noise in x [N,1,D], given cond [N,1,cond] and the waves [1 or N,.] of the step. */
ll_tensor *ll_timegrad_noise(ll_graph *g, const ll_timegrad_config *cfg, ll_tensor *x,
                             ll_tensor *waves, ll_tensor *cond);
ll_tensor *ll_timegrad_waves(ll_graph *g, const ll_timegrad_config *cfg, ll_tensor *t);

/* The masked squared error over all rows that are read: t int [B rows], eps [B rows,1,D]. *found
 * may be NULL. Notes inputs, rnn. */
ll_tensor *ll_timegrad_loss(ll_graph *g, const ll_timegrad_config *cfg, const ll_timegrad_in *in,
                            ll_tensor *scale, ll_tensor *t, ll_tensor *eps, ll_tensor **found);

/* Sampling goes row by row: read has the states behind the context, state [n_layers], [B,cells]
 * each; then, for query r from 0, draw the row: cond of the state, the reverse steps, and feed it
 * back. lagged [N,n_lags,D] are the rows that it looks back at, seen [N,D] the mask of the row
 * before. */
void ll_timegrad_read(ll_graph *g, const ll_timegrad_config *cfg, const ll_timegrad_in *in,
                      ll_tensor *scale, ll_tensor *state[LL_TIMEGRAD_LAYERS]);

typedef struct ll_timegrad_row {
    ll_tensor *lagged, *seen;
    ll_tensor *time;                      /* [N,.] */
    ll_tensor *scale;                     /* [N,1,D] */
    ll_tensor *state[LL_TIMEGRAD_LAYERS]; /* in; then out */
    ll_tensor *noise; /* [T + 1,N,D]: the start, then one for each step, the last not used */
} ll_timegrad_row;
/* The first half of drawing: what the row is given by, [N,1,cond]; row->state moves on. */
ll_tensor *ll_timegrad_cond(ll_graph *g, const ll_timegrad_config *cfg, ll_timegrad_row *row);
ll_tensor *ll_timegrad_draw(ll_graph *g, const ll_timegrad_config *cfg, ll_timegrad_row *row);

/* All of it in one graph: noise [H,T + 1,N,D], N = B samples -> [N,H,D] */
ll_tensor *ll_timegrad_sample(ll_graph *g, const ll_timegrad_config *cfg, const ll_timegrad_in *in,
                              ll_tensor *scale, ll_tensor *noise);

#endif
