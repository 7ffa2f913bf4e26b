/* Threads that answer requests, one each at a time, in the order in which they came. */
#include "base/alloc.h"
#include "base/error.h"
#include "serve/request.h"

#include <omp.h>
#include <string.h>

static ll_request *next(ll_workers *w)
{
    (void)pthread_mutex_lock(&w->lock);
    while (w->first == NULL && !w->ending) (void)pthread_cond_wait(&w->more, &w->lock);
    ll_request *r = w->first;
    if (r != NULL) w->first = r->next;
    if (w->first == NULL) w->last = NULL;
    (void)pthread_mutex_unlock(&w->lock);
    return r;
}

/* Memory over the limit is what the request asked for, not what this machine lacks. */
static llap_status answer(ll_request *r)
{
    const int64_t mb = r->server->o.max_memory;
    if (ll_now() > r->deadline)
        return ll_fail(LLAP_EUNAVAILABLE, "the server is busy: waited for %lld s",
                       (long long)r->server->o.max_seconds);
    (void)ll_alloc_limit(mb << 20);
    llap_status st = r->route->run(r);
    if (ll_alloc_limit(0) && st == LLAP_ENOMEM)
        st = ll_fail(LLAP_ELIMIT, "needs more than %lld MB of memory: ask for less at once",
                     (long long)mb);
    if (st == LLAP_ECANCELLED)
        st = ll_fail(LLAP_ELIMIT, "takes longer than %lld s: ask for less at once",
                     (long long)r->server->o.max_seconds);
    return st;
}

static void *work(void *user)
{
    ll_workers *w = user;
    ll_request *r;
    omp_set_num_threads(1); /* requests share the processors, not the parts of one */
    while ((r = next(w)) != NULL) {
        const ll_mhd_library *mhd = r->server->mhd;
        const llap_status     st = answer(r);
        if (st != LLAP_OK) ll_reply_failure(r, st);
        ll_request_done(r);
        (void)pthread_mutex_lock(&w->lock);
        w->n--;
        (void)pthread_mutex_unlock(&w->lock);
        struct MHD_Connection *c = r->connection;
        atomic_store(&r->done, true); /* from here on it is the connection's */
        mhd->resume_connection(c);
    }
    return NULL;
}

bool ll_workers_take(ll_workers *w, ll_request *r)
{
    (void)pthread_mutex_lock(&w->lock);
    const bool room = w->n < w->most && !w->ending;
    if (room) {
        r->next = NULL;
        if (w->last != NULL) w->last->next = r;
        else w->first = r;
        w->last = r;
        w->n++;
        (void)pthread_cond_signal(&w->more);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return room;
}

llap_status ll_workers_start(ll_workers *w, size_t n, int64_t most)
{
    pthread_attr_t a;
    *w = (ll_workers){ .most = most };
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->more, NULL);
    w->thread = ll_new(n, sizeof *w->thread);
    if (w->thread == NULL) return LLAP_ENOMEM;
    (void)pthread_attr_init(&a);
    (void)pthread_attr_setstacksize(&a, 8 << 20);
    llap_status st = LLAP_OK;
    for (size_t i = 0; i < n && st == LLAP_OK; i++) {
        const int bad = pthread_create(&w->thread[i], &a, work, w);
        if (bad != 0) st = ll_fail_errno(bad, "a thread that answers requests");
        w->n_threads += st == LLAP_OK;
    }
    (void)pthread_attr_destroy(&a);
    return st;
}

void ll_workers_stop(ll_workers *w)
{
    if (w->most == 0) return; /* was never started */
    (void)pthread_mutex_lock(&w->lock);
    w->ending = true;
    (void)pthread_cond_broadcast(&w->more);
    (void)pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; i < w->n_threads; i++) (void)pthread_join(w->thread[i], NULL);
    ll_free(w->thread);
    (void)pthread_cond_destroy(&w->more);
    (void)pthread_mutex_destroy(&w->lock);
    *w = (ll_workers){ 0 };
}
