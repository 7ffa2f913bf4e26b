#include "panels.h"
#include "random_panel.h"

#include "oracles/naive.h"
#include "oracles/presets.h"

static const int64_t first_var = 0;

typedef struct parts {
    llap_panel *p;
    ll_windows *w;
    ll_split   *s;
} parts;

static parts make_parts(llap_panel *p, ll_split_kind kind)
{
    parts          t = { .p = p };
    ll_split_opts  so = LL_SPLIT_DEFAULT;
    ll_window_opts o = {
        .context_rows = 6, .horizon_rows = 3, .target = &first_var, .n_targets = 1
    };
    so.kind = kind;
    CHECK_OK(ll_windows_create(p, &o, &t.w));
    CHECK_OK(ll_split_create(t.w, &so, &t.s));
    return t;
}

static void free_parts(parts *t)
{
    ll_split_destroy(t->s);
    ll_windows_destroy(t->w);
    llap_panel_destroy(t->p);
}

/* E[x^2] - E[x]^2 in long double, as the protocol has it. */
static void slow_statistics(const llap_panel *p, int64_t var, int64_t first, int64_t stop,
                            double *mean, double *std)
{
    long double n = 0, sum = 0, square = 0;
    for (int64_t r = first; r < stop; r++) {
        const float x = p->value[r * p->n_vars + var];
        if (isnan(x)) continue;
        n++, sum += x, square += (long double)x * x;
    }
    *mean = (double)(sum / n);
    *std = (double)sqrtl(fmaxl(square / n - sum / n * (sum / n), 1e-12L));
}

static void statistics_are_those_of_the_training_rows(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        const random_shape s = { 4, 3, 120, true, 0.02, 0.2, 0.2 };
        parts              t = make_parts(random_panel(seed, &s), LL_SPLIT_PURGED);
        ll_scaling        *sc;
        int64_t            a[4], b[4];
        CHECK_OK(ll_scaling_create(t.w, t.s, &LL_SCALING_DEFAULT, &sc));
        ll_training_rows(t.w, t.s, a, b);
        for (int64_t e = 0; e < 4; e++)
            for (int64_t v = 0; v < 3; v++) {
                double mean, std;
                if (a[e] == t.p->start[e]) continue;
                slow_statistics(t.p, v, t.p->start[e], a[e], &mean, &std);
                assert_true(fabs(mean - (double)sc->x_mean[e * 3 + v]) < 1e-5);
                assert_true(fabs(std - (double)sc->x_std[e * 3 + v]) < 1e-6);
                if (v > 0) continue;
                slow_statistics(t.p, 0, t.p->start[e], b[e], &mean, &std);
                assert_true(fabs(mean - (double)sc->y_mean[e]) < 1e-6);
                assert_true(fabs(std - (double)sc->y_std[e]) < 1e-6);
            }
        ll_scaling_destroy(sc);
        free_parts(&t);
    }
}

/* Whatever happens after the training rows, the statistics keep their bits. */
static void statistics_never_see_what_comes_later(void **state)
{
    (void)state;
    for (int by = 0; by < 2; by++) {
        const random_shape s = { 4, 3, 120, true, 0.02, 0.2, 0.2 };
        parts              t = make_parts(random_panel(7, &s), LL_SPLIT_PURGED);
        ll_scaling_opts    o = LL_SCALING_DEFAULT;
        ll_scaling        *before, *after;
        o.by = by == 0 ? LL_SCALE_BY_ENTITY : LL_SCALE_GLOBAL;
        CHECK_OK(ll_scaling_create(t.w, t.s, &o, &before));
        for (int64_t e = 0; e < 4; e++)
            for (int64_t r = t.p->start[e]; r < t.p->start[e + 1]; r++)
                for (int64_t v = 0; v < 3; v++)
                    if (t.p->time[r] >= t.s->val_start)
                        ((float *)(uintptr_t)t.p->value)[r * 3 + v] *= 1000;
        CHECK_OK(ll_scaling_create(t.w, t.s, &o, &after));
        assert_memory_equal(before->x_mean, after->x_mean, 5 * 3 * sizeof(float));
        assert_memory_equal(before->x_std, after->x_std, 5 * 3 * sizeof(float));
        assert_memory_equal(before->y_mean, after->y_mean, 5 * sizeof(float));
        assert_memory_equal(before->y_std, after->y_std, 5 * sizeof(float));
        if (by == 1) assert_memory_equal(before->x_mean, before->x_mean + 12, 3 * sizeof(float));
        ll_scaling_destroy(before);
        ll_scaling_destroy(after);
        free_parts(&t);
    }
}

static void entities_never_trained_on_are_pooled(void **state)
{
    (void)state;
    const random_shape s = { 8, 2, 40, true, 0, 0.1, 0 };
    parts              t = make_parts(random_panel(9, &s), LL_SPLIT_BY_ENTITY);
    ll_scaling        *sc;
    CHECK_OK(ll_scaling_create(t.w, t.s, &LL_SCALING_DEFAULT, &sc));
    int checked = 0;
    for (int64_t i = 0; i < t.w->n; i++) {
        const int64_t e = t.w->at[i].entity;
        const bool    same = memcmp(sc->x_mean + 2 * e, sc->x_mean + 16, 2 * sizeof(float)) == 0 &&
                          sc->y_std[e] == sc->y_std[8];
        assert_int_equal(same, t.s->part[i] != LL_PART_TRAIN);
        checked += same;
    }
    assert_true(checked > 0);
    ll_scaling_destroy(sc);
    free_parts(&t);
}

/* For parity: entities never trained on by themselves, and nothing that was carried in. */
static void statistics_of_own_rows(void **state)
{
    (void)state;
    llap_panel      *p, *q = panel_of("entity,time,x,y\na,0,9,\na,1,,4\na,2,1,5\na,3,3,6\n"
                                           "a,4,5,7\na,5,7,8\nb,1,,2\nb,2,10,3\nb,3,20,4\n");
    ll_timeline_opts fill = { .fill = LL_FILL_GRID, .row_min = 1, .row_min_filled = true };
    CHECK_OK(ll_timeline_apply(q, &fill, &p, NULL)); /* a: x 9f 1 3 5 7 from 1 on; b: 10 20 */
    llap_panel_destroy(q);
    const int64_t  target[] = { 0 };
    ll_window_opts wo = { .target = target, .n_targets = 1, .context_rows = 1, .horizon_rows = 1 };
    ll_split_opts  so = LL_SPLIT_DEFAULT;
    ll_windows    *w;
    ll_split      *sp;
    ll_scaling    *sc;
    so.kind = LL_SPLIT_CONTIGUOUS;
    CHECK_OK(ll_windows_create(p, &wo, &w));
    CHECK_OK(ll_split_create(w, &so, &sp));
    ll_scaling_opts o = LL_SCALING_DEFAULT;
    CHECK_OK(ll_scaling_create(w, sp, &o, &sc));
    assert_float_equal(sc->y_mean[0], 13.0 / 3, 1e-5); /* 9 1 3 */
    assert_float_equal(sc->y_mean[1], 13.0 / 3, 1e-5); /* one window, for the test: pooled */
    ll_scaling_destroy(sc);
    o.own_rows = true;
    CHECK_OK(ll_scaling_create(w, sp, &o, &sc));
    assert_float_equal(sc->y_mean[0], 2, 1e-5); /* 1 3 */
    assert_float_equal(sc->y_mean[1], 15, 1e-5);
    ll_scaling_destroy(sc);
    ll_split_destroy(sp);
    ll_windows_destroy(w);
    llap_panel_destroy(p);
}

/* Another panel, other entities, other order of variables: statistics follow the names. */
static void statistics_are_handed_on_by_name(void **state)
{
    (void)state;
    const random_shape s = { 5, 2, 60, true, 0, 0.1, 0 };
    parts              t = make_parts(random_panel(3, &s), LL_SPLIT_PURGED);
    llap_panel *other = panel_of("entity,time,v2,v1,v0\ne01,1,9,2,1\ne03,1,9,4,3\nnew,1,9,6,5\n");
    ll_scaling *sc, *to;
    ll_scaled  *x;
    CHECK_OK(ll_scaling_create(t.w, t.s, &LL_SCALING_DEFAULT, &sc));
    CHECK_OK(ll_scaling_transfer(sc, t.p->entity, t.p->var, other, &to));
    CHECK_OK(ll_scaled_create(other, to, &x));
    const int64_t row[] = { 1, 3, 5 };
    for (int e = 0; e < 3; e++)
        for (int v = 0; v < 2; v++) {
            const int64_t at = row[e] * 2 + v;
            assert_true(x->x[e * 2 + v] ==
                        ll_scale_value((float)(2 * e + 1 + v), sc->x_mean[at], sc->x_std[at], 5));
        }
    assert_true(x->y[2] == ll_scale_value(5, sc->y_mean[5], sc->y_std[5], 5));
    ll_scaled_destroy(x);
    ll_scaling_destroy(to);
    llap_panel_destroy(other);
    other = panel_of("entity,time,v1\ne01,1,2\n");
    CHECK_FAIL(ll_scaling_transfer(sc, t.p->entity, t.p->var, other, &to), LLAP_EINVAL,
               "no variable 'v0'");
    llap_panel_destroy(other);
    ll_scaling_destroy(sc);
    free_parts(&t);
}

static void values_are_clipped_and_come_back(void **state)
{
    (void)state;
    assert_true(ll_scale_value(3, 1, 2, 5) == 1);
    assert_true(ll_scale_value(100, 1, 2, 5) == 5);
    assert_true(ll_scale_value(-100, 1, 2, 5) == -5);
    assert_true(ll_scale_value(100, 0, 2, 0) == 50);
    assert_true(ll_scale_value(NAN, 1, 2, 5) == 0);
    assert_true(ll_unscale_value(ll_scale_value(4, 1, 2, 5), 1, 2) == 4);
    /* A constant that doubles cannot square exactly is still 0, not a few deviations off. */
    const random_shape s = { 2, 2, 100, true, 0, 0, 0 };
    llap_panel        *p = random_panel(4, &s);
    for (int64_t r = 0; r < p->n_rows; r++) ((float *)(uintptr_t)p->value)[r * 2 + 1] = 1234.567f;
    parts       t = make_parts(p, LL_SPLIT_PURGED);
    ll_scaling *sc;
    ll_scaled  *x;
    CHECK_OK(ll_scaling_create(t.w, t.s, &LL_SCALING_DEFAULT, &sc));
    CHECK_OK(ll_scaled_create(p, sc, &x));
    for (int64_t r = 0; r < p->n_rows; r++) {
        assert_true(x->x[r * 2 + 1] == 0);
        assert_true(x->x_obs[r * 2 + 1] == 1);
        const int64_t e = r >= p->start[1];
        assert_true(x->x[r * 2] ==
                    ll_scale_value(p->value[r * 2], sc->x_mean[e * 2], sc->x_std[e * 2], 5));
    }
    ll_scaled_destroy(x);
    ll_scaling_destroy(sc);
    free_parts(&t);
}

static void crps_is_that_of_the_definition(void **state)
{
    (void)state;
    const ll_rng r = ll_rng_make(1, LL_STREAM_TEST, 0, 0, 0);
    for (int64_t n = 1; n < 40; n++) {
        double       v[40], s[41], y = (double)ll_rng_normal(&r, (uint64_t)n);
        double       slow = 0;
        ll_empirical d;
        for (int64_t i = 0; i < n; i++)
            v[i] = (double)ll_rng_normal(&r, (uint64_t)(1000 * n + i / 2)); /* with ties */
        for (int64_t i = 0; i < n; i++) {
            slow += fabs(v[i] - y) / (double)n;
            for (int64_t j = 0; j < n; j++) slow -= fabs(v[i] - v[j]) / (2.0 * (double)(n * n));
        }
        ll_empirical_init(&d, n, v, s);
        assert_true(fabs(ll_empirical_crps(&d, y) - slow) < 1e-13);
    }
}

/* E|X - y| - E|X - X'| / 2 and the error of the mean, by double loops. */
static void slow_score(const double *v, int64_t n, double y, ll_score *out)
{
    double mean = 0, crps = 0;
    for (int64_t i = 0; i < n; i++) {
        mean += v[i] / (double)n;
        crps += fabs(v[i] - y) / (double)n;
        for (int64_t j = 0; j < n; j++) crps -= fabs(v[i] - v[j]) / (2.0 * (double)(n * n));
    }
    out->crps += crps;
    out->mae += fabs(y - mean);
    out->mse += (y - mean) * (y - mean);
    out->n++;
}

static void slow_window(const parts *t, const ll_scaled *x, const int64_t *stop, const ll_window *w,
                        int64_t period, ll_score *out)
{
    double        context[64], climate[512], zero = 0, last = 0;
    const int64_t end = ll_window_query(w), start = t->p->start[w->entity];
    int64_t       n = 0, m = 0;
    for (int64_t r = w->first; r < end; r++)
        if (x->y_obs[r]) context[n++] = last = (double)x->y[r];
    if (n == 0) context[n++] = 0;
    for (int64_t r = start; r < stop[w->entity]; r++)
        if (x->y_obs[r]) climate[m++] = (double)x->y[r];
    for (int64_t h = 0; h < w->n_query; h++) {
        const double y = (double)x->y[end + h];
        double       season = last;
        if (!x->y_obs[end + h]) continue;
        for (int64_t r = w->first; r < end; r++)
            if (x->y_obs[r] && (end + h - r) % period == 0) season = (double)x->y[r];
        slow_score(&zero, 1, y, &out[LL_NAIVE_MEAN]);
        slow_score(&last, 1, y, &out[LL_NAIVE_LAST]);
        slow_score(&season, 1, y, &out[LL_NAIVE_SEASONAL]);
        slow_score(context, n, y, &out[LL_NAIVE_CONTEXT]);
        slow_score(climate, m, y, &out[LL_NAIVE_CLIMATOLOGY]);
    }
}

static void naive_scores_are_as_defined(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        const random_shape s = { 4, 2, 150, true, 0.02, seed % 2 ? 0.7 : 0.1, 0.1 };
        parts              t = make_parts(random_panel(seed + 50, &s), LL_SPLIT_PURGED);
        const int64_t      period = 1 + (int64_t)seed;
        ll_scaling        *sc;
        ll_scaled         *x;
        ll_score           fast[LL_NAIVE_COUNT], slow[LL_NAIVE_COUNT] = { { 0 } };
        int64_t            context[4], stop[4];
        CHECK_OK(ll_scaling_create(t.w, t.s, &LL_SCALING_DEFAULT, &sc));
        CHECK_OK(ll_scaled_create(t.p, sc, &x));
        CHECK_OK(
            ll_naive_scores(t.w, t.s, x, &(ll_naive_opts){ LL_PART_TEST, period, false }, fast));
        ll_training_rows(t.w, t.s, context, stop);
        for (int64_t i = 0; i < t.w->n; i++)
            if (t.s->part[i] == LL_PART_TEST) slow_window(&t, x, stop, &t.w->at[i], period, slow);
        for (int k = 0; k < LL_NAIVE_COUNT; k++) {
            if (k == LL_NAIVE_CONTEXT_MEAN) continue; /* the mean of LL_NAIVE_CONTEXT */
            const double n = (double)slow[k].n;
            assert_int_equal(fast[k].n, slow[k].n);
            assert_true(fabs(fast[k].crps - slow[k].crps / n) < 1e-12);
            assert_true(fabs(fast[k].mae - slow[k].mae / n) < 1e-12);
            assert_true(fabs(fast[k].mse - slow[k].mse / n) < 1e-12);
        }
        assert_true(fast[LL_NAIVE_CONTEXT_MEAN].mae == fast[LL_NAIVE_CONTEXT].mae);
        assert_true(fast[LL_NAIVE_CONTEXT_MEAN].crps == fast[LL_NAIVE_CONTEXT].mae);
        CHECK_FAIL(ll_naive_scores(t.w, t.s, x, &(ll_naive_opts){ LL_PART_TEST, 0, false }, fast),
                   LLAP_EINVAL, "a period of 0 rows");
        ll_scaled_destroy(x);
        ll_scaling_destroy(sc);
        free_parts(&t);
    }
}

typedef struct known {
    const char *var;
    double      mean, std;
} known;

static void expect_known(const ll_scaling *s, const llap_panel *p, const known *k, double digits)
{
    const int64_t v = ll_panel_find_var(p, k->var);
    if (fabs((double)s->x_mean[v] - k->mean) > digits ||
        fabs((double)s->x_std[v] - k->std) > digits)
        fail_msg("%s: expected %.5f, %.5f, found %.7f, %.7f", k->var, k->mean, k->std,
                 (double)s->x_mean[v], (double)s->x_std[v]);
}

static ll_scaling *scaling_of(const ll_preset *preset, const llap_panel *p, int h)
{
    ll_windows     *w;
    ll_split       *sp;
    ll_scaling     *sc;
    ll_scaling_opts o = LL_SCALING_DEFAULT;
    o.by = preset->scale;
    CHECK_OK(ll_preset_windows(preset, p, h, &w));
    CHECK_OK(ll_split_create(w, &preset->split, &sp));
    CHECK_OK(ll_scaling_create(w, sp, &o, &sc));
    ll_split_destroy(sp);
    ll_windows_destroy(w);
    return sc;
}

/* Section 10 of the protocol, to the digits it prints. */
static void the_air_panels_have_their_statistics(void **state)
{
    (void)state;
    static const known uci168[] = { { "NO2(GT)", 96.91205, 40.49982 },
                                    { "CO(GT)", 2.06004, 1.46165 },
                                    { "NOx(GT)", 198.45312, 182.95036 },
                                    { "T", 21.99830, 7.67864 } };
    const char        *path = data_file("uci_air.csv.gz");
    const ll_preset   *uci = ll_preset_find("uci_air/reference");
    llap_panel        *p;
    CHECK_OK(ll_preset_panel(uci, &path, 1, NULL, &p));
    ll_scaling *s = scaling_of(uci, p, 3);
    for (int i = 0; i < 4; i++) expect_known(s, p, &uci168[i], 1e-5);
    assert_true(fabs((double)s->y_mean[0] - 97.18454) < 1e-5);
    assert_true(fabs((double)s->y_std[0] - 40.31873) < 1e-5);
    ll_scaling_destroy(s);
    s = scaling_of(uci, p, 0);
    expect_known(s, p, &(known){ "NO2(GT)", 98.25147, 40.91740 }, 1e-5);
    assert_true(fabs((double)s->y_mean[0] - 98.35006) < 1e-5);
    assert_true(fabs((double)s->y_std[0] - 40.91901) < 1e-5);
    ll_scaling_destroy(s);
    llap_panel_destroy(p);

    ll_preset bms = *ll_preset_find("bms_air");
    path = data_file("bms_air.csv.gz");
    bms.timeline.half = true;
    CHECK_OK(ll_preset_panel(&bms, &path, 1, NULL, &p));
    assert_string_equal(p->entity[0], "Aotizhongxin");
    s = scaling_of(&bms, p, 3);
    expect_known(s, p, &(known){ "PM2.5", 83.7218, 78.7535 }, 1e-4);
    expect_known(s, p, &(known){ "PRES", 1010.5461, 9.9848 }, 1e-4);
    assert_true(fabs((double)s->y_mean[0] - 83.65343) < 1e-5);
    assert_true(fabs((double)s->y_std[0] - 78.80534) < 1e-5);
    ll_scaling_destroy(s);
    llap_panel_destroy(p);
}

static llap_status make_all(void *user)
{
    const parts *t = user;
    ll_scaling  *sc = NULL;
    ll_scaled   *x = NULL;
    ll_score     score[LL_NAIVE_COUNT];
    llap_status  st = ll_scaling_create(t->w, t->s, &LL_SCALING_DEFAULT, &sc);
    if (st == LLAP_OK) st = ll_scaled_create(t->p, sc, &x);
    if (st == LLAP_OK)
        st = ll_naive_scores(t->w, t->s, x, &(ll_naive_opts){ LL_PART_TEST, 3, false }, score);
    ll_scaled_destroy(x);
    ll_scaling_destroy(sc);
    return st;
}

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    const random_shape s = { 3, 2, 100, true, 0, 0.2, 0 };
    parts              t = make_parts(random_panel(1, &s), LL_SPLIT_PURGED);
    check_every_failed_allocation(make_all, &t);
    free_parts(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_are_those_of_the_training_rows),
        cmocka_unit_test(statistics_never_see_what_comes_later),
        cmocka_unit_test(entities_never_trained_on_are_pooled),
        cmocka_unit_test(statistics_of_own_rows),
        cmocka_unit_test(statistics_are_handed_on_by_name),
        cmocka_unit_test(values_are_clipped_and_come_back),
        cmocka_unit_test(crps_is_that_of_the_definition),
        cmocka_unit_test(naive_scores_are_as_defined),
        cmocka_unit_test(the_air_panels_have_their_statistics),
        cmocka_unit_test(failing_allocations_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
