/* Opponents, tallies and the bootstrap, on panels small enough to be sure. */
#include "data/random_panel.h"

#include "base/crps.h"
#include "data/windows/naive.h"
#include "predict/forecaster.h"
#include "predict/frame.h"
#include "score/bootstrap.h"
#include "score/metric.h"
#include "score/opponents.h"

#include <omp.h>

#define HOUR INT64_C(3600000000000)

/* What evaluation has before it begins. */
typedef struct stage {
    ll_model_frame      frame;
    llap_panel         *p;
    int64_t             var;
    ll_score_scale     *scale;
    ll_windows         *w;
    ll_split           *split;
    ll_forecast_window *list; /* of the test part */
    int64_t             n;
    ll_opponents        o;
} stage;

/* Takes the panel. Context 3 days, horizon 30 hours; the last third tests. */
static void stage_init(stage *s, llap_panel *p, const char *entity, int64_t rows)
{
    *s = (stage){ .p = p };
    static const char *names[1], *targets[] = { "v0" };
    names[0] = entity;
    s->frame = (ll_model_frame){ .n_targets = 1,
                                 .n_entities = 1,
                                 .target = targets,
                                 .entity = names,
                                 .axis = LL_AXIS_CALENDAR,
                                 .axis_unit = 1,
                                 .unit = HOUR,
                                 .context = 72 * HOUR,
                                 .horizon = 30 * HOUR,
                                 .step = HOUR,
                                 .val_start = rows / 2 * HOUR,
                                 .test_start = rows * 2 / 3 * HOUR };
    s->scale = ll_new((size_t)p->n_entities, sizeof *s->scale);
    for (int64_t e = 0; e < p->n_entities; e++)
        s->scale[e] =
            (ll_score_scale){ .sd = 1, .lo = -INFINITY, .hi = INFINITY, .clip = INFINITY };
    CHECK_OK(ll_frame_windows(&s->frame, p, &s->var, 1, &s->w));
    CHECK_OK(ll_frame_split(&s->frame, s->w, &s->split));
    s->n = s->split->n[LL_PART_TEST];
    s->list = ll_new((size_t)s->n, sizeof *s->list);
    for (int64_t i = 0, k = 0; i < s->w->n; i++)
        if (s->split->part[i] == LL_PART_TEST) s->list[k++] = ll_forecast_window_of(s->w, i);
    CHECK_OK(ll_forecast_windows_sort(s->list, s->n));
    ll_seasons seasons;
    CHECK_OK(ll_seasons_parse(NULL, &s->frame, &LL_AXIS_UTC, &seasons));
    CHECK_OK(ll_opponents_init(&s->o, &s->frame, s->scale, &s->var, s->w, s->split, LL_PART_TEST,
                               &seasons));
}

static void stage_deinit(stage *s)
{
    ll_opponents_deinit(&s->o);
    ll_free(s->list);
    ll_free(s->scale);
    ll_split_destroy(s->split);
    ll_windows_destroy(s->w);
    llap_panel_destroy(s->p);
}

static llap_status stage_score(const stage *s, int32_t *unit, scoring *out)
{
    const ll_forecaster *f[LL_OPPONENTS];
    for (int i = 0; i < s->o.n; i++) f[i] = &s->o.f[i];
    for (int64_t i = 0; i < s->n; i++) unit[i] = (int32_t)i;
    const scoring_input in = { .panel = s->p,
                               .var = &s->var,
                               .n_targets = 1,
                               .scale = s->scale,
                               .w = s->list,
                               .n = s->n,
                               .unit = unit,
                               .n_units = s->n,
                               .leads = ll_leads_of_frame(&s->frame),
                               .entities = true,
                               .f = f,
                               .n_forecasters = s->o.n,
                               .ask = { .n_samples = 20, .seed = 3 } };
    return scoring_run(&in, out);
}

static int find(const stage *s, const char *name)
{
    for (int i = 0; i < s->o.n; i++)
        if (strcmp(s->o.f[i].name, name) == 0) return i;
    fail_msg("no opponent '%s'", name);
    return -1;
}

/* Hourly, nothing dropped, a fifth missing. */
static llap_panel *holey_panel(void)
{
    return random_panel(4, &(random_shape){ 3, 2, 400, true, 0, 0.2, 0 });
}

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

/* ---- tallies ---- */

static void a_tally_is_the_sum_of_its_metrics(void **state)
{
    (void)state;
    enum { N = 60, Q = 21 };
    static double        value[N * Q], truth[Q];
    int32_t              bin[Q];
    const ll_rng         r = ll_rng_make(2, LL_STREAM_TEST, 0, 0, 0);
    const ll_score_scale scale = { .mean = 3, .sd = 2, .lo = -1.5, .hi = 5, .clip = 5 };
    for (int i = 0; i < N * Q; i++) value[i] = 3 + 2 * (double)ll_rng_normal(&r, (uint64_t)i);
    for (int q = 0; q < Q; q++) {
        truth[q] = 3 + 2 * (double)ll_rng_normal(&r, (uint64_t)(9999 + q));
        bin[q] = q / 2;
    }
    truth[4] = NAN;
    value[5 * Q + 7] = NAN; /* a hole */
    const ll_forecast_members f = { .n = N, .value = value, .drawn = true, .joint = true };
    const tally_case          c = { Q, truth, &scale, bin, 77, 1 };
    tally                     t = { 0 };
    tally_brief               lead[11] = { { 0 } };
    tally_room                room;
    CHECK_OK(tally_room_init(&room, N, Q));
    tally_forecast(&c, &f, &room, &t, lead);
    double crps = 0, crps_y = 0, crps_held = 0, se = 0, median = 0, pin = 0, inside = 0, width = 0;
    for (int q = 0; q < Q; q++) {
        double x[N], y[N], held[N];
        int    n = 0;
        if (isnan(truth[q])) continue;
        for (int k = 0; k < N; k++)
            if (!isnan(value[k * Q + q])) y[n++] = value[k * Q + q];
        metric_sort(y, n);
        for (int k = 0; k < n; k++) x[k] = ll_score_scale_z(&scale, y[k]);
        const double z = ll_score_scale_z(&scale, truth[q]);
        const double lo = metric_quantile(x, n, 0.1, true), hi = metric_quantile(x, n, 0.9, true);
        crps += ll_crps(x, n, z, true);
        crps_y += ll_crps(y, n, truth[q], true);
        for (int k = 0; k < n; k++) held[k] = ll_scale_held(&scale, y[k]);
        crps_held += ll_crps(held, n, ll_scale_held(&scale, truth[q]), true);
        se += pow(z - metric_mean(x, n), 2);
        median += fabs(z - metric_median(x, n));
        pin += metric_pinball(metric_quantile_inner(x, n, 0.3), z, 0.3);
        inside += z >= lo && z <= hi;
        width += hi - lo;
    }
    assert_true(t.n == Q - 1 && t.n_energy == 0); /* one path has a hole */
    assert_true(fabs(t.z.crps - crps) < 1e-12 && fabs(t.y.crps - crps_y) < 1e-12);
    assert_true(fabs(t.z.se - se) < 1e-12 && fabs(t.z.ae_median - median) < 1e-12);
    assert_true(fabs(t.z.pinball[2] - pin) < 1e-12 && t.z.inside[1] == inside);
    assert_true(fabs(t.z.width[1] - width) < 1e-12);
    double sum = 0, places = 0;
    for (int l = 0; l < 11; l++) sum += lead[l].crps;
    for (int k = 0; k < TALLY_BINS; k++) places += t.pit[k];
    assert_true(fabs(sum - crps) < 1e-12 && places == Q - 1);
    assert_true(lead[2].n == 1 && lead[3].n == 2);
    assert_true(fabs(t.paper_crps - crps_held) < 0.1 * crps_held); /* 200 pairs of them */
    assert_true(crps_held < 0.95 * crps);
    value[5 * Q + 7] = 0;
    tally_forecast(&c, &f, &room, &t, NULL);
    assert_true(t.n == 2 * (Q - 1) && t.n_energy == 1 && t.energy > 0);
    tally_room_deinit(&room);
}

/* Draws at one query, a law at the next: each is scored by what it is. */
static void draws_and_laws_may_be_mixed(void **state)
{
    (void)state;
    enum { N = 4 };
    static const double  value[N * 2] = { 1, 1, 3, 2, 7, 5, NAN, 8 }, truth[2] = { 2, 4 };
    static const double  draws[] = { 1, 3, 7 }, members[] = { 1, 2, 5, 8 };
    static const bool    law[] = { false, true };
    const ll_score_scale scale = { .sd = 1, .lo = -INFINITY, .hi = INFINITY, .clip = INFINITY };
    const ll_forecast_members f = { .n = N, .value = value, .drawn = true, .law = law };
    const tally_case          c = { 2, truth, &scale, NULL, 1, 1 };
    const double              exact = ll_crps(members, 4, 4, false);
    tally                     t = { 0 };
    tally_room                room;
    CHECK_OK(tally_room_init(&room, N, 2));
    tally_forecast(&c, &f, &room, &t, NULL);
    assert_float_equal(t.y.crps, ll_crps(draws, 3, 2, true) + exact, 1e-12);
    assert_float_equal(t.z.crps, t.y.crps, 1e-12);
    tally_room_deinit(&room);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    stage s;
    stage_init(&s, holey_panel(), "e00", 400);
    int32_t  *unit = ll_new((size_t)s.n, sizeof *unit);
    scoring   one, three;
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    CHECK_OK(stage_score(&s, unit, &one));
    omp_set_num_threads(3);
    CHECK_OK(stage_score(&s, unit, &three));
    omp_set_num_threads(before);
    for (int i = 0; i < s.o.n; i++) {
        assert_memory_equal(&one.cell[i].total, &three.cell[i].total, sizeof(tally));
        assert_memory_equal(one.cell[i].lead, three.cell[i].lead, 30 * sizeof(tally_brief));
        double n = 0;
        for (int64_t e = 0; e < 3; e++) n += one.cell[i].entity[e].n;
        assert_true(n == one.cell[i].total.n);
    }
    assert_memory_equal(one.unit, three.unit,
                        (size_t)(one.n_forecasters * one.n_units) * sizeof(scoring_sum));
    scoring_deinit(&one);
    scoring_deinit(&three);
    ll_free(unit);
    stage_deinit(&s);
}

static llap_status all_of_it(void *user)
{
    stage   *s = user;
    int32_t *unit = ll_new((size_t)s->n, sizeof *unit);
    scoring  out = { 0 };
    stage    mine = *s;
    mine.o = (ll_opponents){ 0 };
    const ll_seasons day = { .n = 1, .ticks = { 24 * HOUR } };
    bootstrap_result result;
    llap_status      st = unit == NULL ? LLAP_ENOMEM
                                       : ll_opponents_init(&mine.o, &s->frame, s->scale, &s->var, s->w,
                                                           s->split, LL_PART_TEST, &day);
    mine.n = 3;
    if (st == LLAP_OK) st = stage_score(&mine, unit, &out);
    if (st == LLAP_OK)
        st = bootstrap_difference(scoring_units(&out, 0, 0), scoring_units(&out, 1, 0), 3,
                                  &(bootstrap_opts){ .n_draws = 10, .run = 1, .seed = 1 }, &result);
    scoring_deinit(&out);
    ll_opponents_deinit(&mine.o);
    ll_free(unit);
    return st;
}

static void failing_allocations_are_survived(void **state)
{
    (void)state;
    stage     s;
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    stage_init(&s, holey_panel(), "e00", 400);
    check_every_failed_allocation(all_of_it, &s);
    stage_deinit(&s);
    omp_set_num_threads(before);
}

/* ---- the bootstrap ---- */

static void intervals_hold_the_truth(void **state)
{
    (void)state;
    enum { UNITS = 80, TRIALS = 200 };
    int held = 0;
    for (uint64_t t = 0; t < TRIALS; t++) {
        const ll_rng     r = ll_rng_make(t, LL_STREAM_TEST, 0, 0, 0);
        scoring_sum      a[UNITS], b[UNITS];
        bootstrap_result out;
        double           sum = 0, square = 0;
        for (uint64_t u = 0; u < UNITS; u++) { /* what both share is large, the difference 0.1 */
            const double shared = 10 * (double)ll_rng_uniform(&r, u);
            const double apart = 0.1 + 0.5 * (double)ll_rng_normal(&r, 1000 + u);
            a[u] = (scoring_sum){ 1, { shared, shared }, { shared, shared } };
            b[u] = (scoring_sum){ 1, { shared + apart, shared }, { shared - apart, 2 * shared } };
            sum -= apart / UNITS;
            square += apart * apart / UNITS;
        }
        CHECK_OK(bootstrap_difference(
            a, b, UNITS, &(bootstrap_opts){ .n_draws = 400, .run = 1, .seed = t }, &out));
        assert_true(fabs(out.crps.value - sum) < 1e-12 && out.mse.se == 0);
        assert_true(fabs(out.crps.se / sqrt((square - sum * sum) / UNITS) - 1) < 0.2);
        held += out.crps.low <= -0.1 && out.crps.high >= -0.1;
        if (t > 0) continue;
        bootstrap_result again, none;
        CHECK_OK(bootstrap_difference(
            a, b, UNITS, &(bootstrap_opts){ .n_draws = 400, .run = 1, .seed = t }, &again));
        assert_memory_equal(&out, &again, sizeof out);
        bootstrap_opts o = { .run = 1, .seed = t };
        CHECK_OK(bootstrap_difference(a, b, UNITS, &o, &none));
        bootstrap_result units;
        o.units = true;
        CHECK_OK(bootstrap_difference(a, b, UNITS, &o, &units));
        assert_true(fabs(units.crps.value + sum) < 1e-12 && units.mse.value < 0);
        assert_true(isnan(none.crps.low) && none.skill.value == out.skill.value);
    }
    assert_true(held >= 0.89 * TRIALS && held <= 0.99 * TRIALS); /* 95 %, two errors of 1.5 */
}

/* Where neighbours are alike, runs of them say so. */
static void runs_keep_neighbours_together(void **state)
{
    (void)state;
    enum { UNITS = 200 };
    const ll_rng     r = ll_rng_make(1, LL_STREAM_TEST, 0, 0, 0);
    scoring_sum      a[UNITS], b[UNITS];
    bootstrap_result single, together;
    for (uint64_t u = 0; u < UNITS; u++) {
        a[u] = (scoring_sum){ .n = 2, .z = { 2 + (double)ll_rng_normal(&r, u / 10), 1 } };
        b[u] = (scoring_sum){ .n = 2, .z = { 2, 1 } };
    }
    CHECK_OK(bootstrap_difference(
        a, b, UNITS, &(bootstrap_opts){ .n_draws = 500, .run = 1, .seed = 1 }, &single));
    CHECK_OK(bootstrap_difference(
        a, b, UNITS, &(bootstrap_opts){ .n_draws = 500, .run = 20, .seed = 1 }, &together));
    assert_true(together.crps.se > 2 * single.crps.se);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opponents_equal_the_verified_ones),
        cmocka_unit_test(the_future_changes_nothing),
        cmocka_unit_test(points_are_what_they_say),
        cmocka_unit_test(prices_walk_in_logarithms),
        cmocka_unit_test(seasons_are_read),
        cmocka_unit_test(days_are_paths),
        cmocka_unit_test(days_without_readings_are_a_law),
        cmocka_unit_test(the_first_order_process_is_found),
        cmocka_unit_test(a_tally_is_the_sum_of_its_metrics),
        cmocka_unit_test(draws_and_laws_may_be_mixed),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(failing_allocations_are_survived),
        cmocka_unit_test(intervals_hold_the_truth),
        cmocka_unit_test(runs_keep_neighbours_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
