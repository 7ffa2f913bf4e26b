/* What the files of the store share. Not for other folders. */
#ifndef LL_STORE_INNER_H
#define LL_STORE_INNER_H

#include "base/error.h"
#include "base/sql/sql.h"
#include "store/store.h"

#include <pthread.h>

enum {
    LL_STORE_READERS = 8, /* connections that are kept for the next reader */
    /* what one transaction takes in: more would let the first of them wait too long */
    LL_STORE_GROUP_APPENDS = 512,
    LL_STORE_GROUP_CELLS = 200000,
};

/* One caller who writes: an append, which shares a transaction with others, or (r == NULL) a turn
 * of its own. Lies on the caller's stack. */
typedef struct ll_store_turn {
    const ll_store_readings *r;
    uint64_t                 digest;      /* of the content of r */
    char                     own_key[40]; /* where r has none */
    const char              *key;
    ll_store_receipt         got;
    int64_t                  tried_number; /* of an attempt whose end is not known; 0: none */
    size_t                   stream;       /* among those of the transaction */
    bool                     stored;       /* by the transaction */
    llap_status              st;
    char                     detail[LL_DETAIL_MAX];
    bool                     done, lead;
    pthread_cond_t           wake;
    struct ll_store_turn    *next;
} ll_store_turn;

struct ll_store {
    ll_sql_url      url;
    ll_store_opts   o;
    bool            made; /* the database has been there: a file that is not there now is gone */
    pthread_mutex_t lock; /* of all that follows but writer */
    ll_store_turn  *first, *last;             /* who waits */
    bool            led;                      /* somebody has the turn, and with it: */
    ll_sql         *writer;                   /* NULL: to be opened */
    ll_sql         *reader[LL_STORE_READERS]; /* [n_readers] */
    size_t          n_readers;
    ll_store_counts counts;
};

/* ---- connections.c ---- */

/* A time until which to wait, in milliseconds. */
typedef struct ll_store_wait {
    int64_t until, pause;
    bool    told; /* the log knows */
} ll_store_wait;
ll_store_wait ll_store_wait_begin(const ll_store *s);
/* After a failure: whether to try again, after a pause. */
bool ll_store_wait_more(ll_store *s, ll_store_wait *w, llap_status st, ll_sql_trouble why);

/* The connection of who has the turn, opened and up to date. */
llap_status ll_store_writer(ll_store *s, ll_sql **out);
/* Puts it back after use: one that failed is closed, unless its transaction alone did. */
void ll_store_writer_after(ll_store *s, llap_status st);

/* A connection for reading; and back, closed where something failed. */
llap_status ll_store_reader(ll_store *s, ll_sql **out);
void        ll_store_reader_back(ll_store *s, ll_sql *db, llap_status st);

/* ---- schema.c ---- */

enum { LL_STORE_VERSION = 2 };
llap_status ll_store_migrate(ll_sql *db, const llap_log *log);

/* ---- commit.c ---- */

/* Waits for the turn alone; then for the next. */
void ll_store_take_turn(ll_store *s, ll_store_turn *own);
void ll_store_end_turn(ll_store *s, ll_store_turn *own);
/* Runs work in a turn and a transaction of its own, again while the database is gone. */
typedef llap_status (*ll_store_work)(ll_sql *db, void *user);
llap_status ll_store_alone(ll_store *s, ll_store_work work, void *user);

/* ---- write.c ---- */

/* One transaction with all appends of the list. Each has its own answer in st (with detail) and got
 * when the call answers LLAP_OK. */
llap_status ll_store_write(ll_sql *db, ll_store_turn *list);
uint64_t    ll_store_digest(const ll_store_readings *r);

/* The id of a stream, locked until the end of the transaction and made where it is not there; the
 * number of its last append. */
llap_status ll_store_stream_of(ll_sql *db, const char *name, int64_t *id, int64_t *number);

/* LLAP_EINVAL: not UTF-8, too long, empty where that cannot be. */
llap_status ll_store_check_name(const char *what, const char *name, bool may_be_empty);

#endif
