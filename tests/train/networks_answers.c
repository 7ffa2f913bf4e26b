/* What networks on top of the anchors answer: forecasts, poles, gaps. */
#include "networks.h"

#include "backend/cpu/cpu.h"
#include "predict/filler.h"
#include "predict/forecaster.h"
#include "predict/tables/answer.h"
#include "report/poles.h"
#include "score/gaps/hidden_gaps.h"

#include <omp.h>

static void write_forecast(const llap_model *m, const llap_forecast_opts *o, const char *path)
{
    llap_answer *a = NULL;
    CHECK_OK(llap_forecast(m, panel, o, &a));
    CHECK_OK(llap_answer_write(a, path));
    llap_answer_destroy(a);
}

static void a_model_forecasts_the_same_from_its_file(void **state)
{
    (void)state;
    const llap_model *all[] = { joint, rows };
    for (int i = 0; i < 2; i++) {
        llap_model              *loaded = NULL;
        const llap_forecast_opts o = { 0 };
        CHECK_OK(llap_model_save(all[i], in_folder("m")));
        CHECK_OK(llap_model_load(in_folder("m"), &loaded));
        write_forecast(all[i], &o, in_folder("a.csv"));
        write_forecast(loaded, &o, in_folder("b.csv"));
        check_same_file(in_folder("a.csv"), in_folder("b.csv"));
        llap_model_destroy(loaded);
    }
}

#define ORIGIN (600 * HOUR)

/* The windows of entities at one time; each one's queries begin `apart` after those before. */
static void ask_at(const llap_model *m, int64_t first, int64_t n, const int64_t *time,
                   int64_t apart, int64_t n_query, int64_t n_samples, double *out)
{
    const int64_t       var = 0;
    ll_forecast_window  w[ENTITIES];
    ll_forecast_members f[ENTITIES];
    ll_forecaster       by = { 0 };
    ll_arena            arena = { 0 };
    for (int64_t i = 0; i < n; i++)
        w[i] = (ll_forecast_window){ .entity = first + i,
                                     .first = panel->start[first + i],
                                     .end = panel->start[first + i] + 601,
                                     .origin = ORIGIN,
                                     .n_query = n_query,
                                     .time = time + i * apart,
                                     .id = ll_forecast_window_id(panel, first + i, ORIGIN) };
    CHECK_OK(ll_model_forecaster(m, panel, &var, &ll_backend_cpu, NULL, &by));
    CHECK_OK(by.forecast(&by, &(ll_forecast_request){ .n_samples = n_samples, .seed = 3 }, w, n,
                         &arena, f));
    for (int64_t i = 0; i < n; i++)
        memcpy(out + i * n_samples * n_query, f[i].value,
               (size_t)(n_samples * n_query) * sizeof *out);
    ll_forecaster_deinit(&by);
    ll_arena_deinit(&arena);
}

/* With queries of every kind. */
static void ask(const llap_model *m, int64_t first, int64_t n, int64_t n_query, int64_t n_samples,
                double *out)
{
    static int64_t time[64];
    for (int64_t k = 0; k < n_query; k++) time[k] = ORIGIN + (k + 1) * HOUR * 2 / 3;
    ask_at(m, first, n, time, 0, n_query, n_samples, out);
}

static void samples_depend_on_what_is_asked_alone(void **state)
{
    (void)state;
    enum { Q = 18, S = 6 };
    static double     both[2 * S * Q], one[S * Q], few[2 * Q], threads[2 * S * Q];
    const llap_model *all[] = { joint, rows };
    ll_joint         *law = rows->joint;
    rows->joint = NULL; /* ranks among the samples depend on their number */
    for (int i = 0; i < 2; i++) {
        const int n = omp_get_max_threads();
        all[i]->network->config.features.calibration_factor.n = 0;
        ask(all[i], 0, 2, Q, S, both);
        ask(all[i], 1, 1, Q, S, one);
        ask(all[i], 1, 1, Q, 2, few);
        omp_set_num_threads(n == 1 ? 2 : 1);
        ask(all[i], 0, 2, Q, S, threads);
        omp_set_num_threads(n);
        assert_memory_equal(both + S * Q, one, sizeof one);
        assert_memory_equal(one, few, sizeof few);
        assert_memory_equal(both, threads, sizeof both);
        for (int k = 0; k < 2 * S * Q; k++) assert_true(isfinite(both[k]));
        assert_memory_not_equal(both, both + Q, Q * sizeof *both);
    }
    rows->joint = law;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A joint law hands the same values of a query out to other paths, for any number of threads. */
static void ranks_keep_the_values(void **state)
{
    (void)state;
    enum { Q = 18, S = 12 };
    static double with[2 * S * Q], without[2 * S * Q], threads[2 * S * Q];
    const int     n = omp_get_max_threads();
    ll_joint     *law = rows->joint;
    assert_non_null(law);
    ask(rows, 0, 2, Q, S, with);
    omp_set_num_threads(n == 1 ? 2 : 1);
    ask(rows, 0, 2, Q, S, threads);
    omp_set_num_threads(n);
    rows->joint = NULL;
    ask(rows, 0, 2, Q, S, without);
    rows->joint = law;
    assert_memory_equal(with, threads, sizeof with);
    assert_memory_not_equal(with, without, sizeof with);
    for (int i = 0; i < 2 * Q; i++) {
        double x[S], y[S];
        for (int k = 0; k < S; k++) {
            x[k] = with[(i / Q * S + k) * Q + i % Q];
            y[k] = without[(i / Q * S + k) * Q + i % Q];
        }
        qsort(x, S, sizeof *x, by_size);
        qsort(y, S, sizeof *y, by_size);
        assert_memory_equal(x, y, sizeof x);
    }
}

/* Beyond the horizon, and where validation preferred it, the anchor answers. */
static void the_anchor_answers_the_rest(void **state)
{
    (void)state;
    enum { Q = 24, S = 4 };
    static double      network[S * Q], anchor[S * Q];
    ll_feature_config *c = &rows->network->config.features;
    ll_joint          *law = rows->joint;
    rows->joint = NULL; /* draws in their own order */
    ask(rows, 0, 1, Q, S, network);
    c->answer_source = LL_ANSWER_BY_ANCHOR;
    ask(rows, 0, 1, Q, S, anchor);
    c->answer_source = LL_ANSWER_BY_NETWORKS;
    int others = 0; /* a few may be equal: held at the same limit */
    for (int k = 0; k < S * Q; k++) {
        if (k % Q > 17) assert_true(network[k] == anchor[k]); /* more than 12 hours ahead */
        else others += network[k] != anchor[k];
    }
    assert_true(others > S * 18 / 2);
    c->answer_source = LL_ANSWER_BY_BOTH;
    static double pool[S * Q];
    ask(rows, 0, 1, Q, S, pool);
    c->answer_source = LL_ANSWER_BY_NETWORKS;
    assert_memory_equal(pool, anchor, Q * sizeof *pool);
    assert_memory_equal(pool + Q, network, 18 * sizeof *pool);
    rows->joint = law;
}

/* A joint row has the times of all entities: too many of them together are the anchor's too. */
static void the_anchor_answers_what_is_too_much(void **state)
{
    (void)state;
    enum { Q = 8500, S = 1 };
    static int64_t     time[2 * Q];
    static double      network[2 * S * Q], anchor[2 * S * Q];
    ll_feature_config *c = &joint->network->config.features;
    for (int64_t k = 0; k < 2 * Q; k++) time[k] = ORIGIN + (k + 1) * (12 * HOUR / (2 * Q));
    ask_at(joint, 0, 2, time, Q, Q, S, network);
    c->answer_source = LL_ANSWER_BY_ANCHOR;
    ask_at(joint, 0, 2, time, Q, Q, S, anchor);
    c->answer_source = LL_ANSWER_BY_NETWORKS;
    assert_memory_equal(network, anchor, sizeof anchor);
    assert_true(anchor[0] != 0);
}

static void a_description_tells_who_answers(void **state)
{
    (void)state;
    static const char *const said[] = { "\nthe networks answer\n", "\nthe anchor answers: ",
                                        "\nnetworks and anchor answer, " };
    static const char *const name[] = { "\"answers\": \"networks\"", "\"answers\": \"anchor\"",
                                        "\"answers\": \"both\"" };
    for (int k = LL_ANSWER_BY_NETWORKS; k <= LL_ANSWER_BY_BOTH; k++) {
        char *text, *json;
        rows->network->config.features.answer_source = (ll_answer_source)k;
        CHECK_OK(llap_model_describe(rows, 0, &text));
        CHECK_OK(llap_model_describe(rows, 1, &json));
        for (int i = LL_ANSWER_BY_NETWORKS; i <= LL_ANSWER_BY_BOTH; i++) {
            assert_int_equal(strstr(text, said[i]) != NULL, i == k);
            assert_int_equal(strstr(json, name[i]) != NULL, i == k);
        }
        llap_text_free(text);
        llap_text_free(json);
    }
    rows->network->config.features.answer_source = LL_ANSWER_BY_NETWORKS;
}

static void an_anchor_that_answers_is_not_compared_with_itself(void **state)
{
    (void)state;
    llap_evaluate_opts o = { 0 };
    o.samples = 2;
    o.bootstrap = LLAP_ZERO;
    o.stride = "2d";
    for (int k = LL_ANSWER_BY_NETWORKS; k <= LL_ANSWER_BY_BOTH; k++) {
        char *text = NULL;
        rows->network->config.features.answer_source = (ll_answer_source)k;
        CHECK_OK(llap_evaluate(rows, panel, &o, &text, NULL));
        assert_non_null(strstr(text, "\n  anchor  ")); /* the row stays */
        assert_int_equal(strstr(text, " than anchor by ") != NULL, k != LL_ANSWER_BY_ANCHOR);
        llap_text_free(text);
    }
    rows->network->config.features.answer_source = LL_ANSWER_BY_NETWORKS;
}

static void totals_are_sums_of_paths(void **state)
{
    (void)state;
    llap_forecast_opts o = { 0 };
    llap_answer       *paths = NULL, *total = NULL;
    o.samples = 40;
    o.keep_samples = 1;
    o.horizon = "6";
    CHECK_OK(llap_forecast(joint, panel, &o, &paths));
    o.total = 1;
    o.keep_samples = 0;
    CHECK_OK(llap_forecast(joint, panel, &o, &total));
    assert_int_equal(total->n_rows, ENTITIES);
    double sum = 0;
    for (size_t i = 0; i < 40 * 6; i++) sum += paths->number[i] / 40;
    assert_float_equal(total->number[0], sum, 1e-6 * fabs(sum));
    for (int k = 2; k < total->n_numbers; k++)
        assert_true(total->number[k] >= total->number[k - 1]);
    llap_answer_destroy(paths);
    llap_answer_destroy(total);
}

/* Poles of the anchor, and of each member without and with a history. */
static void poles(void **state)
{
    (void)state;
    llap_model *const models[] = { joint, rows };
    for (int i = 0; i < 2; i++) {
        llap_pole_opts o = { .noise = 0.5, .channel = 1 }; /* resolved */
        ll_pole_report p, early;
        o.entity = "s1";
        CHECK_OK(ll_pole_report_init(&p, models[i], panel, &o));
        o.at = "1970-01-20T00:00:00Z";
        CHECK_OK(ll_pole_report_init(&early, models[i], panel, &o));
        assert_int_equal(p.n, 1 + 2 * 2);
        assert_string_equal(p.set[0].name, "no2");
        assert_string_equal(p.set[1].name, "network 1, without a history");
        assert_string_equal(p.set[4].name, i == 0
                                               ? "network 2, given all entities up to "
                                                 "1970-01-30T03:00:00Z"
                                               : "network 2, given s1 up to 1970-01-30T03:00:00Z");
        for (int k = 0; k < p.n; k++) {
            const ll_pole_set *a = &p.set[k], *b = &early.set[k];
            assert_true(ll_modes_stable(a->mode, a->n) && a->event != NULL);
            double energy = 0;
            for (int64_t j = 0; j < a->n; j++) {
                energy += a->energy[j];
                assert_true(a->event[j].stable);
            }
            assert_true(energy > 0);
            /* another history, other poles: only of those that look at it */
            const bool conditional = k == 2 || k == 4;
            assert_int_equal(memcmp(a->mode, b->mode, (size_t)a->n * sizeof *a->mode) != 0,
                             conditional);
            if (conditional) assert_true(a->mode[0].rho != p.set[k - 1].mode[0].rho);
        }
        ll_pole_report_deinit(&p);
        ll_pole_report_deinit(&early);
        o.entity = "s9";
        CHECK_FAIL(ll_pole_report_init(&p, models[i], panel, &o), LLAP_EINVAL, "no rows of 's9'");
        ll_pole_report_deinit(&p);
        o = (llap_pole_opts){ .noise = 0.5, .channel = 3 - i };
        CHECK_FAIL(ll_pole_report_init(&p, models[i], NULL, &o), LLAP_EINVAL, "latent channel");
        ll_pole_report_deinit(&p);
    }
}

static llap_status show_poles(void *user)
{
    llap_pole_opts o = { 0 };
    char          *text = NULL;
    o.transfer = o.impulse = 3;
    o.realisation = 1;
    const llap_status st = llap_model_poles(user, NULL, &o, 1, &text);
    llap_text_free(text);
    return st;
}

static void poles_survive_failed_allocations(void **state)
{
    (void)state;
    check_every_failed_allocation(show_poles, joint);
}

/* ---- gaps ---- */

static llap_answer *fill(const llap_model *m, const llap_panel *p, int causal)
{
    llap_impute_opts o = { 0 };
    llap_answer     *a = NULL;
    o.all = 1;
    o.causal = causal;
    CHECK_OK(llap_impute(m, p, &o, &a));
    return a;
}

static void networks_fill_what_is_missing_and_nothing_else(void **state)
{
    (void)state;
    llap_model *const all[] = { joint, rows };
    llap_panel       *few = make_panel(FEW);
    for (int i = 0; i < 4; i++) {
        llap_model *m = all[i / 2];
        const int   causal = i % 2, threads = omp_get_max_threads();
        let_networks_fill(m, 0);
        llap_answer *anchor = fill(m, few, causal);
        let_networks_fill(m, 7);
        llap_answer *a = fill(m, few, causal);
        omp_set_num_threads(threads == 1 ? 2 : 1);
        llap_answer *b = fill(m, few, causal);
        omp_set_num_threads(threads);
        let_networks_fill(m, 0);
        assert_int_equal(a->n_rows, anchor->n_rows);
        for (size_t k = 0; k < a->n_rows; k++) {
            const double *x = a->number + k * (size_t)a->n_numbers;
            const double *y = anchor->number + k * (size_t)a->n_numbers;
            const bool    same = memcmp(x, y, (size_t)a->n_numbers * sizeof *x) == 0;
            assert_true(same == a->rows.observed[k]);
            for (int q = 2; q < a->n_numbers; q++) assert_true(x[q] >= x[q - 1]);
            assert_true(fabs(x[0] - y[0]) < 40); /* near the anchor: the values' span is about 50 */
        }
        assert_memory_equal(a->number, b->number,
                            a->n_rows * (size_t)a->n_numbers * sizeof *a->number);
        llap_answer_destroy(anchor);
        llap_answer_destroy(a);
        llap_answer_destroy(b);
    }
    llap_panel_destroy(few);
}

/* The draws that quantiles are made of, where they belong. */
static void networks_keep_their_draws(void **state)
{
    (void)state;
    llap_panel       *few = make_panel(FEW);
    llap_model *const all[] = { joint, rows };
    for (int i = 0; i < 4; i++) {
        llap_impute_opts o = { 0 };
        llap_answer     *mean, *draws, *other;
        o.samples = 30;
        o.all = i % 2;
        let_networks_fill(all[i / 2], 7);
        CHECK_OK(llap_impute(all[i / 2], few, &o, &mean));
        o.keep_samples = 1;
        CHECK_OK(llap_impute(all[i / 2], few, &o, &draws));
        o.seed = 2;
        CHECK_OK(llap_impute(all[i / 2], few, &o, &other));
        let_networks_fill(all[i / 2], 0);
        assert_int_equal(draws->n_rows, 30 * mean->n_rows);
        assert_memory_not_equal(draws->number, other->number, draws->n_rows * sizeof(double));
        for (size_t k = 0, from = 0, n; k < mean->n_rows; k += n) {
            for (n = 1; k + n < mean->n_rows && mean->rows.entity[k + n] == mean->rows.entity[k] &&
                        mean->rows.target[k + n] == mean->rows.target[k];)
                n++;
            for (size_t j = 0; j < n; j++) {
                double sum = 0;
                for (size_t s = 0; s < 30; s++) sum += draws->number[from + s * n + j];
                assert_int_equal(draws->rows.time[from + j], mean->rows.time[k + j]);
                assert_true(fabs(sum / 30 - mean->number[(k + j) * 8]) < 1e-9);
            }
            from += 30 * n;
        }
        llap_answer_destroy(mean);
        llap_answer_destroy(draws);
        llap_answer_destroy(other);
    }
    llap_panel_destroy(few);
}

/* Hidden values of one day: draws of the networks, or the anchor's law. */
static void networks_are_scored_by_their_draws(void **state)
{
    (void)state;
    const int64_t   var = 0;
    ll_score_scale *scale = NULL;
    CHECK_OK(ll_score_scales(joint, panel, &scale));
    for (int by_networks = 0; by_networks < 2; by_networks++) {
        ll_hidden_gaps      g;
        ll_forecast_members f;
        ll_arena            arena = { 0 };
        let_networks_fill(joint, 7 * by_networks);
        const ll_hidden_gaps_opts how = { .part = LL_PART_TEST, .seed = 1 };
        CHECK_OK(ll_hidden_gaps_init(&g, joint, panel, &var, scale, &how));
        CHECK_OK(g.f[0].forecast(&g.f[0], &(ll_forecast_request){ .seed = 1 }, g.w, 1, &arena, &f));
        assert_int_equal(f.drawn, by_networks);
        for (int64_t q = 0; q < g.w->n_query; q++) {
            int64_t n = 0;
            for (int64_t k = 0; k < f.n; k++) n += isfinite(f.value[k * g.w->n_query + q]);
            assert_int_equal(n, by_networks ? LL_FILL_SAMPLES : f.n);
            assert_true(f.law == NULL || !f.law[q]);
        }
        ll_hidden_gaps_deinit(&g);
        ll_arena_deinit(&arena);
    }
    let_networks_fill(joint, 0);
    ll_free(scale);
}

static void networks_that_fill_from_the_past_see_nothing_else(void **state)
{
    (void)state;
    llap_panel       *few = make_panel(FEW), *less = make_panel(FEW / 2);
    llap_model *const all[] = { joint, rows };
    for (int i = 0; i < 2; i++) {
        let_networks_fill(all[i], 7);
        llap_answer *a = fill(all[i], few, 1), *b = fill(all[i], less, 1);
        let_networks_fill(all[i], 0);
        const size_t n = (size_t)a->n_numbers;
        for (size_t k = 0; k < b->n_rows; k++) {
            const size_t other = k < FEW / 2 ? k : k + FEW / 2;
            assert_int_equal(a->rows.time[other], b->rows.time[k]);
            assert_memory_equal(a->number + other * n, b->number + k * n, n * sizeof *a->number);
        }
        llap_answer_destroy(a);
        llap_answer_destroy(b);
    }
    llap_panel_destroy(few);
    llap_panel_destroy(less);
}

static llap_status fill_few(void *user)
{
    llap_answer           *a = NULL;
    const llap_impute_opts o = { 0 };
    const llap_status      st = llap_impute(joint, user, &o, &a);
    llap_answer_destroy(a);
    return st;
}

static void filling_survives_failed_allocations(void **state)
{
    (void)state;
    llap_panel *few = make_panel(8);
    let_networks_fill(joint, 7);
    check_every_failed_allocation(fill_few, few);
    let_networks_fill(joint, 0);
    llap_panel_destroy(few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poles),
        cmocka_unit_test(poles_survive_failed_allocations),
        cmocka_unit_test(a_model_forecasts_the_same_from_its_file),
        cmocka_unit_test(samples_depend_on_what_is_asked_alone),
        cmocka_unit_test(ranks_keep_the_values),
        cmocka_unit_test(the_anchor_answers_the_rest),
        cmocka_unit_test(the_anchor_answers_what_is_too_much),
        cmocka_unit_test(a_description_tells_who_answers),
        cmocka_unit_test(an_anchor_that_answers_is_not_compared_with_itself),
        cmocka_unit_test(totals_are_sums_of_paths),
        cmocka_unit_test(networks_fill_what_is_missing_and_nothing_else),
        cmocka_unit_test(networks_keep_their_draws),
        cmocka_unit_test(networks_are_scored_by_their_draws),
        cmocka_unit_test(networks_that_fill_from_the_past_see_nothing_else),
        cmocka_unit_test(filling_survives_failed_allocations),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
