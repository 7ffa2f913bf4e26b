#include "data/windows/windows.h"

#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>

typedef struct blocks {
    ll_window *at;
    int64_t   *target;
} blocks;

void ll_windows_destroy(ll_windows *w)
{
    if (w == NULL) return;
    blocks *b = w->owned;
    if (b != NULL) {
        ll_free(b->at);
        ll_free(b->target);
    }
    ll_free(b);
    ll_free(w);
}

static bool row_scored(const llap_panel *p, const int64_t *target, int64_t n_targets, int64_t row)
{
    for (int64_t c = 0; c < n_targets; c++)
        if (ll_panel_observed(p, row, target[c])) return true;
    return false;
}

static llap_status check_opts(const llap_panel *p, const ll_window_opts *o)
{
    const bool by_rows = o->context_ns == 0 && o->horizon_ns == 0;
    if (o->context_rows < (by_rows ? 1 : 0) || o->horizon_rows < (by_rows ? 1 : 0) ||
        o->context_rows > INT32_MAX || o->horizon_rows > INT32_MAX)
        return ll_fail(LLAP_EINVAL, "windows: %lld context rows and %lld horizon rows",
                       (long long)o->context_rows, (long long)o->horizon_rows);
    if (!by_rows && (o->context_ns < 1 || o->horizon_ns < 1))
        return ll_fail(LLAP_EINVAL, "windows: context of %lld ns and horizon of %lld ns",
                       (long long)o->context_ns, (long long)o->horizon_ns);
    if (o->stride_rows < 0 || o->stride_ns < 0)
        return ll_fail(LLAP_EINVAL, "windows: a stride of %lld rows, %lld ns",
                       (long long)o->stride_rows, (long long)o->stride_ns);
    if (o->n_targets < 1) return ll_fail(LLAP_EINVAL, "windows: no target variable");
    for (int64_t c = 0; c < o->n_targets; c++)
        if (o->target[c] < 0 || o->target[c] >= p->n_vars)
            return ll_fail(LLAP_EINVAL, "windows: target %lld of %lld variables",
                           (long long)o->target[c], (long long)p->n_vars);
    return LLAP_OK;
}

/* Is a row too old for a context that ends at `end`? */
static bool is_past(int64_t time, int64_t end, int64_t context_ns)
{
    return ll_elapsed(time, end) >= (uint64_t)context_ns;
}

/* The windows of entity e behind one another in out (NULL: only counted). end is the context end
 * and moves forward; so do, never back, the first context row, the last query row and hit, the
 * next row that has an observed target. */
static int64_t windows_of(const llap_panel *p, const ll_window_opts *o, int64_t e, ll_window *out)
{
    const int64_t begin = p->start[e], stop = p->start[e + 1], *t = p->time;
    const bool    by_rows = o->context_ns == 0;
    const int64_t most_context = o->context_rows > 0 ? o->context_rows : INT32_MAX;
    const int64_t most_query = o->horizon_rows > 0 ? o->horizon_rows : INT32_MAX;
    const int64_t stride = o->stride_rows > 0 ? o->stride_rows : 1;
    const int64_t from = by_rows && !o->pad ? begin + o->context_rows - 1 : begin;
    int64_t       n = 0, first = begin, last = begin, hit = begin, previous = -1;
    for (int64_t end = from; end + 1 < stop; end += by_rows ? stride : 1) {
        last = by_rows ? end + o->horizon_rows : last < end ? end : last;
        if (by_rows && last >= stop) break;
        while (!by_rows && last + 1 < stop &&
               ll_elapsed(t[end], t[last + 1]) <= (uint64_t)o->horizon_ns)
            last++;
        while (!by_rows && is_past(t[first], t[end], o->context_ns)) first++;
        const int64_t query = last - end < most_query ? last - end : most_query;
        if (query == 0) continue;
        const bool covered = by_rows || o->pad || first > begin;
        if (!covered || (previous >= 0 && ll_elapsed(t[previous], t[end]) < (uint64_t)o->stride_ns))
            continue;
        if (hit <= end) hit = end + 1;
        while (hit < stop && !row_scored(p, o->target, o->n_targets, hit)) hit++;
        if (hit > end + query) continue;
        const int64_t have = end + 1 - first;
        const int64_t context = have < most_context ? have : most_context;
        assert(context > 0 && end + query < stop);
        if (out != NULL)
            out[n] = (ll_window){ .first = end + 1 - context,
                                  .entity = (int32_t)e,
                                  .n_context = (int32_t)context,
                                  .n_query = (int32_t)query };
        previous = end;
        n++;
    }
    return n;
}

static void measure(ll_windows *w, const ll_window_opts *o)
{
    w->by_rows = o->context_ns == 0;
    w->n_context = o->context_rows;
    w->n_query = o->horizon_rows;
    if (w->by_rows) return;
    w->n_context = w->n_query = 0;
    for (int64_t i = 0; i < w->n; i++) {
        if (w->at[i].n_context > w->n_context) w->n_context = w->at[i].n_context;
        if (w->at[i].n_query > w->n_query) w->n_query = w->at[i].n_query;
    }
}

static llap_status fill(ll_windows *w, const ll_window_opts *o)
{
    const llap_panel *p = w->panel;
    blocks           *b = w->owned;
    for (int64_t e = 0; e < p->n_entities; e++) w->n += windows_of(p, o, e, NULL);
    if (w->n >= UINT32_MAX)
        return ll_fail(LLAP_ELIMIT, "windows: %lld are too many, take a stride", (long long)w->n);
    b->at = ll_new((size_t)w->n, sizeof *b->at);
    b->target = ll_new((size_t)o->n_targets, sizeof *b->target);
    if (b->at == NULL || b->target == NULL) return LLAP_ENOMEM;
    memcpy(b->target, o->target, (size_t)o->n_targets * sizeof *b->target);
    int64_t n = 0;
    for (int64_t e = 0; e < p->n_entities; e++) n += windows_of(p, o, e, b->at + n);
    assert(n == w->n);
    w->at = b->at;
    w->target = b->target;
    w->n_targets = o->n_targets;
    measure(w, o);
    return LLAP_OK;
}

llap_status ll_windows_create(const llap_panel *panel, const ll_window_opts *o, ll_windows **out)
{
    *out = NULL;
    llap_status st = check_opts(panel, o);
    if (st != LLAP_OK) return st;
    if (panel->n_entities > INT32_MAX)
        return ll_fail(LLAP_ELIMIT, "windows: %lld entities are too many",
                       (long long)panel->n_entities);
    ll_windows *w = ll_new(1, sizeof *w);
    if (w == NULL) return LLAP_ENOMEM;
    w->panel = panel;
    w->owned = ll_new(1, sizeof(blocks));
    st = w->owned == NULL ? LLAP_ENOMEM : fill(w, o);
    if (st == LLAP_OK) *out = w;
    else ll_windows_destroy(w);
    return st;
}

void ll_windows_keep(ll_windows *w, const uint8_t *flag)
{
    blocks *b = w->owned;
    int64_t n = 0;
    for (int64_t i = 0; i < w->n; i++)
        if (flag[i]) b->at[n++] = b->at[i];
    w->n = n;
}

ll_window ll_window_before(const llap_panel *p, int64_t entity, int64_t origin, int64_t context_ns,
                           int64_t most_rows)
{
    const int64_t end = ll_panel_row_after(p, entity, origin);
    const int64_t most = most_rows > 0 ? most_rows : INT32_MAX;
    int64_t       first = end;
    while (first > p->start[entity] && end - first < most &&
           !is_past(p->time[first - 1], origin, context_ns))
        first--;
    return (ll_window){ .first = first,
                        .entity = (int32_t)entity,
                        .n_context = (int32_t)(end - first) };
}

void ll_time_offsets(const int64_t *time, int64_t n, int64_t origin, int64_t unit_ns, float *out)
{
    assert(unit_ns > 0 && (n == 0 || origin <= time[0]));
    for (int64_t k = 0; k < n; k++)
        out[k] = (float)((double)ll_elapsed(origin, time[k]) / (double)unit_ns);
}
