/* Readings that arrive at a server: durable when they are answered, and forecasts are those of all
 * of them at once, also after the server was started again. */
#include "world.h"

#include <sys/stat.h>

#define ADMIN "Authorization: Bearer admin-0123456789ab\r\n"

static llap_server *serve_store(const char *store)
{
    return serve((llap_serve_opts){ .store = store });
}

/* Rows from .. to of the data behind its first line. */
static char *part_of_csv(int64_t from, int64_t to, size_t *n)
{
    const char *line = strchr(w.csv, '\n') + 1;
    char       *text = calloc(1, w.n_csv + 1);
    *n = (size_t)(line - w.csv);
    memcpy(text, w.csv, *n);
    for (int64_t i = 0; *line != '\0'; i++) {
        const size_t length = strcspn(line, "\n") + 1;
        if (i >= from && i < to) {
            memcpy(text + *n, line, length);
            *n += length;
        }
        line += length;
    }
    return text;
}

static int64_t lines_of(const char *text)
{
    int64_t n = 0;
    for (; *text != '\0'; text++) n += *text == '\n';
    return n;
}

static reply post_rows(int port, int64_t from, int64_t to, const char *key)
{
    char   headers[256] = "Content-Type: text/csv\r\n";
    size_t n;
    char  *text = part_of_csv(from, to, &n);
    if (key != NULL)
        snprintf(headers, sizeof headers, "Content-Type: text/csv\r\nIdempotency-Key: %s\r\n", key);
    reply r = ask(port, "POST", "/v1/streams/ward/readings?model=air", headers, text, n);
    free(text);
    return r;
}

/* The library's forecast of all of the data. */
static char *batch(size_t *n)
{
    llap_panel          *p = NULL;
    llap_answer         *a = NULL;
    char                *csv = NULL;
    const llap_read_opts how = { .levels = llap_model_levels(w.model),
                                 .codes = LLAP_READ_CODES_KEEP };
    CHECK_OK(llap_panel_read_memory("data", w.csv, w.n_csv, &how, &p));
    CHECK_OK(llap_forecast(w.model, p, &(llap_forecast_opts){ .horizon = "5h" }, &a));
    CHECK_OK(llap_answer_csv(a, &csv, n));
    llap_answer_destroy(a);
    llap_panel_destroy(p);
    return csv;
}

static void check_forecast(int port)
{
    size_t n;
    char  *want = batch(&n);
    reply  r =
        ask(port, "GET", "/v1/streams/ward/forecast?horizon=5h", "Accept: text/csv\r\n", NULL, 0);
    if (r.status != 200 || r.n != n || memcmp(r.body, want, n) != 0)
        fail_msg("found %d: %.400s\nexpected %.400s", r.status, r.body, want);
    forget_reply(&r);
    llap_text_free(want);
}

static void readings_and_forecasts(void **state)
{
    (void)state;
    const char   *store = in_folder("readings.db");
    const int64_t n = lines_of(w.csv) - 1;
    llap_server  *s = serve_store(store);
    int           port = llap_server_port(s);
    check_reply(ask(port, "GET", "/v1/streams/ward/forecast", "", NULL, 0), 404, "no stream");
    check_reply(post_rows(port, 0, n / 2, "first"), 200, "\"number\":1,");
    check_reply(post_rows(port, 0, n / 2, "first"), 200, "\"repeated\":true");
    check_reply(post_rows(port, n / 2, n - 20, "second"), 200, "\"number\":2,");
    for (int64_t i = n - 20; i < n - 1; i++)
        check_reply(post_rows(port, i, i + 1, NULL), 200, NULL);
    llap_server_stop(s);
    s = serve_store(store);
    port = llap_server_port(s);
    check_reply(ask(port, "GET", "/v1/streams/ward", "", NULL, 0), 200, "\"appends\":21,");
    check_reply(post_rows(port, n - 1, n, NULL), 200, "\"number\":22,");
    check_forecast(port);
    check_reply(ask(port, "GET", "/v1/streams/ward/forecast?samples=10001", "", NULL, 0), 413,
                "samples: at most 10000");
    check_reply(post_rows(port, 0, 1, "first"), 400, "key");
    check_reply(ask(port, "GET", "/v1/streams", "", NULL, 0), 200, "\"ward\"");
    reply r =
        ask(port, "GET", "/v1/streams/ward/history?limit=1000000", "Accept: text/csv\r\n", NULL, 0);
    assert_int_equal(r.status, 200);
    assert_true(lines_of(r.body) > n / 2 && lines_of(r.body) <= n + 1);
    forget_reply(&r);
    check_reply(ask(port, "GET", "/v1/streams/ward/history?limit=2&entity=s001", "", NULL, 0), 200,
                "[{\"entity\":\"s001\"");
    check_reply(ask(port, "GET", "/v1/streams/ward/history?from=now", "", NULL, 0), 400, "from");
    check_reply(ask(port, "POST", "/v1/streams/ward/readings", "Content-Type: text/csv\r\n",
                    "time,other\n2024-01-01,1\n", 24),
                400, "no column");
    check_reply(ask(port, "POST", "/v1/streams/new/readings?model=none",
                    "Content-Type: text/csv\r\n", "time,v0\n2024-01-01,1\n", 21),
                404, "no model");
    llap_server_stop(s);
    s = serve((llap_serve_opts){ 0 });
    check_reply(ask(llap_server_port(s), "GET", "/v1/streams/ward/forecast", "", NULL, 0), 400,
                "store");
    llap_server_stop(s);
}

/* A model of a column of words. */
static void train_words(const char *path)
{
    static const char *const word[] = { "N", "E", "S", "W" };
    const llap_read_opts     how = { .coded = "wind" };
    const llap_train_opts    quick = { .context = "2d",
                                       .horizon = "6h",
                                       .size = LLAP_TRAIN_SIZE_ANCHOR,
                                       .training = "{\"anchor\": {\"steps\": 5}}" };
    static char              csv[1 << 14];
    size_t                   n = (size_t)sprintf(csv, "time,v0,wind\n");
    llap_panel              *p = NULL;
    llap_model              *m = NULL;
    for (int i = 0; i < 300; i++)
        n += (size_t)sprintf(csv + n, "2024-01-%02dT%02d:00:00Z,%d,%s\n", 1 + i / 24, i % 24,
                             i * 7 % 13, word[i * 7 % 4]);
    CHECK_OK(llap_panel_read_memory("data", csv, n, &how, &p));
    CHECK_OK(llap_train(p, &quick, &m));
    CHECK_OK(llap_model_save(m, path));
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

/* A word has the code that it had in training (E, N, S, W), though it comes alone. */
static void words_keep_their_codes(void **state)
{
    (void)state;
    static const char     row[] = "time,v0,wind\n2024-01-17T16:00:00Z,1,W\n";
    static char           model[128], store[128];
    const char *const     models[] = { model };
    llap_server          *s = NULL;
    const llap_serve_opts o = { .port = LLAP_ZERO, .store = store };
    snprintf(model, sizeof model, "%s/wind.safetensors", folder);
    snprintf(store, sizeof store, "%s/words.db", folder);
    train_words(model);
    CHECK_OK(llap_server_start(models, 1, &o, &s));
    for (int i = 0; i < 2; i++) /* a new stream, and one that is there */
        check_reply(ask(llap_server_port(s), "POST", "/v1/streams/wind/readings?coded=wind",
                        "Content-Type: text/csv\r\n", row, sizeof row - 1),
                    200, "\"rows\":1");
    reply r = ask(llap_server_port(s), "GET", "/v1/streams/wind/history", "Accept: text/csv\r\n",
                  NULL, 0);
    static const char want[] = "data,2024-01-17T16:00:00Z,wind,3\n";
    const char       *first = strstr(r.body, want);
    if (first == NULL || strstr(first + 1, want) == NULL) fail_msg("found %s", r.body);
    forget_reply(&r);
    r = ask(llap_server_port(s), "GET", "/v1/streams/wind/history?limit=3", "Accept: text/csv\r\n",
            NULL, 0);
    assert_int_equal(lines_of(r.body), 1 + 3); /* a row and a half */
    forget_reply(&r);
    llap_server_stop(s);
}

static llap_server *serve_two(const char *store)
{
    static char           other[160];
    const char *const     models[] = { w.model_path, other };
    const llap_serve_opts o = { .port = LLAP_ZERO, .store = store };
    llap_server          *s = NULL;
    snprintf(other, sizeof other, "other=%s", w.model_path);
    CHECK_OK(llap_server_start(models, 2, &o, &s));
    return s;
}

/* What one server has made is not made again, of another model, by a second one at its store. */
static void two_servers_at_one_store(void **state)
{
    (void)state;
    static char       store[128];
    static const char row[] = "entity,time,v0\ns000,2000-01-01T00:00:00Z,1\n";
    static const char csv[] = "Content-Type: text/csv\r\n";
    snprintf(store, sizeof store, "%s/two.db", folder);
    llap_server *one = serve_two(store), *two = serve_two(store);
    check_reply(ask(llap_server_port(one), "POST", "/v1/streams/bed/readings?model=air", csv, row,
                    sizeof row - 1),
                200, "\"number\":1,");
    check_reply(ask(llap_server_port(two), "POST", "/v1/streams/bed/readings?model=other", csv, row,
                    sizeof row - 1),
                400, "the stream 'bed' is of the model 'air'");
    check_reply(
        ask(llap_server_port(two), "POST", "/v1/streams/bed/readings", csv, row, sizeof row - 1),
        200, "\"number\":2,");
    check_reply(ask(llap_server_port(two), "GET", "/v1/streams/bed", "", NULL, 0), 200,
                "\"model\":\"air\",\"ready\":true,\"appends\":2,");
    llap_server_stop(one);
    llap_server_stop(two);
}

static char heard[1 << 20];

/* Reads until the text was said, or the connection ends. */
static bool hear(int fd, const char *text)
{
    size_t  n = 0;
    ssize_t got;
    while ((got = recv(fd, heard + n, sizeof heard - n - 1, 0)) > 0) {
        heard[n += (size_t)got] = '\0';
        if (strstr(heard, text) != NULL) return true;
    }
    return false;
}

static void events_are_heard(void **state)
{
    (void)state;
    static const char request[] =
        "GET /v1/streams/ward/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    static const char far[] = "entity,time,v0\ns000,2030-01-01T00:00:00Z,1e6\n";
    llap_server      *s = serve_store(in_folder("readings.db"));
    const int         port = llap_server_port(s), one = dial(port), two = dial(port);
    assert_true(put_bytes(one, request, sizeof request - 1) &&
                put_bytes(two, request, sizeof request - 1));
    assert_true(hear(one, ": llapdiff") && hear(two, "retry: "));
    check_reply(ask(port, "POST", "/v1/streams/ward/readings", "Content-Type: text/csv\r\n", far,
                    sizeof far - 1),
                200, NULL);
    assert_true(hear(one, "event: alarm\n"));
    close(one);
    assert_true(hear(two, "event: forecast\n"));
    llap_server_stop(s); /* ends the other */
    assert_false(hear(two, "nothing more"));
    close(two);
}

static double held(int port)
{
    static const char name[] = "\nllapdiff_body_bytes ";
    reply             r = ask(port, "GET", "/metrics", "", NULL, 0);
    const double      n = atof(strstr(r.body, name) + sizeof name - 1);
    forget_reply(&r);
    return n;
}

/* What waits for listeners counts among the bodies, until they are gone. */
static void what_waits_for_listeners_counts(void **state)
{
    (void)state;
    static const char request[] =
        "GET /v1/streams/ward/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    llap_server *s = serve_store(in_folder("readings.db"));
    const int    port = llap_server_port(s), fd = dial(port);
    assert_true(held(port) == 0);
    assert_true(put_bytes(fd, request, sizeof request - 1) && hear(fd, ": llapdiff"));
    assert_true(held(port) > 0);
    close(fd); /* which is seen when something is to be told */
    for (int i = 0; held(port) > 0; i++) {
        char      row[100];
        const int n =
            snprintf(row, sizeof row, "entity,time,v0\ns000,2031-01-01T00:%02d:%02dZ,%d\n",
                     i / 60 % 60, i % 60, i % 2);
        check_reply(ask(port, "POST", "/v1/streams/ward/readings", "Content-Type: text/csv\r\n",
                        row, (size_t)n),
                    200, NULL);
        (void)nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
    }
    llap_server_stop(s);
}

/* Of a stream that is made anew of all its readings, as its model is replaced, nothing is told of
 * what was told when it came. */
static void alarms_are_told_once(void **state)
{
    (void)state;
    static const char request[] = "GET /v1/streams/air/events HTTP/1.1\r\n"
                                  "Host: localhost\r\nConnection: close\r\n" ADMIN "\r\n";
    static const char first[] = "entity,time,v0\ns000,2030-01-01T00:00:00Z,1e6\n",
                      second[] = "entity,time,v0\ns001,2031-01-01T00:00:00Z,1e6\n",
                      upload[] = "Content-Type: application/octet-stream\r\n" ADMIN,
                      csv[] = "Content-Type: text/csv\r\n" ADMIN;
    static char store[128], tokens[128];
    size_t      n;
    char       *model = read_all(w.model_path, &n);
    snprintf(store, sizeof store, "%s/once.db", folder);
    snprintf(tokens, sizeof tokens, "%s/tokens", folder);
    FILE *f = fopen(tokens, "w");
    assert_non_null(f);
    fputs("root admin admin-0123456789ab\n", f);
    fclose(f);
    assert_int_equal(chmod(tokens, 0600), 0);
    llap_server *s = serve((llap_serve_opts){ .store = store, .tokens = tokens });
    const int    port = llap_server_port(s);
    check_reply(ask(port, "POST", "/v1/streams/air/readings", csv, w.csv, w.n_csv), 200, NULL);
    const int fd = dial(port);
    assert_true(put_bytes(fd, request, sizeof request - 1) && hear(fd, "retry: "));
    check_reply(ask(port, "POST", "/v1/streams/air/readings", csv, first, sizeof first - 1), 200,
                NULL);
    assert_true(hear(fd, "event: alarm"));
    check_reply(ask(port, "PUT", "/v1/models/air", upload, model, n), 200, NULL);
    check_reply(ask(port, "POST", "/v1/streams/air/readings", csv, second, sizeof second - 1), 200,
                NULL);
    assert_true(hear(fd, "2031-01-01T0")); /* in a forecast */
    if (strstr(heard, "event: alarm") != NULL) fail_msg("heard %s", heard);
    close(fd);
    free(model);
    llap_server_stop(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readings_and_forecasts),
        cmocka_unit_test(words_keep_their_codes),
        cmocka_unit_test(two_servers_at_one_store),
        cmocka_unit_test(events_are_heard),
        cmocka_unit_test(alarms_are_told_once),
        cmocka_unit_test(what_waits_for_listeners_counts),
    };
    return cmocka_run_group_tests(tests, make_world, remove_world);
}
