/* A stream answers as the whole history does, byte for byte, whatever order its rows came in; it
 * keeps no more than it needs, and goes on from its file. */
#include "stream/stream.h"
#include "base/file.h"
#include "folder.h"
#include "sensors.h"

#include <llapdiff/llapdiff.h>

#include <stdlib.h>
#include <string.h>

static llap_panel *panel;
static llap_model *anchor, *stack;

static int set_up(void **state)
{
    if (make_folder(state) != 0) return 1;
    panel = make_panel("no2", "wind", ENTITIES);
    anchor = train_anchor(panel);
    llap_train_opts o = { .size = LLAP_TRAIN_SIZE_STACK,
                          .target = "no2",
                          .context = "2d",
                          .horizon = "24",
                          .training = "{\"anchor\": {\"steps\": 40, \"rows\": 16}, \"stack\": "
                                      "{\"rows\": 1200, \"seeds\": 1, \"steps\": 40, \"batch\": "
                                      "64}}" };
    CHECK_OK(llap_train(panel, &o, &stack));
    stack->stack->weight[0] = 0.5; /* so short a training might leave the answer to the anchor */
    for (int k = 0; k < LL_STACK_KINDS; k++)
        if (stack->stack->member[k].used) stack->stack->weight[1 + k] = 0.5;
    return 0;
}

static int tear_down(void **state)
{
    llap_model_destroy(anchor);
    llap_model_destroy(stack);
    llap_panel_destroy(panel);
    return remove_folder(state);
}

/* ---- taking rows ---- */

static void take_row(llap_stream *s, const llap_panel *p, int64_t e, int64_t r)
{
    CHECK_OK(llap_stream_take(s, p->entity[e], p->time[r], p->value + r * p->n_vars, p->n_vars));
}

/* All rows up to the time, hour by hour. */
static void take_upto(llap_stream *s, int64_t after, int64_t upto)
{
    for (int64_t t = after + HOUR; t <= upto; t += HOUR)
        for (int64_t e = 0; e < panel->n_entities; e++) {
            const int64_t r = ll_panel_find_row(panel, e, t);
            if (r >= 0) take_row(s, panel, e, r);
        }
}

static llap_stream *make_stream(const llap_model *m)
{
    llap_stream *s;
    CHECK_OK(llap_stream_create(m, &(llap_stream_opts){ .like = panel }, &s));
    return s;
}

static void same_answers(const llap_answer *a, const llap_answer *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->n_numbers, b->n_numbers);
    assert_memory_equal(a->rows.time, b->rows.time, a->n_rows * sizeof *a->rows.time);
    assert_memory_equal(a->number, b->number, a->n_rows * (size_t)a->n_numbers * sizeof *a->number);
}

/* The stream against the whole panel, whose later rows a forecast made at that time ignores. */
static void check_forecast(llap_stream *s, const llap_model *m, int64_t t, bool samples)
{
    char               at[40];
    llap_forecast_opts o = { .horizon = "30", .samples = 8, .keep_samples = samples };
    llap_answer       *live, *batch;
    snprintf(at, sizeof at, "1970-02-%02dT%02d:00:00Z", 1 + (int)(t / HOUR / 24 - 31),
             (int)(t / HOUR % 24));
    o.at = at;
    CHECK_OK(llap_stream_forecast(s, &o, &live));
    CHECK_OK(llap_forecast(m, panel, &o, &batch));
    same_answers(live, batch);
    llap_answer_destroy(live);
    llap_answer_destroy(batch);
}

static void forecasts_are_those_of_the_whole_history(void **state)
{
    (void)state;
    const llap_model *const models[] = { anchor, stack };
    for (int k = 0; k < 2; k++) {
        llap_stream *s = make_stream(models[k]);
        int64_t      t = 31 * 24 * HOUR;
        take_upto(s, -HOUR, t);
        for (int i = 0; i < 20; i++, t += 7 * HOUR) {
            check_forecast(s, models[k], t, i % 4 == 3);
            take_upto(s, t, t + 7 * HOUR);
        }
        llap_stream_destroy(s);
    }
}

static void quantiles_are_those_of_the_forecast(void **state)
{
    (void)state;
    llap_stream  *s = make_stream(anchor);
    const int64_t t = 800 * HOUR;
    int64_t       time[24];
    const double  level[] = { 0.025, 0.5, 0.9 };
    double        q[24 * 3];
    llap_answer  *a;
    take_upto(s, -HOUR, t);
    for (int i = 0; i < 24; i++) time[i] = t + (i + 1) * HOUR;
    CHECK_OK(llap_stream_quantiles(s, "s1", "no2", time, 24, level, 3, q));
    CHECK_OK(llap_stream_forecast(
        s, &(llap_forecast_opts){ .only = "s1", .quantiles = "0.025,0.5,0.9" }, &a));
    assert_int_equal(a->n_rows, 24);
    for (size_t i = 0; i < 24; i++)
        assert_memory_equal(q + 3 * i, a->number + 4 * i + 1, 3 * sizeof *q);
    llap_answer_destroy(a);
    CHECK_FAIL(llap_stream_quantiles(s, "s1", "no2", &t, 1, level, 3, q), LLAP_EINVAL,
               "not after the newest row");
    CHECK_FAIL(llap_stream_quantiles(s, "x", "no2", time, 1, level, 3, q), LLAP_EINVAL, "'x'");
    CHECK_FAIL(llap_stream_quantiles(s, "s1", "pm", time, 1, level, 3, q), LLAP_EINVAL, "'pm'");
    llap_stream_destroy(s);
}

/* ---- order ---- */

static char *saved(const llap_stream *s, size_t *n)
{
    char *bytes;
    CHECK_OK(llap_stream_save(s, in_folder("state")));
    CHECK_OK(ll_file_read(in_folder("state"), SIZE_MAX, &bytes, n));
    return bytes;
}

static void rows_in_any_order_leave_the_same_stream(void **state)
{
    (void)state;
    llap_stream       *in_order = make_stream(anchor), *mixed = make_stream(anchor);
    llap_stream_counts c;
    const int64_t      last = 60;
    const ll_rng       rng = ll_rng_make(3, LL_STREAM_TEST, 0, 0, 0);
    take_upto(in_order, -HOUR, last * HOUR);
    /* Entities first come in the same order; then blocks of 8 rows are shuffled. */
    for (int64_t e = 0; e < panel->n_entities; e++) take_row(mixed, panel, e, panel->start[e]);
    for (int64_t block = 0; block <= last; block += 8)
        for (uint64_t k = 0; k < 100; k++) {
            const int64_t r = block + ll_rng_below(&rng, (uint64_t)block * 100 + k, 8);
            const int64_t e = k % (uint64_t)panel->n_entities;
            if (r <= last) take_row(mixed, panel, e, panel->start[e] + r);
        }
    for (int64_t e = 0; e < panel->n_entities; e++) /* whatever was left out by chance */
        for (int64_t r = last - 40; r <= last; r++) take_row(mixed, panel, e, panel->start[e] + r);
    llap_stream_count(mixed, &c);
    assert_true(c.late > 50 && c.repeated > 100);
    mixed->counts = in_order->counts;
    size_t      n[2];
    char       *bytes[2] = { saved(in_order, &n[0]), saved(mixed, &n[1]) };
    llap_panel *p[2];
    CHECK_OK(llap_stream_panel(in_order, NULL, &p[0]));
    CHECK_OK(llap_stream_panel(mixed, NULL, &p[1]));
    assert_int_equal(p[0]->n_rows, p[1]->n_rows);
    assert_memory_equal(p[0]->time, p[1]->time, (size_t)p[0]->n_rows * sizeof(int64_t));
    assert_memory_equal(p[0]->value, p[1]->value, (size_t)(p[0]->n_rows * 2) * sizeof(float));
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(bytes[0], bytes[1], n[0]);
    for (int k = 0; k < 2; k++) {
        ll_free(bytes[k]);
        llap_panel_destroy(p[k]);
    }
    llap_stream_destroy(in_order);
    llap_stream_destroy(mixed);
}

static void the_last_value_stands_and_a_missing_one_erases_nothing(void **state)
{
    (void)state;
    llap_stream *s = make_stream(anchor);
    llap_panel  *p;
    CHECK_OK(llap_stream_take(s, "s0", HOUR, (const float[]){ 1, 2 }, 2));
    CHECK_OK(llap_stream_take(s, "s0", HOUR, (const float[]){ NAN, 3 }, 2));
    CHECK_OK(llap_stream_take(s, "s0", HOUR, (const float[]){ 4, INFINITY }, 2));
    CHECK_OK(llap_stream_panel(s, NULL, &p));
    assert_int_equal(p->n_rows, 1);
    assert_true(p->value[0] == 4 && p->value[1] == 3);
    llap_panel_destroy(p);
    llap_stream_destroy(s);
}

static void what_no_answer_depends_on_is_dropped_and_counted(void **state)
{
    (void)state;
    llap_stream       *s = make_stream(anchor);
    llap_stream_counts c;
    const float        v[2] = { 50, 0 };
    CHECK_OK(llap_stream_take(s, "s0", 100 * HOUR, v, 2));
    CHECK_OK(llap_stream_take(s, "s0", 52 * HOUR, v, 2)); /* a context is two days */
    CHECK_OK(llap_stream_take(s, "s0", 51 * HOUR, v, 2));
    llap_stream_count(s, &c);
    assert_int_equal(c.rows, 2);
    assert_int_equal(c.late, 1);
    assert_int_equal(c.dropped, 1);
    CHECK_OK(llap_stream_take(s, "s0", 101 * HOUR, v, 2));
    llap_stream_count(s, &c);
    assert_int_equal(c.rows, 2);
    llap_stream_destroy(s);
}

static void memory_does_not_grow_with_what_has_passed(void **state)
{
    (void)state;
    llap_stream       *s = make_stream(anchor);
    llap_stream_counts before, after;
    for (int64_t i = 0; i < 30000; i++) {
        const float v[2] = { (float)(i % 17), 0 };
        CHECK_OK(llap_stream_take(s, "s0", i * HOUR / 2, v, 2));
        if (i == 1000) llap_stream_count(s, &before);
    }
    llap_stream_count(s, &after);
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.rows, 97);
    llap_stream_destroy(s);
}

static void more_rows_than_allowed_are_cut_and_counted(void **state)
{
    (void)state;
    llap_stream       *s;
    llap_stream_counts c;
    CHECK_OK(llap_stream_create(anchor, &(llap_stream_opts){ .like = panel, .rows = 10 }, &s));
    take_upto(s, -HOUR, 20 * HOUR);
    llap_stream_count(s, &c);
    assert_int_equal(c.rows, 10 * ENTITIES);
    assert_int_equal(c.cut, 11 * ENTITIES);
    llap_stream_destroy(s);
}

/* ---- mistakes ---- */

static void mistakes_are_named(void **state)
{
    (void)state;
    llap_stream *s;
    llap_panel  *other = make_panel("pm", "wind", 1), *p;
    const float  v[2] = { 1, 2 };
    CHECK_FAIL(llap_stream_create(anchor, &(llap_stream_opts){ .like = other }, &s), LLAP_EINVAL,
               "'no2'");
    CHECK_OK(llap_stream_create(anchor, &(llap_stream_opts){ .entities = 1 }, &s));
    assert_string_equal(llap_stream_variables(s)[0], "no2");
    assert_null(llap_stream_variables(s)[1]);
    CHECK_FAIL(llap_stream_panel(s, NULL, &p), LLAP_EINVAL, "no row yet");
    CHECK_FAIL(llap_stream_take(s, "s0", 0, v, 2), LLAP_EINVAL, "has 1 variables, found 2");
    CHECK_FAIL(llap_stream_take(s, "\xff", 0, v, 1), LLAP_EINVAL, "UTF-8");
    CHECK_OK(llap_stream_take(s, "s0", 0, v, 1));
    CHECK_FAIL(llap_stream_take(s, "s1", 0, v, 1), LLAP_ELIMIT, "more than 1 entities");
    CHECK_FAIL(llap_stream_take_panel(s, other), LLAP_EINVAL, "'no2'");
    llap_stream_destroy(s);
    llap_panel_destroy(other);
}

/* ---- the file ---- */

static void a_restored_stream_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    llap_stream *s = make_stream(anchor), *again;
    size_t       n[2];
    take_upto(s, -HOUR, 900 * HOUR);
    CHECK_OK(llap_stream_save(s, in_folder("half")));
    CHECK_OK(llap_stream_restore(anchor, in_folder("half"), &(llap_stream_opts){ 0 }, &again));
    take_upto(s, 900 * HOUR, 950 * HOUR);
    take_upto(again, 900 * HOUR, 950 * HOUR);
    check_forecast(again, anchor, 950 * HOUR, false);
    char *bytes[2] = { saved(s, &n[0]), saved(again, &n[1]) };
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(bytes[0], bytes[1], n[0]);
    ll_free(bytes[0]);
    ll_free(bytes[1]);
    llap_stream_destroy(again);
    CHECK_FAIL(llap_stream_restore(stack, in_folder("half"), &(llap_stream_opts){ 0 }, &again),
               LLAP_EFORMAT, "another model");
    assert_null(again);
    llap_stream_destroy(s);
}

/* Every byte of a saved stream changed in turn: it is refused by name, or is a stream that can be
 * asked and saved. */
static void changed_files_are_refused_or_sound(void **state)
{
    (void)state;
    llap_stream *s = make_stream(anchor), *again;
    size_t       n, refused = 0;
    take_upto(s, -HOUR, 5 * HOUR);
    char *bytes = saved(s, &n);
    for (size_t i = 0; i < n; i++) {
        FILE *f = fopen(in_folder("changed"), "wb");
        bytes[i] ^= (char)(1 << i % 8);
        assert_int_equal(fwrite(bytes, 1, n, f), n);
        assert_int_equal(fclose(f), 0);
        bytes[i] ^= (char)(1 << i % 8);
        const llap_status st =
            llap_stream_restore(anchor, in_folder("changed"), &(llap_stream_opts){ 0 }, &again);
        if (st == LLAP_OK) {
            llap_panel *p = NULL;
            if (llap_stream_panel(again, NULL, &p) == LLAP_OK) CHECK_OK(ll_panel_check(p));
            llap_panel_destroy(p);
            llap_stream_destroy(again);
            continue;
        }
        refused++;
        assert_true(st == LLAP_EFORMAT || st == LLAP_EUNSUPPORTED || st == LLAP_ELIMIT ||
                    st == LLAP_EINVAL);
        assert_non_null(strstr(llap_error_detail(), "changed"));
    }
    assert_true(refused > n / 4);
    ll_free(bytes);
    llap_stream_destroy(s);
}

static llap_status everything(void *user)
{
    llap_stream *s = NULL, *again = NULL;
    llap_answer *a = NULL;
    (void)user;
    llap_status st = llap_stream_create(anchor, &(llap_stream_opts){ .like = panel }, &s);
    for (int64_t e = 0; e < 2; e++)
        for (int64_t r = 0; st == LLAP_OK && r < 70; r++)
            st = llap_stream_take(s, panel->entity[e], panel->time[r], panel->value + 2 * r, 2);
    if (st == LLAP_OK)
        st = llap_stream_forecast(s, &(llap_forecast_opts){ .only = "s0", .horizon = "2" }, &a);
    if (st == LLAP_OK) st = llap_stream_save(s, in_folder("failing"));
    if (st == LLAP_OK)
        st = llap_stream_restore(anchor, in_folder("failing"), &(llap_stream_opts){ 0 }, &again);
    llap_answer_destroy(a);
    llap_stream_destroy(s);
    llap_stream_destroy(again);
    return st;
}

static void a_failed_allocation_leaks_nothing(void **state)
{
    (void)state;
    check_every_failed_allocation(everything, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forecasts_are_those_of_the_whole_history),
        cmocka_unit_test(quantiles_are_those_of_the_forecast),
        cmocka_unit_test(rows_in_any_order_leave_the_same_stream),
        cmocka_unit_test(the_last_value_stands_and_a_missing_one_erases_nothing),
        cmocka_unit_test(what_no_answer_depends_on_is_dropped_and_counted),
        cmocka_unit_test(memory_does_not_grow_with_what_has_passed),
        cmocka_unit_test(more_rows_than_allowed_are_cut_and_counted),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(a_restored_stream_goes_on_to_the_same_bytes),
        cmocka_unit_test(changed_files_are_refused_or_sound),
        cmocka_unit_test(a_failed_allocation_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
