/* An evaluation for people. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "score/evaluation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double ratio(double sum, double n) { return n > 0 ? sum / n : NAN; }

/* A number, or a dash where there is none. */
static void put(FILE *f, int width, int digits, double x)
{
    if (isnan(x)) fprintf(f, "%*s", width, "-");
    else fprintf(f, "%*.*f", width, digits, x);
}

static void put_row(FILE *f, const evaluation *e, const evaluation_look *look, int i,
                    int64_t target)
{
    const bool         units = look->units && target < e->s.n_targets;
    const tally        t = evaluation_total(e, i, target);
    const tally_scale *x = units ? &t.y : &t.z;
    const int          digits = units ? 3 : 4;
    fprintf(f, "  %-13s", e->name[i]);
    put(f, 9, digits, ratio(x->crps, t.n));
    put(f, 9, digits, ratio(x->se, t.n));
    put(f, 9, digits, ratio(x->ae_median, t.n));
    fprintf(f, "  ");
    for (int k = 0; k < TALLY_LEVELS; k++)
        put(f, 6, 1, 100 * ratio(x->inside[k], x->n_interval[k]));
    if (look->paper) {
        put(f, 10, 4, ratio(t.paper_crps, t.n));
        put(f, 9, 4, ratio(t.paper_se, t.n));
    }
    if (i > 0) {
        const bootstrap_range *r = &evaluation_against(e, i, target)->skill;
        fprintf(f, "  ");
        put(f, 6, 1, 100 * r->value);
        if (!isnan(r->low)) fprintf(f, " [%.1f, %.1f]", 100 * r->low, 100 * r->high);
    }
    fprintf(f, "\n");
}

/* Does the model do better than the best that costs nothing? And how about its own parts? */
static void put_verdict(FILE *f, const evaluation *e, int against, int64_t target)
{
    const bootstrap_range *r = &evaluation_against(e, against, target)->skill;
    const bootstrap_range *mse = &evaluation_against(e, against, target)->mse;
    const bool             own = against < e->n_own;
    const bool             few = e->s.n_units < EVALUATION_UNITS;
    const char            *verdict = isnan(r->low) || own || few ? "the model is"
                                     : r->low > 0                ? "the model earns its keep:"
                                     : r->high < 0 ? "the model does not earn its keep:"
                                                   : "the model may not earn its keep:";
    const bool             worse = r->value < 0; /* then the interval is turned round, too */
    if (isnan(r->value)) {
        fprintf(f, "  %s is never wrong: there is no share of its CRPS\n", e->name[against]);
        return;
    }
    fprintf(f, "  %s %s than %s%s%s by %.1f %%", verdict, worse ? "worse" : "better",
            own ? "" : "the best opponent, ", e->name[against], own ? "" : ",",
            100 * fabs(r->value));
    if (!isnan(r->low))
        fprintf(f, " [%.1f, %.1f]", worse ? -100 * r->high : 100 * r->low,
                worse ? -100 * r->low : 100 * r->high);
    fprintf(f, " of CRPS, squared error %+.4f", mse->value);
    if (!isnan(mse->low)) fprintf(f, " [%+.4f, %+.4f]", mse->low, mse->high);
    fprintf(f, "%s\n", few && !own ? ", too little data to be sure" : "");
}

/* Where validation left the answer to the anchor there is nothing to compare it with itself for. */
static bool is_its_anchor(const evaluation *e)
{
    return !e->impute && e->n_with == 0 && e->m->network != NULL &&
           e->m->network->config.features.answer_source == LL_ANSWER_BY_ANCHOR;
}

static void put_target(FILE *f, const evaluation *e, const evaluation_look *look, int64_t target)
{
    const bool  pooled = target == e->s.n_targets;
    const tally t = evaluation_total(e, 0, target);
    fprintf(f, "%s: %.0f %s values of %lld %s, %s\n",
            pooled ? "all" : ll_text_show(e->m->frame.target[target]).text, t.n,
            e->impute ? "hidden" : ll_part_name(e->part), (long long)e->s.n_windows,
            e->impute ? "days" : "windows",
            look->units && !pooled ? "in the units of the data"
                                   : "in standard deviations of training");
    fprintf(f, "  %-13s%9s%9s%9s  %18s%s  model better by %%\n", "", "CRPS", "MSE", "MAE",
            "in 50, 80, 95 %", look->paper ? "  paper CRPS      MSE" : "");
    for (int i = 0; i < e->n; i++) put_row(f, e, look, i, target);
    const int best = evaluation_best(e, target);
    if (best >= 0) put_verdict(f, e, best, target);
    for (int i = 1; i < e->n_own && !is_its_anchor(e); i++) put_verdict(f, e, i, target);
}

/* CRPS of every forecaster, one line each for what `name` calls the lines. */
static void put_grid_head(FILE *f, const evaluation *e, const char *what)
{
    fprintf(f, "%-16s%9s", what, "values");
    for (int i = 0; i < e->n; i++) fprintf(f, " %12s", e->name[i]);
    fprintf(f, "  CRPS; model within 80 %%\n");
}

static void put_grid_row(FILE *f, const evaluation *e, const char *name, int64_t target,
                         int64_t lead, int64_t entity)
{
    const tally_brief *first = NULL;
    fprintf(f, "%-16s", name);
    for (int i = 0; i < e->n; i++) {
        const scoring_cell *c = scoring_at(&e->s, i, target);
        const tally_brief  *t = lead >= 0 ? &c->lead[lead] : &c->entity[entity];
        if (first == NULL) {
            first = t;
            fprintf(f, "%9.0f", t->n);
        }
        put(f, 13, 4, ratio(t->crps, t->n));
    }
    put(f, 8, 1, 100 * ratio(first->inside80, first->n_interval));
    fprintf(f, "\n");
}

static void put_grid(FILE *f, const evaluation *e, evaluation_by by, int64_t target)
{
    fprintf(f, "%s\n", ll_text_show(e->m->frame.target[target]).text);
    put_grid_head(f, e, by == BY_STEP ? "steps ahead" : "entity");
    const int64_t n = by == BY_STEP ? e->s.leads.n : e->s.n_entities;
    for (int64_t l = 0; l < n; l++) {
        char                number[32];
        const scoring_cell *c = scoring_at(&e->s, 0, target);
        if ((by == BY_STEP ? c->lead[l].n : c->entity[l].n) <= 0) continue;
        snprintf(number, sizeof number, "%g",
                 (double)(l + 1) * (double)e->s.leads.width / (double)e->m->frame.step);
        put_grid_row(f, e, by == BY_STEP ? number : ll_text_show(e->panel->entity[l]).text, target,
                     by == BY_STEP ? l : -1, l);
    }
}

static void put_variables(FILE *f, const evaluation *e)
{
    put_grid_head(f, e, "variable");
    for (int64_t k = 0; k <= e->s.n_targets; k++) {
        if (k == e->s.n_targets && k == 1) break;
        const tally model = evaluation_total(e, 0, k);
        fprintf(f, "%-16s%9.0f",
                k < e->s.n_targets ? ll_text_show(e->m->frame.target[k]).text : "all", model.n);
        for (int i = 0; i < e->n; i++) {
            const tally t = evaluation_total(e, i, k);
            put(f, 13, 4, ratio(t.z.crps, t.n));
        }
        put(f, 8, 1, 100 * ratio(model.z.inside[1], model.z.n_interval[1]));
        fprintf(f, "\n");
    }
}

llap_status evaluation_table(const evaluation *e, const evaluation_look *look, char **text)
{
    char  *buffer = NULL;
    size_t n = 0;
    FILE  *f = open_memstream(&buffer, &n);
    if (f == NULL) return ll_fail(LLAP_ENOMEM, "out of memory");
    const int64_t n_targets = e->s.n_targets;
    if (look->by == BY_VARIABLE) put_variables(f, e);
    else
        for (int64_t k = 0; k < (n_targets > 1 ? n_targets + 1 : 1); k++) put_target(f, e, look, k);
    for (int64_t k = 0; k < n_targets && (look->by == BY_STEP || look->by == BY_ENTITY); k++)
        put_grid(f, e, look->by, k);
    const bool one = e->s.n_units == 1, entity = strcmp(e->unit, "entity") == 0;
    fprintf(f, "intervals of differences: %lld draws of %lld %s%s in runs of %lld\n",
            (long long)e->boot.n_draws, (long long)e->s.n_units,
            entity && !one ? "entities" : e->unit, entity || one ? "" : "s",
            (long long)e->boot.run);
    if (!e->impute && e->n_samples < EVALUATION_SAMPLES)
        fprintf(f, "50, 80, 95 %% are of %lld samples; they settle from %d on\n",
                (long long)e->n_samples, EVALUATION_SAMPLES);
    const bool ok = fclose(f) == 0;
    *text = ok ? ll_strndup(buffer, n) : NULL;
    free(buffer);
    return *text == NULL ? LLAP_ENOMEM : LLAP_OK;
}
