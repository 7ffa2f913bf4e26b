#include "predict/view/static_view.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- what is said about them ---- */

static bool knows(const ll_static_input *in, const char *word)
{
    for (int32_t k = 0; k < in->n_levels; k++)
        if (strcmp(in->level[k], word) == 0) return true;
    return false;
}

/* What column i is like for the entities which [n] of the panel. */
static void warn_column(const ll_static_table *t, const ll_statics *s, int32_t i,
                        const llap_panel *p, const size_t *which, size_t n, const llap_log *log)
{
    const ll_static_input  *in = &s->input[i];
    const ll_static_column *c = &t->column[i];
    const ll_text_shown     name = ll_text_show(t->name[i]);
    size_t                  missing = 0, outside = 0;
    for (size_t k = 0; k < n; k++) {
        const size_t e = which[k];
        if (in->words ? c->word == NULL || c->word[e] == NULL
                      : c->number == NULL || isnan(c->number[e]))
            missing++;
        else if (in->words && !knows(in, c->word[e]))
            ll_logf(log, LLAP_LOG_WARNING,
                    "static: '%s' of entity '%s': training has not seen '%s'; what is usual is "
                    "taken, with a wider level",
                    name.text, ll_text_show(p->entity[e]).text, ll_text_show(c->word[e]).text);
        else if (!in->words) outside += c->number[e] < in->low || c->number[e] > in->high;
    }
    if (missing > 0)
        ll_logf(log, LLAP_LOG_WARNING,
                "static: '%s' is missing for %zu of %zu entities that training has not seen; what "
                "is usual is taken, with a wider level",
                name.text, missing, n);
    if (outside > 0)
        ll_logf(log, LLAP_LOG_WARNING,
                "static: '%s' of %zu of %zu entities that training has not seen lies outside %g to "
                "%g, where training has been; the end of that range is taken",
                name.text, outside, n, in->low, in->high);
}

/* ---- the model ---- */

void ll_static_view_deinit(ll_static_view *v)
{
    for (int64_t i = 0; v->anchor != NULL && i < v->model.frame.n_targets; i++) {
        if (v->anchor[i].chain != NULL && v->anchor[i].chain->n_more > 0)
            ll_chain_more_destroy(v->anchor[i].chain);
    }
    ll_free(v->anchor);
    ll_free(v->model.anchor);
    ll_free((void *)v->more);
    ll_free(v->terms);
    *v = (ll_static_view){ 0 };
}

/* The numbers that a stack has of them as columns. */
static llap_status tell_stack(ll_static_view *v, const llap_model *m, const ll_static_table *t,
                              const size_t *which, size_t n)
{
    const ll_statics *s = ll_model_statics(m);
    double            x[LL_STATIC_TERMS];
    if (m->stack == NULL || m->stack->layout.statics == 0) return LLAP_OK;
    assert(m->stack->layout.statics == s->n_terms);
    const size_t terms = (size_t)s->n_terms;
    v->terms = ll_new(n, terms * sizeof *v->terms);
    if (v->terms == NULL) return LLAP_ENOMEM;
    for (size_t e = 0; e < n; e++) {
        ll_statics_row(s, t->column, which[e], x);
        for (size_t i = 0; i < terms; i++) v->terms[e * terms + i] = (float)x[i];
    }
    v->model.more_statics = v->terms;
    return LLAP_OK;
}

/* Copies of the anchors, whose chains know the entities which [n] too. */
static llap_status extend(ll_static_view *v, const llap_model *m, const ll_static_table *t,
                          const size_t *which, size_t n)
{
    const size_t C = (size_t)m->frame.n_targets;
    v->model = *m;
    v->model.anchor = ll_new(C, sizeof *v->model.anchor);
    v->anchor = ll_new(C, sizeof *v->anchor);
    if (v->model.anchor == NULL || v->anchor == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < C; i++) {
        ll_chain *more = NULL;
        v->anchor[i] = *m->anchor[i];
        v->model.anchor[i] = &v->anchor[i];
        if (m->anchor[i]->chain->statics == NULL) continue;
        const llap_status st = ll_chain_more(m->anchor[i]->chain, t->column, which, n, &more);
        if (st != LLAP_OK) return st;
        v->anchor[i].chain = more;
    }
    v->model.n_more = (int64_t)n;
    v->model.more = v->more;
    v->m = &v->model;
    return tell_stack(v, m, t, which, n);
}

llap_status ll_static_view_init(ll_static_view *v, const llap_model *m, const llap_panel *p,
                                const char *path, const llap_log *log)
{
    const ll_statics *of = ll_model_statics(m);
    size_t            n = 0;
    *v = (ll_static_view){ .m = m };
    if (path != NULL && m->frame.n_statics == 0)
        return ll_fail(LLAP_EOPTION, "static: the model was trained without static inputs");
    if (path != NULL && !ll_static_is_file(path))
        return ll_fail(LLAP_EOPTION,
                       "static: expected a file, found '%s'; columns of the data are found by "
                       "the names that they had in training",
                       ll_text_show(path).text);
    if (of == NULL && path != NULL)
        ll_logf(log, LLAP_LOG_WARNING, "static: %s is not looked at: it helped no target",
                ll_text_show(path).text);
    if (of == NULL) return LLAP_OK;
    size_t *which = ll_new((size_t)p->n_entities, sizeof *which);
    v->more = ll_new((size_t)p->n_entities, sizeof *v->more);
    llap_status st = which == NULL || v->more == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t e = 0; st == LLAP_OK && e < p->n_entities; e++) {
        if (ll_model_entity_of(m, p, e) >= 0) continue;
        v->more[n] = p->entity[e]; /* in byte order, as those of the panel */
        which[n++] = (size_t)e;
    }
    if (st == LLAP_OK && n > 0) {
        ll_static_table t;
        st = ll_static_table_for(&t, m, p, path);
        for (int32_t i = 0; st == LLAP_OK && i < of->n; i++)
            if (ll_static_terms(&of->input[i]) > 0) warn_column(&t, of, i, p, which, n, log);
        if (st == LLAP_OK) st = extend(v, m, &t, which, n);
        ll_static_table_deinit(&t);
    }
    if (st == LLAP_OK && n == 0 && path != NULL)
        ll_logf(log, LLAP_LOG_INFO, "static: %s is not looked at: every entity was in training",
                ll_text_show(path).text);
    ll_free(which);
    return st;
}

llap_status ll_static_check_with(const llap_model *m, const llap_model *const *with, int64_t n,
                                 const llap_panel *p)
{
    for (int64_t i = 0; i <= n && n > 0; i++) {
        const llap_model *one = i < n ? with[i] : m;
        for (int64_t e = 0; ll_model_statics(one) != NULL && e < p->n_entities; e++)
            if (ll_model_entity_of(one, p, e) < 0)
                return ll_fail(LLAP_EUNSUPPORTED,
                               "entity '%s' was not in training: static inputs tell one model "
                               "about it, not several (with)",
                               ll_text_show(p->entity[e]).text);
    }
    return LLAP_OK;
}
