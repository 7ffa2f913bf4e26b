/* An evaluation as JSON: everything that was summed, for tables and pictures. Counts say how many
 * values a mean is over; what was not measured is null. */
#include "base/json.h"
#include "task/evaluation.h"

#include <math.h>
#include <stdio.h>

static double ratio(double sum, double n) { return n > 0 ? sum / n : NAN; }

static void put_scale(llap_json_writer *w, const tally_scale *t, double n)
{
    llap_json_put_double(w, "crps", ratio(t->crps, n));
    llap_json_put_double(w, "mse", ratio(t->se, n));
    llap_json_put_double(w, "mae", ratio(t->ae_mean, n));
    llap_json_put_double(w, "mae_median", ratio(t->ae_median, n));
    llap_json_put_double(w, "bias", ratio(t->error, n)); /* truth - mean */
    llap_json_put_double(w, "spread", sqrt(ratio(t->variance, n)));
    double sum = 0;
    llap_json_open(w, "pinball", '{');
    for (int k = 0; k < TALLY_PINBALLS; k++) {
        char key[8];
        snprintf(key, sizeof key, "0.%d", k + 1);
        llap_json_put_double(w, key, ratio(t->pinball[k], n));
        sum += t->pinball[k];
    }
    llap_json_close(w, '}');
    /* Twice the pinball loss over all levels and values, by the size of what was forecast. */
    llap_json_put_double(w, "weighted_quantile_loss", ratio(2 * sum / TALLY_PINBALLS, t->size));
    llap_json_open(w, "intervals", '[');
    for (int k = 0; k < TALLY_LEVELS; k++) {
        llap_json_open(w, NULL, '{');
        llap_json_put_double(w, "level", tally_level[k]);
        llap_json_put_double(w, "coverage", ratio(t->inside[k], t->n_interval[k]));
        llap_json_put_double(w, "width", ratio(t->width[k], t->n_interval[k]));
        llap_json_put_int(w, "n", (int64_t)t->n_interval[k]);
        llap_json_close(w, '}');
    }
    llap_json_close(w, ']');
}

static void put_range(llap_json_writer *w, const char *key, const bootstrap_range *r)
{
    llap_json_open(w, key, '{');
    llap_json_put_double(w, "value", r->value);
    llap_json_put_double(w, "se", r->se);
    llap_json_put_double(w, "low", r->low);
    llap_json_put_double(w, "high", r->high);
    llap_json_close(w, '}');
}

static double brief_crps(const tally_brief *t) { return ratio(t->crps, t->n); }
static double brief_mse(const tally_brief *t) { return ratio(t->se, t->n); }
static double brief_mae(const tally_brief *t) { return ratio(t->ae, t->n); }
static double brief_coverage(const tally_brief *t) { return ratio(t->inside80, t->n_interval); }
static double brief_width(const tally_brief *t) { return ratio(t->width80, t->n_interval); }
static double brief_n(const tally_brief *t) { return t->n; }

static void put_briefs(llap_json_writer *w, const char *key, const tally_brief *t, int64_t n)
{
    static const struct {
        const char *name;
        double (*of)(const tally_brief *);
    } column[] = {
        { "n", brief_n },     { "crps", brief_crps },           { "mse", brief_mse },
        { "mae", brief_mae }, { "coverage80", brief_coverage }, { "width80", brief_width }
    };
    llap_json_open(w, key, '{');
    for (size_t c = 0; c < sizeof column / sizeof *column; c++) {
        llap_json_open(w, column[c].name, '(');
        for (int64_t i = 0; i < n; i++) llap_json_put_double(w, NULL, column[c].of(&t[i]));
        llap_json_close(w, ']');
    }
    llap_json_close(w, '}');
}

static void put_forecaster(llap_json_writer *w, const evaluation *e, int i, int64_t target)
{
    const bool  pooled = target == e->s.n_targets;
    const tally t = evaluation_total(e, i, target);
    llap_json_open(w, NULL, '{');
    llap_json_put_string(w, "name", e->name[i]);
    put_scale(w, &t.z, t.n);
    llap_json_put_double(w, "energy", ratio(t.energy, t.n_energy));
    llap_json_put_int(w, "energy_windows", (int64_t)t.n_energy);
    llap_json_open(w, "pit", '('); /* shares of equal bins of [0, 1] */
    for (int k = 0; k < TALLY_BINS; k++) llap_json_put_double(w, NULL, ratio(t.pit[k], t.n));
    llap_json_close(w, ']');
    llap_json_open(w, "paper", '{');
    llap_json_put_double(w, "crps", ratio(t.paper_crps, t.n));
    llap_json_put_double(w, "mae", ratio(t.paper_ae, t.n));
    llap_json_put_double(w, "mse", ratio(t.paper_se, t.n));
    llap_json_close(w, '}');
    if (!pooled) {
        llap_json_open(w, "units", '{');
        put_scale(w, &t.y, t.n);
        llap_json_close(w, '}');
        put_briefs(w, "steps", scoring_at(&e->s, i, target)->lead, e->s.leads.n);
        if (scoring_at(&e->s, i, target)->entity != NULL)
            put_briefs(w, "entities", scoring_at(&e->s, i, target)->entity, e->s.n_entities);
    }
    if (i > 0) { /* the model against this one */
        const bootstrap_result *r = evaluation_against(e, i, target);
        llap_json_open(w, "model_against", '{');
        put_range(w, "crps", &r->crps);
        put_range(w, "mse", &r->mse);
        put_range(w, "skill", &r->skill);
        llap_json_close(w, '}');
    }
    llap_json_close(w, '}');
}

static void put_target(llap_json_writer *w, const evaluation *e, const char *key, int64_t target)
{
    const tally t = evaluation_total(e, 0, target);
    const int   best = evaluation_best(e, target);
    llap_json_open(w, key, '{');
    if (target < e->s.n_targets) llap_json_put_string(w, "name", e->m->frame.target[target]);
    llap_json_put_int(w, "values", (int64_t)t.n);
    llap_json_open(w, "scores", '[');
    for (int i = 0; i < e->n; i++) put_forecaster(w, e, i, target);
    llap_json_close(w, ']');
    if (best >= 0) llap_json_put_string(w, "best_opponent", e->name[best]);
    if (best >= 0 && e->s.n_units >= EVALUATION_UNITS &&
        !isnan(evaluation_against(e, best, target)->skill.low))
        llap_json_put_bool(w, "earns_its_keep", evaluation_against(e, best, target)->skill.low > 0);
    llap_json_close(w, '}');
}

llap_status evaluation_json(const evaluation *e, const evaluation_look *look, char **text)
{
    llap_json_writer w = { .indent = 2 };
    const scoring   *s = &e->s;
    size_t           n;
    llap_json_open(&w, NULL, '{');
    llap_json_put_string(&w, "task", e->impute ? "impute" : "forecast");
    llap_json_put_string(&w, "part", llap_part_name(e->part));
    llap_json_put_int(&w, "windows", s->n_windows);
    if (!e->impute) llap_json_put_int(&w, "samples", e->n_samples);
    llap_json_put_int(&w, "seed", e->seed);
    if (!e->impute) llap_json_put_double(&w, "stride_seconds", 1e-9 * (double)e->stride);
    llap_json_put_double(&w, "step_seconds", 1e-9 * (double)s->leads.width);
    llap_json_open(&w, "bootstrap", '{');
    llap_json_put_int(&w, "draws", e->boot.n_draws);
    llap_json_put_string(&w, "unit", e->unit);
    llap_json_put_int(&w, "units", s->n_units);
    llap_json_put_int(&w, "run", e->boot.run);
    llap_json_close(&w, '}');
    if (look->by == BY_ENTITY) {
        llap_json_open(&w, "entities", '[');
        for (int64_t i = 0; i < s->n_entities; i++)
            llap_json_put_string(&w, NULL, e->panel->entity[i]);
        llap_json_close(&w, ']');
    }
    llap_json_open(&w, "targets", '[');
    for (int64_t k = 0; k < s->n_targets; k++) put_target(&w, e, NULL, k);
    llap_json_close(&w, ']');
    if (s->n_targets > 1) put_target(&w, e, "all", s->n_targets);
    llap_json_close(&w, '}');
    return llap_json_finish(&w, text, &n);
}
