/* Streams and `llapdiff watch` that take their readings from a real broker. */
#include "broker.h"

static llap_stream *open_stream(void)
{
    llap_stream *s = NULL;
    CHECK_OK(llap_stream_create(w.model, &(llap_stream_opts){ 0 }, &s));
    return s;
}

/* Until there is a row of that entity: what was acknowledged just before the end may come again. */
static void take_until(llap_broker *b, const llap_stream *s, const char *entity)
{
    int64_t n = 0, newest;
    while (!llap_stream_newest(s, entity, &newest)) {
        const llap_status st = llap_broker_take(b, 100, &n);
        if (st == LLAP_OK && n > 0) (void)llap_broker_acknowledge(b);
        else if (st != LLAP_OK && st != LLAP_EUNAVAILABLE) fail_msg("%s", llap_error_detail());
    }
}

/* Readings until one has come: the broker knows the client then. */
static void publish_until_known(const broker *of, llap_broker *b, const llap_stream *s)
{
    int64_t newest, n;
    for (int hour = 0; !llap_stream_newest(s, "s000", &newest); hour++) {
        char text[64];
        snprintf(text, sizeof text, "2030-01-%02dT%02d:00:00Z,1.5", 1 + hour / 24, hour % 24);
        publish(of, "ward/s000/v0", text);
        if (llap_broker_take(b, 100, &n) == LLAP_OK && n > 0) (void)llap_broker_acknowledge(b);
    }
}

static void messages_are_rows(void **state)
{
    (void)state;
    char               url[128];
    int64_t            newest = 0;
    broker             of = make_broker("rows", "allow_anonymous true");
    llap_stream       *s = open_stream();
    llap_broker       *b = NULL;
    llap_broker_counts before, c;
    int64_t            n;
    broker_go(&of);
    snprintf(url, sizeof url, "%sward/%%23", of.url);
    CHECK_OK(llap_broker_open(s, url, "a", NULL, &b));
    publish_until_known(&of, b, s);
    publish(&of, "ward/s009/v0", "2030-01-30T00:00:00Z,9"); /* behind all that came so far */
    take_until(b, s, "s009");
    llap_broker_count(b, &before);
    publish(&of, "ward/s001", "{\"time\": 1893459600, \"v0\": 2.5, \"battery\": 90}");
    publish(&of, "ward/s002/v0", "on");
    publish(&of, "ward/s001/battery", "{\"charge\": 90}");
    publish(&of, "ward/s010/v0", "2030-01-30T00:00:00Z,10");
    take_until(b, s, "s010");
    llap_broker_count(b, &c);
    assert_int_equal(c.messages - before.messages, 4);
    assert_int_equal(c.rows - before.rows, 2);
    assert_int_equal(c.refused - before.refused, 1);
    assert_int_equal(c.passed - before.passed, 1);
    assert_true(llap_stream_newest(s, "s001", &newest) && newest == INT64_C(1893459600000000000));
    assert_false(llap_stream_newest(s, "s002", &newest));
    publish(&of, "ward/s005/v0", "2030-01-31T00:00:00Z,5");
    while (!llap_stream_newest(s, "s005", &newest)) (void)llap_broker_take(b, 100, &n);
    llap_broker_close(b); /* that one was not acknowledged */
    llap_stream_destroy(s);
    s = open_stream();
    CHECK_OK(llap_broker_open(s, url, "a", NULL, &b));
    take_until(b, s, "s005");
    llap_broker_close(b);
    CHECK_OK(llap_broker_open(s, url, "a", NULL, &b));
    publish(&of, "ward/s003/v0", "2030-02-01T00:00:00Z,3");
    take_until(b, s, "s003");
    broker_end(&of);
    while (llap_broker_take(b, 100, &n) == LLAP_OK) {
    }
    assert_int_equal(llap_broker_take(b, 100, &n), LLAP_EUNAVAILABLE);
    broker_go(&of);
    publish(&of, "ward/s004/v0", "2030-02-01T00:00:00Z,4");
    take_until(b, s, "s004");
    llap_broker_close(b);
    llap_stream_destroy(s);
    broker_end(&of);
}

static void what_cannot_be(void **state)
{
    (void)state;
    llap_stream *s = open_stream();
    llap_broker *b = NULL;
    CHECK_FAIL(llap_broker_open(s, "127.0.0.1/#", NULL, NULL, &b), LLAP_EINVAL, "mqtt://");
    CHECK_FAIL(llap_broker_open(s, "mqtt://127.0.0.1/%23?stream=a", NULL, NULL, &b), LLAP_EINVAL,
               "of a server");
    assert_null(b);
    llap_stream_destroy(s);
}

static pid_t watch(const char *url, const char *kept, const char *out)
{
    const pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int fd = open(out, O_WRONLY | O_CREAT | O_APPEND, 0600);
        (void)dup2(fd, STDOUT_FILENO);
        (void)execl(LLAP_PROGRAM, LLAP_PROGRAM, "watch", w.model_path, "--mqtt", url, "--state",
                    kept, "--json", (char *)NULL);
        _exit(127);
    }
    return pid;
}

static bool holds(const char *path, const char *words)
{
    size_t n;
    if (access(path, F_OK) != 0) return false;
    char      *text = read_all(path, &n);
    const bool yes = strstr(text, words) != NULL;
    free(text);
    return yes;
}

/* Usual readings, then one that is not, until an alarm is told; and it goes on the next time. */
static void the_program_watches(void **state)
{
    (void)state;
    char         url[128], kept[128], out[128], text[64];
    int64_t      before = 0, after = 0;
    int          status = 0, hour = 0;
    broker       of = make_broker("watch", "allow_anonymous true");
    llap_stream *s = NULL;
    broker_go(&of);
    snprintf(url, sizeof url, "%sward/%%23", of.url);
    snprintf(kept, sizeof kept, "%s", in_folder("ward.state"));
    snprintf(out, sizeof out, "%s", in_folder("alarms"));
    pid_t pid = watch(url, kept, out);
    while (!holds(out, "\"entity\": \"s000\"") && !holds(out, "\"entity\":\"s000\"")) {
        snprintf(text, sizeof text, "{\"time\": %d, \"v0\": %s}", 1893456000 + 3600 * hour,
                 hour % 9 == 8 ? "1e6" : "0.1");
        publish(&of, "ward/s000", text);
        hour++;
        (void)nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    }
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_OK(llap_stream_restore(w.model, kept, &(llap_stream_opts){ 0 }, &s));
    assert_true(llap_stream_newest(s, "s000", &before));
    llap_stream_destroy(s);
    snprintf(text, sizeof text, "{\"time\": %d, \"v0\": 0.1}", 1893456000 + 3600 * (hour + 1));
    publish(&of, "ward/s000", text); /* nobody is there */
    pid = watch(url, kept, out);
    for (after = before; after == before;) {
        CHECK_OK(llap_stream_restore(w.model, kept, &(llap_stream_opts){ 0 }, &s));
        assert_true(llap_stream_newest(s, "s000", &after));
        llap_stream_destroy(s);
        if (after < INT64_C(1000000000) * (1893456000 + 3600 * (int64_t)(hour + 1))) after = before;
        (void)nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    }
    assert_int_equal(kill(pid, SIGINT), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    broker_end(&of);
}

int main(void)
{
    if (access(BROKER, X_OK) != 0) {
        printf("skipped: no " BROKER "\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_rows),
        cmocka_unit_test(what_cannot_be),
        cmocka_unit_test(the_program_watches),
    };
    return cmocka_run_group_tests(tests, make_world, remove_world);
}
