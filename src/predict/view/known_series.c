#include "predict/view/known_series.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

llap_status ll_known_numbers(const llap_panel *p, const int64_t *column, int64_t n,
                             double **numbers, const double ***of)
{
    *numbers = ll_new((size_t)p->n_rows, (size_t)n * sizeof **numbers);
    *of = ll_new((size_t)p->n_entities, sizeof **of);
    if (*numbers == NULL || *of == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++) {
        const int64_t first = p->start[e], rows = p->start[e + 1] - first;
        double       *to = *numbers + first * n;
        (*of)[e] = to;
        for (int64_t c = 0; c < n; c++)
            for (int64_t r = 0; r < rows; r++)
                to[c * rows + r] = ll_panel_observed(p, first + r, column[c])
                                       ? (double)p->value[(first + r) * p->n_vars + column[c]]
                                       : NAN;
    }
    return LLAP_OK;
}

/* The variable of the panel for each known column of the model. */
static llap_status find_columns(const llap_model *m, const llap_panel *p, int64_t *column)
{
    char   missing[320] = "";
    size_t at = 0;
    for (int64_t i = 0; i < m->frame.n_known; i++) {
        column[i] = ll_panel_find_var(p, m->frame.known[i]);
        if (column[i] >= 0 || at >= sizeof missing) continue;
        at += (size_t)snprintf(missing + at, sizeof missing - at, "%s'%s'", at > 0 ? ", " : "",
                               ll_text_show(m->frame.known[i]).text);
    }
    if (at == 0) return LLAP_OK;
    return ll_fail(LLAP_EINVAL,
                   "the model was trained with known inputs that the data does not have: %s; give "
                   "them for the past and for the time to forecast, or rename with `columns` "
                   "new=old",
                   missing);
}

llap_status ll_known_series(ll_panel_series *s, const llap_model *m, int64_t target,
                            const llap_panel *p)
{
    const ll_known *k = m->anchor == NULL ? NULL : m->anchor[target]->chain->known;
    if (k == NULL) return LLAP_OK;
    int64_t        column[LL_KNOWN_COLUMNS];
    double        *numbers = NULL;
    const double **of = NULL;
    assert(k->n_columns == m->frame.n_known && k->n_columns <= LL_KNOWN_COLUMNS);
    llap_status st = find_columns(m, p, column);
    if (st == LLAP_OK) st = ll_known_numbers(p, column, m->frame.n_known, &numbers, &of);
    if (st == LLAP_OK) {
        s->in = ll_new(s->n, sizeof *s->in);
        if (s->in == NULL) st = LLAP_ENOMEM;
    }
    for (size_t e = 0; st == LLAP_OK && e < s->n; e++) {
        st = ll_inputs_create(k, s->series[e].t, of[e], s->series[e].n, &s->in[e]);
        s->series[e].in = s->in[e];
    }
    ll_free(numbers);
    ll_free(of);
    return st;
}

int64_t ll_observed_until(const llap_panel *p, int64_t e, const int64_t *var, int64_t n_targets)
{
    for (int64_t r = p->start[e + 1]; r-- > p->start[e];)
        for (int64_t v = 0; v < n_targets; v++)
            if (ll_panel_observed(p, r, var[v])) return r + 1 - p->start[e];
    return 0;
}

/* Of the inputs of an anchor that looks at that column; NULL: none does. */
static const ll_known *who_uses(const llap_model *m, int64_t column)
{
    for (int64_t i = 0; m->anchor != NULL && i < m->frame.n_targets; i++) {
        const ll_known *k = m->anchor[i]->chain->known;
        for (int32_t j = 0; k != NULL && j < k->n; j++)
            if (k->input[j].column == column) return k;
    }
    return NULL;
}

void ll_warn_known(const llap_model *m, const llap_panel *p, const ll_queries *q,
                   const llap_log *log)
{
    for (int64_t c = 0; c < m->frame.n_known; c++) {
        const int64_t   var = ll_panel_find_var(p, m->frame.known[c]);
        const ll_known *used = who_uses(m, c);
        size_t          missing = 0, strange = 0;
        double          first = 0;
        if (var < 0 || used == NULL) continue;
        for (size_t i = 0; i < q->n; i++)
            for (size_t k = q->first[i]; k < q->first[i + 1]; k++) {
                const int64_t row = ll_panel_find_row(p, q->entity[i], q->time[k]);
                if (row < 0 || !ll_panel_observed(p, row, var)) {
                    missing++;
                    continue;
                }
                const double x = (double)p->value[row * p->n_vars + var];
                if (!ll_known_takes(used, (int32_t)c, x) && strange++ == 0) first = x;
            }
        if (strange > 0)
            ll_logf(log, LLAP_LOG_WARNING,
                    "%s: %zu of %zu values of a known input at the times forecast are like none of "
                    "training (%g%s): they count as missing, and the answers are wider for it",
                    ll_text_show(m->frame.known[c]).text, strange, q->first[q->n], first,
                    strange > 1 ? ", ..." : "");
        if (missing > 0)
            ll_logf(log, LLAP_LOG_WARNING,
                    "%s: %zu of %zu values that a known input should have at the times forecast "
                    "are missing: taken from what is usual then, and the answers are wider for it",
                    ll_text_show(m->frame.known[c]).text, missing, q->first[q->n]);
    }
}
