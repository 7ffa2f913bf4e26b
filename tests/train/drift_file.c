/* What a model file may say about drifts and periods, and an option about the latter. */
#include "anchor/process/state.h"
#include "base/alloc.h"
#include "base/file.h"
#include "folder.h"
#include "sensors.h"
#include "train/periods.h"

static llap_model *trained(const llap_panel *p)
{
    llap_train_opts o = { 0 };
    llap_model     *m = NULL;
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.target = "no2";
    o.context = "2d";
    o.horizon = "24";
    o.no_climate = 1;
    o.training = "{\"anchor\": {\"steps\": 2, \"rows\": 4, \"valid_rows\": 5, \"cycles\": 0, "
                 "\"kappa\": 1e-300}}";
    CHECK_OK(llap_train(p, &o, &m));
    return m;
}

/* At its bounds each number is read, beyond them it is named. */
static void numbers_of_drifts_are_bounded(void **state)
{
    (void)state;
    llap_panel       *p = make_panel("no2", "noise", 1);
    llap_model       *m = trained(p), *again = NULL;
    ll_anchor_model  *a = m->anchor[0];
    ll_anchor_kernel *k = &a->kernel;
    const char       *path = in_folder("model");
    k->drift = LL_ANCHOR_SLOPE;
    k->start = k->q = k->v = k->damping = 1;
    struct {
        const char *name;
        double     *v, least, most;
    } number[] = { { "kernel.start", &k->start, 1e-50, 1e50 },
                   { "kernel.q", &k->q, 1e-50, 1e50 },
                   { "kernel.v", &k->v, 1e-50, 1e50 },
                   { "kernel.damping", &k->damping, 1e-50, 1e50 },
                   { "kappa", &a->kappa, 1e-9, 1.5e308 } };
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        const double kept = *number[i].v, ends[] = { number[i].least, number[i].most };
        for (int end = 0; end < 2; end++) {
            *number[i].v = ends[end];
            CHECK_OK(llap_model_save(m, path));
            CHECK_OK(llap_model_load(path, &again));
            llap_model_destroy(again);
            *number[i].v *= end ? 1.5 : .5;
            if (isinf(*number[i].v)) continue;
            CHECK_OK(llap_model_save(m, path));
            CHECK_FAIL(llap_model_load(path, &again), LLAP_EFORMAT, number[i].name);
        }
        *number[i].v = kept;
    }
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

/* Periods are saved; a file whose numbers do not go together is refused. */
static void periods_are_kept_and_checked(void **state)
{
    (void)state;
    llap_panel *p = make_panel("no2", "noise", 1);
    llap_model *m = trained(p), *again = NULL;
    ll_chain   *c = m->anchor[0]->chain;
    const char *path = in_folder("model");
    c->periods = (ll_periods){ .n = 2, .span = { 7, 24.5 }, .harmonics = { 1, 2 } };
    c->n_climate = 7;
    c->climate = ll_new((c->n_series + 1) * 7, sizeof *c->climate);
    c->climate[2] = 1; /* cos of the first */
    CHECK_OK(llap_model_save(m, path));
    CHECK_OK(llap_model_load(path, &again));
    const ll_chain *read = again->anchor[0]->chain;
    assert_true(read->periods.n == 2 && read->periods.span[1] == 24.5);
    assert_true(read->periods.harmonics[0] == 1 && read->periods.harmonics[1] == 2);
    assert_float_equal(ll_chain_climate(read, 0, 7e6 + 3.5), -1, 1e-9);
    char *text = NULL;
    CHECK_OK(llap_model_describe(again, 0, &text));
    assert_non_null(strstr(text, "climate of periods"));
    assert_non_null(strstr(text, "  periods: 7h, 1d1h\n"));
    llap_text_free(text);
    CHECK_OK(llap_model_describe(again, 1, &text));
    assert_non_null(strstr(text, "\"periods\""));
    llap_text_free(text);
    llap_model_destroy(again);
    c->periods.harmonics[1] = 1;
    CHECK_OK(llap_model_save(m, path));
    CHECK_FAIL(llap_model_load(path, &again), LLAP_EFORMAT, "not those of its periods' harmonics");
    c->periods.harmonics[1] = 7;
    CHECK_OK(llap_model_save(m, path));
    CHECK_FAIL(llap_model_load(path, &again), LLAP_EFORMAT, "harmonics");
    c->periods.harmonics[1] = 2;
    c->periods.span[0] = -1;
    CHECK_OK(llap_model_save(m, path));
    CHECK_FAIL(llap_model_load(path, &again), LLAP_EFORMAT, "periods");
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

/* Numbers as times, durations as calendars have them, and what is neither. */
static void periods_are_read(void **state)
{
    (void)state;
    ll_model_frame number = {
        .axis = LL_AXIS_NUMBER, .axis_unit = 1000, .unit = 500, .step = 1000
    };
    ll_model_frame hours = { .axis = LL_AXIS_CALENDAR, .axis_unit = 1, .unit = HOUR, .step = HOUR };
    ll_anchor_model_opts how = { .find_periods = true };
    CHECK_OK(ll_train_periods(NULL, &hours, &how));
    assert_true(!how.find_periods && how.periods.n == 0);
    CHECK_OK(ll_train_periods(NULL, &number, &how));
    assert_true(how.find_periods);
    CHECK_OK(ll_train_periods("none", &number, &how));
    assert_true(!how.find_periods);
    CHECK_OK(ll_train_periods("auto", &hours, &how));
    assert_true(how.find_periods && how.periods.n == 0);
    CHECK_OK(ll_train_periods("7d,24h", &hours, &how));
    assert_true(!how.find_periods && how.periods.n == 2 && how.periods.span[0] == 168);
    assert_true(how.periods.span[1] == 24 && how.periods.harmonics[1] == 6);
    CHECK_OK(ll_train_periods("11.5", &number, &how));
    assert_true(how.periods.n == 1 && how.periods.span[0] == 23);
    CHECK_FAIL(ll_train_periods("7d", &number, &how), LLAP_EOPTION, "in numbers as times are");
    CHECK_OK(ll_train_periods("2h", &hours, &how));
    CHECK_FAIL(ll_train_periods("24h,119m", &hours, &how), LLAP_EOPTION,
               "periods: expected at least two steps (2h), found '119m'");
    CHECK_FAIL(ll_train_periods("1.9", &number, &how), LLAP_EOPTION,
               "periods: expected at least two steps (2), found '1.9'");
    CHECK_FAIL(ll_train_periods("7", &hours, &how), LLAP_EOPTION, "such as 7d,24h, found '7'");
    CHECK_FAIL(ll_train_periods("2,-2", &number, &how), LLAP_EOPTION, "found '-2'");
    CHECK_FAIL(ll_train_periods("2,3,4,5", &number, &how), LLAP_EOPTION, "at most 3");
    CHECK_FAIL(ll_train_periods("2,,3", &number, &how), LLAP_EOPTION, "found ''");
}

/* A file of 0.1 has no curve: its chain clips as ever, `info` says so, and it is written back as it
 * was. */
static void files_of_0_1_keep_their_clipped_chain_and_say_so(void **state)
{
    (void)state;
    llap_panel             *p = make_panel("no2", "noise", 1);
    llap_model             *m = trained(p), *again = NULL;
    ll_anchor_model        *a = m->anchor[0];
    ll_chain               *c = a->chain;
    const ll_anchor_kernel *k = &a->kernel;
    const char             *path = in_folder("old");
    char                   *text = NULL, *first = NULL, *second = NULL;
    size_t                  n, m2;
    double **const          free_range[] = { &c->low, &c->high, &c->glitch, &c->y_mu, &c->y_sd };
    for (size_t i = 0; i < sizeof free_range / sizeof *free_range; i++) {
        ll_free(*free_range[i]);
        *free_range[i] = NULL;
    }
    a->kernel = anchor_kernel_still(*k);
    a->reach = 0;
    c->curve = LL_CURVE_CLIPPED;
    c->z_clip = c->z_hi = 5;
    c->z_lo = -2;
    CHECK_OK(llap_model_save(m, path));
    CHECK_OK(ll_file_read(path, SIZE_MAX, &first, &n));
    CHECK_OK(llap_model_load(path, &again));
    const ll_chain *old = again->anchor[0]->chain;
    assert_int_equal(old->curve, LL_CURVE_CLIPPED);
    assert_true(old->glitch == NULL && old->high == NULL && again->anchor[0]->kernel.monitor == 0);
    for (int end = 0; end < 2; end++) { /* no answer lies outside */
        const ll_law law = { .mean = end ? 1e6 : -1e6, .sd = 1 };
        assert_float_equal(ll_anchor_quantile(again->anchor[0], 0, &law, 0),
                           old->mu[0] + old->sd[0] * (end ? 5 : -2), 1e-9 * old->sd[0]);
    }
    bool         drop[6];
    const double spike[] = { 1, 2, 1, 65535, 2, 1 };
    ll_chain_mark(old, 0, spike, 6, drop);
    for (int i = 0; i < 6; i++) assert_false(drop[i]);
    CHECK_OK(llap_model_describe(again, 0, &text));
    assert_non_null(strstr(text, "clipped scale of an older version"));
    llap_text_free(text);
    CHECK_OK(llap_model_describe(again, 1, &text));
    assert_non_null(strstr(text, "\"clipped\""));
    llap_text_free(text);
    CHECK_OK(llap_model_save(again, path));
    CHECK_OK(ll_file_read(path, SIZE_MAX, &second, &m2));
    assert_int_equal(n, m2);
    assert_memory_equal(first, second, n);
    ll_free(first);
    ll_free(second);
    llap_model_destroy(again);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_drifts_are_bounded),
        cmocka_unit_test(files_of_0_1_keep_their_clipped_chain_and_say_so),
        cmocka_unit_test(periods_are_kept_and_checked), cmocka_unit_test(periods_are_read)
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
