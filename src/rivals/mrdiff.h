/* mr-Diff (Shen et al. 2024): the series is smoothed by wider and wider kernels; a diffusion for
 * each resolution predicts the clean trend of the horizon, coarsest first, given a linear guess
 * from the history and the coarser result.
 *
 *     docs/spec/rivals.md 11 */
#ifndef LL_RIVALS_MRDIFF_H
#define LL_RIVALS_MRDIFF_H

#include "rivals/common.h"

enum { LL_MRDIFF_STAGES = 8 }; /* at most */

typedef struct ll_mrdiff_config {
    int64_t        horizon; /* H; the queries are the next H rows */
    ll_reals       kernels; /* odd; a stage more than there are, the first is the series */
    int64_t        step_width, width, width_in, width_enc;
    int            layers_in, layers_enc, layers_dec;
    double         clip, dropout;
    double         mixed; /* share of training's windows whose guesses are mixed with the truth */
    ll_noise_steps steps;
} ll_mrdiff_config;

typedef struct ll_mrdiff_in {
    ll_tensor *x, *m;    /* [B,K,C], filled; what was observed */
    ll_tensor *side;     /* [B,H,.] of the query rows; or NULL */
    bool       training; /* batch statistics; dropout is cfg's */
} ll_mrdiff_in;

typedef struct ll_mrdiff_noise { /* of a step of training */
    ll_tensor *t;                /* int [S,B] */
    ll_tensor *eps, *mix;        /* [S,B,C,H]; mix uniform on [0,1) */
} ll_mrdiff_noise;

/* The mean over the stages of the masked squared error of the clean trend; y, my [B,H,C]. Notes
 * stages.0.z .., stages.0.pred .. ([B,C,H]), x_trend_last, losses [S]. */
ll_tensor *ll_mrdiff_loss(ll_graph *g, const ll_mrdiff_config *cfg, const ll_mrdiff_in *in,
                          ll_tensor *y, ll_tensor *my, const ll_mrdiff_noise *noise);

/* Sampling step by step, from the coarsest stage to the finest: the guesses z [B,H,C] of all
 * stages, and what takes the finest result back to the units of x; and what the clean trend of a
 * stage is taken to be, given the noisy one, its guess and the coarser result (NULL: it is the
 * coarsest), [N,H,C] each; waves [1 or N,.] of the step. */
int        ll_mrdiff_stages(const ll_mrdiff_config *cfg);
ll_revin   ll_mrdiff_guesses(ll_graph *g, const ll_mrdiff_config *cfg, const ll_mrdiff_in *in,
                             ll_tensor *z[LL_MRDIFF_STAGES]);
ll_tensor *ll_mrdiff_clean(ll_graph *g, const ll_mrdiff_config *cfg, const ll_mrdiff_in *in,
                           int stage, ll_tensor *y_t, ll_tensor *z, ll_tensor *coarse,
                           ll_tensor *waves);

/* noise [S,T + 1,N,C,H], N = B samples: the start, then one for each step, the last not used.
 * -> [N,H,C] in the units of x. Notes stages.0.z .., stages.0.drawn .., x_trend_last. */
ll_tensor *ll_mrdiff_sample(ll_graph *g, const ll_mrdiff_config *cfg, const ll_mrdiff_in *in,
                            ll_tensor *noise);

#endif
