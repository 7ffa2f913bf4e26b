/* What forecasts are made of: components add up to what is answered, and are those that made the
 * data. */
#include "folder.h"
#include "sensors.h"

#include "anchor/components.h"
#include "base/time/civil.h"

#include <llapdiff/components.h>

enum { DAYS = 220, AHEAD = 24, FREE = 20 }; /* every FREE-th day is a holiday, from FREE - 1 on */

static bool is_free(int64_t day) { return day % FREE == FREE - 1; }

/* The season of hour i; 1970-01-04 was a Sunday. */
static double season(int64_t i)
{
    const int64_t day = i / 24;
    const bool    sunday = day % 7 == 3 || is_free(day);
    return sunday ? -6 : i % 24 >= 8 && i % 24 < 20 ? 4 : -1;
}

/* "load": season, 2 for each degree of "heat", and noise; or its exponential. */
typedef enum bed { PLAIN, LOGARITHM } bed;

static llap_panel *make(bed kind)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    const ll_rng      r = ll_rng_make(12, LL_STREAM_TEST, 0, 0, 0);
    double            heat = 0;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "load", 4, &v));
    CHECK_OK(ll_panel_builder_var(b, "heat", 4, &v));
    CHECK_OK(ll_panel_builder_entity(b, "a", 1, &e));
    for (uint64_t i = 0; i < 24 * DAYS; i++) {
        heat = .97 * heat + .25 * (double)ll_rng_normal(&r, 2 * i);
        const double noise = (double)ll_rng_normal(&r, 2 * i + 1);
        double       x = season((int64_t)i) + 2 * heat + .3 * noise;
        if (kind == LOGARITHM) x = exp(3 + .1 * x);
        const bool ahead = i >= 24 * DAYS - AHEAD;
        CHECK_OK(ll_panel_builder_row(b, e, (int64_t)i * HOUR,
                                      (float[]){ ahead ? NAN : (float)x, (float)heat }));
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

/* Sales of two shops a day, more on Saturdays. */
static llap_panel *make_counts(void)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "load", 4, &v));
    for (uint64_t k = 0; k < 2; k++) {
        const ll_rng r = ll_rng_make(13, LL_STREAM_TEST, k, 0, 0);
        CHECK_OK(ll_panel_builder_entity(b, k == 0 ? "a" : "b", 1, &e));
        for (uint64_t i = 0, draw = 0; i < 500; i++) {
            const double rate = (k == 0 ? .3 : 1.3) * (i % 7 == 2 ? 3 : 1);
            float        sold = 0; /* Poisson: events within a day */
            for (double t = 0;; sold++) {
                t -= log((double)ll_rng_uniform(&r, draw++) + 1e-7);
                if (t > rate) break;
            }
            CHECK_OK(ll_panel_builder_row(b, e, (int64_t)i * 24 * HOUR, &sold));
        }
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static llap_panel *panel;
static llap_model *model;

static llap_model *train(const llap_panel *p, const char *transform, const char *known)
{
    llap_train_opts o = { 0 };
    llap_model     *m;
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.target = "load";
    o.known = known;
    o.transform = transform;
    o.context = "7d";
    o.horizon = "24";
    o.holidays = in_folder("days.csv");
    o.training = "{\"anchor\": {\"steps\": 40, \"rows\": 24}}";
    if (p->n_vars == 1) o.context = "28d", o.horizon = "7d", o.holidays = NULL;
    CHECK_OK(llap_train(p, &o, &m));
    return m;
}

static int set_up(void **state)
{
    if (make_folder(state) != 0) return 1;
    FILE *f = fopen(in_folder("days.csv"), "w");
    for (int64_t day = 0; day < DAYS; day++) {
        ll_civil c;
        ll_date_from_days(day, &c);
        if (is_free(day)) fprintf(f, "%04d-%02d-%02d\n", (int)c.year, (int)c.month, (int)c.day);
    }
    fclose(f);
    panel = make(PLAIN);
    model = train(panel, "none", "heat");
    return 0;
}

static int tear_down(void **state)
{
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return remove_folder(state);
}

static int64_t column(const llap_component_columns *v, const char *name)
{
    for (int64_t i = 0; i < v->n_components; i++)
        if (strcmp(v->components[i], name) == 0) return i;
    fail_msg("no component '%s'", name);
    return -1;
}

/* Components of every row sum to `sum`; rows ahead are those of the answer. Returns how many. */
static int64_t check_sums(const llap_component_columns *v, const llap_answer *a, int number)
{
    int64_t ahead = 0;
    for (int64_t i = 0; i < v->n_rows; i++) {
        double sum = 0;
        for (int64_t k = 0; k < v->n_components; k++) sum += v->value[i * v->n_components + k];
        if (!(fabs(sum - v->sum[i]) <= 1e-9 * fmax(1, fabs(sum))))
            fail_msg("row %lld: components sum to %.15g, not %.15g", (long long)i, sum, v->sum[i]);
        if (v->time[i] <= v->origin[i]) continue;
        double x = v->sum[i];
        if (strcmp(v->scales[0], "log") == 0) x = exp(x);
        const double answer = a->number[ahead * a->n_numbers + number];
        assert_true(a->rows.time[ahead] == v->time[i]);
        if (!(fabs(x - answer) <= 1e-9 * fmax(1, fabs(answer))))
            fail_msg("row %lld: sum %.15g, answer %.15g", (long long)i, x, answer);
        ahead++;
    }
    assert_int_equal(ahead, a->n_rows);
    return ahead;
}

static void they_sum_to_the_answer(void **state)
{
    (void)state;
    const llap_forecast_opts o = { .every = "2d",
                                   .at = "1970-07-20T00:00:00Z",
                                   .quantiles = "0.5" };
    llap_components         *c;
    llap_answer             *a;
    CHECK_OK(llap_forecast_components(model, panel, &o, &c));
    CHECK_OK(llap_forecast(model, panel, &o, &a));
    const llap_component_columns *v = llap_components_view(c);
    assert_string_equal(v->scales[0], "data");
    assert_true(check_sums(v, a, 0) > 5 * AHEAD); /* the mean itself: nothing is bent */
    for (int64_t i = 0; i < v->n_rows; i++) {     /* measured as it was */
        const int64_t r = v->time[i] / HOUR;
        const double  y = (double)panel->value[2 * r];
        assert_true(isnan(y) ? isnan(v->measured[i]) : v->measured[i] == y);
    }
    llap_components_destroy(c);
    llap_answer_destroy(a);
}

/* Largest difference of a component from what it should be, their means aside. */
static double off(const llap_component_columns *v, int64_t k, double (*truth)(int64_t hour))
{
    double mean = 0, worst = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < v->n_rows; i++) {
            const double d = v->value[i * v->n_components + k] - truth(v->time[i] / HOUR);
            if (pass == 0) mean += d / (double)v->n_rows;
            else worst = fmax(worst, fabs(d - mean));
        }
    return worst;
}

static double heat_effect(int64_t hour) { return 2 * (double)panel->value[2 * hour + 1]; }

static double holiday_effect(int64_t hour)
{
    const int64_t day = hour / 24;
    if (!is_free(day)) return 0;
    const double usual = hour % 24 >= 8 && hour % 24 < 20 ? 4 : -1;
    return day % 7 == 3 ? 0 : -6 - usual;
}

static double usual_season(int64_t hour)
{
    const int64_t day = hour / 24, other = is_free(day) ? day - 7 : day; /* none of them is free */
    return season(24 * other + hour % 24);
}

static void they_are_what_made_the_data(void **state)
{
    (void)state;
    llap_forecast_opts o = { .at = "1970-07-18T23:00:00Z" }; /* day 199, a holiday, comes */
    llap_components   *c;
    CHECK_OK(llap_forecast_components(model, panel, &o, &c));
    const llap_component_columns *v = llap_components_view(c);
    const int64_t                 n = v->n_components;
    assert_int_equal(v->n_rows, 7 * 24 + AHEAD);
    assert_non_null(model->anchor[0]->chain->known);
    assert_non_null(model->anchor[0]->chain->holidays);
    const double heat = off(v, column(v, "heat"), heat_effect);
    const double rest = off(v, column(v, "holidays"), holiday_effect);
    if (!(heat < .5)) fail_msg("effect of heat is off by %g", heat);
    if (!(rest < 2)) fail_msg("effect of the holiday is off by %g", rest);
    double       *both = calloc((size_t)(v->n_rows * n), sizeof *both); /* the week as a whole */
    const int64_t day = column(v, "daily"), week = column(v, "weekly");
    for (int64_t i = 0; i < v->n_rows * n; i++) both[i] = v->value[i];
    for (int64_t i = 0; i < v->n_rows; i++) both[i * n + day] += both[i * n + week];
    llap_component_columns joined = *v;
    joined.value = both;
    const double seasons = off(&joined, day, usual_season);
    if (!(seasons < 2)) fail_msg("the seasons are off by %g", seasons);
    for (int64_t i = 0; i < v->n_rows; i++)
        if (!is_free(v->time[i] / HOUR / 24))
            assert_true(v->value[i * n + column(v, "holidays")] == 0);
    free(both);
    llap_components_destroy(c);
}

static void other_curves_add_up_on_their_scale(void **state)
{
    (void)state;
    llap_panel              *p = make(LOGARITHM);
    llap_model              *m = train(p, NULL, NULL);
    llap_components         *c;
    llap_answer             *a;
    const llap_forecast_opts o = { .quantiles = "0.5" };
    CHECK_OK(llap_forecast_components(m, p, &o, &c));
    CHECK_OK(llap_forecast(m, p, &o, &a));
    const llap_component_columns *v = llap_components_view(c);
    const ll_anchor_model        *k = m->anchor[0];
    if (strcmp(v->scales[0], "log") == 0) check_sums(v, a, 1);
    else assert_string_equal(v->scales[0], "yeo-johnson");
    for (int64_t i = 0, at = 0; i < v->n_rows; i++) /* a value of that size has that place */
        if (v->time[i] > v->origin[i]) {
            ll_component_list l;
            ll_component_list_init(&l, k, true);
            const double middle = a->number[a->n_numbers * at++ + 1];
            assert_true(fabs(ll_component_of(k, &l, 0, middle) - v->sum[i]) < 1e-9);
        }
    llap_answer_destroy(a);
    llap_components_destroy(c);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

static void counts_add_up_to_their_mean(void **state)
{
    (void)state;
    llap_panel              *p = make_counts();
    llap_model              *m = train(p, NULL, NULL);
    llap_components         *c;
    llap_answer             *a;
    const llap_forecast_opts o = { .quantiles = "0.5" };
    assert_int_equal(m->anchor[0]->chain->curve, LL_CURVE_COUNTS);
    CHECK_OK(llap_forecast_components(m, p, &o, &c));
    CHECK_OK(llap_forecast(m, p, &o, &a));
    const llap_component_columns *v = llap_components_view(c);
    assert_string_equal(v->scales[0], "data");
    assert_int_equal(v->n_components, 3);
    check_sums(v, a, 0);
    for (int64_t i = 0; i < v->n_rows; i++) { /* the week of each shop, by its level */
        const double *x = v->value + i * 3;
        const bool    saturday = v->time[i] / HOUR / 24 % 7 == 2;
        assert_true(saturday ? x[1] > .5 * x[0] : x[1] < 0);
    }
    llap_answer_destroy(a);
    llap_components_destroy(c);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

static void linked_series_have_what_the_others_add(void **state)
{
    (void)state;
    llap_panel              *p = make_panel("no2", "noise", 3);
    llap_train_opts          t = { 0 };
    llap_model              *m;
    llap_components         *c;
    llap_answer             *a;
    const llap_forecast_opts o = { .quantiles = "0.5" };
    t.size = LLAP_TRAIN_SIZE_ANCHOR;
    t.target = "no2";
    t.context = "2d";
    t.horizon = "24";
    t.transform = "none";
    t.training = "{\"anchor\": {\"steps\": 40, \"rows\": 24}}";
    CHECK_OK(llap_train(p, &t, &m));
    m->anchor[0]->link.rank = 1; /* as if linking had gained */
    m->anchor[0]->link.n = 3;
    m->anchor[0]->loading = ll_new(3, sizeof(double));
    for (int i = 0; i < 3; i++) m->anchor[0]->loading[i] = .8;
    m->anchor[0]->link.loading = m->anchor[0]->loading;
    for (int i = 0; i < m->anchor[0]->kernel.n_terms; i++) m->anchor[0]->link.share[i] = .5;
    CHECK_OK(llap_forecast_components(m, p, &o, &c));
    CHECK_OK(llap_forecast(m, p, &o, &a));
    const llap_component_columns *v = llap_components_view(c);
    check_sums(v, a, 1);
    const int64_t others = column(v, "others");
    double        most = 0;
    for (int64_t i = 0; i < v->n_rows; i++) {
        const double x = fabs(v->value[i * v->n_components + others]);
        if (v->time[i] <= v->origin[i]) assert_true(x == 0);
        most = fmax(most, x);
    }
    assert_true(most > 1e-6);
    llap_components_destroy(c);
    llap_answer_destroy(a);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

static llap_status ask(void *user)
{
    const llap_forecast_opts o = { .horizon = "3" };
    llap_components         *c;
    (void)user;
    const llap_status st = llap_forecast_components(model, panel, &o, &c);
    llap_components_destroy(c);
    return st;
}

static void failures_leak_nothing(void **state)
{
    (void)state;
    check_every_failed_allocation(ask, NULL);
}

static void a_pool_has_none(void **state)
{
    (void)state;
    const llap_model        *with[] = { model };
    const llap_forecast_opts o = { .with = with, .n_with = 1 };
    llap_components         *c;
    CHECK_FAIL(llap_forecast_components(model, panel, &o, &c), LLAP_EUNSUPPORTED, "several models");
    assert_null(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_sum_to_the_answer),
        cmocka_unit_test(they_are_what_made_the_data),
        cmocka_unit_test(other_curves_add_up_on_their_scale),
        cmocka_unit_test(counts_add_up_to_their_mean),
        cmocka_unit_test(linked_series_have_what_the_others_add),
        cmocka_unit_test(failures_leak_nothing),
        cmocka_unit_test(a_pool_has_none),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
