#include "data/windows/examples.h"

#include "base/alloc.h"
#include "base/rng/rng.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void ll_example_list_destroy(ll_example_list *r)
{
    if (r == NULL) return;
    ll_free(r->member);
    ll_free(r->first);
    ll_free(r->group);
    ll_free(r);
}

/* What a window is sorted by. The times are borrowed from the panel. */
typedef struct key {
    int64_t        end;
    const int64_t *query; /* [n_query]; NULL when windows never share an example */
    int32_t        n_query, entity;
    uint32_t       window;
} key;

static int compare_grids(const key *a, const key *b)
{
    const int32_t n = a->n_query < b->n_query ? a->n_query : b->n_query;
    if (a->query == b->query) return 0;
    for (int32_t i = 0; i < n; i++)
        if (a->query[i] != b->query[i]) return a->query[i] < b->query[i] ? -1 : 1;
    return (a->n_query > b->n_query) - (a->n_query < b->n_query);
}

static int by_key(const void *x, const void *y)
{
    const key *a = x, *b = y;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    const int grid = a->query == NULL ? 0 : compare_grids(a, b);
    return grid != 0 ? grid : (a->entity > b->entity) - (a->entity < b->entity);
}

static key *sorted_keys(const ll_windows *w, const ll_split *split, ll_part part,
                        ll_example_view view, int64_t *n)
{
    key *k = ll_new((size_t)split->n[part], sizeof *k);
    *n = 0;
    for (int64_t i = 0; k != NULL && i < w->n; i++) {
        if (split->part[i] != part) continue;
        assert(*n < split->n[part]);
        const ll_window *v = &w->at[i];
        k[(*n)++] = (key){
            .end = ll_window_end(w, v),
            .query = view == LL_VIEW_JOINT ? w->panel->time + ll_window_query(v) : NULL,
            .n_query = v->n_query,
            .entity = v->entity,
            .window = (uint32_t)i,
        };
    }
    if (k != NULL) qsort(k, (size_t)*n, sizeof *k, by_key);
    return k;
}

/* Opens an example where the key changes and a group where the time does. */
static void cut(ll_example_list *r, const key *k, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const bool alone = i == 0 || r->view == LL_VIEW_INDEPENDENT;
        assert(i == 0 || k[i - 1].end <= k[i].end);
        const bool group = alone || k[i].end != k[i - 1].end;
        if (group) r->group[r->n_groups++] = r->n_examples;
        if (group || compare_grids(&k[i], &k[i - 1]) != 0) r->first[r->n_examples++] = i;
        r->member[i] = k[i].window;
    }
    r->first[r->n_examples] = n;
    r->group[r->n_groups] = r->n_examples;
}

llap_status ll_example_list_create(const ll_windows *w, const ll_split *split, ll_part part,
                                   ll_example_view view, ll_example_list **out)
{
    *out = NULL;
    int64_t          n = 0;
    key             *k = sorted_keys(w, split, part, view, &n);
    ll_example_list *r = ll_new(1, sizeof *r);
    bool             ok = k != NULL && r != NULL;
    if (ok) {
        r->windows = w;
        r->view = view;
        r->n_slots = view == LL_VIEW_JOINT ? w->panel->n_entities : 1;
        r->member = ll_new((size_t)n, sizeof *r->member);
        r->first = ll_new((size_t)n + 1, sizeof *r->first);
        r->group = ll_new((size_t)n + 1, sizeof *r->group);
        ok = r->member != NULL && r->first != NULL && r->group != NULL;
    }
    if (ok) cut(r, k, n);
    ll_free(k);
    if (ok) *out = r;
    else ll_example_list_destroy(r);
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

uint64_t ll_example_list_id(const ll_example_list *r, int64_t i)
{
    assert(i >= 0 && i < r->n_examples && r->first[i] < r->first[i + 1]);
    const int64_t end = ll_example_list_end(r, i);
    uint64_t      h = ll_hash(0, &end, sizeof end);
    for (int64_t m = r->first[i]; m < r->first[i + 1]; m++) {
        const char *name = r->windows->panel->entity[r->windows->at[r->member[m]].entity];
        h = ll_hash(h, name, strlen(name));
    }
    return h;
}
