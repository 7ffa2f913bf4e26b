#include "anchor/process/state.h"
#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>

static llap_status check_window(const ll_anchor_window *w)
{
    for (size_t i = 0; i < w->n_obs; i++) {
        if (!isfinite(w->t[i]))
            return ll_fail(LLAP_EINVAL, "anchor: observation %zu: time %g is not finite", i,
                           w->t[i]);
        if (i > 0 && w->t[i] < w->t[i - 1])
            return ll_fail(LLAP_EINVAL, "anchor: observation %zu: time %.17g is before %.17g", i,
                           w->t[i], w->t[i - 1]);
        if (isinf(w->y[i]))
            return ll_fail(LLAP_EINVAL, "anchor: observation %zu: value %g is not finite", i,
                           w->y[i]);
    }
    for (size_t i = 0; i < w->n_query; i++)
        if (!isfinite(w->t_query[i]))
            return ll_fail(LLAP_EINVAL, "anchor: query %zu: time %g is not finite", i,
                           w->t_query[i]);
    return LLAP_OK;
}

llap_status anchor_check(const ll_anchor_window *w, size_t n_windows)
{
    for (size_t i = 0; i < n_windows; i++) {
        const llap_status st = check_window(&w[i]);
        if (st != LLAP_OK) return n_windows == 1 ? st : ll_fail_in(st, "window %zu", i);
    }
    return LLAP_OK;
}

/* A merge sort, so that the order of equal times does not depend on the C library. */
void anchor_sort(const double *t, size_t *from, size_t *to, size_t n)
{
    if (n < 2) return;
    const size_t half = n / 2;
    anchor_sort(t, from, to, half);
    anchor_sort(t, from + half, to + half, n - half);
    memcpy(to, from, n * sizeof *to);
    size_t i = 0, j = half;
    for (size_t k = 0; k < n; k++)
        from[k] = j == n || (i < half && t[to[i]] <= t[to[j]]) ? to[i++] : to[j++];
    assert(i == half && j == n);
}

static void order_queries(const ll_anchor_window *w, size_t *order)
{
    bool sorted = true;
    for (size_t i = 0; i < w->n_query; i++) {
        order[i] = i;
        sorted = sorted && (i == 0 || w->t_query[i - 1] <= w->t_query[i]);
    }
    if (!sorted) anchor_sort(w->t_query, order, order + w->n_query, w->n_query);
}

size_t anchor_events(const ll_anchor_window *w, anchor_event *ev, size_t *order)
{
    order_queries(w, order);
    size_t n = 0, i = 0, q = 0;
    double now = 0.0;
    while (i < w->n_obs || q < w->n_query) {
        const bool query = i == w->n_obs || (q < w->n_query && w->t_query[order[q]] < w->t[i]);
        if (!query && isnan(w->y[i])) {
            i++;
            continue;
        }
        const double t = query ? w->t_query[order[q]] : w->t[i];
        assert(n == 0 || t >= now); /* anchor_check has seen to it */
        ev[n] = (anchor_event){ .gap = n == 0 ? 0.0 : t - now, .query = -1 };
        if (query) ev[n].query = (int64_t)order[q++];
        else ev[n].y = w->y[i++];
        now = t;
        n++;
    }
    return n;
}

anchor_load anchor_load_of(const ll_anchor_window *w, size_t n_windows)
{
    enum { WORTH_IT = 4096 }; /* events */
    anchor_load load = { .n_threads = 1 };
    size_t      total = 0;
    for (size_t i = 0; i < n_windows; i++) {
        const size_t n = w[i].n_obs + w[i].n_query;
        total += n;
        if (n > load.n_events) load.n_events = n;
        if (w[i].n_query > load.n_query) load.n_query = w[i].n_query;
    }
    if (total < WORTH_IT) return load;
    load.n_threads = omp_get_max_threads();
    if ((size_t)load.n_threads > n_windows) load.n_threads = (int)n_windows;
    assert(load.n_threads >= 1);
    return load;
}

bool anchor_is_unread(const anchor_event *ev, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ev[i].query < 0) return false;
    return true;
}
