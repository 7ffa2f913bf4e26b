#include "stack/pool.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { PARTS = 64, STEPS = 500 };

typedef struct slope {
    double score, by[LL_STACK_POOL_MAX];
} slope;

/* Score and its slope by the weights over rows first .. end - 1. */
static slope look_at(const ll_stack_answers *a, const double *w, int64_t first, int64_t end)
{
    slope s = { 0 };
    for (int64_t r = first; r < end; r++) {
        const double *q = a->fine + r * a->members * LL_STACK_FINE;
        for (int i = 0; i < LL_STACK_FINE; i++) {
            const double p = ll_stack_fine_level[i];
            double       x = 0;
            for (int64_t m = 0; m < a->members; m++) x += w[m] * q[m * LL_STACK_FINE + i];
            const double e = a->truth[r] - x, c = 2 * a->unit[r] * ll_stack_fine_share(i);
            const double d = e >= 0 ? p : p - 1;
            s.score += c * d * e;
            for (int64_t m = 0; m < a->members; m++) s.by[m] -= c * d * q[m * LL_STACK_FINE + i];
        }
    }
    return s;
}

/* In fixed parts, added up in order. */
static slope look(const ll_stack_answers *a, const double *w)
{
    slope part[PARTS], all = { 0 };
#pragma omp parallel for schedule(static)
    for (int i = 0; i < PARTS; i++)
        part[i] = look_at(a, w, a->n * i / PARTS, a->n * (i + 1) / PARTS);
    for (int i = 0; i < PARTS; i++) {
        all.score += part[i].score / (double)a->n;
        for (int64_t m = 0; m < a->members; m++) all.by[m] += part[i].by[m] / (double)a->n;
    }
    return all;
}

double ll_stack_pool_score(const ll_stack_answers *a, const double *weight)
{
    return look(a, weight).score;
}

void ll_stack_pool(const ll_stack_answers *a, double shrink, double *weight)
{
    const int64_t M = a->members;
    const double  equal = 1 / (double)M;
    double        first[LL_STACK_POOL_MAX] = { 1 }, best[LL_STACK_POOL_MAX], least = INFINITY;
    assert(a->n >= 1 && M >= 1 && M <= LL_STACK_POOL_MAX);
    const double unit = fmax(ll_stack_pool_score(a, first), 1e-12);
    for (int64_t m = 0; m < M; m++) weight[m] = best[m] = equal;
    for (int k = 0; k < STEPS; k++) { /* exponentiated gradient */
        const slope  s = look(a, weight);
        const double rate = 20 / (1 + 0.05 * k);
        double       score = s.score / unit, sum = 0;
        for (int64_t m = 0; m < M; m++) score += shrink * (weight[m] - equal) * (weight[m] - equal);
        if (score < least) {
            least = score;
            memcpy(best, weight, (size_t)M * sizeof *best);
        }
        for (int64_t m = 0; m < M; m++) {
            const double by = s.by[m] / unit + 2 * shrink * (weight[m] - equal);
            weight[m] = fmax(weight[m], 1e-12) * exp(-rate * by);
            sum += weight[m];
        }
        for (int64_t m = 0; m < M; m++) weight[m] /= sum;
    }
    memcpy(weight, best, (size_t)M * sizeof *best);
}
