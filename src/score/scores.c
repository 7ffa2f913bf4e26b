/* From sums to scores, and how they are asked for. */
#include "score/scores.h"
#include "base/alloc.h"
#include "predict/tables/answer.h"

#include <assert.h>
#include <math.h>

static_assert(LLAP_SCORE_LEVELS == (int)TALLY_LEVELS, "");
static_assert(LLAP_SCORE_PINBALLS == (int)TALLY_PINBALLS, "");
static_assert(LLAP_SCORE_BINS == (int)TALLY_BINS, "");

static double ratio(double sum, double n) { return n > 0 ? sum / n : (double)NAN; }

/* ---- making them ---- */

static llap_score_row score_on(const tally *all, const tally_scale *t)
{
    const double   n = all->n;
    llap_score_row s = { .n = (int64_t)n,
                         .n_unanswered = (int64_t)all->n_unanswered,
                         .crps = ratio(t->crps, n),
                         .mse = ratio(t->se, n),
                         .mae = ratio(t->ae_mean, n),
                         .mae_median = ratio(t->ae_median, n),
                         .bias = ratio(t->error, n),
                         .spread = sqrt(ratio(t->variance, n)),
                         .energy = (double)NAN,
                         .paper_crps = (double)NAN,
                         .paper_mae = (double)NAN,
                         .paper_mse = (double)NAN };
    double         sum = 0;
    for (int k = 0; k < TALLY_PINBALLS; k++) {
        s.pinball[k] = ratio(t->pinball[k], n);
        sum += t->pinball[k];
    }
    s.weighted_quantile_loss = ratio(2 * sum / TALLY_PINBALLS, t->size);
    for (int k = 0; k < TALLY_LEVELS; k++) {
        s.level[k] = tally_level[k];
        s.coverage[k] = ratio(t->inside[k], t->n_interval[k]);
        s.width[k] = ratio(t->width[k], t->n_interval[k]);
        s.n_interval[k] = (int64_t)t->n_interval[k];
    }
    for (int k = 0; k < TALLY_BINS; k++) s.pit[k] = (double)NAN;
    return s;
}

static llap_score_row score_of(const tally *t)
{
    llap_score_row s = score_on(t, &t->z);
    s.energy = ratio(t->energy, t->n_energy);
    s.n_energy = (int64_t)t->n_energy;
    s.paper_crps = ratio(t->paper_crps, t->n);
    s.paper_mae = ratio(t->paper_ae, t->n);
    s.paper_mse = ratio(t->paper_se, t->n);
    for (int k = 0; k < TALLY_BINS; k++) s.pit[k] = ratio(t->pit[k], t->n);
    return s;
}

static llap_status columns_of(ll_arena *a, const tally_brief *t, int64_t n, llap_score_columns *out)
{
    enum { NUMBERS = 5 };
    int64_t *count = ll_arena_new(a, (size_t)n, sizeof *count);
    double  *x = ll_arena_new(a, (size_t)n, NUMBERS * sizeof *x);
    if (count == NULL || x == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++) {
        count[i] = (int64_t)t[i].n;
        x[i] = ratio(t[i].crps, t[i].n);
        x[n + i] = ratio(t[i].se, t[i].n);
        x[2 * n + i] = ratio(t[i].ae, t[i].n);
        x[3 * n + i] = ratio(t[i].inside80, t[i].n_interval);
        x[4 * n + i] = ratio(t[i].width80, t[i].n_interval);
    }
    *out = (llap_score_columns){ .n_rows = n,
                                 .n = count,
                                 .crps = x,
                                 .mse = x + n,
                                 .mae = x + 2 * n,
                                 .coverage80 = x + 3 * n,
                                 .width80 = x + 4 * n };
    return LLAP_OK;
}

static llap_score_range range_of(const bootstrap_range *r)
{
    return (llap_score_range){ r->value, r->se, r->low, r->high };
}

static llap_score_difference difference_of(const bootstrap_result *r)
{
    return (llap_score_difference){ range_of(&r->crps), range_of(&r->mse), range_of(&r->skill),
                                    r->n_left_out };
}

static llap_status put_forecaster(llap_scores *s, const evaluation *e, int i)
{
    const int64_t C = e->s.n_targets;
    llap_status   st = LLAP_OK;
    for (int64_t k = 0; k <= C && st == LLAP_OK; k++) {
        const tally   t = evaluation_total(e, i, k);
        const int64_t at = evaluation_place(e, i, k);
        s->standard[at] = score_of(&t);
        s->against[at] = difference_of(&e->against[at]);
        if (k == C) break;
        const scoring_cell *cell = scoring_at(&e->s, i, k);
        assert(s->by_entity == NULL || cell->entity != NULL);
        s->units[i * C + k] = score_on(&t, &t.y);
        s->in_units[i * C + k] = difference_of(&e->against_units[at]);
        st = columns_of(&s->arena, cell->lead, e->s.leads.n, &s->by_step[i * C + k]);
        if (st == LLAP_OK && s->by_entity != NULL)
            st = columns_of(&s->arena, cell->entity, e->s.n_entities, &s->by_entity[i * C + k]);
    }
    return st;
}

/* The opponent with the least CRPS, column k of rows of so many. */
static int64_t best_of(const llap_scores_info *f, const llap_score_row *rows, int64_t width,
                       int64_t k)
{
    double  least = INFINITY;
    int64_t best = -1;
    for (int64_t i = f->n_own; i < f->n_forecasters; i++) {
        const double crps = rows[i * width + k].crps;
        if (crps < least) least = crps, best = i;
    }
    return best;
}

/* Of each variable, and of all. */
static void find_best(llap_scores *s)
{
    const int64_t C = s->info.n_variables;
    for (int64_t k = 0; k <= C; k++) {
        s->best[k] = best_of(&s->info, s->standard, C + 1, k);
        if (k < C) s->best_in_units[k] = best_of(&s->info, s->units, C, k);
    }
}

static llap_score_test test_of(const double bins[TALLY_BINS])
{
    const ll_pit_test t = ll_pit_test_of(bins);
    return (llap_score_test){ t.n, t.n_bins, t.chi_square, t.p };
}

static llap_status put_joint(llap_scores *s, const evaluation *e)
{
    const int64_t C = e->s.n_targets;
    if (e->impute) return LLAP_OK;
    s->joint = ll_arena_new(&s->arena, (size_t)C + 1, sizeof *s->joint);
    if (s->joint == NULL) return LLAP_ENOMEM;
    for (int64_t k = 0; k <= C; k++) { /* one target and all of it are the same */
        const ll_joint_sums *from = &e->joint.of[C == 1 ? 0 : k];
        llap_score_joint    *to = &s->joint[k];
        double               n = 0;
        for (int i = 0; i < TALLY_BINS; i++) n += from->sums[i];
        *to = (llap_score_joint){ .margins = test_of(from->fair_margins),
                                  .sums = test_of(from->fair_sums),
                                  .n_sums = (int64_t)n,
                                  .n_energy = (int64_t)from->n_energy,
                                  .energy = ratio(from->energy, from->n_energy),
                                  .energy_independent = ratio(from->energy_apart, from->n_energy) };
        for (int i = 0; i < TALLY_BINS; i++) to->pit_sums[i] = ratio(from->sums[i], n);
    }
    return LLAP_OK;
}

static llap_status put_names(llap_scores *s, const evaluation *e)
{
    llap_scores_info *f = &s->info;
    const char       *name[EVALUATION_MAX];
    for (int i = 0; i < e->n; i++) name[i] = e->name[i];
    llap_status st = ll_copy_names(&s->arena, name, f->n_forecasters, &f->forecasters);
    if (st == LLAP_OK)
        st = ll_copy_names(&s->arena, e->m->frame.target, f->n_variables, &f->variables);
    if (st == LLAP_OK) st = ll_copy_names(&s->arena, e->panel->entity, f->n_entities, &f->entities);
    return st;
}

static llap_status make_room(llap_scores *s)
{
    ll_arena    *a = &s->arena;
    const size_t n = (size_t)s->info.n_forecasters, C = (size_t)s->info.n_variables;
    s->standard = ll_arena_new(a, n * (C + 1), sizeof *s->standard);
    s->against = ll_arena_new(a, n * (C + 1), sizeof *s->against);
    s->in_units = ll_arena_new(a, n * C, sizeof *s->in_units);
    s->units = ll_arena_new(a, n * C, sizeof *s->units);
    s->by_step = ll_arena_new(a, n * C, sizeof *s->by_step);
    s->best = ll_arena_new(a, C + 1, sizeof *s->best);
    s->best_in_units = ll_arena_new(a, C, sizeof *s->best_in_units);
    const bool entities = s->info.n_entities > 0;
    if (entities) s->by_entity = ll_arena_new(a, n * C, sizeof *s->by_entity);
    const bool ok = s->standard != NULL && s->against != NULL && s->in_units != NULL &&
                    s->units != NULL && s->by_step != NULL && s->best != NULL &&
                    s->best_in_units != NULL && (!entities || s->by_entity != NULL);
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

static llap_scores_info info_of(const evaluation *e, const evaluation_look *look)
{
    const llap_option *total = llap_option_find(llap_evaluate_options(), "total");
    const llap_option *gaps = llap_option_find(llap_evaluate_options(), "gaps");
    return (llap_scores_info){
        .task = e->impute ? "impute" : "forecast",
        .part = ll_part_name(e->part),
        .n_windows = e->s.n_windows,
        .n_samples = e->impute ? 0 : e->n_samples,
        .seed = e->seed,
        .stride = e->impute ? 0 : e->stride,
        .step = e->s.leads.width,
        .n_forecasters = e->n,
        .n_own = e->n_own,
        .n_variables = e->s.n_targets,
        .n_steps = e->s.leads.n,
        .n_entities = look->by == BY_ENTITY ? e->s.n_entities : 0,
        .unit = e->unit,
        .n_units = e->s.n_units,
        .run = e->boot.run,
        .n_draws = e->boot.n_draws,
        .n_uncovered = e->n_uncovered,
        .total = e->total == LLAP_FORECAST_TOTAL_DEFAULT ? NULL : total->words[e->total],
        .n_sums = e->sums.n_sums,
        .n_sums_left_out = e->sums.n_left_out,
        .n_origins_left_out = e->sums.n_origins_left_out,
        .gaps = !e->impute          ? NULL
                : e->hidden != NULL ? "listed"
                                    : gaps->words[LLAP_EVALUATE_GAPS_RANDOM + e->gaps]
    };
}

/* Is the model's answer that of its anchors, whatever else it has? */
static bool answers_by_anchor(const llap_model *m)
{
    if (m->stack != NULL)
        return m->stack->weight[0] >= 1 && !ll_stack_diffuses(&m->stack->diffusion);
    return m->network != NULL && m->network->config.features.answer_source == LL_ANSWER_BY_ANCHOR;
}

llap_status scores_of(const evaluation *e, const evaluation_look *look, llap_scores **out)
{
    *out = NULL;
    assert(e->n_own >= 1 && e->n_own <= e->n && e->n <= EVALUATION_MAX);
    llap_scores *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    *s = (llap_scores){ .info = info_of(e, look), .impute = e->impute, .look = *look };
    s->model_step = e->m->frame.step;
    s->is_anchor = !e->impute && e->n_with == 0 && answers_by_anchor(e->m);
    llap_status st = make_room(s);
    if (st == LLAP_OK) st = put_names(s, e);
    for (int i = 0; i < e->n && st == LLAP_OK; i++) st = put_forecaster(s, e, i);
    if (st == LLAP_OK) st = put_joint(s, e);
    if (st == LLAP_OK) find_best(s);
    if (st == LLAP_OK) *out = s;
    else llap_scores_destroy(s);
    return st;
}

void llap_scores_destroy(llap_scores *s)
{
    if (s == NULL) return;
    ll_arena_deinit(&s->arena);
    ll_free(s);
}

/* ---- asking for them ---- */

const llap_scores_info *llap_scores_about(const llap_scores *s) { return &s->info; }

/* Place of a forecaster and variable in a table of width variables, the one behind the last being
 * all together; -1: there is none. */
static int64_t place_of(const llap_scores *s, int64_t forecaster, int64_t variable, int64_t width)
{
    const int64_t C = s->info.n_variables, at = variable == LLAP_ALL ? C : variable;
    if (forecaster < 0 || forecaster >= s->info.n_forecasters || variable >= C) return -1;
    return at < 0 || at >= width ? -1 : forecaster * width + at;
}

const llap_score_row *llap_scores_at(const llap_scores *s, int64_t forecaster, int64_t variable)
{
    const int64_t at = place_of(s, forecaster, variable, s->info.n_variables + 1);
    return at < 0 ? NULL : &s->standard[at];
}

const llap_score_row *llap_scores_in_units(const llap_scores *s, int64_t forecaster,
                                           int64_t variable)
{
    const int64_t at = place_of(s, forecaster, variable, s->info.n_variables);
    return at < 0 ? NULL : &s->units[at];
}

const llap_score_columns *llap_scores_by_step(const llap_scores *s, int64_t forecaster,
                                              int64_t variable)
{
    const int64_t at = place_of(s, forecaster, variable, s->info.n_variables);
    return at < 0 ? NULL : &s->by_step[at];
}

const llap_score_columns *llap_scores_by_entity(const llap_scores *s, int64_t forecaster,
                                                int64_t variable)
{
    const int64_t at = place_of(s, forecaster, variable, s->info.n_variables);
    return at < 0 || s->by_entity == NULL ? NULL : &s->by_entity[at];
}

const llap_score_difference *llap_scores_against(const llap_scores *s, int64_t forecaster,
                                                 int64_t variable)
{
    const int64_t at = place_of(s, forecaster, variable, s->info.n_variables + 1);
    return at < 0 || forecaster == 0 ? NULL : &s->against[at];
}

const llap_score_difference *llap_scores_against_in_units(const llap_scores *s, int64_t forecaster,
                                                          int64_t variable)
{
    const int64_t at = place_of(s, forecaster, variable, s->info.n_variables);
    return at < 0 || forecaster == 0 ? NULL : &s->in_units[at];
}

const llap_score_joint *llap_scores_joint(const llap_scores *s, int64_t variable)
{
    const int64_t at = place_of(s, 0, variable, s->info.n_variables + 1);
    return at < 0 || s->joint == NULL ? NULL : &s->joint[at];
}

int64_t llap_scores_best_opponent(const llap_scores *s, int64_t variable)
{
    const int64_t at = place_of(s, 0, variable, s->info.n_variables + 1);
    return at < 0 ? -1 : s->best[at];
}

int64_t llap_scores_best_opponent_in_units(const llap_scores *s, int64_t variable)
{
    const int64_t at = place_of(s, 0, variable, s->info.n_variables);
    return at < 0 ? -1 : s->best_in_units[at];
}

int llap_scores_earns_its_keep(const llap_scores *s, int64_t variable)
{
    const int64_t                best = llap_scores_best_opponent(s, variable);
    const llap_score_difference *d = llap_scores_against(s, best, variable);
    if (d == NULL || s->info.n_units < EVALUATION_UNITS || isnan(d->skill.low)) return -1;
    return d->skill.low > 0;
}
