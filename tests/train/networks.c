/* Networks on top of the anchors, from training to answers, at a size of seconds. */
#include "lossless.h"

#include "backend/cpu/cpu.h"

#include "base/rng/rng.h"
#include "data/panel_builder.h"
#include "predict/filler.h"
#include "predict/forecaster.h"
#include "predict/network_members.h"
#include "predict/tables/answer.h"
#include "report/poles.h"
#include "score/hidden_gaps.h"
#include "train/fill_choice.h"
#include "train/run/recipe.h"
#include "train/training_set.h"

#include <omp.h>
#include <unistd.h>

#define HOUR INT64_C(3600000000000)

enum { ENTITIES = 2, ROWS = 700, FEW = 144 };

#define QUICK                                                                      \
    "\"training\": { \"anchor\": { \"cycles\": 0, \"steps\": 30, \"rows\": 16 }, " \
    "\"networks\": { \"check_rows\": 16, \"final_rows\": 16 } }"

static llap_panel *panel;
static llap_model *joint, *rows;

/* A drift that both entities share, a cycle, noise; a fifth of the cells is missing. */
static llap_panel *make_panel(uint64_t n_rows)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    static double     drift[ROWS];
    const ll_rng      d = ll_rng_make(5, LL_STREAM_TEST, 99, 0, 0);
    for (uint64_t i = 1; i < ROWS; i++)
        drift[i] = 0.9 * drift[i - 1] + 0.4 * (double)ll_rng_normal(&d, i);
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "no2", 3, &v));
    CHECK_OK(ll_panel_builder_var(b, "wind", 4, &v));
    for (int k = 0; k < ENTITIES; k++) {
        char name[8];
        snprintf(name, sizeof name, "s%d", k);
        CHECK_OK(ll_panel_builder_entity(b, name, strlen(name), &e));
        const ll_rng r = ll_rng_make(5, LL_STREAM_TEST, (uint64_t)k, 0, 0);
        for (uint64_t i = 0; i < n_rows; i++) {
            const double x = 50 + 8 * (drift[i] + cos(0.26179938 * (double)i + k)) +
                             (double)ll_rng_normal(&r, 4 * i + 1);
            const float row[2] = { ll_rng_uniform(&r, 4 * i + 2) < 0.2f ? NAN : (float)x,
                                   ll_rng_normal(&r, 4 * i + 3) };
            CHECK_OK(ll_panel_builder_row(b, e, (int64_t)i * HOUR, row));
        }
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static llap_train_opts how(llap_train_view view)
{
    llap_train_opts o = { 0 };
    o.target = "no2";
    o.context = "1d";
    o.horizon = "12";
    o.no_climate = 1; /* half the candidates to fit */
    o.size = LLAP_TRAIN_SIZE_TINY;
    o.view = view;
    o.members = 2;
    o.steps = 3;
    o.batch = 8;
    o.config = in_folder("quick");
    return o;
}

static int set_up(void **state)
{
    if (make_folder(state) != 0) return 1;
    panel = make_panel(ROWS);
    write_text(in_folder("quick"), "{ " QUICK " }");
    const llap_train_opts a = how(LLAP_TRAIN_VIEW_JOINT), b = how(LLAP_TRAIN_VIEW_ROWS);
    CHECK_OK(llap_train(panel, &a, &joint));
    CHECK_OK(llap_train(panel, &b, &rows));
    /* So short a training would leave the answer to the anchor. */
    joint->network->config.features.answer_source = rows->network->config.features.answer_source =
        LL_ANSWER_BY_NETWORKS;
    return 0;
}

static int tear_down(void **state)
{
    llap_model_destroy(joint);
    llap_model_destroy(rows);
    llap_panel_destroy(panel);
    return remove_folder(state);
}

static void write_forecast(const llap_model *m, const llap_forecast_opts *o, const char *path)
{
    llap_answer *a = NULL;
    CHECK_OK(llap_forecast(m, panel, o, &a));
    CHECK_OK(llap_answer_write(a, path));
    llap_answer_destroy(a);
}

static void the_same_training_gives_the_same_file(void **state)
{
    (void)state;
    llap_train_opts o = how(LLAP_TRAIN_VIEW_JOINT);
    const int       threads = omp_get_max_threads();
    llap_model     *again = NULL;
    o.prefetch = LLAP_ZERO; /* changes nothing, as the number of threads */
    omp_set_num_threads(threads == 1 ? 2 : 1);
    CHECK_OK(llap_train(panel, &o, &again));
    omp_set_num_threads(threads);
    again->network->config.features.answer_source = LL_ANSWER_BY_NETWORKS;
    CHECK_OK(llap_model_save(joint, in_folder("a")));
    CHECK_OK(llap_model_save(again, in_folder("b")));
    check_same_file(in_folder("a"), in_folder("b"));
    llap_model_destroy(again);
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
}

/* Beyond the horizon, and where validation preferred it, the anchor answers. */
static void the_anchor_answers_the_rest(void **state)
{
    (void)state;
    enum { Q = 24, S = 4 };
    static double      network[S * Q], anchor[S * Q];
    ll_feature_config *c = &rows->network->config.features;
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

static void validation_decides_who_answers(void **state)
{
    (void)state;
    static const struct {
        double           network, anchor, pool;
        double           price;
        ll_answer_source expected;
    } row[] = {
        { .40, .39, .395, 0, LL_ANSWER_BY_ANCHOR },
        { .40, .39, .395, .05, LL_ANSWER_BY_ANCHOR },
        { .40, .39, .385, 0, LL_ANSWER_BY_BOTH },
        { .40, .39, .385, .05, LL_ANSWER_BY_BOTH },
        { .1757, .19, .1773, 0, LL_ANSWER_BY_NETWORKS },
        { .1757, .19, .1773, .05, LL_ANSWER_BY_BOTH },
        { .2223, .3190, .2410, .05, LL_ANSWER_BY_NETWORKS },
        { .2223, .3190, .2410, .1, LL_ANSWER_BY_BOTH },
        { NAN, .3, NAN, .05, LL_ANSWER_BY_ANCHOR },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const ll_validation_scores s = { row[i].network, row[i].anchor, row[i].pool, 100 };
        assert_int_equal(ll_answer_source_choose(&s, row[i].price), row[i].expected);
    }
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

static void keep_warnings(void *user, llap_log_level level, const char *message)
{
    (void)level;
    strncat(user, message, 4095 - strlen(user));
}

/* Another start, other networks; and bounds hold for whatever answers. */
static void training_goes_on_from_a_model(void **state)
{
    (void)state;
    llap_model     *m = NULL;
    llap_answer    *a = NULL;
    llap_train_opts o = how(LLAP_TRAIN_VIEW_JOINT);
    char            said[4096] = "";
    const llap_log  log = { .level = LLAP_LOG_WARNING, .sink = keep_warnings, .user = said };
    CHECK_OK(llap_model_save(joint, in_folder("start")));
    o.from = in_folder("start");
    o.log = &log;
    o.steps = 1;
    o.lr = 1e-9;
    o.min = "no2=49";
    o.max = "52";
    CHECK_OK(llap_train(panel, &o, &m));
    const ll_param_info *x = ll_params_find(m->network->params, "member.1.summarizer.in.weight");
    const ll_param_info *y =
        ll_params_find(joint->network->params, "member.1.summarizer.in.weight");
    for (int64_t i = 0; i < x->count; i++)
        assert_float_equal(((const float *)x->data)[i], ((const float *)y->data)[i], 1e-6);
    llap_forecast_opts f = { 0 };
    f.samples = 20;
    m->network->config.features.answer_source = LL_ANSWER_BY_BOTH;
    CHECK_OK(llap_model_save(m, in_folder("bound")));
    llap_model_destroy(m);
    CHECK_OK(llap_model_load(in_folder("bound"), &m));
    CHECK_OK(llap_forecast(m, panel, &f, &a));
    for (size_t i = 0; i < a->n_rows; i++) assert_true(a->number[i] >= 49 && a->number[i] <= 52);
    llap_answer_destroy(a);
    llap_model_destroy(m);
    assert_null(strstr(said, "from: "));
    o.target = "wind";
    o.min = o.max = NULL;
    CHECK_OK(llap_train(panel, &o, &m));
    llap_model_destroy(m);
    assert_non_null(strstr(said, "start forecast no2 where these are to forecast wind"));
    o = how(LLAP_TRAIN_VIEW_ROWS);
    o.from = in_folder("start");
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EINVAL, "from: networks of another size or layout");
}

/* Who threw a training out of single precision: stage, step, tensor, windows. */
static void what_is_not_finite_is_named(void **state)
{
    (void)state;
    static const llap_train_view view[] = { LLAP_TRAIN_VIEW_JOINT, LLAP_TRAIN_VIEW_ROWS };
    for (int i = 0; i < 2; i++) {
        llap_model     *m = NULL;
        llap_train_opts o = how(view[i]);
        o.lr = 1e30;
        o.steps = 20;
        CHECK_FAIL(llap_train(panel, &o, &m), LLAP_ENUMERIC, "member.0: step 1");
        const char *said = llap_error_detail();
        assert_null(m);
        assert_true(strstr(said, "gradient of 'denoiser.") != NULL ||
                    strstr(said, "gradient of 'summarizer.") != NULL);
        assert_non_null(strstr(said, "; windows that end at 1970-01-"));
        assert_non_null(strstr(said, " and 4 more; 8 such steps were skipped before it"));
        o.steps = 5; /* it ends before that */
        CHECK_FAIL(llap_train(panel, &o, &m), LLAP_ENUMERIC,
                   "member.0: has diverged, no validation score was finite; its rate was 1e+30");
        o.state = in_folder("diverged");
        CHECK_FAIL(llap_train(panel, &o, &m), LLAP_ENUMERIC, "with `resume`");
        o.resume = 1;
        o.lr = 1e-3;
        CHECK_OK(llap_train(panel, &o, &m));
        llap_model_destroy(m);
        m = NULL;
        unlink(o.state);
    }
}

/* The weights of one entity cannot be added up; the only row of the checks is of the other. */
static void draws_that_are_not_finite_leave_it_to_the_anchor(void **state)
{
    (void)state;
    char               said[4096] = "";
    const llap_log     log = { .level = LLAP_LOG_WARNING, .sink = keep_warnings, .user = said };
    ll_recipe_networks margins = { LL_RECIPE_MARGINS };
    llap_model        *m = NULL;
    llap_train_opts    o = how(LLAP_TRAIN_VIEW_ROWS);
    o.members = 1;
    CHECK_OK(llap_train(panel, &o, &m));
    const ll_param_info *x =
        ll_params_find(m->network->params, "member.0.summarizer.entity.weight");
    for (int64_t i = x->count / 2; i < x->count; i++) ((float *)x->data)[i] = 3e38f;
    CHECK_OK(llap_model_save(m, in_folder("huge")));
    llap_model_destroy(m);
    o.log = &log;
    o.from = in_folder("huge");
    o.config = NULL;
    o.network = "{ \"features\": { \"fill_past\": 3 } }";
    o.training = "{ \"anchor\": { \"cycles\": 0, \"steps\": 30, \"rows\": 16 }, \"networks\": { "
                 "\"check_rows\": 1, \"final_rows\": 16 } }";
    CHECK_OK(llap_train(panel, &o, &m));
    const ll_feature_config *c = &m->network->config.features;
    assert_non_null(strstr(said, "networks: draws of the validation part: sampler: "));
    assert_non_null(strstr(said, " is not finite: the anchor answers, and fills"));
    assert_int_equal(c->answer_source, LL_ANSWER_BY_ANCHOR);
    assert_int_equal(c->calibration_factor.n, 0);
    assert_int_equal(c->fill_past, 0);
    assert_null(strstr(said, "gaps from "));
    CHECK_OK(ll_fill_choice(m, panel, &o, &margins));
    assert_non_null(strstr(said, "gaps from the past: sampler: "));
    assert_non_null(strstr(said, "gaps from both sides: sampler: "));
    assert_int_equal(c->fill_past, 0);
    llap_model_destroy(m);
    o.network = "{ \"features\": { \"residual\": \"none\" } }";
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_ENUMERIC,
               "networks: draws of the validation part: sampler: ");
}

/* A run described by a file is the run of the same options, and a model remembers such a file. */
static void one_file_describes_a_run(void **state)
{
    (void)state;
    llap_model     *m = NULL;
    llap_train_opts o = { 0 };
    o.config = in_folder("run.json");
    o.steps = 3;
    write_text(o.config, "{ \"target\": \"no2\", \"context\": \"1d\", \"horizon\": \"12\", "
                         "\"size\": \"tiny\", \"view\": \"joint\", \"members\": 2, \"steps\": 99, "
                         "\"batch\": 8, \"no_climate\": true, \"network\": { \"sampling\": { "
                         "\"steps\": 9 } }, " QUICK " }");
    CHECK_OK(llap_train(panel, &o, &m));
    assert_int_equal(m->network->config.sampling.steps, 9);
    assert_non_null(strstr(m->training, "\"steps\":3"));
    const char          *name = "member.1.denoiser.model.head_proj.weight";
    const ll_param_info *x = ll_params_find(m->network->params, name);
    const ll_param_info *y = ll_params_find(joint->network->params, name);
    assert_memory_equal(x->data, y->data, (size_t)x->count * sizeof(float));
    write_text(o.config, m->training);
    llap_model_destroy(m);
    CHECK_OK(llap_train(panel, &o, &m));
    llap_model_destroy(m);
    write_text(o.config, "{ \"contxt\": \"2d\" }");
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EFORMAT, "contxt");
    write_text(o.config,
               "{ \"target\": \"no2\", \"context\": \"2d\", \"horizon\": \"12\", \"size\": "
               "\"tiny\", \"network\": { \"patches\": { \"tokens\": 3 } } }");
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EFORMAT, "cannot be changed");
    assert_null(m);
}

/* All targets of an entity in one trajectory, known and new ones; what the networks' trajectory is
 * can be chosen. */
static void targets_of_an_entity_together(void **state)
{
    (void)state;
    llap_model     *m = NULL;
    llap_answer    *a = NULL;
    llap_train_opts o = how(LLAP_TRAIN_VIEW_ENTITY);
    o.target = "no2,wind";
    o.config = in_folder("entity.json");
    write_text(o.config,
               "{ \"network\": { \"features\": { \"residual\": \"none\" } }, " QUICK " }");
    CHECK_OK(llap_train(panel, &o, &m));
    assert_int_equal(m->network->config.features.view, LL_FEATURE_ENTITY);
    assert_int_equal(m->network->config.features.residual, LL_RESIDUAL_NONE);
    assert_int_equal(m->network->config.features.answer_source, LL_ANSWER_BY_NETWORKS);
    assert_int_equal(m->network->config.denoiser.data_dim, 2);
    CHECK_OK(llap_model_save(m, in_folder("entity")));
    llap_model_destroy(m);
    CHECK_OK(llap_model_load(in_folder("entity"), &m));
    llap_forecast_opts f = { 0 };
    f.samples = 4;
    CHECK_OK(llap_forecast(m, panel, &f, &a));
    assert_int_equal(a->n_rows % (2 * ENTITIES * 12), 0); /* every target of every entity */
    for (size_t i = 0; i < a->n_rows; i++) assert_true(isfinite(a->number[i]));
    llap_answer_destroy(a);
    llap_model_destroy(m);
    write_text(o.config, "{ \"network\": { \"features\": { \"residual\": \"most\" } } }");
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EFORMAT, "residual");
}

/* Two years before validation, of whichever entity begins first. */
static void levels_are_told_after_two_years(void **state)
{
    (void)state;
    const int64_t         late[][ENTITIES] = { { 0, 0 }, { 100, 0 }, { 0, 100 }, { 100, 100 } };
    const int64_t         var = 0;
    const llap_train_opts o = how(LLAP_TRAIN_VIEW_ROWS);
    ll_model_frame        frame = rows->frame;
    frame.val_start = 730 * 24 * HOUR;
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        ll_panel_builder *b;
        llap_panel       *p;
        uint32_t          v, e;
        ll_training_set   f;
        CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
        CHECK_OK(ll_panel_builder_var(b, "no2", 3, &v));
        for (int k = 0; k < ENTITIES; k++) {
            CHECK_OK(ll_panel_builder_entity(b, k == 0 ? "s0" : "s1", 2, &e));
            for (int64_t r = 0; r < 3; r++)
                CHECK_OK(ll_panel_builder_row(b, e, (late[i][k] + r) * HOUR, &(float){ 1 }));
        }
        CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
        ll_panel_builder_destroy(b);
        CHECK_OK(ll_training_set_init(&f, &frame, p, &var, &o, LL_SIZE_TINY, NULL));
        assert_int_equal(f.layout.level, i < 3);
        ll_training_set_deinit(&f);
        llap_panel_destroy(p);
    }
}

static void mistakes_are_said(void **state)
{
    (void)state;
    llap_model     *m = NULL;
    llap_train_opts o = how((llap_train_view)9);
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION,
               "view: expected a value of its enum, 0..4, found 9");
    o = how(LLAP_TRAIN_VIEW_AUTO);
    o.members = 65;
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION,
               "members: expected a whole number in 1..64, found 65");
    o = how(LLAP_TRAIN_VIEW_AUTO);
    o.size = LLAP_TRAIN_SIZE_PAPER;
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION, "size: expected anchor, tiny or small");
    o = how(LLAP_TRAIN_VIEW_AUTO);
    o.transform = "no2=cube";
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION, "transform: expected none, log1p");
    o.transform = NULL;
    o.min = "no2=low";
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION, "min: expected a number for 'no2'");
    o.min = "3";
    o.max = "2";
    CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EOPTION, "min: 3 is above the 2 of max");
    assert_null(m);
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

static void failing_writes_lose_nothing(void **state)
{
    (void)state;
    llap_train_opts o = how(LLAP_TRAIN_VIEW_JOINT);
    o.steps = 20;
    check_lossless(panel, o, 17);
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

static void let_networks_fill(llap_model *m, int64_t first)
{
    m->network->config.features.fill_past = m->network->config.features.fill_both = first;
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
        CHECK_OK(ll_hidden_gaps_init(&g, joint, panel, &var, scale, LL_PART_TEST, 1, NULL));
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

/* After three steps networks are no better than the anchor; than one that is far too unsure, they
 * are. */
static void validation_decides_who_fills(void **state)
{
    (void)state;
    const llap_train_opts o = how(LLAP_TRAIN_VIEW_JOINT);
    ll_recipe_networks    margins = { LL_RECIPE_MARGINS };
    ll_feature_config    *c = &joint->network->config.features;
    ll_anchor_model      *a = joint->anchor[0];
    const ll_anchor_model was = *a;
    joint->frame.val_start -= 100 * HOUR; /* more windows to decide on */
    let_networks_fill(joint, 3);
    CHECK_OK(ll_fill_choice(joint, panel, &o, &margins));
    assert_int_equal(c->fill_past, 0);
    assert_int_equal(c->fill_both, 0);
    for (int k = 0; k < LL_CALIBRATION_LEVELS; k++) {
        a->fill_past.factor[0][k] = a->fill_both.factor[0][k] = 6;
        a->neighbours[0].calibration.factor[0][k] = a->neighbours[1].calibration.factor[0][k] = 6;
    }
    for (int i = 0; i < 3; i++) { /* but not with wider margins */
        margins.fill_gain = i == 1 ? 1 : 0.01;
        margins.fill_errors = i == 2 ? 1e6 : 2;
        CHECK_OK(ll_fill_choice(joint, panel, &o, &margins));
        assert_int_equal(c->fill_past, i == 0 ? 7 : 0);
        assert_int_equal(c->fill_both, i == 0 ? 7 : 0);
    }
    *a = was;
    joint->frame.val_start += 100 * HOUR;
    let_networks_fill(joint, 0);
}

/* Residuals of deviation 1, samples of another: near leads too narrow or wide, far ones right. */
static void the_spread_is_made_to_hold(void **state)
{
    enum { R = 400, H = 4, SAMPLES = 24 };
    (void)state;
    static float         r[R * H], x[R * SAMPLES * H];
    static const double  t[H] = { 1, 2, 30, 31 };
    const ll_rng         rng = ll_rng_make(3, LL_STREAM_TEST, 0, 0, 0);
    ll_feature_row       row[R];
    const ll_feature_set set = {
        .c = { .view = LL_FEATURE_ROWS, .targets = 1 }, .n = R, .h = H, .row = row, .r = r
    };
    const ll_reals edge = { .n = 1, .v = { 24 } };
    const double   deviation[] = { 0.5, 0.77, 0.9, 1, 1.2 };
    for (int k = 0; k < 5; k++) {
        ll_reals factor = { 0 };
        for (int i = 0; i < R; i++) row[i] = (ll_feature_row){ .n_query = H, .t_query = t };
        for (int i = 0; i < R * H; i++) r[i] = i % 9 == 0 ? NAN : ll_rng_normal(&rng, (uint64_t)i);
        for (int i = 0; i < R * SAMPLES * H; i++)
            x[i] = (i % H < 2 ? (float)deviation[k] : 1.0f) *
                   ll_rng_normal(&rng, (uint64_t)(R * H + i));
        ll_network_members_calibrate(&set, x, H, SAMPLES, &edge, &factor);
        assert_int_equal(factor.n, 2);
        if (fabs(factor.v[0] * deviation[k] - 1) > 0.21 || fabs(factor.v[1] - 1) > 0.101)
            fail_msg("deviation %g: factors %g and %g", deviation[k], factor.v[0], factor.v[1]);
    }
    ll_reals none = { 0 };
    for (int i = 0; i < R; i++) x[i * SAMPLES * H] = NAN; /* one draw of the first lead */
    ll_network_members_calibrate(&set, x, H, SAMPLES, &edge, &none);
    assert_true(none.v[0] == 1 && fabs(none.v[1] - 1) < 0.101);
    for (int i = 0; i < R * H; i++) r[i] = NAN;
    ll_network_members_calibrate(&set, x, H, SAMPLES, &edge, &none);
    assert_true(none.v[0] == 1 && none.v[1] == 1);
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
        cmocka_unit_test(the_same_training_gives_the_same_file),
        cmocka_unit_test(failing_writes_lose_nothing),
        cmocka_unit_test(a_model_forecasts_the_same_from_its_file),
        cmocka_unit_test(samples_depend_on_what_is_asked_alone),
        cmocka_unit_test(the_anchor_answers_the_rest),
        cmocka_unit_test(the_anchor_answers_what_is_too_much),
        cmocka_unit_test(a_description_tells_who_answers),
        cmocka_unit_test(an_anchor_that_answers_is_not_compared_with_itself),
        cmocka_unit_test(validation_decides_who_answers),
        cmocka_unit_test(the_spread_is_made_to_hold),
        cmocka_unit_test(totals_are_sums_of_paths),
        cmocka_unit_test(training_goes_on_from_a_model),
        cmocka_unit_test(what_is_not_finite_is_named),
        cmocka_unit_test(draws_that_are_not_finite_leave_it_to_the_anchor),
        cmocka_unit_test(one_file_describes_a_run),
        cmocka_unit_test(targets_of_an_entity_together),
        cmocka_unit_test(levels_are_told_after_two_years),
        cmocka_unit_test(mistakes_are_said),
        cmocka_unit_test(networks_fill_what_is_missing_and_nothing_else),
        cmocka_unit_test(networks_keep_their_draws),
        cmocka_unit_test(networks_are_scored_by_their_draws),
        cmocka_unit_test(networks_that_fill_from_the_past_see_nothing_else),
        cmocka_unit_test(validation_decides_who_fills),
        cmocka_unit_test(filling_survives_failed_allocations),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
