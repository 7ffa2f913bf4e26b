/* A small cache of plans by shape signature. */
#include "base/alloc.h"
#include "graph/plan.h"

#include <pthread.h>
#include <string.h>

typedef struct entry {
    int64_t *key;
    int      n_key;
    ll_plan *plan;
    uint64_t used; /* the clock at its last use */
} entry;

struct ll_plan_cache {
    ll_plan_opts    opts;
    ll_build_fn     build;
    void           *user;
    pthread_mutex_t lock;
    entry          *entry;
    int             n, capacity;
    uint64_t        clock;
};

llap_status ll_plan_cache_create(const ll_plan_opts *opts, int capacity, ll_build_fn build,
                                 void *user, ll_plan_cache **out)
{
    *out = NULL;
    ll_plan_cache *c = ll_new(1, sizeof *c);
    if (c == NULL) return LLAP_ENOMEM;
    c->opts = *opts;
    c->build = build;
    c->user = user;
    c->capacity = capacity < 1 ? 1 : capacity;
    c->entry = ll_new((size_t)c->capacity, sizeof *c->entry);
    if (c->entry == NULL) {
        ll_free(c);
        return LLAP_ENOMEM;
    }
    (void)pthread_mutex_init(&c->lock, NULL);
    *out = c;
    return LLAP_OK;
}

static void entry_clear(entry *e)
{
    ll_plan_release(e->plan);
    ll_free(e->key);
    *e = (entry){ 0 };
}

void ll_plan_cache_destroy(ll_plan_cache *c)
{
    if (c == NULL) return;
    for (int i = 0; i < c->n; i++) entry_clear(&c->entry[i]);
    (void)pthread_mutex_destroy(&c->lock);
    ll_free(c->entry);
    ll_free(c);
}

static entry *find(ll_plan_cache *c, const int64_t *key, int n_key)
{
    for (int i = 0; i < c->n; i++)
        if (c->entry[i].n_key == n_key &&
            (n_key == 0 || memcmp(c->entry[i].key, key, (size_t)n_key * sizeof *key) == 0))
            return &c->entry[i];
    return NULL;
}

/* A free entry: a new one, or the least recently used one emptied. */
static entry *make_room(ll_plan_cache *c)
{
    if (c->n < c->capacity) return &c->entry[c->n++];
    entry *oldest = &c->entry[0];
    for (int i = 1; i < c->n; i++)
        if (c->entry[i].used < oldest->used) oldest = &c->entry[i];
    entry_clear(oldest);
    return oldest;
}

static llap_status build(ll_plan_cache *c, const int64_t *key, int n_key, entry *out)
{
    ll_graph *g = NULL;
    *out = (entry){ .n_key = n_key };
    out->key = ll_new((size_t)n_key, sizeof *out->key);
    llap_status st = out->key == NULL ? LLAP_ENOMEM : ll_graph_create(&g);
    if (st == LLAP_OK) {
        if (n_key > 0) memcpy(out->key, key, (size_t)n_key * sizeof *key);
        st = c->build(g, key, n_key, c->user);
    }
    if (st == LLAP_OK) st = ll_plan_create(g, &c->opts, &out->plan);
    ll_graph_destroy(g);
    if (st != LLAP_OK) entry_clear(out);
    return st;
}

llap_status ll_plan_cache_get(ll_plan_cache *c, const int64_t *key, int n_key, ll_plan **out)
{
    llap_status st = LLAP_OK;
    *out = NULL;
    (void)pthread_mutex_lock(&c->lock);
    entry *e = find(c, key, n_key);
    if (e == NULL) {
        entry made;
        st = build(c, key, n_key, &made);
        if (st == LLAP_OK) {
            e = make_room(c);
            *e = made;
        }
    }
    if (st == LLAP_OK) {
        e->used = ++c->clock;
        ll_plan_retain(e->plan);
        *out = e->plan;
    }
    (void)pthread_mutex_unlock(&c->lock);
    return st;
}
