#include "train/stack/diffusion.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "predict/network_members.h"
#include "predict/stack_draws.h"
#include "predict/view/frame.h"
#include "score/metric.h"
#include "stack/pool.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    SAMPLES = 100, /* that quantiles are made of */
    ORIGINS = 96,  /* of validation, where an example is all entities */
    WINDOWS = 512, /* else */
    AT_ONCE = 64,  /* windows, and all of one origin */
    PATHS = 50,    /* that energy scores are made of, at every third origin */
};
#define LEAST 0.005  /* share of the CRPS that must be gained */
#define SHRINK 0.01  /* of the weight towards 0 */
#define ENERGY 0.005 /* share of the energy score that another order of paths must gain */

/* ---- windows of validation ---- */

typedef struct judge {
    llap_model            *m;
    const llap_panel      *p;
    const int64_t         *var;
    const llap_train_opts *o;
    const ll_stack_folds  *folds;
    const ll_backend      *backend;
    ll_stack_view          view;
    ll_target_series       series;
    ll_stack_draws         draws;
    ll_forecast_window    *w; /* [n_windows] those of one fold one behind the other */
    int64_t                n_windows;
    int64_t                n;                   /* values */
    double                *fine, *truth, *unit; /* [n,2,LL_STACK_FINE], [n], [n] */
} judge;

static void judge_deinit(judge *j)
{
    ll_stack_draws_deinit(&j->draws);
    ll_stack_view_deinit(&j->view);
    ll_target_series_deinit(&j->series);
    ll_free(j->w);
    ll_free(j->fine);
    ll_free(j->truth);
    ll_free(j->unit);
    j->m->stack->fold = -1;
}

static int fold_of(const judge *j, const ll_forecast_window *w)
{
    return ll_stack_fold_of(j->folds, j->p->entity[w->entity], ll_model_time(j->m, w->origin));
}

/* Evenly spread over validation. */
static llap_status choose_windows(judge *j)
{
    const ll_model_frame *f = &j->m->frame;
    const bool            joint = j->m->network->config.features.view == LL_FEATURE_JOINT;
    const int64_t         each = f->by_entity ? 1 : WINDOWS / f->n_entities;
    const int64_t         many = joint ? ORIGINS : each < 8 ? 8 : each;
    const int64_t         span = f->by_entity ? f->horizon : (f->test_start - f->val_start) / many;
    ll_windows           *w = NULL;
    ll_split             *split = NULL;
    llap_status           st = ll_frame_windows(f, j->p, j->var, f->n_targets, &w);
    if (st == LLAP_OK) st = ll_frame_split(f, w, &split);
    if (st == LLAP_OK) {
        ll_split_thin(split, w, LL_PART_VAL, span < f->step ? f->step : span, f->by_entity);
        j->w = ll_new((size_t)split->n[LL_PART_VAL] + 1, sizeof *j->w);
        if (j->w == NULL) st = LLAP_ENOMEM;
    }
    const int64_t all = st == LLAP_OK ? split->n[LL_PART_VAL] : 0;
    const int64_t every = joint || all <= WINDOWS ? 1 : (all + WINDOWS - 1) / WINDOWS;
    for (int k = 0; k < LL_STACK_FOLDS && st == LLAP_OK; k++) {
        int64_t       at = 0;
        const int64_t first = j->n_windows;
        for (int64_t i = 0; i < w->n; i++) {
            if (split->part[i] != LL_PART_VAL || at++ % every != 0) continue;
            const ll_forecast_window v = ll_forecast_window_of(w, i);
            if (fold_of(j, &v) == k) j->w[j->n_windows++] = v;
        }
        st = ll_forecast_windows_sort(j->w + first, j->n_windows - first);
    }
    ll_split_destroy(split);
    ll_windows_destroy(w);
    return st;
}

/* How many windows from i on go together: of one fold, and whole origins where that is possible. */
static int64_t together(const judge *j, int64_t i)
{
    const int fold = fold_of(j, &j->w[i]);
    int64_t   end = i + 1, whole = i;
    for (; end < j->n_windows && fold_of(j, &j->w[end]) == fold; end++) {
        if (j->w[end].origin != j->w[end - 1].origin) whole = end;
        if (end - i >= AT_ONCE && whole > i) return whole - i;
    }
    return end - i;
}

/* ---- answers ---- */

/* The laws of one target, of the stack without the diffusion networks. */
static llap_status ask_others(judge *j, int64_t c, const ll_forecast_window *w, int64_t n,
                              ll_arena *arena, ll_anchor_request **out)
{
    ll_anchor_request *r = ll_arena_new(arena, (size_t)n, sizeof *r);
    int64_t           *entity = ll_arena_new(arena, (size_t)n, sizeof *entity);
    size_t             queries = 0;
    if (r == NULL || entity == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++) {
        const size_t Q = (size_t)w[i].n_query;
        double      *t = ll_arena_new(arena, Q, sizeof *t);
        ll_law      *law = ll_arena_new(arena, Q, sizeof *law);
        if (t == NULL || law == NULL) return LLAP_ENOMEM;
        for (size_t q = 0; q < Q; q++) t[q] = ll_model_time(j->m, w[i].time[q]);
        r[i] = (ll_anchor_request){ .history = j->series.target[c].series[w[i].entity],
                                    .series = j->series.known[w[i].entity],
                                    .origin = ll_model_time(j->m, w[i].origin),
                                    .n_query = Q,
                                    .t_query = t,
                                    .law = law,
                                    .all = j->series.all[c] };
        entity[i] = w[i].entity;
        queries += Q;
    }
    double     *move = ll_arena_new(arena, queries, LL_LAW_LEVELS * sizeof *move);
    llap_status st = move == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = ll_anchor_model_forecast(j->m->anchor[c], r, (size_t)n);
    if (st == LLAP_OK) st = ll_stack_view_move(&j->view, c, r, entity, (size_t)n, move);
    *out = r;
    return st;
}

/* Both answers about query q of window i, and what came true. */
static void keep_value(judge *j, int64_t c, const ll_forecast_window *w, int64_t i, int64_t q,
                       const ll_anchor_request *r)
{
    const int64_t row = w->end + q;
    const ll_law *law = &r->law[q];
    double        own[LL_STACK_LEVELS], their[LL_STACK_LEVELS];
    const double  y = (double)j->p->value[row * j->p->n_vars + j->var[c]];
    ll_stack_draws_moves(&j->draws, c, i, q, w->n_query, law, their);
    for (int l = 0; l < LL_STACK_LEVELS; l++) {
        own[l] = ll_stack_normal[l] + (law->move == NULL ? 0 : law->move[l]);
        their[l] += ll_stack_normal[l];
    }
    ll_law still = *law;
    still.move = NULL;
    const ll_stack_query at =
        ll_stack_view_query(&j->view, c, w->entity, r->origin, r->t_query[q], &still);
    const double z = ll_anchor_score(j->m->anchor[c], &still, y);
    ll_stack_refine(own, j->fine + 2 * j->n * LL_STACK_FINE);
    ll_stack_refine(their, j->fine + (2 * j->n + 1) * LL_STACK_FINE);
    j->truth[j->n] = fmin(fmax(z, -LL_STACK_CLIP), LL_STACK_CLIP);
    j->unit[j->n++] = at.spread;
}

static ll_forecast_request request_of(const judge *j, int64_t at, int64_t n_samples)
{
    return (ll_forecast_request){ .n_samples = n_samples,
                                  .seed = (uint64_t)j->o->seed,
                                  .log = j->o->log,
                                  .progress = j->o->progress,
                                  .at = { "diffusion", at, j->n_windows, "windows", NULL } };
}

static llap_status ask_all(judge *j)
{
    const int64_t C = j->m->frame.n_targets;
    llap_status   st = LLAP_OK;
    for (int64_t first = 0, n; first < j->n_windows && st == LLAP_OK; first += n) {
        const ll_forecast_window *w = j->w + first;
        const ll_forecast_request ask = request_of(j, first, SAMPLES);
        ll_arena                  arena = { 0 };
        n = together(j, first);
        j->m->stack->fold = fold_of(j, w);
        st = ll_report(j->o->progress, &ask.at);
        if (st == LLAP_OK) st = ll_stack_draws_ask(&j->draws, &ask, w, n, &arena);
        for (int64_t c = 0; c < C && st == LLAP_OK; c++) {
            ll_anchor_request *r = NULL;
            st = ask_others(j, c, w, n, &arena, &r);
            for (int64_t i = 0; i < n && st == LLAP_OK; i++)
                for (int64_t q = 0; q < w[i].n_query; q++)
                    if (ll_panel_observed(j->p, w[i].end + q, j->var[c]))
                        keep_value(j, c, &w[i], i, q, &r[i]);
        }
        ll_arena_deinit(&arena);
    }
    return st;
}

/* ---- the weight ---- */

static double score_of(const ll_stack_answers *a, double weight)
{
    return ll_stack_pool_score(a, (double[]){ 1 - weight, weight });
}

/* The least score over the grid, with the weight drawn towards 0. */
static double best_of(const ll_stack_answers *a)
{
    enum { GRID = 20 };
    const double none = score_of(a, 0);
    double       best = 0, least = none;
    for (int k = 1; k <= GRID; k++) {
        const double w = (double)k / GRID, s = score_of(a, w) + SHRINK * w * w * none;
        if (s < least) best = w;
        least = fmin(s, least);
    }
    return best;
}

double ll_stack_diffusion_weight(int64_t n, const double *fine, const double *truth,
                                 const double *unit, double gain[2])
{
    const int64_t    half = n / 2, first[] = { 0, half }, count[] = { half, n - half };
    ll_stack_answers a[2];
    double           weight[2];
    gain[0] = gain[1] = 0;
    if (half < 1) return 0;
    for (int k = 0; k < 2; k++) {
        a[k] = (ll_stack_answers){ count[k], 2, fine + 2 * first[k] * LL_STACK_FINE,
                                   truth + first[k], unit + first[k] };
        weight[k] = best_of(&a[k]);
    }
    for (int k = 0; k < 2; k++) {
        const double none = score_of(&a[1 - k], 0);
        gain[k] = none > 0 ? 1 - score_of(&a[1 - k], weight[k]) / none : 0;
    }
    const bool pays = gain[0] > 0 && gain[1] > 0 && gain[0] + gain[1] >= 2 * LEAST;
    return pays ? fmin(weight[0], weight[1]) : 0;
}

/* ---- the order of paths ---- */

/* Energy score of the paths of one window and target where something was read; *sum grows by it. */
static llap_status add_energy(const judge *j, int64_t c, const ll_forecast_window *w,
                              const double *value, ll_arena *arena, double *sum, double *count)
{
    const int64_t   Q = w->n_query;
    const ll_chain *chain = j->m->anchor[c]->chain;
    const size_t    series = ll_model_series_of(j->m, j->p, w->entity);
    double         *path = ll_arena_new(arena, (size_t)(PATHS * Q), sizeof *path);
    double         *truth = ll_arena_new(arena, (size_t)Q, sizeof *truth);
    int64_t        *at = ll_arena_new(arena, (size_t)Q, sizeof *at), n = 0;
    if (path == NULL || truth == NULL || at == NULL) return LLAP_ENOMEM;
    for (int64_t q = 0; q < Q; q++)
        if (ll_panel_observed(j->p, w->end + q, j->var[c])) at[n++] = q;
    for (int64_t k = 0; k < n; k++) {
        truth[k] = ll_chain_unit_of(
            chain, series, (double)j->p->value[(w->end + at[k]) * j->p->n_vars + j->var[c]]);
        for (int64_t s = 0; s < PATHS; s++)
            path[s * n + k] = ll_chain_unit_of(chain, series, value[s * Q + at[k]]);
    }
    if (n > 0) *sum += metric_energy(path, PATHS, n, truth);
    *count += n > 0;
    return LLAP_OK;
}

/* Mean energy score of the stack's paths, in deviations of training. */
static llap_status energy_of(judge *j, bool ranks, double *energy)
{
    const int64_t C = j->m->frame.n_targets;
    ll_forecaster f = { 0 };
    double        sum = 0, count = 0;
    j->m->stack->diffusion.ranks = ranks;
    llap_status st = ll_stack_forecaster(j->m, j->p, j->var, j->backend, NULL, &f);
    for (int64_t i = 0, n; i < j->n_windows && st == LLAP_OK; i += n) {
        const ll_forecast_request ask = request_of(j, i, PATHS);
        ll_arena                  arena = { 0 };
        n = together(j, i);
        j->m->stack->fold = fold_of(j, &j->w[i]);
        ll_forecast_members *a = ll_arena_new(&arena, (size_t)(n * C), sizeof *a);
        st = a == NULL ? LLAP_ENOMEM : f.forecast(&f, &ask, j->w + i, n, &arena, a);
        for (int64_t k = 0; k < n * C && st == LLAP_OK; k++)
            st = add_energy(j, k % C, &j->w[i + k / C], a[k].value, &arena, &sum, &count);
        ll_arena_deinit(&arena);
    }
    ll_forecaster_deinit(&f);
    *energy = count > 0 ? sum / count : NAN;
    return st;
}

static llap_status choose_order(judge *j)
{
    ll_stack_diffusion *d = &j->m->stack->diffusion;
    double              anchor = NAN, own = NAN;
    int64_t             kept = 0, origins = 0;
    for (int64_t i = 0; i < j->n_windows; i++) {
        origins += i > 0 && j->w[i].origin != j->w[i - 1].origin;
        if (origins % 3 == 0) j->w[kept++] = j->w[i];
    }
    j->n_windows = kept;
    llap_status st = energy_of(j, false, &anchor);
    if (st == LLAP_OK) st = energy_of(j, true, &own);
    d->ranks = st == LLAP_OK && own < (1 - ENERGY) * anchor;
    if (st == LLAP_OK)
        ll_logf(j->o->log, LLAP_LOG_INFO,
                "stack: energy score of paths on validation %.4f in the anchor's order, %.4f in "
                "that of the diffusion networks: the %s",
                anchor, own, d->ranks ? "latter" : "former");
    return st;
}

/* ---- all of it ---- */

static llap_status judge_init(judge *j)
{
    const int64_t C = j->m->frame.n_targets;
    size_t        values = 0;
    llap_status   st = choose_windows(j);
    for (int64_t i = 0; i < j->n_windows && st == LLAP_OK; i++)
        values += (size_t)(j->w[i].n_query * C);
    j->fine = ll_new(values + 1, 2 * LL_STACK_FINE * sizeof *j->fine);
    j->truth = ll_new(values + 1, sizeof *j->truth);
    j->unit = ll_new(values + 1, sizeof *j->unit);
    if (st == LLAP_OK && (j->fine == NULL || j->truth == NULL || j->unit == NULL)) st = LLAP_ENOMEM;
    if (st == LLAP_OK) st = ll_stack_view_init(&j->view, j->m, j->m->stack, j->p);
    if (st == LLAP_OK)
        st = ll_target_series_init(&j->series, j->m, j->p, j->var, LL_SERIES_READINGS);
    return st == LLAP_OK ? ll_stack_draws_init(&j->draws, j->m, j->p, j->backend, NULL) : st;
}

static void say_weight(const judge *j, const double gain[2])
{
    const ll_stack_diffusion *d = &j->m->stack->diffusion;
    ll_logf(j->o->log, LLAP_LOG_INFO,
            "stack: diffusion networks: CRPS %.4f on %lld values of validation, the others %.4f; a "
            "weight found on one half of them gains %.1f %% and %.1f %% on the other: weight %.2f",
            d->alone, (long long)j->n, d->without, 100 * gain[0], 100 * gain[1], d->weight);
}

/* weight of the networks, and the scores that go with it. */
static void settle(judge *j)
{
    ll_stack_diffusion    *d = &j->m->stack->diffusion;
    const ll_stack_answers a = { j->n, 2, j->fine, j->truth, j->unit };
    double                 gain[2];
    if (j->n == 0) return;
    d->weight = ll_stack_diffusion_weight(j->n, j->fine, j->truth, j->unit, gain);
    d->alone = score_of(&a, 1);
    d->without = score_of(&a, 0);
    d->score = score_of(&a, d->weight);
    say_weight(j, gain);
}

llap_status ll_train_stack_diffusion(llap_model *m, const llap_panel *p, const int64_t *var,
                                     const ll_stack_folds *folds, const llap_train_opts *o,
                                     const ll_backend *backend)
{
    judge j = { .m = m, .p = p, .var = var, .o = o, .folds = folds, .backend = backend };
    ll_stack_diffusion *d = &m->stack->diffusion;
    ll_feature_config  *c = &m->network->config.features;
    const bool          finite = c->calibration_factor.n > 0; /* draws of validation were */
    *d = (ll_stack_diffusion){ .tried = true, .samples = SAMPLES };
    c->answer_source = LL_ANSWER_BY_NETWORKS;
    c->fill_past = c->fill_both = 0; /* all sensors fill gaps, or the anchor */
    llap_status st = finite ? judge_init(&j) : LLAP_OK;
    if (st == LLAP_OK && finite) st = ask_all(&j);
    if (st == LLAP_OK) settle(&j);
    const bool own = c->view == LL_FEATURE_JOINT || m->joint == NULL; /* else the anchor's order */
    if (st == LLAP_OK && own && d->weight > 0) st = choose_order(&j);
    judge_deinit(&j);
    if (st == LLAP_OK && !ll_stack_diffuses(d)) {
        ll_network_destroy(m->network);
        m->network = NULL;
    }
    return st;
}
