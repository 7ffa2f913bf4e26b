/* What databases answer becomes the panels that CSV of the same rows becomes: a file of SQLite, and
 * a server of PostgreSQL where there is one. */
#include "panel_equal.h"
#include "panels.h"
#include "postgres.h"

#include "base/alloc.h"
#include "base/text.h"
#include "data/sql/sql.h"

#include <ctype.h>

static postgres server;
static bool     on_server;

/* ---- a database of the test's own ----------------------------------------------------------- */

/* "" or "?" and something behind the address; the caller's until the next call. */
static const char *address(const char *behind)
{
    static char text[4096];
    if (on_server) snprintf(text, sizeof text, "%s", server.url);
    else snprintf(text, sizeof text, "sqlite:%s", in_folder("test.db"));
    if (on_server && *behind == '?') strcat(text, "&"), behind++; /* it has options already */
    strncat(text, behind, sizeof text - strlen(text) - 1);
    return text;
}

static ll_sql *open_for_writing(void)
{
    ll_sql_url u;
    ll_sql    *db;
    CHECK_OK(ll_sql_url_init(&u, address("")));
    CHECK_OK(ll_sql_open(&u, &(ll_sql_opts){ .wait_ms = 5000, .create = true }, &db));
    ll_sql_url_deinit(&u);
    return db;
}

/* Statements separated by ';'. */
static void run(const char *text)
{
    ll_sql *db = open_for_writing();
    char   *copy = strdup(text);
    for (char *p = strtok(copy, ";"); p != NULL; p = strtok(NULL, ";"))
        CHECK_OK(ll_sql_run(db, p, NULL, 0));
    ll_sql_close(db);
    free(copy);
}

static llap_status read_address(const char *text, const ll_csv_opts *o, llap_panel **p,
                                ll_csv_report *report)
{
    ll_sql_url  u;
    llap_status st = ll_sql_url_init(&u, text);
    if (st == LLAP_OK) st = ll_sql_read(&(ll_sql_source){ &u, NULL, false }, o, p, report);
    ll_sql_url_deinit(&u);
    return st;
}

static llap_panel *panel_at(const char *behind, const ll_csv_opts *o)
{
    llap_panel *p = NULL;
    CHECK_OK(read_address(address(behind), o, &p, NULL));
    return p;
}

/* The panel of the address is that of the text. */
static void check_as(const char *behind, const ll_csv_opts *o, const char *csv)
{
    llap_panel *found = panel_at(behind, o), *wanted = NULL;
    CHECK_OK(ll_csv_read_memory("series.csv", csv, strlen(csv), o, &wanted, NULL));
    assert_true(wanted->n_rows > 0);
    assert_true(panel_equal(found, wanted));
    llap_panel_destroy(found);
    llap_panel_destroy(wanted);
}

/* ---- equal panels --------------------------------------------------------------------------- */

static void a_wide_table(void **state)
{
    (void)state;
    run("DROP TABLE IF EXISTS a; CREATE TABLE a(station TEXT, t TEXT, x DOUBLE PRECISION, n "
        "INTEGER, w TEXT);"
        "INSERT INTO a VALUES('b', '2024-01-01 00:00:00', 0.1, 3, 'on'), "
        "('a', '2024-01-01 01:00:00', NULL, NULL, 'off'), ('b', '2024-01-01 01:00:00', -1e-300, 7, "
        "NULL), ('a', '2024-01-01 00:00:00', 1e30, -4, 'on'), "
        "('a', '2024-01-01 02:00:00', 16777217, 16777217, 'off')");
    const char *csv = "station,t,x,n,w\nb,2024-01-01 00:00:00,0.1,3,on\na,2024-01-01 "
                      "01:00:00,,,off\nb,2024-01-01 01:00:00,-1e-300,7,\na,2024-01-01 "
                      "00:00:00,1e30,-4,on\na,2024-01-01 02:00:00,16777217,16777217,off\n";
    check_as("?table=a", &LL_CSV_DEFAULT, csv);
    check_as("?query=SELECT * FROM a", &LL_CSV_DEFAULT, csv);
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.columns = (const char *[]){ "y=x", "w", NULL };
    o.zone = "Europe/Rome";
    check_as("?table=a", &o, csv);
    check_as("?query=SELECT t, x AS level FROM a WHERE station = 'b'", &LL_CSV_DEFAULT,
             "t,level\n2024-01-01 00:00:00,0.1\n2024-01-01 01:00:00,-1e-300\n");
}

static void a_long_table(void **state)
{
    (void)state;
    run("DROP TABLE IF EXISTS b; CREATE TABLE b(id INTEGER, time BIGINT, variable TEXT, value "
        "DOUBLE PRECISION); INSERT INTO b VALUES(1, 1700000000, 'pulse', 71), "
        "(1, 1700000000, 'spo2', 97.5), (2, 1700000060, 'pulse', NULL), (2, 1700000060, 'spo2', "
        "99), (1, 1700000000, 'pulse', 72)");
    check_as("?table=b", &LL_CSV_DEFAULT,
             "id,time,variable,value\n1,1700000000,pulse,71\n1,1700000000,spo2,97.5\n"
             "2,1700000060,pulse,\n2,1700000060,spo2,99\n1,1700000000,pulse,72\n");
}

static void epochs_and_numbers(void **state)
{
    (void)state;
    run("DROP TABLE IF EXISTS c; CREATE TABLE c(ms BIGINT, k INTEGER, x DOUBLE PRECISION); "
        "INSERT INTO c VALUES(1700000000123, 1, 1.5), (1700000000623, 2, 2.5), (1700000001123, 3, "
        "0.5)");
    check_as("?query=SELECT ms AS time, x FROM c", &LL_CSV_DEFAULT,
             "time,x\n1700000000123,1.5\n1700000000623,2.5\n1700000001123,0.5\n");
    check_as("?query=SELECT k AS time, x FROM c", &LL_CSV_DEFAULT, "time,x\n1,1.5\n2,2.5\n3,0.5\n");
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.time_format = "number";
    o.time_unit = "min";
    check_as("?query=SELECT k AS time, x FROM c", &o, "time,x\n1,1.5\n2,2.5\n3,0.5\n");
}

/* More rows than are looked at first, of any doubles: the numbers are those of their text. */
static void many_rows_of_any_number(void **state)
{
    enum { ROWS = 3000 };
    (void)state;
    run("DROP TABLE IF EXISTS d; CREATE TABLE d(e TEXT, time TEXT, x DOUBLE PRECISION, y DOUBLE "
        "PRECISION)");
    ll_sql  *db = open_for_writing();
    char    *csv = malloc(200 * (ROWS + 1)), *to = csv;
    uint64_t bits = 88172645463325252u;
    to += sprintf(to, "e,time,x,y\n");
    CHECK_OK(ll_sql_begin(db));
    for (int i = 0; i < ROWS; i++) {
        double     v[2];
        char       when[32], name[8], number[2][LL_DOUBLE_TEXT];
        const long t = 1700000000L + 90L * ((i * 7919) % ROWS);
        for (int k = 0; k < 2; k++) { /* exponents of -15 .. 16, all digits */
            bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
            const uint64_t some =
                (bits & UINT64_C(0x801fffffffffffff)) | (UINT64_C(1008) + (bits >> 53 & 31)) << 52;
            memcpy(&v[k], &some, sizeof some);
            ll_text_double(v[k], number[k]);
        }
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime(&(time_t){ t }));
        snprintf(name, sizeof name, "e%d", i % 5);
        const bool         missing = i % 6 == 0;
        const ll_sql_value row[] = { ll_sql_text(name), ll_sql_text(when), ll_sql_real(v[0]),
                                     missing ? (ll_sql_value){ .kind = LL_SQL_REAL }
                                             : ll_sql_real(v[1]) };
        CHECK_OK(ll_sql_run(db,
                            missing ? "INSERT INTO d VALUES($1, $2, $3, NULL)"
                                    : "INSERT INTO d VALUES($1, $2, $3, $4)",
                            row, missing ? 3 : 4));
        to += sprintf(to, "%s,%s,%s,%s\n", name, when, number[0], missing ? "" : number[1]);
    }
    CHECK_OK(ll_sql_commit(db));
    ll_sql_close(db);
    check_as("?table=d", &LL_CSV_DEFAULT, csv);
    free(csv);
}

static void names_and_words_of_any_kind(void **state)
{
    (void)state;
    run("DROP TABLE IF EXISTS \"a \"\"b\"\"\"; CREATE TABLE \"a \"\"b\"\"\"(time TEXT, \"Luft "
        "(°C)\" DOUBLE PRECISION, \"x\" TEXT); INSERT INTO \"a \"\"b\"\"\" VALUES("
        "'01.02.2024 10:00', 1.5, 'NA'), ('01.02.2024 11:00', 2.5, '7'), (NULL, NULL, NULL)");
    check_as("?table=a \"b\"", &LL_CSV_DEFAULT,
             "time,Luft (°C),x\n01.02.2024 10:00,1.5,NA\n01.02.2024 11:00,2.5,7\n,,\n");
}

/* ---- types of PostgreSQL -------------------------------------------------------------------- */

/* What the server's own program exports as CSV. Caller frees. */
static char *exported(const char *query)
{
    char command[2048];
    snprintf(command, sizeof command,
             "%s/psql -X -q '%s' -c \"SET timezone='UTC'\" -c \"\\copy (%s) TO STDOUT CSV HEADER\"",
             server.bin, server.url, query);
    FILE  *f = popen(command, "r");
    char  *text = calloc(1, 1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    assert_int_equal(pclose(f), 0);
    assert_true(n > 0);
    return text;
}

static void as_the_server_exports_it(void **state)
{
    (void)state;
    if (!on_server) return;
    run("DROP TABLE IF EXISTS e; CREATE TABLE e(bed VARCHAR(9), day DATE, at TIME, f4 REAL, f8 "
        "FLOAT8, i2 SMALLINT, i8 BIGINT, num NUMERIC(12, 4), stamp TIMESTAMP, word CHAR(3));"
        "INSERT INTO e SELECT 'bed ' || i % 3, DATE '2024-02-27' + i / 24, TIME '00:00' + "
        "make_interval(hours => i % 24), sin(i), CASE WHEN i % 9 > 0 THEN exp(i / 40.0) / 3 END, "
        "i % 100 - 50, i::bigint * 100000007, i / 7.0, TIMESTAMP '2024-02-27' + "
        "make_interval(hours "
        "=> i), CASE WHEN i % 2 > 0 THEN 'on' ELSE 'off' END FROM generate_series(0, 1999) AS i");
    static const char *const query[] = {
        "SELECT bed, day, at, f4, f8, i2, num FROM e",
        "SELECT bed, stamp AS time, f4, f8, word, num FROM e",
        "SELECT stamp AT TIME ZONE 'UTC' AS time, bed, i2, i8 FROM e ORDER BY f4",
        "SELECT bed AS entity, stamp AS time, 'f8' AS variable, f8 AS value FROM e",
    };
    for (size_t i = 0; i < sizeof query / sizeof *query; i++) {
        char  behind[512];
        char *csv = exported(query[i]);
        snprintf(behind, sizeof behind, "?query=%s", query[i]);
        if (i == 2) { /* a time with its zone: the one text that is not the server's */
            llap_panel *found = panel_at(behind, &LL_CSV_DEFAULT), *wanted = NULL;
            CHECK_OK(
                ll_csv_read_memory("series.csv", csv, strlen(csv), &LL_CSV_DEFAULT, &wanted, NULL));
            wanted->axis.zone = found->axis.zone; /* "+00" is not "Z" */
            assert_true(panel_equal(found, wanted));
            llap_panel_destroy(found);
            llap_panel_destroy(wanted);
        } else {
            check_as(behind, &LL_CSV_DEFAULT, csv);
        }
        free(csv);
    }
}

/* Instants are what they are, whatever zones the server and its clients have. */
static void instants_across_the_change_of_clocks(void **state)
{
    (void)state;
    if (!on_server) return;
    run("DROP TABLE IF EXISTS f; CREATE TABLE f(time TIMESTAMPTZ, x INTEGER); ALTER DATABASE "
        "postgres SET timezone = 'America/New_York';"
        "INSERT INTO f VALUES('2024-11-03 01:30:00-04', 1), ('2024-11-03 01:30:00-05', 2), "
        "('2024-11-03 07:30:00.25+00', 3), ('1969-12-31 23:59:59+05:30', 4)");
    const char *csv = "time,x\n2024-11-03T05:30:00Z,1\n2024-11-03T06:30:00Z,2\n"
                      "2024-11-03T07:30:00.25Z,3\n1969-12-31T18:29:59Z,4\n";
    check_as("?table=f", &LL_CSV_DEFAULT, csv);
    ll_csv_opts rome = LL_CSV_DEFAULT;
    rome.zone = "Europe/Rome"; /* for times that name none */
    check_as("?table=f", &rome, csv);
    check_as("?options=-c%20timezone%3DAsia/Tokyo&table=f", &LL_CSV_DEFAULT, csv);
    /* on a wall clock: the zone of the options */
    check_as("?query=SELECT time AT TIME ZONE 'Europe/Rome' AS time, x FROM f", &rome,
             "time,x\n2024-11-03 06:30:00,1\n2024-11-03 07:30:00,2\n2024-11-03 08:30:00.25,3\n"
             "1969-12-31 19:29:59,4\n");
    run("ALTER DATABASE postgres RESET timezone");
    llap_panel *p = NULL;
    CHECK_FAIL(read_address(address("?query=SELECT 'infinity'::timestamptz AS time, 1 AS x"),
                            &LL_CSV_DEFAULT, &p, NULL),
               LLAP_EFORMAT, "'infinity'");
}

static void truth_and_bytes(void **state)
{
    (void)state;
    if (on_server)
        run("DROP TABLE IF EXISTS g; CREATE TABLE g(time TEXT, b BOOLEAN, raw BYTEA); INSERT INTO "
            "g "
            "VALUES('2024-01-01', true, '\\x0001'), ('2024-01-02', false, '\\x0001')");
    else
        run("DROP TABLE IF EXISTS g; CREATE TABLE g(time TEXT, b BOOLEAN, raw BLOB); INSERT INTO g "
            "VALUES('2024-01-01', true, x'0001'), ('2024-01-02', false, x'0001')");
    ll_csv_opts o = LL_CSV_DEFAULT;
    check_as("?table=g", &o, "time,b,raw\n2024-01-01,1,(bytes)\n2024-01-02,0,(bytes)\n");
}

/* ---- mistakes ------------------------------------------------------------------------------- */

static void fails(const char *behind, llap_status st, const char *detail)
{
    llap_panel *p = NULL;
    CHECK_FAIL(read_address(address(behind), &LL_CSV_DEFAULT, &p, NULL), st, detail);
    assert_null(p);
}

static void mistakes_are_placed(void **state)
{
    (void)state;
    run("DROP TABLE IF EXISTS h; CREATE TABLE h(k INTEGER, time TEXT, x TEXT)");
    ll_sql *db = open_for_writing();
    CHECK_OK(ll_sql_begin(db));
    for (int i = 1; i <= 2500; i++) {
        char when[32];
        snprintf(when, sizeof when, "2024-01-%02dT%02d:%02d:00Z", 1 + i / 1440, i / 60 % 24,
                 i % 60);
        const ll_sql_value v[] = { ll_sql_integer(i), ll_sql_text(when),
                                   ll_sql_text(i == 2400 ? "12,5" : "3") };
        CHECK_OK(ll_sql_run(db, "INSERT INTO h VALUES($1, $2, $3)", v, 3));
    }
    CHECK_OK(ll_sql_commit(db));
    ll_sql_close(db);
    fails(
        "?query=SELECT time, x FROM h ORDER BY k", LLAP_EFORMAT,
        " 'SELECT time, x FROM h ORDER BY k':2400: column 2 'x': expected a number, found '12,5'");
    fails("?query=SELECT k AS x, CASE WHEN k = 1500 THEN NULL ELSE time END AS t FROM h ORDER BY k",
          LLAP_EFORMAT, ":1500: column 2 't': expected a time, found nothing");
    fails("", LLAP_EINVAL, "expected ?query=SELECT..., ?table=NAME or ?stream=NAME behind it");
    fails("?table=nothere", LLAP_EINVAL, "nothere");
    fails("?query=SELECT 1; SELECT 2", LLAP_EINVAL,
          on_server ? "multiple commands" : "one statement");
    fails("?query=SELECT 1 AS x WHERE 1 = 0", LLAP_EFORMAT, "");
    /* a connection that reads cannot write */
    fails("?query=DELETE FROM h", LLAP_EINVAL, on_server ? "" : "expected a query that only reads");
    fails("?query=DROP TABLE h", LLAP_EINVAL, "");
    fails("?query=INSERT INTO h VALUES(0, '', '') RETURNING k", LLAP_EINVAL, "");
    if (!on_server) fails("?query=PRAGMA user_version = 7", LLAP_EINVAL, "");
    if (on_server) {
        fails("?query=COPY h TO STDOUT", LLAP_EUNAVAILABLE, "expected a query that gives rows");
        fails("?query=SELECT pg_notify('a', 'b'), setval('s', 1)", LLAP_EINVAL, "");
        fails("?query=SELECT time, 1 / (2000 - k) AS x FROM h ORDER BY k", LLAP_EINVAL,
              "division by zero");
        fails("?query=SELECT time, k AS x, pg_terminate_backend(CASE WHEN k = 2000 THEN "
              "pg_backend_pid() END) AS ended FROM h ORDER BY k",
              LLAP_EUNAVAILABLE, "terminat");
    }
    ll_csv_report report;
    llap_panel   *p = NULL;
    CHECK_OK(read_address(address("?query=SELECT time, k FROM h"), &LL_CSV_DEFAULT, &p, &report));
    assert_int_equal(p->n_rows, 2500); /* all are there */
    assert_int_equal(report.lines, 2500);
    llap_panel_destroy(p);
}

static void a_file_that_is_none(void **state)
{
    (void)state;
    llap_panel *p = NULL;
    if (on_server) {
        CHECK_FAIL(
            read_address("postgresql://me:secret@127.0.0.1:1/d?table=a", &LL_CSV_DEFAULT, &p, NULL),
            LLAP_EUNAVAILABLE, "postgresql://127.0.0.1:1/d: ");
        assert_null(strstr(llap_error_detail(), "secret"));
        return;
    }
    CHECK_FAIL(read_address("sqlite:/nothere/a.db?table=a", &LL_CSV_DEFAULT, &p, NULL),
               LLAP_ENOTFOUND, "sqlite:/nothere/a.db: ");
    char  text[200];
    FILE *f = fopen(in_folder("text.db"), "w");
    for (int i = 0; i < 999; i++) fputs("this is text\n", f);
    fclose(f);
    snprintf(text, sizeof text, "sqlite:%s?table=a", in_folder("text.db"));
    CHECK_FAIL(read_address(text, &LL_CSV_DEFAULT, &p, NULL), LLAP_EFORMAT, "not a database");
    run("DROP TABLE IF EXISTS i; CREATE TABLE i(time TEXT, x TEXT); INSERT INTO i VALUES("
        "'2024-01-01', 1), ('2024-01-02', CAST(x'61ff62' AS TEXT))");
    fails("?table=i", LLAP_EFORMAT, ":2: column 2 'x': expected text in UTF-8 without NUL");
}

static llap_status work(void *text)
{
    llap_panel       *p = NULL;
    const llap_status st = read_address(text, &LL_CSV_DEFAULT, &p, NULL);
    llap_panel_destroy(p);
    return st;
}

static void failing_allocations(void **state)
{
    (void)state;
    run("DROP TABLE IF EXISTS j; CREATE TABLE j(id TEXT, time TEXT, x DOUBLE PRECISION, w TEXT); "
        "INSERT INTO j VALUES('a', '2024-01-01', 1.5, 'u'), ('b', '2024-01-02', 2, 'v'), "
        "('b', '2024-01-03', NULL, 'u'), ('a', '2024-01-04', 4, 'v')");
    char text[600];
    snprintf(text, sizeof text, "%s", address("?table=j"));
    check_every_failed_allocation(work, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wide_table),
        cmocka_unit_test(a_long_table),
        cmocka_unit_test(epochs_and_numbers),
        cmocka_unit_test(many_rows_of_any_number),
        cmocka_unit_test(names_and_words_of_any_kind),
        cmocka_unit_test(as_the_server_exports_it),
        cmocka_unit_test(instants_across_the_change_of_clocks),
        cmocka_unit_test(truth_and_bytes),
        cmocka_unit_test(mistakes_are_placed),
        cmocka_unit_test(a_file_that_is_none),
        cmocka_unit_test(failing_allocations),
    };
    const size_t n = sizeof tests / sizeof *tests;
    (void)make_folder(NULL);
    int failed = _cmocka_run_group_tests("sqlite", tests, n, NULL, NULL);
    on_server = postgres_make(&server, false);
    if (on_server) failed += _cmocka_run_group_tests("postgresql", tests, n, NULL, NULL);
    else printf("postgresql: skipped: it is not installed\n");
    postgres_end(&server, SIGQUIT);
    (void)remove_folder(NULL);
    return failed;
}
