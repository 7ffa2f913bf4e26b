/* Panels of random shape for property tests: rows on an hourly grid with holes, or at any second;
 * cells observed, carried forward or missing. */
#ifndef LLAP_TESTS_DATA_RANDOM_PANEL_H
#define LLAP_TESTS_DATA_RANDOM_PANEL_H

#include "check.h"

#include "base/rng/rng.h"
#include "data/panel.h"

static const int64_t hour_ns = INT64_C(3600000000000);

typedef struct random_shape {
    int64_t n_entities, n_vars, n_rows; /* rows at most, per entity */
    bool    grid;
    double  drop, missing, filled;
} random_shape;

static inline llap_panel *random_panel(uint64_t seed, const random_shape *s)
{
    enum { MAX = 16 };
    const char *entity[MAX], *var[MAX];
    char        text[2][MAX][8];
    int64_t     start[MAX + 1] = { 0 };
    assert_true(s->n_entities <= MAX && s->n_vars <= MAX);
    const ll_rng r = ll_rng_make(seed, LL_STREAM_TEST, 0, 0, 0);
    uint64_t     k = 0;
    for (int64_t i = 0; i < MAX; i++) {
        snprintf(text[0][i], 8, "e%02d", (int)i);
        snprintf(text[1][i], 8, "v%d", (int)i);
        entity[i] = text[0][i];
        var[i] = text[1][i];
    }
    for (int64_t e = 0; e < s->n_entities; e++)
        start[e + 1] =
            start[e] + s->n_rows - (int64_t)ll_rng_below(&r, 1000 + (uint64_t)e, 4) * s->n_rows / 5;
    ll_panel_draft d = { .axis = LL_AXIS_UTC,
                         .n_entities = s->n_entities,
                         .n_vars = s->n_vars,
                         .entity = entity,
                         .var = var,
                         .start = start };
    llap_panel    *p;
    CHECK_OK(ll_panel_create(&d, &p));
    k = 100000;
    for (int64_t e = 0; e < s->n_entities; e++) {
        int64_t t = s->grid ? (int64_t)ll_rng_below(&r, 2000 + (uint64_t)e, 3) : 0;
        for (int64_t row = start[e]; row < start[e + 1]; row++) {
            if (s->grid) {
                t += 1 + ((double)ll_rng_uniform(&r, k++) < s->drop);
                d.time[row] = t * hour_ns;
            } else {
                t += 1 + (int64_t)(7000 * ll_rng_uniform(&r, k++));
                d.time[row] = t * INT64_C(1000000000);
            }
            for (int64_t v = 0; v < s->n_vars; v++) {
                const int64_t c = row * s->n_vars + v;
                const double  u = (double)ll_rng_uniform(&r, k++);
                const float   x = 10.0f * (float)v + ll_rng_normal(&r, 4 * k++);
                if (u < s->missing) continue;
                d.value[c] = x;
                if (u >= s->missing + s->filled) ll_bit_set(d.observed, c);
            }
        }
    }
    CHECK_OK(ll_panel_check(p));
    return p;
}

#endif
