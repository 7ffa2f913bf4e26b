/* The disk full and not any more; the database gone and back: requests are told so, nothing is
 * lost, nothing is half there, and the server goes on by itself. */
#define _GNU_SOURCE /* unshare */
#include "postgres.h"
#include "program.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>

static int64_t sent; /* rows that are to be in the store, in this order */

/* Row i of the stream; the same request again counts once. */
static reply send_row(int port, int64_t i)
{
    char         body[128], headers[128], when[40];
    const time_t at = (time_t)(1700000000 + i * 60);
    struct tm    t;
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &t));
    snprintf(body, sizeof body, "entity,time,v0\na,%s,%lld\n", when, (long long)(i % 50));
    snprintf(headers, sizeof headers, "Content-Type: text/csv\r\nIdempotency-Key: %lld\r\n",
             (long long)i);
    return ask(port, "POST", "/v1/streams/ward/readings", headers, body, strlen(body));
}

static void send_rows(int port, int64_t n)
{
    for (int64_t i = 0; i < n; i++) check_reply(send_row(port, sent++), 200, "\"rows\":1,");
}

/* Tries the next row until it is refused: as one that may be sent again. */
static void send_until_refused(int port)
{
    for (int64_t i = 0;; i++) {
        reply      r = send_row(port, sent);
        const bool refused = r.status == 503;
        if (!refused && r.status != 200) fail_msg("found %d: %s", r.status, r.body);
        if (refused) {
            assert_non_null(strstr(r.body, "LLAP_EUNAVAILABLE"));
            assert_non_null(strstr(r.head, "Retry-After: "));
        } else {
            sent++;
        }
        forget_reply(&r);
        if (refused) return;
        assert_true(i < 100000);
    }
}

/* The refused row again, until it is taken. */
static void send_until_taken(int port)
{
    for (int i = 0;; i++) {
        reply      r = send_row(port, sent);
        const bool taken = r.status == 200;
        if (!taken && r.status != 503) fail_msg("found %d: %s", r.status, r.body);
        if (!taken && i > 600) fail_msg("still refused: %s", r.body);
        forget_reply(&r);
        if (taken) break;
        (void)nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    }
    sent++;
}

/* Every row once, and the forecast is that of all of them. */
static void check_all(int port)
{
    const char *csv = "Accept: text/csv\r\n";
    reply       h = ask(port, "GET", "/v1/streams/ward/history?limit=1000000", csv, NULL, 0);
    reply       f = ask(port, "GET", "/v1/streams/ward/forecast", csv, NULL, 0);
    int64_t     rows = 0;
    assert_int_equal(h.status, 200);
    assert_int_equal(f.status, 200);
    for (const char *line = strchr(h.body, '\n') + 1; *line != '\0'; rows++) {
        const char *value = strstr(line, ",v0,");
        assert_int_equal(atoi(value + 4), rows % 50);
        line = strchr(line, '\n') + 1;
    }
    assert_int_equal(rows, sent);
    llap_panel          *p = NULL;
    llap_answer         *a = NULL;
    char                *want = NULL;
    size_t               n;
    const llap_read_opts how = { .form = LLAP_TABLE_LONG, .codes = LLAP_READ_CODES_KEEP };
    CHECK_OK(llap_panel_read_memory("data", h.body, h.n, &how, &p));
    CHECK_OK(llap_forecast(w.model, p, &(llap_forecast_opts){ 0 }, &a));
    CHECK_OK(llap_answer_csv(a, &want, &n));
    assert_string_equal(f.body, want);
    llap_text_free(want);
    llap_answer_destroy(a);
    llap_panel_destroy(p);
    forget_reply(&h);
    forget_reply(&f);
}

static program start(const char *store)
{
    char *argv[] = { "serve", w.model_path, "--port", "0", "--store", (char *)store, "-q", NULL };
    sent = 0;
    return run_program(argv, in_folder("log"));
}

/* ---- the disk ---- */

static bool own_mounts; /* this program may mount, and nobody else sees it */

static void the_disk_is_full(void **state)
{
    (void)state;
    static const char page[4096] = "x";
    const char       *disk = in_folder("disk"), *ballast = in_folder("disk/ballast");
    if (!own_mounts) skip();
    assert_int_equal(mkdir(disk, 0700), 0);
    if (mount("tmpfs", disk, "tmpfs", 0, "size=8m") != 0) skip();
    program p = start(in_folder("disk/readings.db"));
    for (int round = 0; round < 3; round++) {
        send_rows(p.port, 40);
        const int fd = open(ballast, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        while (write(fd, page, sizeof page) > 0) {
        }
        assert_int_equal(errno, ENOSPC);
        close(fd);
        send_until_refused(p.port);
        reply r = ask(p.port, "GET", "/v1/streams/ward/forecast", "", NULL, 0);
        assert_int_equal(r.status, 200); /* what needs no disk goes on */
        forget_reply(&r);
        assert_int_equal(unlink(ballast), 0);
        send_until_taken(p.port);
    }
    send_rows(p.port, 40);
    check_all(p.port);
    assert_int_equal(end_program(&p, SIGKILL), -1);
    const int64_t all = sent;
    p = start(in_folder("disk/readings.db"));
    sent = all;
    check_all(p.port);
    assert_int_equal(end_program(&p, SIGTERM), 0);
    assert_int_equal(umount(disk), 0);
}

/* ---- the database ---- */

static void the_database_goes_and_comes(void **state)
{
    (void)state;
    static const int how[] = { SIGINT, SIGQUIT, SIGKILL };
    postgres         server;
    if (!postgres_make(&server, true)) skip();
    program p = start(server.url);
    for (int round = 0; round < 3; round++) {
        send_rows(p.port, 20);
        postgres_end(&server, how[round]);
        send_until_refused(p.port);
        check_reply(ask(p.port, "GET", "/v2/health/ready", "", NULL, 0), 503, NULL);
        check_reply(ask(p.port, "GET", "/v2/health/live", "", NULL, 0), 200, NULL);
        postgres_go(&server);
        send_until_taken(p.port);
        check_reply(ask(p.port, "GET", "/v2/health/ready", "", NULL, 0), 200, NULL);
    }
    send_rows(p.port, 20);
    check_all(p.port);
    assert_int_equal(end_program(&p, SIGTERM), 0);
    postgres_end(&server, SIGINT);
}

int main(void)
{
    /* before there is a second thread */
    own_mounts =
        unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_disk_is_full),
        cmocka_unit_test(the_database_goes_and_comes),
    };
    return cmocka_run_group_tests(tests, make_world, remove_world);
}
