/* What goes into a store comes out again, of both databases. */
#include "store/each.h"

#include <float.h>
#include <pthread.h>

static const char *const two[] = { "pulse", "spo2" };

static ll_store *open_store(void)
{
    ll_store *s = NULL;
    clear_store();
    CHECK_OK(ll_store_open(store_url(), NULL, &s));
    return s;
}

static int64_t put(ll_store *s, const char *stream, const char *key, const char *entity,
                   int64_t time, double a, double b)
{
    const ll_store_row      row = { entity, time, (double[]){ a, b } };
    const ll_store_readings r = { stream, key, two, 2, &row, 1 };
    ll_store_receipt        got;
    CHECK_OK(ll_store_append(s, &r, &got));
    return got.repeated ? -got.number : got.number;
}

/* "number entity time name=value ..." of each row */
static llap_status print(void *user, const ll_store_found *f)
{
    char *to = (char *)user + strlen(user);
    to += sprintf(to, "%lld %s %lld", (long long)f->number, f->entity, (long long)f->time);
    for (int64_t v = 0; v < f->n; v++) to += sprintf(to, " %s=%.17g", f->variable[v], f->value[v]);
    strcpy(to, "\n");
    return LLAP_OK;
}

static void rows_come_back(void **state)
{
    (void)state;
    char      text[4096] = "";
    ll_store *s = open_store();
    assert_int_equal(put(s, "ward", "a", "bed 4", 100, 71, NAN), 1);
    assert_int_equal(put(s, "ward", "b", "bed 5", 90, 0.1, DBL_MAX), 2);
    assert_int_equal(put(s, "ward", NULL, "", INT64_MAX - 1, -0.0, DBL_TRUE_MIN), 3);
    assert_int_equal(put(s, "ward", "d", "Zürich ☃", INT64_MIN, NAN, NAN), 4);
    assert_int_equal(put(s, "other", "a", "bed 4", 100, 1, 2), 1);
    CHECK_OK(
        ll_store_read(s, &(ll_store_range){ "ward", NULL, INT64_MIN, INT64_MAX, 0 }, print, text));
    assert_string_equal(text, "4 Zürich ☃ -9223372036854775808\n"
                              "2 bed 5 90 pulse=0.10000000000000001 spo2=1.7976931348623157e+308\n"
                              "1 bed 4 100 pulse=71\n"
                              "3  9223372036854775806 pulse=0 spo2=4.9406564584124654e-324\n");
    *text = '\0';
    CHECK_OK(ll_store_read(s, &(ll_store_range){ "ward", "bed 4", 0, 101, 0 }, print, text));
    assert_string_equal(text, "1 bed 4 100 pulse=71\n");
    *text = '\0';
    CHECK_OK(ll_store_read(s, &(ll_store_range){ "ward", "bed 4", 0, 100, 0 }, print, text));
    CHECK_OK(ll_store_read(s, &(ll_store_range){ "nobody", NULL, 0, 100, 0 }, print, text));
    assert_string_equal(text, "");
    CHECK_OK(ll_store_replay(s, "ward", 2, print, text));
    assert_string_equal(text, "3  9223372036854775806 pulse=0 spo2=4.9406564584124654e-324\n"
                              "4 Zürich ☃ -9223372036854775808\n");
    ll_store_close(s);
}

/* Rows of one append keep their order and their names; those of one time too. */
static void many_rows_at_once(void **state)
{
    (void)state;
    enum { ROWS = 700, NAMES = 40 };
    static char         name[NAMES][8];
    static const char  *names[NAMES];
    static double       value[ROWS][NAMES];
    static ll_store_row row[ROWS];
    static char         text[1 << 20], wanted[1 << 20];
    char               *to = wanted;
    *text = 0;
    ll_store *s = open_store();
    for (int v = 0; v < NAMES; v++) {
        sprintf(name[v], "v%d", NAMES - v);
        names[v] = name[v];
    }
    for (int i = 0; i < ROWS; i++) {
        row[i] = (ll_store_row){ i % 2 ? "x" : "y", 5, value[i] };
        to += sprintf(to, "1 %s 5", row[i].entity);
        for (int v = 0; v < NAMES; v++) {
            value[i][v] = (i + v) % 3 == 0 ? (double)NAN : i + v / 8.0;
            if ((i + v) % 3 != 0) to += sprintf(to, " %s=%.17g", name[v], value[i][v]);
        }
        to += sprintf(to, "\n");
    }
    const ll_store_readings r = { "s", "k", names, NAMES, row, ROWS };
    CHECK_OK(ll_store_append(s, &r, NULL));
    CHECK_OK(ll_store_read(s, &(ll_store_range){ "s", NULL, 5, 6, 0 }, print, text));
    assert_string_equal(text, wanted);
    ll_store_close(s);
}

static void a_key_counts_once(void **state)
{
    (void)state;
    char      text[4096] = "";
    ll_store *s = open_store();
    assert_int_equal(put(s, "ward", "a", "bed", 1, 71, NAN), 1);
    assert_int_equal(put(s, "ward", "b", "bed", 2, 72, NAN), 2);
    assert_int_equal(put(s, "ward", "a", "bed", 1, 71, NAN), -1);
    assert_int_equal(put(s, "ward", NULL, "bed", 3, 73, 1), 3);
    assert_int_equal(put(s, "ward", NULL, "bed", 3, 73, 1), 4);
    const ll_store_row      row = { "bed", 1, (double[]){ 71, 99 } };
    const ll_store_readings other = { "ward", "a", two, 2, &row, 1 };
    CHECK_FAIL(ll_store_append(s, &other, NULL), LLAP_EINVAL,
               "stream 'ward': key 'a' came before with other readings");
    ll_store_close(s);
    CHECK_OK(ll_store_open(store_url(), NULL, &s));
    assert_int_equal(put(s, "ward", "b", "bed", 2, 72, NAN), -2);
    CHECK_OK(ll_store_replay(s, "ward", 0, print, text));
    assert_string_equal(text, "1 bed 1 pulse=71\n2 bed 2 pulse=72\n3 bed 3 pulse=73 spo2=1\n"
                              "4 bed 3 pulse=73 spo2=1\n");
    ll_store_counts c;
    ll_store_count(s, &c);
    assert_int_equal(c.repeated, 1);
    assert_int_equal(c.appends, 0);
    ll_store_close(s);
}

static void states_are_kept(void **state)
{
    (void)state;
    enum { LARGE = 3 << 20 };
    char     *large = malloc(LARGE);
    int64_t   after = 7;
    void     *bytes;
    size_t    n;
    ll_store *s = open_store();
    for (int i = 0; i < LARGE; i++) large[i] = (char)(i * 31 >> 3);
    CHECK_FAIL(ll_store_get_state(s, "ward", &after, &bytes, &n), LLAP_ENOTFOUND,
               "stream 'ward' has no state");
    CHECK_FAIL(ll_store_put_state(s, "ward", 1, "x", 1), LLAP_EINVAL,
               "its last append is number 0, found a state after 1");
    assert_int_equal(put(s, "ward", "a", "bed", 1, 71, NAN), 1);
    CHECK_OK(ll_store_put_state(s, "ward", 0, "", 0));
    CHECK_OK(ll_store_get_state(s, "ward", &after, &bytes, &n));
    assert_int_equal(n, 0);
    ll_free(bytes);
    CHECK_OK(ll_store_put_state(s, "ward", 1, large, LARGE));
    CHECK_OK(ll_store_get_state(s, "ward", &after, &bytes, &n));
    assert_int_equal(n, LARGE);
    assert_int_equal(after, 1);
    assert_memory_equal(bytes, large, LARGE);
    ll_free(bytes);
    free(large);
    ll_store_close(s);
}

static llap_status print_stream(void *user, const ll_store_stream *x)
{
    char *to = (char *)user + strlen(user);
    sprintf(to, "%s %lld %lld;", x->name, (long long)x->number, (long long)x->state_after);
    return LLAP_OK;
}

static void streams_are_listed(void **state)
{
    (void)state;
    char      text[256] = "";
    ll_store *s = open_store();
    CHECK_OK(ll_store_list(s, print_stream, text));
    assert_string_equal(text, "");
    (void)put(s, "b", NULL, "", 1, 1, 1);
    (void)put(s, "b", NULL, "", 1, 1, 1);
    CHECK_OK(ll_store_put_state(s, "a", 0, "x", 1));
    CHECK_OK(ll_store_put_state(s, "b", 1, "x", 1));
    CHECK_OK(ll_store_list(s, print_stream, text));
    assert_string_equal(text, "b 2 1;a 0 0;");
    CHECK_OK(ll_store_check(s));
    ll_store_close(s);
}

static void retention_deletes_what_is_old(void **state)
{
    (void)state;
    char      text[4096] = "";
    int64_t   removed = -1;
    ll_store *s = open_store();
    for (int i = 1; i <= 20; i++) (void)put(s, "w", NULL, "e", 10 * i, i, i % 2 ? (double)NAN : i);
    (void)put(s, "other", NULL, "e", 1, 1, 1);
    /* without a state all of it is needed */
    CHECK_OK(ll_store_retain(s, "w", 50, INT64_MAX, &removed));
    assert_int_equal(removed, 0);
    CHECK_OK(ll_store_put_state(s, "w", 12, "x", 1));
    CHECK_OK(ll_store_retain(s, "w", 150, INT64_MAX, &removed));
    assert_int_equal(removed, 6); /* rows of times 10 .. 40 */
    CHECK_OK(ll_store_retain(s, "w", 50, INT64_MAX, &removed));
    assert_int_equal(removed, 12); /* .. 120, and not 130, 140 */
    CHECK_OK(ll_store_read(s, &(ll_store_range){ "w", NULL, INT64_MIN, 150, 0 }, print, text));
    assert_string_equal(text, "13 e 130 pulse=13\n14 e 140 pulse=14 spo2=14\n");
    /* a clock that is ahead deletes nothing */
    (void)put(s, "w", NULL, "e", INT64_MAX, 1, 1);
    CHECK_OK(ll_store_put_state(s, "w", 21, "x", 1));
    CHECK_OK(ll_store_retain(s, "w", 80, 205, &removed));
    assert_int_equal(removed, 0);
    CHECK_OK(ll_store_retain(s, "w", INT64_MAX, INT64_MIN, &removed));
    assert_int_equal(removed, 0);
    CHECK_OK(ll_store_retain(s, "nobody", 80, 205, &removed));
    assert_int_equal(removed, 0);
    CHECK_FAIL(ll_store_retain(s, "w", 0, 1, NULL), LLAP_EINVAL, "keep: expected a duration");
    ll_store_close(s);
}

static void keys_are_forgotten_with_their_readings(void **state)
{
    (void)state;
    ll_store *s = open_store();
    for (int i = 1; i <= 3; i++)
        (void)put(s, "w", (const char *const[]){ "a", "b", "c" }[i - 1], "e", 10 * i, i, i);
    CHECK_OK(ll_store_put_state(s, "w", 3, "x", 1));
    CHECK_OK(ll_store_retain(s, "w", 5, INT64_MAX, NULL));
    assert_int_equal(put(s, "w", "a", "e", 10, 1, 1), -1); /* not within a day */
    sql_in_store("UPDATE llap_appends SET arrived = arrived - 86400000000000 - 1000");
    CHECK_OK(ll_store_retain(s, "w", 5, INT64_MAX, NULL));
    assert_int_equal(put(s, "w", "a", "e", 10, 1, 1), 4);
    assert_int_equal(put(s, "w", "c", "e", 30, 3, 3), -3);
    ll_store_close(s);
}

static void mistakes_are_said(void **state)
{
    (void)state;
    char         name[300];
    ll_store    *s = open_store();
    ll_store_row row = { "e", 1, (double[]){ 1, INFINITY } };
    memset(name, 'x', sizeof name);
    name[299] = '\0';
    ll_store_readings r = { "s", NULL, two, 2, &row, 1 };
    CHECK_FAIL(ll_store_append(s, &r, NULL), LLAP_EINVAL,
               "row 1: variable 'spo2': expected a finite number, found inf");
    row.value = (double[]){ 1, 2 };
    row.entity = "a\xff";
    CHECK_FAIL(ll_store_append(s, &r, NULL), LLAP_EINVAL, "row 1: entity 'a\\xff': is not UTF-8");
    row.entity = name;
    CHECK_FAIL(ll_store_append(s, &r, NULL), LLAP_ELIMIT, "expected at most 255 bytes, found 299");
    row.entity = "e";
    r.stream = "";
    CHECK_FAIL(ll_store_append(s, &r, NULL), LLAP_EINVAL, "stream: expected a name, found none");
    r.stream = "s";
    r.key = name;
    CHECK_FAIL(ll_store_append(s, &r, NULL), LLAP_ELIMIT, "key 'xxx");
    r.key = NULL;
    r.variable = (const char *const[]){ "a", "a" };
    CHECK_FAIL(ll_store_append(s, &r, NULL), LLAP_EINVAL, "variable 'a' is there twice");
    r.n_rows = 0;
    r.variable = two;
    CHECK_FAIL(ll_store_append(s, &r, NULL), LLAP_ELIMIT, "rows: expected 1 to 1048576, found 0");
    r.n_variables = 0;
    CHECK_FAIL(ll_store_append(s, &r, NULL), LLAP_ELIMIT, "variables: expected 1 to 4096, found 0");
    char text[64] = "";
    CHECK_OK(ll_store_list(s, print_stream, text));
    assert_string_equal(text, "");
    ll_store_close(s);
}

static llap_status stop(void *user, const ll_store_found *f)
{
    (void)f;
    return ++*(int *)user == 3 ? ll_fail(LLAP_ECANCELLED, "enough") : LLAP_OK;
}

static int64_t monotonic(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Also one that finds no row, and never would. */
static void a_statement_ends_at_its_time(void **state)
{
    (void)state;
    static const char   endless[] = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x % 9 + 1 "
                                    "FROM c) SELECT COUNT(*) FROM c";
    char                text[4096] = "";
    const ll_sql_value *row;
    ll_sql_url          u;
    ll_sql             *db;
    ll_store           *s = open_store();
    (void)put(s, "w", NULL, "bed 4", 1, 1, 1);
    const ll_store_range over = { "w", NULL, 0, 9, monotonic() },
                         later = { "w", "bed 4", 0, 9, monotonic() + INT64_C(3600000000000) };
    for (int i = 0; i < 2; i++)
        CHECK_FAIL(ll_store_read(s, &over, print, text), LLAP_ECANCELLED, "time is over");
    CHECK_OK(ll_store_read(s, &later, print, text));
    CHECK_OK(ll_store_read(s, &(ll_store_range){ "w", NULL, 0, 9, 0 }, print, text));
    assert_string_equal(text, "1 bed 4 1 pulse=1 spo2=1\n1 bed 4 1 pulse=1 spo2=1\n");
    ll_store_close(s);
    CHECK_OK(on_server ? ll_sql_url_init(&u, server.url) : ll_sql_url_file(&u, store_url()));
    CHECK_OK(ll_sql_open(&u, &(ll_sql_opts){ .wait_ms = 5000 }, &db));
    CHECK_OK(ll_sql_until(db, monotonic() + 20000000));
    llap_status st = ll_sql_start(db, endless, NULL, 0);
    if (st == LLAP_OK) st = ll_sql_next(db, &row);
    assert_int_equal(st, LLAP_ECANCELLED);
    CHECK_OK(ll_sql_until(db, 0));
    CHECK_OK(ll_sql_run(db, "SELECT 1", NULL, 0));
    ll_sql_close(db);
    ll_sql_url_deinit(&u);
}

static void a_reader_may_stop(void **state)
{
    (void)state;
    int       n = 0;
    char      text[4096] = "";
    ll_store *s = open_store();
    for (int i = 0; i < 9; i++) (void)put(s, "w", NULL, "e", i, i, i);
    assert_int_equal(ll_store_read(s, &(ll_store_range){ "w", NULL, 0, 9, 0 }, stop, &n),
                     LLAP_ECANCELLED);
    assert_int_equal(n, 3);
    CHECK_OK(ll_store_read(s, &(ll_store_range){ "w", NULL, 8, 9, 0 }, print, text));
    assert_string_equal(text, "9 e 8 pulse=8 spo2=8\n");
    ll_store_close(s);
}

/* Version 1 lacked the index; and what is newer than us is left alone. */
static void versions_follow_each_other(void **state)
{
    (void)state;
    char      text[256] = "";
    ll_store *s = open_store();
    (void)put(s, "w", "k", "e", 1, 2, 3);
    ll_store_close(s);
    sql_in_store("DROP INDEX llap_readings_time");
    sql_in_store("UPDATE llap_schema SET version = 1");
    CHECK_OK(ll_store_open(store_url(), NULL, &s));
    CHECK_OK(ll_store_read(s, &(ll_store_range){ "w", NULL, 0, 9, 0 }, print, text));
    assert_string_equal(text, "1 e 1 pulse=2 spo2=3\n");
    ll_store_close(s);
    sql_in_store("DROP INDEX llap_readings_time"); /* which is there again */
    sql_in_store("UPDATE llap_schema SET version = 3");
    CHECK_FAIL(ll_store_open(store_url(), NULL, &s), LLAP_EUNSUPPORTED,
               "is of version 3, expected at most 2: a newer llapdiff made it");
    assert_null(s);
    sql_in_store("DELETE FROM llap_schema");
    CHECK_FAIL(ll_store_open(store_url(), NULL, &s), LLAP_EFORMAT,
               "expected a version, found none");
}

static void *make_stream(void *user)
{
    ll_store *s = user;
    assert_int_equal(put(s, "new", "a", "e", 1, 1, 1), 1);
    return NULL;
}

/* Another process makes a stream at the same time: both get an id of their own. */
static void two_new_streams_at_once(void **state)
{
    (void)state;
    static const char add[] = "INSERT INTO llap_streams(id, name, number) VALUES(1, 'first', 0)";
    char              text[256] = "";
    pthread_t         t;
    ll_sql_url        u;
    ll_sql           *db;
    ll_store         *s = open_store();
    CHECK_OK(on_server ? ll_sql_url_init(&u, store_url()) : ll_sql_url_file(&u, store_url()));
    CHECK_OK(ll_sql_open(&u, &(ll_sql_opts){ .wait_ms = 5000 }, &db));
    CHECK_OK(ll_sql_begin(db));
    CHECK_OK(ll_sql_run(db, add, NULL, 0));
    assert_int_equal(pthread_create(&t, NULL, make_stream, s), 0);
    (void)nanosleep(&(struct timespec){ 0, 300000000 }, NULL); /* it waits for the other */
    CHECK_OK(ll_sql_commit(db));
    (void)pthread_join(t, NULL);
    CHECK_OK(ll_store_list(s, print_stream, text));
    assert_string_equal(text, "first 0 -1;new 1 -1;");
    ll_sql_close(db);
    ll_sql_url_deinit(&u);
    ll_store_close(s);
}

static llap_status all_calls(void *user)
{
    ll_store          *s = NULL;
    int64_t            after;
    void              *bytes = NULL;
    size_t             n;
    char               text[4096] = "";
    const ll_store_row row[] = { { "e", 1, (double[]){ 1, NAN } }, { "f", 2, (double[]){ 1, 2 } } };
    const ll_store_readings r = { "s", NULL, two, 2, row, 2 };
    (void)user;
    llap_status st = ll_store_open(store_url(), NULL, &s);
    if (st == LLAP_OK) st = ll_store_append(s, &r, NULL);
    if (st == LLAP_OK) st = ll_store_put_state(s, "s", 1, "state", 5);
    if (st == LLAP_OK) st = ll_store_get_state(s, "s", &after, &bytes, &n);
    if (st == LLAP_OK) st = ll_store_list(s, print_stream, text);
    if (st == LLAP_OK) st = ll_store_retain(s, "s", 1, INT64_MAX, NULL);
    *text = '\0';
    if (st == LLAP_OK) st = ll_store_read(s, &(ll_store_range){ "s", NULL, 2, 3, 0 }, print, text);
    ll_free(bytes);
    ll_store_close(s);
    return st;
}

static void failing_allocations(void **state)
{
    (void)state;
    clear_store();
    check_every_failed_allocation(all_calls, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(many_rows_at_once),
        cmocka_unit_test(a_key_counts_once),
        cmocka_unit_test(states_are_kept),
        cmocka_unit_test(streams_are_listed),
        cmocka_unit_test(retention_deletes_what_is_old),
        cmocka_unit_test(keys_are_forgotten_with_their_readings),
        cmocka_unit_test(mistakes_are_said),
        cmocka_unit_test(a_reader_may_stop),
        cmocka_unit_test(a_statement_ends_at_its_time),
        cmocka_unit_test(versions_follow_each_other),
        cmocka_unit_test(two_new_streams_at_once),
        cmocka_unit_test(failing_allocations),
    };
    return run_on_each(tests, sizeof tests / sizeof *tests);
}
