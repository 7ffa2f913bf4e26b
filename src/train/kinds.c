#include "train/kinds.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time/civil.h"
#include "data/windows/scaling.h"
#include "train/run/targets.h"

#include <math.h>

/* Looks at the training rows of a variable. */
static llap_status look(const ll_windows *w, const ll_split *split, int64_t var, ll_kind_look *k)
{
    const llap_panel *p = w->panel;
    int64_t          *rows = ll_new(2 * (size_t)p->n_entities, sizeof *rows);
    if (rows == NULL) return LLAP_ENOMEM;
    ll_training_rows(w, split, rows, rows + p->n_entities);
    for (int64_t e = 0; e < p->n_entities; e++) {
        ll_kind_start(k);
        for (int64_t r = p->start[e]; r < rows[p->n_entities + e]; r++)
            if (ll_panel_observed(p, r, var)) ll_kind_add(k, (double)p->value[r * p->n_vars + var]);
    }
    ll_free(rows);
    return LLAP_OK;
}

/* Can the values be of the kind that was given? */
static llap_status check_given(const ll_kind_look *k, const ll_chain_values *v, const char *name)
{
    const char *what = v->kind == LL_KIND_COUNT && (k->fractions > 0 || k->least < 0)
                           ? "whole numbers, 0 or more"
                       : v->kind == LL_KIND_SHARE && (k->least < v->min || k->most > v->max)
                           ? "values within the bounds"
                       : v->kind == LL_KIND_POSITIVE && k->least < v->min ? "no negative value"
                                                                          : NULL;
    if (what == NULL || k->n == 0) return LLAP_OK;
    return ll_fail(LLAP_EINVAL,
                   "kind: %s: '%s' expects %s, found %.6g to %.6g in the training part, %.0f of "
                   "%.0f not whole",
                   ll_text_show(name).text, ll_kind_names[v->kind], what, k->least, k->most,
                   k->fractions, k->n);
}

/* Bounds that the user gave and that training already exceeds: answers are held within all the
 * same, and what comes may not be. */
static void warn_bounds(const ll_kind_look *k, const ll_chain_values *v, const char *name,
                        const llap_log *log)
{
    if (k->n == 0 || (k->least >= v->min && k->most <= v->max)) return;
    ll_logf(
        log, LLAP_LOG_WARNING,
        "%s: readings of training go from %.6g to %.6g, beyond %s %.6g: answers are held within "
        "it all the same",
        ll_text_show(name).text, k->least, k->most, k->least < v->min ? "min" : "max",
        k->least < v->min ? v->min : v->max);
}

/* Bounds that a kind has where the user gave none. */
static void set_bounds(ll_chain_values *v, bool floored)
{
    if (floored && !v->has_min) v->has_min = true, v->min = 0.0;
    if (v->kind == LL_KIND_SHARE && !v->has_max) v->has_max = true, v->max = 1.0;
}

llap_status ll_target_values(const ll_windows *w, const ll_split *split, const llap_train_opts *o,
                             const ll_model_frame *f, int64_t var, const llap_log *log,
                             ll_chain_values *out)
{
    const char  *name = w->panel->var[var];
    ll_kind_look k = { 0 };
    bool         given = false;
    *out = (ll_chain_values){ .min = -INFINITY, .max = INFINITY, .week = 1 };
    if (f->axis == LL_AXIS_CALENDAR) out->week = f->step < 24 * LL_NS_PER_HOUR ? 168 : 7;
    llap_status st = ll_target_bound("min", o->min, name, &out->min);
    if (st == LLAP_OK) st = ll_target_bound("max", o->max, name, &out->max);
    if (st == LLAP_OK) st = ll_target_kind(o->kind, name, &out->kind, &given);
    if (st == LLAP_OK) st = look(w, split, var, &k);
    if (st != LLAP_OK) return st;
    out->keep_glitches = o->glitches == LLAP_TRAIN_GLITCHES_KEEP;
    out->has_min = out->given_min = isfinite(out->min);
    out->has_max = isfinite(out->max);
    if (!given) out->kind = ll_kind_found(&k);
    if (out->kind != LL_KIND_SHARE || !given) warn_bounds(&k, out, name, log);
    /* A share is of [0, 1], unless the user says of what. */
    if (!given && out->kind == LL_KIND_SHARE && (out->has_min || out->has_max))
        out->kind = LL_KIND_ANY;
    out->free = given && out->kind == LL_KIND_ANY;
    set_bounds(out, given ? out->kind != LL_KIND_ANY && out->kind != LL_KIND_WHOLE
                          : ll_kind_floored(&k, out->kind));
    return given ? check_given(&k, out, name) : LLAP_OK;
}
