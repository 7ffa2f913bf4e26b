/* A server in this process, asked over the loopback: it answers what the library answers, refuses
 * what it should, and outlives those who are slow or ask too much. */
#include "world.h"

#include <pthread.h>
#include <sys/stat.h>
#include <zlib.h>

/* ---- answers ---- */

static llap_panel *panel_of(const char *csv, size_t n)
{
    llap_panel          *p = NULL;
    const llap_read_opts how = { .levels = llap_model_levels(w.model) };
    CHECK_OK(llap_panel_read_memory("data", csv, n, &how, &p));
    return p;
}

static void same_text(reply r, const char *text)
{
    if (r.status != 200 || strcmp(r.body, text) != 0)
        fail_msg("found %d: %.300s", r.status, r.body == NULL ? "nothing" : r.body);
    forget_reply(&r);
}

static void forecasts_are_those_of_the_library(void **state)
{
    (void)state;
    llap_server *s = serve((llap_serve_opts){ 0 });
    const int    port = llap_server_port(s);
    llap_panel  *p = panel_of(w.csv, w.n_csv);
    llap_answer *a = NULL;
    char        *csv = NULL, *json = NULL;
    size_t       n;
    CHECK_OK(llap_forecast(w.model, p,
                           &(llap_forecast_opts){ .horizon = "3h", .quantiles = "0.1,0.9" }, &a));
    CHECK_OK(llap_answer_csv(a, &csv, &n));
    CHECK_OK(llap_answer_json(a, &json));
    const char *path = "/v1/models/air/forecast?horizon=3h&quantiles=0.1,0.9";
    same_text(post_csv(port, path, "text/csv"), csv);
    same_text(post_csv(port, path, "application/json"), json);
    same_text(post_csv(port, path, "*/*"), json);
    same_text(post_csv(port, path, "text/*, application/json;q=0.5"), csv);
    llap_text_free(csv);
    llap_text_free(json);
    llap_answer_destroy(a);
    CHECK_OK(llap_impute(w.model, p, &(llap_impute_opts){ .causal = 1 }, &a));
    CHECK_OK(llap_answer_csv(a, &csv, &n));
    same_text(post_csv(port, "/v1/models/air/impute?causal=true", "text/csv"), csv);
    llap_text_free(csv);
    llap_answer_destroy(a);
    llap_detection *d = NULL;
    CHECK_OK(llap_detect(w.model, p, &(llap_detect_opts){ .rate = 0.01 }, &d));
    CHECK_OK(llap_detection_json(d, &json));
    same_text(post_csv(port, "/v1/models/air/detect?rate=0.01", "application/json"), json);
    llap_text_free(json);
    llap_detection_destroy(d);
    llap_panel_destroy(p);
    llap_server_stop(s);
}

static const char table[] =
    "{\"data\": {\"when\": [\"2024-01-01T00:00:00Z\", \"2024-01-01T01:00:00Z\", "
    "\"2024-01-01T02:00:00Z\"], \"who\": [\"a\", \"a\", \"a\"], \"v0\": [1, null, 0.25]}, "
    "\"horizon\": \"2h\", \"quantiles\": [0.1, 0.9]}";

/* Compressed, as columns of JSON, and under a name. */
static void data_in_other_forms(void **state)
{
    (void)state;
    static const char same[] = "when,who,v0\n2024-01-01T00:00:00Z,a,1\n2024-01-01T01:00:00Z,a,\n"
                               "2024-01-01T02:00:00Z,a,0.25\n";
    llap_server      *s = serve((llap_serve_opts){ .max_body = 1 });
    const int         port = llap_server_port(s);
    uLongf            n = compressBound(w.n_csv) + 64;
    Bytef            *packed = calloc(1, 8 << 20);
    z_stream          z = { 0 };
    reply             plain = post_csv(port, "/v1/models/air/forecast", "text/csv");
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)w.csv, z.avail_in = (uInt)w.n_csv;
    z.next_out = packed, z.avail_out = (uInt)n;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    const char *headers =
        "Content-Type: text/csv\r\nContent-Encoding: gzip\r\nAccept: text/csv\r\n";
    same_text(ask(port, "POST", "/v1/models/air/forecast", headers, (char *)packed, z.total_out),
              plain.body);
    forget_reply(&plain);
    /* eight megabytes of nothing */
    deflateReset(&z);
    Bytef *zeros = calloc(1, 8 << 20);
    z.next_in = zeros, z.avail_in = 8 << 20;
    z.next_out = packed, z.avail_out = 8 << 20;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    check_reply(ask(port, "POST", "/v1/models/air/forecast", headers, (char *)packed, z.total_out),
                413, "LLAP_ELIMIT");
    check_reply(ask(port, "POST", "/v1/models/air/forecast", headers, "abc", 3), 422, "gzip");
    deflateEnd(&z);
    free(zeros);
    free(packed);
    reply csv = ask(port, "POST", "/v1/models/air/forecast?horizon=2h&quantiles=0.1,0.9",
                    "Content-Type: text/csv\r\n", same, sizeof same - 1);
    assert_int_equal(csv.status, 200);
    same_text(ask(port, "POST", "/v1/models/air/forecast", "Content-Type: application/json\r\n",
                  table, sizeof table - 1),
              csv.body);
    forget_reply(&csv);
    check_reply(ask(port, "POST", "/v1/models/air/forecast?series=Rome",
                    "Content-Type: text/csv\r\nAccept: text/csv\r\n",
                    "time,v0\n2024-01-01,1\n2024-01-02,2\n2024-01-03,1\n", 47),
                200, "\nRome,2024-01-03");
    llap_server_stop(s);
}

/* ---- what is refused ---- */

static const struct {
    const char *method, *path, *headers, *body;
    int         status;
    const char *says;
} mistakes[] = {
    { "GET", "/nothing", "", NULL, 404, "LLAP_ENOTFOUND" },
    { "GET", "/v1/models/air/forecast", "", NULL, 405, "POST" },
    { "GET", "/v1/models/none", "", NULL, 404, "no model 'none'" },
    { "GET", "/v1/models/..%2f..%2fetc", "", NULL, 404, "nothing is here" },
    { "GET", "/v1/models/.hidden", "", NULL, 404, "nothing is here" },
    { "POST", "/v1/models/air/forecast", "", "x", 415, "unsupported" },
    { "POST", "/v1/models/air/forecast", "Content-Type: text/csv\r\n", "", 422, "empty" },
    { "POST", "/v1/models/air/forecast", "Content-Type: text/csv\r\n", "time,x\n1,2", 400,
      "LLAP_EINVAL" },
    { "POST", "/v1/models/none/forecast", "Content-Type: text/csv\r\n", "time,x\n1,2", 404,
      "no model" },
    { "POST", "/v1/models/air/forecast?horizon=never", "Content-Type: text/csv\r\n", NULL, 400,
      "LLAP_EOPTION" },
    { "POST", "/v1/models/air/forecast?horizom=1h", "Content-Type: text/csv\r\n", "x", 400,
      "did you mean 'horizon'" },
    { "POST", "/v1/models/air/forecast?times=/etc/passwd", "Content-Type: text/csv\r\n", "x", 400,
      "no parameter 'times'" },
    { "POST", "/v1/models/air/forecast?static=/etc/passwd", "Content-Type: text/csv\r\n", "x", 400,
      "no parameter 'static'" },
    { "POST", "/v1/models/air/forecast?zone=../../../../etc/passwd", "Content-Type: text/csv\r\n",
      "time,x\n1,2", 400, "zone" },
    { "POST", "/v1/models/air/forecast?only=%ff", "Content-Type: text/csv\r\n", "x", 400, "UTF-8" },
    { "POST", "/v1/models/air/forecast?only=a%00b", "Content-Type: text/csv\r\n", "x", 400,
      "UTF-8" },
    { "POST", "/v1/models/air/forecast", "Content-Type: text/csv\r\nAccept: image/png\r\n", "x",
      406, "text/csv" },
    { "POST", "/v1/models/air/forecast", "Content-Type: application/json\r\n", "{\"data\": 1}", 422,
      "columns" },
    { "POST", "/v1/models/air/forecast", "Content-Type: application/json\r\n",
      "{\"data\": {\"a\": [1], \"b\": [1, 2]}}", 422, "expected 1 values" },
    { "POST", "/v1/models/air/forecast", "Content-Type: application/json\r\n",
      "{\"data\": {\"a\": [1]}, \"paths\": 1}", 422, "unknown key" },
    { "POST", "/v1/models/air/forecast", "Content-Type: application/json\r\n",
      "[[[[[[[[[[[[]]]]]]]]]]]]", 413, "LLAP_ELIMIT" },
    { "POST", "/v1/models/air/forecast?horizon=900000s&step=1s", "Content-Type: text/csv\r\n", NULL,
      413, "LLAP_ELIMIT" },
    { "POST", "/v1/models/air/forecast?grid=1ms", "Content-Type: text/csv\r\n", NULL, 413,
      "LLAP_ELIMIT" },
    { "PUT", "/v1/models/air", "Content-Type: application/octet-stream\r\n", "x", 403, "admin" },
    { "DELETE", "/v1/models/air", "", NULL, 403, "admin" },
    { "GET", "/v1/models", "Origin: https://example.org\r\n", NULL, 403, "Origin" },
    { "GET", "/metrics", "", "a body", 400, "takes no body" },
};

static void mistakes_are_problems(void **state)
{
    (void)state;
    llap_server *s = serve((llap_serve_opts){ .max_memory = 64 });
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        const bool csv = mistakes[i].body == NULL && strcmp(mistakes[i].method, "POST") == 0;
        check_reply(ask(llap_server_port(s), mistakes[i].method, mistakes[i].path,
                        mistakes[i].headers, csv ? w.csv : mistakes[i].body,
                        csv                        ? w.n_csv
                        : mistakes[i].body != NULL ? strlen(mistakes[i].body)
                                                   : 0),
                    mistakes[i].status, mistakes[i].says);
    }
    llap_server_stop(s);
}

static void another_host_is_refused(void **state)
{
    (void)state;
    static const char request[] =
        "GET /v1/models HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    llap_server *s = serve((llap_serve_opts){ 0 });
    const int    fd = dial(llap_server_port(s));
    assert_true(put_bytes(fd, request, sizeof request - 1));
    check_reply(get_reply(fd), 403, "Host");
    llap_server_stop(s);
    llap_serve_opts open = { .address = "0.0.0.0", .port = LLAP_ZERO };
    CHECK_FAIL(llap_server_start(NULL, 0, &open, &s), LLAP_EOPTION, "tokens");
    open = (llap_serve_opts){ .port = LLAP_ZERO, .max_body = -3 };
    CHECK_FAIL(llap_server_start(NULL, 0, &open, &s), LLAP_EOPTION, "max_body");
}

/* ---- who may ---- */

static const char
    reader[] = "Authorization: Bearer reader-0123456789\r\n",
    admin[] = "Authorization: Bearer admin-0123456789ab\r\n",
    upload[] =
        "Authorization: Bearer admin-0123456789ab\r\nContent-Type: application/octet-stream\r\n";

static void write_tokens(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    (void)chmod(path, 0600);
}

static void tokens_say_who_may(void **state)
{
    (void)state;
    const char *path = in_folder("tokens");
    write_tokens(
        path, "# who right token\nann read reader-0123456789\n\nroot admin admin-0123456789ab\n");
    llap_server *s = serve((llap_serve_opts){ .tokens = path });
    const int    port = llap_server_port(s);
    size_t       n;
    char        *model = read_all(w.model_path, &n);
    check_reply(ask(port, "GET", "/v1/models", "", NULL, 0), 401, NULL);
    check_reply(
        ask(port, "GET", "/v1/models", "Authorization: Bearer reader-012345678\r\n", NULL, 0), 401,
        NULL);
    check_reply(ask(port, "GET", "/v2/health/live", "", NULL, 0), 200, "true");
    check_reply(ask(port, "GET", "/v1/models", reader, NULL, 0), 200, "\"air\"");
    check_reply(ask(port, "DELETE", "/v1/models/air", reader, NULL, 0), 403, "right");
    check_reply(ask(port, "PUT", "/v1/models/other", upload, model, n), 201, "\"other\"");
    check_reply(ask(port, "PUT", "/v1/models/other", upload, model, n), 200, "\"other\"");
    check_reply(ask(port, "PUT", "/v1/models/bad", upload, model, n - 1), 422, "LLAP_EFORMAT");
    check_reply(ask(port, "GET", "/v1/models/other", reader, NULL, 0), 200, "targets");
    check_reply(ask(port, "DELETE", "/v1/models/other", admin, NULL, 0), 204, NULL);
    check_reply(ask(port, "GET", "/v1/models/other", reader, NULL, 0), 404, NULL);
    write_tokens(path, "ann read another-0123456789\n");
    CHECK_OK(llap_server_reload(s));
    check_reply(ask(port, "GET", "/v1/models", reader, NULL, 0), 401, NULL);
    write_tokens(path, "ann everything another-0123456789\n");
    CHECK_FAIL(llap_server_reload(s), LLAP_EFORMAT, "tokens:1: expected one of the rights");
    check_reply(
        ask(port, "GET", "/v1/models", "Authorization: bearer another-0123456789\r\n", NULL, 0),
        200, NULL);
    free(model);
    llap_server_stop(s);
    (void)chmod(path, 0644);
    const llap_serve_opts o = { .tokens = path, .port = LLAP_ZERO };
    CHECK_FAIL(llap_server_start(NULL, 0, &o, &s), LLAP_EINVAL, "chmod 600");
}

/* ---- limits ---- */

static void slow_clients_are_cut_off(void **state)
{
    (void)state;
    llap_server *s = serve((llap_serve_opts){ .patience = 1 });
    const int    port = llap_server_port(s), silent = dial(port), slow = dial(port);
    const char  *head = "POST /v1/models/air/forecast HTTP/1.1\r\nHost: localhost\r\n"
                        "Content-Type: text/csv\r\nContent-Length: 1000\r\n\r\n";
    assert_true(put_bytes(silent, "GET ", 4) && put_bytes(slow, head, strlen(head)));
    for (int i = 0; i < 40 && put_bytes(slow, "x", 1); i++)
        (void)nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
    check_reply(get_reply(silent), 0, NULL);
    check_reply(get_reply(slow), 0, NULL);
    reply r = ask(port, "GET", "/metrics", "", NULL, 0);
    assert_non_null(strstr(r.body, "llapdiff_cut_total 2\n"));
    forget_reply(&r);
    llap_server_stop(s);
}

static void limits_hold(void **state)
{
    (void)state;
    llap_server *s = serve((llap_serve_opts){ .max_rows = 10 });
    check_reply(post_csv(llap_server_port(s), "/v1/models/air/forecast", "*/*"), 413, "rows");
    llap_server_stop(s);
    s = serve((llap_serve_opts){ .max_series = 1 });
    check_reply(post_csv(llap_server_port(s), "/v1/models/air/forecast", "*/*"), 413, "series");
    llap_server_stop(s);
    char *large = malloc((3 << 20) + 1);
    memset(large, 'x', (3 << 20) + 1);
    s = serve((llap_serve_opts){ .max_body = 1 });
    check_reply(ask(llap_server_port(s), "POST", "/v1/models/air/forecast",
                    "Content-Type: text/csv\r\n", large, (1 << 20) + 1),
                413, "1 MB");
    large[3 << 20] = '\0';
    reply r = ask(llap_server_port(s), "GET", large + (3 << 20) - 60000, "", NULL, 0);
    assert_true(r.status == 414 || r.status == 0 || r.status == 431);
    forget_reply(&r);
    free(large);
    llap_server_stop(s);
}

/* ---- many at once, and the end ---- */

static void *ask_often(void *user)
{
    const int port = *(int *)user;
    for (int i = 0; i < 10; i++) {
        reply r = post_csv(port, "/v1/models/air/forecast?horizon=2h", "text/csv");
        if (r.status != 200 && r.status != 0) fail_msg("found %d: %s", r.status, r.body);
        const bool over = r.status == 0;
        forget_reply(&r);
        if (over) break;
    }
    return NULL;
}

/* The pages' and the document's, and that what came is answered when the server stops. */
static void many_at_once_and_then_the_end(void **state)
{
    (void)state;
    llap_server *s = serve((llap_serve_opts){ .workers = 3 });
    int          port = llap_server_port(s);
    pthread_t    t[8];
    reply        r = ask(port, "GET", "/", "", NULL, 0);
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(r.head, "Content-Security-Policy: default-src 'none'"));
    char *etag = strstr(r.head, "ETag: "), again[64];
    assert_non_null(etag);
    snprintf(again, sizeof again, "If-None-Match: %.18s\r\n", etag + 6);
    forget_reply(&r);
    check_reply(ask(port, "GET", "/", again, NULL, 0), 304, NULL);
    check_reply(ask(port, "GET", "/openapi.json", "", NULL, 0), 200,
                "\"/v1/models/{model}/forecast\"");
    check_reply(ask(port, "HEAD", "/v1/models", "", NULL, 0), 200, NULL);
    for (int i = 0; i < 8; i++) assert_int_equal(pthread_create(&t[i], NULL, ask_often, &port), 0);
    for (int i = 0; i < 8; i++) (void)pthread_join(t[i], NULL);
    check_reply(ask(port, "GET", "/metrics", "", NULL, 0), 200,
                "llapdiff_requests_total{route=\"forecast\",status=\"2xx\"} 80\n");
    llap_server_stop(s);
    assert_int_equal(dial(port), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forecasts_are_those_of_the_library),
        cmocka_unit_test(data_in_other_forms),
        cmocka_unit_test(mistakes_are_problems),
        cmocka_unit_test(another_host_is_refused),
        cmocka_unit_test(tokens_say_who_may),
        cmocka_unit_test(slow_clients_are_cut_off),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(many_at_once_and_then_the_end),
    };
    return cmocka_run_group_tests(tests, make_world, remove_world);
}
