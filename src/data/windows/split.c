#include "data/windows/split.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"
#include "base/sort.h"

#include <assert.h>

const char *ll_part_name(ll_part part)
{
    static const char *const name[] = { "train", "validation", "test", "purged" };
    return part < LL_PART_COUNT ? name[part] : "?";
}

void ll_split_destroy(ll_split *s)
{
    if (s == NULL) return;
    ll_free(s->part);
    ll_free(s);
}

void ll_split_counts(int64_t n, double train, double val, int64_t out[3])
{
    int64_t a = (int64_t)floor(train * (double)n), b = (int64_t)floor(val * (double)n);
    if (n >= 3) {
        if (a < 1) a = 1;
        if (b < 1) b = 1;
        if (a > n - 1) a = n - 1;
        if (a + b > n - 1) b = n - 1 - a; /* the test comes first: 3 windows are 2, 0 and 1 */
    }
    out[0] = a;
    out[1] = b;
    out[2] = n - a - b;
    assert(a >= 0 && b >= 0 && out[2] >= 0);
}

static int64_t first_target(const ll_windows *w, int64_t i)
{
    return w->panel->time[ll_window_query(&w->at[i])];
}

static int64_t last_target(const ll_windows *w, int64_t i)
{
    assert(w->at[i].n_query > 0);
    return w->panel->time[ll_window_last(&w->at[i])];
}

static llap_status split_purged(const ll_windows *w, const ll_split_opts *o, ll_split *s)
{
    int64_t *u = ll_new((size_t)w->n, sizeof *u);
    if (u == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < w->n; i++) u[i] = first_target(w, i);
    ll_sort_ints(u, (size_t)w->n);
    int64_t n = 0, count[3];
    for (int64_t i = 0; i < w->n; i++)
        if (n == 0 || u[i] != u[n - 1]) u[n++] = u[i];
    ll_split_counts(n, o->train, o->val, count);
    if (count[0] < n) s->val_start = u[count[0]];
    if (count[0] + count[1] < n) s->test_start = u[count[0] + count[1]];
    ll_free(u);
    if (n < 3)
        return ll_fail(LLAP_EINVAL, "split: windows of only %lld different times", (long long)n);
    assert(count[0] + count[1] < n && s->val_start <= s->test_start);
    for (int64_t i = 0; i < w->n; i++) {
        const int64_t t0 = first_target(w, i), t1 = last_target(w, i);
        s->part[i] = t1 < s->val_start                          ? LL_PART_TRAIN
                     : t0 >= s->test_start                      ? LL_PART_TEST
                     : t0 >= s->val_start && t1 < s->test_start ? LL_PART_VAL
                                                                : LL_PART_PURGED;
    }
    return LLAP_OK;
}

static uint8_t part_at(int64_t position, const int64_t count[3])
{
    return position < count[0]              ? LL_PART_TRAIN
           : position < count[0] + count[1] ? LL_PART_VAL
                                            : LL_PART_TEST;
}

/* Windows first .. *stop - 1 are those of the entity of window first. */
static int64_t entity_stop(const ll_windows *w, int64_t first)
{
    int64_t i = first;
    while (i < w->n && w->at[i].entity == w->at[first].entity) i++;
    return i;
}

static void split_contiguous(const ll_windows *w, const ll_split_opts *o, ll_split *s)
{
    for (int64_t i = 0; i < w->n;) {
        const int64_t stop = entity_stop(w, i), first = i;
        int64_t       count[3];
        ll_split_counts(stop - first, o->train, o->val, count);
        for (; i < stop; i++) s->part[i] = part_at(i - first, count);
    }
}

static llap_status split_by_entity(const ll_windows *w, const ll_split_opts *o, ll_split *s)
{
    int64_t n = 0, count[3];
    for (int64_t i = 0; i < w->n; i = entity_stop(w, i)) n++;
    ll_split_counts(n, o->train, o->val, count);
    uint32_t *order = ll_new((size_t)n, sizeof *order);
    uint8_t  *part = ll_new((size_t)n, sizeof *part);
    if (order != NULL && part != NULL) {
        const ll_rng r = ll_rng_make(o->seed, LL_STREAM_SHUFFLE, 0, 0, 0);
        ll_rng_permute(&r, (size_t)n, order);
        for (int64_t k = 0; k < n; k++) part[order[k]] = part_at(k, count);
        int64_t e = 0;
        for (int64_t i = 0; i < w->n; e++)
            for (const int64_t stop = entity_stop(w, i); i < stop; i++) s->part[i] = part[e];
        assert(e == n);
    }
    const bool ok = order != NULL && part != NULL;
    ll_free(order);
    ll_free(part);
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

static llap_status take_stock(const ll_windows *w, bool by_entity, ll_split *s)
{
    for (int k = 0; k <= LL_PART_TEST; k++) {
        s->first_target[k] = INT64_MAX;
        s->last_target[k] = INT64_MIN;
    }
    for (int64_t i = 0; i < w->n; i++) {
        const uint8_t k = s->part[i];
        s->n[k]++;
        if (k == LL_PART_PURGED) continue;
        const int64_t t0 = first_target(w, i), t1 = last_target(w, i);
        if (t0 < s->first_target[k]) s->first_target[k] = t0;
        if (t1 > s->last_target[k]) s->last_target[k] = t1;
    }
    for (int k = 0; k <= LL_PART_TEST; k++)
        if (s->n[k] == 0)
            return ll_fail(LLAP_EINVAL,
                           "split: the %s part is empty: %lld train, %lld validation, %lld test, "
                           "%lld purged of %lld windows; %s",
                           ll_part_name((ll_part)k), (long long)s->n[LL_PART_TRAIN],
                           (long long)s->n[LL_PART_VAL], (long long)s->n[LL_PART_TEST],
                           (long long)s->n[LL_PART_PURGED], (long long)w->n,
                           by_entity ? "too few entities: name their parts, or split by time"
                                     : "shorten the horizon");
    return LLAP_OK;
}

static llap_status split_into(const ll_windows *w, const ll_split_opts *o, ll_split *s)
{
    s->n_windows = w->n;
    s->part = ll_new((size_t)w->n, sizeof *s->part);
    if (s->part == NULL) return LLAP_ENOMEM;
    llap_status st = LLAP_OK;
    if (o->kind == LL_SPLIT_PURGED) st = split_purged(w, o, s);
    else if (o->kind == LL_SPLIT_CONTIGUOUS) split_contiguous(w, o, s);
    else st = split_by_entity(w, o, s);
    return st == LLAP_OK ? take_stock(w, o->kind == LL_SPLIT_BY_ENTITY, s) : st;
}

llap_status ll_split_create(const ll_windows *w, const ll_split_opts *o, ll_split **out)
{
    *out = NULL;
    if (!(o->train > 0 && o->val > 0 && o->train + o->val < 1))
        return ll_fail(LLAP_EINVAL, "split: shares %g for training and %g for validation", o->train,
                       o->val);
    ll_split *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    const llap_status st = split_into(w, o, s);
    if (st == LLAP_OK) *out = s;
    else ll_split_destroy(s);
    return st;
}

void ll_split_thin(ll_split *s, const ll_windows *w, ll_part part, int64_t span, bool apart)
{
    int64_t  begin = INT64_MAX;
    int32_t  entity = -1;
    uint64_t last = 0;
    assert(s->n_windows == w->n && part < LL_PART_PURGED && span >= 1);
    for (int64_t i = 0; i < w->n; i++) {
        const int64_t end = ll_window_end(w, &w->at[i]);
        if (s->part[i] == part && end < begin) begin = end;
    }
    for (int64_t i = 0; i < w->n; i++) {
        if (s->part[i] != part) continue;
        if (apart && w->at[i].entity != entity) begin = ll_window_end(w, &w->at[i]);
        const uint64_t since = (uint64_t)ll_window_end(w, &w->at[i]) - (uint64_t)begin;
        const uint64_t k = since / (uint64_t)span;
        if (w->at[i].entity == entity && k == last) {
            s->part[i] = LL_PART_PURGED;
            s->n[part]--;
            s->n[LL_PART_PURGED]++;
        }
        entity = w->at[i].entity;
        last = k;
    }
}
