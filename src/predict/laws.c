/* The laws of forecasts by the anchor, and by the stack around it. */
#include "predict/laws.h"

#include "base/alloc.h"
#include "base/progress.h"
#include "predict/view/known_series.h"
#include "predict/view/series.h"

enum { LAWS_AT_ONCE = 1024 }; /* forecasts between two reports */

/* The series that some forecasts of one target look at. */
typedef struct looked_at {
    ll_panel_series s;
    int64_t         first; /* entity of the panel that its first series is */
    ll_series      *all;   /* of linked entities; NULL: none is */
} looked_at;

static void looked_at_deinit(looked_at *l)
{
    ll_panel_series_deinit(&l->s);
    ll_free(l->all);
    *l = (looked_at){ 0 };
}

/* Whether a forecast looks at the context of its own series and at nothing else. */
static bool looks_at_itself(const llap_model *m, int64_t target)
{
    const ll_anchor_model *a = m->anchor[target];
    return m->frame.n_known == 0 && a->link.rank == 0 && a->neighbours[0].cov == NULL &&
           a->neighbours[1].cov == NULL;
}

static llap_status look_at_all(const llap_model *m, const llap_panel *p, int64_t target,
                               int64_t var, looked_at *l)
{
    llap_status st = ll_panel_series_init(&l->s, p, var, m->frame.unit);
    if (st == LLAP_OK) st = ll_known_series(&l->s, m, target, p);
    return st == LLAP_OK ? ll_linked_series(m, target, p, &l->s, &l->all) : st;
}

/* The contexts of forecasts i .. i + n - 1, with room to spare. */
static llap_status look_at_some(const llap_model *m, const llap_panel *p, const ll_queries *q,
                                int64_t var, size_t i, size_t n, looked_at *l)
{
    int64_t last = q->entity[i], earliest = q->origin[i], after;
    l->first = last;
    for (size_t k = i; k < i + n; k++) {
        if (q->entity[k] < l->first) l->first = q->entity[k];
        if (q->entity[k] > last) last = q->entity[k];
        if (q->origin[k] < earliest) earliest = q->origin[k];
    }
    if (m->frame.context > INT64_MAX / 2 ||
        __builtin_sub_overflow(earliest, 2 * m->frame.context, &after))
        after = INT64_MIN;
    return ll_panel_series_some(&l->s, p, var, m->frame.unit, l->first, last + 1, after);
}

/* What the i-th forecast asks. law [its queries] */
static ll_anchor_request request(const llap_model *m, const llap_panel *p, const ll_queries *q,
                                 const looked_at *l, size_t i, ll_law *law)
{
    return (ll_anchor_request){ .history = l->s.series[q->entity[i] - l->first],
                                .series = ll_model_series_of(m, p, q->entity[i]),
                                .origin = ll_model_time(m, q->origin[i]),
                                .n_query = q->first[i + 1] - q->first[i],
                                .t_query = q->t + q->first[i],
                                .law = law,
                                .all = l->all };
}

llap_status ll_forecast_laws(const llap_model *m, const llap_panel *p, const llap_forecast_opts *o,
                             const ll_queries *q, int64_t target, int64_t var, ll_stack_view *stack,
                             ll_law *law, double *move)
{
    looked_at          l = { 0 };
    const bool         alone = looks_at_itself(m, target);
    ll_anchor_request *r = ll_new(q->n < LAWS_AT_ONCE ? q->n : LAWS_AT_ONCE, sizeof *r);
    llap_status        st = r == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && !alone) st = look_at_all(m, p, target, var, &l);
    for (size_t i = 0; i < q->n && st == LLAP_OK; i += LAWS_AT_ONCE) {
        const size_t n = q->n - i < LAWS_AT_ONCE ? q->n - i : LAWS_AT_ONCE;
        st = ll_report(o->progress, &(llap_progress_event){ "forecast", (int64_t)i, (int64_t)q->n,
                                                            "forecasts", m->frame.target[target] });
        if (st == LLAP_OK && alone) st = look_at_some(m, p, q, var, i, n, &l);
        for (size_t k = 0; k < n && st == LLAP_OK; k++)
            r[k] = request(m, p, q, &l, i + k, law + q->first[i + k]);
        if (st == LLAP_OK) st = ll_anchor_model_forecast(m->anchor[target], r, n);
        if (st == LLAP_OK && stack != NULL)
            st = ll_stack_view_move(stack, target, r, q->entity + i, n,
                                    move + q->first[i] * LL_LAW_LEVELS);
        if (alone) looked_at_deinit(&l);
    }
    looked_at_deinit(&l);
    ll_free(r);
    return st;
}
