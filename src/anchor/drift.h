/* Candidates of a fit, and the contest of those that leave the level of the window; not for others.
 */
#ifndef LL_ANCHOR_DRIFT_H
#define LL_ANCHOR_DRIFT_H

#include "anchor/window.h"

/* One candidate: what is fitted, and from where. */
typedef struct anchor_attempt {
    int              number;  /* its notes are kernel.number */
    int64_t          before;  /* steps before it, as the watch counts */
    int64_t          n_steps; /* of its fit */
    ll_chain_opts    chain;
    double           kappa;
    ll_anchor_kernel start;
    bool             learn_omega;
} anchor_attempt;

/* Fits and scores it. Caller owns *out. */
llap_status anchor_candidate(const ll_anchor_data *d, const ll_anchor_model_opts *o,
                             const anchor_attempt *a, ll_anchor_model **out);

/* Keeps in *best the one that validation prefers: other must be better by the share `gain`, which
 * may be negative. Takes other (NULL: there is none) and says whether it was. */
bool anchor_prefer(ll_anchor_model **best, ll_anchor_model *other, double gain);

/* From the first to the last training row, in the unit of time. */
double anchor_train_span(const ll_anchor_data *d);
#define ANCHOR_YEAR 8766.0 /* hours */

/* Gives k a level, or a slope, with the numbers that a fit starts from. */
void anchor_start_level(ll_anchor_kernel *k, const ll_anchor_spec *spec, bool slope);

/* Mean square of the scales of training windows: what a kernel of the window's scale is multiplied
 * by where windows have no scale of their own. */
llap_status anchor_mean_scale(const ll_anchor_data *d, const ll_anchor_model *m, double *out);
void        anchor_kernel_scale(ll_anchor_kernel *k, double scale);

/* Share of the validation windows whose level (the mean of u over the context) lies outside those
 * of all training windows of their series. Climate and known inputs are off in u and hide no
 * growth. */
llap_status anchor_levels_outside(const ll_anchor_data *d, const ll_anchor_model *m, double *out);

/* Kernels that periods are tried with: 0, where there is no question of any. And the trial, after
 * which o says how the rest is fitted. */
int         anchor_period_kernels(const ll_anchor_model_opts *o);
llap_status anchor_choose_periods(const ll_anchor_data *d, ll_anchor_model_opts *o,
                                  ll_anchor_model **best);

/* Fits at most, ten candidates and those of walk_choose.h, and the steps of each: they start from
 * the kernel of *best. */
enum { ANCHOR_DRIFTS = 13 };
int64_t anchor_drift_steps(const ll_anchor_model_opts *o);

/* Puts another curve, drift or scale in the place of *best where validation is clearly for it. */
llap_status anchor_choose_drift(const ll_anchor_data *d, const ll_anchor_model_opts *o,
                                ll_anchor_model **best);

#endif
