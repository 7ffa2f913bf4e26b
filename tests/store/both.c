/* SQLite and PostgreSQL hold the same: tables, column by column, made by many at once, kept as
 * long.
 */
#include "each.h"

#include "base/text.h"

#include <math.h>
#include <pthread.h>

static const char *const two[] = { "pulse", "spo2" };

/* The rows of a query in one text. Caller frees. */
static char *rows_of(const char *query)
{
    ll_sql_url          u;
    ll_sql             *db;
    const ll_sql_value *row;
    char               *text = calloc(1, 1 << 20), *to = text;
    CHECK_OK(on_server ? ll_sql_url_init(&u, server.url) : ll_sql_url_file(&u, store_url()));
    CHECK_OK(ll_sql_open(&u, &(ll_sql_opts){ .wait_ms = 5000 }, &db));
    CHECK_OK(ll_sql_start(db, query, NULL, 0));
    for (;;) {
        CHECK_OK(ll_sql_next(db, &row));
        if (row == NULL) break;
        for (size_t c = 0; c < ll_sql_n_columns(db); c++) {
            char number[LL_DOUBLE_TEXT];
            ll_text_double(row[c].real, number);
            if (row[c].kind == LL_SQL_NULL) to += sprintf(to, "null|");
            if (row[c].kind == LL_SQL_INTEGER)
                to += sprintf(to, "%lld|", (long long)row[c].integer);
            if (row[c].kind == LL_SQL_REAL) to += sprintf(to, "%s|", number);
            for (size_t i = 0; row[c].kind == LL_SQL_TEXT && i <= row[c].n; i++)
                *to++ = i < row[c].n ? row[c].text[i] : '|';
            for (size_t i = 0; row[c].kind == LL_SQL_BYTES && i < row[c].n; i++)
                to += sprintf(to, "%02x", (unsigned char)row[c].text[i]);
        }
        *to++ = '\n';
    }
    ll_sql_close(db);
    ll_sql_url_deinit(&u);
    return text;
}

static void append(ll_store *s, const char *stream, const char *key, const ll_store_row *row,
                   int64_t n)
{
    const ll_store_readings r = { stream, key, two, 2, row, n };
    CHECK_OK(ll_store_append(s, &r, NULL));
}

/* The first run keeps what the second has to find. */
static void tables_are_the_same(void **state)
{
    (void)state;
    static char             *before[5];
    static const char *const query[] = {
        "SELECT id, name, number FROM llap_streams ORDER BY id",
        "SELECT stream, after, state FROM llap_states ORDER BY stream",
        "SELECT stream, number, key, digest FROM llap_appends ORDER BY stream, number",
        ("SELECT stream, number, place, entity, time, variable, value FROM llap_readings "
         "ORDER BY stream, number, place"),
        "SELECT version FROM llap_schema",
    };
    const ll_store_row some[] = { { "bed 4", 100, (double[]){ 71, NAN } },
                                  { "Zürich ☃", -5, (double[]){ 0.1, 1e300 } },
                                  { "", INT64_MAX - 1, (double[]){ NAN, NAN } },
                                  { "bed 4", 100, (double[]){ -0.0, 5e-324 } } };
    ll_store          *s = NULL;
    clear_store();
    CHECK_OK(ll_store_open(store_url(), NULL, &s));
    append(s, "ward", "a", some, 4);
    append(s, "it's \"two\"", "b", some, 1);
    append(s, "ward", "c", some + 1, 2);
    append(s, "ward", "a", some, 4); /* again */
    CHECK_OK(ll_store_put_state(s, "ward", 2, "\0\1\377", 3));
    CHECK_OK(ll_store_retain(s, "ward", 50, 120, NULL));
    ll_store_close(s);
    for (int i = 0; i < 5; i++) {
        char *found = rows_of(query[i]);
        assert_true(strlen(found) > 0);
        if (before[i] == NULL) {
            before[i] = found;
            continue;
        }
        assert_string_equal(found, before[i]);
        free(found);
        free(before[i]);
    }
}

static void *open_and_append(void *user)
{
    const int                number = *(const int *)user;
    const ll_store_row       row = { "e", number, (double[]){ number, 1 } };
    ll_store                *s = NULL;
    const ll_store_opts      o = { .wait_ms = 60000 };
    const llap_status        st = ll_store_open(store_url(), &o, &s);
    const ll_store_readings  r = { "ward", NULL, two, 2, &row, 1 };
    const llap_status        end = st == LLAP_OK ? ll_store_append(s, &r, NULL) : st;
    static const char *const good = "", *const bad = "failed";
    if (end != LLAP_OK) fprintf(stderr, "%s\n", llap_error_detail());
    ll_store_close(s);
    return (void *)(uintptr_t)(end == LLAP_OK ? good : bad);
}

/* Of many that find no tables one makes them; likewise an old version. */
static void many_open_it_at_once(void **state)
{
    (void)state;
    enum { MANY = 12 };
    pthread_t t[MANY];
    int       number[MANY];
    clear_store();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            number[i] = MANY * round + i;
            assert_int_equal(pthread_create(&t[i], NULL, open_and_append, &number[i]), 0);
        }
        for (int i = 0; i < MANY; i++) {
            void *said = NULL;
            assert_int_equal(pthread_join(t[i], &said), 0);
            assert_string_equal(said, "");
        }
        char *found = rows_of("SELECT COUNT(*), COUNT(DISTINCT number), COUNT(DISTINCT time), "
                              "MAX(number) FROM llap_readings");
        assert_string_equal(found, round == 0 ? "24|12|12|12|\n" : "48|24|24|24|\n");
        free(found);
        found = rows_of("SELECT version FROM llap_schema");
        assert_string_equal(found, "2|\n");
        free(found);
        if (round > 0) break;
        sql_in_store("DROP INDEX llap_readings_time");
        sql_in_store("UPDATE llap_schema SET version = 1");
    }
}

/* More than one transaction takes. */
static void much_is_forgotten(void **state)
{
    (void)state;
    enum { ROWS = 30000 };
    ll_store_row *row = calloc(ROWS, sizeof *row);
    double        value[] = { 1, 2 };
    int64_t       removed = 0;
    ll_store     *s = NULL;
    clear_store();
    CHECK_OK(ll_store_open(store_url(), NULL, &s));
    for (int64_t i = 0; i < ROWS; i++) row[i] = (ll_store_row){ "e", i, value };
    append(s, "ward", "a", row, ROWS);
    append(s, "ward", "b", row, 1);
    CHECK_OK(ll_store_put_state(s, "ward", 1, "x", 1)); /* has not taken in the second one */
    CHECK_OK(ll_store_retain(s, "ward", 1000, INT64_MAX, &removed));
    assert_int_equal(removed, 2 * (ROWS - 1 - 1000));
    char *found =
        rows_of("SELECT number, COUNT(*), MIN(time), MAX(time) FROM llap_readings GROUP BY "
                "number ORDER BY number");
    assert_string_equal(found, "1|2002|28999|29999|\n2|2|0|0|\n");
    free(found);
    free(row);
    ll_store_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_the_same),
        cmocka_unit_test(many_open_it_at_once),
        cmocka_unit_test(much_is_forgotten),
    };
    return run_on_each(tests, sizeof tests / sizeof *tests);
}
