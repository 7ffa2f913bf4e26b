/* What the opponents answer: against another implementation, and worked out by hand. */
#include "score_stage.h"

#include "oracles/naive.h"

/* ---- the same as another implementation ---- */

/* A point has a spread around it here: its CRPS is less than its absolute error. */
static void same(const scoring *s, int i, const ll_score *other, bool point)
{
    const tally *t = &scoring_at(s, i, 0)->total;
    assert_int_equal((int64_t)t->n, other->n);
    assert_true(point ? t->z.crps < t->z.ae_mean : fabs(t->z.crps / t->n - other->crps) < 1e-12);
    assert_true(fabs(t->z.se / t->n - other->mse) < 1e-12);
    assert_true(fabs(t->z.ae_mean / t->n - other->mae) < 1e-12);
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
    same(&out, find(&s, "seasonal_24h"), &score[LL_NAIVE_SEASONAL], true);
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
    ll_panel_draft d = ll_panel_draft_of(p);
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
    assert_true(a.o.n == 10 && b.o.n == 10); /* two seasons, no logarithms */
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
    assert_true(checked >= 10);
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
static double constant(int64_t hour) { return hour >= 0; }
static double saw(int64_t hour) { return (double)(hour % 24) + 0.001 * (double)(hour / 24); }

/* The median of a law of 99. */
static double middle(const ll_forecast_members *f, const ll_forecast_window *w, int64_t q)
{
    assert_true(f->n == 99 && !f->drawn);
    return f->value[49 * w->n_query + q];
}

static void points_are_what_they_say(void **state)
{
    (void)state;
    stage    s;
    ll_arena arena = { 0 };
    stage_init(&s, panel_of(ramp, 400, 280), "a", 400);
    const ll_forecast_window *w = &s.list[5];
    for (int64_t q = 0; q < w->n_query; q++) {
        assert_true(fabs(middle(ask_one(&s, "linear", w, &arena), w, q) - ramp(w->time[q] / HOUR)) <
                    1e-9);
        assert_true(fabs(middle(ask_one(&s, "drift", w, &arena), w, q) - ramp(w->time[q] / HOUR)) <
                    1e-9);
    }
    const ll_forecast_members *f = ask_one(&s, "last_value", w, &arena);
    assert_true(fabs(middle(f, w, 29) - ramp(w->origin / HOUR)) < 1e-9);
    /* Its errors were 15 at lead 30, each time: that is its spread. */
    assert_true(fabs(f->value[98 * w->n_query + 29] - middle(f, w, 29) - 15 * 2.5725) < 0.01);
    f = ask_one(&s, "seasonal_24h", w, &arena);
    assert_true(fabs(middle(f, w, 0) - ramp(w->time[0] / HOUR - 24)) < 1e-9);
    assert_true(fabs(middle(f, w, 25) - ramp(w->time[25] / HOUR - 48)) < 1e-9);
    /* A week before lies before the context, and is known all the same. */
    f = ask_one(&s, "seasonal_7d", w, &arena);
    assert_true(fabs(middle(f, w, 25) - ramp(w->time[25] / HOUR - 168)) < 1e-9);
    /* The best point of a ramp is its line, and nothing is left over. */
    f = ask_one(&s, "residual_bar", w, &arena);
    assert_true(f->n == 99 && fabs(f->value[3] - f->value[98 * w->n_query + 3]) < 1e-6);
    stage_deinit(&s);
    ll_arena_deinit(&arena);
}

static double spiked(int64_t hour) { return hour == 320 ? 65535 : ramp(hour); }

/* A reading that is a glitch to the model is none to its opponents either. */
static void glitches_are_in_no_context(void **state)
{
    (void)state;
    stage    s;
    ll_arena arena = { 0 };
    stage_init(&s, panel_of(spiked, 400, 280), "a", 400);
    uint8_t *glitch = ll_new((size_t)s.p->n_rows, 1);
    int64_t  at = 0; /* a window that ends with it */
    for (int64_t r = 0; r < s.p->n_rows; r++) glitch[r] = s.p->value[r] > 1000;
    while (at < s.n && s.list[at].origin != 320 * HOUR) at++;
    assert_true(at < s.n);
    const ll_forecast_window *w = &s.list[at];
    assert_true(middle(ask_one(&s, "last_value", w, &arena), w, 0) > 1000);
    ll_opponents_deinit(&s.o);
    CHECK_OK(ll_opponents_init(&s.o, &s.frame, s.scale, &s.var, s.w, s.split, LL_PART_TEST,
                               &(ll_seasons){ 0 }, glitch));
    assert_true(fabs(middle(ask_one(&s, "last_value", w, &arena), w, 0) - ramp(319)) < 1e-9);
    assert_true(fabs(middle(ask_one(&s, "linear", w, &arena), w, 9) - ramp(330)) < 1e-6);
    ll_free(glitch);
    stage_deinit(&s);
    ll_arena_deinit(&arena);
}

static double doubling(int64_t hour) { return exp2((double)(hour % 2) + (double)(hour / 100)); }

/* Steps of the logarithm are log 2 up and down, with one of 0 and one of 2 log 2 sometimes. */
static void prices_walk_in_logarithms(void **state)
{
    (void)state;
    stage    s;
    ll_arena arena = { 0 };
    stage_init(&s, panel_of(doubling, 400, 280), "a", 400);
    assert_int_equal(s.o.n, 11);
    const ll_forecast_window  *w = &s.list[11];
    const ll_forecast_members *f = ask_one(&s, "log_walk", w, &arena);
    double                     sum = 0;
    const int64_t              last = w->origin / HOUR;
    for (int64_t h = last - 70; h <= last; h++) {
        const double step = log(doubling(h)) - log(doubling(h - 1));
        sum += step * step / 71;
    }
    for (int64_t q = 0; q < w->n_query; q += 7) {
        const double up = f->value[98 * w->n_query + q] / middle(f, w, q);
        assert_true(fabs(middle(f, w, q) / doubling(last) - 1) < 1e-12);
        assert_true(fabs(log(up) / (2.5725 * sqrt(sum * (double)(q + 1))) - 1) < 1e-3);
    }
    stage_deinit(&s);
    /* What stands still has no volatility: the spread is that of past errors. */
    stage_init(&s, panel_of(constant, 400, 280), "a", 400);
    f = ask_one(&s, "log_walk", &s.list[11], &arena);
    assert_memory_equal(f->value, ask_one(&s, "last_value", &s.list[11], &arena)->value,
                        99 * (size_t)s.list[11].n_query * sizeof(double));
    stage_deinit(&s);
    ll_arena_deinit(&arena);
}

static void seasons_are_read(void **state)
{
    (void)state;
    const ll_model_frame hourly = { .axis = LL_AXIS_CALENDAR, .step = HOUR };
    ll_model_frame       other = hourly;
    ll_seasons           s;
    CHECK_OK(ll_seasons_parse("12h,30d,48", &hourly, &LL_AXIS_UTC, &s));
    assert_true(s.n == 3 && s.ticks[1] == 720 * HOUR && s.ticks[2] == 48 * HOUR);
    assert_string_equal(s.name[1], "seasonal_30d");
    assert_string_equal(s.name[2], "seasonal_48");
    CHECK_OK(ll_seasons_parse(NULL, &hourly, &LL_AXIS_UTC, &s));
    assert_true(s.n == 2 && s.ticks[0] == 24 * HOUR && s.ticks[1] == 168 * HOUR);
    other.step = 24 * HOUR;
    CHECK_OK(ll_seasons_parse(NULL, &other, &LL_AXIS_UTC, &s));
    assert_true(s.n == 1 && s.ticks[0] == 168 * HOUR);
    other.axis = LL_AXIS_NUMBER;
    CHECK_OK(ll_seasons_parse(NULL, &other, &LL_AXIS_UTC, &s));
    assert_int_equal(s.n, 0);
    CHECK_FAIL(ll_seasons_parse("24h,1d", &hourly, &LL_AXIS_UTC, &s), LLAP_EOPTION,
               "season: '1d' is there twice");
    CHECK_FAIL(ll_seasons_parse("30m", &hourly, &LL_AXIS_UTC, &s), LLAP_EOPTION,
               "season: '30m' is shorter than a step of the data");
    CHECK_FAIL(ll_seasons_parse("24h,", &hourly, &LL_AXIS_UTC, &s), LLAP_EOPTION, "season: ");
    CHECK_FAIL(ll_seasons_parse("2,3,4,5,6,7,8,9,10", &hourly, &LL_AXIS_UTC, &s), LLAP_EOPTION,
               "season: more than 8");
    CHECK_FAIL(ll_seasons_parse("every second Thursday of May", &hourly, &LL_AXIS_UTC, &s),
               LLAP_EOPTION, "season: expected spans such as 24h,7d, found 'every");
}

static void seasons_fit_into_the_data(void **state)
{
    (void)state;
    const ll_model_frame hourly = {
        .axis = LL_AXIS_CALENDAR, .axis_unit = 1, .unit = HOUR, .step = HOUR
    };
    llap_panel *p = panel_of(saw, 400, 280);
    ll_seasons  s;
    CHECK_OK(ll_seasons_parse("24h,399h", &hourly, &LL_AXIS_UTC, &s));
    CHECK_OK(ll_seasons_check(&s, &hourly, p));
    CHECK_OK(ll_seasons_parse("24h,400h", &hourly, &LL_AXIS_UTC, &s));
    CHECK_FAIL(ll_seasons_check(&s, &hourly, p), LLAP_EOPTION,
               "season: '400h' is longer than the data, which spans 17d");
    llap_panel_destroy(p);
}

static void days_are_paths(void **state)
{
    (void)state;
    stage    s;
    ll_arena arena = { 0 };
    stage_init(&s, panel_of(saw, 400, 280), "a", 400);
    const ll_forecast_window  *w = &s.list[11];
    const ll_forecast_members *f = ask_one(&s, "context_days", w, &arena);
    assert_true(f->n == 3 && !f->drawn && f->joint);
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
    assert_true(f->n == 3 && !f->drawn && !f->joint);
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
        cmocka_unit_test(glitches_are_in_no_context),
        cmocka_unit_test(prices_walk_in_logarithms),
        cmocka_unit_test(seasons_are_read),
        cmocka_unit_test(seasons_fit_into_the_data),
        cmocka_unit_test(days_are_paths),
        cmocka_unit_test(days_without_readings_are_a_law),
        cmocka_unit_test(the_first_order_process_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
