/* A broker of the test program's own (Debian's mosquitto), on a free port of this machine alone,
 * and who publishes there. */
#ifndef LLAP_TESTS_SERVE_BROKER_H
#define LLAP_TESTS_SERVE_BROKER_H

#include "program.h"

#include <arpa/inet.h>
#include <mosquitto.h>

#define BROKER "/usr/sbin/mosquitto"

typedef struct broker {
    pid_t pid;
    int   port;
    char  config[160], url[64];
} broker;

static inline int free_port(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          n = sizeof a;
    const int          fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    close(fd);
    return ntohs(a.sin_port);
}

/* Starts it, again with what it kept, and waits until it listens. */
static inline void broker_go(broker *b)
{
    b->pid = fork();
    if (b->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execl(BROKER, BROKER, "-c", b->config, (char *)NULL);
        _exit(127);
    }
    int fd;
    for (int i = 0; (fd = dial(b->port)) < 0; i++) {
        if (i > 600) fail_msg("the broker does not listen");
        (void)nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    }
    close(fd);
}

static inline void broker_end(broker *b)
{
    if (b->pid == 0) return;
    (void)kill(b->pid, SIGTERM);
    (void)waitpid(b->pid, NULL, 0);
    b->pid = 0;
}

/* It keeps what it has not delivered, without limits, also when it is started again, in a file of
 * that name. more: lines of its configuration. */
static inline broker make_broker(const char *name, const char *more)
{
    broker b = { .port = free_port() };
    snprintf(b.config, sizeof b.config, "%s/%s.conf", folder, name);
    snprintf(b.url, sizeof b.url, "mqtt://127.0.0.1:%d/", b.port);
    FILE *f = fopen(b.config, "w");
    fprintf(f,
            "listener %d 127.0.0.1\n%s\npersistence true\n"
            "persistence_location %s/\npersistence_file %s.kept\nmax_queued_messages 0\n"
            "log_dest file %s\n%s",
            b.port, more, folder, name, in_folder("broker.log"),
            geteuid() == 0 ? "user root\n" : "");
    fclose(f);
    return b;
}

/* ---- who publishes ---- */

typedef struct publisher {
    struct mosquitto *m;
    int               n_acknowledged;
} publisher;

static inline void on_acknowledged(struct mosquitto *m, void *user, int id)
{
    (void)m, (void)id;
    ((publisher *)user)->n_acknowledged++;
}

/* Returns when the broker has it. */
static inline void publish_bytes(const broker *b, const char *topic, const void *bytes, int n,
                                 bool retain)
{
    static publisher p;
    if (p.m == NULL) {
        assert_int_equal(mosquitto_lib_init(), MOSQ_ERR_SUCCESS);
        p.m = mosquitto_new(NULL, true, &p);
        mosquitto_publish_callback_set(p.m, on_acknowledged);
    }
    for (const int wanted = p.n_acknowledged + 1; p.n_acknowledged < wanted;) {
        int rc = mosquitto_socket(p.m) < 0 ? mosquitto_connect(p.m, "127.0.0.1", b->port, 60)
                                           : MOSQ_ERR_SUCCESS;
        if (rc == MOSQ_ERR_SUCCESS) rc = mosquitto_publish(p.m, NULL, topic, n, bytes, 1, retain);
        while (rc == MOSQ_ERR_SUCCESS && p.n_acknowledged < wanted)
            rc = mosquitto_loop(p.m, 100, 1);
        if (rc == MOSQ_ERR_SUCCESS) continue;
        /* away; a new one, so that what it has in flight is published once more at most */
        mosquitto_destroy(p.m);
        p.m = mosquitto_new(NULL, true, &p);
        mosquitto_publish_callback_set(p.m, on_acknowledged);
        (void)nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    }
}

static inline void publish(const broker *b, const char *topic, const char *payload)
{
    publish_bytes(b, topic, payload, (int)strlen(payload), false);
}

/* ---- what the server says ---- */

static inline double metric(int port, const char *name)
{
    char  line[100];
    reply r = ask(port, "GET", "/metrics", "", NULL, 0);
    snprintf(line, sizeof line, "\nllapdiff_mqtt_%s ", name);
    const char  *at = strstr(r.body, line);
    const double x = at == NULL ? -1 : atof(at + strlen(line));
    forget_reply(&r);
    return x;
}

static inline void wait_for(int port, const char *name, double wanted)
{
    while (metric(port, name) < wanted) (void)nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
    assert_true(metric(port, name) == wanted);
}

#endif
