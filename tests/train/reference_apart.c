/* The reference profile on a backend with memory of its own, and with little of it. */
#include "apart.h"
#include "folder.h"
#include "reference_panel.h"

#include "base/file.h"
#include "base/json/json.h"
#include "model/model.h"
#include "predict/forecaster.h"
#include "train/reference/reference.h"

#include <unistd.h>

/* Paths of the second window's entity behind its last rows. */
static void paths_of(const llap_model *m, const llap_panel *p, const ll_backend *b, double *out)
{
    const int64_t       var = 0;
    ll_forecaster       f = { 0 };
    ll_forecast_members answer;
    ll_arena            arena = { 0 };
    int64_t             time[QUERIES];
    const int64_t       origin = p->time[ROWS - QUERIES - 1];
    for (int k = 0; k < QUERIES; k++) time[k] = origin + (k + 1) * HOUR;
    const ll_forecast_window w = { .first = 0,
                                   .end = ROWS - QUERIES,
                                   .origin = origin,
                                   .n_query = QUERIES,
                                   .time = time,
                                   .id = ll_forecast_window_id(p, 0, origin) };
    CHECK_OK(ll_model_forecaster(m, p, &var, b, NULL, &f));
    CHECK_OK(f.forecast(&f, &(ll_forecast_request){ .n_samples = TEN, .seed = 7 }, &w, 1, &arena,
                        &answer));
    memcpy(out, answer.value, TEN * QUERIES * sizeof *out);
    ll_arena_deinit(&arena);
    ll_forecaster_deinit(&f);
}

/* The same paths here and behind a wall, but for the order of sums. */
static void same_paths(const llap_model *m, const llap_panel *p, const ll_backend *b)
{
    double expected[TEN * QUERIES], found[TEN * QUERIES], top = 0, worst = 0;
    paths_of(m, p, &ll_backend_cpu, expected);
    paths_of(m, p, b, found);
    for (int k = 0; k < TEN * QUERIES; k++) {
        top = fmax(top, fabs(expected[k]));
        worst = fmax(worst, fabs(expected[k] - found[k]));
    }
    assert_true(top > 0 && worst < 1e-5 * top);
}

/* What the planned loop does not take goes step by step. */
static void same_paths_unplanned(llap_model *m, const llap_panel *p, const ll_backend *b)
{
    ll_sampler_opts      *o = &m->network->config.sampling.solver;
    const ll_sampler_opts own = *o;
    o->solver = LL_SOLVER_UNIPC;
    same_paths(m, p, b);
    *o = own;
    o->eta = 0.5;
    same_paths(m, p, b);
    *o = own;
    o->threshold_p = 0.9;
    same_paths(m, p, b);
    *o = own;
}

static void same_networks(const llap_model *a, const llap_model *b)
{
    for (int i = 0; i < ll_params_count(a->network->params); i++) {
        const ll_param_info *x = ll_params_at(a->network->params, i),
                            *y = ll_params_find(b->network->params, x->name);
        if (memcmp(x->data, y->data, (size_t)x->count * sizeof(float)) != 0)
            fail_msg("'%s' is another one", x->name);
    }
}

/* From the third stage's first step on: an allocation, after so many copies. */
static int refuse_once(void *user, const llap_progress_event *e)
{
    if (strcmp(e->stage, "denoiser") == 0 && e->done == 0) {
        apart_state.after_copies = *(int *)user;
        apart_state.n_refused = 1;
    }
    return 0;
}

static size_t most_sent; /* at once, by the third stage's last steps and checks */

static int look_at_copies(void *user, const llap_progress_event *e)
{
    (void)user;
    if (strcmp(e->stage, "denoiser") != 0) return 0;
    if (e->done <= 25) apart_state.most_up = 0; /* nets that are made send their constants */
    most_sent = apart_state.most_up;
    return 0;
}

/* All three stages and forecasts on a backend with memory of its own: the same numbers, also where
 * they begin with the networks of a model. */
static void behind_a_wall(void **state)
{
    (void)state;
    const ll_backend b = apart_backend();
    const int64_t    var = 0;
    llap_panel      *p = make_panel();
    llap_train_opts  o = options(NULL);
    llap_model      *here, *there;
    int              copies;
    CHECK_OK(llap_train(p, &o, &here));
    o.progress = (llap_progress){ look_at_copies, NULL };
    CHECK_OK(ll_reference_train(p, &o, NULL, &here->frame, &var, &b, &there));
    same_networks(here, there);
    assert_int_equal(most_sent, 3 * 256); /* key, rate and number of a step: no rows, nor which */
    same_paths(here, p, &b);
    same_paths_unplanned(here, p, &b);
    llap_model_destroy(there);
    /* No room for something once the denoiser's steps go together: they go on one by one, or with
     * rows that stay here. */
    o.progress = (llap_progress){ refuse_once, &copies };
    for (copies = 1; apart_state.n_refused == 0; copies += 2) {
        CHECK_OK(ll_reference_train(p, &o, NULL, &here->frame, &var, &b, &there));
        same_networks(here, there);
        llap_model_destroy(there);
        assert_true(copies > 1 || apart_state.n_refused == 0);
    }
    apart_state.n_refused = apart_state.after_copies = 0;
    o.progress = (llap_progress){ 0 };
    CHECK_OK(llap_model_save(here, in_folder("from.safetensors")));
    llap_model_destroy(here);
    o.from = in_folder("from.safetensors");
    o.steps = 6;
    CHECK_OK(llap_train(p, &o, &here));
    CHECK_OK(ll_reference_train(p, &o, NULL, &here->frame, &var, &b, &there));
    same_networks(here, there);
    llap_model_destroy(here);
    llap_model_destroy(there);
    llap_panel_destroy(p);
}

/* Stops in the middle of the third stage. */
static int stop_the_denoiser(void *user, const llap_progress_event *e)
{
    (void)user;
    return strcmp(e->stage, "denoiser") == 0 && e->done >= 7;
}

static void copy_file(const char *from, const char *to)
{
    ll_map m;
    CHECK_OK(ll_map_open(from, &m));
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m.data, 1, m.size, f), m.size);
    fclose(f);
    ll_map_close(&m);
}

/* A state of the cpu goes on behind a wall, and the other way round, to the same numbers; steps
 * that are not finite are told there as here. */
static void states_cross_a_wall(void **state)
{
    (void)state;
    const ll_backend        b = apart_backend();
    const ll_backend *const on[] = { &ll_backend_cpu, &b };
    const int64_t           var = 0;
    llap_panel             *p = make_panel();
    llap_train_opts         o = options(NULL);
    llap_model             *whole, *m;
    char                    said[2][LL_DETAIL_MAX], kept[300];
    CHECK_OK(llap_train(p, &o, &whole));
    snprintf(kept, sizeof kept, "%s", in_folder("kept.state"));
    o.state = in_folder("w.state");
    for (int i = 0; i < 2; i++) {
        o.progress = (llap_progress){ stop_the_denoiser, NULL };
        o.resume = 0;
        const llap_status st = ll_reference_train(p, &o, NULL, &whole->frame, &var, on[i], &m);
        assert_int_equal(st, LLAP_ECANCELLED);
        copy_file(o.state, kept);
        o.progress = (llap_progress){ 0 };
        o.resume = 1;
        CHECK_OK(ll_reference_train(p, &o, NULL, &whole->frame, &var, on[1 - i], &m));
        same_networks(whole, m);
        llap_model_destroy(m);
        unlink(o.state);
    }
    for (int i = 0; i < 2; i++) {
        copy_file(kept, o.state);
        o.lr = 1e30;
        CHECK_FAIL(ll_reference_train(p, &o, NULL, &whole->frame, &var, on[i], &m), LLAP_ENUMERIC,
                   "denoiser: step ");
        snprintf(said[i], sizeof said[i], "%s", llap_error_detail());
        unlink(o.state);
    }
    assert_string_equal(said[0], said[1]);
    assert_non_null(strstr(said[0], "gradient of 'denoiser."));
    assert_non_null(strstr(said[0], "; windows that end at 1970-01-0"));
    unlink(kept);
    llap_model_destroy(whole);
    llap_panel_destroy(p);
}

enum { MANY = 25 };
static const char *scarce = "denoiser"; /* the stage that has little memory: */
static size_t      little;              /* bytes that an allocation may have; 0: any */
static int         refused; /* so many of the denoiser's are refused once its steps go together */

static bool is(const llap_progress_event *e, const char *stage)
{
    return strcmp(e->stage, stage) == 0;
}

/* The first stage begins before anything is told of it, the others behind the one before. What
 * comes behind the scarce one is left out. */
static int take_memory(void *user, const llap_progress_event *e)
{
    (void)user;
    if (refused > 0 && is(e, "denoiser") && e->done == 0) {
        apart_state.after_copies = 1;
        apart_state.n_refused = refused;
    }
    if (is(e, "vae")) apart_state.limit = strcmp(scarce, "summarizer") == 0 ? little : 0;
    if (is(e, "summarizer")) apart_state.limit = strcmp(scarce, "latents") == 0 ? little : 0;
    if (is(e, "latents")) apart_state.limit = 0;
    if (is(e, "latents of validation") && strcmp(scarce, "denoiser") == 0)
        apart_state.limit = little;
    return (is(e, "summarizer") && strcmp(scarce, "vae") == 0) ||
           (is(e, "latents") && strcmp(scarce, "summarizer") == 0);
}

static void keep_micro_batches(void *user, llap_log_level level, const char *message)
{
    (void)level;
    if (strstr(message, "micro-batches") != NULL) snprintf(user, 256, "%s", message);
}

static const char quiet[] = "{ \"network\": { \"denoiser\": { \"dropout\": 0, "
                            "\"attn_dropout\": 0 }, \"vae\": { \"dropout\": 0 }, "
                            "\"summarizer\": { \"dropout\": 0 } } }";
/* The losses with terms and weights that depend on what else is in a batch. */
static const char irregular[] =
    "{ \"network\": { \"vae\": { \"dropout\": 0 }, \"summarizer\": { \"dropout\": 0 } }, "
    "\"training\": { \"vae\": { \"consistency\": 0.05, \"balance_coverage\": true }, "
    "\"summarizer\": { \"dt\": 0.05, \"obs\": 0.05, \"channel_balanced\": true } } }";

enum { LINES = 20 };
typedef struct curve { /* of the scarce stage: losses and scores of its checks */
    int    n;
    double loss[LINES], score[LINES];
} curve;

/* said is what was said of micro-batches. */
static llap_status learn(const llap_panel *p, const llap_model *like, const char *text, curve *c,
                         char *said)
{
    const ll_backend b = apart_backend();
    const llap_log   log = { .level = LLAP_LOG_WARNING, .sink = keep_micro_batches, .user = said };
    const int64_t    var = 0;
    llap_train_opts  o = options(in_folder("micro_batches.log"));
    llap_model      *m = NULL;
    ll_json         *j;
    char             line[2048], stage[32];
    CHECK_OK(ll_json_parse(text, strlen(text), "quiet", NULL, &j));
    o.batch = MANY;
    o.progress = (llap_progress){ take_memory, NULL };
    o.log = &log;
    said[0] = '\0';
    if (strcmp(scarce, "vae") == 0) apart_state.limit = little;
    llap_status st = ll_reference_train(p, &o, j, &like->frame, &var, &b, &m);
    if (st == LLAP_ECANCELLED) st = LLAP_OK;
    apart_state.limit = 0;
    llap_model_destroy(m);
    ll_json_destroy(j);
    FILE *f = fopen(in_folder("micro_batches.log"), "r");
    snprintf(stage, sizeof stage, "\"%s\"", strcmp(scarce, "latents") == 0 ? "denoiser" : scarce);
    c->n = 0;
    while (f != NULL && st == LLAP_OK && c->n < LINES && fgets(line, sizeof line, f) != NULL) {
        if (strstr(line, stage) == NULL) continue;
        c->loss[c->n] = strtod(strstr(line, "\"loss\":") + 7, NULL);
        c->score[c->n++] = strtod(strstr(line, "\"score\":") + 8, NULL);
    }
    if (f != NULL) fclose(f);
    return st;
}

/* The same, but for the order of sums. */
static void same_curves(const curve *found, const curve *expected)
{
    assert_true(expected->n > 2 && found->n == expected->n);
    for (int i = 0; i < found->n; i++)
        if (!(fabs(found->loss[i] - expected->loss[i]) < 1e-5 * fabs(expected->loss[i])) ||
            !(fabs(found->score[i] - expected->score[i]) < 1e-5 * fabs(expected->score[i])))
            fail_msg("%s, line %d: loss %.9g, it was %.9g; score %.9g, it was %.9g", scarce, i,
                     found->loss[i], expected->loss[i], found->score[i], expected->score[i]);
}

/* However often there is no room, down to micro-batches of one row: the same losses, or none. */
static void refusals_change_nothing(const llap_panel *p, const llap_model *like,
                                    const curve *expected)
{
    curve       found;
    char        said[256];
    llap_status st = LLAP_OK;
    for (refused = 1; st == LLAP_OK; refused += 3) {
        st = learn(p, like, quiet, &found, said);
        if (st == LLAP_OK) same_curves(&found, expected);
        if (refused == 1) assert_true(st == LLAP_OK && apart_state.n_refused == 0);
    }
    assert_int_equal(st, LLAP_ENOMEM);
    apart_state.n_refused = apart_state.after_copies = refused = 0;
}

/* The batches of a stage in halves, where there is no room for more, and in as many micro-batches
 * as the least of memory wants; and none at all. */
static void micro_batches_of(const llap_panel *p, const llap_model *like, const char *stage,
                             const char *text, curve *whole)
{
    curve  split;
    char   said[256] = "", expected[256], most[256] = "";
    size_t least;
    scarce = stage;
    CHECK_OK(learn(p, like, text, whole, said));
    assert_string_equal(said, "");
    for (little = (size_t)1 << 22; said[0] == '\0'; little -= little / 4)
        CHECK_OK(learn(p, like, text, &split, said));
    snprintf(expected, sizeof expected,
             "%s: apart: too little memory for batches of 25: split into 2 micro-batches", stage);
    assert_string_equal(said, expected);
    same_curves(&split, whole);
    for (least = little; learn(p, like, text, &split, said) == LLAP_OK; little -= little / 4) {
        same_curves(&split, whole);
        least = little;
        snprintf(most, sizeof most, "%s", said);
    }
    assert_true(little < least);
    assert_string_not_equal(most, expected);
    little = 0;
}

static void little_memory_is_enough(void **state)
{
    (void)state;
    llap_panel     *p = make_panel();
    llap_train_opts o = options(NULL);
    llap_model     *m;
    curve           whole;
    CHECK_OK(llap_train(p, &o, &m));
    micro_batches_of(p, m, "vae", quiet, &whole);
    micro_batches_of(p, m, "vae", irregular, &whole);
    micro_batches_of(p, m, "summarizer", quiet, &whole);
    micro_batches_of(p, m, "summarizer", irregular, &whole);
    micro_batches_of(p, m, "latents", quiet, &whole); /* which the denoiser learns from */
    micro_batches_of(p, m, "denoiser", quiet, &whole);
    refusals_change_nothing(p, m, &whole);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_a_wall),
        cmocka_unit_test(states_cross_a_wall),
        cmocka_unit_test(little_memory_is_enough),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
