#include "train/stack/weights.h"

#include "base/alloc.h"
#include "base/log.h"
#include "stack/pool.h"

#include <math.h>
#include <string.h>

enum { POOL_ROWS = 15000, POOLED = 1 + LL_STACK_KINDS, FINE = POOLED * LL_STACK_FINE };
#define LEAST 0.01 /* a smaller weight is none */

static const double anchor_alone[POOLED] = { 1 };

/* Some of the rows, evenly spread: number k is row k * every of the set. */
typedef struct answers {
    int64_t every, n;
    double *fine;         /* [n,FINE] */
    double *truth, *unit; /* [n] */
} answers;

static void answers_deinit(answers *a)
{
    ll_free(a->fine);
    ll_free(a->truth);
    *a = (answers){ 0 };
}

static llap_status answers_room(answers *a, int64_t n)
{
    a->fine = ll_new((size_t)n + 1, FINE * sizeof *a->fine);
    a->truth = ll_new(2 * (size_t)n + 1, sizeof *a->truth);
    a->unit = a->truth == NULL ? NULL : a->truth + n;
    return a->fine == NULL || a->truth == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static llap_status answers_init(answers *a, const ll_stack_set *f, const double *moves)
{
    *a = (answers){ .every = (f->n + POOL_ROWS - 1) / POOL_ROWS };
    a->n = (f->n + a->every - 1) / a->every;
    const llap_status st = answers_room(a, a->n);
    for (int64_t k = 0; st == LLAP_OK && k < a->n; k++) {
        const int64_t i = k * a->every;
        a->truth[k] = f->z[i];
        a->unit[k] = f->raw[i].query.spread;
        for (int m = 0; m < POOLED; m++) {
            double q[LL_STACK_LEVELS];
            for (int l = 0; l < LL_STACK_LEVELS; l++)
                q[l] = ll_stack_normal[l] +
                       (m == 0 ? 0 : moves[((m - 1) * f->n + i) * LL_STACK_LEVELS + l]);
            ll_stack_refine(q, a->fine + k * FINE + m * LL_STACK_FINE);
        }
    }
    return st;
}

static ll_stack_answers from(const answers *a, int64_t first, int64_t n)
{
    return (ll_stack_answers){ n, POOLED, a->fine + first * FINE, a->truth + first,
                               a->unit + first };
}

/* ---- beside a walk ---- */

/* A walk without a calendar foresees nothing: that others do has to be shown. */
static bool is_walk(const ll_anchor_model *a)
{
    return a->kernel.drift == LL_ANCHOR_LEVEL && a->chain->n_climate == 0 &&
           a->chain->known == NULL;
}

enum { BLOCKS = 60 };

/* What the pool gains in blocks of origins, and what the anchor scores there. */
typedef struct gains {
    double first, span; /* of the blocks */
    double gain[BLOCKS + 1], all[BLOCKS + 1];
} gains;

static void gains_init(gains *g, const ll_stack_set *f)
{
    double end = -INFINITY;
    *g = (gains){ .first = INFINITY };
    for (int64_t i = 0; i < f->n; i++) {
        g->first = fmin(g->first, f->raw[i].query.origin);
        end = fmax(end, f->raw[i].query.origin);
    }
    g->span = fmax(f->stack->layout.horizon, (end - g->first) / BLOCKS);
}

/* The share that is gained, and its standard error as if blocks told nothing of each other. */
static double share_of(const gains *g, double *se)
{
    double gain = 0, all = 0, squares = 0, n = 0;
    for (int b = 0; b <= BLOCKS; b++) {
        gain += g->gain[b];
        all += g->all[b];
        n += g->all[b] > 0;
    }
    for (int b = 0; b <= BLOCKS; b++) {
        const double away = g->gain[b] - gain / all * g->all[b];
        squares += away * away;
    }
    *se = n > 1 ? sqrt(squares * n / (n - 1)) / all : INFINITY;
    return gain / all;
}

/* Weights from all folds but one, and what they gain in that one. */
static void judge_fold(const ll_stack_set *f, const answers *a, const uint8_t *fold, int held,
                       double shrink, answers *rest, gains *g)
{
    double weight[POOLED];
    rest->n = 0;
    for (int64_t k = 0; k < a->n; k++) {
        if (fold[k * a->every] == held) continue;
        memcpy(rest->fine + rest->n * FINE, a->fine + k * FINE, FINE * sizeof *rest->fine);
        rest->truth[rest->n] = a->truth[k];
        rest->unit[rest->n++] = a->unit[k];
    }
    const ll_stack_answers others = from(rest, 0, rest->n);
    ll_stack_pool(&others, shrink, weight);
    for (int64_t k = 0; k < a->n; k++) {
        if (fold[k * a->every] != held) continue;
        const ll_stack_answers one = from(a, k, 1);
        const double           alone = ll_stack_pool_score(&one, anchor_alone);
        const int block = (int)((f->raw[k * a->every].query.origin - g->first) / g->span);
        g->gain[block] += alone - ll_stack_pool_score(&one, weight);
        g->all[block] += alone;
    }
}

/* What the pool gains on folds that its weights have not seen, and the standard error of it. Of
 * blocks in time the last alone is asked: the networks of the others have learnt from later times
 * as well, and so know where a walk has gone. */
static llap_status judge(const ll_stack_set *f, const answers *a, double shrink, double *share,
                         double *se)
{
    answers     rest = { .every = 1 };
    gains       g;
    uint8_t    *fold = ll_new((size_t)f->n + 1, sizeof *fold);
    llap_status st = fold == NULL ? LLAP_ENOMEM : answers_room(&rest, a->n);
    if (st == LLAP_OK) gains_init(&g, f);
    for (int k = 0; k < LL_STACK_FOLDS && st == LLAP_OK; k++)
        for (int64_t i = 0; i < f->fold[k].n_held; i++) fold[f->fold[k].held[i]] = (uint8_t)k;
    const int first = f->folds.by_entity ? 0 : LL_STACK_FOLDS - 1;
    for (int k = first; k < LL_STACK_FOLDS && st == LLAP_OK; k++)
        judge_fold(f, a, fold, k, shrink, &rest, &g);
    if (st == LLAP_OK) *share = share_of(&g, se);
    answers_deinit(&rest);
    ll_free(fold);
    return st;
}

/* ---- weights ---- */

static void say_weights(const ll_stack *s, const llap_log *log)
{
    ll_logf(log, LLAP_LOG_INFO, "stack: CRPS %.4f out of fold, anchor %.4f (weight %.2f)", s->score,
            s->anchor_score, s->weight[0]);
    for (int k = 0; k < LL_STACK_KINDS; k++)
        ll_logf(log, LLAP_LOG_INFO, "stack: member %s: weight %.2f, CRPS %.4f after %lld steps",
                ll_stack_kind_names[k], s->weight[1 + k], s->member[k].score,
                (long long)s->member[k].steps);
}

/* Is the pool to answer? Says why not. */
static llap_status decide(const ll_stack_set *f, const answers *a, double shrink,
                          const llap_log *log, bool *pays)
{
    const ll_stack *s = f->stack;
    bool            walk = true;
    double          share = 0, se = 0;
    *pays = s->score < s->anchor_score;
    if (!*pays) {
        ll_logf(
            log, LLAP_LOG_INFO,
            "stack: CRPS %.4f out of fold, no better than the anchor's %.4f: the anchor answers",
            s->score, s->anchor_score);
        return LLAP_OK;
    }
    for (int64_t c = 0; c < s->layout.targets; c++) walk = walk && is_walk(f->view.m->anchor[c]);
    if (!walk) return LLAP_OK;
    const llap_status st = judge(f, a, shrink, &share, &se);
    *pays = st == LLAP_OK && share > LL_STACK_WALK_ERRORS * se;
    if (st == LLAP_OK && !*pays)
        ll_logf(
            log, LLAP_LOG_INFO,
            "stack: the anchor is a random walk, and %.1f %% less CRPS on a part that neither "
            "networks nor weights have seen is not more than %g standard errors of %.1f %%: the "
            "anchor answers",
            100 * share, LL_STACK_WALK_ERRORS, 100 * se);
    return st;
}

llap_status ll_stack_settle(ll_stack_set *f, const double *moves, double shrink,
                            const llap_log *log)
{
    answers     a;
    double     *weight = f->stack->weight, sum = 0;
    bool        pays = false;
    llap_status st = answers_init(&a, f, moves);
    if (st == LLAP_OK) {
        const ll_stack_answers all = from(&a, 0, a.n);
        ll_stack_pool(&all, shrink, weight);
        for (int m = 0; m < POOLED; m++) sum += weight[m] = weight[m] < LEAST ? 0 : weight[m];
        for (int m = 0; m < POOLED; m++) weight[m] /= sum;
        f->stack->anchor_score = ll_stack_pool_score(&all, anchor_alone);
        f->stack->score = ll_stack_pool_score(&all, weight);
        st = decide(f, &a, shrink, log, &pays);
    }
    if (st == LLAP_OK && pays) say_weights(f->stack, log);
    if (st == LLAP_OK && !pays) memcpy(weight, anchor_alone, sizeof anchor_alone);
    answers_deinit(&a);
    return st;
}
