/* The anchor on real data: with the published kernels the published scores come out again, and a
 * fit of our own is no worse; gaps are filled better from both sides than by the usual means. */
#include "anchor/model.h"

#include "base/sort.h"
#include "table.h"

#define TWO_PI 6.283185307179586
enum { CONTEXT = 336 };

typedef struct set {
    const char      *file, *column;
    bool             binned; /* to whole hours, on one grid for all */
    size_t           horizon, train_stride, valid_stride, test_stride;
    ll_anchor_kernel kernel; /* check values */
    bool             climate;
    double           kappa;
    double           crps, mse; /* published for them */
} set;

#define HOURLY_OMEGA                                                \
    {                                                               \
        0, 0, 0, TWO_PI / 24, TWO_PI / 12, TWO_PI / 8, TWO_PI / 168 \
    }
static const set SETS[] = {
    { "uci_air.csv.gz",
      "NO2(GT)",
      false,
      168,
      1,
      3,
      3,
      { .n_terms = 7,
        .a = { .437, .191, .618, .036, .072, .013, .048 },
        .rho = { .0030, .0939, .4433, .0013, .0020, .0013, .0093 },
        .omega = HOURLY_OMEGA,
        .nu = .0588,
        .jitter = 1e-4 },
      true,
      4,
      .557,
      .997 },
    { "bms_air.csv.gz",
      "PM2.5",
      false,
      24,
      5,
      23,
      24,
      { .n_terms = 7,
        .a = { .124, .984, .150, .005, .001, .001, .089 },
        .rho = { .0256, .0272, .0315, .0007, .0003, .0001, .0097 },
        .omega = HOURLY_OMEGA,
        .nu = .0069,
        .jitter = 1e-4 },
      true,
      200,
      .347,
      .554 },
    { "metar_us.csv.gz",
      "temperature",
      true,
      24,
      2,
      23,
      24,
      { .n_terms = 7,
        .a = { .301, .384, .088, .215, .016, .005, .034 },
        .rho = { .0017, .0285, .1234, .0001, .0003, .0005, .0094 },
        .omega = HOURLY_OMEGA,
        .nu = .0065,
        .jitter = 1e-4 },
      false,
      4,
      .185,
      .119 },
};

typedef struct panel {
    table      tab;
    size_t     n;
    ll_series *s;                 /* [n] */
    ll_series *train;             /* [n] their first rows */
    size_t    *n_train, *n_valid; /* rows up to the end of each part */
    double    *grid_t, *grid_y;   /* binned */
} panel;

/* Mean of the readings of each hour. */
static void bin(panel *p)
{
    double first = INFINITY, last = -INFINITY;
    for (size_t i = 0; i < p->tab.n_rows; i++) {
        first = fmin(first, floor(p->tab.t[i]));
        last = fmax(last, floor(p->tab.t[i]));
    }
    const size_t n = (size_t)(last - first) + 1;
    p->grid_t = calloc(n, sizeof(double));
    p->grid_y = calloc(n * p->n, sizeof(double));
    double *count = calloc(n, sizeof(double));
    for (size_t i = 0; i < n; i++) p->grid_t[i] = first + (double)i;
    for (size_t e = 0; e < p->n; e++) {
        double *y = p->grid_y + e * n;
        memset(count, 0, n * sizeof *count);
        for (size_t i = p->tab.start[e]; i < p->tab.start[e + 1]; i++) {
            if (isnan(p->tab.x[0][i])) continue;
            const size_t at = (size_t)(floor(p->tab.t[i]) - first);
            y[at] += p->tab.x[0][i];
            count[at] += 1;
        }
        for (size_t i = 0; i < n; i++) y[i] = count[i] > 0 ? y[i] / count[i] : NAN;
        p->s[e] = (ll_series){ .n = n, .t = p->grid_t, .y = y };
    }
    free(count);
}

static bool panel_read(const set *which, panel *p)
{
    *p = (panel){ 0 };
    if (!table_read(which->file, &which->column, 1, &p->tab)) return false;
    p->n = p->tab.n_entities;
    p->s = calloc(p->n, sizeof *p->s);
    p->train = calloc(p->n, sizeof *p->train);
    p->n_train = calloc(p->n, sizeof *p->n_train);
    p->n_valid = calloc(p->n, sizeof *p->n_valid);
    if (which->binned) bin(p);
    for (size_t e = 0; e < p->n; e++) {
        const size_t at = p->tab.start[e];
        if (!which->binned)
            p->s[e] = (ll_series){ .n = p->tab.start[e + 1] - at,
                                   .t = p->tab.t + at,
                                   .y = p->tab.x[0] + at };
        p->n_train[e] = p->s[e].n * 7 / 10;
        p->n_valid[e] = p->s[e].n * 8 / 10;
        p->train[e] = (ll_series){ .n = p->n_train[e], .t = p->s[e].t, .y = p->s[e].y };
    }
    return true;
}

static void panel_free(panel *p)
{
    table_free(&p->tab);
    free(p->s);
    free(p->train);
    free(p->n_train);
    free(p->n_valid);
    free(p->grid_t);
    free(p->grid_y);
}

/* Origins whose targets lie within rows first .. last - 1 of each series; first and last NULL: from
 * the first full context, to the end. */
static ll_origin *origins(const panel *p, const size_t *first, const size_t *last, size_t horizon,
                          size_t stride, size_t *n)
{
    ll_origin *o = calloc(p->n * p->s[0].n / stride + p->n, sizeof *o);
    *n = 0;
    for (size_t e = 0; e < p->n; e++) {
        const size_t end = last == NULL ? p->s[e].n : last[e];
        for (size_t i = first == NULL ? CONTEXT - 1 : first[e] - 1; i + horizon < end; i += stride)
            o[(*n)++] = (ll_origin){ e, p->s[e].t[i] };
    }
    return o;
}

typedef struct result {
    double crps, mse, cover[3]; /* 50, 80, 95 % */
    double n;
} result;

static void add_score(result *r, const ll_anchor_model *m, const ll_law *law, double z)
{
    static const double score[] = { 0.6744897501960817, 1.2815515655446004, 1.959963984540054 };
    double              mean;
    r->crps += ll_anchor_crps_z(m, law, z, &mean);
    r->mse += (mean - z) * (mean - z);
    r->n += 1;
    for (int i = 0; i < 3; i++)
        r->cover[i] += z >= ll_anchor_quantile_z(m, law, -score[i]) &&
                       z <= ll_anchor_quantile_z(m, law, score[i]);
}

static void finish(const char *what, result *r)
{
    r->crps /= r->n;
    r->mse /= r->n;
    for (int i = 0; i < 3; i++) r->cover[i] *= 100 / r->n;
    print_message("  %-22s CRPS %.4f  MSE %.4f  cover %.1f %.1f %.1f  (%.0f)\n", what, r->crps,
                  r->mse, r->cover[0], r->cover[1], r->cover[2], r->n);
}

static result evaluate(const char *what, const ll_anchor_model *m, const panel *p,
                       const ll_origin *o, size_t n, size_t horizon)
{
    result             res = { 0 };
    ll_anchor_request *r = calloc(n, sizeof *r);
    ll_law            *law = calloc(n * horizon, sizeof *law);
    for (size_t i = 0; i < n; i++) {
        const ll_series *s = &p->s[o[i].series];
        size_t           now = 0;
        for (size_t step = s->n; step > 0; step /= 2)
            while (now + step <= s->n && s->t[now + step - 1] <= o[i].t) now += step;
        r[i] = (ll_anchor_request){ .history = *s,
                                    .series = o[i].series,
                                    .origin = o[i].t,
                                    .n_query = horizon,
                                    .t_query = s->t + now,
                                    .law = law + i * horizon };
    }
    CHECK_OK(ll_anchor_model_forecast(m, r, n));
    for (size_t i = 0; i < n; i++) {
        const ll_series *s = &p->s[o[i].series];
        for (size_t q = 0; q < horizon; q++) {
            const double z = ll_chain_z(m->chain, o[i].series, s->y[r[i].t_query - s->t + q]);
            if (!isnan(z)) add_score(&res, m, &r[i].law[q], z);
        }
    }
    free(r);
    free(law);
    finish(what, &res);
    return res;
}

/* ---- filling gaps ---------------------------------------------------------------------------- */

/* Rows first .. last - 1 of every series with 30 % of the observed ones hidden. */
typedef struct holes {
    double *y;      /* all series' values after hiding, one behind the other */
    size_t *series; /* [n] */
    size_t *row;    /* [n] */
    size_t  n;
} holes;

static holes make_holes(const panel *p, const size_t *first, const size_t *last, uint64_t seed)
{
    holes h = { .y = calloc(p->n * p->s[0].n, sizeof *h.y),
                .series = calloc(p->n * p->s[0].n, sizeof *h.series),
                .row = calloc(p->n * p->s[0].n, sizeof *h.row) };
    for (size_t e = 0; e < p->n; e++) {
        double      *y = h.y + e * p->s[0].n;
        const size_t end = last == NULL ? p->s[e].n : last[e];
        assert_int_equal(p->s[e].n, p->s[0].n);
        memcpy(y, p->s[e].y, p->s[e].n * sizeof *y);
        for (size_t i = first[e]; i < end; i++) {
            seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
            if (isnan(y[i]) || (double)(seed >> 11) * 0x1p-53 >= 0.3) continue;
            y[i] = NAN;
            h.series[h.n] = e;
            h.row[h.n++] = i;
        }
    }
    return h;
}

static void holes_free(holes *h)
{
    free(h->y);
    free(h->series);
    free(h->row);
}

/* z of the last observed row, or the straight line to the next one. */
static double simple(const panel *p, const ll_chain *c, const holes *h, size_t i, bool linear)
{
    const size_t     e = h->series[i];
    const ll_series *s = &p->s[e];
    const double    *y = h->y + e * p->s[0].n;
    size_t           before = h->row[i], after = h->row[i];
    while (before > 0 && isnan(y[before])) before--;
    while (after + 1 < s->n && isnan(y[after])) after++;
    const double a = ll_chain_z(c, e, y[before]), b = ll_chain_z(c, e, y[after]);
    if (isnan(a)) return isnan(b) ? 0.0 : b;
    if (!linear || isnan(b)) return a;
    return a + (b - a) * (s->t[h->row[i]] - s->t[before]) / (s->t[after] - s->t[before]);
}

/* CRPS of a simple filler that carries the error quantiles it had on validation. */
static double score_simple(const panel *p, const ll_chain *c, const holes *valid, const holes *test,
                           bool linear)
{
    enum { M = 25 };
    double *err = calloc(valid->n, sizeof *err), q[M], sum = 0;
    for (size_t i = 0; i < valid->n; i++)
        err[i] = ll_chain_z(c, valid->series[i], p->s[valid->series[i]].y[valid->row[i]]) -
                 simple(p, c, valid, i, linear);
    ll_sort_doubles(err, valid->n);
    for (int j = 0; j < M; j++) q[j] = err[(size_t)((j + 0.5) / M * (double)valid->n)];
    for (size_t i = 0; i < test->n; i++) {
        const double z = ll_chain_z(c, test->series[i], p->s[test->series[i]].y[test->row[i]]);
        const double at = simple(p, c, test, i, linear);
        double       off = 0, spread = 0;
        for (int j = 0; j < M; j++) {
            off += fabs(at + q[j] - z) / M;
            spread += q[j] * (2 * j + 1 - M) / (M * M);
        }
        sum += off - spread;
    }
    free(err);
    return sum / (double)test->n;
}

static result fill(const char *what, const ll_anchor_model *m, const panel *p, const holes *h,
                   bool causal)
{
    result             res = { 0 };
    ll_law            *law = calloc(h->n, sizeof *law);
    ll_anchor_request *r = calloc(h->n, sizeof *r);
    double            *t = calloc(h->n, sizeof *t);
    size_t             n = 0;
    for (size_t i = 0; i < h->n; i++) {
        const size_t e = h->series[i];
        t[i] = p->s[e].t[h->row[i]];
        if (i == 0 || h->series[i - 1] != e)
            r[n++] = (ll_anchor_request){
                .history = { .n = p->s[e].n, .t = p->s[e].t, .y = h->y + e * p->s[0].n },
                .series = e,
                .t_query = t + i,
                .law = law + i
            };
        r[n - 1].n_query++;
    }
    CHECK_OK(ll_anchor_model_fill(m, r, n, causal ? LL_ANCHOR_PAST : LL_ANCHOR_BOTH));
    for (size_t i = 0; i < h->n; i++)
        add_score(&res, m, &law[i],
                  ll_chain_z(m->chain, h->series[i], p->s[h->series[i]].y[h->row[i]]));
    free(law);
    free(r);
    free(t);
    finish(what, &res);
    return res;
}

static void check_filling(const ll_anchor_model *m, const panel *p)
{
    holes        valid = make_holes(p, p->n_train, p->n_valid, 1);
    holes        test = make_holes(p, p->n_valid, NULL, 2);
    const double linear = score_simple(p, m->chain, &valid, &test, true);
    const double last = score_simple(p, m->chain, &valid, &test, false);
    print_message("  filling 30 %%: line CRPS %.4f, last value %.4f\n", linear, last);
    const result causal = fill("  from the past", m, p, &test, true);
    const result both = fill("  from both sides", m, p, &test, false);
    assert_true(both.crps < linear && both.crps < last && both.crps < causal.crps);
    holes_free(&valid);
    holes_free(&test);
}

/* ---------------------------------------------------------------------------------------------- */

static void check_set(const set *which)
{
    panel p;
    if (!panel_read(which, &p)) {
        print_message("skipped: no %s in LLAP_DATA\n", which->file);
        skip();
    }
    print_message("%s, h = %zu\n", which->file, which->horizon);
    size_t     n_train, n_valid, n_test;
    ll_origin *train = origins(&p, NULL, p.n_train, which->horizon, which->train_stride, &n_train);
    ll_origin *valid =
        origins(&p, p.n_train, p.n_valid, which->horizon, which->valid_stride, &n_valid);
    ll_origin *test = origins(&p, p.n_valid, NULL, which->horizon, which->test_stride, &n_test);
    ll_anchor_model_opts o = LL_ANCHOR_MODEL_DEFAULT;
    o.spec = (ll_anchor_spec){ .context = CONTEXT, .horizon = (double)which->horizon };
    ll_chain_opts co = LL_CHAIN_DEFAULT;
    co.climate = which->climate;
    ll_chain        *chain = NULL;
    ll_anchor_model *m = NULL;
    CHECK_OK(ll_chain_fit(p.train, p.n, &co, &chain));
    CHECK_OK(ll_anchor_model_create(&o.spec, chain, &which->kernel, which->kappa, &m));
    const result check = evaluate("check values", m, &p, test, n_test, which->horizon);
    assert_true(fabs(check.crps - which->crps) < 0.003 && fabs(check.mse - which->mse) < 0.01);
    ll_anchor_model_destroy(m);

    const ll_anchor_data data = { .series = p.s,
                                  .n_series = p.n,
                                  .train_rows = p.n_train,
                                  .train = train,
                                  .n_train = n_train,
                                  .valid = valid,
                                  .n_valid = n_valid };
    CHECK_OK(ll_anchor_model_fit(&data, &o, &m));
    print_message("  kappa %g, %d climate terms, validation %.4f, factors %.2f %.2f %.2f\n",
                  m->kappa, (int)m->chain->n_climate, m->valid_crps, m->calibration.factor[0][1],
                  m->calibration.factor[0][2], m->calibration.factor[0][3]);
    const result own = evaluate("own fit", m, &p, test, n_test, which->horizon);
    assert_true(own.crps < which->crps + 0.003);
    const double nominal[] = { 50, 80, 95 };
    for (int i = 0; i < 3; i++)
        if (!(fabs(own.cover[i] - nominal[i]) <= 3))
            fail_msg("%g %% intervals hold %.3f %%", nominal[i], own.cover[i]);
    check_filling(m, &p);
    ll_anchor_model_destroy(m);
    free(train);
    free(valid);
    free(test);
    panel_free(&p);
}

static void uci_air(void **state) { (void)state, check_set(&SETS[0]); }
static void bms_air(void **state) { (void)state, check_set(&SETS[1]); }
static void metar_us(void **state) { (void)state, check_set(&SETS[2]); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uci_air),
        cmocka_unit_test(metar_us),
        cmocka_unit_test(bms_air),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
