/* Scores as JSON: everything that was summed, for tables and pictures. Counts say how many
 * values a mean is over; what was not measured is null. */
#include "base/json/json.h"
#include "score/scores.h"

#include <math.h>
#include <stdio.h>

static void put_scale(ll_json_writer *w, const llap_score_row *s)
{
    ll_json_put_double(w, "crps", s->crps);
    ll_json_put_double(w, "mse", s->mse);
    ll_json_put_double(w, "mae", s->mae);
    ll_json_put_double(w, "mae_median", s->mae_median);
    ll_json_put_double(w, "bias", s->bias);
    ll_json_put_double(w, "spread", s->spread);
    ll_json_open(w, "pinball", '{');
    for (int k = 0; k < LLAP_SCORE_PINBALLS; k++) {
        char key[8];
        snprintf(key, sizeof key, "0.%d", k + 1);
        ll_json_put_double(w, key, s->pinball[k]);
    }
    ll_json_close(w, '}');
    ll_json_put_double(w, "weighted_quantile_loss", s->weighted_quantile_loss);
    ll_json_open(w, "intervals", '[');
    for (int k = 0; k < LLAP_SCORE_LEVELS; k++) {
        ll_json_open(w, NULL, '{');
        ll_json_put_double(w, "level", s->level[k]);
        ll_json_put_double(w, "coverage", s->coverage[k]);
        ll_json_put_double(w, "width", s->width[k]);
        ll_json_put_int(w, "n", s->n_interval[k]);
        ll_json_close(w, '}');
    }
    ll_json_close(w, ']');
}

static void put_range(ll_json_writer *w, const char *key, const llap_score_range *r)
{
    ll_json_open(w, key, '{');
    ll_json_put_double(w, "value", r->value);
    ll_json_put_double(w, "se", r->se);
    ll_json_put_double(w, "low", r->low);
    ll_json_put_double(w, "high", r->high);
    ll_json_close(w, '}');
}

static void put_numbers(ll_json_writer *w, const char *key, const double *x, int64_t n)
{
    ll_json_open(w, key, '(');
    for (int64_t i = 0; i < n; i++) ll_json_put_double(w, NULL, x[i]);
    ll_json_close(w, ']');
}

static void put_columns(ll_json_writer *w, const char *key, const llap_score_columns *c)
{
    ll_json_open(w, key, '{');
    ll_json_open(w, "n", '(');
    for (int64_t i = 0; i < c->n_rows; i++) ll_json_put_double(w, NULL, (double)c->n[i]);
    ll_json_close(w, ']');
    put_numbers(w, "crps", c->crps, c->n_rows);
    put_numbers(w, "mse", c->mse, c->n_rows);
    put_numbers(w, "mae", c->mae, c->n_rows);
    put_numbers(w, "coverage80", c->coverage80, c->n_rows);
    put_numbers(w, "width80", c->width80, c->n_rows);
    ll_json_close(w, '}');
}

static void put_difference(ll_json_writer *w, const llap_score_difference *d)
{
    if (d == NULL) return;
    ll_json_open(w, "model_against", '{');
    put_range(w, "crps", &d->crps);
    put_range(w, "mse", &d->mse);
    put_range(w, "skill", &d->skill);
    if (d->n_left_out > 0) ll_json_put_int(w, "units_left_out", d->n_left_out);
    ll_json_close(w, '}');
}

static void put_forecaster(ll_json_writer *w, const llap_scores *s, int64_t i, int64_t variable)
{
    const llap_score_row     *x = llap_scores_at(s, i, variable);
    const llap_score_columns *entities = llap_scores_by_entity(s, i, variable);
    ll_json_open(w, NULL, '{');
    ll_json_put_string(w, "name", s->info.forecasters[i]);
    if (x->n_unanswered > 0) ll_json_put_int(w, "values_not_answered", x->n_unanswered);
    put_scale(w, x);
    ll_json_put_double(w, "energy", x->energy);
    ll_json_put_int(w, "energy_windows", x->n_energy);
    put_numbers(w, "pit", x->pit, LLAP_SCORE_BINS);
    ll_json_open(w, "paper", '{');
    ll_json_put_double(w, "crps", x->paper_crps);
    ll_json_put_double(w, "mae", x->paper_mae);
    ll_json_put_double(w, "mse", x->paper_mse);
    ll_json_close(w, '}');
    if (variable != LLAP_ALL) {
        ll_json_open(w, "units", '{');
        put_scale(w, llap_scores_in_units(s, i, variable));
        put_difference(w, llap_scores_against_in_units(s, i, variable));
        ll_json_close(w, '}');
        put_columns(w, "steps", llap_scores_by_step(s, i, variable));
        if (entities != NULL) put_columns(w, "entities", entities);
    }
    put_difference(w, llap_scores_against(s, i, variable));
    ll_json_close(w, '}');
}

static void put_test(ll_json_writer *w, const char *key, const llap_score_test *t)
{
    ll_json_open(w, key, '{');
    ll_json_put_int(w, "n", t->n);
    ll_json_put_int(w, "bins", t->n_bins);
    ll_json_put_double(w, "chi_square", t->chi_square);
    ll_json_put_double(w, "p", t->p);
    ll_json_close(w, '}');
}

static void put_joint(ll_json_writer *w, const llap_score_joint *j, bool pooled)
{
    if (j == NULL) return;
    ll_json_open(w, "joint", '{');
    if (!pooled) {
        put_test(w, "pit_test", &j->margins);
        put_test(w, "pit_sums_test", &j->sums);
        ll_json_put_int(w, "sums", j->n_sums);
        put_numbers(w, "pit_sums", j->pit_sums, LLAP_SCORE_BINS);
    }
    ll_json_put_double(w, "energy", j->energy);
    ll_json_put_double(w, "energy_independent", j->energy_independent);
    ll_json_put_int(w, "energy_times", j->n_energy);
    ll_json_close(w, '}');
}

static void put_variable(ll_json_writer *w, const llap_scores *s, const char *key, int64_t variable)
{
    const int64_t best = llap_scores_best_opponent(s, variable);
    const int64_t in_units = llap_scores_best_opponent_in_units(s, variable);
    const int     earns = llap_scores_earns_its_keep(s, variable);
    ll_json_open(w, key, '{');
    if (variable != LLAP_ALL) ll_json_put_string(w, "name", s->info.variables[variable]);
    ll_json_put_int(w, "values", llap_scores_at(s, 0, variable)->n);
    ll_json_open(w, "scores", '[');
    for (int64_t i = 0; i < s->info.n_forecasters; i++) put_forecaster(w, s, i, variable);
    ll_json_close(w, ']');
    put_joint(w, llap_scores_joint(s, variable), variable == LLAP_ALL);
    if (best >= 0) ll_json_put_string(w, "best_opponent", s->info.forecasters[best]);
    if (in_units >= 0)
        ll_json_put_string(w, "best_opponent_in_units", s->info.forecasters[in_units]);
    if (earns >= 0) ll_json_put_bool(w, "earns_its_keep", earns);
    ll_json_close(w, '}');
}

llap_status llap_scores_json(const llap_scores *s, char **text)
{
    ll_json_writer          w = { .indent = 2 };
    const llap_scores_info *f = &s->info;
    size_t                  n;
    ll_json_open(&w, NULL, '{');
    ll_json_put_string(&w, "task", f->task);
    if (f->gaps != NULL) ll_json_put_string(&w, "gaps", f->gaps);
    ll_json_put_string(&w, "part", f->part);
    ll_json_put_int(&w, "windows", f->n_windows);
    if (f->n_uncovered > 0) ll_json_put_int(&w, "windows_not_covered", f->n_uncovered);
    if (f->total != NULL) {
        ll_json_put_string(&w, "total", f->total);
        ll_json_put_int(&w, "sums", f->n_sums);
        ll_json_put_int(&w, "sums_left_out", f->n_sums_left_out);
        ll_json_put_int(&w, "origins_left_out", f->n_origins_left_out);
    }
    if (!s->impute) ll_json_put_int(&w, "samples", f->n_samples);
    ll_json_put_int(&w, "seed", f->seed);
    if (!s->impute) ll_json_put_double(&w, "stride_seconds", 1e-9 * (double)f->stride);
    ll_json_put_double(&w, "step_seconds", 1e-9 * (double)f->step);
    ll_json_open(&w, "bootstrap", '{');
    ll_json_put_int(&w, "draws", f->n_draws);
    ll_json_put_string(&w, "unit", f->unit);
    ll_json_put_int(&w, "units", f->n_units);
    ll_json_put_int(&w, "run", f->run);
    ll_json_close(&w, '}');
    if (f->n_entities > 0) {
        ll_json_open(&w, "entities", '[');
        for (int64_t i = 0; i < f->n_entities; i++) ll_json_put_string(&w, NULL, f->entities[i]);
        ll_json_close(&w, ']');
    }
    ll_json_open(&w, "targets", '[');
    for (int64_t k = 0; k < f->n_variables; k++) put_variable(&w, s, NULL, k);
    ll_json_close(&w, ']');
    if (f->n_variables > 1) put_variable(&w, s, "all", LLAP_ALL);
    ll_json_close(&w, '}');
    return ll_json_finish(&w, text, &n);
}
