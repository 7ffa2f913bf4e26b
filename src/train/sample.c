#include "train/sample.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/error.h"
#include "base/log.h"
#include "data/panel_words.h"

#include <assert.h>
#include <string.h>

/* A stack by time has columns of single entities. */
static bool may_sample(const llap_panel *p, const llap_train_opts *o, const ll_sample_limits *l)
{
    const bool by_entity = o->split == LLAP_TRAIN_SPLIT_ENTITY;
    const bool stack = o->size == LLAP_TRAIN_SIZE_DEFAULT || o->size == LLAP_TRAIN_SIZE_STACK;
    const bool networks = o->diffusion > LLAP_TRAIN_DIFFUSION_NO || o->from != NULL ||
                          o->members > 0 || o->steps > 0 || o->batch > 0 || o->lr > 0 ||
                          o->view > LLAP_TRAIN_VIEW_AUTO;
    return p->n_rows > l->from && p->n_entities > 2 * l->entities &&
           (o->size == LLAP_TRAIN_SIZE_ANCHOR || (stack && by_entity && !networks)) &&
           o->profile != LLAP_TRAIN_PROFILE_REFERENCE && o->parts == NULL && o->statics == NULL;
}

static int64_t entities_of(const llap_panel *p, const ll_sample_limits *l)
{
    const double  share = (double)l->rows / (double)p->n_rows;
    const int64_t n = (int64_t)(fmin(share, 1.0) * (double)p->n_entities);
    return n < l->entities ? l->entities : n;
}

static void copy_rows(const llap_panel *p, int64_t from, ll_panel_draft *d, int64_t to, int64_t n)
{
    const int64_t vars = p->n_vars;
    memcpy(d->time + to, p->time + from, (size_t)n * sizeof *d->time);
    memcpy(d->value + to * vars, p->value + from * vars, (size_t)(n * vars) * sizeof *d->value);
    for (int64_t c = 0; c < n * vars; c++)
        if (ll_bit(p->observed, from * vars + c)) ll_bit_set(d->observed, to * vars + c);
}

llap_status ll_train_sample(const llap_panel *p, const llap_train_opts *o,
                            const ll_sample_limits *limits, llap_panel **out)
{
    *out = NULL;
    if (!may_sample(p, o, limits)) return LLAP_OK;
    const int64_t  n = entities_of(p, limits);
    ll_panel_draft d = ll_panel_draft_of(p);
    const char   **name = ll_new((size_t)n, sizeof *name);
    int64_t    *start = ll_new((size_t)n + 1, sizeof *start), *of = ll_new((size_t)n, sizeof *of);
    llap_status st = name == NULL || start == NULL || of == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        of[i] = (int64_t)((double)i * (double)p->n_entities / (double)n);
        name[i] = p->entity[of[i]];
        start[i + 1] = start[i] + p->start[of[i] + 1] - p->start[of[i]];
    }
    d.n_entities = n;
    d.entity = name;
    d.start = start;
    if (st == LLAP_OK) st = ll_panel_create(&d, out);
    for (int64_t i = 0; i < n && st == LLAP_OK; i++)
        copy_rows(p, p->start[of[i]], &d, start[i], start[i + 1] - start[i]);
    if (st == LLAP_OK) st = ll_panel_words_carry(p, *out);
    if (st == LLAP_OK) {
        (*out)->whole = p;
        ll_logf(o->log, LLAP_LOG_INFO,
                "%lld of %lld entities, evenly spread, fit and choose; each has its own level and "
                "spread",
                (long long)n, (long long)p->n_entities);
    }
    ll_free(name);
    ll_free(start);
    ll_free(of);
    if (st != LLAP_OK) {
        llap_panel_destroy(*out);
        *out = NULL;
    }
    return st;
}

/* ---- all of them ---- */

/* The training rows of an entity: those before the first of validation. */
static ll_series training_rows(const llap_panel *p, const ll_model_frame *f, int64_t e, int64_t var,
                               double *y)
{
    const int64_t first = p->start[e],
                  end = ll_first_from(p->time, first, p->start[e + 1], f->val_start);
    for (int64_t r = first; r < end; r++)
        y[r - first] = ll_panel_observed(p, r, var) ? (double)p->value[r * p->n_vars + var] : NAN;
    return (ll_series){ .n = (size_t)(end - first), .y = y };
}

static llap_status widen_target(llap_model *m, const llap_panel *p, int64_t i, double *y)
{
    ll_chain     *c = m->anchor[i]->chain;
    const int64_t var = ll_panel_find_var(p, m->frame.target[i]);
    assert(var >= 0 && m->anchor[i]->link.rank == 0);
    llap_status st = ll_chain_widen(c, (size_t)p->n_entities);
    for (int64_t e = 0; e < p->n_entities && st == LLAP_OK; e++) {
        const ll_series s = training_rows(p, &m->frame, e, var, y);
        st = ll_chain_take(c, (size_t)e, &s);
    }
    return st;
}

/* All names in one text, as panels have them. */
static llap_status take_names(llap_model *m, const llap_panel *p)
{
    size_t bytes = 0;
    for (int64_t e = 0; e < p->n_entities; e++) bytes += strlen(p->entity[e]) + 1;
    const char **list = ll_arena_new(&m->arena, (size_t)p->n_entities, sizeof *list);
    char        *text = ll_arena_new(&m->arena, bytes, 1);
    if (list == NULL || text == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++) {
        const size_t n = strlen(p->entity[e]) + 1;
        list[e] = memcpy(text, p->entity[e], n);
        text += n;
    }
    m->frame.entity = list;
    m->frame.n_entities = p->n_entities;
    return LLAP_OK;
}

llap_status ll_train_widen(llap_model *m, const llap_panel *p, const llap_panel *some)
{
    /* networks know their entities; a finished run has been here before */
    if (m->frame.by_entity || m->network != NULL || m->frame.n_entities != some->n_entities)
        return LLAP_OK;
    assert(m->joint == NULL);
    int64_t longest = 0;
    for (int64_t e = 0; e < p->n_entities; e++)
        longest = p->start[e + 1] - p->start[e] > longest ? p->start[e + 1] - p->start[e] : longest;
    double     *y = ll_new((size_t)longest, sizeof *y);
    llap_status st = y == NULL ? LLAP_ENOMEM : take_names(m, p);
    for (int64_t i = 0; i < m->frame.n_targets && st == LLAP_OK; i++) st = widen_target(m, p, i, y);
    ll_free(y);
    return st;
}
