#include "data/events.h"

#include "base/alloc.h"

#include <string.h>

static int width_of(uint32_t entity) { return entity < 1 << 8 ? 1 : entity < 1 << 16 ? 2 : 4; }

/* The numbers anew, wider. */
static llap_status widen(ll_events *e, int64_t capacity, int width)
{
    ll_events wide = *e;
    wide.width = width;
    wide.entity = ll_new((size_t)capacity, (size_t)width);
    if (wide.entity == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < e->n; i++) ll_events_put(&wide, i, ll_events_entity(e, i));
    ll_free(e->entity);
    *e = wide;
    return LLAP_OK;
}

llap_status ll_events_reserve(ll_events *e, int64_t capacity, uint32_t entity)
{
    if (width_of(entity) > e->width) {
        const llap_status st = widen(e, capacity, width_of(entity));
        if (st != LLAP_OK) return st;
    } else {
        void *numbers = ll_grow(e->entity, (size_t)capacity, (size_t)e->width);
        if (numbers == NULL) return LLAP_ENOMEM;
        e->entity = numbers;
    }
    int64_t *time = ll_grow(e->time, (size_t)capacity, sizeof *time);
    if (time == NULL) return LLAP_ENOMEM;
    e->time = time;
    return LLAP_OK;
}

void ll_events_deinit(ll_events *e)
{
    ll_free(e->entity);
    ll_free(e->time);
    *e = (ll_events){ 0 };
}

static bool in_order(const ll_events *e, const uint32_t *rank)
{
    for (int64_t i = 1; i < e->n; i++) {
        const uint32_t a = rank[ll_events_entity(e, i - 1)], b = rank[ll_events_entity(e, i)];
        if (a > b || (a == b && e->time[i - 1] > e->time[i])) return false;
    }
    return true;
}

/* Stable merge sort of the arrival numbers x[0..n) by their times; spare [n]. */
static void sort_by_time(int64_t *x, int64_t *spare, int64_t n, const int64_t *time)
{
    bool sorted = true;
    for (int64_t i = 1; i < n && sorted; i++) sorted = time[x[i - 1]] <= time[x[i]];
    if (sorted) return;
    const int64_t half = n / 2;
    sort_by_time(x, spare, half, time);
    sort_by_time(x + half, spare, n - half, time);
    memcpy(spare, x, (size_t)half * sizeof *x);
    int64_t i = 0, j = half, k = 0;
    while (i < half && j < n) x[k++] = time[spare[i]] <= time[x[j]] ? spare[i++] : x[j++];
    memcpy(x + k, spare + i, (size_t)(half - i) * sizeof *x);
}

llap_status ll_events_sort(const ll_events *e, const uint32_t *rank, uint32_t n_entities,
                           int64_t **order)
{
    *order = NULL;
    if (in_order(e, rank)) return LLAP_OK;
    int64_t *first = ll_new((size_t)n_entities + 1, sizeof *first);
    int64_t *x = first == NULL ? NULL : ll_new((size_t)e->n, sizeof *x);
    if (x == NULL) {
        ll_free(first);
        return LLAP_ENOMEM;
    }
    for (int64_t i = 0; i < e->n; i++) first[rank[ll_events_entity(e, i)] + 1]++;
    int64_t most = 0;
    for (uint32_t k = 0; k < n_entities; k++) {
        if (first[k + 1] > most) most = first[k + 1];
        first[k + 1] += first[k];
    }
    for (int64_t i = 0; i < e->n; i++) x[first[rank[ll_events_entity(e, i)]]++] = i;
    int64_t *spare = ll_new((size_t)(most / 2 + 1), sizeof *spare);
    if (spare == NULL) {
        ll_free(first);
        ll_free(x);
        return LLAP_ENOMEM;
    }
    /* first[k] has moved on to where entity k + 1 begins */
    for (uint32_t k = 0; k < n_entities; k++) {
        const int64_t from = k == 0 ? 0 : first[k - 1];
        sort_by_time(x + from, spare, first[k] - from, e->time);
    }
    ll_free(spare);
    ll_free(first);
    *order = x;
    return LLAP_OK;
}

bool ll_events_same(const ll_events *e, const int64_t *order, int64_t i, int64_t j)
{
    if (order != NULL) i = order[i], j = order[j];
    return e->time[i] == e->time[j] && ll_events_entity(e, i) == ll_events_entity(e, j);
}
