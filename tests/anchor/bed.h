/* One long series and a whole fit of it; for the tests of this folder. */
#ifndef TESTS_ANCHOR_BED_H
#define TESTS_ANCHOR_BED_H

#include "dense.h"

#include "anchor/model.h"

enum { ROWS = 1500, ORIGINS = 2000 };
typedef struct bed {
    double    t[ROWS], y[ROWS];
    ll_series series;
    ll_origin train[ORIGINS], valid[ORIGINS];
    size_t    rows;
} bed;

/* 70 % of the rows train, the next 10 % choose. */
static inline ll_anchor_model *fit_bed(bed *b, double context, double horizon, bool hourly)
{
    const size_t train = ROWS * 7 / 10, test = ROWS * 8 / 10;
    size_t       n_train = 0, n_valid = 0;
    b->series = (ll_series){ .n = ROWS, .t = b->t, .y = b->y };
    b->rows = train;
    for (size_t i = 0; i < test; i++) {
        const double gap = b->t[1] - b->t[0], t = b->t[i];
        if (t - b->t[0] < context) continue;
        if (t + horizon <= b->t[train - 1]) b->train[n_train++] = (ll_origin){ 0, t };
        else if (i >= train && i % 3 == 0 && t + horizon <= b->t[test - 1] + gap / 2)
            b->valid[n_valid++] = (ll_origin){ 0, t };
    }
    ll_anchor_model_opts o = LL_ANCHOR_MODEL_DEFAULT;
    o.spec = (ll_anchor_spec){ .context = context, .horizon = horizon };
    o.chain.curve = LL_CURVE_TAILS;
    o.chain.climate = false;
    if (!hourly) CHECK_OK(ll_anchor_kernel_spaced(2, context, 4, &o.start));
    o.fit.learn_omega = !hourly;
    o.kappa = 4;
    o.fit.n_steps = 80;
    o.fit.n_rows = 16;
    const ll_anchor_data d = { .series = &b->series,
                               .n_series = 1,
                               .train_rows = &b->rows,
                               .train = b->train,
                               .n_train = n_train,
                               .valid = b->valid,
                               .n_valid = n_valid };
    ll_anchor_model     *m = NULL;
    CHECK_OK(ll_anchor_model_fit(&d, &o, &m));
    return m;
}

#endif
