#include "predict/view/target_series.h"

#include "base/alloc.h"
#include "predict/view/known_series.h"
#include "predict/view/series.h"

#include <assert.h>

void ll_target_series_deinit(ll_target_series *s)
{
    for (int64_t c = 0; c < s->n_targets; c++) {
        if (s->target != NULL) ll_panel_series_deinit(&s->target[c]);
        if (s->all != NULL) ll_free(s->all[c]);
    }
    ll_free(s->target);
    ll_free(s->all);
    ll_free(s->known);
    ll_free(s->u);
    *s = (ll_target_series){ 0 };
}

/* The series of target c through its chain, into u [n_rows]. */
static void convert(const ll_target_series *s, const ll_chain *chain, int64_t c,
                    const llap_panel *p, double *u)
{
    for (int64_t e = 0; e < p->n_entities; e++) {
        ll_series *y = &s->target[c].series[e];
        double    *to = u + p->start[e];
        ll_chain_convert(chain, s->known[e], y, NULL, to);
        y->u = to;
    }
}

llap_status ll_target_series_init(ll_target_series *s, const llap_model *m, const llap_panel *p,
                                  const int64_t *var, ll_series_kind kind)
{
    const size_t C = (size_t)m->frame.n_targets;
    const bool   converted = kind == LL_SERIES_CONVERTED;
    *s = (ll_target_series){ .n_targets = m->frame.n_targets };
    assert(!converted || m->anchor != NULL);
    s->target = ll_new(C, sizeof *s->target);
    s->all = ll_new(C, sizeof *s->all);
    s->known = ll_new((size_t)p->n_entities, sizeof *s->known);
    if (converted) s->u = ll_new(C, (size_t)p->n_rows * sizeof *s->u);
    if (s->target == NULL || s->all == NULL || s->known == NULL || (converted && s->u == NULL))
        return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++) s->known[e] = ll_model_series_of(m, p, e);
    for (int64_t c = 0; c < s->n_targets; c++) {
        llap_status st = ll_panel_series_init(&s->target[c], p, var[c], m->frame.unit);
        if (st == LLAP_OK) st = ll_known_series(&s->target[c], m, c, p);
        if (st != LLAP_OK) return st;
        if (converted) convert(s, m->anchor[c]->chain, c, p, s->u + c * p->n_rows);
        st = ll_linked_series(m, c, p, &s->target[c], &s->all[c]);
        if (st != LLAP_OK) return st;
    }
    return LLAP_OK;
}
