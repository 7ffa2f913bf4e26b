#include "mqtt/client.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "mqtt/library.h"
#include "mqtt/payload.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Few enough that little comes twice when the connection is lost between storing and answering. */
enum { MESSAGES_MOST = 200, BYTES_MOST = 8 << 20, KEEPALIVE_S = 60, PASSWORD_MOST = 4096 };
enum { CONNECT_MS = 10000, READY_MS = 10000, FLUSH_MS = 10000, SLICE_MS = 100, REFUSED = 128 };

struct ll_mqtt_client {
    const ll_mosquitto_library *lib;
    const ll_mqtt_address      *a;
    const atomic_bool          *stop;
    char                        id[64];
    struct mosquitto           *m; /* of this connection; NULL: there is none */
    bool             open, ready;  /* there is a connection; the broker has subscribed us */
    int64_t          since;        /* it is open, milliseconds */
    int              refused;      /* code of the answer to connect; 0: none */
    bool             not_allowed;  /* the topic */
    ll_arena         text;         /* of the messages */
    ll_mqtt_message *message;      /* [MESSAGES_MOST] */
    size_t           n, n_bytes;
    bool             failed; /* one found no memory */
};

static int64_t milliseconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- what libmosquitto calls ---------------------------------------------------------------- */

static void on_connect(struct mosquitto *m, void *user, int code)
{
    ll_mqtt_client *c = user;
    c->refused = code;
    if (code == 0) (void)c->lib->subscribe(m, NULL, c->a->filter, 1);
}

static void on_subscribe(struct mosquitto *m, void *user, int id, int n, const int *granted)
{
    ll_mqtt_client *c = user;
    (void)m, (void)id;
    c->not_allowed = n < 1 || granted[0] >= REFUSED;
    c->ready = !c->not_allowed;
}

static void on_message(struct mosquitto *m, void *user, const ll_mosquitto_message *got)
{
    ll_mqtt_client *c = user;
    (void)m;
    if (c->n == MESSAGES_MOST || got->payloadlen < 0) {
        c->failed = true;
        return;
    }
    const size_t n = (size_t)got->payloadlen;
    const size_t kept = n > LL_PAYLOAD_MOST ? 0 : n; /* longer ones are refused anyway */
    const char  *topic = ll_arena_strndup(&c->text, got->topic, strlen(got->topic));
    char        *payload = ll_arena_new(&c->text, kept + 1, 1);
    c->failed |= payload == NULL || topic == NULL;
    if (!c->failed && kept > 0) memcpy(payload, got->payload, kept);
    c->message[c->n] = (ll_mqtt_message){ topic, payload, n, got->retain };
    c->n += !c->failed;
    c->n_bytes += kept;
}

static void forget(ll_mqtt_client *c)
{
    ll_arena_deinit(&c->text);
    c->n = c->n_bytes = 0;
    c->failed = false;
}

/* ---- a client of libmosquitto ---------------------------------------------------------------- */

static llap_status make(ll_mqtt_client *c)
{
    const ll_mosquitto_library *lib = c->lib;
    c->m = lib->new (c->id, false, c);
    if (c->m == NULL) return LLAP_ENOMEM;
    /* so that it sends from loop_write alone, and not by itself */
    int code = lib->threaded_set(c->m, true);
    if (code == LL_MOSQ_SUCCESS) code = lib->int_option(c->m, LL_MOSQ_OPT_TCP_NODELAY, 1);
    if (code == LL_MOSQ_SUCCESS && c->a->tls)
        code = lib->tls_set(c->m, c->a->cafile, c->a->cafile == NULL ? "/etc/ssl/certs" : NULL,
                            NULL, NULL, NULL);
    lib->connect_callback_set(c->m, on_connect);
    lib->subscribe_callback_set(c->m, on_subscribe);
    lib->message_callback_set(c->m, on_message);
    return code == LL_MOSQ_SUCCESS
               ? LLAP_OK
               : ll_fail(code == LL_MOSQ_NOMEM ? LLAP_ENOMEM : LLAP_EUNSUPPORTED, "%s: %s",
                         c->a->name, lib->strerror(code));
}

static llap_status set_password(ll_mqtt_client *c)
{
    char       *text = NULL;
    size_t      n = 0;
    llap_status st = LLAP_OK;
    if (c->a->password_file != NULL)
        st = ll_file_read(c->a->password_file, PASSWORD_MOST, &text, &n);
    if (text != NULL) text[strcspn(text, "\r\n")] = '\0';
    if (st == LLAP_OK && c->a->user != NULL) {
        const int code =
            c->lib->username_pw_set(c->m, c->a->user, text != NULL ? text : c->a->password);
        if (code != LL_MOSQ_SUCCESS)
            st = ll_fail(code == LL_MOSQ_NOMEM ? LLAP_ENOMEM : LLAP_EINVAL, "%s: user: %s",
                         c->a->name, c->lib->strerror(code));
    }
    if (text != NULL) memset(text, 0, n);
    ll_free(text);
    return st;
}

/* ---- the connection ------------------------------------------------------------------------- */

static llap_status fail(ll_mqtt_client *c, const char *why)
{
    ll_mqtt_drop(c);
    return ll_fail(LLAP_EUNAVAILABLE, "%s: %s", c->a->name, why);
}

/* What a call of the library has answered. errno is that of the call. */
static llap_status fail_code(ll_mqtt_client *c, int code)
{
    const char *why = code == LL_MOSQ_ERRNO ? strerror(errno) : c->lib->strerror(code);
    if (code == LL_MOSQ_NOMEM) {
        ll_mqtt_drop(c);
        return ll_fail(LLAP_ENOMEM, "%s: no memory", c->a->name);
    }
    if (c->refused != 0) why = c->lib->connack_string(c->refused);
    return fail(c, why);
}

/* Whether somebody listens there: libmosquitto waits for that as long as the system likes. */
static bool reach(const ll_mqtt_client *c, const struct addrinfo *to, int *error)
{
    const int64_t until = milliseconds() + CONNECT_MS;
    const int     fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t     n = sizeof *error;
    struct pollfd p = { .fd = fd, .events = POLLOUT };
    *error = errno;
    if (fd < 0) return false;
    *error = connect(fd, to->ai_addr, to->ai_addrlen) == 0 ? 0 : errno;
    if (*error == EINPROGRESS) {
        int ready = 0;
        while (ready <= 0 && milliseconds() < until && !atomic_load(c->stop))
            ready = poll(&p, 1, SLICE_MS);
        *error = ETIMEDOUT;
        if (ready > 0) (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, error, &n);
    }
    (void)close(fd);
    return *error == 0;
}

static llap_status check_reachable(ll_mqtt_client *c)
{
    const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
    struct addrinfo      *found = NULL;
    char                  port[16];
    int                   error = ENOENT;
    bool                  there = false;
    snprintf(port, sizeof port, "%d", c->a->port);
    const int bad = getaddrinfo(c->a->host, port, &want, &found);
    if (bad != 0) return fail(c, gai_strerror(bad));
    for (const struct addrinfo *f = found; f != NULL && !there; f = f->ai_next)
        there = reach(c, f, &error);
    freeaddrinfo(found);
    return there ? LLAP_OK : fail(c, strerror(error));
}

static llap_status connect_to(ll_mqtt_client *c)
{
    llap_status st = check_reachable(c);
    c->refused = 0;
    c->ready = c->not_allowed = false;
    if (st == LLAP_OK) st = make(c);
    if (st == LLAP_OK) st = set_password(c);
    if (st != LLAP_OK) {
        ll_mqtt_drop(c);
        return st;
    }
    const int code = c->lib->connect(c->m, c->a->host, c->a->port, KEEPALIVE_S);
    if (code != LL_MOSQ_SUCCESS) return fail_code(c, code);
    c->open = true;
    c->since = milliseconds();
    return LLAP_OK;
}

/* Asks the broker's socket once; *more: there may be more to read. */
static llap_status step(ll_mqtt_client *c, int wait_ms, bool *more)
{
    const int     fd = c->lib->socket(c->m);
    struct pollfd p = { .fd = fd, .events = POLLIN };
    int           code = LL_MOSQ_SUCCESS;
    *more = false;
    if (fd < 0) return fail(c, "the connection is lost");
    /* what is in the queue behind messages acknowledges them */
    const bool writes = c->n == 0 && c->lib->want_write(c->m);
    if (writes) p.events |= POLLOUT;
    if (poll(&p, 1, wait_ms) <= 0) return LLAP_OK;
    *more = true;
    if (writes && (p.revents & POLLOUT) != 0) code = c->lib->loop_write(c->m, 1);
    if (code == LL_MOSQ_SUCCESS && (p.revents & (POLLIN | POLLERR | POLLHUP)) != 0)
        code = c->lib->loop_read(c->m, 1);
    if (code != LL_MOSQ_SUCCESS) return fail_code(c, code);
    if (c->failed) {
        ll_mqtt_drop(c);
        return ll_fail(LLAP_ENOMEM, "%s: no memory", c->a->name);
    }
    if (c->not_allowed) return fail(c, "the broker refuses this topic");
    return LLAP_OK;
}

llap_status ll_mqtt_receive(ll_mqtt_client *c, int wait_ms, const ll_mqtt_message **m, size_t *n)
{
    const int64_t until = milliseconds() + wait_ms;
    bool          more = true;
    *n = 0;
    *m = c->message;
    forget(c);
    llap_status st = c->open ? LLAP_OK : connect_to(c);
    if (st == LLAP_OK) {
        const int code = c->lib->loop_misc(c->m); /* a sign of life, where it is time for one */
        if (code != LL_MOSQ_SUCCESS) st = fail_code(c, code);
    }
    while (st == LLAP_OK && c->n < MESSAGES_MOST && c->n_bytes < BYTES_MOST) {
        const int64_t left = until - milliseconds();
        if ((c->n > 0 && !more) || (c->n == 0 && (left <= 0 || atomic_load(c->stop)))) break;
        st = step(c, c->n > 0 ? 0 : (int)left, &more);
    }
    if (st == LLAP_OK && !c->ready && milliseconds() - c->since > READY_MS)
        st = fail(c, "the broker does not answer");
    if (st == LLAP_OK) *n = c->n;
    return st;
}

llap_status ll_mqtt_acknowledge(ll_mqtt_client *c)
{
    const int64_t until = milliseconds() + FLUSH_MS;
    llap_status   st = LLAP_OK;
    forget(c);
    while (st == LLAP_OK && c->open && c->lib->want_write(c->m)) {
        struct pollfd p = { .fd = c->lib->socket(c->m), .events = POLLOUT };
        if (p.fd < 0 || milliseconds() > until) return fail(c, "the connection is lost");
        if (poll(&p, 1, SLICE_MS) <= 0) continue;
        const int code = c->lib->loop_write(c->m, 1);
        if (code != LL_MOSQ_SUCCESS) st = fail_code(c, code);
    }
    return st;
}

bool ll_mqtt_is_ready(const ll_mqtt_client *c) { return c->open && c->ready; }

/* ---- start and end -------------------------------------------------------------------------- */

llap_status ll_mqtt_open(const ll_mqtt_address *a, const char *id, const atomic_bool *stop,
                         const char *library, ll_mqtt_client **out)
{
    ll_mqtt_client *c = *out = ll_new(1, sizeof *c);
    if (c == NULL) return LLAP_ENOMEM;
    c->a = a;
    c->stop = stop;
    snprintf(c->id, sizeof c->id, "%s", a->client != NULL ? a->client : id);
    c->message = ll_new(MESSAGES_MOST, sizeof *c->message);
    llap_status st = c->message == NULL ? LLAP_ENOMEM : ll_mosquitto_load(library, &c->lib);
    if (st == LLAP_OK && strlen(a->client != NULL ? a->client : id) >= sizeof c->id)
        st = ll_fail(LLAP_EINVAL, "client: expected a name of at most %zu bytes", sizeof c->id - 1);
    if (st == LLAP_OK) st = make(c); /* what is wrong with files is told now */
    if (st == LLAP_OK) st = set_password(c);
    if (st != LLAP_OK) {
        ll_mqtt_close(c);
        *out = NULL;
        return st;
    }
    ll_mqtt_drop(c);
    return LLAP_OK;
}

/* With the client goes its queue. */
void ll_mqtt_drop(ll_mqtt_client *c)
{
    if (c->m != NULL) c->lib->destroy(c->m);
    c->m = NULL;
    c->open = c->ready = false;
    forget(c);
}

void ll_mqtt_close(ll_mqtt_client *c)
{
    if (c == NULL) return;
    if (c->open && c->n == 0 && c->lib->disconnect(c->m) == LL_MOSQ_SUCCESS)
        (void)ll_mqtt_acknowledge(c); /* sends the good-bye */
    ll_mqtt_drop(c);
    ll_free(c->message);
    ll_free(c);
}
