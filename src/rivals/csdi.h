/* CSDI (Tashiro et al. 2021): a diffusion on a grid of features and times; what is visible guides
 * the rest through residual blocks with a transformer layer over times and one over features.
 *
 *     docs/spec/rivals.md 10 */
#ifndef LL_RIVALS_CSDI_H
#define LL_RIVALS_CSDI_H

#include "rivals/common.h"

typedef struct ll_csdi_config {
    int64_t        channels, step_width, time_width, feature_width, ff;
    int            n_heads, n_blocks;
    double         dropout;
    ll_noise_steps steps;
} ll_csdi_config;

typedef struct ll_csdi_in {
    ll_tensor *x, *visible; /* [B,F,L]: values; which of them guide (0 or 1) */
    ll_tensor *times;       /* [B,L], in steps */
} ll_csdi_in;

/* The noise in x_t: x_t [N,F,L], N = B or a multiple of it (samples of a window side by side);
 * waves [1 or N,.] of the step, ll_step_waves with half of step_width. -> [N,F,L] */
ll_tensor *ll_csdi_noise(ll_graph *g, const ll_csdi_config *cfg, const ll_csdi_in *in,
                         ll_tensor *x_t, ll_tensor *waves);

/* sum (observed - visible) (noise - eps)^2 / max(count, 1); t int [B], eps [B,F,L]. *found, the
 * noise, may be NULL. */
ll_tensor *ll_csdi_loss(ll_graph *g, const ll_csdi_config *cfg, const ll_csdi_in *in,
                        ll_tensor *observed, ll_tensor *t, ll_tensor *eps, ll_tensor **found);

/* noise [T,N,F,L]: the start, then what steps T-1 .. 1 add. -> [N,F,L]; visible cells too are
 * drawn. Notes eps_first. */
ll_tensor *ll_csdi_sample(ll_graph *g, const ll_csdi_config *cfg, const ll_csdi_in *in,
                          ll_tensor *noise);
/* Visible cells as they are, the others as drawn. */
ll_tensor *ll_csdi_filled(ll_graph *g, const ll_csdi_in *in, ll_tensor *sample);

#endif
