/* What is asked of a forecast: which entities, from which times, about which times. */
#include "predict/view/queries.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/sort.h"
#include "base/text.h"
#include "predict/tables/answer.h"
#include "predict/tables/times.h"
#include "predict/view/known_series.h"
#include "predict/view/only.h"
#include "predict/view/span.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES_MAX = 1000000, FORECASTS_MAX = 10000000 };

/* The first line of an origin, of lines in order of origins. */
static size_t first_of(const ll_query_times *f, int64_t origin)
{
    size_t low = 0, high = f->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (f->at[mid].origin < origin) low = mid + 1;
        else high = mid;
    }
    return low;
}

static llap_status add_times(const ll_query_times *f, const llap_panel *p, size_t i, ll_queries *q)
{
    for (size_t k = f->has_origins ? first_of(f, q->origin[i]) : 0; k < f->n; k++) {
        const ll_query_time *a = &f->at[k];
        if (f->has_origins && a->origin != q->origin[i]) break;
        if (a->entity >= 0 && a->entity != q->entity[i]) continue;
        if (a->time <= q->origin[i])
            return ll_fail(LLAP_EINVAL,
                           "%s: entity '%s': the time is not after its last row, or not after "
                           "`at`: impute answers about the past",
                           ll_query_times_place(f, a).text,
                           ll_text_show(p->entity[q->entity[i]]).text);
        q->time[q->first[i + 1]++] = a->time;
    }
    return LLAP_OK;
}

/* ---- forecasts ---- */

static llap_status add_forecast(ll_queries *q, size_t *room, int64_t entity, int64_t origin)
{
    if (q->n == FORECASTS_MAX)
        return ll_fail(LLAP_EOPTION,
                       "every: more than %d forecasts; take a longer step between "
                       "them",
                       FORECASTS_MAX);
    if (q->n == *room) {
        const size_t more = 2 * *room + 64;
        int64_t     *e = ll_grow(q->entity, more, sizeof *e);
        if (e != NULL) q->entity = e;
        int64_t *o = e == NULL ? NULL : ll_grow(q->origin, more, sizeof *o);
        if (o == NULL) return LLAP_ENOMEM;
        q->origin = o;
        *room = more;
    }
    q->entity[q->n] = entity;
    q->origin[q->n++] = origin;
    return LLAP_OK;
}

/* Whether entity e has a row within the context of a forecast made at t. */
static bool has_context(const llap_model *m, const llap_panel *p, int64_t e, int64_t t)
{
    const int64_t after = ll_panel_row_after(p, e, t);
    return after > p->start[e] && ll_elapsed(p->time[after - 1], t) < (uint64_t)m->frame.context;
}

/* Where a backtest begins: with the part that training left for it, if the data has it; else as
 * soon as there is a context. */
static int64_t backtest_start(const llap_model *m, const llap_panel *p)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (int64_t e = 0; e < p->n_entities; e++) {
        if (p->start[e] == p->start[e + 1]) continue;
        if (p->time[p->start[e]] < first) first = p->time[p->start[e]];
        if (p->time[p->start[e + 1] - 1] > last) last = p->time[p->start[e + 1] - 1];
    }
    const ll_model_frame *f = &m->frame;
    if (!f->by_entity && f->test_start >= first && f->test_start < last) return f->test_start;
    return first > INT64_MAX - f->context ? first : first + f->context;
}

/* Rows of an entity up to the one that it is forecast from: the last, or, with known inputs, the
 * last that has an observed target. */
static int64_t rows_before(const llap_model *m, const llap_panel *p, const int64_t *var, int64_t e)
{
    if (m->frame.n_known > 0) return ll_observed_until(p, e, var, m->frame.n_targets);
    return p->start[e + 1] - p->start[e];
}

static llap_status list_backtest(const llap_model *m, const llap_panel *p, const int64_t *var,
                                 const char *only, int64_t from, int64_t every, ll_queries *q,
                                 size_t *room)
{
    llap_status st = LLAP_OK;
    assert(every > 0);
    q->several = true;
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++) {
        const int64_t rows = rows_before(m, p, var, e);
        if (rows == 0 || !ll_only_has(only, p->entity[e])) continue;
        const int64_t last = p->time[p->start[e] + rows - 1];
        for (int64_t t = from; st == LLAP_OK && t < last; t += every) {
            if (has_context(m, p, e, t)) st = add_forecast(q, room, e, t);
            if (t > INT64_MAX - every) break;
        }
    }
    if (st == LLAP_OK && q->n == 0)
        st = ll_fail(LLAP_EINVAL, "every: no entity has a context before and a row after the "
                                  "time where the backtest begins");
    return st;
}

static llap_status list_forecasts(const llap_model *m, const llap_panel *p, const int64_t *var,
                                  const llap_forecast_opts *o, ll_queries *q)
{
    int64_t     at = 0, every = 0;
    size_t      room = 0;
    llap_status st = LLAP_OK;
    st = ll_only_check(o->only, p);
    if (st == LLAP_OK && o->at != NULL) st = ll_panel_time_parse(p, "at", o->at, &at);
    if (st != LLAP_OK) return st;
    if (o->every != NULL) {
        st = ll_span_parse("every", o->every, &p->axis, m->frame.step, &every);
        if (st != LLAP_OK) return st;
        return list_backtest(m, p, var, o->only, o->at != NULL ? at : backtest_start(m, p), every,
                             q, &room);
    }
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++) {
        const int64_t rows = rows_before(m, p, var, e);
        if (rows > 0 && ll_only_has(o->only, p->entity[e]))
            st = add_forecast(q, &room, e, o->at != NULL ? at : p->time[p->start[e] + rows - 1]);
    }
    if (st == LLAP_OK && q->n == 0 && m->frame.n_known > 0)
        st = ll_fail(LLAP_EINVAL, "no entity has an observed target to forecast from");
    return st;
}

/* ---- their queries ---- */

/* For n times so many, and some more. */
static llap_status make_room(ll_queries *q, size_t n, size_t each, size_t more)
{
    size_t all;
    if (__builtin_mul_overflow(n, each, &all) || __builtin_add_overflow(all, more, &all) ||
        all > LL_ANSWER_ROWS_MAX)
        return ll_fail(LLAP_ELIMIT, "the answer would have more than %d rows; ask for fewer steps",
                       LL_ANSWER_ROWS_MAX);
    q->first = ll_new(q->n + 1, sizeof *q->first);
    q->time = ll_new(all, sizeof *q->time);
    q->t = ll_new(all, sizeof *q->t);
    return q->first == NULL || q->time == NULL || q->t == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static llap_status fill_steps(const llap_model *m, const llap_panel *p, const llap_forecast_opts *o,
                              ll_queries *q)
{
    int64_t     horizon = m->frame.horizon, step = m->frame.step;
    llap_status st = LLAP_OK;
    if (o->step != NULL) st = ll_span_parse("step", o->step, &p->axis, m->frame.step, &step);
    if (st == LLAP_OK && o->horizon != NULL)
        st = ll_span_parse("horizon", o->horizon, &p->axis, m->frame.step, &horizon);
    if (st != LLAP_OK) return st;
    const int64_t n = horizon / step;
    if (n < 1) return ll_fail(LLAP_EOPTION, "horizon: shorter than a step of the forecast");
    if (n > QUERIES_MAX)
        return ll_fail(LLAP_EOPTION,
                       "horizon: %lld steps, more than %d; take a longer step or a shorter horizon",
                       (long long)n, QUERIES_MAX);
    st = make_room(q, q->n, (size_t)n, 0);
    for (size_t i = 0; st == LLAP_OK && i < q->n; i++) {
        if (q->origin[i] > INT64_MAX - horizon)
            return ll_fail(LLAP_ELIMIT, "horizon: entity '%s' reaches out of the range of times",
                           ll_text_show(p->entity[q->entity[i]]).text);
        q->first[i + 1] = q->first[i];
        for (int64_t k = 1; k <= n; k++) q->time[q->first[i + 1]++] = q->origin[i] + k * step;
    }
    return st;
}

/* Those of all entities and those of its own in order, each once. */
static void sort_once(ll_queries *q, size_t i)
{
    int64_t     *t = q->time + q->first[i];
    const size_t n = q->first[i + 1] - q->first[i];
    size_t       kept = 0;
    ll_sort_ints(t, n);
    for (size_t k = 0; k < n; k++)
        if (kept == 0 || t[k] != t[kept - 1]) t[kept++] = t[k];
    q->first[i + 1] = q->first[i] + kept;
}

/* Every entity has a row at or before its origin; of those that are named each must. */
static llap_status add_origin(const llap_panel *p, const ll_query_times *f, const ll_query_time *a,
                              int64_t e, ll_queries *q, size_t *room)
{
    const bool past = p->start[e] < p->start[e + 1] && p->time[p->start[e]] <= a->origin;
    if (past) return add_forecast(q, room, e, a->origin);
    if (a->entity < 0) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "%s: entity '%s' has no row up to this origin",
                   ll_query_times_place(f, a).text, ll_text_show(p->entity[e]).text);
}

static int by_origin(const void *a, const void *b)
{
    const ll_query_time *x = a, *y = b;
    if (x->origin != y->origin) return x->origin < y->origin ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* A forecast for each entity and origin that is asked about, in order, in the place of those
 * listed.
 */
static llap_status list_origins(const llap_panel *p, const ll_query_times *f, ll_queries *q)
{
    size_t      room = 0;
    llap_status st = LLAP_OK;
    q->n = 0;
    q->several = true;
    ll_free(q->entity);
    ll_free(q->origin);
    q->entity = q->origin = NULL;
    for (int64_t e = 0; e < p->n_entities && st == LLAP_OK; e++) {
        const size_t first = q->n;
        for (size_t k = 0; k < f->n && st == LLAP_OK; k++) {
            const ll_query_time *a = &f->at[k];
            assert(k == 0 || f->at[k - 1].origin <= a->origin);
            if (a->entity >= 0 && a->entity != e) continue;
            if (q->n == first || q->origin[q->n - 1] != a->origin)
                st = add_origin(p, f, a, e, q, &room);
        }
    }
    if (st == LLAP_OK && q->n == 0)
        st = ll_fail(LLAP_EINVAL, "%s: no entity has a row up to its origins",
                     ll_query_times_place(f, NULL).text);
    return st;
}

static llap_status fill_times(const llap_panel *p, const llap_forecast_opts *o, ll_queries *q)
{
    ll_query_times f;
    llap_status    st = o->query != NULL ? ll_query_times_take(p, o->query, &f)
                                         : ll_query_times_read(p, o->times, &f);
    if (st == LLAP_OK && f.has_origins && o->at != NULL)
        st = ll_fail(LLAP_EOPTION, "at: %s has origins of its own",
                     f.path != NULL ? "the file of times" : "`query`");
    if (st == LLAP_OK && f.has_origins) {
        qsort(f.at, f.n, sizeof *f.at, by_origin);
        st = list_origins(p, &f, q);
    }
    size_t of_all = 0; /* with origins, a line is of one forecast of an entity, or of each */
    for (size_t k = 0; st == LLAP_OK && k < f.n; k++) of_all += f.at[k].entity < 0;
    if (st == LLAP_OK)
        st = !f.has_origins ? make_room(q, q->n, f.n, 0)
                            : make_room(q, (size_t)p->n_entities, of_all, f.n - of_all);
    size_t n = 0; /* of those that are asked anything */
    for (size_t i = 0; st == LLAP_OK && i < q->n; i++) {
        assert(n <= i);
        q->entity[n] = q->entity[i];
        q->origin[n] = q->origin[i];
        q->first[n + 1] = q->first[n];
        st = add_times(&f, p, n, q);
        if (st == LLAP_OK) sort_once(q, n);
        n += st == LLAP_OK && q->first[n + 1] > q->first[n];
    }
    q->n = n;
    ll_free(f.at);
    return st;
}

static void warn_far(const llap_model *m, const ll_queries *q, const llap_log *log)
{
    double far = 0;
    for (size_t i = 0; i < q->n; i++)
        for (size_t k = q->first[i]; k < q->first[i + 1]; k++)
            far = fmax(far, (double)q->time[k] - (double)q->origin[i]);
    if (far > (double)m->frame.horizon)
        ll_logf(log, LLAP_LOG_WARNING,
                "the horizon is %.2g times that of training: the spread was not checked there",
                far / (double)m->frame.horizon);
}

llap_status ll_queries_init(ll_queries *q, const llap_model *m, const llap_panel *p,
                            const int64_t *var, const llap_forecast_opts *o)
{
    *q = (ll_queries){ 0 };
    const bool  times = o->times != NULL || o->query != NULL;
    const char *which = o->query != NULL ? "query" : "times";
    if (o->times != NULL && o->query != NULL)
        return ll_fail(LLAP_EOPTION, "query: cannot be combined with times");
    if (times && o->only != NULL)
        return ll_fail(LLAP_EOPTION, "only: %s names the entities itself",
                       o->times != NULL ? "the file of `times`" : "`query`");
    if (times && (o->horizon != NULL || o->step != NULL || o->every != NULL))
        return ll_fail(LLAP_EOPTION, "%s: cannot be combined with horizon, step or every", which);
    llap_status st = list_forecasts(m, p, var, o, q);
    if (st == LLAP_OK) st = times ? fill_times(p, o, q) : fill_steps(m, p, o, q);
    for (size_t k = 0; st == LLAP_OK && k < q->first[q->n]; k++)
        q->t[k] = ll_model_time(m, q->time[k]);
    if (st == LLAP_OK) warn_far(m, q, o->log);
    return st;
}

void ll_queries_deinit(ll_queries *q)
{
    ll_free(q->entity);
    ll_free(q->origin);
    ll_free(q->first);
    ll_free(q->time);
    ll_free(q->t);
    *q = (ll_queries){ 0 };
}
