/* A database that goes away while a stream is brought back: its readings are all taken in later. */
#include "client.h"
#include "postgres.h"
#include "process.h"

enum { ROWS = 60 };

static postgres server;

static void sql(const char *text)
{
    ll_sql_url u;
    ll_sql    *db;
    CHECK_OK(ll_sql_url_init(&u, server.url));
    CHECK_OK(ll_sql_open(&u, &(ll_sql_opts){ .wait_ms = 5000 }, &db));
    CHECK_OK(ll_sql_run(db, text, NULL, 0));
    ll_sql_close(db);
    ll_sql_url_deinit(&u);
}

static void make_model(void)
{
    char command[1024];
    snprintf(command, sizeof command,
             "cd %s && '%s' synth --entities 1 --variables 1 --rows 300 --seed 3 -q -o air.csv && "
             "'%s' train air.csv -q -c 2d --horizon 6h --size anchor "
             "--training '{\"anchor\": {\"steps\": 5}}' -o air.safetensors >/dev/null",
             folder, LLAP_PROGRAM, LLAP_PROGRAM);
    assert_int_equal(system(command), 0);
}

/* Reading fails at row 30 of an append, as if the server went down, while `away` has a row. */
static void let_reading_fail(void)
{
    sql("CREATE TABLE away(x int)");
    sql("CREATE FUNCTION look(place bigint, value double precision) RETURNS double precision "
        "LANGUAGE plpgsql STABLE AS $$ BEGIN IF place >= 4096 * 30 AND EXISTS (SELECT 1 FROM away) "
        "THEN RAISE EXCEPTION 'going away' USING ERRCODE = '57P01'; END IF; RETURN value; END $$");
    sql("ALTER TABLE llap_readings RENAME TO all_readings");
    sql("CREATE VIEW llap_readings AS SELECT stream, number, place, entity, time, variable, "
        "look(place, value) AS value FROM all_readings");
    /* row by row, in the order of the index */
    sql("ALTER ROLE llap SET enable_sort = off");
    sql("ALTER ROLE llap SET enable_seqscan = off");
    sql("ALTER ROLE llap SET enable_bitmapscan = off");
    sql("INSERT INTO away VALUES (1)");
}

static void an_append_that_was_read_in_part(void **state)
{
    (void)state;
    char  text[8192];
    char *argv[] = {
        "serve", (char *)in_folder("air.safetensors"), "--port", "0", "--store", server.url, NULL
    };
    if (server.pid == 0) skip();
    make_model();
    program p = run_program(argv, in_folder("log"));
    size_t  n = (size_t)sprintf(text, "time,v0\n");
    for (int i = 0; i < ROWS; i++)
        n += (size_t)sprintf(text + n, "2024-01-01T%02d:%02d:00Z,%d\n", i / 60, i % 60, i);
    check_reply(
        ask(p.port, "POST", "/v1/streams/air/readings", "Content-Type: text/csv\r\n", text, n), 200,
        "\"number\":1,");
    assert_int_equal(end_program(&p, SIGKILL), -1); /* its state is not yet saved */
    let_reading_fail();
    p = run_program(argv, in_folder("log"));
    check_reply(ask(p.port, "GET", "/v1/streams/air/forecast", "", NULL, 0), 503, "going away");
    sql("DELETE FROM away");
    check_reply(ask(p.port, "GET", "/v1/streams/air/forecast", "", NULL, 0), 200, NULL);
    snprintf(text, sizeof text, "\"rows\":%d", ROWS);
    check_reply(ask(p.port, "GET", "/v1/streams/air", "", NULL, 0), 200, text);
    assert_int_equal(end_program(&p, SIGTERM), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(an_append_that_was_read_in_part) };
    (void)make_folder(NULL);
    if (!postgres_make(&server, false)) printf("postgresql: it is not installed\n");
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    postgres_end(&server, SIGQUIT);
    (void)remove_folder(NULL);
    return failed;
}
