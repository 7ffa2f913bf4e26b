#include "train/stack/stack.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/sort.h"
#include "train/run/budget.h"
#include "train/stack/ranks.h"
#include "train/stack/set.h"
#include "train/stack/weights.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* ---- members ---- */

typedef struct kind_of { /* docs/spec/stack.md 4 */
    int64_t hidden;
    double  drop_in, drop_hidden, lr, weight_decay;
} kind_of;

static const kind_of kinds[LL_STACK_KINDS] = {
    [LL_STACK_S] = { 128, 0.3, 0.3, 5e-4, 0.2 },
    [LL_STACK_R] = { 64, 0.3, 0.3, 5e-4, 0.2 },
    [LL_STACK_U] = { 96, 0.2, 0.25, 1e-3, 0.1 },
    [LL_STACK_V] = { 96, 0.2, 0.25, 1e-3, 0.1 },
};

static const int64_t looks[] = { 15, 30, 60, 100, 150, 220, 320, 450, 650, 900, 1300, 1800 };
#define FAR 8.0 /* targets without the anchor are held within this */

typedef struct member_run {
    const ll_stack_set *f;
    const llap_log     *log;
    ll_stack_kind       kind;
    ll_stack_trainer   *trainer;
    double              start[LL_STACK_LEVELS];
    float              *x, *y; /* [n,width], [n,2] */
    double             *unit;  /* [n] what 1 of the target is in standard deviations of training */
    double             *quantile; /* [n,levels] of the last look */
    char                name[16];
} member_run;

static double mean_unit(const member_run *r)
{
    double sum = 0;
    for (int64_t i = 0; i < r->f->n; i++) sum += r->unit[i];
    return sum / (double)r->f->n;
}

/* The empirical quantiles of the targets. */
static llap_status start_from_targets(member_run *r)
{
    const int64_t n = r->f->n;
    double       *y = ll_new((size_t)n, sizeof *y);
    if (y == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++) y[i] = (double)r->y[2 * i];
    ll_sort_doubles(y, (size_t)n);
    for (int l = 0; l < LL_STACK_LEVELS; l++)
        r->start[l] = y[(int64_t)(ll_stack_level[l] * (double)(n - 1))];
    ll_free(y);
    return LLAP_OK;
}

/* What the networks are to meet, and what it counts. */
static llap_status set_targets(member_run *r)
{
    const ll_stack_set *f = r->f;
    const bool          anchored = ll_stack_anchored(r->kind);
    for (int64_t i = 0; i < f->n; i++) {
        const ll_stack_query *q = &f->raw[i].query;
        const double          sd = ll_stack_scale_at(&f->stack->scale[q->target], q->t - q->origin);
        const double          away = (f->y[i] - f->raw[i].base) / sd;
        r->unit[i] = anchored ? q->spread : sd;
        r->y[2 * i] = (float)(anchored ? f->z[i] : fmin(fmax(away, -FAR), FAR));
    }
    const double mean = mean_unit(r);
    for (int64_t i = 0; i < f->n; i++) r->y[2 * i + 1] = (float)(r->unit[i] / mean);
    memcpy(r->start, ll_stack_normal, sizeof r->start);
    return anchored ? LLAP_OK : start_from_targets(r);
}

static void member_deinit(member_run *r)
{
    ll_stack_trainer_destroy(r->trainer);
    ll_free(r->x);
    ll_free(r->y);
    ll_free(r->unit);
    ll_free(r->quantile);
}

static llap_status member_init(member_run *r, const ll_stack_set *f, ll_stack_kind kind,
                               const llap_train_opts *o, const ll_recipe_stack *how,
                               const ll_backend *backend)
{
    const size_t      n = (size_t)f->n;
    ll_stack_columns *c = &f->stack->member[kind].columns;
    *r = (member_run){ .f = f, .log = o->log, .kind = kind };
    snprintf(r->name, sizeof r->name, "stack.%s", ll_stack_kind_names[kind]);
    llap_status st =
        ll_stack_columns_init(c, &f->stack->layout, ll_stack_anchored(kind), ll_stack_levels(kind));
    if (st != LLAP_OK) return st;
    ll_stack_columns_fit(c, f->raw, f->n);
    r->x = ll_new(n, (size_t)c->width * sizeof *r->x);
    r->y = ll_new(n, 2 * sizeof *r->y);
    r->unit = ll_new(n, sizeof *r->unit);
    r->quantile = ll_new(n, LL_STACK_LEVELS * sizeof *r->quantile);
    if (r->x == NULL || r->y == NULL || r->unit == NULL || r->quantile == NULL) return LLAP_ENOMEM;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < f->n; i++) ll_stack_columns_put(c, &f->raw[i], r->x + i * c->width);
    st = set_targets(r);
    const ll_stack_rows rows = { .n = f->n,
                                 .width = c->width,
                                 .x = r->x,
                                 .y = r->y,
                                 .start = r->start,
                                 .folds = LL_STACK_FOLDS,
                                 .seeds = how->seeds,
                                 .fold = f->fold };
    const ll_stack_how  train = { .hidden = kinds[kind].hidden,
                                  .batch = how->batch,
                                  .drop_in = kinds[kind].drop_in,
                                  .drop_hidden = kinds[kind].drop_hidden,
                                  .lr = kinds[kind].lr,
                                  .weight_decay = kinds[kind].weight_decay,
                                  .seed = (uint64_t)o->seed * LL_STACK_KINDS + (uint64_t)kind,
                                  .backend = backend,
                                  .n_threads = omp_get_max_threads() };
    return st == LLAP_OK ? ll_stack_trainer_create(&rows, &train, &r->trainer) : st;
}

static llap_status member_step(void *user, int64_t step, double *loss, double *norm)
{
    member_run *r = user;
    return ll_stack_trainer_step(r->trainer, step, loss, norm);
}

static bool member_look(void *user, int64_t step)
{
    (void)user;
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (step == looks[i]) return true;
    return false;
}

/* CRPS out of fold, in standard deviations of training. */
static llap_status member_score(member_run *r, double *score)
{
    const ll_stack_set *f = r->f;
    const llap_status   st = ll_stack_trainer_answers(r->trainer, r->quantile);
    double              sum = 0;
    if (st != LLAP_OK) return st;
    for (int64_t i = 0; i < f->n; i++) {
        double q[LL_STACK_LEVELS], fine[LL_STACK_FINE];
        for (int l = 0; l < LL_STACK_LEVELS; l++)
            q[l] = r->start[l] + r->quantile[i * LL_STACK_LEVELS + l];
        ll_stack_refine(q, fine);
        sum += r->unit[i] * ll_stack_crps(fine, (double)r->y[2 * i]);
    }
    *score = sum / (double)f->n;
    return LLAP_OK;
}

static llap_status member_check(void *user, int64_t step, double *score)
{
    member_run       *r = user;
    const llap_status st = member_score(r, score);
    if (st == LLAP_OK)
        ll_logf(r->log, LLAP_LOG_INFO, "%s: step %lld: CRPS %.4f out of fold (anchor %.4f)",
                r->name, (long long)step, *score, r->f->stack->anchor_score);
    return st;
}

/* ---- how long it takes ---- */

/* Seconds of a step of all four members, as many networks of a fold as how says, from a few steps
 * of the first. */
static llap_status measure(member_run *r, double *each)
{
    enum { TRIED = 3 };
    double       loss, norm, work[LL_STACK_KINDS], all = 0;
    llap_status  st = ll_stack_trainer_step(r->trainer, 0, &loss, &norm); /* warm */
    const double began = omp_get_wtime();
    for (int i = 1; i <= TRIED && st == LLAP_OK; i++)
        st = ll_stack_trainer_step(r->trainer, i, &loss, &norm);
    const double step = (omp_get_wtime() - began) / TRIED;
    const double width = (double)ll_stack_trainer_shape(r->trainer).width;
    for (int k = 0; k < LL_STACK_KINDS; k++) {
        const double h = (double)kinds[k].hidden;
        work[k] = (ll_stack_levels((ll_stack_kind)k) ? width : 0.7 * width) * h + h * h;
        all += work[k];
    }
    *each = 1.1 * step * all / work[r->kind]; /* looks too */
    return st;
}

/* How many networks train and for how long, before the first does, unless it was settled before.
 * *fits: some do. */
static llap_status settle_work(ll_training_run *run, ll_stack_set *f, const llap_train_opts *o,
                               ll_recipe_stack *how, const ll_backend *backend, bool *fits)
{
    char             without[120];
    ll_work          w = { how->seeds, how->steps };
    ll_work_question q = {
        .name = "stack", .asked = w, .less = { true, true }, .of_stack = true, .without = without
    };
    if (!ll_work_settled(run, q.name, &w)) {
        ll_stack_columns *c = &f->stack->member[LL_STACK_S].columns;
        member_run        r;
        double            each = 0;
        llap_status       st = member_init(&r, f, LL_STACK_S, o, how, backend);
        if (st == LLAP_OK) st = measure(&r, &each);
        snprintf(without, sizeof without,
                 "%lld rows of %lld columns; CRPS of the anchor alone %.4f", (long long)f->n,
                 (long long)c->width, f->stack->anchor_score);
        const ll_work_cost cost = { .step = each / (double)how->seeds };
        if (st == LLAP_OK) st = ll_work_settle(run, o, &q, &cost, &w);
        member_deinit(&r);
        ll_stack_columns_deinit(c);
        *c = (ll_stack_columns){ 0 };
        if (st != LLAP_OK) return st;
    }
    how->seeds = w.networks;
    how->steps = w.steps;
    *fits = w.networks > 0;
    return LLAP_OK;
}

/* ---- what a missing input costs ---- */

/* The rows as they are where an input of this name was never read; NULL: as they were. */
static llap_status hide_input(member_run *r, const char *name)
{
    const ll_stack_set     *f = r->f;
    const ll_stack         *s = f->stack;
    const ll_stack_columns *c = &s->member[r->kind].columns;
    const int64_t           first = s->layout.targets;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < f->n; i++) {
        float *row = r->x + i * c->width, *missing = row + c->n;
        ll_stack_columns_put(c, &f->raw[i], row);
        for (int64_t k = 0; name != NULL && k < c->n; k++) {
            const int64_t v = c->kind[k].variable - first;
            const bool    hidden = v >= 0 && strcmp(s->input[v].name, name) == 0;
            if (hidden) row[k] = 0.0f;
            if (c->missing[k] != 0 && hidden) *missing = 1.0f;
            missing += c->missing[k] != 0;
        }
    }
    return ll_stack_trainer_renew(r->trainer);
}

/* Score of the member where each input is missing, [inputs]. What it last answered is lost. */
static llap_status score_without(member_run *r, const llap_train_opts *o, double *without)
{
    const ll_stack *s = r->f->stack;
    llap_status     st = LLAP_OK;
    for (int64_t i = 0; i < s->layout.inputs && st == LLAP_OK; i++) {
        const bool same = i > 0 && strcmp(s->input[i].name, s->input[i - 1].name) == 0;
        without[i] = same ? without[i - 1] : 0;
        if (same) continue; /* the other half of a direction */
        st = ll_report(o->progress, &(llap_progress_event){ r->name, i, s->layout.inputs, "inputs",
                                                            s->input[i].name });
        if (st == LLAP_OK) st = hide_input(r, s->input[i].name);
        if (st == LLAP_OK) st = member_score(r, &without[i]);
    }
    return st;
}

/* Of the pool. CRPS is convex in the quantiles, so that the pool's is at most the weighted mean of
 * its members'; both sides of the comparison are such means. */
static void settle_costs(ll_stack *s, const double *without)
{
    double with = s->weight[0] * s->anchor_score;
    for (int k = 0; k < LL_STACK_KINDS; k++) with += s->weight[1 + k] * s->member[k].score;
    for (int64_t i = 0; i < s->layout.inputs; i++) {
        double lost = s->weight[0] * s->anchor_score;
        for (int k = 0; k < LL_STACK_KINDS; k++)
            lost += s->weight[1 + k] * without[k * s->layout.inputs + i];
        s->input[i].cost = with > 0 && isfinite(lost) ? lost / with - 1 : 0;
    }
}

static llap_status train_member(ll_training_run *run, ll_stack_set *f, ll_stack_kind kind,
                                const llap_train_opts *o, const ll_recipe_stack *how,
                                const ll_backend *backend, double *moves, double *without)
{
    static const ll_backend floats = { .name = "floats", .real_bytes = sizeof(float) };
    ll_stack_member        *m = &f->stack->member[kind];
    member_run              r;
    ll_stage_result         result;
    llap_status             st = member_init(&r, f, kind, o, how, backend);
    if (st == LLAP_OK) {
        ll_stage stage = LL_STAGE_DEFAULT;
        stage.name = r.name;
        stage.params = ll_stack_trainer_params(r.trainer);
        stage.user = &r;
        stage.n_steps = how->steps;
        stage.patience = how->patience;
        stage.lr = kinds[kind].lr;
        stage.look = member_look;
        stage.step = member_step;
        stage.evaluate = member_check;
        st = ll_training_run_stage(run, &stage, &result);
    }
    if (st == LLAP_OK) st = member_score(&r, &m->score);
    if (st == LLAP_OK) {
        m->steps = result.best_step;
        m->shape = ll_stack_trainer_shape(r.trainer);
        memcpy(m->start, r.start, sizeof m->start);
        st = ll_stack_weights(&m->shape, &floats, &m->params);
    }
    if (st == LLAP_OK)
        st = ll_params_take(m->params, "", ll_stack_trainer_params(r.trainer), "ema.");
    for (int64_t i = 0; i < f->n && st == LLAP_OK; i++)
        ll_stack_moves_of(f->stack, kind, &f->raw[i], i, r.quantile + i * LL_STACK_LEVELS,
                          ll_stack_set_score, f, moves + i * LL_STACK_LEVELS);
    if (st == LLAP_OK) st = score_without(&r, o, without);
    member_deinit(&r);
    return st;
}

/* ---- scales without the anchor ---- */

/* The least single-precision number that is not below x: files keep scales as such. */
static double float_above(double x)
{
    const float f = (float)x;
    return (double)f < x ? (double)nextafterf(f, INFINITY) : (double)f;
}

/* The deviation of y less the base in buckets of leads, as many rows in each. */
static llap_status fit_scale(ll_stack_set *f, int64_t target)
{
    enum { B = LL_STACK_BUCKETS };
    ll_stack_scale *s = &f->stack->scale[target];
    double         *lead = ll_new((size_t)f->n + 1, sizeof *lead), sum[B] = { 0 }, n[B] = { 0 };
    size_t          count = 0;
    if (lead == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < f->n; i++)
        if (f->raw[i].query.target == target)
            lead[count++] = f->raw[i].query.t - f->raw[i].query.origin;
    ll_sort_doubles(lead, count);
    for (int b = 0; b < B - 1; b++)
        s->edge[b] = count == 0 ? 0 : float_above(lead[(size_t)(b + 1) * count / B]);
    ll_free(lead);
    for (int64_t i = 0; i < f->n; i++) {
        const ll_stack_query *q = &f->raw[i].query;
        int                   b = 0;
        if (q->target != target) continue;
        while (b < B - 1 && q->t - q->origin > s->edge[b]) b++;
        const double away = f->y[i] - f->raw[i].base;
        n[b]++;
        sum[b] += away * away;
    }
    for (int b = 0; b < B; b++) /* a bucket without rows: that before it */
        s->sd[b] = n[b] > 0 ? float_above(fmax(sqrt(sum[b] / n[b]), 1e-3))
                   : b > 0  ? s->sd[b - 1]
                            : 1;
    return LLAP_OK;
}

/* ---- the pool ---- */

/* CRPS of the anchor, before members are compared with it. */
static double score_anchor(const ll_stack_set *f)
{
    double sum = 0;
    for (int64_t i = 0; i < f->n; i++)
        sum += f->raw[i].query.spread * ll_stack_crps(ll_stack_fine_normal, f->z[i]);
    return f->n == 0 ? 0 : sum / (double)f->n;
}

/* Members without a weight go. */
static void drop_idle(ll_stack *s)
{
    for (int k = 0; k < LL_STACK_KINDS; k++) {
        ll_stack_member *m = &s->member[k];
        m->used = m->params != NULL && s->weight[1 + k] > 0;
        if (m->used) continue;
        ll_stack_columns_deinit(&m->columns);
        ll_params_destroy(m->params);
        m->params = NULL;
    }
}

static llap_status train_members(ll_training_run *run, ll_stack_set *f, const llap_train_opts *o,
                                 const ll_recipe_stack *how, const ll_backend *backend)
{
    const size_t    each = (size_t)f->n * LL_STACK_LEVELS;
    const size_t    inputs = (size_t)f->stack->layout.inputs;
    double         *moves = ll_new(LL_STACK_KINDS, each * sizeof *moves);
    double         *without = ll_new(LL_STACK_KINDS, inputs * sizeof *without);
    llap_status     st = moves == NULL || without == NULL ? LLAP_ENOMEM : LLAP_OK;
    const ll_ranks *ranks = ll_ranks_joined();
    for (int k = 0; k < LL_STACK_KINDS && st == LLAP_OK; k++)
        if (ll_ranks_mine(ranks, k))
            st = train_member(run, f, (ll_stack_kind)k, o, how, backend, moves + (size_t)k * each,
                              without + (size_t)k * inputs);
    if (st == LLAP_OK) st = ll_stack_share_out(ranks, f, moves, without);
    if (st == LLAP_OK) st = ll_stack_settle(f, moves, how->shrink, o->log);
    if (st == LLAP_OK) settle_costs(f->stack, without);
    ll_free(moves);
    ll_free(without);
    if (st != LLAP_OK) return st;
    drop_idle(f->stack);
    return LLAP_OK;
}

llap_status ll_train_stack(llap_model *m, ll_training_run *run, const llap_panel *p,
                           const int64_t *var, const ll_static_column *statics,
                           const llap_train_opts *o, ll_recipe_stack *how,
                           const ll_backend *backend, ll_stack_folds *folds)
{
    bool                    fits = true;
    ll_stack_set            f;
    const ll_stack_set_opts rows = { .var = var,
                                     .look = { o->inputs, statics, o->log },
                                     .seed = (uint64_t)o->seed,
                                     .rows = how->rows,
                                     .progress = o->progress };
    llap_status             st = ll_stack_set_init(&f, m, p, &rows);
    for (int64_t c = 0; c < m->frame.n_targets && st == LLAP_OK; c++) st = fit_scale(&f, c);
    if (st == LLAP_OK && ll_stack_set_enough(&f)) {
        f.stack->anchor_score = score_anchor(&f);
        st = settle_work(run, &f, o, how, backend, &fits);
        if (st == LLAP_OK && fits) st = train_members(run, &f, o, how, backend);
    } else if (st == LLAP_OK) {
        ll_logf(o->log, LLAP_LOG_WARNING,
                "stack: %lld rows are too few for folds in time: the anchor answers",
                (long long)f.n);
    }
    if (st == LLAP_OK && fits) {
        m->stack = f.stack;
        *folds = f.folds;
        f.stack = NULL;
    }
    ll_stack_set_deinit(&f);
    return st;
}
