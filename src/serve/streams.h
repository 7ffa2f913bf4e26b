/* Streams of a server: readings that are durable in the store (store/store.h), and beside each
 * stream of the store one of the library that has taken them in and answers about them.
 *
 * An append is answered when it is durable. It has then been put into `arrived` of its stream by
 * the store, in the order of the numbers; whoever asks next takes in what arrived (ll_live_settle),
 * and reads from the store what did not come that way: appends of other processes. The state of a
 * stream is saved to the store now and then and at the end; what came behind it is replayed. */
#ifndef LL_SERVE_STREAMS_H
#define LL_SERVE_STREAMS_H

#include "data/panel.h"
#include "serve/request.h"
#include "store/store.h"
#include "stream/stream.h"

#include <llapdiff/detect.h>

enum { LL_STREAMS_MAX = 1000 };

/* Rows of an append, as the store gave them. */
typedef struct ll_arrival {
    struct ll_arrival *next;
    int64_t            number, n_variables, n_rows;
    const char       **variable, **entity; /* [n_variables], [n_rows]; all in one block */
    int64_t           *time;
    float             *value; /* [n_rows,n_variables] */
} ll_arrival;

/* Who listens to a stream's events. */
typedef struct ll_listener {
    struct ll_listener    *next;
    struct ll_live        *of;
    struct MHD_Connection *connection;
    ll_connection         *from;
    char                  *text; /* [n]; what was not yet fetched begins at `at` */
    size_t                 n, room, at;
    int64_t                since, moved; /* since when there was always some; bytes fetched since */
    bool                   asleep, ended, forecasts;
} ll_listener;

typedef struct ll_live {
    struct ll_live *next;
    llap_server    *server;
    char            name[LL_NAME_MAX + 1], model_name[LL_NAME_MAX + 1];

    pthread_mutex_t lock;  /* of the next ones */
    ll_served      *model; /* NULL: there is none of that name now */
    llap_stream    *s;     /* NULL: likewise */
    int64_t         taken; /* number of the last append in s */
    int64_t         told;  /* number of the last append of which alarms were told */
    int64_t         saved; /* number of the last one in the state that the store has */
    int64_t changed; /* when s took rows last (ll_now), 0: not since the last forecast event */

    pthread_mutex_t arriving; /* of the next two; nothing else is locked under it */
    ll_arrival     *first, *last;

    ll_listener *listener; /* under the lock of all listeners */
} ll_live;

struct ll_streams {
    ll_store       *store;
    int64_t         keep; /* nanoseconds of readings; 0: all */
    pthread_mutex_t lock; /* of the list, which only grows */
    ll_live        *first;
    pthread_mutex_t making;    /* one new stream at a time */
    pthread_mutex_t listening; /* of all listeners, and of their number */
    int64_t         n_listeners, signed_at, told_at;
    pthread_t       keeper;
    bool            keeping;
    atomic_bool     ended;
};

/* Opens the store and brings its streams back; llap_server_stop saves and closes. */
llap_status ll_streams_start(llap_server *s);
/* Ends all listeners, so that their connections end. */
void ll_streams_hush(llap_server *s);
void ll_streams_stop(llap_server *s); /* NULL streams are fine */

/* The stream of the path; NULL and *st where there is none. */
ll_live *ll_live_of(ll_request *r, llap_status *st);
ll_live *ll_live_find(llap_server *s, const char *name); /* NULL: none */
/* Locks it. LLAP_EUNAVAILABLE: it has been locked for long, because it is being made anew of all
 * its readings: who asks about it does not keep a thread from who asks about others. */
llap_status ll_live_lock(ll_live *k);
/* The model of the stream, or which a new one of that name would be of; *out NULL: none. Caller
 * owns *out (ll_served_release). */
llap_status ll_live_model(llap_server *s, const char *name, const char *model, ll_served **out);
/* Makes it where there is none; model NULL: the one of the stream's name, or the only one. */
llap_status ll_live_make(llap_server *s, const char *name, const char *model, ll_live **out);
/* Locked: takes in what arrived, at least up to that number; 0: what there is. The model is the one
 * that is served now. LLAP_EUNAVAILABLE: there is no such model. */
llap_status ll_live_settle(ll_live *k, int64_t number);
/* The rows that are held, copied under the lock, and its model. Caller owns both. */
llap_status ll_live_copy(ll_live *k, llap_panel **p, ll_served **m);
/* Locked, and settled: how its times are read and written, in memory of the request. */
llap_status ll_live_axis(ll_request *r, const ll_live *k, ll_axis *to);
/* Locked: keeps its state in the store. */
llap_status ll_live_save(ll_live *k);

/* ---- events ---- */

/* "event: WHAT\ndata: JSON\n\n" to all that listen to it, with forecasts: of those who want them.
 */
void ll_live_tell(ll_live *k, const char *what, const char *json, bool forecasts);
/* Tells of alarms that began or ended; locked. */
void ll_live_tell_alarms(ll_live *k);
/* Now and then: forecasts of streams that have changed, a sign of life to all. */
void ll_events_tick(llap_server *s);

llap_status ll_answer_streams(ll_request *r);
llap_status ll_answer_stream(ll_request *r);
llap_status ll_answer_readings(ll_request *r);
llap_status ll_answer_stream_forecast(ll_request *r);
llap_status ll_answer_history(ll_request *r);
llap_status ll_answer_history_chart(ll_request *r);
llap_status ll_answer_events(ll_request *r);

#endif
