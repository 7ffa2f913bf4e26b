/* An evaluation as JSON: everything that was summed, for tables and pictures. Counts say how many
 * values a mean is over; what was not measured is null. */
#include "base/json.h"
#include "score/evaluation.h"

#include <math.h>
#include <stdio.h>

static double ratio(double sum, double n) { return n > 0 ? sum / n : NAN; }

static void put_scale(ll_json_writer *w, const tally_scale *t, double n)
{
    ll_json_put_double(w, "crps", ratio(t->crps, n));
    ll_json_put_double(w, "mse", ratio(t->se, n));
    ll_json_put_double(w, "mae", ratio(t->ae_mean, n));
    ll_json_put_double(w, "mae_median", ratio(t->ae_median, n));
    ll_json_put_double(w, "bias", ratio(t->error, n)); /* truth - mean */
    ll_json_put_double(w, "spread", sqrt(ratio(t->variance, n)));
    double sum = 0;
    ll_json_open(w, "pinball", '{');
    for (int k = 0; k < TALLY_PINBALLS; k++) {
        char key[8];
        snprintf(key, sizeof key, "0.%d", k + 1);
        ll_json_put_double(w, key, ratio(t->pinball[k], n));
        sum += t->pinball[k];
    }
    ll_json_close(w, '}');
    /* Twice the pinball loss over all levels and values, by the size of what was forecast. */
    ll_json_put_double(w, "weighted_quantile_loss", ratio(2 * sum / TALLY_PINBALLS, t->size));
    ll_json_open(w, "intervals", '[');
    for (int k = 0; k < TALLY_LEVELS; k++) {
        ll_json_open(w, NULL, '{');
        ll_json_put_double(w, "level", tally_level[k]);
        ll_json_put_double(w, "coverage", ratio(t->inside[k], t->n_interval[k]));
        ll_json_put_double(w, "width", ratio(t->width[k], t->n_interval[k]));
        ll_json_put_int(w, "n", (int64_t)t->n_interval[k]);
        ll_json_close(w, '}');
    }
    ll_json_close(w, ']');
}

static void put_range(ll_json_writer *w, const char *key, const bootstrap_range *r)
{
    ll_json_open(w, key, '{');
    ll_json_put_double(w, "value", r->value);
    ll_json_put_double(w, "se", r->se);
    ll_json_put_double(w, "low", r->low);
    ll_json_put_double(w, "high", r->high);
    ll_json_close(w, '}');
}

static double brief_crps(const tally_brief *t) { return ratio(t->crps, t->n); }
static double brief_mse(const tally_brief *t) { return ratio(t->se, t->n); }
static double brief_mae(const tally_brief *t) { return ratio(t->ae, t->n); }
static double brief_coverage(const tally_brief *t) { return ratio(t->inside80, t->n_interval); }
static double brief_width(const tally_brief *t) { return ratio(t->width80, t->n_interval); }
static double brief_n(const tally_brief *t) { return t->n; }

static void put_briefs(ll_json_writer *w, const char *key, const tally_brief *t, int64_t n)
{
    static const struct {
        const char *name;
        double (*of)(const tally_brief *);
    } column[] = {
        { "n", brief_n },     { "crps", brief_crps },           { "mse", brief_mse },
        { "mae", brief_mae }, { "coverage80", brief_coverage }, { "width80", brief_width }
    };
    ll_json_open(w, key, '{');
    for (size_t c = 0; c < sizeof column / sizeof *column; c++) {
        ll_json_open(w, column[c].name, '(');
        for (int64_t i = 0; i < n; i++) ll_json_put_double(w, NULL, column[c].of(&t[i]));
        ll_json_close(w, ']');
    }
    ll_json_close(w, '}');
}

static void put_forecaster(ll_json_writer *w, const evaluation *e, int i, int64_t target)
{
    const bool  pooled = target == e->s.n_targets;
    const tally t = evaluation_total(e, i, target);
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "name", e->name[i]);
    put_scale(w, &t.z, t.n);
    ll_json_put_double(w, "energy", ratio(t.energy, t.n_energy));
    ll_json_put_int(w, "energy_windows", (int64_t)t.n_energy);
    ll_json_open(w, "pit", '('); /* shares of equal bins of [0, 1] */
    for (int k = 0; k < TALLY_BINS; k++) ll_json_put_double(w, NULL, ratio(t.pit[k], t.n));
    ll_json_close(w, ']');
    ll_json_open(w, "paper", '{');
    ll_json_put_double(w, "crps", ratio(t.paper_crps, t.n));
    ll_json_put_double(w, "mae", ratio(t.paper_ae, t.n));
    ll_json_put_double(w, "mse", ratio(t.paper_se, t.n));
    ll_json_close(w, '}');
    if (!pooled) {
        ll_json_open(w, "units", '{');
        put_scale(w, &t.y, t.n);
        ll_json_close(w, '}');
        put_briefs(w, "steps", scoring_at(&e->s, i, target)->lead, e->s.leads.n);
        if (scoring_at(&e->s, i, target)->entity != NULL)
            put_briefs(w, "entities", scoring_at(&e->s, i, target)->entity, e->s.n_entities);
    }
    if (i > 0) { /* the model against this one */
        const bootstrap_result *r = evaluation_against(e, i, target);
        ll_json_open(w, "model_against", '{');
        put_range(w, "crps", &r->crps);
        put_range(w, "mse", &r->mse);
        put_range(w, "skill", &r->skill);
        ll_json_close(w, '}');
    }
    ll_json_close(w, '}');
}

static void put_target(ll_json_writer *w, const evaluation *e, const char *key, int64_t target)
{
    const tally t = evaluation_total(e, 0, target);
    const int   best = evaluation_best(e, target);
    ll_json_open(w, key, '{');
    if (target < e->s.n_targets) ll_json_put_string(w, "name", e->m->frame.target[target]);
    ll_json_put_int(w, "values", (int64_t)t.n);
    ll_json_open(w, "scores", '[');
    for (int i = 0; i < e->n; i++) put_forecaster(w, e, i, target);
    ll_json_close(w, ']');
    if (best >= 0) ll_json_put_string(w, "best_opponent", e->name[best]);
    if (best >= 0 && e->s.n_units >= EVALUATION_UNITS &&
        !isnan(evaluation_against(e, best, target)->skill.low))
        ll_json_put_bool(w, "earns_its_keep", evaluation_against(e, best, target)->skill.low > 0);
    ll_json_close(w, '}');
}

llap_status evaluation_json(const evaluation *e, const evaluation_look *look, char **text)
{
    ll_json_writer w = { .indent = 2 };
    const scoring *s = &e->s;
    size_t         n;
    ll_json_open(&w, NULL, '{');
    ll_json_put_string(&w, "task", e->impute ? "impute" : "forecast");
    ll_json_put_string(&w, "part", ll_part_name(e->part));
    ll_json_put_int(&w, "windows", s->n_windows);
    if (!e->impute) ll_json_put_int(&w, "samples", e->n_samples);
    ll_json_put_int(&w, "seed", e->seed);
    if (!e->impute) ll_json_put_double(&w, "stride_seconds", 1e-9 * (double)e->stride);
    ll_json_put_double(&w, "step_seconds", 1e-9 * (double)s->leads.width);
    ll_json_open(&w, "bootstrap", '{');
    ll_json_put_int(&w, "draws", e->boot.n_draws);
    ll_json_put_string(&w, "unit", e->unit);
    ll_json_put_int(&w, "units", s->n_units);
    ll_json_put_int(&w, "run", e->boot.run);
    ll_json_close(&w, '}');
    if (look->by == BY_ENTITY) {
        ll_json_open(&w, "entities", '[');
        for (int64_t i = 0; i < s->n_entities; i++)
            ll_json_put_string(&w, NULL, e->panel->entity[i]);
        ll_json_close(&w, ']');
    }
    ll_json_open(&w, "targets", '[');
    for (int64_t k = 0; k < s->n_targets; k++) put_target(&w, e, NULL, k);
    ll_json_close(&w, ']');
    if (s->n_targets > 1) put_target(&w, e, "all", s->n_targets);
    ll_json_close(&w, '}');
    return ll_json_finish(&w, text, &n);
}
