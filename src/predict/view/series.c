#include "predict/view/series.h"

#include "base/alloc.h"
#include <assert.h>
#include <math.h>

llap_status ll_panel_series_init(ll_panel_series *s, const llap_panel *p, int64_t var, int64_t unit)
{
    *s = (ll_panel_series){ .n = (size_t)p->n_entities };
    s->series = ll_new(s->n, sizeof *s->series);
    s->numbers = ll_new(2 * (size_t)p->n_rows, sizeof *s->numbers);
    if (s->series == NULL || s->numbers == NULL) {
        ll_panel_series_deinit(s);
        return LLAP_ENOMEM;
    }
    double *t = s->numbers, *y = s->numbers + p->n_rows;
    for (int64_t r = 0; r < p->n_rows; r++) {
        t[r] = (double)p->time[r] / (double)unit;
        y[r] = ll_panel_observed(p, r, var) ? (double)p->value[r * p->n_vars + var] : NAN;
    }
    for (size_t e = 0; e < s->n; e++) {
        const int64_t first = p->start[e];
        s->series[e] =
            (ll_series){ .n = (size_t)(p->start[e + 1] - first), .t = t + first, .y = y + first };
    }
    return LLAP_OK;
}

llap_status ll_panel_series_some(ll_panel_series *s, const llap_panel *p, int64_t var, int64_t unit,
                                 int64_t first, int64_t end, int64_t after)
{
    size_t rows = 0, at = 0;
    *s = (ll_panel_series){ .n = (size_t)(end - first) };
    for (int64_t e = first; e < end; e++)
        rows += (size_t)(p->start[e + 1] - ll_panel_row_after(p, e, after));
    s->series = ll_new(s->n, sizeof *s->series);
    s->numbers = ll_new(2 * rows, sizeof *s->numbers);
    if (s->series == NULL || s->numbers == NULL) {
        ll_panel_series_deinit(s);
        return LLAP_ENOMEM;
    }
    double *t = s->numbers, *y = s->numbers + rows;
    for (int64_t e = first; e < end; e++) {
        const size_t from = at;
        for (int64_t r = ll_panel_row_after(p, e, after); r < p->start[e + 1]; r++, at++) {
            t[at] = (double)p->time[r] / (double)unit;
            y[at] = ll_panel_observed(p, r, var) ? (double)p->value[r * p->n_vars + var] : NAN;
        }
        s->series[e - first] = (ll_series){ .n = at - from, .t = t + from, .y = y + from };
    }
    return LLAP_OK;
}

void ll_panel_series_deinit(ll_panel_series *s)
{
    for (size_t e = 0; s->in != NULL && e < s->n; e++) ll_inputs_destroy(s->in[e]);
    ll_free(s->in);
    ll_free(s->series);
    ll_free(s->numbers);
    *s = (ll_panel_series){ 0 };
}

llap_status ll_linked_series(const llap_model *m, int64_t target, const llap_panel *p,
                             const ll_panel_series *s, ll_series **out)
{
    *out = NULL;
    if (m->anchor == NULL) return LLAP_OK;
    const ll_anchor_model *a = m->anchor[target];
    if (a->link.rank == 0 && a->neighbours[0].cov == NULL && a->neighbours[1].cov == NULL)
        return LLAP_OK;
    assert(s->n == (size_t)p->n_entities && target >= 0 && target < m->frame.n_targets);
    *out = ll_new((size_t)m->frame.n_entities, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++) {
        const int64_t known = ll_model_entity_of(m, p, e);
        if (known >= 0) (*out)[known] = s->series[e];
    }
    return LLAP_OK;
}
