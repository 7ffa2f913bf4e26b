/* Scores for people. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "score/scores.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number, or a dash where there is none. */
static void put(FILE *f, int width, int digits, double x)
{
    if (isnan(x)) fprintf(f, "%*s", width, "-");
    else fprintf(f, "%*.*f", width, digits, x);
}

/* ---- columns that never run together, however large the numbers are ---- */

typedef struct column {
    int  width, digits;
    bool powers; /* 1.2346e+12: nobody counts that many digits */
} column;

typedef struct number_text {
    char text[40];
} number_text;

static number_text show(const column *c, double x)
{
    number_text t;
    if (isnan(x)) snprintf(t.text, sizeof t.text, "-");
    else snprintf(t.text, sizeof t.text, c->powers ? "%.*e" : "%.*f", c->digits, x);
    return t;
}

/* What a column shows of a row. */
typedef double column_value(const llap_score_row *r);
static double  crps_of(const llap_score_row *r) { return r->crps; }
static double  mse_of(const llap_score_row *r) { return r->mse; }
static double  mae_of(const llap_score_row *r) { return r->mae_median; }

enum { COLUMNS = 3 };
static column_value *const value_of[COLUMNS] = { crps_of, mse_of, mae_of };

typedef struct layout {
    bool   units;
    int    name; /* bytes */
    column of[COLUMNS];
} layout;

static const llap_score_row *row_of(const llap_scores *s, bool units, int64_t i, int64_t variable)
{
    return units ? llap_scores_in_units(s, i, variable) : llap_scores_at(s, i, variable);
}

static column column_of(const llap_scores *s, bool units, column_value *value, int64_t variable)
{
    enum { NARROW = 9, APART = 2 };
    double most = 0;
    for (int64_t i = 0; i < s->info.n_forecasters; i++)
        most = fmax(most, fabs(value(row_of(s, units, i, variable)))); /* NaN is left out */
    column c = { .width = NARROW, .digits = 4 };
    c.powers = most >= 1e9 || (units && most > 0 && most < 1e-3);
    if (units && !c.powers) c.digits = most < 1e3 ? 3 : most < 1e4 ? 2 : most < 1e5 ? 1 : 0;
    for (int64_t i = 0; i < s->info.n_forecasters; i++) {
        const int n = (int)strlen(show(&c, value(row_of(s, units, i, variable))).text) + APART;
        if (n > c.width) c.width = n;
    }
    return c;
}

static layout layout_of(const llap_scores *s, int64_t variable)
{
    layout l = { .units = s->look.units && variable != LLAP_ALL, .name = 13 };
    for (int64_t i = 0; i < s->info.n_forecasters; i++) {
        const int n = (int)strlen(s->info.forecasters[i]) + 1;
        if (n > l.name) l.name = n;
    }
    for (int k = 0; k < COLUMNS; k++) l.of[k] = column_of(s, l.units, value_of[k], variable);
    return l;
}

/* By how much the model is better, on the scale of the table. */
static const llap_score_difference *better(const llap_scores *s, bool units, int64_t i,
                                           int64_t variable)
{
    return units ? llap_scores_against_in_units(s, i, variable)
                 : llap_scores_against(s, i, variable);
}

/* An interval of too few units looks sure and is not. */
static bool is_few(const llap_scores *s) { return s->info.n_units < EVALUATION_UNITS; }

static void put_row(FILE *f, const llap_scores *s, const layout *l, int64_t i, int64_t variable)
{
    const llap_score_row *x = row_of(s, l->units, i, variable);
    fprintf(f, "  %-*s", l->name, s->info.forecasters[i]);
    for (int k = 0; k < COLUMNS; k++)
        fprintf(f, "%*s", l->of[k].width, show(&l->of[k], value_of[k](x)).text);
    fprintf(f, "  ");
    for (int k = 0; k < LLAP_SCORE_LEVELS; k++) put(f, 6, 1, 100 * x->coverage[k]);
    if (s->look.paper) {
        const llap_score_row *z = llap_scores_at(s, i, variable);
        put(f, 10, 4, z->paper_crps);
        put(f, 9, 4, z->paper_mse);
    }
    if (i > 0) {
        const llap_score_range *r = &better(s, l->units, i, variable)->skill;
        fprintf(f, "  ");
        put(f, 6, 1, 100 * r->value);
        if (!isnan(r->low) && !is_few(s)) fprintf(f, " [%.1f, %.1f]", 100 * r->low, 100 * r->high);
    }
    fprintf(f, "\n");
}

static void put_squared(FILE *f, const llap_score_range *mse, bool units, bool sure)
{
    fprintf(f, units ? " of CRPS, squared error %+.4g" : " of CRPS, squared error %+.4f",
            mse->value);
    if (isnan(mse->low) || !sure) return;
    fprintf(f, units ? " [%+.4g, %+.4g]" : " [%+.4f, %+.4f]", mse->low, mse->high);
}

/* Does the model do better than the best that costs nothing? And how about its own parts? */
static void put_verdict(FILE *f, const llap_scores *s, bool units, int64_t against,
                        int64_t variable)
{
    assert(against > 0 && against < s->info.n_forecasters); /* the model is not against itself */
    const llap_score_difference *d = better(s, units, against, variable);
    const llap_score_range      *r = &d->skill;
    const char                  *name = s->info.forecasters[against];
    const bool                   own = against < s->info.n_own;
    const bool                   few = is_few(s), sure = !isnan(r->low) && !few;
    const char                  *verdict = !sure || own  ? "the model is"
                                           : r->low > 0  ? "the model is worth its cost:"
                                           : r->high < 0 ? "the model is not worth its cost:"
                                                         : "the model may not be worth its cost:";
    const bool                   worse = r->value < 0; /* then the interval is turned round, too */
    if (isnan(r->value)) {
        fprintf(f, "  %s has a CRPS of 0: the model cannot be compared by a share of it\n", name);
        return;
    }
    fprintf(f, "  %s %s than %s%s%s by %.1f %%", verdict, worse ? "worse" : "better",
            own ? "" : "the best opponent, ", name, own ? "" : ",", 100 * fabs(r->value));
    if (sure)
        fprintf(f, " [%.1f, %.1f]", worse ? -100 * r->high : 100 * r->low,
                worse ? -100 * r->low : 100 * r->high);
    put_squared(f, &d->mse, units, sure);
    fprintf(f, "%s\n", few && !own ? ", too little data to be sure" : "");
}

static void put_test(FILE *f, const char *what, const llap_score_test *t)
{
    if (t->n_bins > 0)
        fprintf(f, "%s p %.2g of %lld%s", what, t->p, (long long)t->n,
                t->p < 0.01 ? ", not flat" : "");
}

/* Whether the model's law is right as a whole: places of truths, and paths. */
static void put_joint(FILE *f, const llap_scores *s, int64_t variable)
{
    const llap_score_joint *j = llap_scores_joint(s, variable);
    const bool              sums = s->info.total != NULL && strcmp(s->info.total, "entities") != 0;
    const double            energy = sums ? (double)NAN : llap_scores_at(s, 0, variable)->energy;
    if (j == NULL) return;
    if (!isnan(energy) || j->n_energy > 0) {
        fprintf(f, "  energy score of paths");
        if (!isnan(energy)) fprintf(f, " %.4f over the horizon", energy);
        if (j->n_energy > 0)
            fprintf(f, "%s %.4f over entities at a time (%.4f if drawn independently)",
                    isnan(energy) ? "" : ",", j->energy, j->energy_independent);
        fprintf(f, "\n");
    }
    if (variable == LLAP_ALL || j->margins.n_bins == 0) return;
    put_test(f, "  PIT, chi-square of one value a horizon:", &j->margins);
    put_test(f, "; of sums over entities:", &j->sums);
    fprintf(f, "\n");
}

static void put_count(FILE *f, int64_t n, const char *of, const char *one)
{
    fprintf(f, "%lld %s%s%s", (long long)n, of, one, n == 1 ? "" : "s");
}

/* "3 days" */
static void put_units(FILE *f, const llap_scores_info *a, int64_t n)
{
    if (n != 1 && strcmp(a->unit, "entity") == 0) fprintf(f, "%lld entities", (long long)n);
    else put_count(f, n, "", a->unit);
}

/* Who did not answer everything, and what the comparison with the model lacks for it. */
static void put_unanswered(FILE *f, const llap_scores *s, int64_t variable)
{
    for (int64_t i = 0; i < s->info.n_forecasters; i++) {
        const llap_score_row        *x = llap_scores_at(s, i, variable);
        const llap_score_difference *d = llap_scores_against(s, i, variable);
        if (x->n_unanswered == 0) continue;
        fprintf(f, "  %s has no answer to %lld of ", s->info.forecasters[i],
                (long long)x->n_unanswered);
        put_count(f, x->n + x->n_unanswered, "", "value");
        fprintf(f, ": not scored");
        if (d != NULL) {
            fprintf(f, ", and not compared on ");
            put_units(f, &s->info, d->n_left_out);
        }
        fprintf(f, "\n");
    }
}

static void put_variable(FILE *f, const llap_scores *s, int64_t variable)
{
    const bool    pooled = variable == LLAP_ALL;
    const layout  l = layout_of(s, variable);
    const int64_t best = l.units ? llap_scores_best_opponent_in_units(s, variable)
                                 : llap_scores_best_opponent(s, variable);
    char          of[32];
    snprintf(of, sizeof of, "%s ", s->impute ? "hidden" : s->info.part);
    fprintf(f, "%s: ", pooled ? "all" : ll_text_show(s->info.variables[variable]).text);
    put_count(f, llap_scores_at(s, 0, variable)->n, of, s->info.total == NULL ? "value" : "sum");
    fprintf(f, " of ");
    put_count(f, s->info.n_windows, "", s->impute ? "day" : "window");
    if (s->impute)
        fprintf(f, ", %s", strcmp(s->info.gaps, "dead") == 0 ? "dead sensors" : s->info.gaps);
    fprintf(f, ", %s\n",
            l.units                 ? "in the units of the data"
            : s->info.total != NULL ? "means in standard deviations of training"
                                    : "in standard deviations of training");
    fprintf(f, "  %-*s%*s%*s%*s  %18s%s  model better by %%\n", l.name, "", l.of[0].width, "CRPS",
            l.of[1].width, "MSE", l.of[2].width, "MAE", "in 50, 80, 95 %",
            s->look.paper ? "  paper CRPS      MSE" : "");
    for (int64_t i = 0; i < s->info.n_forecasters; i++) put_row(f, s, &l, i, variable);
    put_unanswered(f, s, variable);
    put_joint(f, s, variable);
    if (best >= 0) put_verdict(f, s, l.units, best, variable);
    /* Where the anchor answers there is nothing to compare it with itself for. */
    for (int64_t i = 1; i < s->info.n_own && !s->is_anchor; i++)
        put_verdict(f, s, l.units, i, variable);
}

/* ---- CRPS of every forecaster, in as many columns ---- */

static int name_length(const char *name) { return (int)strlen(ll_text_show(name).text); }

/* Room for a forecaster's name, and a number below it. */
static int grid_column(const char *name)
{
    enum { NARROW = 13 };
    const int n = (int)strlen(name) + 1;
    return n > NARROW ? n : NARROW;
}

/* Returns the room for what `what` calls the lines, the longest of which has so many bytes. */
static int put_grid_head(FILE *f, const llap_scores *s, const char *what, int longest)
{
    enum { NARROW = 16 };
    const int first = longest + 1 > NARROW ? longest + 1 : NARROW;
    fprintf(f, "%-*s%9s", first, what, "values");
    for (int64_t i = 0; i < s->info.n_forecasters; i++)
        fprintf(f, "%*s", grid_column(s->info.forecasters[i]), s->info.forecasters[i]);
    fprintf(f, "  CRPS, in standard deviations of training; model within 80 %%\n");
    return first;
}

static void put_grid(FILE *f, const llap_scores *s, int64_t variable)
{
    const bool steps = s->look.by == BY_STEP;
    const llap_score_columns *(*const table)(const llap_scores *, int64_t, int64_t) =
        steps ? llap_scores_by_step : llap_scores_by_entity;
    const llap_score_columns *model = table(s, 0, variable);
    int                       longest = 0;
    assert(model != NULL);
    for (int64_t l = 0; l < model->n_rows && !steps; l++)
        if (name_length(s->info.entities[l]) > longest) longest = name_length(s->info.entities[l]);
    fprintf(f, "%s\n", ll_text_show(s->info.variables[variable]).text);
    const int first = put_grid_head(f, s, steps ? "steps ahead" : "entity", longest);
    for (int64_t l = 0; l < model->n_rows; l++) {
        char number[32];
        if (model->n[l] <= 0) continue;
        snprintf(number, sizeof number, "%g",
                 (double)(l + 1) * (double)s->info.step / (double)s->model_step);
        fprintf(f, "%-*s%9lld", first, steps ? number : ll_text_show(s->info.entities[l]).text,
                (long long)model->n[l]);
        for (int64_t i = 0; i < s->info.n_forecasters; i++)
            put(f, grid_column(s->info.forecasters[i]), 4, table(s, i, variable)->crps[l]);
        put(f, 8, 1, 100 * model->coverage80[l]);
        fprintf(f, "\n");
    }
}

static void put_variables(FILE *f, const llap_scores *s)
{
    const int64_t n = s->info.n_variables;
    int           longest = 0;
    for (int64_t k = 0; k < n; k++)
        if (name_length(s->info.variables[k]) > longest)
            longest = name_length(s->info.variables[k]);
    const int first = put_grid_head(f, s, "variable", longest);
    for (int64_t k = 0; k < (n > 1 ? n + 1 : 1); k++) {
        const int64_t         variable = k < n ? k : LLAP_ALL;
        const llap_score_row *model = llap_scores_at(s, 0, variable);
        fprintf(f, "%-*s%9lld", first, k < n ? ll_text_show(s->info.variables[k]).text : "all",
                (long long)model->n);
        for (int64_t i = 0; i < s->info.n_forecasters; i++)
            put(f, grid_column(s->info.forecasters[i]), 4, llap_scores_at(s, i, variable)->crps);
        put(f, 8, 1, 100 * model->coverage[1]);
        fprintf(f, "\n");
    }
}

/* What was added up, and what could not be. */
static void put_sums(FILE *f, const llap_scores_info *a)
{
    static const char *const over[] = { [LLAP_FORECAST_TOTAL_HORIZON] = "the horizon",
                                        [LLAP_FORECAST_TOTAL_ENTITIES] = "entities at each time",
                                        [LLAP_FORECAST_TOTAL_BOTH] = "entities and the horizon" };
    const llap_option       *total = llap_option_find(llap_evaluate_options(), "total");
    int                      k = LLAP_FORECAST_TOTAL_HORIZON;
    while (strcmp(total->words[k], a->total) != 0) k++;
    fprintf(f, "sums over %s: %lld of %lld left out, of which a value was not observed", over[k],
            (long long)a->n_sums_left_out, (long long)a->n_sums);
    if (a->n_origins_left_out > 0)
        fprintf(f, "; %lld origins, where an entity had no window",
                (long long)a->n_origins_left_out);
    fprintf(f,
            "\nindependent: the model's samples without what they have in common; opponents%s "
            "are points, the sum of their means\n",
            k == LLAP_FORECAST_TOTAL_HORIZON ? " without paths" : "");
}

static void put_ending(FILE *f, const llap_scores_info *a, bool impute)
{
    if (a->total != NULL) put_sums(f, a);
    if (a->n_draws > 0 && a->n_units >= EVALUATION_UNITS && a->n_forecasters > 1) {
        fprintf(f, "intervals of differences: %lld draws of ", (long long)a->n_draws);
        put_units(f, a, a->n_units);
        fprintf(f, " in runs of %lld\n", (long long)a->run);
    } else if (a->n_draws > 0 && a->n_forecasters > 1) {
        fprintf(f, "no intervals of differences: ");
        put_units(f, a, a->n_units);
        fprintf(f, ", and %d are too few\n", EVALUATION_UNITS - 1);
    }
    if (!impute && a->n_samples < EVALUATION_SAMPLES)
        fprintf(f, "50, 80, 95 %% rest on %lld samples; they are steady from %d on\n",
                (long long)a->n_samples, EVALUATION_SAMPLES);
}

llap_status llap_scores_text(const llap_scores *s, char **text)
{
    size_t            n;
    ll_memory_file    to;
    const llap_status st = ll_memory_file_open(&to);
    FILE             *f = to.stream;
    if (st != LLAP_OK) return ll_memory_file_close(&to, st, text, &n);
    const int64_t C = s->info.n_variables;
    const bool    finer = s->look.by == BY_STEP || s->look.by == BY_ENTITY;
    if (s->look.by == BY_VARIABLE) put_variables(f, s);
    else
        for (int64_t k = 0; k < (C > 1 ? C + 1 : 1); k++) put_variable(f, s, k < C ? k : LLAP_ALL);
    for (int64_t k = 0; k < C && finer; k++) put_grid(f, s, k);
    put_ending(f, &s->info, s->impute);
    return ll_memory_file_close(&to, st, text, &n);
}
