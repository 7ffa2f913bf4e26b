#include "predict/totals.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/error.h"
#include "base/log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void ll_totals_deinit(ll_totals *t)
{
    ll_queries_deinit(&t->q);
    ll_free(t->first);
    ll_free(t->entity);
    ll_free(t->origin);
    *t = (ll_totals){ 0 };
}

/* ---- groups ---- */

typedef struct part { /* a forecast of one entity */
    int64_t origin, entity;
    size_t  place;
} part;

static int in_time(const void *a, const void *b)
{
    const part *x = a, *y = b;
    if (x->origin != y->origin) return x->origin < y->origin ? -1 : 1;
    return (x->entity > y->entity) - (x->entity < y->entity);
}

/* Entities that are forecast at all. */
static llap_status count_entities(const ll_queries *q, const llap_panel *p, size_t *n)
{
    bool *there = ll_new((size_t)p->n_entities, sizeof *there);
    if (there == NULL) return LLAP_ENOMEM;
    *n = 0;
    for (size_t i = 0; i < q->n; i++) {
        *n += !there[q->entity[i]];
        there[q->entity[i]] = true;
    }
    ll_free(there);
    return LLAP_OK;
}

static bool has_time(const ll_queries *q, size_t place, int64_t time)
{
    const int64_t end = (int64_t)q->first[place + 1];
    const int64_t at = ll_first_from(q->time, (int64_t)q->first[place], end, time);
    return at < end && q->time[at] == time;
}

/* Adds the group of n forecasts, about the times of the first that all others have too. */
static void add_group(ll_totals *t, const ll_queries *q, const llap_panel *p, const part *of,
                      size_t n)
{
    ll_queries  *to = &t->q;
    const size_t i = to->n, from = q->first[of[0].place], end = q->first[of[0].place + 1];
    size_t       at = to->first[i];
    for (size_t k = from; k < end; k++) {
        size_t all = 1;
        while (all < n && has_time(q, of[all].place, q->time[k])) all++;
        if (all < n) continue;
        to->time[at] = q->time[k];
        to->t[at++] = q->t[k];
    }
    if (at == to->first[i]) return; /* no time in common */
    to->entity[i] = p->n_entities;
    to->origin[i] = of[n - 1].origin;
    to->first[i + 1] = at;
    t->first[i + 1] = t->first[i] + n;
    for (size_t k = 0; k < n; k++) {
        t->entity[t->first[i] + k] = of[k].entity;
        t->origin[t->first[i] + k] = of[k].origin;
    }
    to->n++;
}

static llap_status make_room(ll_totals *t, const ll_queries *q)
{
    const size_t n = q->n, times = q->first[n];
    t->q.several = q->several;
    t->q.entity = ll_new(n, sizeof *t->q.entity);
    t->q.origin = ll_new(n, sizeof *t->q.origin);
    t->q.first = ll_new(n + 1, sizeof *t->q.first);
    t->q.time = ll_new(times, sizeof *t->q.time);
    t->q.t = ll_new(times, sizeof *t->q.t);
    t->first = ll_new(n + 1, sizeof *t->first);
    t->entity = ll_new(n, sizeof *t->entity);
    t->origin = ll_new(n, sizeof *t->origin);
    const bool ok = t->q.entity != NULL && t->q.origin != NULL && t->q.first != NULL &&
                    t->q.time != NULL && t->q.t != NULL && t->first != NULL && t->entity != NULL &&
                    t->origin != NULL;
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

llap_status ll_totals_init(ll_totals *t, const ll_queries *q, const llap_panel *p,
                           const llap_log *log)
{
    *t = (ll_totals){ 0 };
    size_t      entities = 0, left_out = 0;
    part       *list = ll_new(q->n, sizeof *list);
    llap_status st = list == NULL ? LLAP_ENOMEM : make_room(t, q);
    if (st == LLAP_OK) st = count_entities(q, p, &entities);
    if (st == LLAP_OK) {
        for (size_t i = 0; i < q->n; i++) list[i] = (part){ q->origin[i], q->entity[i], i };
        qsort(list, q->n, sizeof *list, in_time);
        for (size_t i = 0, end; i < q->n; i = end) {
            for (end = i + 1; end < q->n; end++)
                if (q->several && list[end].origin != list[i].origin) break;
            if (end - i == entities) add_group(t, q, p, list + i, end - i);
            else left_out++;
        }
    }
    ll_free(list);
    if (st == LLAP_OK && t->q.n == 0)
        st = ll_fail(LLAP_EINVAL, "total: the entities are not forecast about a common time: give "
                                  "`at`, or times");
    if (st == LLAP_OK && left_out > 0)
        ll_logf(log, LLAP_LOG_WARNING,
                "totals: %zu origins left out, where an entity had no readings", left_out);
    return st;
}

/* ---- sums ---- */

static llap_status ask_members(const ll_totals *t, size_t i, const llap_panel *p,
                               const ll_forecaster *f, const ll_forecast_request *ask,
                               ll_arena *arena, ll_forecast_members **out)
{
    const size_t        n = t->first[i + 1] - t->first[i];
    ll_forecast_window *w = ll_arena_new(arena, n, sizeof *w);
    *out = ll_arena_new(arena, n * (size_t)f->n_targets, sizeof **out);
    if (w == NULL || *out == NULL) return LLAP_ENOMEM;
    for (size_t k = 0; k < n; k++) {
        const int64_t e = t->entity[t->first[i] + k], origin = t->origin[t->first[i] + k];
        w[k] = ll_forecast_window_at(p, e, origin);
        w[k].n_query = (int64_t)(t->q.first[i + 1] - t->q.first[i]);
        w[k].time = t->q.time + t->q.first[i];
        w[k].draw = t->q.several ? origin : 0;
    }
    return f->forecast(f, ask, w, (int64_t)n, arena, *out);
}

llap_status ll_totals_forecast(const ll_totals *t, size_t i, const llap_panel *p,
                               const ll_forecaster *f, const ll_forecast_request *ask,
                               ll_arena *arena, ll_forecast_members *out)
{
    const size_t         n = t->first[i + 1] - t->first[i], C = (size_t)f->n_targets;
    const size_t         h = t->q.first[i + 1] - t->q.first[i], all = (size_t)ask->n_samples * h;
    ll_forecast_members *from = NULL;
    llap_status          st = ask_members(t, i, p, f, ask, arena, &from);
    for (size_t c = 0; c < C && st == LLAP_OK; c++) {
        double *sum = ll_arena_new(arena, all, sizeof *sum); /* zeros */
        if (sum == NULL) return LLAP_ENOMEM;
        for (size_t k = 0; k < n; k++) {
            const ll_forecast_members *x = &from[k * C + c];
            assert(x->n == ask->n_samples && x->joint && !x->constant);
            for (size_t v = 0; v < all; v++) sum[v] += x->value[v];
        }
        out[c] = (ll_forecast_members){
            .n = ask->n_samples, .value = sum, .drawn = true, .joint = true
        };
    }
    return st;
}
