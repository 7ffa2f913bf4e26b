/* `llapdiff serve` under load over the loopback, against what a user without it has:
 *
 *   - forecasts by the anchor: CLIENTS connections ask all the time, beside `llapdiff forecast`
 *     started for each; errors, and the server's memory after a tenth of the time and at the end;
 *   - readings: one and a hundred a request by as many connections, each answered when it is
 *     durable, beside how often this disk makes a block durable when it is asked by one.
 *
 *     serve [SECONDS]       of each part, 5 without; 600 is the ten minutes of a release */
#include "bench.h"

#include <fcntl.h>
#include <libgen.h>
#include <llapdiff/llapdiff.h>
#include <llapdiff/unstable.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLIENTS = 200, ROWS = 120, BODY = 1 << 14, REPLY = 1 << 18 };

static char   program[4096], folder[64] = "/tmp/llap-bench-XXXXXX", model[128], csv[128];
static int    port;
static double seconds = 5;

static void must(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "serve: %s failed: %s\n", what, llap_error_detail());
    exit(1);
}

/* ---- a client that keeps its connection ---- */

static int dial(void)
{
    const int          fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0) return fd;
    close(fd);
    return -1;
}

static bool put(int fd, const char *bytes, size_t n)
{
    for (ssize_t sent; n > 0; bytes += sent, n -= (size_t)sent)
        if ((sent = send(fd, bytes, n, MSG_NOSIGNAL)) <= 0) return false;
    return true;
}

/* Its status; 0: the connection ended. reply [REPLY] is closed by a NUL. */
static int get(int fd, char *reply)
{
    size_t n = 0, need = REPLY - 1;
    for (ssize_t got; n < need; n += (size_t)got) {
        if ((got = recv(fd, reply + n, need - n, 0)) <= 0) return 0;
        reply[n + (size_t)got] = '\0';
        const char *end = need < REPLY - 1 ? NULL : strstr(reply, "\r\n\r\n");
        const char *length = end == NULL ? NULL : strstr(reply, "Content-Length: ");
        if (length != NULL) need = (size_t)(end + 4 - reply) + strtoul(length + 16, NULL, 10);
    }
    return atoi(reply + 9);
}

static int ask(int fd, const char *method, const char *path, const char *body, char *reply)
{
    char head[512];
    snprintf(
        head, sizeof head,
        "%s %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/csv, */*;q=0.5\r\n%sContent-Length: "
        "%zu\r\n\r\n",
        method, path, *body == '\0' ? "" : "Content-Type: text/csv\r\n", strlen(body));
    return put(fd, head, strlen(head)) && put(fd, body, strlen(body)) ? get(fd, reply) : 0;
}

/* ---- many of them ---- */

typedef struct load {
    int         number; /* of a client */
    int         rows;   /* of readings in a request; 0: forecasts */
    const char *data;   /* of a forecast */
    double      until;
    int64_t     done, errors; /* requests */
} load;

static atomic_llong stamp; /* every reading has a time of its own */

static void write_readings(char *body, const load *l)
{
    size_t n = (size_t)sprintf(body, "entity,time,v0\n");
    for (int i = 0; i < l->rows; i++) {
        const time_t at = (time_t)(1000000000 + atomic_fetch_add(&stamp, 1));
        struct tm    t;
        char         when[40];
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &t));
        n += (size_t)sprintf(body + n, "s%03d,%s,%d\n", l->number, when, i % 7);
    }
}

static void *work(void *user)
{
    load *l = user;
    char *body = malloc(BODY), *reply = malloc(REPLY);
    int   fd = dial();
    while (bench_now() < l->until) {
        if (l->rows > 0) write_readings(body, l);
        const int status =
            l->rows > 0 ? ask(fd, "POST", "/v1/streams/ward/readings", body, reply)
                        : ask(fd, "POST", "/v1/models/air/forecast?horizon=6h", l->data, reply);
        l->done += status == 200;
        l->errors += status != 200;
        if (status != 0) continue;
        close(fd);
        fd = dial();
    }
    close(fd);
    free(body);
    free(reply);
    return NULL;
}

/* Answers a second. */
static double run(int clients, int rows, const char *data, double length)
{
    static load l[CLIENTS];
    pthread_t   t[CLIENTS];
    int64_t     done = 0, errors = 0;
    for (int i = 0; i < clients; i++) {
        l[i] = (load){ .number = i, .rows = rows, .data = data, .until = bench_now() + length };
        must(pthread_create(&t[i], NULL, work, &l[i]) == 0, "a thread");
    }
    for (int i = 0; i < clients; i++) {
        (void)pthread_join(t[i], NULL);
        done += l[i].done;
        errors += l[i].errors;
    }
    if (errors > 0) printf("  %lld of %lld were ERRORS\n", (long long)errors, (long long)done);
    return (double)done / length;
}

static double memory_mb(void)
{
    char     *reply = malloc(REPLY);
    const int fd = dial();
    must(ask(fd, "GET", "/metrics", "", reply) == 200, "/metrics");
    const double bytes = strtod(
        strstr(reply, "\nllapdiff_memory_bytes ") + strlen("\nllapdiff_memory_bytes "), NULL);
    close(fd);
    free(reply);
    return bytes / 1048576;
}

/* ---- what it is measured beside ---- */

static double forecasts_by_program(void)
{
    const double start = bench_now();
    int          n = 0, status = 1;
    for (; n < 5 || bench_now() - start < seconds / 2; n++) {
        const pid_t pid = fork();
        if (pid == 0) {
            execl(program, program, "forecast", model, csv, "--horizon", "6h", "-q", "-o",
                  "/dev/null", (char *)NULL);
            _exit(127);
        }
        must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "llapdiff forecast");
    }
    return n / (bench_now() - start);
}

static double syncs_a_second(void)
{
    static const char block[4096] = "a";
    char              path[128];
    snprintf(path, sizeof path, "%s/sync", folder);
    const int    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    const double start = bench_now();
    int          n = 0;
    for (; bench_now() - start < seconds / 2; n++)
        must(write(fd, block, sizeof block) == sizeof block && fdatasync(fd) == 0, "fdatasync");
    close(fd);
    return n / (bench_now() - start);
}

/* ---- the world ---- */

static char *make_world(void)
{
    const llap_synth_sizes sizes = { .entities = 1, .variables = 1, .rows = 400, .seed = 3 };
    const llap_train_opts  how = { .context = "2d",
                                   .horizon = "6h",
                                   .size = LLAP_TRAIN_SIZE_ANCHOR,
                                   .training = "{\"anchor\": {\"steps\": 20}}" };
    llap_panel            *p = NULL;
    llap_model            *m = NULL;
    must(mkdtemp(folder) != NULL, "mkdtemp");
    snprintf(model, sizeof model, "%s/air.safetensors", folder);
    snprintf(csv, sizeof csv, "%s/air.csv", folder);
    must(llap_panel_synth(&sizes, &p) == LLAP_OK, "data");
    must(llap_train(p, &how, &m) == LLAP_OK && llap_model_save(m, model) == LLAP_OK, "a model");
    must(llap_panel_write(p, csv) == LLAP_OK, "data");
    llap_model_destroy(m);
    llap_panel_destroy(p);
    char  *text = calloc(1, BODY);
    FILE  *f = fopen(csv, "r");
    size_t n = fread(text, 1, BODY - 1, f);
    fclose(f);
    int lines = 0;
    for (size_t i = 0; i < n; i++) /* a window's worth */
        if (text[i] == '\n' && ++lines == ROWS) text[i + 1] = '\0', n = i;
    f = fopen(csv, "w");
    fputs(text, f);
    fclose(f);
    return text;
}

static pid_t start_server(void)
{
    char line[16] = "", store[128];
    int  out[2];
    snprintf(store, sizeof store, "%s/store.db", folder);
    must(pipe(out) == 0, "pipe");
    const pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        execl(program, program, "serve", model, "--port", "0", "--store", store, "-q",
              (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    for (size_t n = 0; n + 1 < sizeof line && read(out[0], line + n, 1) == 1 && line[n] != '\n';)
        n++;
    close(out[0]);
    port = atoi(line);
    must(port > 0, "llapdiff serve");
    return pid;
}

int main(int argc, char **argv)
{
    char command[128];
    int  status = 1;
    if (argc > 1) seconds = atof(argv[1]);
    snprintf(program, sizeof program, "%s/../llapdiff", dirname(argv[0]));
    char        *data = make_world();
    const pid_t  server = start_server();
    const double early = run(CLIENTS, 0, data, seconds / 10), first = memory_mb();
    const double served = run(CLIENTS, 0, data, seconds), last = memory_mb();
    const double started = forecasts_by_program(), syncs = syncs_a_second();
    (void)early;
    printf("forecasts of %d rows, %d clients: %.0f a second; llapdiff forecast for each: %.1f; "
           "%.0f times as many\n",
           ROWS, CLIENTS, served, started, served / started);
    printf("memory: %.1f MB after a tenth, %.1f MB at the end\n", first, last);
    const double ones = run(CLIENTS, 1, NULL, seconds), hundreds = run(CLIENTS, 100, NULL, seconds);
    printf("durable readings: %.0f a second one a request, %.0f a hundred a request; this disk "
           "makes %.0f blocks durable a second\n",
           ones, 100 * hundreds, syncs);
    printf("memory: %.1f MB\n", memory_mb());
    (void)kill(server, SIGTERM);
    must(waitpid(server, &status, 0) == server && status == 0, "the end of the server");
    free(data);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}
