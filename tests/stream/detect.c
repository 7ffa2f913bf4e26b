/* Faults that are put in are found and named, alarms are as frequent as wanted where there are
 * none, and a stream says of every row what the batch says of it. */
#include "base/file.h"
#include "folder.h"
#include "sensors.h"
#include "stream/watching.h"

#include <llapdiff/llapdiff.h>

#include <omp.h>
#include <string.h>

enum { LONG_ROWS = 5000, TEST_FROM = 4000 };

static llap_panel *panel;
static llap_model *model;

static int set_up(void **state)
{
    if (make_folder(state) != 0) return 1;
    omp_set_num_threads(1); /* calls are many and small */
    panel = make_rows_on(&LL_AXIS_UTC, "no2", "wind", ENTITIES, LONG_ROWS);
    model = train_anchor(panel);
    return 0;
}

static int tear_down(void **state)
{
    llap_model_destroy(model);
    llap_panel_destroy(panel);
    return remove_folder(state);
}

/* ---- what is usual ---- */

static void the_surprise_of_a_value_is_its_share_of_the_sample(void **state)
{
    (void)state;
    enum { N = 4000 };
    static double x[N], copy[N];
    const ll_rng  rng = ll_rng_make(1, LL_STREAM_TEST, 0, 0, 0);
    ll_tail       t;
    for (uint64_t i = 0; i < N; i++) x[i] = copy[i] = fabs((double)ll_rng_normal(&rng, i));
    ll_tail_fit(&t, copy, N, 0.05);
    for (int k = 1; k < 30; k++) {
        const double v = 0.1 * k;
        double       as_large = 1;
        for (int i = 0; i < N; i++) as_large += x[i] >= v;
        assert_true(fabs(ll_tail_surprise(&t, v) - log((N + 1) / as_large)) < 0.25);
        assert_true(ll_tail_surprise(&t, v) >= ll_tail_surprise(&t, v - 0.1));
        assert_true(fabs(ll_tail_surprise(&t, ll_tail_value(&t, 3.0)) - 3.0) < 1e-6);
    }
    /* Beyond all that was seen it goes on growing. */
    assert_true(ll_tail_surprise(&t, 8) > ll_tail_surprise(&t, 6));
    assert_true(ll_tail_surprise(&t, 6) > log(N));
    assert_true(ll_tail_surprise(&t, NAN) == 0);
}

static void what_was_always_the_same_surprises_when_it_changes(void **state)
{
    (void)state;
    double  ones[1000];
    ll_tail t;
    for (int i = 0; i < 1000; i++) ones[i] = 1;
    ll_tail_fit(&t, ones, 1000, 0.25);
    assert_true(ll_tail_surprise(&t, 1) < 0.01);
    assert_true(ll_tail_surprise(&t, 2) >= log(1000));
}

static void readings_at_a_bound_lie_in_the_middle_of_what_lies_there(void **state)
{
    (void)state;
    ll_anchor_model *a = model->anchor[0];
    const ll_law     law = { .mean = 0, .sd = 1, .series = 0 };
    const double     y = ll_anchor_quantile(a, 0, &law, -1.0);
    const double     least = a->chain->y_min;
    assert_true(fabs(ll_reading_score(a, &law, y) + 1.0) < 1e-9);
    a->chain->y_min = y; /* 15.87 % of the law lie at or below it */
    const double middle = ll_reading_score(a, &law, y);
    assert_true(fabs(0.5 * erfc(-middle / sqrt(2.0)) - 0.5 * 0.15865525393) < 1e-9);
    a->chain->y_min = least;
    assert_true(isnan(ll_reading_score(a, &law, NAN)));
    assert_true(ll_reading_score(a, &law, 1e30) <= 60);
}

/* ---- faults ---- */

/* A copy of the panel whose rows may be changed before it is made. */
typedef struct made {
    int64_t *time;
    float   *value;
    char    *keep;
} made;

static made copy_rows(void)
{
    const size_t R = (size_t)panel->n_rows;
    made         m = { ll_new(R, sizeof(int64_t)), ll_new(R, 2 * sizeof(float)), ll_new(R, 1) };
    memcpy(m.time, panel->time, R * sizeof *m.time);
    memcpy(m.value, panel->value, R * 2 * sizeof *m.value);
    memset(m.keep, 1, R);
    return m;
}

static llap_panel *finish(made *m)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          id;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "no2", 3, &id));
    CHECK_OK(ll_panel_builder_var(b, "wind", 4, &id));
    for (int64_t e = 0; e < panel->n_entities; e++) {
        CHECK_OK(ll_panel_builder_entity(b, panel->entity[e], strlen(panel->entity[e]), &id));
        for (int64_t r = panel->start[e]; r < panel->start[e + 1]; r++)
            if (m->keep[r]) CHECK_OK(ll_panel_builder_row(b, id, m->time[r], m->value + 2 * r));
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    ll_free(m->time);
    ll_free(m->value);
    ll_free(m->keep);
    return p;
}

/* Entity e has an alarm of that kind that begins within these hours. */
static bool has_alarm(const llap_detection *d, const char *e, llap_condition what, int64_t first,
                      int64_t last)
{
    int64_t           n;
    const llap_alarm *a = llap_detection_alarms(d, &n);
    for (int64_t i = 0; i < n; i++)
        if (strcmp(a[i].entity, e) == 0 && a[i].condition == what && a[i].time >= first * HOUR &&
            a[i].time <= last * HOUR)
            return true;
    return false;
}

static void faults_are_found_and_named(void **state)
{
    (void)state;
    made            m = copy_rows();
    llap_detection *d;
    const int64_t   s0 = panel->start[0], s1 = panel->start[1], s2 = panel->start[2];
    m.value[2 * (s0 + 4300)] = 130;                                    /* a spike */
    for (int k = 0; k < 30; k++) m.value[2 * (s0 + 4700 + k)] = 52.5f; /* stuck */
    for (int k = 0; k < 200; k++)                                      /* drifts away */
        m.value[2 * (s1 + 4400 + k)] += (float)fmin(40, 0.5 * k);
    for (int64_t k = 4500; k < 4600; k++) m.keep[s2 + k] = 0;      /* silent, then back, */
    for (int64_t k = 4900; k < LONG_ROWS; k++) m.keep[s2 + k] = 0; /* and dead */
    llap_panel *p = finish(&m);
    CHECK_OK(llap_detect(model, p, &(llap_detect_opts){ .from = "1970-06-16T16:00:00Z" }, &d));
    assert_int_equal(llap_detection_about(d)->from, TEST_FROM * HOUR);
    assert_true(has_alarm(d, "s0", LLAP_CONDITION_UNUSUAL, 4300, 4300));
    assert_true(has_alarm(d, "s0", LLAP_CONDITION_STUCK, 4700, 4704));
    assert_true(has_alarm(d, "s1", LLAP_CONDITION_DRIFTING, 4400, 4480));
    assert_true(has_alarm(d, "s2", LLAP_CONDITION_SILENT, 4600, 4603));
    assert_true(has_alarm(d, "s2", LLAP_CONDITION_SILENT, 4999, 4999));
    llap_detection_destroy(d);
    llap_panel_destroy(p);
}

/* Of s0 every 20th reading or so is there, of the others all. */
static void silence_is_measured_by_the_gaps_of_its_own_series(void **state)
{
    (void)state;
    made            m = copy_rows();
    llap_detection *d;
    const ll_rng    rng = ll_rng_make(1, LL_STREAM_TEST, 1, 0, 0);
    for (int64_t k = 0; k < LONG_ROWS; k++)
        if (ll_rng_uniform(&rng, (uint64_t)k) > 0.05 || (k >= 4200 && k < 4600))
            m.value[2 * (panel->start[0] + k)] = NAN;
    for (int64_t k = 4300; k < 4320; k++) m.value[2 * (panel->start[1] + k)] = NAN;
    llap_panel *p = finish(&m);
    CHECK_OK(llap_detect(model, p, &(llap_detect_opts){ .from = "1970-06-16T16:00:00Z" }, &d));
    assert_true(has_alarm(d, "s0", LLAP_CONDITION_SILENT, 4200, 4500));
    assert_true(has_alarm(d, "s1", LLAP_CONDITION_SILENT, 4300, 4319));
    llap_detection_destroy(d);
    llap_panel_destroy(p);
}

static void alarms_are_as_frequent_as_wanted_where_all_is_well(void **state)
{
    (void)state;
    const double rates[] = { 0.003, 0.01 };
    for (int k = 0; k < 2; k++) {
        llap_detection *d;
        CHECK_OK(llap_detect(
            model, panel, &(llap_detect_opts){ .rate = rates[k], .from = "1970-04-26T00:00:00Z" },
            &d));
        const llap_detection_info *i = llap_detection_about(d);
        /* 6600 rows: 20 and 66 alarms wanted, so that chance alone may be a fifth to a half. */
        assert_true(i->found > 0.5 * rates[k] && i->found < 1.6 * rates[k]);
        assert_true(i->wanted == rates[k] && i->judged > 6000 && i->learnt > 6000);
        llap_detection_destroy(d);
    }
}

/* ---- streams ---- */

static llap_panel *rows_between(int64_t first, int64_t end)
{
    made m = copy_rows();
    for (int64_t r = 0; r < panel->n_rows; r++)
        m.keep[r] = m.time[r] >= first * HOUR && m.time[r] < end * HOUR;
    return finish(&m);
}

static bool same_judgement(const llap_judgement *a, const llap_judgement *b)
{
    const double x[] = { a->value, a->expected, a->low,      a->high,
                         a->score, a->p,        a->surprise, a->margin };
    const double y[] = { b->value, b->expected, b->low,      b->high,
                         b->score, b->p,        b->surprise, b->margin };
    bool         same = a->time == b->time && a->condition == b->condition;
    for (int i = 0; i < 8; i++) same = same && (x[i] == y[i] || (isnan(x[i]) && isnan(y[i])));
    return same;
}

/* Takes the rows from first to end hour by hour, and compares what is said of each. */
static void check_rows(llap_stream *s, const llap_detection *d, int64_t first, int64_t end)
{
    for (int64_t t = first; t < end; t++)
        for (int64_t e = 0; e < panel->n_entities; e++) {
            const int64_t         r = panel->start[e] + t;
            int64_t               n;
            const llap_judgement *rows = llap_detection_rows(d, e, 0, &n);
            CHECK_OK(
                llap_stream_take(s, panel->entity[e], panel->time[r], panel->value + 2 * r, 2));
            const llap_judgement *j = llap_stream_judged(s, panel->entity[e], "no2");
            assert_non_null(j);
            if (!same_judgement(j, &rows[t - TEST_FROM]))
                fail_msg("row %lld of %s: the stream says otherwise", (long long)t,
                         panel->entity[e]);
        }
}

static llap_stream *learnt(const char *late)
{
    llap_stream *s;
    llap_panel  *history = rows_between(0, TEST_FROM);
    CHECK_OK(llap_stream_create(model, &(llap_stream_opts){ .like = history }, &s));
    CHECK_OK(llap_stream_learn(s, history, &(llap_detect_opts){ .late = late }));
    llap_panel_destroy(history);
    return s;
}

static void a_stream_says_what_the_batch_says_of_every_row(void **state)
{
    (void)state;
    llap_stream    *s = learnt(NULL), *again;
    llap_detection *d;
    int64_t         n, m;
    CHECK_OK(llap_detect(model, panel,
                         &(llap_detect_opts){ .from = "1970-06-16T16:00:00Z", .rows = 1 }, &d));
    check_rows(s, d, TEST_FROM, 4500);
    CHECK_OK(llap_stream_save(s, in_folder("half")));
    CHECK_OK(llap_stream_restore(model, in_folder("half"), &(llap_stream_opts){ 0 }, &again));
    check_rows(again, d, 4500, LONG_ROWS);
    check_rows(s, d, 4500, LONG_ROWS);
    /* And it raises the same alarms. */
    const llap_alarm *all = llap_detection_alarms(d, &n), *a = llap_stream_alarms(s, &m);
    int64_t           begun = 0;
    for (int64_t i = 0; i < m; i++) {
        char *text;
        begun += a[i].open;
        CHECK_OK(llap_stream_alarm_text(s, &a[i], 1, &text));
        assert_non_null(strstr(text, llap_condition_name(a[i].condition)));
        llap_text_free(text);
    }
    assert_int_equal(begun, n);
    assert_true(n == 0 || all != NULL);
    llap_stream_forget_alarms(s);
    assert_true(llap_stream_alarms(s, &m) == NULL || m == 0);
    llap_detection_destroy(d);
    llap_stream_destroy(s);
    llap_stream_destroy(again);
}

static void rows_that_are_waited_for_are_judged_in_their_place(void **state)
{
    (void)state;
    llap_stream *in_order = learnt("3h"), *late = learnt("3h");
    for (int64_t t = TEST_FROM; t < TEST_FROM + 60; t += 3)
        for (int64_t k = 0; k < 3; k++) {
            const int64_t a = panel->start[0] + t + k, b = panel->start[0] + t + 2 - k;
            CHECK_OK(llap_stream_take(in_order, "s0", panel->time[a], panel->value + 2 * a, 2));
            CHECK_OK(llap_stream_take(late, "s0", panel->time[b], panel->value + 2 * b, 2));
        }
    const llap_judgement *x = llap_stream_judged(in_order, "s0", "no2");
    const llap_judgement *y = llap_stream_judged(late, "s0", "no2");
    assert_int_equal(x->time, (TEST_FROM + 56) * HOUR);
    assert_true(same_judgement(x, y));
    /* At the end nothing waits any more. */
    CHECK_OK(llap_stream_settle(in_order));
    CHECK_OK(llap_stream_settle(late));
    x = llap_stream_judged(in_order, "s0", "no2");
    y = llap_stream_judged(late, "s0", "no2");
    assert_int_equal(x->time, (TEST_FROM + 59) * HOUR);
    assert_true(same_judgement(x, y));
    llap_stream_destroy(in_order);
    llap_stream_destroy(late);
}

static void rows_that_wait_are_not_silent(void **state)
{
    (void)state;
    llap_stream *s = learnt("40h");
    int64_t      n;
    for (int64_t t = TEST_FROM; t < TEST_FROM + 100; t++) {
        for (int64_t e = 0; e < panel->n_entities; e++) {
            const int64_t r = panel->start[e] + t;
            CHECK_OK(
                llap_stream_take(s, panel->entity[e], panel->time[r], panel->value + 2 * r, 2));
        }
        CHECK_OK(llap_stream_clock(s, t * HOUR));
    }
    const llap_alarm *a = llap_stream_alarms(s, &n);
    for (int64_t i = 0; i < n; i++) assert_true(a[i].condition != LLAP_CONDITION_SILENT);
    llap_stream_forget_alarms(s);
    CHECK_OK(llap_stream_settle(s));
    llap_stream_destroy(s);
}

static void who_is_not_heard_of_is_silent_by_the_clock(void **state)
{
    (void)state;
    llap_stream *s = learnt(NULL);
    int64_t      n;
    CHECK_OK(llap_stream_clock(s, (TEST_FROM + 3) * HOUR));
    (void)llap_stream_alarms(s, &n);
    assert_int_equal(n, 0);
    CHECK_OK(llap_stream_clock(s, (TEST_FROM + 40) * HOUR));
    CHECK_OK(llap_stream_clock(s, (TEST_FROM + 41) * HOUR));
    const llap_alarm *a = llap_stream_alarms(s, &n);
    assert_int_equal(n, ENTITIES); /* once each */
    for (int64_t i = 0; i < n; i++) assert_int_equal(a[i].condition, LLAP_CONDITION_SILENT);
    llap_stream_destroy(s);
}

static void without_a_history_laws_alone_judge(void **state)
{
    (void)state;
    llap_stream *s;
    int64_t      n;
    CHECK_OK(llap_stream_create(model, &(llap_stream_opts){ .like = panel }, &s));
    CHECK_OK(llap_stream_judge(s, &(llap_detect_opts){ 0 }));
    for (int64_t r = 0; r < 100; r++) {
        const float v[2] = { r == 99 ? 500 : panel->value[2 * r], 0 };
        CHECK_OK(llap_stream_take(s, "s0", r * HOUR, v, 2));
    }
    const llap_alarm *a = llap_stream_alarms(s, &n);
    assert_true(n > 0 && a[n - 1].condition == LLAP_CONDITION_UNUSUAL &&
                a[n - 1].time == 99 * HOUR);
    CHECK_FAIL(llap_stream_judge(s, &(llap_detect_opts){ 0 }), LLAP_EINVAL, "already");
    llap_stream_destroy(s);
}

/* ---- lines ---- */

static llap_status line(llap_stream_lines *l, const char *text)
{
    return llap_stream_line(l, text, strlen(text));
}

static void rows_come_as_lines(void **state)
{
    (void)state;
    llap_stream       *s;
    llap_stream_lines *l;
    llap_panel        *p;
    CHECK_OK(llap_stream_create(model, &(llap_stream_opts){ .like = panel }, &s));
    CHECK_OK(llap_stream_lines_create(s, &(llap_read_opts){ 0 }, &l));
    CHECK_OK(line(l, "\xef\xbb\xbf"
                     "entity;time;no2;other\r\n"));
    CHECK_OK(line(l, "\n"));
    CHECK_OK(line(l, "\"a \"\"b\"\"\";1970-01-01T01:00:00Z; 4.5 ;x\r\n"));
    CHECK_OK(line(l, "entity;time;no2;other\r\n"));
    CHECK_OK(line(l, "\"a \"\"b\"\"\";1970-01-01T02:00:00Z;NA;"));
    CHECK_FAIL(line(l, "a;1970-01-01T02:00:00Z;x;"), LLAP_EFORMAT,
               "line 6: column 'no2': expected");
    CHECK_FAIL(line(l, "a;yesterday;1;"), LLAP_EFORMAT, "line 7: column 'time'");
    CHECK_FAIL(line(l, "a;1970-01-01T02:00:00Z;1"), LLAP_EFORMAT, "expected 4 fields, found 3");
    CHECK_FAIL(line(l, "\"a;1970-01-01T02:00:00Z;1;"), LLAP_EFORMAT, "quote");
    CHECK_OK(llap_stream_panel(s, NULL, &p));
    assert_int_equal(p->n_rows, 2);
    assert_string_equal(p->entity[0], "a \"b\"");
    assert_true(p->value[0] == 4.5f && isnan(p->value[1]) && isnan(p->value[2]));
    llap_stream_lines_destroy(l);
    CHECK_OK(llap_stream_lines_create(s, &(llap_read_opts){ .entity = "where" }, &l));
    CHECK_FAIL(line(l, "a,b"), LLAP_EFORMAT, "'time' for the time");
    CHECK_FAIL(line(l, "time,no2"), LLAP_EFORMAT, "'where'");
    CHECK_FAIL(line(l, "time,where,wind"), LLAP_EFORMAT, "'no2'");
    llap_stream_lines_destroy(l);
    llap_panel_destroy(p);
    llap_stream_destroy(s);
}

/* ---- mistakes, texts, memory ---- */

static void mistakes_are_named(void **state)
{
    (void)state;
    llap_detection *d;
    CHECK_FAIL(llap_detect(model, panel, &(llap_detect_opts){ .rate = 2 }, &d), LLAP_EOPTION,
               "rate");
    CHECK_FAIL(llap_detect(model, panel, &(llap_detect_opts){ .from = "1960-01-01" }, &d),
               LLAP_EINVAL, "nothing to learn");
    CHECK_FAIL(llap_detect(model, panel, &(llap_detect_opts){ .from = "2060-01-01" }, &d),
               LLAP_EINVAL, "no row at or after");
    CHECK_FAIL(llap_detect(model, panel, &(llap_detect_opts){ .only = "x" }, &d), LLAP_EINVAL,
               "'x'");
    CHECK_OK(llap_detect(model, panel, &(llap_detect_opts){ .only = "s1" }, &d));
    char    *text, *json;
    int64_t  n;
    ll_json *j;
    CHECK_OK(llap_detection_text(d, &text));
    CHECK_OK(llap_detection_json(d, &json));
    CHECK_OK(ll_json_parse(json, strlen(json), "alarms", NULL, &j));
    assert_int_equal(ll_json_length(j, "alarms"), llap_detection_about(d)->alarms);
    assert_non_null(strstr(text, "alarms in"));
    assert_null(llap_detection_rows(d, 0, 0, &n));
    ll_json_destroy(j);
    llap_text_free(text);
    llap_text_free(json);
    llap_detection_destroy(d);
}

static llap_panel *few;

static llap_status everything(void *user)
{
    llap_stream       *s = NULL, *again = NULL;
    llap_detection    *d = NULL;
    llap_stream_lines *l = NULL;
    char              *text = NULL;
    (void)user;
    llap_status st = llap_detect(
        model, few, &(llap_detect_opts){ .rate = 0.1, .from = "1970-01-01T18:00:00Z" }, &d);
    if (st == LLAP_OK) st = llap_detection_text(d, &text);
    llap_text_free(text);
    if (st == LLAP_OK) st = llap_detection_json(d, &text);
    if (st == LLAP_OK) llap_text_free(text);
    if (st == LLAP_OK) st = llap_stream_create(model, &(llap_stream_opts){ .like = few }, &s);
    if (st == LLAP_OK) st = llap_stream_learn(s, few, &(llap_detect_opts){ .rate = 0.1 });
    if (st == LLAP_OK) st = llap_stream_lines_create(s, &(llap_read_opts){ 0 }, &l);
    if (st == LLAP_OK) st = line(l, "entity,time,no2,wind");
    if (st == LLAP_OK) st = line(l, "s0,1970-01-20T00:00:00Z,400,1");
    if (st == LLAP_OK) st = llap_stream_clock(s, 480 * HOUR);
    if (st == LLAP_OK) st = llap_stream_settle(s);
    if (st == LLAP_OK) st = llap_stream_save(s, in_folder("failing"));
    if (st == LLAP_OK)
        st = llap_stream_restore(model, in_folder("failing"), &(llap_stream_opts){ 0 }, &again);
    llap_stream_lines_destroy(l);
    llap_detection_destroy(d);
    llap_stream_destroy(s);
    llap_stream_destroy(again);
    return st;
}

static void a_failed_allocation_leaks_nothing(void **state)
{
    (void)state;
    few = make_rows_on(&LL_AXIS_UTC, "no2", "wind", 1, 24);
    check_every_failed_allocation(everything, NULL);
    llap_panel_destroy(few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_surprise_of_a_value_is_its_share_of_the_sample),
        cmocka_unit_test(what_was_always_the_same_surprises_when_it_changes),
        cmocka_unit_test(readings_at_a_bound_lie_in_the_middle_of_what_lies_there),
        cmocka_unit_test(faults_are_found_and_named),
        cmocka_unit_test(silence_is_measured_by_the_gaps_of_its_own_series),
        cmocka_unit_test(alarms_are_as_frequent_as_wanted_where_all_is_well),
        cmocka_unit_test(a_stream_says_what_the_batch_says_of_every_row),
        cmocka_unit_test(rows_that_are_waited_for_are_judged_in_their_place),
        cmocka_unit_test(rows_that_wait_are_not_silent),
        cmocka_unit_test(who_is_not_heard_of_is_silent_by_the_clock),
        cmocka_unit_test(without_a_history_laws_alone_judge),
        cmocka_unit_test(rows_come_as_lines),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(a_failed_allocation_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
