/* The reference profile on a backend with memory of its own, and with little of it. */
#include "apart.h"
#include "folder.h"
#include "reference_panel.h"

#include "base/file.h"
#include "base/json.h"
#include "model/model.h"
#include "task/reference.h"

#include <unistd.h>

/* Paths of the second window's entity behind its last rows. */
static void paths_of(const llap_model *m, const llap_panel *p, const llap_backend *b, double *out)
{
    const int64_t   var = 0;
    task_forecaster f = { 0 };
    task_forecast   answer;
    llap_arena      arena = { 0 };
    int64_t         time[QUERIES];
    const int64_t   origin = p->time[ROWS - QUERIES - 1];
    for (int k = 0; k < QUERIES; k++) time[k] = origin + (k + 1) * HOUR;
    const task_window w = { .first = 0,
                            .end = ROWS - QUERIES,
                            .origin = origin,
                            .n_query = QUERIES,
                            .time = time,
                            .id = task_window_id(p, 0, origin) };
    CHECK_OK(task_model_forecaster(m, p, &var, b, NULL, &f));
    CHECK_OK(f.forecast(&f, &(task_ask){ .n_samples = TEN, .seed = 7 }, &w, 1, &arena, &answer));
    memcpy(out, answer.value, TEN * QUERIES * sizeof *out);
    llap_arena_deinit(&arena);
    task_forecaster_deinit(&f);
}

static void same_networks(const llap_model *a, const llap_model *b)
{
    for (int i = 0; i < llap_params_count(a->network->params); i++) {
        const llap_param_info *x = llap_params_at(a->network->params, i),
                              *y = llap_params_find(b->network->params, x->name);
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

/* All three stages and forecasts on a backend with memory of its own: the same numbers, also where
 * they begin with the networks of a model. */
static void behind_a_wall(void **state)
{
    (void)state;
    const llap_backend b = apart_backend();
    const int64_t      var = 0;
    llap_panel        *p = make_panel();
    llap_train_opts    o = options(NULL);
    llap_model        *here, *there;
    double             expected[TEN * QUERIES], found[TEN * QUERIES], top = 0, worst = 0;
    int                copies;
    CHECK_OK(llap_train(p, &o, &here));
    CHECK_OK(task_reference_train(p, &o, NULL, &here->frame, &var, &b, &there));
    same_networks(here, there);
    paths_of(here, p, &llap_backend_cpu, expected);
    paths_of(here, p, &b, found);
    for (int k = 0; k < TEN * QUERIES; k++) {
        top = fmax(top, fabs(expected[k]));
        worst = fmax(worst, fabs(expected[k] - found[k]));
    }
    assert_true(top > 0 && worst < 1e-5 * top); /* sums in another order */
    llap_model_destroy(there);
    /* No room for something once the denoiser's steps go together: they go on one by one, or with
     * rows that stay here. */
    o.progress = (llap_progress){ refuse_once, &copies };
    for (copies = 1; apart_state.n_refused == 0; copies += 2) {
        CHECK_OK(task_reference_train(p, &o, NULL, &here->frame, &var, &b, &there));
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
    CHECK_OK(task_reference_train(p, &o, NULL, &here->frame, &var, &b, &there));
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
    llap_map m;
    CHECK_OK(llap_map_open(from, &m));
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(m.data, 1, m.size, f), m.size);
    fclose(f);
    llap_map_close(&m);
}

/* A state of the cpu goes on behind a wall, and the other way round, to the same numbers; steps
 * that are not finite are told there as here. */
static void states_cross_a_wall(void **state)
{
    (void)state;
    const llap_backend        b = apart_backend();
    const llap_backend *const on[] = { &llap_backend_cpu, &b };
    const int64_t             var = 0;
    llap_panel               *p = make_panel();
    llap_train_opts           o = options(NULL);
    llap_model               *whole, *m;
    char                      said[2][LLAP_DETAIL_MAX], kept[300];
    CHECK_OK(llap_train(p, &o, &whole));
    snprintf(kept, sizeof kept, "%s", in_folder("kept.state"));
    o.state = in_folder("w.state");
    for (int i = 0; i < 2; i++) {
        o.progress = (llap_progress){ stop_the_denoiser, NULL };
        o.resume = 0;
        const llap_status st = task_reference_train(p, &o, NULL, &whole->frame, &var, on[i], &m);
        assert_int_equal(st, LLAP_ECANCELLED);
        copy_file(o.state, kept);
        o.progress = (llap_progress){ 0 };
        o.resume = 1;
        CHECK_OK(task_reference_train(p, &o, NULL, &whole->frame, &var, on[1 - i], &m));
        same_networks(whole, m);
        llap_model_destroy(m);
        unlink(o.state);
    }
    for (int i = 0; i < 2; i++) {
        copy_file(kept, o.state);
        o.lr = 1e30;
        CHECK_FAIL(task_reference_train(p, &o, NULL, &whole->frame, &var, on[i], &m), LLAP_ENUMERIC,
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
static size_t little;  /* bytes that an allocation may have in the third stage; 0: any */
static int    refused; /* so many of them once its steps go together */

static int take_memory(void *user, const llap_progress_event *e)
{
    (void)user;
    if (refused > 0 && strcmp(e->stage, "denoiser") == 0 && e->done == 0) {
        apart_state.after_copies = 1;
        apart_state.n_refused = refused;
    }
    apart_state.limit = strcmp(e->stage, "latents of validation") == 0 ? little : apart_state.limit;
    return 0;
}

static void keep_pieces(void *user, llap_log_level level, const char *message)
{
    (void)level;
    if (strstr(message, "pieces") != NULL) snprintf(user, 256, "%s", message);
}

/* The losses of the third stage's checks; said is what was said of pieces. */
static llap_status denoiser_losses(const llap_panel *p, const llap_model *like, double *loss,
                                   char *said)
{
    static const char  text[] = "{ \"network\": { \"denoiser\": { \"dropout\": 0, "
                                "\"attn_dropout\": 0 } } }";
    const llap_backend b = apart_backend();
    const llap_log     log = { .level = LLAP_LOG_WARNING, .sink = keep_pieces, .user = said };
    const int64_t      var = 0;
    llap_train_opts    o = options(in_folder("pieces.log"));
    llap_model        *m = NULL;
    llap_json         *j;
    char               line[2048];
    CHECK_OK(llap_json_parse(text, strlen(text), "quiet", NULL, &j));
    o.batch = MANY;
    o.progress = (llap_progress){ take_memory, NULL };
    o.log = &log;
    said[0] = '\0';
    const llap_status st = task_reference_train(p, &o, j, &like->frame, &var, &b, &m);
    apart_state.limit = 0;
    llap_model_destroy(m);
    llap_json_destroy(j);
    FILE *f = fopen(in_folder("pieces.log"), "r");
    assert_non_null(f);
    for (int n = 0; st == LLAP_OK && n < TEN && fgets(line, sizeof line, f) != NULL;)
        if (strstr(line, "\"denoiser\"") != NULL)
            loss[n++] = strtod(strstr(line, "\"loss\":") + 7, NULL);
    fclose(f);
    return st;
}

/* However often there is no room, down to pieces of one row: the same losses, or none; but for the
 * order of sums. */
static void refusals_change_nothing(const llap_panel *p, const llap_model *like,
                                    const double *expected)
{
    double      found[TEN];
    char        said[256];
    llap_status st = LLAP_OK;
    for (refused = 1; st == LLAP_OK; refused += 3) {
        st = denoiser_losses(p, like, found, said);
        for (int i = 0; i < TEN && st == LLAP_OK; i++)
            if (!(fabs(found[i] - expected[i]) < 1e-5 * expected[i]))
                fail_msg("%d refused: loss %d is %.9g, it was %.9g", refused, i, found[i],
                         expected[i]);
        if (refused == 1) assert_true(st == LLAP_OK && apart_state.n_refused == 0);
    }
    assert_int_equal(st, LLAP_ENOMEM);
    apart_state.n_refused = apart_state.after_copies = refused = 0;
}

/* The denoiser's batches in halves, where there is no room for more. */
static void little_memory_is_enough(void **state)
{
    (void)state;
    llap_panel     *p = make_panel();
    llap_train_opts o = options(NULL);
    llap_model     *m;
    double          whole[TEN], split[TEN];
    char            said[256] = "";
    CHECK_OK(llap_train(p, &o, &m));
    CHECK_OK(denoiser_losses(p, m, whole, said));
    assert_string_equal(said, "");
    for (little = (size_t)1 << 23; said[0] == '\0'; little -= little / 8)
        CHECK_OK(denoiser_losses(p, m, split, said));
    assert_string_equal(said, "denoiser: apart: too little memory for batches of 25: they go in 2 "
                              "pieces");
    for (int i = 0; i < TEN; i++) /* sums in another order */
        if (!(fabs(split[i] - whole[i]) < 1e-5 * whole[i]))
            fail_msg("loss %d: %.9g in pieces, %.9g at once", i, split[i], whole[i]);
    little = 1;
    assert_int_equal(denoiser_losses(p, m, split, said), LLAP_ENOMEM);
    little = 0;
    refusals_change_nothing(p, m, whole);
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
