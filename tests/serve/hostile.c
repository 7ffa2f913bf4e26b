/* Requests that mean harm: they get an answer that says so, or none; the server stays as it was. */
#include "world.h"

#include <zlib.h>

static void numbers_and_times_beyond_sense(void **state)
{
    (void)state;
    static const char *const queries[] = {
        "horizon=1e300h",
        "horizon=99999999d",
        "horizon=9999d&step=1s",
        "step=1ns",
        "horizon=nan",
        "quantiles=nan",
        "quantiles=0.5,1e999",
        "every=1ns",
        "grid=1ns",
        "at=9999-12-31T00:00:00Z",
        "at=2262-04-11T23:47:16Z",
        "seed=99999999999999999999",
        "samples=10001",
        "samples=1e9",
        "zone=../../../etc/passwd",
        "zone=/etc/passwd",
        "time_format=%25s%25n",
        "skip_lines=9223372036854775807",
        "row_min=nan",
        "separator=%00",
        "horizon=2h&horizon=2h",
        "horizon=%ff",
        "=1",
        "times=/etc/passwd",
        "device=cuda",
        "known=/etc/passwd",
        "%00=1",
    };
    llap_server *s = serve((llap_serve_opts){ .max_seconds = 20, .max_memory = 256 });
    const int    port = llap_server_port(s);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        char path[256];
        snprintf(path, sizeof path, "/v1/models/air/forecast?%s", queries[i]);
        reply r = post_csv(port, path, "text/csv");
        if (r.status < 400 || r.status >= 500 || strstr(r.body, "\"title\"") == NULL)
            fail_msg("%s: found %d: %.200s", queries[i], r.status, r.status == 0 ? "" : r.body);
        forget_reply(&r);
    }
    llap_server_stop(s);
}

/* Values and times as data may hold them: answered, or refused as data that cannot be. */
static void data_beyond_sense(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "time,v0\n2024-01-01,1e400\n2024-01-02,1\n",
        "time,v0\n2024-01-01,1e38\n2024-01-02,-1e38\n2024-01-03,3e38\n",
        "time,v0\n2024-01-01,1e-400\n2024-01-02,1\n",
        "time,v0\n2024-01-01,inf\n2024-01-02,-inf\n2024-01-03,nan\n",
        "time,v0\n2262-04-11T23:47:16Z,1\n1677-09-21T00:12:44Z,2\n",
        "time,v0\n9223372036854775807,1\n-9223372036854775808,2\n",
        "time,v0\n1e300,1\n1e308,2\n",
        "time,v0\n99999-01-01,1\n",
        "v0,v0\n1,2\n",
        "time,v0\n,\n,\n",
        "\n\n\n",
        ",,,,\n,,,,\n",
        "\"",
        "time,v0\n2024-01-01,\"1\n",
    };
    static const char *const texts[] = {
        "{\"data\":{\"time\":[1e400],\"v0\":[1]}}",
        "{\"data\":{\"time\":[\"2024-01-01\"],\"v0\":[1e400]}}",
        "{\"data\":{\"time\":[9223372036854775808],\"v0\":[1]}}",
        "{\"data\":{\"time\":[[[[[[[[[[1]]]]]]]]]],\"v0\":[1]}}",
        "{\"data\":{\"time\":[\"\\u0000\"],\"v0\":[1]}}",
        "{\"data\":{\"time\":[\"\\ud800\"],\"v0\":[1]}}",
        "{\"data\":{}}",
        "{\"data\":[]}",
        "{\"data\":{\"time\":{}}}",
        "[]",
        "nul",
        "{\"data\":{\"time\":[1],\"v0\":[1]},\"horizon\":{\"a\":[1]}}",
    };
    llap_server *s = serve((llap_serve_opts){ .max_seconds = 20, .max_memory = 256 });
    const int    port = llap_server_port(s);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies + sizeof texts / sizeof *texts; i++) {
        const bool  csv = i < sizeof bodies / sizeof *bodies;
        const char *body = csv ? bodies[i] : texts[i - sizeof bodies / sizeof *bodies];
        reply       r = ask(port, "POST", "/v1/models/air/forecast?horizon=2h",
                      csv ? "Content-Type: text/csv\r\n" : "Content-Type: application/json\r\n",
                            body, strlen(body));
        if (r.status < 200 || r.status >= 500)
            fail_msg("%s: found %d: %.200s", body, r.status, r.status == 0 ? "" : r.body);
        forget_reply(&r);
    }
    llap_server_stop(s);
}

/* Heads that no client of good will sends; each on a connection of its own. */
static void heads_beyond_sense(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "GET /v1/models/../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /v1/models/%2e%2e%2f%2e%2e%2fetc%2fpasswd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /v1/models/%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET //etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        "GET /v1/models HTTP/1.1\r\n\r\n",
        "GET /v1/models HTTP/9.9\r\nHost: localhost\r\n\r\n",
        "POST /v1/models/air/forecast HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
        "Content-Length: -1\r\n\r\n",
        "POST /v1/models/air/forecast HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
        "Content-Length: 99999999999999999999999\r\n\r\n",
        "POST /v1/models/air/forecast HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc\r\n",
        "POST /v1/models/air/forecast HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "\r\n\r\n\r\n\x16\x03\x01\x02",
        "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAccept: */*;q=1e999,;;;,text/;q=nan\r\n\r\n",
        "GET /v1/models HTTP/1.1\r\nHost: [::1\r\nOrigin: ://\r\n\r\n",
    };
    llap_server *s = serve((llap_serve_opts){ .patience = 2 });
    const int    port = llap_server_port(s);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        const int fd = dial(port);
        assert_true(put_bytes(fd, heads[i], strlen(heads[i])));
        (void)shutdown(fd, SHUT_WR);
        reply r = get_reply(fd);
        if (r.status >= 500 && r.status != 505) fail_msg("%s: found %d", heads[i], r.status);
        assert_true(r.n == 0 || strstr(r.body, "root:") == NULL);
        forget_reply(&r);
    }
    check_reply(ask(port, "GET", "/v2/health/ready", "", NULL, 0), 200, NULL);
    llap_server_stop(s);
}

static double metric(int port, const char *name)
{
    reply       r = ask(port, "GET", "/metrics", "", NULL, 0);
    const char *at = strstr(r.body, name);
    assert_non_null(at);
    const double x = strtod(at + strlen(name), NULL);
    forget_reply(&r);
    return x;
}

/* Asks for a long answer and does not fetch more than its first line: 200, 503. */
static int ask_and_wait(int port, int *fd)
{
    const int little = 4096;
    char      head[256], first[16] = "";
    snprintf(head, sizeof head,
             "POST /v1/models/air/forecast?horizon=20000h HTTP/1.1\r\nHost: localhost\r\n"
             "Content-Type: text/csv\r\nContent-Length: %zu\r\n\r\n",
             w.n_csv);
    *fd = dial(port);
    (void)setsockopt(*fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    assert_true(put_bytes(*fd, head, strlen(head)) && put_bytes(*fd, w.csv, w.n_csv));
    assert_int_equal(recv(*fd, first, 12, MSG_WAITALL), 12);
    return atoi(first + 9);
}

static void wait_until_nothing_is_held(int port)
{
    while (metric(port, "\nllapdiff_body_bytes ") > 0)
        (void)nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
}

/* Answers that nobody fetches count against the memory of all. */
static void answers_that_wait_are_bounded(void **state)
{
    (void)state;
    enum { CLIENTS = 12 }; /* of about 7 MB each */
    llap_server *s = serve((llap_serve_opts){ .max_memory = 64, .patience = 3000, .workers = 1 });
    const int    port = llap_server_port(s);
    int          fd[CLIENTS], refused = 0, answered = 0;
    for (int i = 0; i < CLIENTS; i++) {
        const int status = ask_and_wait(port, &fd[i]);
        answered += status == 200;
        refused += status == 503;
    }
    assert_int_equal(answered + refused, CLIENTS);
    assert_true(answered > 0 && refused > 0);
    for (int i = 0; i < CLIENTS; i++) close(fd[i]);
    wait_until_nothing_is_held(port);
    check_reply(post_csv(port, "/v1/models/air/forecast?horizon=20000h", "text/csv"), 200, NULL);
    llap_server_stop(s);
}

/* Who does not fetch an answer is cut off, however long it is. */
static void who_does_not_fetch_is_cut_off(void **state)
{
    (void)state;
    llap_server *s = serve((llap_serve_opts){ .patience = 1 });
    const int    port = llap_server_port(s);
    int          fd;
    assert_int_equal(ask_and_wait(port, &fd), 200);
    wait_until_nothing_is_held(port);
    assert_true(metric(port, "\nllapdiff_cut_total ") == 1);
    close(fd);
    llap_server_stop(s);
}

/* A long answer that is fetched is whole. */
static void answers_that_are_fetched(void **state)
{
    (void)state;
    llap_server *s = serve((llap_serve_opts){ .patience = 2 });
    reply   r = post_csv(llap_server_port(s), "/v1/models/air/forecast?horizon=20000h", "text/csv");
    int64_t lines = 0;
    assert_int_equal(r.status, 200);
    for (size_t i = 0; i < r.n; i++) lines += r.body[i] == '\n';
    assert_int_equal(lines, 1 + 2 * 20000);
    assert_int_equal(r.body[r.n - 1], '\n');
    forget_reply(&r);
    llap_server_stop(s);
    s = serve((llap_serve_opts){ .max_rows = 39999 });
    check_reply(post_csv(llap_server_port(s), "/v1/models/air/forecast?horizon=20000h", "text/csv"),
                413, "40000 rows");
    llap_server_stop(s);
}

/* Streams remember: what one may come to remember is bounded. */
static void streams_do_not_grow_for_ever(void **state)
{
    (void)state;
    static const char one[] = "entity,time,v0\na,2024-01-01T00:00:00Z,1\n",
                      three[] = "entity,time,v0\na,2024-01-01T01:00:00Z,1\n"
                                "b,2024-01-01T00:00:00Z,1\nc,2024-01-01T00:00:00Z,1\n",
                      two[] = "entity,time,v0\na,2024-01-01T01:00:00Z,1\n"
                              "b,2024-01-01T00:00:00Z,1\n";
    const char  *csv = "Content-Type: text/csv\r\n", *path = "/v1/streams/ward/readings";
    llap_server *s = serve((llap_serve_opts){ .store = in_folder("hostile.db"), .max_series = 3 });
    const int    port = llap_server_port(s);
    check_reply(ask(port, "POST", path, csv, one, sizeof one - 1), 200, NULL);
    check_reply(ask(port, "POST", path, csv, three, sizeof three - 1), 200, NULL);
    llap_server_stop(s);
    s = serve((llap_serve_opts){ .store = in_folder("hostile2.db"), .max_series = 2 });
    const int other = llap_server_port(s);
    check_reply(ask(other, "POST", path, csv, one, sizeof one - 1), 200, NULL);
    check_reply(ask(other, "POST", path, csv, two, sizeof two - 1), 200, NULL);
    check_reply(ask(other, "POST", path, csv, two, sizeof two - 1), 200, NULL);
    check_reply(ask(other, "POST", path, csv, "entity,time,v0\nc,2024-01-01T00:00:00Z,1\n", 40),
                413, "1 new entities beside 2");
    llap_server_stop(s);
}

/* Many writers at once read one large body at a time: the others are told to come again. */
static void large_bodies_one_at_a_time(void **state)
{
    (void)state;
    enum { BYTES = 40 << 20 };
    llap_server *s = serve((llap_serve_opts){ .store = in_folder("hostile3.db") });
    const int    port = llap_server_port(s);
    Bytef       *plain = malloc(BYTES), *packed = malloc(BYTES);
    z_stream     z = { 0 };
    size_t       n = (size_t)sprintf((char *)plain, "entity,time,v0\n");
    while (n + 64 < BYTES) n += (size_t)sprintf((char *)plain + n, "a,2024-01-01T00:00:00Z,0.5\n");
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = plain, z.avail_in = (uInt)n, z.next_out = packed, z.avail_out = BYTES;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    char head[256];
    int  fd[8], taken = 0, later = 0;
    snprintf(
        head, sizeof head,
        "POST /v1/streams/ward/readings HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
        "Connection: close\r\nContent-Length: %lu\r\n\r\n",
        z.total_out);
    for (int i = 0; i < 8; i++) {
        fd[i] = dial(port);
        assert_true(put_bytes(fd[i], head, strlen(head)) &&
                    put_bytes(fd[i], (char *)packed, z.total_out));
    }
    for (int i = 0; i < 8; i++) {
        reply r = get_reply(fd[i]);
        taken += r.status == 200 || r.status == 413;
        later += r.status == 503 && strstr(r.head, "Retry-After: 1") != NULL;
        forget_reply(&r);
    }
    assert_int_equal(taken + later, 8);
    assert_true(taken >= 1 && later >= 1);
    deflateEnd(&z);
    free(plain);
    free(packed);
    llap_server_stop(s);
}

/* A name that every row of the answer repeats: what is written counts in each of its forms. */
static void answers_larger_than_their_data(void **state)
{
    (void)state;
    enum { NAME = 1 << 20 };
    static const char *const accept[] = { "application/json", "text/csv" };
    llap_server             *s = serve((llap_serve_opts){ .max_memory = 64 });
    const int                port = llap_server_port(s);
    char                    *body = malloc(NAME + 100), headers[100];
    size_t                   n = (size_t)sprintf(body, "entity,time,v0\n");
    memset(body + n, 'x', NAME);
    n += NAME + (size_t)sprintf(body + n + NAME, ",2024-01-01T00:00:00Z,1\n");
    for (int i = 0; i < 2; i++) {
        const char *few = "/v1/models/air/forecast?horizon=10h",
                   *many = "/v1/models/air/forecast?horizon=1000h";
        snprintf(headers, sizeof headers, "Content-Type: text/csv\r\nAccept: %s\r\n", accept[i]);
        check_reply(ask(port, "POST", few, headers, body, n), 200, NULL);
        check_reply(ask(port, "POST", many, headers, body, n), 413, "needs more than 64 MB");
    }
    free(body);
    llap_server_stop(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_larger_than_their_data),
        cmocka_unit_test(numbers_and_times_beyond_sense),
        cmocka_unit_test(data_beyond_sense),
        cmocka_unit_test(heads_beyond_sense),
        cmocka_unit_test(answers_that_wait_are_bounded),
        cmocka_unit_test(who_does_not_fetch_is_cut_off),
        cmocka_unit_test(answers_that_are_fetched),
        cmocka_unit_test(streams_do_not_grow_for_ever),
        cmocka_unit_test(large_bodies_one_at_a_time),
    };
    return cmocka_run_group_tests(tests, make_world, remove_world);
}
