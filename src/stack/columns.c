#include "stack/columns.h"

#include "base/alloc.h"

#include <assert.h>
#include <math.h>

#define CLIP 4.0f
#define RARELY                                                                          \
    0.02 /* a column missing less often than this, or more often than 1 less it, has no \
            indicator */

void ll_stack_columns_deinit(ll_stack_columns *c)
{
    ll_free(c->from);
    ll_free(c->kind);
    ll_free(c->mean);
    *c = (ll_stack_columns){ 0 };
}

llap_status ll_stack_columns_init(ll_stack_columns *c, const ll_stack_layout *l, bool anchored,
                                  bool levels)
{
    const int all = ll_stack_describe(l, NULL);
    *c = (ll_stack_columns){ .anchored = anchored };
    c->from = ll_new((size_t)all, sizeof *c->from);
    c->kind = ll_new((size_t)all, sizeof *c->kind);
    c->mean = ll_new(5 * (size_t)all, sizeof *c->mean);
    if (c->from == NULL || c->kind == NULL || c->mean == NULL) {
        ll_stack_columns_deinit(c);
        return LLAP_ENOMEM;
    }
    c->sd = c->mean + all;
    c->missing = c->sd + all;
    c->low = c->missing + all;
    c->high = c->low + all;
    ll_stack_describe(l, c->kind);
    for (int i = 0; i < all; i++) {
        const ll_stack_column k = c->kind[i];
        if ((k.level && !levels) || (k.role == LL_STACK_ANCHOR && !anchored)) continue;
        assert(c->n <= i);
        c->kind[c->n] = k;
        c->sd[c->n] = 1;
        c->low[c->n] = -INFINITY;
        c->high[c->n] = INFINITY;
        c->from[c->n++] = i;
    }
    c->width = c->n;
    return LLAP_OK;
}

void ll_stack_columns_count(ll_stack_columns *c)
{
    c->width = c->n;
    for (int64_t i = 0; i < c->n; i++) c->width += c->missing[i] != 0;
}

/* Column i of a row before it is standardised. */
static double value_of(const ll_stack_columns *c, const ll_stack_raw *raw, int64_t i)
{
    const double          x = (double)raw->x[c->from[i]];
    const ll_stack_query *q = &raw->query;
    switch (c->kind[i].role) {
    case LL_STACK_RELATIVE:
        return c->anchored ? (x - q->median) / q->spread : x - raw->base;
    case LL_STACK_MEDIAN:
        return c->anchored ? x : raw->base;
    default:
        return x;
    }
}

static float standard(const ll_stack_columns *c, int64_t i, double x)
{
    return ((float)x - c->mean[i]) / c->sd[i];
}

void ll_stack_columns_fit(ll_stack_columns *c, const ll_stack_raw *raw, int64_t n)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < c->n; i++) {
        double  sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
        int64_t seen = 0;
        for (int64_t r = 0; r < n; r++) {
            const double x = value_of(c, &raw[r], i);
            if (isnan(x)) continue;
            seen++;
            sum += x;
            squares += x * x;
            low = fmin(low, x);
            high = fmax(high, x);
        }
        const double share = n == 0 ? 0 : 1 - (double)seen / (double)n;
        const double mean = seen == 0 ? 0 : sum / (double)seen;
        const double var = seen == 0 ? 0 : squares / (double)seen - mean * mean;
        c->missing[i] = share >= RARELY && share <= 1 - RARELY;
        if (!c->kind[i].flag) {
            c->mean[i] = (float)mean;
            c->sd[i] = var > 1e-12 ? (float)sqrt(var) : 1.0f;
        }
        c->low[i] = seen == 0 ? 0 : standard(c, i, low);
        c->high[i] = seen == 0 ? 0 : standard(c, i, high);
    }
    ll_stack_columns_count(c);
}

double ll_stack_columns_put(const ll_stack_columns *c, const ll_stack_raw *raw, float *row)
{
    int64_t next = c->n;
    float   away = 0;
    for (int64_t i = 0; i < c->n; i++) {
        const double x = value_of(c, raw, i);
        const float  s = isnan(x) ? 0.0f : standard(c, i, x);
        /* Training says nothing about what lies beyond its range: it counts as the end of it. */
        const float held = fminf(fmaxf(s, c->low[i]), c->high[i]);
        row[i] = isnan(x) ? 0.0f : fminf(fmaxf(held, -CLIP), CLIP);
        if (!isnan(x) && !c->kind[i].grows) away = fmaxf(away, fabsf(s - held));
        if (c->missing[i] != 0) row[next++] = isnan(x) ? 1.0f : 0.0f;
    }
    assert(next == c->width);
    return (double)away;
}
