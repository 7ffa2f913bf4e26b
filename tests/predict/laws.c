/* Answers of networks whose laws are wanted and not their paths: fewer members, nearer to the law;
 * the anchor's share has its own law; the same for any batch. */
#include "sensors.h"

#include "backend/cpu/cpu.h"
#include "base/sort.h"
#include "predict/forecaster.h"

#include <llapdiff/llapdiff.h>

enum { H = 12, WINDOWS = 6, ASKED = 200, TRUTH = 1000 };

static llap_panel        *panel;
static llap_model        *tiny;
static ll_forecast_window window[WINDOWS];
static int64_t            when[WINDOWS][H];

static int set_up(void **state)
{
    (void)state;
    llap_train_opts o = { 0 };
    o.target = "no2";
    o.context = "2d";
    o.horizon = "12";
    o.size = LLAP_TRAIN_SIZE_TINY;
    o.members = 1;
    o.steps = 20;
    o.training = "{\"anchor\": {\"steps\": 20}, \"networks\": {\"warmup\": 1, \"check_every\": 50, "
                 "\"check_rows\": 8, \"final_rows\": 8}}";
    o.batch = 8;
    panel = make_panel("no2", "wind", 2);
    CHECK_OK(llap_train(panel, &o, &tiny));
    for (int i = 0; i < WINDOWS; i++) {
        const int64_t origin = (200 + 150 * (i / 2)) * HOUR;
        for (int k = 0; k < H; k++) when[i][k] = origin + (k + 1) * HOUR;
        window[i] = ll_forecast_window_at(panel, i % 2, origin);
        window[i].n_query = H;
        window[i].time = when[i];
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    llap_model_destroy(tiny);
    llap_panel_destroy(panel);
    return 0;
}

typedef struct answers {
    ll_forecaster       f;
    ll_arena            arena;
    ll_forecast_members of[WINDOWS];
} answers;

static void ask(ll_answer_source source, int64_t samples, bool laws, int64_t first, int64_t n,
                answers *out)
{
    const int64_t             var[] = { 0 };
    const ll_forecast_request how = { .n_samples = samples, .seed = 3, .laws = laws };
    tiny->network->config.features.answer_source = source;
    *out = (answers){ 0 };
    CHECK_OK(ll_model_forecaster(tiny, panel, var, &ll_backend_cpu, NULL, &out->f));
    CHECK_OK(out->f.forecast(&out->f, &how, window + first, n, &out->arena, out->of));
}

static void done(answers *a)
{
    ll_arena_deinit(&a->arena);
    ll_forecaster_deinit(&a->f);
}

/* The members at a query, in order: every step-th from the first. */
static int64_t column(const ll_forecast_members *a, int q, int first, int step, double *x)
{
    int64_t n = 0;
    for (int64_t k = first; k < a->n; k += step) x[n++] = a->value[k * H + q];
    ll_sort_doubles(x, (size_t)n);
    return n;
}

/* Of a quantile between members that are draws, or that are the law. */
static double quantile(const double *x, int64_t n, double p, bool law)
{
    const double  place = law ? p * (double)n - 0.5 : p * (double)(n + 1) - 1;
    const double  at = fmin(fmax(place, 0), (double)(n - 1));
    const int64_t i = (int64_t)at < n - 1 ? (int64_t)at : n - 2;
    return x[i] + (at - (double)i) * (x[i + 1] - x[i]);
}

/* Squared errors of quantiles, beside those of very many draws. */
static double errors(const answers *a, const answers *truth, bool law)
{
    static double x[TRUTH], y[TRUTH];
    double        sum = 0;
    for (int i = 0; i < WINDOWS; i++)
        for (int q = 0; q < H; q++) {
            const int64_t n = column(&a->of[i], q, 0, 1, x);
            assert_int_equal(column(&truth->of[i], q, 0, 1, y), TRUTH);
            for (int k = 1; k < 20; k++) {
                const double off = quantile(x, n, 0.05 * k, law) - quantile(y, TRUTH, 0.05 * k, 0);
                sum += off * off;
            }
        }
    return sum;
}

static void a_quarter_of_the_samples_is_nearer_to_the_law(void **state)
{
    (void)state;
    static const ll_answer_source sources[] = { LL_ANSWER_BY_NETWORKS, LL_ANSWER_BY_BOTH };
    for (int i = 0; i < 2; i++) {
        answers draws, laws, truth;
        ask(sources[i], TRUTH, false, 0, WINDOWS, &truth);
        ask(sources[i], ASKED, false, 0, WINDOWS, &draws);
        ask(sources[i], ASKED, true, 0, WINDOWS, &laws);
        for (int k = 0; k < WINDOWS; k++) {
            assert_true(draws.of[k].n == ASKED && draws.of[k].law == NULL);
            assert_int_equal(laws.of[k].n, ASKED / 4);
            assert_true(laws.of[k].drawn && laws.of[k].joint);
            for (int q = 0; q < H; q++) assert_true(laws.of[k].law[q]);
        }
        assert_true(errors(&laws, &truth, true) < errors(&draws, &truth, false));
        done(&truth);
        done(&draws);
        done(&laws);
    }
}

static void the_share_of_the_anchor_is_its_law(void **state)
{
    (void)state;
    static double x[ASKED], y[ASKED];
    answers       both;
    ask(LL_ANSWER_BY_BOTH, ASKED, true, 0, WINDOWS, &both);
    for (int i = 0; i < WINDOWS; i++) {
        double                 t[H];
        ll_law                 law[H];
        const ll_anchor_model *a = tiny->anchor[0];
        ll_target_series       series = { 0 };
        const int64_t          var[] = { 0 };
        CHECK_OK(ll_target_series_init(&series, tiny, panel, var, LL_SERIES_READINGS));
        for (int q = 0; q < H; q++) t[q] = ll_model_time(tiny, when[i][q]);
        ll_anchor_request r = { .history = series.target[0].series[window[i].entity],
                                .series = series.known[window[i].entity],
                                .origin = ll_model_time(tiny, window[i].origin),
                                .n_query = H,
                                .t_query = t,
                                .law = law,
                                .all = series.all[0] };
        CHECK_OK(ll_anchor_model_forecast(a, &r, 1));
        for (int q = 0; q < H; q++) {
            const int64_t n = column(&both.of[i], q, 0, 2, x);
            for (int64_t k = 0; k < n; k++) {
                y[k] = ll_anchor_quantile(a, r.series, &law[q],
                                          ll_normal_score(((double)k + 0.5) / (double)n));
                assert_true(fabs(x[k] - y[k]) <= 1e-9 * fabs(y[k]));
            }
        }
        ll_target_series_deinit(&series);
    }
    done(&both);
}

static void windows_alone_have_the_same_members(void **state)
{
    (void)state;
    answers all, one;
    ask(LL_ANSWER_BY_BOTH, ASKED, true, 0, WINDOWS, &all);
    for (int i = 0; i < WINDOWS; i++) {
        ask(LL_ANSWER_BY_BOTH, ASKED, true, i, 1, &one);
        assert_int_equal(one.of[0].n, all.of[i].n);
        assert_memory_equal(one.of[0].value, all.of[i].value,
                            (size_t)(all.of[i].n * H) * sizeof(double));
        done(&one);
    }
    done(&all);
}

/* Few samples are no fewer; and who wants more, has more. */
static void the_number_follows_what_is_asked(void **state)
{
    (void)state;
    static const int64_t of[][3] = {
        { 10, 10, 10 }, { 40, 24, 40 }, { 100, 25, 48 }, { 800, 200, 200 }
    };
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        answers networks, both;
        ask(LL_ANSWER_BY_NETWORKS, of[i][0], true, 0, 1, &networks);
        ask(LL_ANSWER_BY_BOTH, of[i][0], true, 0, 1, &both);
        assert_int_equal(networks.of[0].n, of[i][1]);
        assert_int_equal(both.of[0].n, of[i][2]);
        done(&networks);
        done(&both);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quarter_of_the_samples_is_nearer_to_the_law),
        cmocka_unit_test(the_share_of_the_anchor_is_its_law),
        cmocka_unit_test(windows_alone_have_the_same_members),
        cmocka_unit_test(the_number_follows_what_is_asked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
