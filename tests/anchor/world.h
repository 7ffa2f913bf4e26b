/* A small world for tests of whole anchor models: three stations, and the parts of a training. */
#ifndef LLAP_TESTS_ANCHOR_WORLD_H
#define LLAP_TESTS_ANCHOR_WORLD_H

#include "anchor/model.h"
#include "dense.h"

/* Three stations with a daily cycle, slow weather and noise; hours, a tenth missing. */
enum { N = 900, SERIES = 3, TRAIN = 600, VALID = 750, CONTEXT = 96, HORIZON = 12 };
typedef struct world {
    double    t[N], y[SERIES][N];
    ll_series s[SERIES];
    size_t    train_rows[SERIES];
    ll_origin train[SERIES * N], valid[SERIES * N];
    size_t    n_train, n_valid;
} world;

static inline world *world_of_period(double period)
{
    static world wd;
    dice         d = { 51 };
    wd.n_train = wd.n_valid = 0;
    for (int i = 0; i < N; i++) wd.t[i] = 400000 + i;
    for (size_t e = 0; e < SERIES; e++) {
        double weather = 0;
        for (int i = 0; i < N; i++) {
            weather += -0.05 * weather + 0.3 * roll_normal(&d);
            const double f = sin(6.283185307179586 * i / period) + weather + 0.1 * roll_normal(&d);
            wd.y[e][i] = roll(&d) < 0.1 ? NAN : 20 + 5 * (double)(e + 1) * f;
        }
        wd.s[e] = (ll_series){ .n = N, .t = wd.t, .y = wd.y[e] };
        wd.train_rows[e] = TRAIN;
        for (int i = CONTEXT; i + HORIZON < TRAIN; i += 3)
            wd.train[wd.n_train++] = (ll_origin){ e, wd.t[i] };
        for (int i = TRAIN; i + HORIZON < VALID; i += 5)
            wd.valid[wd.n_valid++] = (ll_origin){ e, wd.t[i] };
    }
    return &wd;
}

static inline world *world_make(void) { return world_of_period(24); }

static inline ll_anchor_data data_of(const world *wd)
{
    return (ll_anchor_data){ wd->s,     SERIES,      wd->train_rows, wd->train, wd->n_train,
                             wd->valid, wd->n_valid, NULL,           0,         { 0 } };
}

static inline ll_anchor_model_opts small_opts(void)
{
    ll_anchor_model_opts o = LL_ANCHOR_MODEL_DEFAULT;
    o.spec = (ll_anchor_spec){ .context = CONTEXT, .horizon = HORIZON };
    o.fit.n_steps = 30;
    o.fit.n_rows = 16;
    o.link = true;
    return o;
}

#endif
