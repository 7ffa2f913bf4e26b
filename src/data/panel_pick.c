#include "data/panel_pick.h"

#include "base/alloc.h"

#include <string.h>

static void copy_rows(const llap_panel *p, int64_t from, int64_t n, const ll_panel_draft *d,
                      int64_t to)
{
    const int64_t vars = p->n_vars;
    memcpy(d->time + to, p->time + from, (size_t)n * sizeof *d->time);
    memcpy(d->value + to * vars, p->value + from * vars, (size_t)(n * vars) * sizeof *d->value);
    for (int64_t r = 0; r < n; r++)
        for (int64_t v = 0; v < vars; v++)
            if (ll_panel_observed(p, from + r, v)) ll_bit_set(d->observed, (to + r) * vars + v);
}

llap_status ll_panel_pick(const llap_panel *p, const bool *keep, llap_panel **out)
{
    ll_panel_draft d = ll_panel_draft_of(p);
    const char   **entity = ll_new((size_t)p->n_entities + 1, sizeof *entity);
    int64_t       *start = ll_new((size_t)p->n_entities + 1, sizeof *start);
    llap_status    st = entity == NULL || start == NULL ? LLAP_ENOMEM : LLAP_OK;
    *out = NULL;
    d.n_entities = 0;
    d.entity = entity;
    d.start = start;
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++) {
        if (!keep[e]) continue;
        const int64_t k = d.n_entities++;
        entity[k] = p->entity[e];
        start[k + 1] = start[k] + p->start[e + 1] - p->start[e];
    }
    if (st == LLAP_OK) st = ll_panel_create(&d, out);
    for (int64_t e = 0, to = 0; st == LLAP_OK && e < p->n_entities; e++) {
        const int64_t n = p->start[e + 1] - p->start[e];
        if (!keep[e]) continue;
        copy_rows(p, p->start[e], n, &d, to);
        to += n;
    }
    ll_free((void *)entity);
    ll_free(start);
    return st;
}
