#include "base/sort.h"

#include <stdbool.h>
#include <stdlib.h>

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int compare_ints(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void ll_sort_doubles(double *x, size_t n)
{
    if (n > 1) qsort(x, n, sizeof *x, compare_doubles);
}

void ll_sort_floats(float *x, size_t n)
{
    if (n > 1) qsort(x, n, sizeof *x, compare_floats);
}

void ll_sort_ints(int64_t *x, size_t n)
{
    if (n > 1) qsort(x, n, sizeof *x, compare_ints);
}

/* ---- by keys that are strings of bytes ---- */

/* Most significant digit first, items moved round in cycles (the "American flag" sort). Groups of
 * a few items are sorted by insertion: counting 257 buckets for each byte that two keys share would
 * cost more. */

enum { N_DIGITS = 257, FEW = 12 };

typedef struct order {
    ll_radix_digit *digit;
    const void     *ctx;
} order;

static int less(const order *o, uint32_t a, uint32_t b, size_t depth)
{
    for (;; depth++) {
        const unsigned da = o->digit(o->ctx, a, depth), db = o->digit(o->ctx, b, depth);
        if (da != db) return da < db;
        if (da == 0) return 0;
    }
}

static void sort_few(const order *o, uint32_t *items, uint32_t n, size_t depth)
{
    for (uint32_t i = 1; i < n; i++) {
        const uint32_t item = items[i];
        uint32_t       j = i;
        for (; j > 0 && less(o, item, items[j - 1], depth); j--) items[j] = items[j - 1];
        items[j] = item;
    }
}

/* Moves the items into one group per digit; end[d] becomes the end of group d. */
static void split(const order *o, uint32_t *items, uint32_t n, size_t depth, uint32_t *end)
{
    uint32_t next[N_DIGITS];
    for (unsigned d = 0; d < N_DIGITS; d++) end[d] = 0;
    for (uint32_t i = 0; i < n; i++) end[o->digit(o->ctx, items[i], depth)]++;
    for (uint32_t d = 0, at = 0; d < N_DIGITS; d++) {
        next[d] = at;
        at += end[d];
        end[d] = at;
    }
    for (unsigned d = 0; d < N_DIGITS; d++) {
        while (next[d] < end[d]) {
            uint32_t item = items[next[d]];
            for (;;) { /* carry it home, take up what lay there */
                const unsigned home = o->digit(o->ctx, item, depth);
                const uint32_t slot = next[home]++;
                const uint32_t found = items[slot];
                items[slot] = item;
                if (home == d) break;
                item = found;
            }
        }
    }
}

/* Whether all have the same digit here, and more behind it. Long keys that begin alike are then
 * passed without buckets. */
static bool alike(const order *o, const uint32_t *items, uint32_t n, size_t depth)
{
    const unsigned d = o->digit(o->ctx, items[0], depth);
    uint32_t       i = 1;
    while (i < n && o->digit(o->ctx, items[i], depth) == d) i++;
    return i == n && d != 0;
}

static void sort_from(const order *o, uint32_t *items, uint32_t n, size_t depth)
{
    while (n > FEW) {
        if (alike(o, items, n, depth)) {
            depth++;
            continue;
        }
        uint32_t end[N_DIGITS];
        split(o, items, n, depth, end);
        depth++;
        /* The largest group goes round this loop, so recursion halves n: at most 32 deep. Group 0
         * has no more digits. */
        unsigned largest = 1;
        for (unsigned d = 2; d < N_DIGITS; d++)
            if (end[d] - end[d - 1] > end[largest] - end[largest - 1]) largest = d;
        for (unsigned d = 1; d < N_DIGITS; d++)
            if (d != largest && end[d] - end[d - 1] > 1)
                sort_from(o, items + end[d - 1], end[d] - end[d - 1], depth);
        n = end[largest] - end[largest - 1];
        items += end[largest - 1];
    }
    sort_few(o, items, n, depth);
}

void ll_radix_sort(uint32_t *items, size_t n, ll_radix_digit *digit, const void *ctx)
{
    const order o = { digit, ctx };
    sort_from(&o, items, (uint32_t)n, 0);
}
