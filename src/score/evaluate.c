/* Scoring a model on the part of the data that its training has not seen, beside the opponents that
 * any model has to beat, on the same windows and the same scale. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "base/time/civil.h"
#include "predict/device.h"
#include "predict/filler.h"
#include "predict/forecaster.h"
#include "predict/pool.h"
#include "predict/view/frame.h"
#include "predict/view/meet.h"
#include "predict/view/only.h"
#include "predict/view/span.h"
#include "predict/view/static_view.h"
#include "score/against.h"
#include "score/against_models.h"
#include "score/evaluation.h"
#include "score/gaps/hidden_gaps.h"
#include "score/gaps/hide.h"
#include "score/keep.h"
#include "score/opponents.h"
#include "score/scores.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { STEPS_APART = 23 }; /* of the windows that are scored, unless told */

/* The windows of a part in order of their origins, those of one origin in order of entities. Caller
 * owns *out. */
static llap_status list_windows(const ll_windows *w, const ll_split *split, ll_part part,
                                ll_forecast_window **out)
{
    const size_t n = (size_t)split->n[part];
    int64_t      at = 0;
    *out = ll_new(n, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < w->n; i++)
        if (split->part[i] == part) (*out)[at++] = ll_forecast_window_of(w, i);
    assert(at == split->n[part]);
    return ll_forecast_windows_sort(*out, at);
}

/* What a bootstrap draws as a whole: entities where they are independent, else days, or horizons
 * where there is no calendar. unit [n]; runs of units are as long as a forecast. */
static llap_status number_units(const ll_model_frame *f, const llap_panel *p,
                                const ll_forecast_window *w, int64_t n, int32_t *unit,
                                evaluation *e, int64_t *n_units)
{
    const int64_t length = f->axis == LL_AXIS_CALENDAR ? LL_NS_PER_DAY : f->horizon;
    int32_t      *number = ll_new((size_t)p->n_entities, sizeof *number); /* 0: not yet met */
    int32_t       units = 0;
    int64_t       before = 0;
    if (number == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++) {
        const int64_t now = w[i].origin / length - (w[i].origin % length < 0);
        if (f->by_entity) {
            if (number[w[i].entity] == 0) number[w[i].entity] = ++units;
            unit[i] = number[w[i].entity] - 1;
        } else {
            if (i == 0 || now != before) units++;
            unit[i] = units - 1;
        }
        before = now;
    }
    ll_free(number);
    const int64_t run = f->by_entity ? 1 : (f->horizon + length - 1) / length;
    e->unit = f->by_entity ? "entity" : f->axis == LL_AXIS_CALENDAR ? "day" : "horizon";
    e->boot.run = run < units / 3 ? run : units / 3 > 1 ? units / 3 : 1;
    *n_units = units;
    return LLAP_OK;
}

/* ---- the two tasks ---- */

static llap_status run_scoring(scoring_input *in, evaluation *e, const ll_forecaster *const *f,
                               int n, int n_own)
{
    assert(n <= EVALUATION_MAX && n_own >= 1 && n_own <= n);
    int32_t    *unit = ll_new((size_t)in->n, sizeof *unit);
    llap_status st =
        unit == NULL ? LLAP_ENOMEM
                     : number_units(&e->m->frame, e->panel, in->w, in->n, unit, e, &in->n_units);
    in->unit = unit;
    in->windows = e->windows != NULL;
    in->f = f;
    in->n_forecasters = e->n = n;
    e->n_own = n_own;
    for (int i = 0; i < n; i++) snprintf(e->name[i], EVALUATION_NAME, "%s", f[i]->name);
    if (st == LLAP_OK) st = scoring_run(in, &e->s);
    if (st == LLAP_OK && in->windows) st = evaluation_windows(e, in->w, e->windows);
    ll_free(unit);
    return st;
}

static llap_status no_window(const ll_split *s, ll_part part)
{
    return ll_fail(LLAP_EINVAL,
                   "the data has no %s window: %lld were for training, %lld for "
                   "validation, %lld for testing",
                   ll_part_name(part), (long long)s->n[LL_PART_TRAIN], (long long)s->n[LL_PART_VAL],
                   (long long)s->n[LL_PART_TEST]);
}

/* The windows [*n] of the entities that are asked about. LLAP_EINVAL: there are none. */
static llap_status take_only(const evaluation *e, ll_forecast_window *list, int64_t *n)
{
    const int64_t all = *n;
    if (e->only == NULL) return LLAP_OK;
    *n = 0;
    for (int64_t i = 0; i < all; i++)
        if (ll_only_has(e->only, e->panel->entity[list[i].entity])) list[(*n)++] = list[i];
    if (*n > 0) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "only: none of the %lld %s windows is of these entities",
                   (long long)all, ll_part_name(e->part));
}

/* With the model's forecasts kept on the way, where that is asked for. */
static llap_status keep_and_score(scoring_input *in, evaluation *e, const ll_forecaster *const *f,
                                  int n, int n_own)
{
    ll_keep     keep = { 0 };
    llap_status st = LLAP_OK;
    if (e->keep != NULL) {
        st = ll_keep_open(&keep, e->m, e->panel, e->keep,
                          e->keep_samples ? LL_KEEP_SAMPLES : LL_KEEP_QUANTILES);
        in->watch[1] = (scoring_watch){ ll_keep_see, &keep };
    }
    if (st == LLAP_OK) st = ll_joint_scores_init(&e->joint, in, e->m->frame.by_entity);
    in->watch[0] = (scoring_watch){ ll_joint_scores_see, &e->joint };
    if (st == LLAP_OK) st = run_scoring(in, e, f, n, n_own);
    return ll_keep_close(&keep, st);
}

/* Sums of what the forecasters answer, the model's also with independent draws. */
static llap_status score_sums(scoring_input *in, evaluation *e, const ll_forecaster *const *f,
                              int n, int n_own)
{
    ll_total_forecaster  sum[EVALUATION_MAX + 1];
    const ll_forecaster *of[EVALUATION_MAX + 1];
    assert(n + 1 <= EVALUATION_MAX && n_own <= n);
    if (e->m->frame.by_entity && e->total != LLAP_FORECAST_TOTAL_HORIZON)
        return ll_fail(LLAP_EOPTION,
                       "total: the entities are independent of each other: their sums "
                       "at a time are not forecast");
    const llap_status st = ll_total_windows_init(&e->sums, in, e->total);
    if (st != LLAP_OK) return st;
    scoring_input sums = ll_total_windows_input(&e->sums, in);
    for (int i = 0; i <= n; i++) { /* the model, its parts, independent draws, opponents */
        const int          from = i < n_own ? i : i == n_own ? 0 : i - 1;
        const ll_total_how how = i < n_own    ? LL_TOTAL_PATHS
                                 : i == n_own ? LL_TOTAL_INDEPENDENT
                                              : LL_TOTAL_OPPONENT;
        ll_total_forecaster_init(&sum[i], &e->sums, f[from], how);
        of[i] = &sum[i].f;
    }
    e->panel = sums.panel;
    return keep_and_score(&sums, e, of, n + 1, n_own + 1);
}

static llap_status score_forecasts(scoring_input *in, evaluation *e)
{
    const llap_model    *m = e->m;
    ll_windows          *w = NULL;
    ll_split            *split = NULL;
    ll_forecast_window  *list = NULL;
    ll_forecaster        model = { 0 }, anchor = { 0 };
    ll_opponents         others = { 0 };
    ll_against           theirs = { 0 };
    ll_against_models    others_models = { 0 };
    const ll_forecaster *f[EVALUATION_MAX] = { &model, &anchor };
    const bool           parts = m->network != NULL || m->stack != NULL;
    const int            n_own = parts && m->anchor != NULL ? 2 : 1;
    llap_status          st = ll_frame_windows(&m->frame, in->panel, in->var, in->n_targets, &w);
    if (st == LLAP_OK) st = ll_frame_split(&m->frame, w, &split);
    if (st == LLAP_OK && split->n[e->part] == 0) st = no_window(split, e->part);
    if (st == LLAP_OK)
        st =
            ll_pool_forecaster(m, e->with, e->n_with, in->panel, in->var, e->backend, NULL, &model);
    if (st == LLAP_OK && n_own > 1) st = ll_anchor_forecaster(m, in->panel, in->var, &anchor);
    if (st == LLAP_OK)
        st = ll_opponents_init(&others, &m->frame, in->scale, in->var, w, split, e->part,
                               &e->seasons, in->glitch);
    if (st == LLAP_OK) {
        ll_split_thin(split, w, e->part, e->stride, m->frame.by_entity);
        st = list_windows(w, split, e->part, &list);
    }
    in->w = list;
    in->n = st == LLAP_OK ? split->n[e->part] : 0;
    in->leads = ll_leads_of_frame(&m->frame);
    if (st == LLAP_OK) st = take_only(e, list, &in->n);
    const bool trained = e->theirs != NULL && ll_against_names_models(e->theirs);
    if (st == LLAP_OK && trained)
        st = ll_against_models_init(&others_models, e->theirs, m, in->panel, e->backend,
                                    in->ask.log);
    else if (st == LLAP_OK && e->theirs != NULL)
        st = evaluation_take_theirs(in, e, &theirs, list, &in->n);
    int n = n_own;
    for (int i = 0; i < others_models.n; i++) f[n++] = &others_models.f[i];
    if (e->theirs != NULL && !trained) f[n++] = &theirs.f;
    for (int i = 0; i < others.n; i++) f[n++] = &others.f[i];
    if (st == LLAP_OK)
        st = e->total != LLAP_FORECAST_TOTAL_DEFAULT ? score_sums(in, e, f, n, n_own)
                                                     : keep_and_score(in, e, f, n, n_own);
    ll_against_deinit(&theirs);
    ll_against_models_deinit(&others_models);
    ll_opponents_deinit(&others);
    ll_forecaster_deinit(&model);
    ll_forecaster_deinit(&anchor);
    ll_free(list);
    ll_split_destroy(split);
    ll_windows_destroy(w);
    return st;
}

/* With what fills them, and the other hidden values, listed where that is asked for. */
static llap_status list_and_score(scoring_input *in, evaluation *e, const ll_hidden_gaps *g,
                                  const ll_forecaster *const *f, int n)
{
    ll_keep     keep = { 0 };
    llap_status st = LLAP_OK;
    if (e->keep != NULL) {
        st = ll_keep_open(&keep, e->m, e->panel, e->keep, LL_KEEP_GAPS);
        in->watch[0] = (scoring_watch){ ll_keep_see, &keep };
    }
    if (st == LLAP_OK) st = run_scoring(in, e, f, n, g->n_own);
    const llap_panel *p = e->panel;
    for (int64_t i = 0; e->keep != NULL && st == LLAP_OK && i < p->n_entities; i++)
        for (int64_t c = p->start[i] * p->n_vars;
             st == LLAP_OK && c < p->start[i + 1] * p->n_vars && ll_only_has(e->only, p->entity[i]);
             c++)
            if (g->all[c] && ll_row_part(e->m, p, i, c / p->n_vars) == e->part &&
                ll_model_target(e->m, p->var[c % p->n_vars]) < 0)
                st = ll_keep_cell(&keep, i, c / p->n_vars, c % p->n_vars);
    return ll_keep_close(&keep, st);
}

static llap_status score_filling(scoring_input *in, evaluation *e)
{
    const ll_hidden_gaps_opts how = { .pattern = e->gaps,
                                      .part = e->part,
                                      .seed = (uint64_t)e->seed,
                                      .backend = e->backend,
                                      .glitch = in->glitch,
                                      .listed = e->hidden,
                                      .log = in->ask.log };
    ll_hidden_gaps            g = { 0 };
    ll_against                theirs = { 0 };
    const ll_forecaster      *f[EVALUATION_MAX];
    int                       n = 0;
    llap_status st = ll_hidden_gaps_init(&g, e->m, in->panel, in->var, in->scale, &how);
    for (int i = 0; i < g.n; i++) {
        if (i == g.n_own && e->theirs != NULL) f[n++] = &theirs.f;
        f[n++] = &g.f[i];
    }
    in->w = g.w;
    in->n = g.n_windows;
    in->time = g.time;
    in->row = g.row;
    in->lead = g.lead;
    in->hidden = g.hidden;
    in->leads = g.leads;
    if (st == LLAP_OK) st = take_only(e, g.w, &in->n);
    if (st == LLAP_OK && e->theirs != NULL)
        st = evaluation_take_theirs(in, e, &theirs, g.w, &in->n);
    if (st == LLAP_OK) st = list_and_score(in, e, &g, f, n);
    ll_against_deinit(&theirs);
    ll_hidden_gaps_deinit(&g);
    return st;
}

/* ---- comparing ---- */

tally evaluation_total(const evaluation *e, int i, int64_t target)
{
    tally t = { 0 };
    if (target < e->s.n_targets) return scoring_at(&e->s, i, target)->total;
    for (int64_t k = 0; k < e->s.n_targets; k++) tally_add(&t, &scoring_at(&e->s, i, k)->total);
    return t;
}

/* The units of one forecaster, all targets together. */
static void pool_units(const scoring *s, int i, scoring_sum *out)
{
    memset(out, 0, (size_t)s->n_units * sizeof *out);
    for (int64_t k = 0; k < s->n_targets; k++) {
        const scoring_sum *from = scoring_units(s, i, k);
        for (int64_t u = 0; u < s->n_units; u++) scoring_sum_add(&out[u], &from[u]);
    }
}

/* The model against forecaster i, on each target and on all. pooled [2,n_units]: those of the model
 * are there. */
static llap_status compare_one(evaluation *e, int i, scoring_sum *pooled)
{
    const scoring *s = &e->s;
    bootstrap_opts units = e->boot;
    llap_status    st = LLAP_OK;
    units.units = true;
    for (int64_t k = 0; st == LLAP_OK && k < s->n_targets; k++) {
        const scoring_sum *a = scoring_units(s, 0, k), *b = scoring_units(s, i, k);
        const int64_t      at = evaluation_place(e, i, k);
        st = bootstrap_difference(a, b, s->n_units, &e->boot, &e->against[at]);
        if (st == LLAP_OK)
            st = bootstrap_difference(a, b, s->n_units, &units, &e->against_units[at]);
    }
    pool_units(s, i, pooled + s->n_units);
    if (st == LLAP_OK)
        st = bootstrap_difference(pooled, pooled + s->n_units, s->n_units, &e->boot,
                                  &e->against[evaluation_place(e, i, s->n_targets)]);
    return st;
}

static llap_status compare(evaluation *e)
{
    const scoring *s = &e->s;
    const size_t   n = (size_t)(e->n * (s->n_targets + 1));
    scoring_sum   *pooled = ll_new(2 * (size_t)s->n_units, sizeof *pooled);
    e->against = ll_new(n, sizeof *e->against);
    e->against_units = ll_new(n, sizeof *e->against_units);
    const bool  ok = pooled != NULL && e->against != NULL && e->against_units != NULL;
    llap_status st = ok ? LLAP_OK : LLAP_ENOMEM;
    if (st == LLAP_OK) pool_units(s, 0, pooled);
    for (int i = 1; st == LLAP_OK && i < e->n; i++) st = compare_one(e, i, pooled);
    ll_free(pooled);
    return st;
}

/* ---- asking for it ---- */

/* What forecasts alone have. */
static llap_status check_filling(const llap_evaluate_opts *given)
{
    if (given->n_with > 0)
        return ll_fail(LLAP_EOPTION, "with: several models forecast, but do not fill gaps");
    if (given->total != LLAP_FORECAST_TOTAL_DEFAULT)
        return ll_fail(LLAP_EOPTION, "total: is for forecasts, not for filled gaps");
    if (given->season != NULL || given->keep_samples)
        return ll_fail(LLAP_EOPTION, "%s: is for forecasts, not for filled gaps",
                       given->season != NULL ? "season" : "keep_samples");
    if (given->gaps != LLAP_EVALUATE_GAPS_DEFAULT && given->hidden != NULL)
        return ll_fail(LLAP_EOPTION, "gaps: the file of hidden says what is hidden");
    if (given->samples != 0 || given->stride != NULL)
        return ll_fail(LLAP_EOPTION, "%s: is for forecasts, not for filled gaps",
                       given->samples != 0 ? "samples" : "stride");
    return LLAP_OK;
}

static llap_status use_options(const llap_evaluate_opts *o, evaluation *e, evaluation_look *look)
{
    static const ll_part part[] = { [LLAP_EVALUATE_PART_TEST] = LL_PART_TEST,
                                    [LLAP_EVALUATE_PART_VAL] = LL_PART_VAL,
                                    [LLAP_EVALUATE_PART_TRAIN] = LL_PART_TRAIN };
    assert(o->part > 0 && o->by > 0 && o->samples > 0 && o->gaps > 0);
    e->part = part[o->part];
    e->impute = o->task == LLAP_EVALUATE_TASK_IMPUTE;
    e->gaps = (ll_fill_pattern)(o->gaps - LLAP_EVALUATE_GAPS_RANDOM);
    e->n_samples = o->samples;
    e->seed = o->seed;
    const bool first = ll_ranks_joined() == NULL || ll_ranks_joined()->rank == 0; /* writes */
    e->windows = first ? o->windows : NULL;
    e->hidden = o->hidden;
    e->theirs = o->against;
    e->keep = first ? o->keep : NULL;
    e->only = o->only;
    e->keep_samples = o->keep_samples != 0;
    e->total = o->total;
    e->boot = (bootstrap_opts){ .n_draws = o->bootstrap, .run = 1, .seed = (uint64_t)o->seed };
    *look = (evaluation_look){ .by = (evaluation_by)(o->by - LLAP_EVALUATE_BY_ALL),
                               .units = o->units,
                               .paper = o->paper };
    if (__builtin_mul_overflow(STEPS_APART, e->m->frame.step, &e->stride)) e->stride = INT64_MAX;
    llap_status st = ll_backend_choose(o->device, o->precision, &e->backend);
    if (st == LLAP_OK) st = ll_seasons_parse(o->season, &e->m->frame, &e->panel->axis, &e->seasons);
    if (st == LLAP_OK && o->season != NULL)
        st = ll_seasons_check(&e->seasons, &e->m->frame, e->panel);
    return st != LLAP_OK || o->stride == NULL
               ? st
               : ll_span_parse("stride", o->stride, &e->panel->axis, e->m->frame.step, &e->stride);
}

/* What is asked, before anything is computed. */
static llap_status check_ask(const llap_model *m, const llap_panel *panel,
                             const llap_evaluate_opts *o, evaluation *e, evaluation_look *look)
{
    llap_status st = ll_check_axis(m, panel);
    if (st == LLAP_OK) st = use_options(o, e, look);
    if (st == LLAP_OK) st = ll_only_check(o->only, panel);
    if (st == LLAP_OK && !e->impute && o->gaps != LLAP_EVALUATE_GAPS_RANDOM)
        st = ll_fail(LLAP_EOPTION, "gaps: is for task impute, not for forecasts");
    if (st == LLAP_OK && !e->impute && o->hidden != NULL)
        st = ll_fail(LLAP_EOPTION, "hidden: is for task impute, not for forecasts");
    if (st == LLAP_OK && o->windows != NULL) st = ll_file_can_write(o->windows);
    if (st == LLAP_OK && o->keep != NULL) st = ll_file_can_write(o->keep);
    if (st == LLAP_OK && o->keep_samples && o->keep == NULL)
        st = ll_fail(LLAP_EOPTION, "keep_samples: there is no file to keep them in: give `keep`");
    if (st == LLAP_OK && e->impute && o->against != NULL && ll_against_names_models(o->against))
        st = ll_fail(LLAP_EOPTION, "against: other models are scored beside forecasts, and beside "
                                   "filled gaps what they filled, as CSV");
    if (st == LLAP_OK && o->against != NULL && o->total != LLAP_FORECAST_TOTAL_DEFAULT)
        st = ll_fail(LLAP_EOPTION, "total: the forecasts of `against` are of single values");
    if (st == LLAP_OK) st = ll_pool_check(m, o->with, o->n_with, true);
    return st;
}

/* given, and the same resolved. */
static llap_status score(const llap_model *m, const llap_panel *panel,
                         const llap_evaluate_opts *given, const llap_evaluate_opts *o,
                         llap_scores **out)
{
    evaluation      e = { .m = m, .panel = panel, .with = given->with, .n_with = given->n_with };
    evaluation_look look;
    ll_score_scale *scale = NULL;
    uint8_t        *glitch = NULL;
    int64_t         n_glitches = 0;
    llap_status     st = check_ask(m, panel, o, &e, &look);
    if (st == LLAP_OK && e.impute) st = check_filling(given);
    if (st == LLAP_OK && e.impute) st = ll_fill_can(m);
    if (st != LLAP_OK) return st;
    int64_t *var = ll_new((size_t)m->frame.n_targets, sizeof *var);
    st = var == NULL ? LLAP_ENOMEM : ll_target_columns(m, panel, var);
    if (st == LLAP_OK) st = ll_score_scales(m, panel, &scale);
    if (st == LLAP_OK) st = ll_glitches(m, panel, var, &glitch, &n_glitches);
    if (st == LLAP_OK && n_glitches > 0)
        ll_logf(
            o->log, LLAP_LOG_WARNING,
            "%lld value%s far from all around in the data: left out of the scores, as in training",
            (long long)n_glitches, n_glitches == 1 ? " is" : "s are");
    scoring_input in = { .panel = panel,
                         .var = var,
                         .n_targets = m->frame.n_targets,
                         .scale = scale,
                         .glitch = glitch,
                         .entities = look.by == BY_ENTITY,
                         .ranks = ll_ranks_joined(),
                         .ask = { .n_samples = e.n_samples,
                                  .seed = (uint64_t)e.seed,
                                  .laws = !e.keep_samples &&
                                          e.total == LLAP_FORECAST_TOTAL_DEFAULT && !look.paper,
                                  .log = o->log },
                         .progress = o->progress };
    if (st == LLAP_OK) st = e.impute ? score_filling(&in, &e) : score_forecasts(&in, &e);
    if (st == LLAP_OK) st = compare(&e);
    if (st == LLAP_OK) st = scores_of(&e, &look, out);
    scoring_deinit(&e.s);
    ll_joint_scores_deinit(&e.joint);
    ll_total_windows_deinit(&e.sums);
    ll_free(e.against);
    ll_free(e.against_units);
    ll_free(scale);
    ll_free(glitch);
    ll_free(var);
    return st;
}

llap_status llap_scores_create(const llap_model *m, const llap_panel *panel,
                               const llap_evaluate_opts *given, llap_scores **out)
{
    llap_evaluate_opts o;
    ll_static_view     v;
    *out = NULL;
    llap_status st = llap_options_resolve(llap_evaluate_options(), given, &o, sizeof o);
    if (st == LLAP_OK) st = ll_static_check_with(m, given->with, given->n_with, panel);
    if (st != LLAP_OK) return st;
    st = ll_static_view_init(&v, m, panel, o.statics, o.log);
    if (st == LLAP_OK)
        st = ll_ranks_meet(ll_ranks_joined(), v.m, panel, llap_evaluate_options(), &o, given->with,
                           given->n_with);
    if (st == LLAP_OK) st = score(v.m, panel, given, &o, out);
    ll_static_view_deinit(&v);
    return st;
}

llap_status llap_evaluate(const llap_model *m, const llap_panel *panel, const llap_evaluate_opts *o,
                          char **table, char **json)
{
    if (table != NULL) *table = NULL;
    if (json != NULL) *json = NULL;
    llap_scores *s = NULL;
    llap_status  st = llap_scores_create(m, panel, o, &s);
    if (st == LLAP_OK && table != NULL) st = llap_scores_text(s, table);
    if (st == LLAP_OK && json != NULL) st = llap_scores_json(s, json);
    if (st != LLAP_OK && table != NULL) {
        llap_text_free(*table);
        *table = NULL;
    }
    llap_scores_destroy(s);
    return st;
}
