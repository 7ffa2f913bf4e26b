#include "stream/past.h"

#include "base/alloc.h"
#include "data/panel.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { LEAST_ROOM = 16 };

void ll_past_deinit(ll_past *k)
{
    ll_free(k->time);
    ll_free(k->t);
    ll_free(k->value);
    ll_free(k->y);
    ll_free(k->u);
    *k = (ll_past){ 0 };
}

size_t ll_past_bytes(const ll_past *k, const ll_past_shape *s)
{
    const int64_t row = (int64_t)sizeof *k->time + (int64_t)sizeof *k->t +
                        s->n_vars * (int64_t)sizeof *k->value +
                        2 * s->n_targets * (int64_t)sizeof *k->y;
    return sizeof *k + (size_t)(k->room * row);
}

/* The kept rows become the first of arrays of that many. */
static llap_status move(ll_past *k, const ll_past_shape *s, int64_t room)
{
    const size_t V = (size_t)s->n_vars, C = (size_t)s->n_targets, n = (size_t)k->n;
    ll_past      to = *k;
    assert(room >= k->n);
    to.from = 0;
    to.room = room;
    to.time = ll_new((size_t)room, sizeof *to.time);
    to.t = ll_new((size_t)room, sizeof *to.t);
    to.value = ll_new((size_t)room, V * sizeof *to.value);
    to.y = ll_new((size_t)room, C * sizeof *to.y);
    to.u = ll_new((size_t)room, C * sizeof *to.u);
    if (to.time == NULL || to.t == NULL || to.value == NULL || to.y == NULL || to.u == NULL) {
        ll_past_deinit(&to);
        return LLAP_ENOMEM;
    }
    if (n > 0) {
        memcpy(to.time, k->time + k->from, n * sizeof *to.time);
        memcpy(to.t, k->t + k->from, n * sizeof *to.t);
        memcpy(to.value, k->value + (size_t)k->from * V, n * V * sizeof *to.value);
        for (size_t c = 0; c < C; c++) {
            const size_t old = c * (size_t)k->room + (size_t)k->from, now = c * (size_t)room;
            memcpy(to.y + now, k->y + old, n * sizeof *to.y);
            memcpy(to.u + now, k->u + old, n * sizeof *to.u);
        }
    }
    ll_past_deinit(k);
    *k = to;
    return LLAP_OK;
}

/* Moves row numbers at .. n - 1, counted from `from`, to begin at `to` of the arrays. */
static void slide(ll_past *k, const ll_past_shape *s, int64_t at, int64_t to)
{
    const size_t V = (size_t)s->n_vars, n = (size_t)(k->n - at);
    const size_t old = (size_t)(k->from + at), now = (size_t)to;
    memmove(k->time + now, k->time + old, n * sizeof *k->time);
    memmove(k->t + now, k->t + old, n * sizeof *k->t);
    memmove(k->value + now * V, k->value + old * V, n * V * sizeof *k->value);
    for (int64_t c = 0; c < s->n_targets; c++) {
        double *y = k->y + c * k->room, *u = k->u + c * k->room;
        memmove(y + now, y + old, n * sizeof *y);
        memmove(u + now, u + old, n * sizeof *u);
    }
}

llap_status ll_past_reserve(ll_past *k, const ll_past_shape *s, int64_t n)
{
    return n <= k->room ? LLAP_OK : move(k, s, n);
}

/* One more row fits behind the last. */
static llap_status make_room(ll_past *k, const ll_past_shape *s)
{
    if (k->from + k->n < k->room) return LLAP_OK;
    if (k->from < k->n || k->room == 0) /* less than half of it has left */
        return move(k, s, k->room == 0 ? LEAST_ROOM : k->n + k->n / 2 + 1);
    slide(k, s, 0, 0);
    k->from = 0;
    return LLAP_OK;
}

int64_t ll_past_upto(const ll_past *k, int64_t time)
{
    int64_t low = 0, high = k->n;
    if (k->n > 0 && k->time[k->from + k->n - 1] <= time) return k->n; /* nearly always */
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (k->time[k->from + mid] <= time) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* The numbers of row i of the arrays that anchors look at. */
static void convert(ll_past *k, const ll_past_shape *s, int64_t i)
{
    const float *value = k->value + i * s->n_vars;
    for (int64_t c = 0; c < s->n_targets; c++) {
        double *y = k->y + c * k->room + i, *u = k->u + c * k->room + i;
        *y = (double)value[s->target[c]]; /* NaN stays */
        *u = NAN;
        if (s->anchor == NULL) continue;
        const ll_series one = { .n = 1, .t = k->t + i, .y = y };
        ll_chain_convert(s->anchor[c]->chain, k->series, &one, NULL, u);
    }
}

void ll_past_set_series(ll_past *k, const ll_past_shape *s, size_t series)
{
    k->series = series;
    for (int64_t r = 0; r < k->n; r++) convert(k, s, k->from + r);
}

/* Sets the values that are there; what is missing erases nothing. */
static void put(ll_past *k, const ll_past_shape *s, int64_t at, const float *value)
{
    const int64_t i = k->from + at;
    float        *to = k->value + i * s->n_vars;
    for (int64_t v = 0; v < s->n_vars; v++)
        if (isfinite(value[v])) to[v] = value[v];
    convert(k, s, i);
}

static bool counts(const ll_past_shape *s, const float *value)
{
    if (!s->observed) return true;
    for (int64_t c = 0; c < s->n_targets; c++)
        if (isfinite(value[s->target[c]])) return true;
    return false;
}

/* Rows that no answer depends on any more go, and those that there are too many of. */
static void leave(ll_past *k, const ll_past_shape *s, ll_past_row *out)
{
    int64_t gone = 0;
    while (gone < k->n && k->begun && k->time[k->from + gone] < k->newest &&
           ll_elapsed(k->time[k->from + gone], k->newest) > (uint64_t)s->span)
        gone++;
    if (k->n - gone > s->most) {
        out->cut = k->n - gone - s->most;
        gone = k->n - s->most;
    }
    k->from += gone;
    k->n -= gone;
    out->at = out->at >= gone ? out->at - gone : -1;
}

llap_status ll_past_take(ll_past *k, const ll_past_shape *s, int64_t time, const float *value,
                         ll_past_row *out)
{
    const int64_t at = ll_past_upto(k, time);
    *out = (ll_past_row){ .at = at };
    out->late = at < k->n || (k->any && k->n == 0 && time < k->newest);
    if (k->begun && time < k->newest && ll_elapsed(time, k->newest) > (uint64_t)s->span) {
        out->at = -1;
        out->late = true;
        return LLAP_OK;
    }
    out->repeated = at > 0 && k->time[k->from + at - 1] == time;
    if (out->repeated) {
        out->late = at < k->n;
        out->at = at - 1;
        put(k, s, out->at, value);
    } else {
        const llap_status st = make_room(k, s);
        if (st != LLAP_OK) return st;
        if (at < k->n) slide(k, s, at, k->from + at + 1);
        k->n++;
        k->time[k->from + at] = time;
        k->t[k->from + at] = (double)time / (double)s->unit;
        for (int64_t v = 0; v < s->n_vars; v++) k->value[(k->from + at) * s->n_vars + v] = NAN;
        put(k, s, at, value);
    }
    if (!k->any || time < k->first) k->first = time;
    k->any = true;
    if (counts(s, value) && (!k->begun || time > k->newest)) {
        k->newest = time;
        k->begun = true;
    }
    leave(k, s, out);
    return LLAP_OK;
}

ll_series ll_past_series(const ll_past *k, const ll_past_shape *s, int64_t target, int64_t n)
{
    assert(n >= 0 && n <= k->n && target >= 0 && target < s->n_targets);
    const bool known = s->anchor != NULL && s->anchor[target]->chain->known != NULL;
    return (ll_series){ .n = (size_t)n,
                        .t = k->t + k->from,
                        .y = k->y + target * k->room + k->from,
                        /* With known inputs u depends on rows around it. */
                        .u = known ? NULL : k->u + target * k->room + k->from };
}
