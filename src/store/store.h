/* src/store: readings that arrived, and the states of streams, in a database: what a server has to
 * find again after it was stopped, or killed.
 *
 *   store.h      all that others call
 *   inner.h      what the files share: connections.c waits for a database that is gone
 *   schema.c     tables, versions, and how one becomes the next
 *   commit.c     callers that arrive together share one transaction, which write.c makes
 *   read.c       readings back
 *   state.c      states of streams; what is kept for how long
 *
 * May touch: base, base/sql.
 *
 *     ll_store *s = NULL;
 *     llap_status st = ll_store_open("ward.db", NULL, &s);       or "postgresql://host/database"
 *     const char *const variables[] = { "pulse", "spo2" };
 *     const ll_store_row row = { "bed 4", time, (double[]){ 71, NAN } };
 *     ll_store_receipt got;
 *     const ll_store_readings r = { "ward", key, variables, 2, &row, 1 };
 *     if (st == LLAP_OK) st = ll_store_append(s, &r, &got);
 *     ... the readings are durable here ...
 *     ll_store_close(s);
 *
 * The database. "postgresql://..." (or postgres://) as libpq reads it; anything else is a file of
 * SQLite, with or without "sqlite:" in front. Both have the same tables, in columns that any
 * program can read; they are made when they are not there, and brought up to date when they are
 * older. Several processes may use one store.
 *
 * Streams are made by their first append or state. The appends of a stream are numbered 1, 2, 3 ...
 * in the order in which they became durable: whoever loads the state of a stream, which says up to
 * which number it has taken readings in, and takes in those that ll_store_replay gives behind it,
 * has what was there before.
 *
 * When it fails. LLAP_EUNAVAILABLE: the database is full, or it is gone or locked and was for all
 * of opts.wait_ms; the detail says which. Nothing is half-written, and the next call tries again: a
 * server that is back is found by itself. An append of which this is said may have become durable
 * all the same (the answer got lost): repeated with the same key, it is stored once. LLAP_EFORMAT:
 * the database holds something else. LLAP_EUNSUPPORTED: a newer version made it, or the library for
 * it (libsqlite3, libpq) is not on this machine.
 *
 * All functions may be called from any thread at any time, but for ll_store_close, after which
 * there must be no other. */
#ifndef LL_STORE_STORE_H
#define LL_STORE_STORE_H

#include <llapdiff/log.h>
#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ll_store ll_store;

/* Limits: of names and keys in bytes, of what one append and one state may hold. */
enum {
    LL_STORE_NAME_MAX = 255, /* of streams, entities, variables and keys: UTF-8, no NUL */
    LL_STORE_VARIABLES_MAX = 4096,
    LL_STORE_ROWS_MAX = 1 << 20,
    LL_STORE_STATE_MAX = 512 << 20,
};

/* One row: the readings of an entity at one time. */
typedef struct ll_store_row {
    const char   *entity; /* "" is one too */
    int64_t       time;   /* nanoseconds since 1970, or the number of the model's axis */
    const double *value;  /* [n_variables]; NaN: missing, infinite ones are refused */
} ll_store_row;

/* What is appended at once: all of it becomes durable, or nothing. */
typedef struct ll_store_readings {
    const char *stream;
    const char *key; /* the client's name of this request, its own among those of the stream;
                        NULL: none, and a repeated request is stored again */
    const char *const  *variable; /* [n_variables], no name twice */
    int64_t             n_variables;
    const ll_store_row *row; /* [n_rows] */
    int64_t             n_rows;
} ll_store_readings;

typedef struct ll_store_receipt {
    int64_t number;   /* of the append within its stream, from 1 */
    bool    repeated; /* it was there before: nothing was stored now */
} ll_store_receipt;

typedef struct ll_store_opts {
    int64_t wait_ms; /* how long a call waits for a database that is gone or locked; 0: 5000 */
    /* Told of each append (not of repeated ones) when it is durable and before its ll_store_append
     * returns, in the order of their numbers, one at a time: the place to take the readings into
     * a stream. In the thread of any caller. NULL: nobody. Numbers that are left out are the
     * appends of other processes: ll_store_replay has them. It calls nothing of this header. */
    void (*stored)(void *user, const ll_store_readings *r, int64_t number);
    void           *user;
    const llap_log *log; /* what is done by itself: migrations, reconnecting; NULL: silent */
} ll_store_opts;

/* Caller owns *out. o may be NULL. */
llap_status ll_store_open(const char *url, const ll_store_opts *o, ll_store **out);
void        ll_store_close(ll_store *s); /* NULL is fine */

/* Returns when the readings are durable: on the disk, not in its cache. Appends of several threads
 * share transactions, so that many callers wait hardly longer than one. got may be NULL.
 * LLAP_EINVAL: a name, time or value that cannot be, or a key that came before with other
 * readings; LLAP_ELIMIT. */
llap_status ll_store_append(ll_store *s, const ll_store_readings *r, ll_store_receipt *got);

/* A row as it was appended, without what was missing in it. */
typedef struct ll_store_found {
    int64_t            number; /* of its append */
    const char        *entity;
    int64_t            time;
    const char *const *variable; /* [n], in the order in which it was appended */
    const double      *value;    /* [n] */
    int64_t            n;        /* 0: all was missing */
} ll_store_found;

/* Called for each row, whose memory lasts until it returns. What it answers but LLAP_OK ends the
 * reading and is the answer of the call. */
typedef llap_status (*ll_store_each)(void *user, const ll_store_found *row);

typedef struct ll_store_range {
    const char *stream, *entity; /* entity NULL: all */
    int64_t     from, to;        /* from <= time < to */
    int64_t     until; /* when reading ends, nanoseconds of CLOCK_MONOTONIC; 0: at the last row */
} ll_store_range;

/* The rows of a stream within it, by time, rows of one time in the order in which they came. A
 * stream that is not there has none. Sees what is durable when it begins. LLAP_ECANCELLED: that
 * time came first, whether or not there were rows. */
llap_status ll_store_read(ll_store *s, const ll_store_range *what, ll_store_each each, void *user);

/* The rows of the appends behind number `after`, in the order in which they came. */
llap_status ll_store_replay(ll_store *s, const char *stream, int64_t after, ll_store_each each,
                            void *user);

/* The statement that gives the readings of a stream to any program: rows of entity, time, variable
 * and value, by time, those of one time in the order in which they came. Caller owns *out
 * (ll_free).
 */
llap_status ll_store_query(const char *stream, char **out);

/* Keeps n bytes (what llap_stream_save makes) as the state of the stream, in place of the one
 * before. after: number of the last append that it has taken in. */
llap_status ll_store_put_state(ll_store *s, const char *stream, int64_t after, const void *bytes,
                               size_t n);
/* Caller owns *bytes (ll_free). LLAP_ENOTFOUND: no such stream, or no state of it yet. */
llap_status ll_store_get_state(ll_store *s, const char *stream, int64_t *after, void **bytes,
                               size_t *n);

/* Deletes readings whose time is more than keep (nanoseconds, or numbers of the axis; > 0) before
 * the newest of their stream; what is later than `latest` counts as that, so that a client whose
 * clock is years ahead does not delete everything (the time now; INT64_MAX: no such limit).
 * Readings that no state has taken in stay: ll_store_replay has to find them. The key of an append
 * is forgotten with its last reading, but not within a day. *n_removed (single readings) may be
 * NULL. */
llap_status ll_store_retain(ll_store *s, const char *stream, int64_t keep, int64_t latest,
                            int64_t *n_removed);

typedef struct ll_store_stream {
    const char *name;
    int64_t     number;      /* of the last append; 0: none */
    int64_t     state_after; /* what the state has taken in; -1: no state */
} ll_store_stream;

/* The streams in the order in which they were made. As ll_store_each. */
llap_status ll_store_list(ll_store *s, llap_status (*each)(void *user, const ll_store_stream *),
                          void     *user);

/* Whether the database answers: for a server's "ready". */
llap_status ll_store_check(ll_store *s);

/* Since it was opened. */
typedef struct ll_store_counts {
    int64_t appends, repeated, rows; /* that became durable; appends that were there before */
    int64_t commits;                 /* transactions that they took */
    int64_t reconnects;
} ll_store_counts;
void ll_store_count(ll_store *s, ll_store_counts *out);

#endif
