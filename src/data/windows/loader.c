#include "data/windows/loader.h"

#include "base/account.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"

#include <assert.h>
#include <pthread.h>

/* A ring of batches: number k of an epoch lies in slot k % n_slots. Makers take the next number as
 * long as its slot is free; the caller waits for the one it needs. */
typedef struct slot {
    ll_batch    batch;
    int64_t    *example; /* [capacity] */
    int64_t     capacity;
    int64_t     number; /* of the finished batch it holds, -1 none */
    llap_status status; /* of that batch */
} slot;

struct ll_loader {
    const ll_example_list *r;
    const ll_scaled       *x;
    ll_loader_opts         o;
    int64_t                n_batches;
    uint32_t              *order; /* groups, or batches, in the order of this epoch */
    slot                  *slot;
    int64_t                n_slots;
    pthread_mutex_t        lock;
    pthread_cond_t         wanted, made;
    pthread_t             *thread;
    int                    n_threads;
    ll_alloc_account      *account; /* of who hired them */
    /* under lock: */
    int64_t next;  /* number that a maker takes next */
    int64_t used;  /* batches that the caller is done with */
    int64_t given; /* batches handed out */
    int     busy;  /* makers at work */
    bool    stop;
};

int64_t ll_loader_batches(const ll_loader *l) { return l->n_batches; }

/* The examples of batch number k, into s. */
static llap_status list_examples(const ll_loader *l, int64_t k, slot *s, int64_t *n)
{
    const ll_example_list *r = l->r;
    if (l->o.order == LL_ORDER_BATCHES) k = l->order[k];
    const int64_t first = k * l->o.n_groups, left = r->n_groups - first;
    const int64_t count = left < l->o.n_groups ? left : l->o.n_groups;
    assert(k >= 0 && k < l->n_batches && count > 0);
    *n = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t g = l->o.order == LL_ORDER_RANDOM ? l->order[first + i] : first + i;
        const int64_t more = r->group[g + 1] - r->group[g];
        if (*n + more > s->capacity) {
            const int64_t capacity = 2 * (*n + more);
            int64_t      *example = ll_grow(s->example, (size_t)capacity, sizeof *example);
            if (example == NULL) return LLAP_ENOMEM;
            s->example = example;
            s->capacity = capacity;
        }
        for (int64_t j = 0; j < more; j++) s->example[(*n)++] = r->group[g] + j;
    }
    return LLAP_OK;
}

static llap_status make(const ll_loader *l, int64_t k, slot *s)
{
    int64_t     n = 0;
    llap_status st = list_examples(l, k, s, &n);
    if (st == LLAP_OK) st = ll_batch_fill(&s->batch, l->r, l->x, &l->o.batch, s->example, n);
    return st;
}

static void *maker(void *arg)
{
    ll_loader *l = arg;
    ll_alloc_account_join(l->account);
    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        if (l->next >= l->n_batches || l->next >= l->used + l->n_slots) {
            pthread_cond_wait(&l->wanted, &l->lock);
            continue;
        }
        const int64_t k = l->next++;
        slot         *s = &l->slot[k % l->n_slots];
        assert(s->number < 0 || s->number == k - l->n_slots); /* it was given out and is free */
        l->busy++;
        pthread_mutex_unlock(&l->lock);
        const llap_status st = make(l, k, s);
        pthread_mutex_lock(&l->lock);
        s->status = st;
        s->number = k;
        l->busy--;
        pthread_cond_broadcast(&l->made);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Nobody takes a number any more and nobody is at work. Called with the lock held. */
static void settle(ll_loader *l)
{
    l->next = l->n_batches;
    while (l->busy > 0) pthread_cond_wait(&l->made, &l->lock);
}

ll_rng ll_loader_rng(const ll_loader *l, int64_t epoch)
{
    return ll_rng_make(l->o.seed, LL_STREAM_SHUFFLE, (uint64_t)epoch, 1, 0);
}

/* n batches, or groups. */
static void permute(const ll_loader *l, int64_t epoch, int64_t n, uint32_t *order)
{
    const ll_rng rng = ll_loader_rng(l, epoch);
    ll_rng_permute(&rng, (size_t)n, order);
}

llap_status ll_loader_start(ll_loader *l, int64_t epoch)
{
    pthread_mutex_lock(&l->lock);
    settle(l);
    if (l->o.order != LL_ORDER_TIME)
        permute(l, epoch, l->o.order == LL_ORDER_BATCHES ? l->n_batches : l->r->n_groups, l->order);
    for (int64_t i = 0; i < l->n_slots; i++) l->slot[i].number = -1;
    l->next = l->used = l->given = 0;
    pthread_cond_broadcast(&l->wanted);
    pthread_mutex_unlock(&l->lock);
    return LLAP_OK;
}

llap_status ll_loader_next(ll_loader *l, const ll_batch **out)
{
    *out = NULL;
    pthread_mutex_lock(&l->lock);
    assert(l->used <= l->given && l->given <= l->n_batches);
    l->used = l->given;
    const int64_t k = l->given;
    llap_status   st = LLAP_OK;
    if (k < l->n_batches) {
        slot *s = &l->slot[k % l->n_slots];
        pthread_cond_signal(&l->wanted);
        if (l->n_threads == 0) s->status = make(l, k, s);
        while (l->n_threads > 0 && s->number != k) pthread_cond_wait(&l->made, &l->lock);
        st = s->status;
        if (st == LLAP_OK) *out = &s->batch;
        else if (l->n_threads > 0)
            st = ll_fail(st, "batch %lld of %lld could not be made: %s", (long long)k,
                         (long long)l->n_batches, llap_status_text(st));
        l->given++;
    }
    pthread_mutex_unlock(&l->lock);
    return st;
}

void ll_loader_destroy(ll_loader *l)
{
    if (l == NULL) return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->wanted);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->n_threads; i++) pthread_join(l->thread[i], NULL);
    for (int64_t i = 0; l->slot != NULL && i < l->n_slots; i++) {
        ll_batch_deinit(&l->slot[i].batch);
        ll_free(l->slot[i].example);
    }
    pthread_cond_destroy(&l->made);
    pthread_cond_destroy(&l->wanted);
    pthread_mutex_destroy(&l->lock);
    ll_free(l->slot);
    ll_free(l->order);
    ll_free(l->thread);
    ll_free(l);
}

/* As many makers as there can be; with none the caller makes the batches. */
static void hire(ll_loader *l)
{
    l->account = ll_alloc_account_of();
    while (l->n_threads < l->o.threads &&
           pthread_create(&l->thread[l->n_threads], NULL, maker, l) == 0)
        l->n_threads++;
}

llap_status ll_loader_create(const ll_example_list *r, const ll_scaled *x, const ll_loader_opts *o,
                             ll_loader **out)
{
    *out = NULL;
    if (o->n_groups < 1 || o->threads < 0 || o->ahead < 0)
        return ll_fail(LLAP_EINVAL, "loader: batches of %lld, %d threads, %d ahead",
                       (long long)o->n_groups, o->threads, o->ahead);
    if (r->n_groups >= UINT32_MAX)
        return ll_fail(LLAP_ELIMIT, "loader: %lld groups of examples", (long long)r->n_groups);
    ll_loader *l = ll_new(1, sizeof *l);
    if (l == NULL) return LLAP_ENOMEM;
    l->r = r;
    l->x = x;
    l->o = *o;
    l->n_batches = ll_example_list_batches(r, o->n_groups);
    l->next = l->given = l->n_batches; /* nothing to do before the first start */
    l->n_slots = o->threads == 0 ? 1 : 1 + (o->ahead > 0 ? o->ahead : o->threads + 1);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->wanted, NULL);
    pthread_cond_init(&l->made, NULL);
    l->slot = ll_new((size_t)l->n_slots, sizeof *l->slot);
    l->order = ll_new((size_t)r->n_groups, sizeof *l->order);
    l->thread = ll_new((size_t)o->threads, sizeof *l->thread);
    if (l->slot == NULL || l->order == NULL || l->thread == NULL) {
        ll_loader_destroy(l);
        return LLAP_ENOMEM;
    }
    hire(l);
    *out = l;
    return LLAP_OK;
}
