/* Forecasts of an anchor model at origins where the truth is known: how good they are, and what
 * calibrates them; not for others. */
#ifndef LL_ANCHOR_TRIAL_H
#define LL_ANCHOR_TRIAL_H

#include "anchor/window.h"

typedef struct anchor_trial {
    const anchor_rows *rows; /* [n_series] */
    const ll_origin   *origin;
    size_t             n;
    anchor_batch       batch; /* with means and variances */
} anchor_trial;

/* rows, of m's chain, and origin [n] are borrowed until deinit. points: as anchor_cut has it. */
llap_status anchor_trial_init(anchor_trial *t, const ll_anchor_model *m, const anchor_rows *rows,
                              size_t n_series, const ll_origin *origin, size_t n, size_t points);
void        anchor_trial_deinit(anchor_trial *t);

/* Mean CRPS of the values as measured, in deviations of training; NaN: none is known. The batch
 * holds forecasts for origin [batch->n]. */
llap_status anchor_score(const ll_anchor_model *m, const anchor_batch *b, const anchor_rows *rows,
                         const ll_origin *origin, double *crps);

/* Sets m's calibration from them. */
llap_status anchor_calibrate(ll_anchor_model *m, const anchor_batch *b, const ll_origin *origin,
                             double near, double middle);

#endif
