/* States of streams, the list of streams, and what is kept for how long. */
#include "base/alloc.h"
#include "store/inner.h"

#include <inttypes.h>
#include <time.h>

static const char put_state[] =
    "INSERT INTO llap_states(stream, after, state) VALUES($1, $2, $3) "
    "ON CONFLICT(stream) DO UPDATE SET after = excluded.after, state = excluded.state";
static const char get_state[] = "SELECT after, state FROM llap_states "
                                "WHERE stream = (SELECT id FROM llap_streams WHERE name = $1)";
static const char list_streams[] =
    "SELECT s.name, s.number, COALESCE(t.after, -1) FROM llap_streams s "
    "LEFT JOIN llap_states t ON t.stream = s.id ORDER BY s.id";
static const char alive[] = "SELECT COUNT(*) FROM llap_schema";

/* What is over: $2 the first time that stays, $3 the last append that a state has taken in. */
/* clang-format off */
#define OVER "FROM llap_readings WHERE stream = $1 AND time < $2 AND number <= $3 " \
             "ORDER BY time, number, place LIMIT 20000"
/* clang-format on */
static const char find_id[] = "SELECT id FROM llap_streams WHERE name = $1";
static const char find_newest[] = "SELECT MAX(time) FROM llap_readings WHERE stream = $1";
static const char find_after[] = "SELECT after FROM llap_states WHERE stream = $1";
static const char count_over[] = "SELECT COUNT(*) FROM (SELECT 1 " OVER ") AS x";
static const char delete_over[] = "DELETE FROM llap_readings WHERE (stream, number, place) IN "
                                  "(SELECT stream, number, place " OVER ")";
static const char forget_keys[] =
    "DELETE FROM llap_appends WHERE stream = $1 AND number <= $2 AND arrived < $3 AND NOT EXISTS "
    "(SELECT 1 FROM llap_readings r WHERE r.stream = llap_appends.stream "
    "AND r.number = llap_appends.number)";

/* ---- reading, again while the database is gone ---------------------------------------------- */

static llap_status with_reader(ll_store *s, ll_store_work work, void *user)
{
    ll_store_wait wait = ll_store_wait_begin(s);
    for (;;) {
        ll_sql        *db;
        ll_sql_trouble why = LL_SQL_LOST;
        llap_status    st = ll_store_reader(s, &db);
        if (st == LLAP_OK) {
            st = work(db, user);
            why = ll_sql_trouble_of(db);
        }
        ll_store_reader_back(s, db, st);
        if (st == LLAP_OK || !ll_store_wait_more(s, &wait, st, why)) return st;
    }
}

static llap_status is_alive(ll_sql *db, void *user)
{
    (void)user;
    return ll_sql_run(db, alive, NULL, 0);
}

llap_status ll_store_check(ll_store *s) { return with_reader(s, is_alive, NULL); }

/* ---- states --------------------------------------------------------------------------------- */

typedef struct state {
    const char *stream;
    int64_t     after;
    const void *put;
    void       *got;
    size_t      n;
} state;

static llap_status do_put(ll_sql *db, void *user)
{
    const state *x = user;
    int64_t      id, number;
    llap_status  st = ll_store_stream_of(db, x->stream, &id, &number);
    if (st == LLAP_OK && x->after > number)
        st = ll_fail(LLAP_EINVAL,
                     "stream '%s': its last append is number %" PRId64
                     ", found a state after %" PRId64,
                     x->stream, number, x->after);
    const ll_sql_value v[] = { ll_sql_integer(id), ll_sql_integer(x->after),
                               ll_sql_bytes(x->put, x->n) };
    return st == LLAP_OK ? ll_sql_run(db, put_state, v, 3) : st;
}

llap_status ll_store_put_state(ll_store *s, const char *stream, int64_t after, const void *bytes,
                               size_t n)
{
    llap_status st = ll_store_check_name("stream", stream, false);
    if (st == LLAP_OK && after < 0)
        st = ll_fail(LLAP_EINVAL, "stream '%s': expected a number from 0 on, found %" PRId64,
                     stream, after);
    if (st == LLAP_OK && n > LL_STORE_STATE_MAX)
        st = ll_fail(LLAP_ELIMIT, "stream '%s': expected a state of at most %d bytes, found %zu",
                     stream, LL_STORE_STATE_MAX, n);
    state x = { .stream = stream, .after = after, .put = bytes, .n = n };
    return st == LLAP_OK ? ll_store_alone(s, do_put, &x) : st;
}

static llap_status do_get(ll_sql *db, void *user)
{
    state              *x = user;
    const ll_sql_value  which = ll_sql_text(x->stream);
    const ll_sql_value *row;
    llap_status         st = ll_sql_start(db, get_state, &which, 1);
    if (st == LLAP_OK) st = ll_sql_next(db, &row);
    if (st != LLAP_OK || row == NULL) return st;
    if (row[0].kind != LL_SQL_INTEGER || row[1].kind != LL_SQL_BYTES ||
        row[1].n > LL_STORE_STATE_MAX)
        st = ll_fail(LLAP_EFORMAT, "%s: llap_states: '%s' is none", ll_sql_name(db), x->stream);
    if (st == LLAP_OK && (x->got = ll_new(row[1].n + 1, 1)) == NULL) st = LLAP_ENOMEM;
    if (st != LLAP_OK) return st; /* the connection is closed */
    x->after = row[0].integer;
    x->n = row[1].n;
    if (x->n > 0) memcpy(x->got, row[1].text, x->n);
    ll_sql_finish(db);
    return LLAP_OK;
}

llap_status ll_store_get_state(ll_store *s, const char *stream, int64_t *after, void **bytes,
                               size_t *n)
{
    state x = { .stream = stream };
    *bytes = NULL;
    llap_status st = ll_store_check_name("stream", stream, false);
    if (st == LLAP_OK) st = with_reader(s, do_get, &x);
    if (st == LLAP_OK && x.got == NULL)
        st = ll_fail(LLAP_ENOTFOUND, "%s: stream '%s' has no state", s->url.name, stream);
    if (st != LLAP_OK) return st;
    *after = x.after;
    *bytes = x.got;
    *n = x.n;
    return LLAP_OK;
}

/* ---- the list ------------------------------------------------------------------------------- */

typedef struct listing {
    llap_status (*each)(void *user, const ll_store_stream *);
    void *user;
    bool  given;
} listing;

static llap_status do_list(ll_sql *db, void *user)
{
    listing            *l = user;
    const ll_sql_value *row = NULL;
    llap_status         st = ll_sql_start(db, list_streams, NULL, 0);
    while (st == LLAP_OK) {
        char name[LL_STORE_NAME_MAX + 1] = "";
        st = ll_sql_next(db, &row);
        if (st != LLAP_OK || row == NULL) break;
        if (row[0].kind != LL_SQL_TEXT || row[0].n > LL_STORE_NAME_MAX ||
            row[1].kind != LL_SQL_INTEGER || row[2].kind != LL_SQL_INTEGER)
            return ll_fail(LLAP_EFORMAT, "%s: llap_streams: a row that no store has written",
                           ll_sql_name(db));
        memcpy(name, row[0].text, row[0].n);
        l->given = true;
        st = l->each(l->user, &(ll_store_stream){ name, row[1].integer, row[2].integer });
    }
    /* what was given must not be given again */
    return st == LLAP_EUNAVAILABLE && l->given ? ll_fail_in(LLAP_EIO, "streams") : st;
}

llap_status ll_store_list(ll_store *s, llap_status (*each)(void *user, const ll_store_stream *),
                          void     *user)
{
    return with_reader(s, do_list, &(listing){ each, user, false });
}

/* ---- retention ------------------------------------------------------------------------------ */

typedef struct retention {
    const char *stream;
    int64_t     keep, latest, removed, n; /* n: by the last transaction */
    int64_t     now;
    bool        more;
} retention;

/* Some of what is over, so that appends need not wait long. */
static llap_status remove_some(ll_sql *db, void *user)
{
    retention         *x = user;
    const ll_sql_value which = ll_sql_text(x->stream);
    int64_t            id = -1, newest = INT64_MIN, after = 0, n = 0, first;
    x->more = false;
    x->n = 0;
    llap_status st = ll_sql_ask(db, find_id, &which, 1, &id);
    if (st != LLAP_OK || id < 0) return st;
    const ll_sql_value v0 = ll_sql_integer(id);
    st = ll_sql_ask(db, find_newest, &v0, 1, &newest);
    if (st == LLAP_OK) st = ll_sql_ask(db, find_after, &v0, 1, &after);
    if (newest > x->latest) newest = x->latest;
    if (st != LLAP_OK || __builtin_sub_overflow(newest, x->keep, &first)) return st;
    const ll_sql_value v[] = { v0, ll_sql_integer(first), ll_sql_integer(after) };
    st = ll_sql_ask(db, count_over, v, 3, &n);
    if (st == LLAP_OK && n > 0) st = ll_sql_run(db, delete_over, v, 3);
    if (st == LLAP_OK && n == 0) {
        const ll_sql_value old[] = { v0, ll_sql_integer(after),
                                     ll_sql_integer(x->now - INT64_C(86400000000000)) };
        st = ll_sql_run(db, forget_keys, old, 3);
    }
    x->more = n > 0;
    x->n = n;
    return st;
}

llap_status ll_store_retain(ll_store *s, const char *stream, int64_t keep, int64_t latest,
                            int64_t *n_removed)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    retention   x = { .stream = stream, .keep = keep, .latest = latest };
    llap_status st = ll_store_check_name("stream", stream, false);
    x.now = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    if (st == LLAP_OK && keep <= 0)
        st = ll_fail(LLAP_EINVAL, "keep: expected a duration above 0, found %" PRId64, keep);
    for (x.more = st == LLAP_OK; st == LLAP_OK && x.more; x.removed += x.n)
        st = ll_store_alone(s, remove_some, &x);
    if (n_removed != NULL) *n_removed = x.removed;
    return st;
}
