#include "score/heard.h"

#include "base/alloc.h"

#include <assert.h>
#include <string.h>

/* One answer without its arrays, which follow it: value, mean, level, quantile, law. */
typedef struct head {
    int64_t n, n_levels;
    int64_t drawn, joint, constant, has_mean, has_law;
} head;

static head head_of(const ll_forecast_members *m)
{
    head h;
    memset(&h, 0, sizeof h);
    h.n = m->n;
    h.n_levels = m->quantile == NULL ? 0 : m->n_levels;
    h.drawn = m->drawn;
    h.joint = m->joint;
    h.constant = m->constant;
    h.has_mean = m->mean != NULL;
    h.has_law = m->law != NULL;
    return h;
}

/* Numbers behind a head, all of eight bytes; of the law one for each query. */
static int64_t numbers_of(const head *h, int64_t n_query)
{
    return (h->constant ? h->n : h->n * n_query) + (h->has_mean ? n_query : 0) +
           h->n_levels * (n_query + 1) + (h->has_law ? n_query : 0);
}

enum { HEAD = sizeof(head) / sizeof(double) };
static_assert(sizeof(head) % sizeof(double) == 0, "a head is followed by doubles");

static double *put(double *to, const double *x, int64_t n)
{
    memcpy(to, x, (size_t)n * sizeof *x);
    return to + n;
}

static double *pack(const ll_forecast_members *m, int64_t n_query, double *to)
{
    const head h = head_of(m);
    memcpy(to, &h, sizeof h);
    to = put(to + HEAD, m->value, h.constant ? h.n : h.n * n_query);
    if (h.has_mean) to = put(to, m->mean, n_query);
    if (h.n_levels > 0) {
        to = put(to, m->level, h.n_levels);
        to = put(to, m->quantile, h.n_levels * n_query);
    }
    for (int64_t q = 0; h.has_law && q < n_query; q++) *to++ = m->law[q] ? 1.0 : 0.0;
    return to;
}

/* The members keep pointing to where they were packed; the law is copied. NULL: out of memory. */
static const double *unpack(const double *from, int64_t n_query, ll_arena *arena,
                            ll_forecast_members *m)
{
    head h;
    memcpy(&h, from, sizeof h);
    *m = (ll_forecast_members){ .n = h.n,
                                .drawn = h.drawn != 0,
                                .joint = h.joint != 0,
                                .constant = h.constant != 0,
                                .n_levels = h.n_levels,
                                .value = from + HEAD };
    from += HEAD + (h.constant ? h.n : h.n * n_query);
    if (h.has_mean) m->mean = from, from += n_query;
    if (h.n_levels > 0) {
        m->level = from;
        m->quantile = from + h.n_levels;
        from += h.n_levels * (n_query + 1);
    }
    if (!h.has_law) return from;
    bool *law = ll_arena_new(arena, (size_t)n_query + 1, sizeof *law);
    if (law == NULL) return NULL;
    for (int64_t q = 0; q < n_query; q++) law[q] = from[q] != 0;
    m->law = law;
    return from + n_query;
}

llap_status ll_heard_members(const ll_ranks *r, int from, const ll_forecast_window *w, int64_t n,
                             int64_t n_targets, ll_arena *arena, ll_forecast_members *members)
{
    int64_t size = 0;
    for (int64_t i = 0; r->rank == from && i < n * n_targets; i++) {
        const head h = head_of(&members[i]);
        size += HEAD + numbers_of(&h, w[i / n_targets].n_query);
    }
    llap_status st = ll_ranks_share(r, &size, sizeof size, from);
    if (st != LLAP_OK) return st;
    assert(size >= 0);
    double *all = ll_arena_new(arena, (size_t)size + 1, sizeof *all), *to = all;
    if (all == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; r->rank == from && i < n * n_targets; i++)
        to = pack(&members[i], w[i / n_targets].n_query, to);
    st = ll_ranks_share(r, all, (size_t)size * sizeof *all, from);
    const double *at = all;
    for (int64_t i = 0; r->rank != from && st == LLAP_OK && i < n * n_targets; i++) {
        at = unpack(at, w[i / n_targets].n_query, arena, &members[i]);
        if (at == NULL) st = LLAP_ENOMEM;
    }
    return st;
}
