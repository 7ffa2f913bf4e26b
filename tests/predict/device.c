/* Whole trainings of both profiles on a GPU: the cpu's losses, the same bytes from run to run and
 * however often they are stopped, and states that go on elsewhere. Skipped where there is none;
 * LLAP_DEVICE names the device (cuda). */
#include "lossless.h"
#include "sensors.h"

#include "backend/cuda/cuda.h"

#include <unistd.h>

static llap_panel *panel;

static const char *device(void)
{
    return getenv("LLAP_DEVICE") == NULL ? "cuda" : getenv("LLAP_DEVICE");
}

static int set_up(void **state)
{
    const ll_backend *b = NULL;
    if (ll_device_find(device(), LL_PRECISION_FP32, &b) != LLAP_OK || b == NULL) {
        printf("skipped: %s\n", b == NULL ? llap_error_detail() : "no GPU");
        exit(77);
    }
    if (make_folder(state) != 0) return 1;
    panel = make_rows_on(&LL_AXIS_UTC, "no2", "wind", 2, 600);
    FILE *f = fopen(in_folder("quick"), "w");
    assert_non_null(f);
    fputs("{ \"training\": { \"networks\": { \"check_rows\": 16, \"final_rows\": 16, "
          "\"check_every\": 20 } } }",
          f);
    fclose(f);
    return 0;
}

static int tear_down(void **state)
{
    llap_panel_destroy(panel);
    return remove_folder(state);
}

/* The first is of the reference profile, the others of the default one. */
enum { WAYS = 3 };

static llap_train_opts how(int way)
{
    llap_train_opts o = { 0 };
    o.target = "no2";
    o.context = "1d";
    o.horizon = "12";
    o.size = LLAP_TRAIN_SIZE_TINY;
    o.batch = 8;
    o.steps = way == 0 ? 120 : 60;
    o.device = device();
    if (way == 0) {
        o.profile = LLAP_TRAIN_PROFILE_REFERENCE;
    } else {
        o.view = way == 1 ? LLAP_TRAIN_VIEW_JOINT : LLAP_TRAIN_VIEW_ROWS;
        o.no_climate = 1;
        o.members = 1;
        o.config = in_folder("quick");
    }
    return o;
}

/* The next loss of a log, and the stage of its line; false after the last. */
static bool next_loss(FILE *f, char *stage, double *loss)
{
    char line[2048];
    if (fgets(line, sizeof line, f) == NULL) return false;
    const char *at = strstr(line, "\"loss\":");
    assert_non_null(at);
    assert_int_equal(sscanf(line, "{\"stage\":%31[^,]", stage), 1);
    *loss = strtod(at + 7, NULL);
    return true;
}

/* Sums in another order, carried on by all steps so far. */
static void losses_are_the_cpus(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        llap_train_opts o = how(way);
        o.history = in_folder("there.log");
        save_trained(panel, &o, in_folder("there"));
        o.device = "cpu";
        o.history = in_folder("here.log");
        save_trained(panel, &o, in_folder("here"));
        FILE  *a = fopen(in_folder("here.log"), "r"), *b = fopen(in_folder("there.log"), "r");
        char   stage[2][32];
        double loss[2] = { 0 }, worst = 0.0;
        int    n = 0;
        for (; next_loss(a, stage[0], &loss[0]); n++) {
            assert_true(next_loss(b, stage[1], &loss[1]));
            assert_string_equal(stage[0], stage[1]);
            worst = fmax(worst, fabs(loss[1] - loss[0]) / fabs(loss[0]));
        }
        fclose(a);
        fclose(b);
        print_message("way %d: %d losses, off by %.2g at most\n", way, n, worst);
        assert_true(n > 2 && worst < 2e-3);
    }
}

static void two_runs_are_the_same(void **state)
{
    (void)state;
    static const llap_gpu_precision precision[] = { LLAP_GPU_FP32, LLAP_GPU_BF16 };
    for (int way = 0; way < WAYS; way++)
        for (int i = 0; i < 2; i++) {
            llap_train_opts o = how(way);
            o.precision = precision[i];
            save_trained(panel, &o, in_folder("one"));
            save_trained(panel, &o, in_folder("other"));
            check_same_file(in_folder("one"), in_folder("other"));
        }
}

static void stopping_changes_nothing(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) check_lossless(panel, how(way), 1);
}

static void keep_line(void *user, llap_log_level level, const char *message)
{
    (void)level;
    if (strstr(message, "the device was") != NULL) snprintf(user, 512, "%s", message);
}

/* A state of the one goes on on the other, and says so. */
static void states_go_on_elsewhere(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * WAYS; i++) {
        llap_train_opts o = how(i / 2);
        llap_model     *m = NULL;
        int             left = 7;
        char            said[512] = "";
        const llap_log  log = { .level = LLAP_LOG_WARNING, .sink = keep_line, .user = said };
        o.state = in_folder("else.state");
        if (i % 2 == 0) o.device = "cpu";
        o.progress = (llap_progress){ stop_in_a_while, &left };
        assert_int_equal(llap_train(panel, &o, &m), LLAP_ECANCELLED);
        o.progress = (llap_progress){ 0 };
        o.resume = 1;
        o.log = &log;
        o.device = i % 2 == 0 ? device() : "cpu";
        CHECK_OK(llap_train(panel, &o, &m));
        assert_non_null(strstr(said, "training continues"));
        llap_model_destroy(m);
        unlink(o.state);
    }
}

/* -------- gaps -------- */

static llap_answer *fill(const llap_model *m, const char *where, llap_gpu_precision precision,
                         int causal)
{
    llap_impute_opts o = { 0 };
    llap_answer     *a = NULL;
    o.device = where;
    o.precision = precision;
    o.causal = causal;
    CHECK_OK(llap_impute(m, panel, &o, &a));
    return a;
}

/* The largest difference of two answers, of the span of the first. */
static double apart(const llap_answer *a, const llap_answer *b)
{
    double least = INFINITY, most = -INFINITY, worst = 0.0;
    assert_true(a->n_rows > 0 && a->n_rows == b->n_rows && a->n_numbers == b->n_numbers);
    for (size_t k = 0; k < a->n_rows * (size_t)a->n_numbers; k++) {
        least = fmin(least, a->number[k]);
        most = fmax(most, a->number[k]);
        worst = fmax(worst, fabs(a->number[k] - b->number[k]));
    }
    return worst / (most - least);
}

/* Means and quantiles of the same draws, and of another run the same bytes. */
static void gaps_are_filled_as_on_the_cpu(void **state)
{
    (void)state;
    static const double tol[] = { 1e-4, 3e-2 };
    for (int i = 0; i < 2 * WAYS; i++) {
        llap_train_opts o = how(i / 2);
        llap_model     *m = NULL;
        o.device = "cpu";
        CHECK_OK(llap_train(panel, &o, &m));
        if (m->anchor != NULL) /* whoever is better: here the networks fill */
            m->network->config.features.fill_past = m->network->config.features.fill_both = 7;
        llap_answer *here = fill(m, "cpu", LLAP_GPU_DEFAULT, i % 2);
        for (int p = 0; p < 2; p++) {
            llap_answer *there = fill(m, device(), p == 0 ? LLAP_GPU_FP32 : LLAP_GPU_BF16, i % 2);
            llap_answer *again = fill(m, device(), p == 0 ? LLAP_GPU_FP32 : LLAP_GPU_BF16, i % 2);
            const double off = apart(here, there);
            print_message("way %d%s, %s: %zu gaps, off by %.2g\n", i / 2, i % 2 ? ", causal" : "",
                          p == 0 ? "fp32" : "bf16", here->n_rows, off);
            assert_true(off < tol[p]);
            assert_true(apart(there, again) == 0.0);
            llap_answer_destroy(there);
            llap_answer_destroy(again);
        }
        llap_answer_destroy(here);
        llap_model_destroy(m);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_the_cpus),           cmocka_unit_test(two_runs_are_the_same),
        cmocka_unit_test(stopping_changes_nothing),      cmocka_unit_test(states_go_on_elsewhere),
        cmocka_unit_test(gaps_are_filled_as_on_the_cpu),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
