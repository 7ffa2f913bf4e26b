/* A server from its start to its end. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "serve/feed.h"
#include "serve/jobs.h"
#include "serve/streams.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 100, KEY_MAX = 1 << 20, BACKLOG = 511, WRITERS = 32 };

static void sleep_ms(int64_t ms)
{
    (void)nanosleep(&(struct timespec){ ms / 1000, (ms % 1000) * 1000000 }, NULL);
}

/* ---- the listening socket ---- */

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)a;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    if (a->sa_family != AF_INET6) return false;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)a;
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static llap_status bind_to(llap_server *s, const struct addrinfo *a)
{
    const int yes = 1;
    s->listening = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->listening < 0) return ll_fail_errno(errno, "a socket");
    (void)setsockopt(s->listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(s->listening, a->ai_addr, a->ai_addrlen) != 0 || listen(s->listening, BACKLOG) != 0)
        return ll_fail(LLAP_EIO, "%s port %lld: %s", ll_text_show(s->o.address).text,
                       (long long)s->o.port, strerror(errno));
    struct sockaddr_storage at;
    socklen_t               n = sizeof at;
    if (getsockname(s->listening, (struct sockaddr *)&at, &n) != 0)
        return ll_fail_errno(errno, "a socket");
    s->port = ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&at)->sin6_port
                                             : ((struct sockaddr_in *)(void *)&at)->sin_port);
    return LLAP_OK;
}

static llap_status listen_there(llap_server *s)
{
    const struct addrinfo want = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    struct addrinfo      *found = NULL;
    char                  port[24];
    snprintf(port, sizeof port, "%lld", (long long)s->o.port);
    const int bad = getaddrinfo(s->o.address, port, &want, &found);
    if (bad != 0)
        return ll_fail(LLAP_EOPTION, "address: '%s': %s", ll_text_show(s->o.address).text,
                       gai_strerror(bad));
    s->loopback = is_loopback(found->ai_addr);
    llap_status st = LLAP_OK;
    if (!s->loopback && s->tokens == NULL && !s->o.insecure)
        st = ll_fail(LLAP_EOPTION,
                     "address: others than this machine reach '%s': give `tokens`, or `insecure`",
                     ll_text_show(s->o.address).text);
    if (st == LLAP_OK) st = bind_to(s, found);
    freeaddrinfo(found);
    return st;
}

/* ---- what is read at the start, and again ---- */

static llap_status read_certificate(const llap_server *s, char **certificate, char **key)
{
    size_t n;
    *certificate = *key = NULL;
    if (s->o.certificate == NULL && s->o.key == NULL) return LLAP_OK;
    if (s->o.certificate == NULL || s->o.key == NULL)
        return ll_fail(LLAP_EOPTION, "%s: `certificate` and `key` are given together",
                       s->o.key == NULL ? "certificate" : "key");
    if (!s->mhd->is_feature_supported(LL_MHD_FEATURE_TLS))
        return ll_fail(LLAP_EUNSUPPORTED, "this libmicrohttpd was built without TLS");
    llap_status st = ll_file_read(s->o.certificate, KEY_MAX, certificate, &n);
    return st == LLAP_OK ? ll_file_read(s->o.key, KEY_MAX, key, &n) : st;
}

static void forget_key(char *key)
{
    if (key != NULL) memset(key, 0, strlen(key));
    ll_free(key);
}

/* Those of the older daemons whose connections have ended. libmicrohttpd ends the process when a
 * daemon is stopped while one of its requests waits for a worker, or for an event. */
static void stop_older(llap_server *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n_older; i++) {
        struct MHD_Daemon  *d = s->older[i];
        const unsigned int *open =
            s->mhd->get_daemon_info(d, LL_MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
        if (open != NULL && *open == 0) s->mhd->stop_daemon(d);
        else s->older[kept++] = d;
    }
    s->n_older = kept;
}

/* The daemon at work accepts nobody more, tells its clients to come again, and is kept until they
 * have gone. */
static void replace_daemon(llap_server *s, struct MHD_Daemon *made)
{
    s->older[s->n_older++] = s->daemon;
    (void)s->mhd->quiesce_daemon(s->daemon);
    (void)pthread_mutex_lock(&s->lock);
    s->daemon = made;
    (void)pthread_mutex_unlock(&s->lock);
    ll_streams_hush(s);
}

/* Another daemon at the same socket, with the new certificate; the one before ends with its
 * connections. */
static llap_status change_certificate(llap_server *s)
{
    char       *certificate, *key, *old_certificate = s->certificate, *old_key = s->key;
    llap_status st = read_certificate(s, &certificate, &key);
    stop_older(s);
    if (st == LLAP_OK && certificate != NULL && s->n_older == LL_OLDER_MAX)
        st = ll_fail(LLAP_EUNAVAILABLE,
                     "certificate: connections with the last %d certificates are still open: try "
                     "again later",
                     LL_OLDER_MAX + 1);
    if (st == LLAP_OK && certificate != NULL) {
        struct MHD_Daemon *made = NULL;
        s->certificate = certificate;
        s->key = key;
        st = ll_connections_start(s, &made);
        if (st == LLAP_OK) {
            replace_daemon(s, made);
            certificate = old_certificate;
            key = old_key;
        } else {
            s->certificate = old_certificate;
            s->key = old_key;
        }
    }
    ll_free(certificate);
    forget_key(key);
    return st;
}

llap_status llap_server_reload(llap_server *s)
{
    ll_tokens  *tokens = NULL, *before = NULL;
    llap_status st = s->o.tokens != NULL ? ll_tokens_read(s->o.tokens, &tokens) : LLAP_OK;
    if (st == LLAP_OK && tokens != NULL) {
        (void)pthread_mutex_lock(&s->lock);
        before = s->tokens;
        s->tokens = tokens;
        (void)pthread_mutex_unlock(&s->lock);
        ll_free(before);
    }
    const llap_status second = change_certificate(s);
    if (st == LLAP_OK) st = second;
    if (st == LLAP_OK) ll_journal(s, LLAP_LOG_INFO, "reload", "tokens and certificate");
    else ll_journal(s, LLAP_LOG_ERROR, "reload", "%s", llap_error_detail());
    return st;
}

/* ---- start and stop ---- */

static void *tick(void *user)
{
    llap_server *s = user;
    while (!atomic_load(&s->ended)) {
        ll_connections_sweep(s);
        sleep_ms(TICK_MS);
    }
    return NULL;
}

static llap_status start_ticker(llap_server *s)
{
    const int bad = pthread_create(&s->ticker, NULL, tick, s);
    s->ticking = bad == 0;
    return bad == 0 ? LLAP_OK : ll_fail_errno(bad, "a thread");
}

static llap_status start_workers(llap_server *s)
{
    long n = (long)s->o.workers;
    if (n <= 0) n = sysconf(_SC_NPROCESSORS_ONLN);
    llap_status st = ll_workers_start(&s->workers, (size_t)(n > 0 ? n : 1), s->o.max_requests);
    if (st == LLAP_OK && s->streams != NULL) /* they wait for the disk, together */
        st = ll_workers_start(&s->writers, WRITERS, s->o.max_requests);
    return st;
}

static llap_status begin(llap_server *s, const char *const *models, size_t n)
{
    llap_status st = ll_mhd_load(NULL, &s->mhd);
    if (s->o.address == NULL) s->o.address = "127.0.0.1";
    if (st == LLAP_OK && s->o.tokens != NULL) st = ll_tokens_read(s->o.tokens, &s->tokens);
    if (st == LLAP_OK && s->o.page) st = ll_tokens_make(&s->page_token);
    if (st == LLAP_OK) st = read_certificate(s, &s->certificate, &s->key);
    if (st == LLAP_OK) st = ll_openapi_text(&s->openapi, &s->n_openapi);
    if (st == LLAP_OK) st = listen_there(s);
    for (size_t i = 0; st == LLAP_OK && i < n; i++) st = ll_models_load(&s->models, models[i]);
    if (st == LLAP_OK) st = ll_streams_start(s);
    if (st == LLAP_OK) st = ll_sets_start(s);
    if (st == LLAP_OK) st = ll_jobs_start(s);
    if (st == LLAP_OK) st = start_workers(s);
    if (st == LLAP_OK) st = ll_feed_start(s);
    if (st == LLAP_OK) st = ll_connections_start(s, &s->daemon);
    if (st == LLAP_OK) st = start_ticker(s);
    return st;
}

llap_status llap_server_start(const char *const *models, size_t n, const llap_serve_opts *given,
                              llap_server **out)
{
    *out = NULL;
    llap_server *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    s->listening = -1;
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_mutex_init(&s->models.lock, NULL);
    (void)pthread_mutex_init(&s->counters.lock, NULL);
    llap_status st = llap_options_resolve(llap_serve_options(), given, &s->o, sizeof s->o);
    if (st == LLAP_OK) st = begin(s, models, n);
    if (st == LLAP_OK) {
        ll_journal(s, LLAP_LOG_INFO, "start", "%zu models, http%s://%s:%d", n,
                   s->certificate != NULL ? "s" : "", s->o.address, s->port);
        if (!s->loopback && s->tokens == NULL)
            ll_journal(s, LLAP_LOG_WARNING, "start",
                       "anyone who reaches this port may read and write");
        if (!s->loopback && s->tokens != NULL && s->certificate == NULL)
            ll_journal(s, LLAP_LOG_WARNING, "start",
                       "tokens and data travel unencrypted: give a certificate");
        *out = s;
    } else {
        llap_server_stop(s);
    }
    return st;
}

int llap_server_port(const llap_server *s) { return s->port; }

size_t llap_server_page(const llap_server *s, char *out, size_t room)
{
    const char *host = s->o.address;
    const bool  v6 = strchr(host, ':') != NULL, any = strcmp(host, "0.0.0.0") == 0;
    const int n = snprintf(out, room, "http%s://%s%s%s:%d/%s%s", s->certificate != NULL ? "s" : "",
                           v6 ? "[" : "", any ? "127.0.0.1" : host, v6 ? "]" : "", s->port,
                           s->page_token != NULL ? "#token=" : "",
                           s->page_token != NULL ? s->page_token->token[0].secret : "");
    return n > 0 ? (size_t)n : 0;
}

/* Requests that came are answered; at the latest after the time that they may take. */
static void drain(llap_server *s)
{
    const int64_t most = (s->o.max_seconds + s->o.patience) * 1000;
    (void)s->mhd->quiesce_daemon(s->daemon);
    sleep_ms(20);                            /* its thread lets go of the socket */
    (void)shutdown(s->listening, SHUT_RDWR); /* who comes now is refused, and need not wait */
    for (int64_t ms = 0; ms < most && atomic_load(&s->requests) > 0; ms += 10) sleep_ms(10);
}

void llap_server_stop(llap_server *s)
{
    if (s == NULL) return;
    atomic_store(&s->stopping, true);
    if (s->daemon != NULL) {
        ll_journal(s, LLAP_LOG_INFO, "stop", "%lld requests to be answered",
                   (long long)atomic_load(&s->requests));
        ll_streams_hush(s);
        drain(s);
    }
    ll_workers_stop(&s->workers);
    ll_workers_stop(&s->writers);
    ll_jobs_stop(s);
    if (s->daemon != NULL) s->mhd->stop_daemon(s->daemon);
    for (size_t i = 0; i < s->n_older; i++) s->mhd->stop_daemon(s->older[i]);
    atomic_store(&s->ended, true);
    if (s->ticking) (void)pthread_join(s->ticker, NULL);
    ll_feed_stop(s);
    ll_streams_stop(s);
    ll_sets_stop(s);
    if (s->listening >= 0) (void)close(s->listening);
    ll_models_deinit(&s->models);
    ll_free(s->tokens);
    ll_free(s->page_token);
    ll_free(s->certificate);
    forget_key(s->key);
    ll_free(s->openapi);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_mutex_destroy(&s->models.lock);
    (void)pthread_mutex_destroy(&s->counters.lock);
    ll_free(s);
}
