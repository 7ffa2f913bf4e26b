#include "base/alloc.h"
#include "base/log.h"
#include "store/inner.h"

#include <time.h>

/* ---- waiting -------------------------------------------------------------------------------- */

static int64_t milliseconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

ll_store_wait ll_store_wait_begin(const ll_store *s)
{
    return (ll_store_wait){ .until = milliseconds() + s->o.wait_ms, .pause = 5 };
}

bool ll_store_wait_more(ll_store *s, ll_store_wait *w, llap_status st, ll_sql_trouble why)
{
    if (st != LLAP_EUNAVAILABLE || why == LL_SQL_FULL) return false;
    const int64_t left = w->until - milliseconds();
    if (left <= 0) return false;
    if (!w->told) ll_logf(s->o.log, LLAP_LOG_WARNING, "%s: trying again", llap_error_detail());
    w->told = true;
    const int64_t pause = w->pause < left ? w->pause : left;
    w->pause = w->pause < 250 ? 2 * w->pause : 500;
    (void)nanosleep(&(struct timespec){ pause / 1000, pause % 1000 * 1000000 }, NULL);
    return true;
}

/* ---- the one that writes -------------------------------------------------------------------- */

static llap_status open_one(const ll_store *s, bool create, ll_sql **out)
{
    /* one attempt may take as long as the whole wait: a lock is waited for within it */
    const ll_sql_opts o = { .create = create, .wait_ms = (int)s->o.wait_ms };
    return ll_sql_open(&s->url, &o, out);
}

llap_status ll_store_writer(ll_store *s, ll_sql **out)
{
    llap_status st = LLAP_OK;
    if (s->writer == NULL) {
        st = open_one(s, !s->made, &s->writer);
        if (st == LLAP_OK) st = ll_store_migrate(s->writer, s->o.log);
        if (st != LLAP_OK) {
            ll_sql_close(s->writer);
            s->writer = NULL;
        } else if (s->made) {
            (void)pthread_mutex_lock(&s->lock);
            s->counts.reconnects++;
            (void)pthread_mutex_unlock(&s->lock);
            ll_logf(s->o.log, LLAP_LOG_WARNING, "%s: connected again", s->url.name);
        }
        if (st == LLAP_OK) s->made = true;
    }
    *out = s->writer;
    return st;
}

void ll_store_writer_after(ll_store *s, llap_status st)
{
    if (st == LLAP_OK || s->writer == NULL) return;
    const ll_sql_trouble why = ll_sql_trouble_of(s->writer);
    if (st == LLAP_EUNAVAILABLE && (why == LL_SQL_BUSY || why == LL_SQL_FULL)) return;
    ll_sql_close(s->writer);
    s->writer = NULL;
}

/* ---- those that read ------------------------------------------------------------------------ */

llap_status ll_store_reader(ll_store *s, ll_sql **out)
{
    *out = NULL;
    (void)pthread_mutex_lock(&s->lock);
    if (s->n_readers > 0) *out = s->reader[--s->n_readers];
    (void)pthread_mutex_unlock(&s->lock);
    return *out != NULL ? LLAP_OK : open_one(s, false, out);
}

void ll_store_reader_back(ll_store *s, ll_sql *db, llap_status st)
{
    if (db == NULL) return;
    (void)pthread_mutex_lock(&s->lock);
    const bool keep = st == LLAP_OK && s->n_readers < LL_STORE_READERS;
    if (keep) s->reader[s->n_readers++] = db;
    (void)pthread_mutex_unlock(&s->lock);
    if (!keep) ll_sql_close(db);
}
