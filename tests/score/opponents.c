/* What the opponents answer: against another implementation, and worked out by hand. */
#include "score_stage.h"

#include "oracles/naive.h"

/* ---- the same as another implementation ---- */

static void same(const scoring *s, int i, const ll_score *other, bool point)
{
    const tally *t = &scoring_at(s, i, 0)->total;
    assert_int_equal((int64_t)t->n, other->n);
    assert_true(fabs(t->z.crps / t->n - other->crps) < 1e-12);
    assert_true(fabs(t->z.se / t->n - other->mse) < 1e-12);
    assert_true(fabs(t->z.ae_mean / t->n - other->mae) < 1e-12);
    assert_true(!point || fabs(t->paper_crps - t->z.crps) < 1e-9);
}

static void opponents_equal_the_verified_ones(void **state)
{
    (void)state;
    stage s;
    stage_init(&s, holey_panel(), "e00", 400);
    ll_scaled x = { .n_rows = s.p->n_rows, .n_features = 1, .n_targets = 1 };
    x.y = ll_new((size_t)x.n_rows, sizeof *x.y);
    x.y_obs = ll_new((size_t)x.n_rows, 1);
    for (int64_t r = 0; r < x.n_rows; r++) {
        x.y_obs[r] = ll_panel_observed(s.p, r, 0);
        x.y[r] = x.y_obs[r] ? s.p->value[r * s.p->n_vars] : 0;
    }
    ll_score            score[LL_NAIVE_COUNT];
    const ll_naive_opts no = { .part = LL_PART_TEST, .period_rows = 24 };
    CHECK_OK(ll_naive_scores(s.w, s.split, &x, &no, score));
    int32_t *unit = ll_new((size_t)s.n, sizeof *unit);
    scoring  out;
    CHECK_OK(stage_score(&s, unit, &out));
    same(&out, find(&s, "last_value"), &score[LL_NAIVE_LAST], true);
    same(&out, find(&s, "seasonal"), &score[LL_NAIVE_SEASONAL], true);
    same(&out, find(&s, "climatology"), &score[LL_NAIVE_CLIMATOLOGY], false);
    same(&out, find(&s, "context"), &score[LL_NAIVE_CONTEXT], false);
    scoring_deinit(&out);
    ll_free(unit);
    ll_free(x.y);
    ll_free(x.y_obs);
    stage_deinit(&s);
}

/* ---- what they must not know ---- */

static llap_panel *with_another_future(const llap_panel *p, int64_t origin)
{
    ll_panel_draft d = { .axis = p->axis,
                         .n_entities = p->n_entities,
                         .n_vars = p->n_vars,
                         .entity = p->entity,
                         .var = p->var,
                         .start = p->start };
    llap_panel    *out;
    CHECK_OK(ll_panel_create(&d, &out));
    for (int64_t r = 0; r < p->n_rows; r++) {
        d.time[r] = p->time[r];
        for (int64_t c = r * p->n_vars; c < (r + 1) * p->n_vars; c++) {
            d.value[c] = p->value[c];
            if (p->time[r] > origin) d.value[c] = 1000 + 3 * (float)(c % 7); /* all are there now */
            if (p->time[r] > origin || ll_bit(p->observed, c)) ll_bit_set(d.observed, c);
        }
    }
    return out;
}

static void the_future_changes_nothing(void **state)
{
    (void)state;
    stage         a, b;
    llap_panel   *p = holey_panel();
    const int64_t origin = (400 * 2 / 3 + 40) * HOUR;
    stage_init(&b, with_another_future(p, origin), "e00", 400);
    stage_init(&a, p, "e00", 400);
    assert_true(a.o.n == LL_OPPONENTS && b.o.n == LL_OPPONENTS);
    int checked = 0;
    for (int64_t i = 0; i < a.n; i++) {
        if (a.list[i].origin != origin) continue;
        ll_forecast_window other = a.list[i];
        other.time = b.p->time + other.end;
        for (int k = 0; k < a.o.n; k++) {
            const ll_forecast_request ask = { .n_samples = 5, .seed = 1 };
            ll_arena                  arena = { 0 };
            ll_forecast_members       one, two;
            CHECK_OK(a.o.f[k].forecast(&a.o.f[k], &ask, &a.list[i], 1, &arena, &one));
            CHECK_OK(b.o.f[k].forecast(&b.o.f[k], &ask, &other, 1, &arena, &two));
            assert_int_equal(one.n, two.n);
            const int64_t n = one.n * (one.constant ? 1 : other.n_query);
            assert_memory_equal(one.value, two.value, (size_t)n * sizeof(double));
            ll_arena_deinit(&arena);
            checked++;
        }
    }
    assert_true(checked >= LL_OPPONENTS);
    stage_deinit(&a);
    stage_deinit(&b);
}

/* ---- values worked out by hand ---- */

/* One entity, every hour, v0 = value(hour). */
static llap_panel *panel_of(double (*value)(int64_t hour), int64_t n, int64_t first_late)
{
    static const char *const entity[] = { "a", "late" };
    static const char *const var[] = { "v0" };
    const int64_t            start[] = { 0, n, 2 * n - first_late };
    ll_panel_draft           d = { .axis = LL_AXIS_UTC,
                                   .n_entities = 2,
                                   .n_vars = 1,
                                   .entity = entity,
                                   .var = var,
                                   .start = start };
    llap_panel              *p;
    CHECK_OK(ll_panel_create(&d, &p));
    for (int64_t r = 0; r < p->n_rows; r++) {
        const int64_t hour = r < n ? r : first_late + r - n;
        d.time[r] = hour * HOUR;
        d.value[r] = (float)value(hour);
        if (!isnan(d.value[r])) ll_bit_set(d.observed, r);
    }
    return p;
}

static const ll_forecast_members *ask_one(const stage *s, const char *name,
                                          const ll_forecast_window *w, ll_arena *arena)
{
    static ll_forecast_members out;
    const ll_forecaster       *f = &s->o.f[find(s, name)];
    CHECK_OK(
        f->forecast(f, &(ll_forecast_request){ .n_samples = 400, .seed = 1 }, w, 1, arena, &out));
    return &out;
}

static double ramp(int64_t hour) { return 0.5 * (double)hour; }
static double saw(int64_t hour) { return (double)(hour % 24) + 0.001 * (double)(hour / 24); }

static void points_are_what_they_say(void **state)
{
    (void)state;
    stage    s;
    ll_arena arena = { 0 };
    stage_init(&s, panel_of(ramp, 400, 280), "a", 400);
    const ll_forecast_window  *w = &s.list[5];
    const ll_forecast_members *f = ask_one(&s, "linear", w, &arena);
    for (int64_t q = 0; q < w->n_query; q++)
        assert_true(fabs(f->value[q] - ramp(w->time[q] / HOUR)) < 1e-9);
    f = ask_one(&s, "last_value", w, &arena);
    assert_true(f->n == 1 && f->value[29] == ramp(w->origin / HOUR));
    f = ask_one(&s, "seasonal", w, &arena);
    assert_true(f->value[0] == ramp(w->time[0] / HOUR - 24));
    assert_true(f->value[25] == ramp(w->time[25] / HOUR - 48));
    /* The best point of a ramp is its line, and nothing is left over. */
    f = ask_one(&s, "residual_bar", w, &arena);
    assert_true(f->n == 99 && fabs(f->value[3] - f->value[98 * w->n_query + 3]) < 1e-6);
    stage_deinit(&s);
    ll_arena_deinit(&arena);
}

static void days_are_paths(void **state)
{
    (void)state;
    stage    s;
    ll_arena arena = { 0 };
    stage_init(&s, panel_of(saw, 400, 280), "a", 400);
    const ll_forecast_window  *w = &s.list[11];
    const ll_forecast_members *f = ask_one(&s, "context_days", w, &arena);
    assert_true(f->n == 3 && f->drawn && f->joint);
    for (int64_t d = 0; d < 3; d++)
        for (int64_t q = 0; q < w->n_query; q++) {
            const int64_t back = q < 24 ? 24 * (d + 1) : 24 * (d + 2);
            const double  expected = saw(w->time[q] / HOUR - back);
            assert_true(fabs(f->value[d * w->n_query + q] - expected) < 1e-5);
        }
    stage_deinit(&s);
    ll_arena_deinit(&arena);
}

static double rare(int64_t hour) { return hour % 24 < 12 || hour % 72 == 30 ? hour : NAN; }

/* Members that are quantiles of the context are no draws, and no path. */
static void days_without_readings_are_a_law(void **state)
{
    (void)state;
    stage    s;
    ll_arena arena = { 0 };
    int64_t  n_law = 0;
    stage_init(&s, panel_of(rare, 400, 280), "a", 400);
    const ll_forecast_window  *w = &s.list[11];
    const ll_forecast_members *f = ask_one(&s, "context_days", w, &arena);
    assert_true(f->n == 3 && f->drawn && !f->joint);
    for (int64_t q = 0; q < w->n_query; q++) {
        const bool night = w->time[q] / HOUR % 24 >= 12; /* read on one day of three at most */
        assert_int_equal(f->law[q], night);
        n_law += f->law[q];
    }
    assert_true(n_law > 0 && n_law < w->n_query);
    stage_deinit(&s);
    ll_arena_deinit(&arena);
}

/* A first-order process with a memory of 12 hours and deviation 2 around 5. */
static double wander(int64_t hour)
{
    static double path[3000];
    if (hour == 0) {
        const ll_rng r = ll_rng_make(9, LL_STREAM_TEST, 0, 0, 0);
        const double keep = exp(-1.0 / 12);
        path[0] = 0;
        for (uint64_t i = 1; i < 3000; i++)
            path[i] = keep * path[i - 1] + 2 * sqrt(1 - keep * keep) * (double)ll_rng_normal(&r, i);
    }
    return hour % 10 == 3 ? NAN : 5 + path[hour];
}

static void the_first_order_process_is_found(void **state)
{
    (void)state;
    stage    s;
    ll_arena arena = { 0 };
    stage_init(&s, panel_of(wander, 3000, 2500), "a", 3000);
    const ll_forecast_window  *w = &s.list[100];
    const ll_forecast_members *f = ask_one(&s, "ar1", w, &arena);
    double                     near = 0, near2 = 0, far = 0, far2 = 0, both = 0;
    for (int64_t k = 0; k < f->n; k++) {
        const double a = f->value[k * w->n_query], b = f->value[k * w->n_query + 29];
        near += a / 400, near2 += a * a / 400, far += b / 400, far2 += b * b / 400;
        both += a * f->value[k * w->n_query + 1] / 400;
    }
    const double last = wander(w->origin / HOUR);
    /* A spread of 2 sqrt(1 - exp(-1/6)) = 0.78 after an hour, nearly 2 after thirty. */
    assert_true(isnan(last) || fabs(near - last) < 0.5);
    assert_true(fabs(sqrt(near2 - near * near) - 0.78) < 0.2);
    assert_true(fabs(sqrt(far2 - far * far) - 1.9) < 0.4);
    assert_true(both - near * near > 0.25); /* the next hour remembers */
    /* An entity that training has not seen is answered by all. */
    for (int i = 0; i < s.o.n; i++) {
        const ll_forecast_window *late = &s.list[s.n - 1];
        assert_int_equal(late->entity, 1);
        f = ask_one(&s, s.o.f[i].name, late, &arena);
        const int64_t n = f->n * (f->constant ? 1 : late->n_query);
        for (int64_t k = 0; k < n; k++)
            assert_true(isfinite(f->value[k]) || (f->joint && isnan(f->value[k]))); /* a hole */
    }
    stage_deinit(&s);
    ll_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opponents_equal_the_verified_ones),
        cmocka_unit_test(the_future_changes_nothing),
        cmocka_unit_test(points_are_what_they_say),
        cmocka_unit_test(days_are_paths),
        cmocka_unit_test(days_without_readings_are_a_law),
        cmocka_unit_test(the_first_order_process_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
