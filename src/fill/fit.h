/* Fitting a filling on readings hidden on purpose (docs/spec/filling.md 4 and 7).
 *
 *     ll_filling *f;                              names, targets, step and day are the caller's
 *     st = ll_filling_create(n_vars, n_entities, n_near, &f);
 *     if (st == LLAP_OK) st = ll_filling_fit(f, &data, bend, true, &score);
 *
 * Twice, with curves and without, each with trees of its own: the lower score on validation is
 * better. */
#ifndef LL_FILL_FIT_H
#define LL_FILL_FIT_H

#include "fill/hide.h"

typedef struct ll_fill_data {
    ll_fill_table  table;     /* without its index; u in the units of the data */
    const uint8_t *train;     /* [n_rows] else validation */
    bool           by_entity; /* entities are independent */
    uint64_t       seed;
    llap_progress  progress;
} ll_fill_data;

/* score: mean CRPS of hidden validation cells of targets, in deviations of training; NaN where
 * there are none. LLAP_ENOMEM, LLAP_ECANCELLED. */
llap_status ll_filling_fit(ll_filling *f, const ll_fill_data *d, bool bend, bool trees,
                           double *score);

/* 2 sum c pinball of quantiles at LL_FILL_LEVELS. */
double ll_fill_crps(const double *q, double truth);

#endif
