/* Bytes in and out: requests as they arrive, answers as they leave, limits of both. All but the
 * sweep runs in the daemon's one thread. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "serve/request.h"
#include "serve/route.h"

#include <linux/sockios.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { SWALLOW = 1 << 20, BODY_FIRST = 1 << 14, PIECE = 1 << 16 };

/* ---- connections, and who is slow ---- */

static void phase(ll_request *r, ll_phase p, int64_t n_bytes)
{
    llap_server *s = r->server;
    if (r->from == NULL) return;
    (void)pthread_mutex_lock(&s->lock);
    if (r->from->phase != p) r->from->since = ll_now();
    r->from->phase = p;
    r->from->n_bytes = n_bytes;
    (void)pthread_mutex_unlock(&s->lock);
}

static void on_connection(void *cls, struct MHD_Connection *c, void **slot, unsigned int what)
{
    llap_server *s = cls;
    if (what == LL_MHD_CONNECTION_NOTIFY_STARTED) {
        const int     *fd = s->mhd->get_connection_info(c, LL_MHD_CONNECTION_INFO_CONNECTION_FD);
        ll_connection *k = fd == NULL ? NULL : ll_new(1, sizeof *k);
        *slot = k;
        if (k == NULL) return; /* it is served, but not looked after */
        k->fd = *fd;
        k->since = ll_now();
        (void)pthread_mutex_lock(&s->lock);
        k->next = s->connections;
        if (k->next != NULL) k->next->before = k;
        s->connections = k;
        (void)pthread_mutex_unlock(&s->lock);
    } else if (*slot != NULL) {
        ll_connection *k = *slot;
        (void)pthread_mutex_lock(&s->lock);
        if (k->next != NULL) k->next->before = k->before;
        if (k->before != NULL) k->before->next = k->next;
        else s->connections = k->next;
        (void)pthread_mutex_unlock(&s->lock);
        ll_free(k);
        *slot = NULL;
    }
}

/* Bytes that came, or that the client has of those that go: what the system still holds does not
 * count. */
static int64_t moved(const ll_connection *k)
{
    int held = 0;
    if (k->phase != LL_PHASE_REPLY || ioctl(k->fd, SIOCOUTQ, &held) != 0) held = 0;
    return held < k->n_bytes ? k->n_bytes - held : 0;
}

void ll_connections_sweep(llap_server *s)
{
    const int64_t now = ll_now(), second = INT64_C(1000000000);
    int64_t       cut = 0;
    (void)pthread_mutex_lock(&s->lock);
    for (ll_connection *k = s->connections; k != NULL; k = k->next) {
        const bool idle = atomic_load(&s->stopping) && k->phase == LL_PHASE_HEADER;
        if (k->cut || k->phase == LL_PHASE_WORK) continue;
        const int64_t may = (s->o.patience + moved(k) / LL_SLOWEST) * second;
        if (now - k->since <= may && !idle) continue;
        (void)shutdown(k->fd, SHUT_RDWR); /* its daemon notices, and closes it */
        k->cut = true;
        cut += !idle;
    }
    (void)pthread_mutex_unlock(&s->lock);
    (void)pthread_mutex_lock(&s->counters.lock);
    s->counters.cut += cut;
    (void)pthread_mutex_unlock(&s->counters.lock);
}

/* ---- a request begins ---- */

static unsigned int add_argument(void *user, unsigned int kind, const char *key, size_t n_key,
                                 const char *value, size_t n_value)
{
    ll_request *r = user;
    (void)kind;
    if (value == NULL) value = "", n_value = 0;
    if (r->n_arguments == LL_ARGUMENTS_MAX || ll_utf8_prefix(key, n_key) < n_key ||
        ll_utf8_prefix(value, n_value) < n_value || memchr(key, '\0', n_key) != NULL ||
        memchr(value, '\0', n_value) != NULL || ll_request_argument(r, key) != NULL) {
        r->arguments_wrong = true;
        return LL_MHD_NO;
    }
    r->argument[r->n_arguments++] = (ll_argument){ key, value };
    return LL_MHD_YES;
}

static const char *header(const ll_request *r, const char *name)
{
    return r->server->mhd->lookup_connection_value(r->connection, LL_MHD_HEADER_KIND, name);
}

static void name_client(ll_request *r)
{
    const struct sockaddr *const *a =
        r->server->mhd->get_connection_info(r->connection, LL_MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    snprintf(r->client, sizeof r->client, "?");
    if (a == NULL || *a == NULL) return;
    const socklen_t n =
        (*a)->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    (void)getnameinfo(*a, n, r->client, sizeof r->client, NULL, 0, NI_NUMERICHOST);
}

static ll_request *make(llap_server *s, struct MHD_Connection *c, const char *url,
                        const char *method)
{
    ll_request *r = ll_new(1, sizeof *r);
    if (r == NULL) return NULL;
    ll_connection *const *from =
        s->mhd->get_connection_info(c, LL_MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    r->server = s;
    r->connection = c;
    r->from = from == NULL ? NULL : *from;
    r->method = method;
    r->path = url;
    r->number = atomic_fetch_add(&s->number, 1) + 1;
    r->begun = ll_now();
    r->accept = header(r, "Accept");
    r->content_type = header(r, "Content-Type");
    r->content_encoding = header(r, "Content-Encoding");
    r->if_none_match = header(r, "If-None-Match");
    r->idempotency_key = header(r, "Idempotency-Key");
    name_client(r);
    (void)s->mhd->get_connection_values_n(c, LL_MHD_GET_ARGUMENT_KIND, add_argument, r);
    (void)atomic_fetch_add(&s->requests, 1);
    phase(r, LL_PHASE_BODY, 0);
    return r;
}

/* What the client says it will send; -1: it does not say, or nonsense. */
static int64_t announced(const ll_request *r)
{
    const char *text = header(r, "Content-Length");
    char       *end = NULL;
    if (text == NULL || *text < '0' || *text > '9') return -1;
    const long long n = strtoll(text, &end, 10);
    return *end == '\0' ? n : -1;
}

static void too_large(ll_request *r)
{
    ll_reply_problem(r, 413, LLAP_ELIMIT, "the body has more than %lld MB",
                     (long long)(r->most >> 20));
}

/* What can be refused before the body is there; reply.status is then set. */
static void check(ll_request *r)
{
    const llap_server *s = r->server;
    ll_route_find(r);
    if (r->reply.status == 0)
        ll_access_check(r, header(r, "Authorization"), header(r, "Host"), header(r, "Origin"));
    if (r->reply.status != 0) return;
    r->most = (r->route->upload ? s->o.max_upload : s->o.max_body) << 20;
    if (announced(r) > r->most) too_large(r);
    else if (atomic_load(&s->stopping)) ll_reply_problem(r, 503, LLAP_EUNAVAILABLE, "stopping");
    else if (ll_accepts(r->accept, r->route->gives) < 0)
        ll_reply_problem(r, 406, LLAP_OK, "answers here are %s", ll_route_gives(r));
    else if (r->route->takes != NULL && !ll_route_takes(r))
        ll_reply_problem(r, 415, LLAP_OK, "expected one of the types in %s, found '%s'",
                         "/openapi.json",
                         r->content_type == NULL ? "" : ll_text_show(r->content_type).text);
    else if (r->content_encoding != NULL && strcasecmp(r->content_encoding, "gzip") != 0 &&
             strcasecmp(r->content_encoding, "identity") != 0)
        ll_reply_problem(r, 415, LLAP_OK, "Content-Encoding: expected gzip or none");
}

/* ---- its body ---- */

static llap_status append(ll_request *r, const char *bytes, size_t n)
{
    llap_server *s = r->server;
    if (r->n_body + n > r->room) {
        size_t room = 2 * (r->n_body + n);
        if (room < BODY_FIRST) room = BODY_FIRST;
        if (room > (size_t)r->most) room = (size_t)r->most;
        char *more = ll_grow(r->body, room, 1);
        if (more == NULL) return LLAP_ENOMEM;
        r->body = more;
        (void)atomic_fetch_add(&s->body_bytes, (int64_t)(room - r->room));
        r->room = room;
    }
    memcpy(r->body + r->n_body, bytes, n);
    r->n_body += n;
    return LLAP_OK;
}

/* Of a request that is refused a little is read, so that its client comes to read the answer. */
static unsigned int take_bytes(ll_request *r, const char *bytes, size_t n)
{
    r->n_bytes += n;
    phase(r, LL_PHASE_BODY, (int64_t)r->n_bytes);
    if (r->reply.status == 0 && r->n_body + n > (size_t)r->most) too_large(r);
    if (r->reply.status == 0 && r->route->takes == NULL)
        ll_reply_problem(r, 400, LLAP_EINVAL, "this takes no body");
    if (r->reply.status == 0 && atomic_load(&r->server->body_bytes) > r->server->o.max_memory << 20)
        ll_reply_problem(r, 503, LLAP_EUNAVAILABLE, "too many bytes arrive at once");
    if (r->reply.status == 0 && append(r, bytes, n) != LLAP_OK) ll_reply_failure(r, LLAP_ENOMEM);
    if (r->reply.status != 0) r->n_swallowed += n;
    return r->n_swallowed > SWALLOW ? LL_MHD_NO : LL_MHD_YES;
}

/* ---- its answer ---- */

/* Whether it is the last one of its connection: of those with an older certificate none stays. */
static bool is_last(const ll_request *r)
{
    llap_server              *s = r->server;
    struct MHD_Daemon *const *of =
        s->mhd->get_connection_info(r->connection, LL_MHD_CONNECTION_INFO_DAEMON);
    (void)pthread_mutex_lock(&s->lock);
    const bool older = of != NULL && s->daemon != NULL && *of != s->daemon;
    (void)pthread_mutex_unlock(&s->lock);
    return older || atomic_load(&s->stopping);
}

/* A long answer, handed on piece by piece, so that who does not fetch it is seen. */
typedef struct fetched {
    llap_server   *server;
    ll_connection *from;
    char          *body; /* [n] owned */
    size_t         n;
} fetched;

static ssize_t fetch(void *user, uint64_t at, char *to, size_t room)
{
    const fetched *f = user;
    const size_t   left = f->n - (size_t)at, n = left < room ? left : room;
    memcpy(to, f->body + at, n);
    if (f->from != NULL) {
        (void)pthread_mutex_lock(&f->server->lock);
        f->from->n_bytes = (int64_t)at + (int64_t)n;
        (void)pthread_mutex_unlock(&f->server->lock);
    }
    return (ssize_t)n;
}

static void forget_fetched(void *user)
{
    fetched *f = user;
    ll_free(f->body);
    ll_free(f);
}

static struct MHD_Response *long_response(ll_request *r)
{
    fetched *f = ll_new(1, sizeof *f);
    if (f == NULL) return NULL;
    *f = (fetched){ r->server, r->from, r->reply.body, r->reply.n };
    struct MHD_Response *made =
        r->server->mhd->create_response_from_callback(f->n, PIECE, fetch, f, forget_fetched);
    if (made == NULL) ll_free(f); /* the body stays the reply's */
    return made;
}

static struct MHD_Response *response_of(ll_request *r)
{
    const ll_mhd_library *mhd = r->server->mhd;
    ll_reply             *p = &r->reply;
    struct MHD_Response  *made =
        p->n > PIECE && !p->fixed ? long_response(r)
         : p->reader != NULL       ? mhd->create_response_from_callback(LL_MHD_SIZE_UNKNOWN, 4096,
                                                                        p->reader, p->body, p->reader_end)
         : p->fixed || p->body == NULL
             ? mhd->create_response_from_buffer(p->n, p->body, LL_MHD_RESPMEM_PERSISTENT)
             : mhd->create_response_from_buffer_with_free_callback(p->n, p->body, ll_free);
    if (made == NULL) return NULL;
    p->body = NULL; /* it is the response's */
    (void)mhd->add_response_header(made, "X-Content-Type-Options", "nosniff");
    if (p->type != NULL) (void)mhd->add_response_header(made, "Content-Type", p->type);
    if (p->etag[0] != '\0') (void)mhd->add_response_header(made, "ETag", p->etag);
    (void)mhd->add_response_header(made, "Cache-Control",
                                   p->etag[0] != '\0' ? "no-cache" : "no-store");
    for (size_t i = 0; i < LL_REPLY_HEADERS && p->header[i][0] != NULL; i++)
        (void)mhd->add_response_header(made, p->header[i][0], p->header[i][1]);
    if (is_last(r)) (void)mhd->add_response_header(made, "Connection", "close");
    return made;
}

static unsigned int send_reply(ll_request *r)
{
    const ll_mhd_library *mhd = r->server->mhd;
    if (r->reply.status == 0) ll_reply_problem(r, 500, LLAP_OK, "no answer was made");
    struct MHD_Response *made = response_of(r);
    if (made == NULL) return LL_MHD_NO;
    phase(r, r->reply.reader != NULL ? LL_PHASE_WORK : LL_PHASE_REPLY,
          r->reply.n > PIECE ? 0 : (int64_t)r->reply.n);
    const unsigned int sent =
        mhd->queue_response(r->connection, (unsigned int)r->reply.status, made);
    mhd->destroy_response(made);
    return sent;
}

static unsigned int answer(ll_request *r)
{
    llap_server          *s = r->server;
    const ll_mhd_library *mhd = s->mhd;
    r->deadline = ll_now() + s->o.max_seconds * INT64_C(1000000000);
    if (r->route->where == LL_AT_ONCE) {
        const llap_status st = r->route->run(r);
        if (st != LLAP_OK) ll_reply_failure(r, st);
        return send_reply(r);
    }
    phase(r, LL_PHASE_WORK, 0);
    mhd->suspend_connection(r->connection);
    if (!ll_workers_take(
            r->route->where == LL_BY_WRITER && s->streams != NULL ? &s->writers : &s->workers, r)) {
        ll_reply_problem(r, 503, LLAP_EUNAVAILABLE, "%lld requests wait already",
                         (long long)s->o.max_requests);
        mhd->resume_connection(r->connection);
    }
    return LL_MHD_YES;
}

static unsigned int on_request(void *cls, struct MHD_Connection *c, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *n_upload, void **slot)
{
    ll_request *r = *slot;
    (void)version;
    if (r == NULL) {
        r = make(cls, c, url, method);
        if (r == NULL) return LL_MHD_NO;
        *slot = r;
        check(r);
        return r->reply.status != 0 && announced(r) > SWALLOW ? send_reply(r) : LL_MHD_YES;
    }
    if (*n_upload > 0) {
        const size_t n = *n_upload;
        *n_upload = 0;
        return take_bytes(r, upload, n);
    }
    return r->reply.status != 0 ? send_reply(r) : answer(r);
}

static void on_end(void *cls, struct MHD_Connection *c, void **slot, unsigned int how)
{
    llap_server *s = cls;
    ll_request  *r = *slot;
    (void)c;
    (void)how;
    if (r == NULL) return;
    *slot = NULL;
    ll_journal_request(s, r);
    phase(r, LL_PHASE_HEADER, 0);
    if (r->reply.reader != NULL && r->reply.body != NULL) r->reply.reader_end(r->reply.body);
    else if (!r->reply.fixed) ll_free(r->reply.body);
    (void)atomic_fetch_sub(&s->body_bytes, (int64_t)r->room + r->n_held);
    (void)atomic_fetch_sub(&s->requests, 1);
    ll_free(r->body);
    ll_arena_deinit(&r->arena);
    ll_free(r);
}

/* ---- the daemon ---- */

llap_status ll_connections_start(llap_server *s, struct MHD_Daemon **out)
{
    unsigned int flags =
        LL_MHD_USE_AUTO | LL_MHD_USE_INTERNAL_POLLING_THREAD | LL_MHD_ALLOW_SUSPEND_RESUME;
    ll_mhd_option option[] = {
        { LL_MHD_OPTION_LISTEN_SOCKET, s->listening, NULL },
        { LL_MHD_OPTION_CONNECTION_LIMIT, (intptr_t)s->o.max_connections, NULL },
        { LL_MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)(s->o.max_header << 10), NULL },
        { LL_MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL },
        { LL_MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_end, s },
        { LL_MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, s },
        { LL_MHD_OPTION_END, 0, NULL },
        { LL_MHD_OPTION_END, 0, NULL },
        { LL_MHD_OPTION_END, 0, NULL },
        { LL_MHD_OPTION_END, 0, NULL },
    };
    if (s->certificate != NULL) {
        flags |= LL_MHD_USE_TLS;
        option[6] = (ll_mhd_option){ LL_MHD_OPTION_HTTPS_MEM_CERT, 0, s->certificate };
        option[7] = (ll_mhd_option){ LL_MHD_OPTION_HTTPS_MEM_KEY, 0, s->key };
        option[8] = (ll_mhd_option){ LL_MHD_OPTION_HTTPS_PRIORITIES, 0,
                                     "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" };
    }
    *out = s->mhd->start_daemon(flags, (uint16_t)s->port, NULL, NULL, on_request, s,
                                (int)LL_MHD_OPTION_ARRAY, option, (int)LL_MHD_OPTION_END);
    if (*out != NULL) return LLAP_OK;
    return s->certificate != NULL
               ? ll_fail(LLAP_EINVAL, "certificate and key: they do not fit, or cannot be read")
               : ll_fail(LLAP_EIO, "cannot serve on port %d", s->port);
}
