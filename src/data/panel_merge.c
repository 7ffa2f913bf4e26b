#include "data/panel_merge.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "data/text/number.h"

#include <math.h>
#include <string.h>

static bool is_one_of(const char *name, const char *const *list)
{
    for (; list != NULL && *list != NULL; list++)
        if (strcmp(name, *list) == 0) return true;
    return false;
}

static llap_status check_axes(const llap_panel *const *p, size_t n)
{
    if (n == 0) return ll_fail(LLAP_EINVAL, "merge: no panel");
    for (size_t i = 1; i < n; i++)
        if (p[i]->axis.kind != p[0]->axis.kind || p[i]->axis.unit_ns != p[0]->axis.unit_ns)
            return ll_fail(LLAP_EINVAL,
                           "file %zu: its times are of another kind than those of "
                           "the first file: dates there, or numbers, or another unit",
                           i + 1);
    return LLAP_OK;
}

static llap_status check_drop(const llap_panel *const *p, size_t n, const char *const *drop)
{
    for (; drop != NULL && *drop != NULL; drop++) {
        bool found = false;
        for (size_t i = 0; i < n; i++) found |= ll_panel_find_var(p[i], *drop) >= 0;
        if (!found)
            return ll_fail(LLAP_EINVAL, "drop: there is no variable '%s'",
                           ll_text_show(*drop).text);
    }
    return LLAP_OK;
}

/* The words as floats, as the cells are. Caller owns *out. */
static llap_status read_missing(const char *const *word, float **out, size_t *n)
{
    *n = 0;
    while (word != NULL && word[*n] != NULL) ++*n;
    *out = ll_new(*n, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < *n; i++) {
        double x;
        if (ll_number_double(word[i], strlen(word[i]), '.', &x) != LL_NUMBER_FINITE)
            return ll_fail(LLAP_EINVAL, "missing: '%s' is no number, and these files hold no words",
                           ll_text_show(word[i]).text);
        (*out)[i] = (float)x;
    }
    return LLAP_OK;
}

typedef struct merge {
    ll_panel_builder  *b;
    const char *const *drop;
    float             *missing;
    size_t             n_missing;
    uint32_t          *var; /* of the panel at hand: its number in the builder */
    float             *row; /* [number of variables in the builder] */
} merge;

static bool is_missing(const merge *m, float x)
{
    for (size_t i = 0; i < m->n_missing; i++)
        if (m->missing[i] == x) return true;
    return false;
}

static llap_status add_rows(merge *m, const llap_panel *p, int64_t e)
{
    const uint32_t n = ll_panel_builder_n_vars(m->b);
    uint32_t       entity;
    llap_status    st = ll_panel_builder_entity(m->b, p->entity[e], strlen(p->entity[e]), &entity);
    for (int64_t r = p->start[e]; r < p->start[e + 1] && st == LLAP_OK; r++) {
        for (uint32_t v = 0; v < n; v++) m->row[v] = NAN;
        for (int64_t v = 0; v < p->n_vars; v++) {
            const float x = p->value[r * p->n_vars + v];
            if (m->var[v] < n && ll_panel_observed(p, r, v) && !is_missing(m, x))
                m->row[m->var[v]] = x;
        }
        st = ll_panel_builder_row(m->b, entity, p->time[r], m->row);
    }
    return st;
}

/* Names first, for all panels, so that no row needs widening. */
static llap_status name_vars(merge *m, const llap_panel *p)
{
    llap_status st = LLAP_OK;
    for (int64_t v = 0; v < p->n_vars && st == LLAP_OK; v++) {
        m->var[v] = UINT32_MAX;
        if (!is_one_of(p->var[v], m->drop))
            st = ll_panel_builder_var(m->b, p->var[v], strlen(p->var[v]), &m->var[v]);
    }
    return st;
}

static llap_status fill(merge *m, const llap_panel *const *p, size_t n)
{
    llap_status st = LLAP_OK;
    for (size_t i = 0; i < n && st == LLAP_OK; i++) st = name_vars(m, p[i]);
    if (st != LLAP_OK) return st;
    m->row = ll_new(ll_panel_builder_n_vars(m->b), sizeof *m->row);
    if (m->row == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < n && st == LLAP_OK; i++) {
        st = name_vars(m, p[i]);
        for (int64_t e = 0; e < p[i]->n_entities && st == LLAP_OK; e++) st = add_rows(m, p[i], e);
    }
    return st;
}

llap_status ll_panels_merge(const llap_panel *const *p, size_t n, const ll_merge_opts *o,
                            llap_panel **out)
{
    *out = NULL;
    int64_t         most = 0;
    merge           m = { .drop = o->drop };
    ll_builder_opts bo = LL_BUILDER_DEFAULT;
    bo.duplicates = o->duplicates;
    llap_status st = check_axes(p, n);
    if (st == LLAP_OK) st = check_drop(p, n, o->drop);
    if (st == LLAP_OK) st = read_missing(o->missing, &m.missing, &m.n_missing);
    if (st == LLAP_OK) st = ll_panel_builder_create(&bo, &m.b);
    for (size_t i = 0; i < n; i++) most = p[i]->n_vars > most ? p[i]->n_vars : most;
    if (st == LLAP_OK && (m.var = ll_new((size_t)most, sizeof *m.var)) == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK) st = fill(&m, p, n);
    if (st == LLAP_OK) st = ll_panel_builder_finish(m.b, &p[0]->axis, out);
    ll_panel_builder_destroy(m.b);
    ll_free(m.missing);
    ll_free(m.var);
    ll_free(m.row);
    return st;
}
