/* What comes after an origin changes no bit of a forecast from there, whatever the filter carries:
 * a live forecast is that of the same rows in a file (docs/spec/anchor.md 3.13). */
#include "anchor/model.h"
#include "dense.h"

#include <string.h>

enum { N = 400, CONTEXT = 96, QUERIES = 12 };

static ll_anchor_model *make(const ll_series *s, ll_curve curve, ll_anchor_drift drift,
                             bool innovation)
{
    ll_chain_opts        o = LL_CHAIN_DEFAULT;
    ll_chain            *chain = NULL;
    ll_anchor_model     *m = NULL;
    ll_anchor_kernel     k = { .n_terms = 2,
                               .a = { .5, .3 },
                               .rho = { .05, .01 },
                               .omega = { 0, .2618 },
                               .nu = .1,
                               .jitter = 1e-4,
                               .monitor = 5,
                               .innovation = innovation };
    const ll_anchor_spec spec = { .context = CONTEXT, .horizon = QUERIES };
    if (drift != LL_ANCHOR_STILL) {
        k.drift = drift;
        k.start = 25;
        k.q = .01;
        k.v = drift == LL_ANCHOR_SLOPE ? 1e-6 : 0;
        k.damping = drift == LL_ANCHOR_SLOPE ? .002 : 0;
    }
    o.curve = curve;
    o.climate = false;
    CHECK_OK(ll_chain_fit(s, 1, &o, &chain));
    CHECK_OK(ll_anchor_model_create(&spec, chain, &k, 4, &m));
    return m;
}

static void later_readings_change_nothing(void **state)
{
    (void)state;
    const ll_anchor_drift drift[] = { LL_ANCHOR_STILL, LL_ANCHOR_LEVEL, LL_ANCHOR_SLOPE };
    double                t[N], y[N], query[QUERIES];
    dice                  d = { 11 };
    for (int i = 0; i < N; i++) {
        t[i] = i;
        y[i] = 20 + 3 * sin(i * .2618) + roll_normal(&d) + (i > 300 ? 15 : 0);
    }
    y[290] = 65535; /* a glitch, and a shift that wakes the monitor */
    const ll_series train = { .n = 250, .t = t, .y = y }, all = { .n = N, .t = t, .y = y };
    for (int i = 0; i < 12; i++) {
        ll_anchor_model *m =
            make(&train, i < 6 ? LL_CURVE_TAILS : LL_CURVE_LOG, drift[i % 3], i / 3 % 2 == 1);
        for (int now = 280; now < 320; now++) {
            const ll_series past = { .n = (size_t)now + 1, .t = t, .y = y };
            ll_law          law[2][QUERIES];
            for (int q = 0; q < QUERIES; q++) query[q] = now + 1 + q;
            for (int w = 0; w < 2; w++) {
                const ll_anchor_request r = { .history = w == 0 ? all : past,
                                              .origin = now,
                                              .n_query = QUERIES,
                                              .t_query = query,
                                              .law = law[w] };
                CHECK_OK(ll_anchor_model_forecast(m, &r, 1));
            }
            for (int q = 0; q < QUERIES; q++) {
                assert_memory_equal(&law[0][q].mean, &law[1][q].mean, sizeof(double));
                assert_memory_equal(&law[0][q].sd, &law[1][q].sd, sizeof(double));
                assert_true(isfinite(law[0][q].mean) && law[0][q].sd > 0);
            }
        }
        ll_anchor_model_destroy(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(later_readings_change_nothing) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
