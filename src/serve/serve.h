/* src/serve: a server over HTTP of models and of readings that arrive (<llapdiff/serve.h>).
 *
 *   serve.h        this file: the server, and what its files share
 *   library.h      libmicrohttpd as a table of functions
 *   server.c       start, stop, the listening socket
 *   connection.c   bytes in and out: requests as they arrive, who is slow, limits
 *   request.h      a request as those see it who answer: request.c, reply.c, body.c
 *   route.h        from a request to its route, and whether its client may go there
 *   routes.c       the table of what is answered; openapi.c makes the document of it
 *   workers.c      threads that answer what takes time
 *   tokens.c       who may do what
 *   models.c       models by name
 *   ask.c          forecast, impute, detect
 *   columns.h      answers by columns: Arrow streams, tensors (tensors.c)
 *   plain.c        health, metrics, lists, the page
 *   streams.h      readings that arrive: streams.c, readings.c, live.c; what there was: history.c
 *   sets.h         data that is held by a name: sets.c
 *   charts.h       what charts are drawn of: charts.c, fans.c, history_chart.c, decimate.h
 *   jobs.h         training and scoring: jobs.c, job_work.c
 *   feed.h         readings from an MQTT broker
 *   journal.c      log lines and counters
 *
 * May touch: base, base/json, base/time, base/rng, data, data/arrow_ipc, predict/tables, stream,
 * store, mqtt, page. */
#ifndef LL_SERVE_SERVE_H
#define LL_SERVE_SERVE_H

#include "base/arena.h"
#include "serve/library.h"

#include <llapdiff/model.h>
#include <llapdiff/serve.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct ll_request;
struct ll_streams;
struct ll_sets;
struct ll_jobs;
struct ll_feed;
struct ll_route;

/* ---- who may do what ---- */

typedef enum ll_right { LL_RIGHT_NONE, LL_RIGHT_READ, LL_RIGHT_WRITE, LL_RIGHT_ADMIN } ll_right;

enum { LL_TOKEN_MIN = 16, LL_TOKEN_MAX = 255, LL_NAME_MAX = 64 };

typedef struct ll_token {
    char     name[LL_NAME_MAX + 1];
    ll_right right;
    char     secret[LL_TOKEN_MAX + 1]; /* the rest is 0 */
} ll_token;

typedef struct ll_tokens {
    size_t   n;
    ll_token token[];
} ll_tokens;

/* Reads such a file; caller owns *out (ll_free). */
llap_status ll_tokens_read(const char *path, ll_tokens **out);
/* One of this run, with the right admin, that nobody can guess; caller owns *out (ll_free). */
llap_status ll_tokens_make(ll_tokens **out);
/* The same of its text [n]; name is for messages. */
llap_status ll_tokens_parse(const char *text, size_t n, const char *name, ll_tokens **out);
/* The one that has this secret, NULL: none. Takes the same time for any secret of a length. */
const ll_token *ll_tokens_find(const ll_tokens *t, const char *secret);

/* ---- models by name ---- */

/* Shared by the requests that use it: it lasts until the last of them lets go. */
typedef struct ll_served {
    char        name[LL_NAME_MAX + 1];
    llap_model *model;
    uint64_t    hash; /* of its bytes */
    size_t      n_bytes;
    atomic_int  holders;
} ll_served;

enum { LL_MODELS_MAX = 1000 };

typedef struct ll_models {
    pthread_mutex_t lock;
    ll_served      *model[LL_MODELS_MAX]; /* by name */
    size_t          n;
} ll_models;

/* [A-Za-z0-9] and, behind the first, [._-]; at most LL_NAME_MAX. */
bool ll_name_is_good(const char *name);
/* Takes m, also after a failure; one of that name before is replaced (*replaced, may be NULL). */
llap_status ll_models_put(ll_models *all, const char *name, llap_model *m, bool *replaced);
llap_status ll_models_load(ll_models *all, const char *name_and_path);
bool        ll_models_remove(ll_models *all, const char *name); /* false: there is none */
ll_served  *ll_models_get(ll_models *all, const char *name);    /* NULL: none; ll_served_release */
ll_served  *ll_models_at(ll_models *all, size_t i);             /* NULL: no more */
void        ll_served_release(ll_served *s);                    /* NULL is fine */
void        ll_models_deinit(ll_models *all);

/* ---- threads that answer ---- */

typedef struct ll_workers {
    pthread_mutex_t    lock;
    pthread_cond_t     more;
    struct ll_request *first, *last; /* that wait */
    int64_t            n, most;      /* waiting or worked on */
    bool               ending;
    size_t             n_threads;
    pthread_t         *thread;
} ll_workers;

llap_status ll_workers_start(ll_workers *w, size_t n, int64_t most);
void        ll_workers_stop(ll_workers *w); /* once nothing waits */
/* false: too many wait already. Afterwards the request is a worker's until it is resumed. */
bool ll_workers_take(ll_workers *w, struct ll_request *r);

/* ---- log lines and counters ---- */

enum { LL_ROUTES_MAX = 48, LL_SECONDS_BUCKETS = 10, LL_CLASSES = 6 };

typedef struct ll_route_counts {
    int64_t answered[LL_CLASSES]; /* by the first digit of the status */
    int64_t within[LL_SECONDS_BUCKETS];
    double  seconds;
} ll_route_counts;

typedef struct ll_counters {
    pthread_mutex_t lock;
    ll_route_counts route[LL_ROUTES_MAX];
    int64_t refused, cut; /* requests without a route or place; connections of slow clients */
    int64_t bytes_in, bytes_out;
} ll_counters;

void ll_journal_request(llap_server *s, const struct ll_request *r);
/* A line {"time": .., "level": .., "event": .., "message": ..}. */
void ll_journal(llap_server *s, llap_log_level level, const char *event, const char *fmt, ...)
    LLAP_PRINTF(4, 5);
/* The library's own messages as such lines. */
llap_log ll_journal_log(llap_server *s);
/* What /metrics says. Caller owns *text (ll_free). */
llap_status ll_metrics_text(llap_server *s, char **text, size_t *n);

/* ---- connections ---- */

typedef enum ll_phase { LL_PHASE_HEADER, LL_PHASE_BODY, LL_PHASE_WORK, LL_PHASE_REPLY } ll_phase;

typedef struct ll_connection {
    struct ll_connection *next, *before;
    int                   fd;
    ll_phase              phase;
    int64_t               since, n_bytes; /* of the phase: when it began, what came or goes */
    bool                  cut;
} ll_connection;

enum { LL_SLOWEST = 16 << 10 }; /* bytes a second that clients have to move */

/* Sends those away who are slow; called now and then. */
void ll_connections_sweep(llap_server *s);
/* The daemon that speaks for the listening socket; *out to be given to MHD_stop_daemon. */
llap_status ll_connections_start(llap_server *s, struct MHD_Daemon **out);

/* ---- the server ---- */

enum { LL_OLDER_MAX = 8 };

struct llap_server {
    llap_serve_opts       o;
    const ll_mhd_library *mhd;
    int                   listening, port;
    bool                  loopback;
    char                 *certificate, *key; /* their text; NULL: no TLS */

    pthread_mutex_t    lock;   /* of the next three */
    struct MHD_Daemon *daemon; /* NULL: none is accepting */
    ll_tokens         *tokens; /* NULL: everyone may, within what the address allows */
    ll_connection     *connections;

    struct MHD_Daemon *older[LL_OLDER_MAX]; /* [n_older] with certificates before, which accept
                                             * nobody and stay until their connections have ended */
    size_t n_older;

    ll_models          models;
    ll_workers         workers, writers; /* writers wait for the store */
    ll_counters        counters;
    struct ll_streams *streams; /* NULL: there is no store */
    struct ll_sets    *sets;
    struct ll_jobs    *jobs;
    ll_tokens         *page_token; /* NULL: there is none */
    struct ll_feed    *feed;       /* NULL: there is no broker */
    llap_log           library_log;
    pthread_t          ticker;
    bool               ticking;

    char  *openapi; /* the document */
    size_t n_openapi;

    atomic_bool           stopping, ended;
    atomic_bool           large;      /* a large request is at work (ll_request_large) */
    atomic_int_least64_t  requests;   /* that began and were not yet answered */
    atomic_int_least64_t  body_bytes; /* of all requests and large answers, held now */
    atomic_uint_least64_t number;     /* of requests, for the log */
};

int64_t ll_now(void); /* nanoseconds of a clock that only goes forward */

#endif
