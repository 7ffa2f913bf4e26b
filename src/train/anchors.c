/* The anchor of each target: which of its windows fit and which choose, and how far that is. */
#include "train/anchors.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "base/time/civil.h"
#include "data/windows/scaling.h"
#include "predict/view/frame.h"
#include "predict/view/known_series.h"
#include "predict/view/series.h"
#include "predict/view/span.h"
#include "train/glitches.h"
#include "train/holidays.h"
#include "train/kinds.h"
#include "train/periods.h"
#include "train/run/recipe.h"
#include "train/run/run.h"
#include "train/run/targets.h"
#include "train/statics.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* The origins of one part, at most `most` of them, evenly spread. Caller owns *out. */
static llap_status origins(const ll_windows *w, const ll_split *s, ll_part part, int64_t unit,
                           int64_t most, ll_origin **out, size_t *n)
{
    const int64_t all = s->n[part], keep = most > 0 && most < all ? most : all;
    *n = 0;
    *out = ll_new((size_t)keep, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    int64_t seen = 0;
    for (int64_t i = 0; i < w->n; i++) {
        if (s->part[i] != part) continue;
        /* The k-th kept one is number floor(k all / keep) of the part. */
        if (seen++ == (int64_t)((double)*n * (double)all / (double)keep) && (int64_t)*n < keep)
            (*out)[(*n)++] = (ll_origin){
                .series = (size_t)w->at[i].entity,
                .t = (double)ll_window_end(w, &w->at[i]) / (double)unit,
            };
    }
    assert((int64_t)*n == keep);
    return LLAP_OK;
}

/* ---- how a fit goes ---- */

typedef struct watch {
    ll_training_run *run;
    const char      *target;
    int64_t          number, before;  /* of the target, steps of those before it */
    int64_t          steps, every;    /* of a descent, and between lines of the log */
    const char      *fit;             /* which one is under way */
    double           score, kappa;    /* of a candidate just scored; score NaN: none */
    int64_t          calendar, terms; /* terms of its climate and of its kernel */
    const char      *curve, *drift, *scale;
    ll_holiday_list *holidays;
    ll_static_opts   statics; /* of the entities of the panel */
} watch;

/* Of the lines of the log. */
static void fields(void *user, ll_json_writer *w)
{
    const watch *x = user;
    ll_json_put_string(w, "target", x->target);
    ll_json_put_string(w, "fit", x->fit);
    if (isnan(x->score)) return;
    ll_json_put_double(w, "score", x->score);
    ll_json_put_double(w, "kappa", x->kappa);
    ll_json_put_bool(w, "climate", x->calendar > 0);
    ll_json_put_int(w, "calendar", x->calendar);
    ll_json_put_int(w, "terms", x->terms);
    ll_json_put_string(w, "curve", x->curve);
    ll_json_put_string(w, "drift", x->drift);
    ll_json_put_string(w, "scale", x->scale);
}

static llap_status on_step(void *user, const char *fit, int64_t done, int64_t made, double loss)
{
    watch *x = user;
    x->fit = fit;
    const ll_stage_at at = { .step = x->before + done,
                             .loss = loss,
                             .note = x->target,
                             .line = made > 0 && (made % x->every == 0 || made == x->steps) };
    return ll_training_run_at(x->run, &at);
}

static llap_status on_score(void *user, const char *fit, const ll_anchor_model *m)
{
    watch *x = user;
    x->fit = fit;
    x->score = m->valid_crps;
    x->kappa = m->kappa;
    x->calendar = m->chain->n_climate;
    x->terms = m->kernel.n_terms;
    x->curve = ll_curve_name(m->chain->curve);
    x->drift = ll_anchor_drift_name(m->kernel.drift);
    x->scale = m->kernel.innovation ? "innovation" : "window";
    const llap_status st = ll_training_run_line(x->run);
    x->score = NAN;
    return st;
}

typedef struct note_name {
    char text[64];
} note_name;

static note_name name_of(const watch *x, const char *name)
{
    note_name n;
    snprintf(n.text, sizeof n.text, "anchor.%lld.%s", (long long)x->number, name);
    return n;
}

static bool find(void *user, const char *name, double *v, size_t n)
{
    const watch *x = user;
    return ll_training_run_find(x->run, name_of(x, name).text, v, n);
}

static llap_status keep(void *user, const char *name, const double *v, size_t n)
{
    const watch *x = user;
    return ll_training_run_keep(x->run, name_of(x, name).text, v, n);
}

/* ---- fits ---- */

static void set_fit(const ll_recipe_anchor *r, ll_anchor_fit_opts *fit)
{
    fit->n_steps = r->steps;
    fit->n_rows = (size_t)r->rows;
    fit->lr = r->lr;
    fit->lr_late = r->lr_late;
    fit->late = r->late;
    fit->clip = r->clip;
    fit->nu_floor = r->nu_floor;
    fit->var_floor = r->var_floor;
}

/* Calendar data starts with the cycles of the clock. Cycles of other lengths are added where
 * validation gains by them. */
static llap_status set_cycles(const ll_model_frame *f, const ll_recipe_anchor *r, bool daily,
                              ll_anchor_model_opts *how)
{
    const double step = (double)f->step / (double)f->unit, span = how->spec.context;
    how->fit.learn_omega = !daily;
    if (!daily) return ll_anchor_kernel_spaced(2 * step, span, 4, &how->start);
    if (r->cycles == 0 || span < 16 * step) return LLAP_OK;
    return ll_anchor_kernel_spaced(8 * step, span, (int32_t)r->cycles, &how->cycles);
}

static llap_status options(const llap_train_opts *o, const ll_recipe_anchor *recipe,
                           const ll_model_frame *f, const char *target, ll_anchor_model_opts *how)
{
    const bool daily = f->axis == LL_AXIS_CALENDAR && f->step <= 6 * LL_NS_PER_HOUR;
    *how = LL_ANCHOR_MODEL_DEFAULT;
    how->spec.context = (double)f->context / (double)f->unit;
    how->spec.horizon = (double)f->horizon / (double)f->unit;
    how->chain.climate = daily && !o->no_climate;
    how->chain.gap = daily ? (double)f->step / (double)LL_NS_PER_HOUR : 0;
    /* Entities to come have no statistics of their own, so nobody has. */
    how->chain.pooled = f->by_entity;
    how->chain.one_climate = recipe->one_climate;
    how->chain.curve = LL_CURVE_TAILS;
    how->near = daily ? 24 : how->spec.horizon / 7;
    how->middle = daily ? 72 : how->spec.horizon * 3 / 7;
    how->link = o->link && !f->by_entity && !recipe->one_climate;
    how->neighbours_series = !f->by_entity && !recipe->one_climate;
    how->seed = (uint64_t)o->seed;
    how->known = f->n_known > 0 || o->holidays != NULL;
    how->statics = f->n_statics > 0;
    how->kappa = recipe->kappa > 0 ? fmax(recipe->kappa, 1e-9) : 0; /* as a file has it */
    how->points = (size_t)recipe->points;
    set_fit(recipe, &how->fit);
    llap_status st = ll_target_transform(o->transform, target, &how->chain.transform);
    if (st == LLAP_OK) st = ll_train_periods(o->periods, f, how);
    return st == LLAP_OK ? set_cycles(f, recipe, daily, how) : st;
}

/* The known columns of the panel, which has them: the frame's names are its own. */
static llap_status known_columns(const llap_panel *p, const ll_model_frame *f, double **numbers,
                                 const double ***of)
{
    int64_t column[LL_KNOWN_COLUMNS];
    assert(f->n_known <= LL_KNOWN_COLUMNS);
    for (int64_t i = 0; i < f->n_known; i++) {
        column[i] = ll_panel_find_var(p, f->known[i]);
        assert(column[i] >= 0);
    }
    return ll_known_numbers(p, column, f->n_known, numbers, of);
}

static llap_status fit_windows(const ll_windows *w, const ll_split *split,
                               const ll_anchor_model_opts *how, int64_t valid_rows,
                               const ll_model_frame *f, int64_t var, ll_static_opts statics,
                               ll_anchor_model **out)
{
    const llap_panel *p = w->panel;
    ll_panel_series   series = { 0 };
    ll_origin        *train = NULL, *valid = NULL;
    size_t            n_train = 0, n_valid = 0;
    double           *numbers = NULL;
    const double    **known = NULL;
    int64_t          *rows = ll_new(2 * (size_t)p->n_entities, sizeof *rows);
    size_t           *train_rows = ll_new((size_t)p->n_entities, sizeof *train_rows);
    llap_status       st = rows == NULL || train_rows == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = ll_panel_series_init(&series, p, var, f->unit);
    if (st == LLAP_OK && f->n_known > 0) st = known_columns(p, f, &numbers, &known);
    if (st == LLAP_OK) st = origins(w, split, LL_PART_TRAIN, f->unit, 0, &train, &n_train);
    if (st == LLAP_OK) st = origins(w, split, LL_PART_VAL, f->unit, valid_rows, &valid, &n_valid);
    if (st == LLAP_OK) {
        ll_training_rows(w, split, rows, rows + p->n_entities);
        for (int64_t e = 0; e < p->n_entities; e++) {
            assert(rows[p->n_entities + e] >= p->start[e]);
            train_rows[e] = (size_t)(rows[p->n_entities + e] - p->start[e]);
        }
        const ll_anchor_data data = { .series = series.series,
                                      .n_series = series.n,
                                      .train_rows = train_rows,
                                      .train = train,
                                      .n_train = n_train,
                                      .valid = valid,
                                      .n_valid = n_valid,
                                      .known = known,
                                      .n_known = (int32_t)f->n_known,
                                      .statics = statics };
        st = ll_anchor_model_fit(&data, how, out);
    }
    ll_panel_series_deinit(&series);
    ll_free(train);
    ll_free(valid);
    ll_free(rows);
    ll_free(train_rows);
    ll_free(numbers);
    ll_free(known);
    return st;
}

static llap_status fit_target(watch *x, const llap_panel *p, const llap_train_opts *o,
                              const ll_recipe_anchor *recipe, const ll_model_frame *f, int64_t var,
                              ll_anchor_model **out)
{
    ll_windows          *w = NULL;
    ll_split            *split = NULL;
    ll_anchor_model_opts how;
    llap_status          st = options(o, recipe, f, p->var[var], &how);
    how.holidays = x->holidays;
    how.fit.watch = (ll_anchor_watch){
        .user = x, .step = on_step, .scored = on_score, .find = find, .keep = keep
    };
    if (st == LLAP_OK) st = ll_frame_windows(f, p, &var, 1, &w);
    if (st == LLAP_OK) st = ll_frame_split(f, w, &split);
    if (st == LLAP_OK && split->n[LL_PART_TRAIN] == 0)
        st = ll_fail(LLAP_EINVAL, "no observed value in the training part");
    if (st == LLAP_OK) st = ll_target_values(w, split, o, f, var, o->log, &how.chain.values);
    if (st == LLAP_OK)
        st = fit_windows(w, split, &how, recipe->valid_rows, f, var, x->statics, out);
    ll_split_destroy(split);
    ll_windows_destroy(w);
    if (st == LLAP_OK || st == LLAP_ECANCELLED) return st; /* which says the stage */
    if (st == LLAP_EFORMAT)                                /* a note of the state */
        return ll_fail_in(st, "%s: %s", o->state != NULL ? o->state : "this training",
                          ll_text_show(p->var[var]).text);
    return ll_fail_in(st, "%s", ll_text_show(p->var[var]).text);
}

/* Steps of the fits up to that of each target, into end [n_targets]. A target may have no
 * validation windows. */
static llap_status count_steps(const llap_panel *p, const llap_train_opts *o,
                               const ll_recipe_anchor *recipe, const ll_model_frame *f,
                               const int64_t *var, int64_t *end)
{
    llap_status st = LLAP_OK;
    for (int64_t i = 0; i < f->n_targets && st == LLAP_OK; i++) {
        ll_windows          *w = NULL;
        ll_split            *split = NULL;
        ll_anchor_model_opts how;
        st = options(o, recipe, f, f->target[i], &how);
        if (st == LLAP_OK) st = ll_frame_windows(f, p, &var[i], 1, &w);
        if (st == LLAP_OK) st = ll_frame_split(f, w, &split);
        if (st == LLAP_OK) st = ll_target_values(w, split, o, f, var[i], NULL, &how.chain.values);
        if (st == LLAP_OK)
            end[i] = (i > 0 ? end[i - 1] : 0) +
                     ll_anchor_model_steps(&how, (size_t)p->n_entities, split->n[LL_PART_VAL] > 0);
        ll_split_destroy(split);
        ll_windows_destroy(w);
    }
    return st;
}

typedef struct values_text {
    char text[96];
} values_text;

/* Their kind and the bounds of answers; empty where there is nothing to say. */
static values_text values_of(const ll_chain *c)
{
    values_text v = { "" };
    if (c->kind == LL_KIND_ANY && !isfinite(c->y_min) && !isfinite(c->y_max)) return v;
    int n = snprintf(v.text, sizeof v.text, "values: %s", ll_kind_words(c->kind));
    if (isfinite(c->y_min))
        n += snprintf(v.text + n, sizeof v.text - (size_t)n, ", at least %g", c->y_min);
    if (isfinite(c->y_max))
        n += snprintf(v.text + n, sizeof v.text - (size_t)n, ", at most %g", c->y_max);
    snprintf(v.text + n, sizeof v.text - (size_t)n, "; ");
    return v;
}

static void say(const llap_log *log, const ll_model_frame *f, const char *target,
                const ll_anchor_model *a)
{
    const values_text  values = values_of(a->chain);
    const ll_span_list periods = ll_span_list_of(f, a->chain->periods.span, a->chain->periods.n);
    ll_logf(log, LLAP_LOG_INFO,
            "%s: anchor: validation CRPS %.4f of a standard deviation; %scurve %s, drift %s, scale "
            "of the %s%s%s%s%s",
            target, a->valid_crps, values.text, ll_curve_name(a->chain->curve),
            ll_anchor_drift_name(a->kernel.drift), a->kernel.innovation ? "innovations" : "window",
            a->chain->periods.n > 0 ? "; periods " : "", periods.text,
            a->link.rank > 0 ? "; entities are linked" : "",
            a->neighbours[LL_ANCHOR_BOTH].cov != NULL
                ? "; gaps are filled with the help of the other entities"
                : "");
}

/* What became of the known columns: which have an effect, and how it was fitted. */
static void say_known(const llap_log *log, const ll_model_frame *f, const char *target,
                      const ll_anchor_model *a)
{
    const ll_known *k = a->chain->known;
    char            names[320] = "";
    size_t          at = 0;
    if (f->n_known == 0) return;
    for (int32_t i = 0; k != NULL && i < k->n && at < sizeof names; i++)
        if (i == 0 || k->input[i].column != k->input[i - 1].column)
            at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", at > 0 ? ", " : "",
                                   ll_text_show(f->known[k->input[i].column]).text);
    if (k == NULL)
        ll_logf(log, LLAP_LOG_INFO,
                "%s: known inputs are not used: they gain less than 1 %% on validation", target);
    else
        ll_logf(log, LLAP_LOG_INFO, "%s: known inputs: %s (%s%s)", target, names,
                ll_weighting_name(k->weighting), ll_known_slow(k) ? ", with daily means" : "");
}

static llap_status fit_rest(ll_training_run *run, const llap_panel *p, const llap_train_opts *o,
                            const ll_recipe_anchor *recipe, const ll_model_frame *f,
                            const ll_static_opts *statics, const int64_t *var, int64_t first,
                            const int64_t *end, ll_anchor_model **anchor)
{
    watch    x = { .run = run, .score = NAN, .steps = recipe->steps, .statics = *statics };
    bool     finished = false;
    double   score = 0;
    ll_stage stage = LL_STAGE_DEFAULT;
    assert(f->n_targets > 0 && first >= 0 && first <= f->n_targets);
    x.every = recipe->steps >= 10 ? recipe->steps / 10 : 1;
    stage.name = "anchor";
    stage.n_steps = end[f->n_targets - 1];
    stage.fields = fields;
    stage.user = &x;
    llap_status st = ll_training_run_enter(run, &stage, &finished);
    if (st == LLAP_OK) st = ll_train_holidays(p, o, &x.holidays);
    if (st == LLAP_OK && finished && first < f->n_targets)
        st = ll_fail(LLAP_EFORMAT, "%s: has %lld anchors of %lld, though all were fitted", o->state,
                     (long long)first, (long long)f->n_targets);
    for (int64_t i = first; i < f->n_targets && st == LLAP_OK; i++) {
        x.target = f->target[i];
        x.number = i;
        x.before = i > 0 ? end[i - 1] : 0;
        st = fit_target(&x, p, o, recipe, f, var[i], &anchor[i]);
        if (st != LLAP_OK) break;
        say(o->log, f, f->target[i], anchor[i]);
        st = ll_train_say_glitches(o->log, p, var[i], anchor[i]->chain);
        if (st != LLAP_OK) break;
        say_known(o->log, f, f->target[i], anchor[i]);
        ll_train_say_statics(o->log, f, f->target[i], anchor[i]);
        if (o->holidays != NULL)
            ll_logf(o->log, LLAP_LOG_INFO, "%s: holidays: %s", f->target[i],
                    anchor[i]->chain->holidays != NULL ? "in the climate"
                                                       : "not used, validation is against it");
        ll_training_run_anchors(run, anchor, i + 1);
        ll_training_run_forget(run, name_of(&x, "").text);
        st = ll_training_run_at(run, &(ll_stage_at){ end[i], NAN, x.target, false });
    }
    ll_holidays_destroy(x.holidays);
    for (int64_t i = 0; i < f->n_targets && st == LLAP_OK; i++) {
        assert(anchor[i] != NULL);
        score += anchor[i]->valid_crps;
    }
    if (st == LLAP_OK && !finished) st = ll_training_run_leave(run, score / (double)f->n_targets);
    return st;
}

llap_status ll_anchors_fit(ll_training_run *run, const llap_panel *p, const llap_train_opts *o,
                           const ll_recipe_anchor *recipe, const ll_model_frame *f,
                           const ll_static_opts *statics, const int64_t *var,
                           ll_anchor_model **anchor)
{
    int64_t     n = 0;
    int64_t    *end = ll_new((size_t)f->n_targets, sizeof *end);
    llap_status st = end == NULL ? LLAP_ENOMEM : ll_training_run_read_anchors(run, f, anchor, &n);
    if (st == LLAP_OK) st = count_steps(p, o, recipe, f, var, end);
    if (st == LLAP_OK) {
        for (int64_t i = 0; i < n; i++) say(o->log, f, f->target[i], anchor[i]);
        ll_training_run_anchors(run, anchor, n);
        st = fit_rest(run, p, o, recipe, f, statics, var, n, end, anchor);
    }
    ll_free(end);
    return st;
}

size_t ll_anchors_numbers(const ll_model_frame *f)
{
    const size_t n = (size_t)f->n_entities, terms = LL_CLIMATE_ROOM + 9;
    const size_t others = n <= LL_ANCHOR_LINKED_MAX ? 2 * n : 0;
    const size_t known = f->n_known > 0 ? LL_KNOWN_INPUTS * (LL_KNOWN_TERMS + 40) : 0;
    const size_t statics = f->n_statics > 0 ? n + 1 + 2 * (LL_STATIC_TERMS + 1) : 0;
    const size_t days = 3 * LL_HOLIDAY_MOST; /* of holidays */
    const size_t kept =
        (n + 1) * (terms + others) + known + days + statics + 1024; /* and those of the kernels */
    return (size_t)f->n_targets * kept * (sizeof(double) / sizeof(float));
}
