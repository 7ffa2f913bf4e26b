/* `llapdiff serve`: it answers the bytes that `llapdiff forecast` writes, and ends when it is told
 * to, after what came is answered. */
#include "program.h"

#include <sys/un.h>

static void the_bytes_of_the_program(void **state)
{
    (void)state;
    static const char *const path[] = { "/v1/models/air/forecast?horizon=4h",
                                        "/v1/models/air/impute?quantiles=0.5" };
    char                     line[1024];
    const char              *file = in_folder("answer.csv");
    char                    *argv[] = { "serve", w.model_path, "--port", "0", NULL };
    program                  p = run_program(argv, in_folder("log"));
    for (int i = 0; i < 2; i++) {
        size_t    n;
        const int at = snprintf(line, sizeof line, "%s ", LLAP_PROGRAM);
        snprintf(line + at, sizeof line - (size_t)at,
                 i == 0 ? "forecast '%s' '%s' --horizon 4h -q -o '%s'"
                        : "impute '%s' '%s' --quantiles 0.5 -q -o '%s'",
                 w.model_path, w.csv_path, file);
        assert_int_equal(system(line), 0);
        char *want = read_all(file, &n);
        reply r = post_csv(p.port, path[i], "text/csv");
        assert_int_equal(r.status, 200);
        assert_int_equal(r.n, n);
        assert_memory_equal(r.body, want, n);
        forget_reply(&r);
        free(want);
    }
    assert_int_equal(end_program(&p, SIGTERM), 0);
}

/* The service manager hears when it answers and when it ends. */
static void the_manager_is_told(void **state)
{
    (void)state;
    static const char *const words[] = { "READY=1", "STOPPING=1" };
    struct sockaddr_un       a = { .sun_family = AF_UNIX };
    const struct timeval     most = { .tv_sec = 60 };
    char                    *argv[] = { "serve", w.model_path, "--port", "0", NULL };
    const int                fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", in_folder("notify"));
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    (void)setenv("NOTIFY_SOCKET", a.sun_path, 1);
    program p = run_program(argv, in_folder("log"));
    (void)unsetenv("NOTIFY_SOCKET");
    for (int i = 0; i < 2; i++) {
        char          heard[64] = "";
        const ssize_t n = recv(fd, heard, sizeof heard - 1, 0);
        assert_true(n > 0);
        assert_string_equal(heard, words[i]);
        if (i == 0) check_reply(ask(p.port, "GET", "/v2/health/ready", "", NULL, 0), 200, NULL);
        if (i == 0) (void)kill(p.pid, SIGTERM);
    }
    assert_int_equal(end_program(&p, SIGTERM), 0);
    close(fd);
}

/* A request that is half there when the signal comes. */
static void what_came_is_answered(void **state)
{
    (void)state;
    char        *argv[] = { "serve", w.model_path, "--port", "0", NULL };
    program      p = run_program(argv, in_folder("log"));
    char         head[256];
    int          status;
    const int    fd = dial(p.port), idle = dial(p.port);
    const size_t half = w.n_csv / 2;
    snprintf(
        head, sizeof head,
        "POST /v1/models/air/forecast HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\n"
        "Content-Length: %zu\r\nConnection: close\r\n\r\n",
        w.n_csv);
    assert_true(put_bytes(fd, head, strlen(head)) && put_bytes(fd, w.csv, half));
    check_reply(ask(p.port, "GET", "/v2/health/ready", "", NULL, 0), 200, NULL);
    (void)kill(p.pid, SIGTERM);
    for (int i = 0, other; (other = dial(p.port)) >= 0; i++) { /* until nobody listens */
        close(other);
        assert_true(i < 100);
        (void)nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    }
    assert_true(put_bytes(fd, w.csv + half, w.n_csv - half));
    reply r = get_reply(fd);
    assert_int_equal(r.status, 200);
    assert_non_null(strstr(r.head, "Connection: close"));
    forget_reply(&r);
    assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(idle);
}

static void lines_of_the_log_are_json(void **state)
{
    (void)state;
    size_t n, lines = 0;
    char  *log = read_all(in_folder("log"), &n);
    for (char *line = log, *end; (end = strchr(line, '\n')) != NULL; line = end + 1, lines++)
        assert_true(line[0] == '{' && end[-1] == '}');
    assert_non_null(
        strstr(log, "\"method\":\"POST\",\"path\":\"/v1/models/air/forecast\",\"status\":200"));
    assert_true(lines > 5);
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_of_the_program),
        cmocka_unit_test(the_manager_is_told),
        cmocka_unit_test(what_came_is_answered),
        cmocka_unit_test(lines_of_the_log_are_json),
    };
    return cmocka_run_group_tests(tests, make_world, remove_world);
}
