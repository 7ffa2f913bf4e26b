/* What can be asked of a forecast, and what is said where the data differs from that of training.
 */
#include "check.h"

#include "base/rng/rng.h"
#include "data/panel_builder.h"
#include "predict/tables/answer.h"
#include "predict/tables/times.h"

#include <unistd.h>

#define HOUR INT64_C(3600000000000)

enum { ROWS = 400 };

static llap_panel *panel;
static llap_model *model;
static char        file[] = "/tmp/llap-queries-XXXXXX";

/* Hourly rows of a noisy daily cycle; every value times `scale`, every step-th row. */
static llap_panel *make_panel(int n_entities, const char *prefix, const char *var, double scale,
                              int step)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, var, strlen(var), &v));
    for (int k = 0; k < n_entities; k++) {
        char name[16];
        snprintf(name, sizeof name, "%s%d", prefix, k);
        CHECK_OK(ll_panel_builder_entity(b, name, strlen(name), &e));
        const ll_rng r = ll_rng_make(5, LL_STREAM_TEST, (uint64_t)k, 0, 0);
        for (uint64_t i = 0; i < ROWS; i += (uint64_t)step) {
            const float y = (float)(scale * (50 + 8 * cos(0.2617993878 * (double)i) +
                                             (double)ll_rng_normal(&r, i)));
            CHECK_OK(ll_panel_builder_row(b, e, (int64_t)i * HOUR, &y));
        }
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static int set_up(void **state)
{
    (void)state;
    const int f = mkstemp(file);
    if (f < 0) return 1;
    close(f);
    panel = make_panel(2, "s", "no2", 1, 1);
    llap_train_opts o = { 0 };
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.context = "2d";
    o.horizon = "6";
    return llap_train(panel, &o, &model) != LLAP_OK;
}

static int tear_down(void **state)
{
    (void)state;
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return unlink(file);
}

static void write_file(const char *text)
{
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void collect(void *user, llap_log_level level, const char *message)
{
    char *text = user;
    if (level == LLAP_LOG_WARNING)
        snprintf(text + strlen(text), 4096 - strlen(text), "%s\n", message);
}

static void a_backtest_forecasts_the_test_part(void **state)
{
    (void)state;
    llap_forecast_opts o = { 0 };
    llap_answer       *a, *one;
    o.every = "12h";
    CHECK_OK(llap_forecast(model, panel, &o, &a));
    assert_true(a->has_origin);
    const int64_t start = model->frame.test_start, last = (ROWS - 1) * HOUR;
    const size_t  each = (size_t)((last - start + 12 * HOUR - 1) / (12 * HOUR));
    assert_int_equal(a->n_rows, 2 * 6 * each);
    for (size_t i = 0; i < a->n_rows; i++) {
        assert_int_equal((a->rows.origin[i] - start) % (12 * HOUR), 0);
        assert_int_equal(a->rows.time[i], a->rows.origin[i] + (int64_t)(i % 6 + 1) * HOUR);
    }
    /* each is what a forecast from that time says */
    char at[64];
    snprintf(at, sizeof at, "1970-01-%02dT%02d:00:00Z", (int)(start / HOUR / 24) + 1,
             (int)(start / HOUR % 24));
    o.every = NULL;
    o.at = at;
    CHECK_OK(llap_forecast(model, panel, &o, &one));
    assert_false(one->has_origin);
    assert_memory_equal(one->number, a->number, 6 * (size_t)a->n_numbers * sizeof(double));
    llap_answer_destroy(a);
    llap_answer_destroy(one);
}

static void times_come_from_a_file(void **state)
{
    (void)state;
    llap_forecast_opts o = { 0 };
    llap_answer       *a;
    o.times = file;
    write_file("time\n1970-01-17T20:30:00Z\n1970-01-17T17:00:00Z\n1970-01-17T20:30:00Z\n");
    CHECK_OK(llap_forecast(model, panel, &o, &a)); /* the last row is at 15:00 of that day */
    assert_int_equal(a->n_rows, 4);
    assert_int_equal(a->rows.time[0], (16 * 24 + 17) * HOUR);
    assert_int_equal(a->rows.time[1], (16 * 24 + 20) * HOUR + HOUR / 2);
    llap_answer_destroy(a);
    write_file("entity,time\ns1,1970-01-17T17:00:00Z\n");
    CHECK_OK(llap_forecast(model, panel, &o, &a));
    assert_int_equal(a->n_rows, 1);
    assert_int_equal(a->rows.entity[0], 1);
    llap_answer_destroy(a);
    write_file("1970-01-17T17:00:00Z\n"); /* no header */
    CHECK_OK(llap_forecast(model, panel, &o, &a));
    assert_int_equal(a->n_rows, 2);
    llap_answer_destroy(a);
}

/* Several origins in one file: each is answered as if nothing were known after it. */
static void origins_come_from_a_file(void **state)
{
    (void)state;
    llap_forecast_opts o = { .times = file }, at = { .at = "1970-01-10T00:00:00Z" };
    llap_answer       *a, *b;
    write_file("origin,entity,time\n1970-01-12,s1,1970-01-12T02:00:00Z\n"
               "1970-01-10,s1,1970-01-10T03:00:00Z\n1970-01-10,s1,1970-01-10T01:00:00Z\n"
               "1970-01-10,s0,1970-01-10T01:00:00Z\n1970-01-10,s0,1970-01-10T01:00:00Z\n");
    CHECK_OK(llap_forecast(model, panel, &o, &a));
    CHECK_OK(llap_forecast(model, panel, &at, &b)); /* hours 1 to 6 of both */
    assert_true(a->n_rows == 4 && a->has_origin && llap_answer_view(a)->n_forecasts == 3);
    static const int hour[] = { 1, 1, 3 };
    for (int i = 0; i < 3; i++) {
        const size_t same = (size_t)(6 * (i > 0) + hour[i] - 1);
        assert_int_equal(a->rows.origin[i], 9 * 24 * HOUR);
        assert_int_equal(a->rows.time[i], b->rows.time[same]);
        assert_memory_equal(a->number + i * a->n_numbers, b->number + (int)same * b->n_numbers,
                            (size_t)a->n_numbers * sizeof(double));
    }
    assert_int_equal(a->rows.origin[3], 11 * 24 * HOUR);
    llap_answer_destroy(a);
    llap_answer_destroy(b);
    write_file("origin,time\n1970-01-10,1970-01-10T01:00:00Z\n1970-01-11,1970-01-11T01:00:00Z\n");
    CHECK_OK(llap_forecast(model, panel, &o, &a)); /* of every entity */
    assert_true(a->n_rows == 4 && a->rows.entity[1] == 0 && a->rows.entity[2] == 1);
    llap_answer_destroy(a);
    o.at = "1970-01-12T00:00:00Z";
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EOPTION,
               "at: the file of times has origins of its own");
    llap_impute_opts fill = { .times = file };
    CHECK_FAIL(llap_impute(model, panel, &fill, &a), LLAP_EINVAL, "column 'origin': of forecasts");
    o.at = NULL;
    write_file("origin,time\n1970-01-10,1970-01-11\n1970-01-10,1970-01-10\n");
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EINVAL,
               ":3: the time does not come after its origin");
    write_file("origin,time\nnoon,1970-01-11\n");
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EFORMAT, ":2: column 'origin': ");
    write_file("origin,time,entity\n1969-01-10,1970-01-11,s1\n");
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EINVAL,
               ":2: entity 's1' has no row up to this origin");
    write_file("origin,time\n1969-01-10,1970-01-11\n");
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EINVAL,
               "no entity has a row up to its origins");
    write_file("time\n1970-01-18\n1970-01-10\n");
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EINVAL,
               ":3: entity 's0': the time is not after");
}

/* Between two readings the answer lies near them, at one it is the reading; the panel is as if it
 * had empty rows there. */
static void gaps_at_times_of_a_file(void **state)
{
    (void)state;
    llap_impute_opts o = { 0 };
    llap_answer     *a;
    llap_panel      *more;
    ll_query_times   t;
    uint8_t         *asked;
    o.times = file;
    write_file("time,entity\n1970-01-05T01:30:00Z,s1\n1970-01-05T02:00:00Z,s1\n"
               "1970-01-05T01:30:00Z,s1\n1960-01-01T00:00:00Z,s1\n1970-01-03T00:30:00Z,s0\n");
    CHECK_OK(llap_impute(model, panel, &o, &a));
    assert_int_equal(a->n_rows, 4);
    static const int64_t time[] = { 97, -175344, 195, 196 }; /* half hours */
    for (int i = 0; i < 4; i++) {
        const double *x = a->number + i * a->n_numbers;
        assert_int_equal(a->rows.entity[i], i > 0);
        assert_int_equal(a->rows.time[i], time[i] * (HOUR / 2));
        assert_int_equal(a->rows.observed[i], i == 3);
        if (i == 3) assert_true(x[0] == (double)panel->value[panel->start[1] + 98]);
        if (i == 3) assert_true(x[1] == x[0] && x[a->n_numbers - 1] == x[0]);
        else assert_true(x[1] < x[0] && x[0] < x[a->n_numbers - 1]);
    }
    /* narrower than where nothing is near */
    assert_true(a->number[7] - a->number[1] < a->number[15] - a->number[9]);
    llap_answer_destroy(a);
    CHECK_OK(ll_query_times_read(panel, file, &t));
    CHECK_OK(ll_query_times_rows(panel, &t, &more, &asked));
    CHECK_OK(ll_panel_check(more));
    assert_int_equal(more->n_rows, panel->n_rows + 3);
    assert_int_equal(ll_panel_count_observed(more), ll_panel_count_observed(panel));
    llap_panel_destroy(more);
    ll_free(asked);
    ll_free(t.at);
    write_file("time\nnoon\n");
    CHECK_FAIL(llap_impute(model, panel, &o, &a), LLAP_EFORMAT, ":2:");
    assert_null(a);
}

static llap_status impute_at(void *user)
{
    llap_answer      *a;
    const llap_status st = llap_impute(model, panel, user, &a);
    if (st == LLAP_OK) llap_answer_destroy(a);
    return st;
}

static void gaps_survive_failed_allocations(void **state)
{
    (void)state;
    llap_impute_opts o = { 0 };
    o.times = file;
    o.keep_samples = 1;
    o.samples = 2;
    write_file("time,entity\n1970-01-05T01:30:00Z,s1\n1970-01-05T02:00:00Z,s1\n");
    check_every_failed_allocation(impute_at, &o);
}

static void same_answers(const llap_answer *a, const llap_answer *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    const size_t n = (size_t)a->n_rows;
    assert_memory_equal(a->rows.entity, b->rows.entity, n * sizeof *a->rows.entity);
    assert_memory_equal(a->rows.time, b->rows.time, n * sizeof *a->rows.time);
    assert_memory_equal(a->rows.origin, b->rows.origin, n * sizeof *a->rows.origin);
    assert_memory_equal(a->number, b->number, n * (size_t)a->n_numbers * sizeof *a->number);
}

/* Numbers say what the file says: of all, of one, from several origins, and of gaps. */
static void times_come_as_numbers(void **state)
{
    (void)state;
    static const int64_t time[] = { 16 * 24 * HOUR + 41 * HOUR / 2, (16 * 24 + 17) * HOUR },
                         past[] = { 9 * 24 * HOUR + HOUR, 11 * 24 * HOUR + 2 * HOUR },
                         origin[] = { 9 * 24 * HOUR, 11 * 24 * HOUR };
    static const char *const who[] = { NULL, "s1" };
    const llap_query_times   all = { .n = 2, .time = time },
                           some = { .n = 2, .time = time, .entity = who },
                           late = { .n = 2, .time = past, .entity = who, .origin = origin },
                           gaps = { .n = 2, .time = past, .entity = who };
    const struct {
        const llap_query_times *query;
        const char             *text;
        bool                    fill;
    } same[] = {
        { &all, "time\n1970-01-17T20:30:00Z\n1970-01-17T17:00:00Z\n", false },
        { &some,
          "time,entity\n1970-01-17T20:30:00Z,s0\n1970-01-17T20:30:00Z,s1\n"
          "1970-01-17T17:00:00Z,s1\n",
          false },
        { &late,
          "origin,time,entity\n1970-01-10,1970-01-10T01:00:00Z,s0\n"
          "1970-01-10,1970-01-10T01:00:00Z,s1\n1970-01-12,1970-01-12T02:00:00Z,s1\n",
          false },
        { &gaps,
          "time,entity\n1970-01-10T01:00:00Z,s0\n1970-01-10T01:00:00Z,s1\n"
          "1970-01-12T02:00:00Z,s1\n",
          true },
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        llap_forecast_opts ask[2] = { { .times = file }, { .query = same[i].query } };
        llap_impute_opts   fill[2] = { { .times = file }, { .query = same[i].query } };
        llap_answer       *a[2];
        write_file(same[i].text);
        for (int k = 0; k < 2; k++)
            CHECK_OK(same[i].fill ? llap_impute(model, panel, &fill[k], &a[k])
                                  : llap_forecast(model, panel, &ask[k], &a[k]));
        same_answers(a[0], a[1]);
        llap_answer_destroy(a[0]);
        llap_answer_destroy(a[1]);
    }
}

static void wrong_numbers_are_refused(void **state)
{
    (void)state;
    static const int64_t     time[] = { (16 * 24 + 17) * HOUR, 5 * HOUR };
    static const char *const who[] = { "s0", "nobody" };
    llap_query_times         q = { .n = 2, .time = time };
    llap_forecast_opts       o = { .query = &q };
    llap_impute_opts         fill = { .query = &q };
    llap_answer             *a;
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EINVAL,
               "query: number 1: entity 's0': the time is not after its last row");
    q.entity = who;
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EINVAL,
               "query: number 1: the data has no entity 'nobody'");
    q.entity = NULL;
    q.origin = time;
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EINVAL,
               "query: number 0: the time does not come after its origin");
    q.origin = (const int64_t[]){ 0, 0 };
    CHECK_FAIL(llap_impute(model, panel, &fill, &a), LLAP_EINVAL, "query: 'origin': of forecasts");
    o.at = "1970-01-12";
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EOPTION, "at: `query` has origins");
    o.at = NULL;
    o.times = fill.times = file;
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EOPTION, "query: cannot be combined");
    CHECK_FAIL(llap_impute(model, panel, &fill, &a), LLAP_EOPTION, "query: cannot be combined");
    o.times = NULL;
    o.horizon = "2h";
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EOPTION, "query: cannot be combined");
    o.horizon = NULL;
    q.n = 0;
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EOPTION, "query: expected at least one");
}

static llap_status forecast_at(void *user)
{
    llap_answer      *a;
    const llap_status st = llap_forecast(model, panel, user, &a);
    if (st == LLAP_OK) llap_answer_destroy(a);
    return st;
}

static void numbers_survive_failed_allocations(void **state)
{
    (void)state;
    const int64_t          time = (16 * 24 + 17) * HOUR;
    const llap_query_times q = { .n = 1, .time = &time };
    llap_forecast_opts     o = { .query = &q };
    check_every_failed_allocation(forecast_at, &o);
}

/* Who is asked nothing has no total either. */
static void totals_of_those_that_are_asked(void **state)
{
    (void)state;
    llap_forecast_opts o = { 0 };
    llap_answer       *a;
    o.times = file;
    o.total = 1;
    write_file("time,entity\n1970-01-17T17:00:00Z,s1\n1970-01-17T18:00:00Z,s1\n");
    CHECK_OK(llap_forecast(model, panel, &o, &a));
    assert_int_equal(a->n_rows, 1);
    assert_int_equal(a->rows.entity[0], 1);
    assert_int_equal(a->rows.time[0], (16 * 24 + 18) * HOUR);
    llap_answer_destroy(a);
}

static void far_times_are_warned_about(void **state)
{
    (void)state;
    static char    text[4096];
    const llap_log log = { LLAP_LOG_WARNING, collect, text };
    for (int i = 0; i < 4; i++) {
        llap_forecast_opts o = { 0 };
        llap_answer       *a;
        *text = '\0';
        o.log = &log;
        if (i < 2) o.horizon = i == 0 ? "6h" : "9h";
        else o.times = file;
        write_file(i == 2 ? "time\n1970-01-17T21:00:00Z\n"
                          : "time\n1970-01-17T17:00:00Z\n1970-01-18T00:00:00Z\n");
        CHECK_OK(llap_forecast(model, panel, &o, &a));
        llap_answer_destroy(a);
        assert_true((strstr(text, "the horizon is 1.5 times that of training") != NULL) ==
                    (i % 2 != 0));
    }
}

static void wrong_questions_are_refused(void **state)
{
    (void)state;
    llap_forecast_opts o = { 0 };
    llap_answer       *a;
    o.times = file;
    write_file("time\n1970-01-17T14:00:00Z\n");
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EINVAL, "is not after its last row");
    write_file("entity,time\nx,1970-01-17T17:00:00Z\n");
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EINVAL, ":2: the data has no entity 'x'");
    write_file("a,b\n1,2\n");
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EFORMAT, "a column 'time'");
    write_file("");
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EFORMAT, "no time in it");
    o.every = "1h";
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EOPTION, "cannot be combined");
    o.times = NULL;
    o.at = "1999-01-01";
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EINVAL, "every: no entity");
    o.every = "1ns";
    o.at = NULL;
    CHECK_FAIL(llap_forecast(model, panel, &o, &a), LLAP_EOPTION, "every: more than");
}

static char *warnings(const llap_panel *p, const char *at)
{
    static char        text[4096];
    const llap_log     log = { LLAP_LOG_WARNING, collect, text };
    llap_forecast_opts o = { 0 };
    llap_answer       *a;
    text[0] = '\0';
    o.log = &log;
    o.at = at;
    CHECK_OK(llap_forecast(model, p, &o, &a));
    llap_answer_destroy(a);
    return text;
}

static void other_data_is_noticed(void **state)
{
    (void)state;
    assert_string_equal(warnings(panel, NULL), "");
    llap_panel *p = make_panel(2, "s", "no2", 1000, 1);
    assert_non_null(strstr(warnings(p, NULL), "no2: its values lie"));
    llap_panel_destroy(p);
    p = make_panel(2, "s", "no2", 1, 3);
    assert_non_null(strstr(warnings(p, NULL), "usually 3h apart, in training they were 1h"));
    llap_panel_destroy(p);
    p = make_panel(2, "t", "no2", 1, 1);
    assert_non_null(strstr(warnings(p, NULL), "has not seen 2 of 2 entities ('t0', ...)"));
    llap_panel_destroy(p);
    assert_non_null(strstr(warnings(panel, "1971-01-01"), "nothing observed in the 2d before"));
    llap_answer       *a;
    llap_forecast_opts o = { 0 };
    p = make_panel(2, "s", "NO2", 1, 1);
    CHECK_FAIL(llap_forecast(model, p, &o, &a), LLAP_EINVAL, "'no2', which the data does not have");
    CHECK_FAIL(llap_forecast(model, p, &o, &a), LLAP_EINVAL, "its columns are 'NO2'");
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backtest_forecasts_the_test_part),
        cmocka_unit_test(times_come_from_a_file),
        cmocka_unit_test(origins_come_from_a_file),
        cmocka_unit_test(gaps_at_times_of_a_file),
        cmocka_unit_test(times_come_as_numbers),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(numbers_survive_failed_allocations),
        cmocka_unit_test(gaps_survive_failed_allocations),
        cmocka_unit_test(totals_of_those_that_are_asked),
        cmocka_unit_test(far_times_are_warned_about),
        cmocka_unit_test(wrong_questions_are_refused),
        cmocka_unit_test(other_data_is_noticed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
