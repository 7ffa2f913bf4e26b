#include "predict/view/meet.h"

#include "base/rng/rng.h"
#include "data/panel.h"

#include <string.h>

uint64_t ll_panel_hash(const llap_panel *p)
{
    if (p->whole != NULL) p = p->whole;
    const size_t n_cells = (size_t)(p->n_rows * p->n_vars);
    uint64_t     h = ll_hash(0, p->start, (size_t)(p->n_entities + 1) * sizeof *p->start);
    for (int64_t e = 0; e < p->n_entities; e++)
        h = ll_hash(h, p->entity[e], strlen(p->entity[e]) + 1);
    for (int64_t v = 0; v < p->n_vars; v++) h = ll_hash(h, p->var[v], strlen(p->var[v]) + 1);
    h = ll_hash(h, p->time, (size_t)p->n_rows * sizeof *p->time);
    h = ll_hash(h, p->value, n_cells * sizeof *p->value);
    return ll_hash(h, p->observed, (n_cells + 63) / 64 * sizeof *p->observed);
}

static uint64_t hash_text(uint64_t h, const char *text)
{
    return text == NULL ? ll_hash(h, "", 1) : ll_hash(h, text, strlen(text) + 1);
}

/* By the run that has trained it. */
static uint64_t hash_model(uint64_t h, const llap_model *m)
{
    h = hash_text(h, m->run);
    h = hash_text(h, m->training);
    for (int64_t i = 0; i < m->frame.n_targets; i++) h = hash_text(h, m->frame.target[i]);
    return h;
}

/* Words and numbers by their values, files by their names. */
static uint64_t hash_option(uint64_t h, const llap_option *o, const void *options)
{
    const void *at = (const char *)options + o->offset;
    switch (o->type) {
    case LLAP_OPTION_INTEGER:
        return ll_hash(h, at, sizeof(int64_t));
    case LLAP_OPTION_REAL:
        return ll_hash(h, at, sizeof(double));
    case LLAP_OPTION_FLAG:
    case LLAP_OPTION_WORD:
        return ll_hash(h, at, sizeof(int));
    case LLAP_OPTION_CHAR:
        return ll_hash(h, at, 1);
    default:
        return hash_text(h, *(const char *const *)at);
    }
}

llap_status ll_ranks_meet(const ll_ranks *r, const llap_model *m, const llap_panel *p,
                          const llap_option *table, const void *options,
                          const llap_model *const *with, int64_t n_with)
{
    if (r == NULL) return LLAP_OK;
    uint64_t h = hash_model(ll_panel_hash(p), m);
    for (int64_t i = 0; i < n_with; i++) h = hash_model(h, with[i]);
    for (const llap_option *o = table; o->name != NULL; o++) h = hash_option(h, o, options);
    return ll_ranks_agree(r, h, "another model, other data or options");
}
