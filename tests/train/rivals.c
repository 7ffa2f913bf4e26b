/* Published models from options to files: the same bytes for any number of threads and after any
 * interruption, what a file may hold, what is refused, what is answered. */
#include "lossless.h"
#include "rivals/tiny.h"

#include "base/options.h"
#include "base/safetensors.h"
#include "predict/tables/answer.h"

#include <omp.h>

#define HOUR INT64_C(3600000000000)
enum { N = 2, ROWS = 150, D = 2, STEPS = 4 };

/* Two stations, two variables, by the hour; some rows are missing, or (empty) are there without
 * values. */
static llap_panel *make_panel(bool empty)
{
    static const char *const entity[] = { "a", "b" }, *const var[] = { "v", "w" };
    int64_t start[] = { 0, 0, 0 };
    int64_t row[N * ROWS], n = 0;
    for (int64_t i = 0; i < N * ROWS; i++) {
        const bool lost = i % 13 == 5 && i % ROWS != 0;
        if (empty || !lost) row[n++] = lost ? -i : i;
        if (i % ROWS == ROWS - 1) start[i / ROWS + 1] = n;
    }
    ll_panel_draft d = { .axis = LL_AXIS_UTC,
                         .n_entities = N,
                         .n_vars = D,
                         .entity = entity,
                         .var = var,
                         .start = start };
    llap_panel    *p;
    CHECK_OK(ll_panel_create(&d, &p));
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = row[k] < 0 ? -row[k] : row[k];
        d.time[k] = i % ROWS * HOUR;
        for (int64_t v = 0; v < D && row[k] >= 0; v++) {
            if ((i * 7 + v * 3) % 11 == 0) continue;
            d.value[k * D + v] = (float)(sin(0.26 * (double)i) + 0.3 * cos(1.7 * (double)(i + v)));
            ll_bit_set(d.observed, k * D + v);
        }
    }
    return p;
}

static llap_train_opts options(int i)
{
    llap_train_opts o = { 0 };
    o.target = "v", o.context = "12", o.horizon = "4";
    o.rival = ll_rivals[i].name;
    o.rival_options = tiny_options[i];
    o.training = "{\"rival\": {\"check_every\": 2, \"check_rows\": 5, \"check_samples\": 2}}";
    o.steps = STEPS;
    o.batch = 3;
    o.seed = 5;
    return o;
}

static llap_model *train(const llap_panel *p, int i)
{
    llap_model           *m = NULL;
    const llap_train_opts o = options(i);
    CHECK_OK(llap_train(p, &o, &m));
    assert_non_null(m->rival);
    return m;
}

static llap_answer *ahead(const llap_model *m, const llap_panel *p, int64_t samples)
{
    llap_forecast_opts o = { 0 };
    llap_answer       *a = NULL;
    o.samples = samples;
    CHECK_OK(llap_forecast(m, p, &o, &a));
    return a;
}

static bool same_numbers(const llap_answer *a, const llap_answer *b)
{
    return a->n_rows == b->n_rows && a->n_numbers == b->n_numbers &&
           memcmp(a->number, b->number, a->n_rows * (size_t)a->n_numbers * sizeof *a->number) == 0;
}

/* -------- each of them -------- */

static void each_trains_and_answers_with_the_same_bytes(void **state)
{
    (void)state;
    llap_panel *p = make_panel(false), *empty = make_panel(true);
    const int   threads = omp_get_max_threads();
    for (int i = 0; i < LL_RIVALS; i++) {
        char       *bytes[3];
        size_t      n[3];
        llap_model *again = NULL;
        omp_set_num_threads(1);
        llap_model  *m = train(p, i);
        llap_answer *one = ahead(m, p, 9);
        omp_set_num_threads(2);
        llap_model  *other = train(p, i);
        llap_answer *two = ahead(m, p, 9), *rows = ahead(m, empty, 9);
        omp_set_num_threads(threads);
        CHECK_OK(llap_model_save_memory(m, &bytes[0], &n[0]));
        CHECK_OK(llap_model_save_memory(other, &bytes[1], &n[1]));
        CHECK_OK(llap_model_load_memory(bytes[0], n[0], &again));
        CHECK_OK(llap_model_save_memory(again, &bytes[2], &n[2]));
        llap_answer *loaded = ahead(again, p, 9);
        for (int k = 1; k < 3; k++)
            if (n[k] != n[0] || memcmp(bytes[k], bytes[0], n[0]) != 0)
                fail_msg("%s: other bytes %s", ll_rivals[i].name,
                         k == 1 ? "by two threads" : "when it was loaded and saved");
        assert_true(same_numbers(one, two) && same_numbers(one, loaded));
        /* a row without values is no row, where rows lie on the grid */
        if (ll_rival_on_grid(&m->rival->task) && !same_numbers(one, rows))
            fail_msg("%s: rows without values count", ll_rivals[i].name);
        assert_int_equal(one->n_rows, N * 4);
        for (size_t k = 0; k < one->n_rows * (size_t)one->n_numbers; k++) {
            assert_true(isfinite(one->number[k]));
            if (k % (size_t)one->n_numbers > 1) assert_true(one->number[k] >= one->number[k - 1]);
        }
        for (int k = 0; k < 3; k++) llap_text_free(bytes[k]);
        llap_answer_destroy(one);
        llap_answer_destroy(two);
        llap_answer_destroy(rows);
        llap_answer_destroy(loaded);
        llap_model_destroy(again);
        llap_model_destroy(other);
        llap_model_destroy(m);
    }
    llap_panel_destroy(p);
    llap_panel_destroy(empty);
}

static void an_interrupted_training_ends_in_the_same_bytes(void **state)
{
    (void)state;
    static const int some[] = { 1, 8 }; /* batch norm and dropout; draws */
    llap_panel      *p = make_panel(false);
    for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
        llap_train_opts o = options(some[k]);
        o.steps = 24;
        o.training = "{\"rival\": {\"check_every\": 6, \"check_rows\": 3, \"check_samples\": 2}}";
        check_lossless(p, o, 3);
    }
    llap_panel_destroy(p);
}

/* Several targets have an answer each, and paths have the laws' quantiles. */
static void several_targets_and_paths(void **state)
{
    (void)state;
    llap_panel *p = make_panel(false);
    for (int i = 0; i < LL_RIVALS; i++) {
        llap_train_opts    o = options(i);
        llap_forecast_opts f = { 0 };
        llap_model        *m = NULL;
        llap_answer       *a = NULL;
        o.target = "w,v";
        o.steps = 1;
        CHECK_OK(llap_train(p, &o, &m));
        f.samples = 5;
        f.keep_samples = 1;
        CHECK_OK(llap_forecast(m, p, &f, &a));
        assert_int_equal(a->n_rows, N * 4 * 2 * 5);
        for (size_t k = 0; k < a->n_rows; k++) assert_true(isfinite(a->number[k]));
        llap_answer_destroy(a);
        llap_model_destroy(m);
    }
    llap_panel_destroy(p);
}

/* -------- gaps -------- */

static llap_answer *fill(const llap_model *m, const llap_panel *p, int causal)
{
    llap_impute_opts o = { 0 };
    llap_answer     *a = NULL;
    o.all = 1;
    o.causal = causal;
    o.samples = 4;
    CHECK_OK(llap_impute(m, p, &o, &a));
    return a;
}

static void two_of_them_fill_gaps(void **state)
{
    (void)state;
    enum { LATE = 100 };
    llap_panel *p = make_panel(true), *later = make_panel(true);
    for (int64_t r = 0; r < later->n_rows; r++)
        if (later->time[r] >= LATE * HOUR) ((float *)later->value)[r * D] += 1.0f;
    for (int i = 0; i < LL_RIVALS; i++) {
        llap_model *m = train(p, i);
        if (!ll_rival_fills(&m->rival->task)) {
            llap_answer           *a = NULL;
            const llap_impute_opts o = { 0 };
            CHECK_FAIL(llap_impute(m, p, &o, &a), LLAP_EUNSUPPORTED,
                       "forecasts, but does not fill gaps");
            llap_model_destroy(m);
            continue;
        }
        for (int causal = 0; causal < 2; causal++) {
            llap_answer *a = fill(m, p, causal), *b = fill(m, later, causal);
            bool         changed = false;
            assert_int_equal(a->n_rows, p->n_rows);
            for (size_t k = 0; k < a->n_rows; k++) {
                const double *x = a->number + k * (size_t)a->n_numbers;
                const double *y = b->number + k * (size_t)b->n_numbers;
                assert_true(isfinite(x[0]));
                if (a->rows.observed[k] || a->rows.time[k] >= LATE * HOUR) continue;
                changed = changed || x[0] != y[0];
            }
            assert_true(changed == (causal == 0)); /* what comes later counts, or not */
            llap_answer_destroy(a);
            llap_answer_destroy(b);
        }
        llap_model_destroy(m);
    }
    llap_panel_destroy(p);
    llap_panel_destroy(later);
}

/* -------- what is refused -------- */

static void refused(llap_train_opts o, const char *says)
{
    llap_panel *p = make_panel(false);
    llap_model *m = NULL;
    CHECK_FAIL(llap_train(p, &o, &m), LLAP_EOPTION, says);
    assert_null(m);
    llap_panel_destroy(p);
}

static void options_of_ours_are_refused(void **state)
{
    (void)state;
    llap_train_opts o = options(0);
    o.rival = "lstm";
    refused(o, "rival: expected dlinear, patchtst");
    o = options(0), o.size = LLAP_TRAIN_SIZE_SMALL;
    refused(o, "size: a published model does not have this option");
    o = options(0), o.profile = LLAP_TRAIN_PROFILE_REFERENCE;
    refused(o, "profile: a published model");
    o = options(0), o.known = "w";
    refused(o, "known: a published model");
    o = options(0), o.rival = NULL;
    refused(o, "rival_options: there is no `rival`");
    o = options(0), o.rival_options = "{\"kernel\": 4}";
    refused(o, "rival_options: dlinear: kernel: expected odd numbers, found 4");
    o = options(0), o.rival_options = "{\"colour\": 4}";
    refused(o, "unknown key 'colour'");
    o = options(0), o.rival_options = "{kernel}";
    refused(o, "rival_options");
    o = options(0), o.training = "{\"stack\": {\"rows\": 500}}";
    refused(o, "a published model has 'rival' alone");
    o = options(0), o.training = "{\"rival\": {\"lr\": 0.5}}", o.lr = 0.1;
    refused(o, "lr: given as 0.1, and as 0.5");
    o = options(2), o.rival_config = LLAP_TRAIN_RIVAL_CONFIG_ADAPTER;
    refused(o, "rival_config: mr-Diff has no adapter");
}

static void what_it_was_not_trained_for_is_refused(void **state)
{
    (void)state;
    llap_panel        *p = make_panel(false);
    llap_model        *m = train(p, 0);
    llap_forecast_opts o = { 0 };
    llap_answer       *a = NULL;
    llap_pole_opts     q = { 0 };
    char              *text = NULL;
    o.horizon = "5h";
    CHECK_FAIL(llap_forecast(m, p, &o, &a), LLAP_EOPTION,
               "DLinear answers within the horizon that it was trained for");
    CHECK_FAIL(llap_model_poles(m, NULL, &q, 0, &text), LLAP_EUNSUPPORTED, "has no poles");
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

/* -------- files -------- */

typedef struct edit {           /* of a good file */
    const char *find, *replace; /* in the configuration */
    const char *drop, *nan;     /* tensors */
    bool        more;           /* one too many */
    const char *says;
} edit;

static void copy_metadata(const ll_tensors *t, const edit *e, ll_tensors_writer *w)
{
    for (size_t i = 0; i < ll_tensors_metadata_count(t); i++) {
        const ll_metadata m = ll_tensors_metadata_at(t, i);
        char              text[8000];
        assert_true(strlen(m.value) < 6000);
        snprintf(text, sizeof text, "%s", m.value);
        char *at = e->find == NULL ? NULL : strstr(text, e->find);
        if (at != NULL && strcmp(m.key, "llapdiff.config") == 0)
            snprintf(at, sizeof text - (size_t)(at - text), "%s%s", e->replace,
                     m.value + (at - text) + strlen(e->find));
        CHECK_OK(ll_tensors_writer_metadata(w, m.key, text));
    }
}

static void edited(const ll_tensors *t, const edit *e)
{
    static float       hold[4096];
    static const float one[] = { 1.0f };
    ll_tensors_writer *w = NULL;
    llap_model        *m = NULL;
    CHECK_OK(ll_tensors_writer_create(&w));
    for (size_t i = 0; i < ll_tensors_count(t); i++) {
        const ll_tensor_info x = ll_tensors_at(t, i);
        const void          *data = x.data;
        if (e->drop != NULL && strcmp(x.name, e->drop) == 0) continue;
        if (e->nan != NULL && strcmp(x.name, e->nan) == 0) {
            assert_true(x.n_elements <= 4096);
            memcpy(hold, x.data, x.n_bytes);
            hold[x.n_elements - 1] = NAN;
            data = hold;
        }
        CHECK_OK(ll_tensors_writer_add(w, x.name, x.dtype, x.rank, x.shape, data));
    }
    if (e->more) CHECK_OK(ll_tensors_writer_add(w, "rival.more", LL_F32, 1, (int64_t[]){ 1 }, one));
    copy_metadata(t, e, w);
    CHECK_OK(ll_tensors_writer_save(w, in_folder("bad")));
    ll_tensors_writer_destroy(w);
    CHECK_FAIL(llap_model_load(in_folder("bad"), &m), LLAP_EFORMAT, e->says);
    assert_null(m);
}

static void hostile_files_are_refused(void **state)
{
    (void)state;
    static const edit cases[] = {
        { .find = "\"model\":\"dlinear\"",
          .replace = "\"model\":\"lstm\"",
          .says = "no model that is known here: 'lstm'" },
        { .find = "\"model\":\"dlinear\"",
          .replace = "\"model\":\"patchtst\"",
          .says = "rival.options" },
        { .find = "\"rows\":12", .replace = "\"rows\":13", .says = "rival.Linear_" },
        { .find = "\"rows\":12", .replace = "\"rows\":1000000000", .says = "rival.rows" },
        { .find = "\"steps\":4",
          .replace = "\"steps\":3000",
          .says = "horizon: expected 3000 rows" },
        { .find = "\"steps\":4", .replace = "\"steps\":-4", .says = "rival.steps" },
        { .find = "\"calendar\":6",
          .replace = "\"calendar\":3",
          .says = "calendar: expected 0 or 6" },
        { .find = "\"numbers\":4", .replace = "\"numbers\":64", .says = "expected F32 [" },
        { .find = "\"quantiles\":25", .replace = "\"quantiles\":1e300", .says = "quantiles" },
        { .find = "\"kernel\":5", .replace = "\"kernel\":4", .says = "odd" },
        { .find = "\"kernel\":5,", .replace = "", .says = "kernel" },
        { .find = "\"inputs\":[\"w\"]", .replace = "\"inputs\":[\"w\",\"w\"]", .says = "twice" },
        { .find = "\"inputs\":[\"w\"]", .replace = "\"inputs\":[]", .says = "rival.scale.mean" },
        { .find = "\"size\":\"rival\"",
          .replace = "\"size\":\"anchor\"",
          .says = "as there is a rival" },
        { .find = "\"rival\":{",
          .replace = "\"stack\":{},\"rival\":{",
          .says = "both 'rival' and 'stack'" },
        { .find = "\"small\":", .replace = "\"smell\":", .says = "smell" },
        { .drop = "rival.quant.bias", .says = "rival.quant.bias" },
        { .nan = "rival.quant.weight", .says = "rival.quant.weight" },
        { .nan = "rival.scale.std", .says = "is not positive" },
        { .nan = "rival.scale.mean", .says = "is not finite" },
        { .more = true, .says = "rival.more" },
    };
    llap_panel *p = make_panel(false);
    llap_model *m = train(p, 0);
    ll_tensors *t = NULL;
    CHECK_OK(llap_model_save(m, in_folder("good")));
    CHECK_OK(ll_tensors_open(in_folder("good"), &t));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) edited(t, &cases[i]);
    ll_tensors_close(t);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

/* -------- memory -------- */

typedef struct work {
    const llap_model *m;
    const llap_panel *p;
} work;

static llap_status load_and_ask(void *user)
{
    const work              *w = user;
    const llap_forecast_opts o = { .samples = 3 };
    llap_model              *m = NULL;
    llap_answer             *a = NULL;
    llap_status              st = llap_model_load(in_folder("kept"), &m);
    if (st == LLAP_OK) st = llap_forecast(m, w->p, &o, &a);
    llap_answer_destroy(a);
    llap_model_destroy(m);
    return st;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    if (check_once()) return;
    work w = { .p = make_panel(false) };
    w.m = train(w.p, 0);
    CHECK_OK(llap_model_save(w.m, in_folder("kept")));
    check_every_failed_allocation(load_and_ask, &w);
    llap_model_destroy((llap_model *)w.m);
    llap_panel_destroy((llap_panel *)w.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_trains_and_answers_with_the_same_bytes),
        cmocka_unit_test(an_interrupted_training_ends_in_the_same_bytes),
        cmocka_unit_test(several_targets_and_paths),
        cmocka_unit_test(two_of_them_fill_gaps),
        cmocka_unit_test(options_of_ours_are_refused),
        cmocka_unit_test(what_it_was_not_trained_for_is_refused),
        cmocka_unit_test(hostile_files_are_refused),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
