/* Whether what is looked at, and what is answered, lies where training has not been. */
#include "predict/outside.h"

#include "base/log.h"
#include "base/text.h"
#include "predict/tables/answer.h"
#include "predict/view/queries.h"

#include <math.h>
#include <stdio.h>

typedef struct share {
    double out, n;
} share;

/* Range of the training values of an entity of the panel; false: the model does not know, or all
 * were equal, which ll_compare_with_training tells. */
static bool range_of(const llap_model *m, const llap_panel *p, int64_t target, int64_t entity,
                     double *low, double *high)
{
    const ll_chain *c = m->anchor[target]->chain;
    const size_t    e = ll_model_series_of(m, p, entity);
    if (c->low == NULL) return false;
    *low = c->low[e < c->n_series ? e : c->n_series];
    *high = c->high[e < c->n_series ? e : c->n_series];
    return *low < *high;
}

static void add_rows(const llap_panel *p, int64_t var, int64_t first, int64_t end, double low,
                     double high, share *s)
{
    for (int64_t r = first; r < end; r++) {
        if (!ll_panel_observed(p, r, var)) continue;
        const double y = (double)p->value[r * p->n_vars + var];
        s->n++;
        s->out += y < low || y > high;
    }
}

/* Of the contexts of all forecasts, or of all rows. */
static share readings(const llap_model *m, const llap_panel *p, int64_t target, int64_t var,
                      const ll_queries *q)
{
    share         s = { 0 };
    double        low, high;
    const int64_t n = q != NULL ? (int64_t)q->n : p->n_entities;
    for (int64_t i = 0; i < n; i++) {
        const int64_t e = q != NULL ? q->entity[i] : i;
        if (!range_of(m, p, target, e, &low, &high)) continue;
        int64_t end = p->start[e + 1], first = p->start[e];
        if (q != NULL) {
            end = ll_panel_row_after(p, e, q->origin[i]);
            first = end;
            while (first > p->start[e] &&
                   ll_elapsed(p->time[first - 1], q->origin[i]) < (uint64_t)m->frame.context)
                first--;
        }
        add_rows(p, var, first, end, low, high, &s);
    }
    return s;
}

/* Of the answers' means, or draws. */
static share answers(int64_t target, const llap_answer *a)
{
    share  s = { 0 };
    double low, high;
    for (size_t i = 0; i < a->n_rows; i++) {
        const ll_answer_row r = ll_answer_row_at(a, i);
        if (r.target != target || r.observed) continue;
        if (!ll_answer_range(a, i, &low, &high)) continue;
        const double y = a->number[i * (size_t)a->n_numbers];
        s.n++;
        s.out += y < low || y > high;
    }
    return s;
}

/* The ranges of training that the answer is marked by. */
static llap_status set_ranges(const llap_model *m, const llap_panel *p, llap_answer *a)
{
    const size_t n = (size_t)(a->n_entities * a->n_targets);
    if (m->anchor == NULL) return LLAP_OK;
    double *low = ll_arena_new(&a->arena, n, sizeof *low);
    double *high = ll_arena_new(&a->arena, n, sizeof *high);
    if (low == NULL || high == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < a->n_entities; e++)
        for (int64_t k = 0; k < a->n_targets; k++) {
            const int64_t at = e * a->n_targets + k;
            if (!range_of(m, p, k, e, &low[at], &high[at])) low[at] = high[at] = NAN;
        }
    a->low = low;
    a->high = high;
    return LLAP_OK;
}

llap_status ll_mark_outside(const llap_model *m, const llap_panel *p, const int64_t *var,
                            const ll_queries *q, llap_answer *a, const llap_log *log)
{
    const double      worth = 0.01;
    const llap_status st = a != NULL ? set_ranges(m, p, a) : LLAP_OK;
    if (st != LLAP_OK) return st;
    for (int64_t k = 0; m->anchor != NULL && k < m->frame.n_targets; k++) {
        const share  seen = readings(m, p, k, var[k], q);
        const share  said = a != NULL ? answers(k, a) : (share){ 0 };
        const double x = seen.out / fmax(seen.n, 1), y = said.out / fmax(said.n, 1);
        if (!(x > worth) && !(y > worth)) continue;
        char share_of_answers[64] = ""; /* totals are no values of the target */
        if (a != NULL)
            snprintf(share_of_answers, sizeof share_of_answers, " and %.0f %% of the answers",
                     100 * y);
        ll_logf(log, LLAP_LOG_WARNING,
                "%s: %.0f %% of the readings looked at%s lie outside the range of training",
                ll_text_show(m->frame.target[k]).text, 100 * x, share_of_answers);
    }
    return LLAP_OK;
}
