/* SIGKILL at random times while readings come in: none that was acknowledged is lost, none is there
 * twice, and afterwards the stream's forecasts are those of all of them at once. Kills: the first
 * argument, 4 without one. */
#include "program.h"

#include <pthread.h>
#include <stdatomic.h>

enum { CLIENTS = 4, ROWS_MOST = 200000 };

static int kills = 4;

typedef struct client {
    int         number;
    atomic_int  port; /* 0: the server is away */
    atomic_bool ending;
    int64_t     acknowledged; /* rows 0 .. acknowledged - 1 */
    int64_t     again;
} client;

static int64_t time_of(int64_t row) { return 1700000000 + row * 60; }

/* A value that float holds exactly. */
static double value_of(int number, int64_t row)
{
    return (double)((row * 37 + number * 11) % 1000) / 8;
}

/* A row of its own entity after the other, each with its key, again until it is acknowledged. */
static void *send_readings(void *user)
{
    client *c = user;
    while (!c->ending && c->acknowledged < ROWS_MOST) {
        char         body[128], headers[128];
        const int    port = c->port;
        const time_t at = (time_t)time_of(c->acknowledged);
        struct tm    t;
        char         when[40];
        if (port == 0) {
            (void)nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
            continue;
        }
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &t));
        snprintf(body, sizeof body, "entity,time,v0\ne%d,%s,%g\n", c->number, when,
                 value_of(c->number, c->acknowledged));
        snprintf(headers, sizeof headers, "Content-Type: text/csv\r\nIdempotency-Key: %d-%lld\r\n",
                 c->number, (long long)c->acknowledged);
        reply r = ask(port, "POST", "/v1/streams/ward/readings", headers, body, strlen(body));
        if (r.status == 200) {
            c->again += strstr(r.body, "\"repeated\":true") != NULL;
            c->acknowledged++;
        } else if (r.status != 0 && r.status != 503) {
            fprintf(stderr, "found %d: %s\n", r.status, r.body);
            abort();
        }
        forget_reply(&r);
    }
    return NULL;
}

/* Every acknowledged reading once, in the order of its entity. */
static void check_history(int port, const client *c)
{
    char path[128];
    snprintf(path, sizeof path, "/v1/streams/ward/history?limit=1000000&entity=e%d", c->number);
    reply   r = ask(port, "GET", path, "Accept: text/csv\r\n", NULL, 0);
    int64_t row = 0;
    assert_int_equal(r.status, 200);
    for (char *line = strchr(r.body, '\n') + 1; *line != '\0';
         line = strchr(line, '\n') + 1, row++) {
        const time_t at = (time_t)time_of(row);
        struct tm    t;
        char         want[128], when[40];
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &t));
        const int n = snprintf(want, sizeof want, "e%d,%s,v0,%.9g\n", c->number, when,
                               value_of(c->number, row));
        if (strncmp(line, want, (size_t)n) != 0)
            fail_msg("row %lld: expected %s, found %.60s", (long long)row, want, line);
    }
    /* one that was durable and whose answer was lost may be there */
    if (row < c->acknowledged || row > c->acknowledged + 1)
        fail_msg("%lld were acknowledged, %lld are there", (long long)c->acknowledged,
                 (long long)row);
    forget_reply(&r);
}

/* The forecast of the stream is that of its history. */
static void check_forecast(int port)
{
    reply h =
        ask(port, "GET", "/v1/streams/ward/history?limit=1000000", "Accept: text/csv\r\n", NULL, 0);
    llap_panel  *p = NULL;
    llap_answer *a = NULL;
    char        *want = NULL;
    size_t       n;
    assert_int_equal(h.status, 200);
    const llap_read_opts how = { .form = LLAP_TABLE_LONG, .codes = LLAP_READ_CODES_KEEP };
    CHECK_OK(llap_panel_read_memory("data", h.body, h.n, &how, &p));
    CHECK_OK(llap_forecast(w.model, p, &(llap_forecast_opts){ 0 }, &a));
    CHECK_OK(llap_answer_csv(a, &want, &n));
    reply r = ask(port, "GET", "/v1/streams/ward/forecast", "Accept: text/csv\r\n", NULL, 0);
    assert_int_equal(r.status, 200);
    if (strcmp(r.body, want) != 0) fail_msg("expected %.300s\nfound %.300s", want, r.body);
    forget_reply(&r);
    forget_reply(&h);
    llap_text_free(want);
    llap_answer_destroy(a);
    llap_panel_destroy(p);
}

static void nothing_is_lost(void **state)
{
    (void)state;
    const char *store = in_folder("kills.db"), *log = in_folder("log");
    char  *argv[] = { "serve", w.model_path, "--port", "0", "--store", (char *)store, "-q", NULL };
    client c[CLIENTS] = { 0 };
    pthread_t t[CLIENTS];
    int64_t   sum = 0, again = 0;
    for (int i = 0; i < CLIENTS; i++) {
        c[i].number = i;
        assert_int_equal(pthread_create(&t[i], NULL, send_readings, &c[i]), 0);
    }
    srand(1);
    for (int k = 0; k < kills; k++) {
        program p = run_program(argv, log);
        for (int i = 0; i < CLIENTS; i++) c[i].port = p.port;
        (void)nanosleep(&(struct timespec){ 0, (20 + rand() % 150) * 1000000L }, NULL);
        assert_int_equal(end_program(&p, SIGKILL), -1);
        for (int i = 0; i < CLIENTS; i++) c[i].port = 0;
    }
    for (int i = 0; i < CLIENTS; i++) c[i].ending = true;
    for (int i = 0; i < CLIENTS; i++) (void)pthread_join(t[i], NULL);
    program p = run_program(argv, log);
    for (int i = 0; i < CLIENTS; i++) {
        check_history(p.port, &c[i]);
        sum += c[i].acknowledged;
        again += c[i].again;
    }
    assert_true(sum > 0);
    check_forecast(p.port);
    assert_int_equal(end_program(&p, SIGTERM), 0);
    printf("%d kills: %lld readings acknowledged, %lld of them by a request that was repeated\n",
           kills, (long long)sum, (long long)again);
}

/* Rows in which all is missing come back too: they say from when on the next values are asked. */
static void missing_rows_come_back(void **state)
{
    (void)state;
    char        *argv[] = { "serve", w.model_path, "--port",
                            "0",     "--store",    (char *)in_folder("missing.db"),
                            "-q",    NULL };
    const char  *log = in_folder("log"), path[] = "/v1/streams/air/forecast";
    llap_panel  *p = NULL;
    llap_answer *a = NULL;
    char        *want = NULL;
    size_t       n;
    CHECK_OK(llap_panel_read_memory("data", w.csv, w.n_csv,
                                    &(llap_read_opts){ .codes = LLAP_READ_CODES_KEEP }, &p));
    assert_string_equal(w.csv + w.n_csv - 3, "Z,\n"); /* the last one is such a row */
    CHECK_OK(llap_forecast(w.model, p, &(llap_forecast_opts){ 0 }, &a));
    CHECK_OK(llap_answer_csv(a, &want, &n));
    program server = run_program(argv, log);
    check_reply(ask(server.port, "POST", "/v1/streams/air/readings", "Content-Type: text/csv\r\n",
                    w.csv, w.n_csv),
                200, NULL);
    for (int i = 0; i < 2; i++) {
        reply r = ask(server.port, "GET", path, "Accept: text/csv\r\n", NULL, 0);
        assert_int_equal(r.status, 200);
        assert_string_equal(r.body, want);
        forget_reply(&r);
        assert_int_equal(end_program(&server, i == 0 ? SIGKILL : SIGTERM), i == 0 ? -1 : 0);
        if (i == 0) server = run_program(argv, log);
    }
    llap_text_free(want);
    llap_answer_destroy(a);
    llap_panel_destroy(p);
}

int main(int argc, char **argv)
{
    if (argc > 1) kills = atoi(argv[1]);
    const struct CMUnitTest tests[] = { cmocka_unit_test(nothing_is_lost),
                                        cmocka_unit_test(missing_rows_come_back) };
    return cmocka_run_group_tests(tests, make_world, remove_world);
}
