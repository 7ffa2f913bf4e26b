/* The anchor on uci_air against numbers of an independent program (LLAP_GOLDEN/anchor_uci.json). */
#include "dense.h"
#include "table.h"

#include <jansson.h>

#define TOL 1e-8

static json_t *golden(void)
{
    const char *root = getenv("LLAP_GOLDEN");
    char        path[4096];
    if (root == NULL) return NULL;
    snprintf(path, sizeof path, "%s/anchor_uci.json", root);
    return json_load_file(path, 0, NULL);
}

static double number(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (!json_is_number(v)) fail_msg("no number '%s'", key);
    return json_number_value(v);
}

static double item(const json_t *o, const char *key, size_t i)
{
    return json_number_value(json_array_get(json_object_get(o, key), i));
}

static void near(const char *what, double x, double ref)
{
    if (!(fabs(x - ref) <= TOL * fmax(1.0, fabs(ref))))
        fail_msg("%s %.17g, expected %.17g", what, x, ref);
}

enum { CONTEXT = 336, HORIZON = 168, MIDPOINTS = 25 };

typedef struct world {
    table            tab;
    json_t          *ref;
    ll_chain        *chain;
    ll_anchor_kernel kernel;
    double          *z, *u; /* [n_rows] */
} world;

static int setup(void **state)
{
    static world wd;
    wd = (world){ .ref = golden() };
    *state = NULL;
    if (wd.ref == NULL ||
        !table_read("uci_air.csv.gz", (const char *[]){ "NO2(GT)" }, 1, &wd.tab)) {
        json_decref(wd.ref);
        print_message("skipped: LLAP_GOLDEN or LLAP_DATA is not there\n");
        return 0;
    }
    const ll_series train = { .n = wd.tab.n_rows * 7 / 10, .t = wd.tab.t, .y = wd.tab.x[0] };
    CHECK_OK(ll_chain_fit(&train, 1, &LL_CHAIN_DEFAULT, &wd.chain));
    const json_t *k = json_object_get(wd.ref, "kernel");
    wd.kernel = (ll_anchor_kernel){ .n_terms = 7, .nu = number(k, "nu"), .jitter = 1e-4 };
    for (size_t i = 0; i < 7; i++) {
        wd.kernel.a[i] = item(k, "a", i);
        wd.kernel.rho[i] = item(k, "rho", i);
        wd.kernel.omega[i] = item(k, "omega", i);
    }
    wd.z = calloc(wd.tab.n_rows, sizeof *wd.z);
    wd.u = calloc(wd.tab.n_rows, sizeof *wd.u);
    for (size_t i = 0; i < wd.tab.n_rows; i++) {
        wd.z[i] = ll_chain_z(wd.chain, 0, wd.tab.x[0][i]);
        wd.u[i] = ll_chain_u(wd.chain, 0, wd.tab.t[i], wd.z[i]);
    }
    *state = &wd;
    return 0;
}

static int teardown(void **state)
{
    world *wd = *state;
    if (wd == NULL) return 0;
    table_free(&wd->tab);
    json_decref(wd->ref);
    ll_chain_destroy(wd->chain);
    free(wd->z);
    free(wd->u);
    return 0;
}

static void chain_constants(void **state)
{
    const world *wd = *state;
    if (wd == NULL) skip();
    const json_t   *ref = json_object_get(wd->ref, "chain");
    const ll_chain *c = wd->chain;
    near("mu", c->mu[0], number(ref, "mu"));
    near("sd", c->sd[0], number(ref, "sd"));
    near("lambda", c->lambda, number(ref, "lambda"));
    near("g_m", c->g_m, number(ref, "g_m"));
    near("g_s", c->g_s, number(ref, "g_s"));
    near("r_s", c->r_s, number(ref, "r_s"));
    assert_int_equal(c->n_climate, json_array_size(json_object_get(ref, "clim_coef")));
    for (int i = 0; i < c->n_climate; i++)
        near("clim_coef", c->climate[i], item(ref, "clim_coef", (size_t)i));
}

/* Context ending at row `last`: its normalisation, and the law of the next HORIZON hours in w. */
typedef struct forecast {
    double m, s, loglik, mean[HORIZON], sd[HORIZON];
    size_t observed;
} forecast;

static forecast forecast_at(const world *wd, size_t last)
{
    forecast     f = { 0 };
    const size_t first = last + 1 - CONTEXT;
    double       w[CONTEXT], tq[HORIZON], *means[] = { f.mean }, *vars[] = { f.sd };
    ll_window_norm(wd->u + first, CONTEXT, 4, &f.m, &f.s);
    for (size_t i = 0; i < CONTEXT; i++) {
        w[i] = (wd->u[first + i] - f.m) / f.s;
        f.observed += !isnan(w[i]);
    }
    for (size_t i = 0; i < HORIZON; i++) tq[i] = wd->tab.t[last] + 1.0 + (double)i;
    const ll_anchor_window win = {
        .n_obs = CONTEXT, .t = wd->tab.t + first, .y = w, .n_query = HORIZON, .t_query = tq
    };
    CHECK_OK(ll_anchor_filter(&wd->kernel, &win, 1, means, vars, &f.loglik));
    for (size_t i = 0; i < HORIZON; i++) f.sd[i] = sqrt(fmax(f.sd[i], 1e-3));
    return f;
}

static void four_windows(void **state)
{
    const world *wd = *state;
    if (wd == NULL) skip();
    const json_t *all = json_object_get(wd->ref, "windows");
    assert_int_equal(json_array_size(all), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *ref = json_array_get(all, i);
        const double  end = table_time(json_string_value(json_object_get(ref, "context_end_time")));
        size_t        last = 0;
        while (wd->tab.t[last] < end) last++;
        const forecast f = forecast_at(wd, last);
        assert_int_equal(f.observed, (size_t)number(ref, "observed"));
        near("m", f.m, number(ref, "m"));
        near("s", f.s, number(ref, "s"));
        near("loglik", f.loglik, number(ref, "loglik"));
        for (size_t j = 0; j < json_array_size(json_object_get(ref, "lead")); j++) {
            const size_t lead = (size_t)item(ref, "lead", j);
            near("a_r", f.mean[lead - 1], item(ref, "a_r", j));
            near("b_r", f.sd[lead - 1], item(ref, "b_r", j));
            const double z =
                chain_z_back(wd->chain, 0, end + (double)lead, f.m + f.s * f.mean[lead - 1]);
            near("median_z", z, item(ref, "median_z", j));
            near("median_ugm3", ll_chain_y_back(wd->chain, 0, z), item(ref, "median_ugm3", j));
        }
    }
}

/* Normal quantiles of (i + 1/2)/25 by bisection. */
static void midpoint_scores(double *x)
{
    for (int i = 0; i < MIDPOINTS; i++) {
        double lo = -8, hi = 8;
        for (int j = 0; j < 80; j++) {
            const double mid = 0.5 * (lo + hi);
            if (0.5 * erfc(-mid * M_SQRT1_2) < (i + 0.5) / MIDPOINTS) lo = mid;
            else hi = mid;
        }
        x[i] = lo;
    }
}

static void whole_score(void **state)
{
    const world *wd = *state;
    if (wd == NULL) skip();
    const json_t *ref = json_object_get(wd->ref, "score");
    double        score[MIDPOINTS], crps = 0.0, mse = 0.0;
    int64_t       n = 0;
    midpoint_scores(score);
    const size_t stride = (size_t)number(ref, "stride_h");
    for (size_t last = (size_t)number(ref, "first_context_end_row");
         last + HORIZON < wd->tab.n_rows; last += stride) {
        const forecast f = forecast_at(wd, last);
        for (size_t i = 0; i < HORIZON; i++) {
            const double truth = wd->z[last + 1 + i];
            if (isnan(truth)) continue;
            double q[MIDPOINTS], off = 0.0, spread = 0.0, mean = 0.0;
            for (int j = 0; j < MIDPOINTS; j++) {
                const double u = f.m + f.s * (f.mean[i] + f.sd[i] * score[j]);
                q[j] = chain_z_back(wd->chain, 0, wd->tab.t[last + 1 + i], u);
                off += fabs(q[j] - truth) / MIDPOINTS;
                mean += q[j] / MIDPOINTS;
                spread += q[j] * (2 * j + 1 - MIDPOINTS); /* sum over pairs: q is sorted */
            }
            crps += off - spread / (MIDPOINTS * MIDPOINTS);
            mse += (mean - truth) * (mean - truth);
            n++;
        }
    }
    assert_int_equal(n, (int64_t)number(ref, "scored"));
    if (fabs(crps / (double)n - number(ref, "CRPS_25_midpoint_quantiles")) > 0.5001e-4 ||
        fabs(mse / (double)n - number(ref, "MSE")) > 0.5001e-4)
        fail_msg("CRPS %.6f, MSE %.6f", crps / (double)n, mse / (double)n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_constants),
        cmocka_unit_test(four_windows),
        cmocka_unit_test(whole_score),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
