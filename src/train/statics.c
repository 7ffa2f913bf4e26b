#include "train/statics.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_missing(const ll_static_column *c, int64_t e)
{
    return c->words ? c->word[e] == NULL : isnan(c->number[e]);
}

static void say_columns(const llap_panel *p, const ll_static_table *t, bool found,
                        const llap_log *log)
{
    char   text[320] = "";
    size_t at = 0;
    for (int32_t i = 0; i < t->n && at < sizeof text; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s (%s)", i > 0 ? ", " : "",
                               ll_text_show(t->name[i]).text,
                               t->column[i].words ? "categories" : "numbers");
    ll_logf(log, LLAP_LOG_INFO, "static inputs%s: %s%s", found ? ", found in the data" : "", text,
            found ? "; `static` none does without" : "");
    for (int32_t i = 0; i < t->n; i++) {
        int64_t missing = 0;
        for (int64_t e = 0; e < p->n_entities; e++) missing += is_missing(&t->column[i], e);
        if (missing > 0)
            ll_logf(log, LLAP_LOG_WARNING,
                    "static: '%s' is missing for %lld of %lld entities: what is usual is taken",
                    ll_text_show(t->name[i]).text, (long long)missing, (long long)p->n_entities);
    }
}

/* Columns of the data are not forecast. */
static llap_status leave_targets(const llap_panel *p, const llap_train_opts *o,
                                 const ll_static_table *t, int64_t *target, int64_t *n_targets)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < *n_targets; i++) {
        bool taken = false;
        for (int32_t k = 0; k < t->n; k++)
            taken = taken || strcmp(t->name[k], p->var[target[i]]) == 0;
        if (taken && o->target != NULL)
            return ll_fail(LLAP_EOPTION,
                           "static: '%s' is a target: what never changes needs no "
                           "forecast",
                           ll_text_show(p->var[target[i]]).text);
        if (!taken) target[kept++] = target[i];
    }
    *n_targets = kept;
    return kept > 0 ? LLAP_OK : ll_fail(LLAP_EOPTION, "static: no column is left to forecast");
}

/* Those that the data has by itself; of few entities nothing is learned. */
static llap_status find_columns(const llap_panel *p, const llap_train_opts *o,
                                const ll_train_columns *of, ll_static_table *t)
{
    enum { ENTITIES = 8 };
    const int64_t n = *of->n_targets + of->n_known;
    if (p->n_entities < ENTITIES || o->profile == LLAP_TRAIN_PROFILE_REFERENCE) return LLAP_OK;
    int64_t *skip = ll_new((size_t)n, sizeof *skip);
    if (skip == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        skip[i] = i < *of->n_targets ? of->target[i] : of->known[i - *of->n_targets];
    const llap_status st = ll_static_table_find(t, p, skip, n);
    ll_free(skip);
    return st;
}

llap_status ll_train_statics(const llap_panel *p, const llap_train_opts *o,
                             const ll_train_columns *of, ll_static_table *t)
{
    *t = (ll_static_table){ 0 };
    if (o->statics != NULL && strcmp(o->statics, "none") == 0) return LLAP_OK;
    if (o->statics == NULL) {
        const llap_status found = find_columns(p, o, of, t);
        if (found == LLAP_OK && t->n > 0) say_columns(p, t, true, o->log);
        return found;
    }
    llap_status st = ll_static_table_init(t, p, o->statics);
    if (st == LLAP_OK && !ll_static_is_file(o->statics))
        st = leave_targets(p, o, t, of->target, of->n_targets);
    if (st == LLAP_OK) say_columns(p, t, false, o->log);
    return st;
}

void ll_train_say_statics(const llap_log *log, const ll_model_frame *f, const char *target,
                          const ll_anchor_model *a)
{
    const ll_statics *s = a->chain->statics;
    if (f->n_statics == 0) return;
    if (s == NULL)
        ll_logf(log, LLAP_LOG_INFO, "%s: static inputs are not used: %s", target,
                f->by_entity ? "they gain less than 1 % on validation"
                             : "they do not tell the level of an entity that is left out");
    else
        ll_logf(log, LLAP_LOG_INFO,
                "%s: static inputs tell the level of %s: variance of the %slevel of an entity left "
                "out %.3g, without them %.3g",
                target, s->every ? "every entity" : "entities without readings in training",
                s->log ? "log " : "", s->level.error, s->level.apart);
}
