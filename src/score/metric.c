#include "score/metric.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

double metric_crps_pairs(const double *x, int64_t n, double y, const int64_t *i, const int64_t *j,
                         int64_t n_pairs)
{
    double away = 0, apart = 0;
    for (int64_t k = 0; k < n; k++) away += fabs(x[k] - y);
    for (int64_t k = 0; k < n_pairs; k++) {
        assert(i[k] >= 0 && i[k] < n && j[k] >= 0 && j[k] < n);
        apart += fabs(x[i[k]] - x[j[k]]);
    }
    return away / (double)n - (n_pairs > 0 ? 0.5 * apart / (double)n_pairs : 0);
}

double metric_mean(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++) sum += x[k];
    return sum / (double)n;
}

double metric_median(const double *x, int64_t n)
{
    if (n == 0) return NAN; /* no member is finite */
    return n % 2 == 1 ? x[n / 2] : 0.5 * (x[n / 2 - 1] + x[n / 2]);
}

/* Linear between the members, `at` counted from 0. */
static double between(const double *x, int64_t n, double at)
{
    const int64_t low = (int64_t)at;
    const double  part = at - (double)low;
    return low + 1 < n ? x[low] + part * (x[low + 1] - x[low]) : x[n - 1];
}

double metric_quantile(const double *x, int64_t n, double p, bool drawn)
{
    const double at = drawn ? p * (double)(n + 1) - 1 : p * (double)n - 0.5;
    const double slack = 1e-9; /* 0.2 * 5 - 1 is 0 */
    if (at < -slack || at > (double)(n - 1) + slack) return NAN;
    return between(x, n, fmax(at, 0));
}

double metric_quantile_inner(const double *x, int64_t n, double p)
{
    if (n == 0) return NAN; /* no member is finite */
    return between(x, n, p * (double)(n - 1));
}

double metric_pinball(double quantile, double y, double p)
{
    return y >= quantile ? p * (y - quantile) : (1 - p) * (quantile - y);
}

static double distance(const double *a, const double *b, int64_t n, const double *y)
{
    double sum = 0;
    for (int64_t q = 0; q < n; q++)
        if (!isnan(y[q])) sum += (a[q] - b[q]) * (a[q] - b[q]);
    return sqrt(sum);
}

double metric_energy(const double *path, int64_t n, int64_t n_query, const double *y)
{
    double  away = 0, apart = 0;
    int64_t n_known = 0;
    assert(n >= 2);
    for (int64_t q = 0; q < n_query; q++) n_known += !isnan(y[q]);
    for (int64_t i = 0; i < n; i++) {
        away += distance(path + i * n_query, y, n_query, y);
        for (int64_t j = 0; j < i; j++)
            apart += distance(path + i * n_query, path + j * n_query, n_query, y);
    }
    const double m = (double)n;
    return n_known == 0 ? NAN : (away / m - apart / (m * (m - 1))) / sqrt((double)n_known);
}

/* Shell's sort with Ciura's gaps: in place, no callback, and never quadratic on what comes in. */
static void sort_many(double *x, int64_t n)
{
    static const int64_t gap[] = { 1750000, 776591, 345152, 153401, 68178, 30301, 13467, 5985, 2660,
                                   1182,    525,    301,    132,    57,    23,    10,    4,    1 };
    for (size_t g = 0; g < sizeof gap / sizeof *gap; g++)
        for (int64_t i = gap[g]; i < n; i++) {
            const double value = x[i];
            int64_t      at = i;
            for (; at >= gap[g] && x[at - gap[g]] > value; at -= gap[g]) x[at] = x[at - gap[g]];
            x[at] = value;
        }
}

/* to [n] = both runs from [0 .. half) and from [half .. n) in order, without branches that nobody
 * can predict. */
static void merge(const double *from, int64_t half, int64_t n, double *to)
{
    int64_t i = 0, j = half, k = 0;
    while (i < half && j < n) {
        const double a = from[i], b = from[j];
        const bool   left = a <= b;
        to[k++] = left ? a : b;
        i += left;
        j += !left;
    }
    while (i < half) to[k++] = from[i++];
    while (j < n) to[k++] = from[j++];
}

enum { RUN = 8, FEW = 1024 };

/* Samples of one forecast: short runs in place, then merged back and forth. */
static void sort_few(double *x, int64_t n)
{
    double  room[FEW], *from = x, *to = room;
    int64_t run = RUN;
    for (int64_t first = 0; first < n; first += RUN)
        for (int64_t i = first + 1; i < n && i < first + RUN; i++) {
            const double value = x[i];
            int64_t      at = i;
            for (; at > first && x[at - 1] > value; at--) x[at] = x[at - 1];
            x[at] = value;
        }
    for (; run < n; run *= 2) {
        for (int64_t first = 0; first < n; first += 2 * run) {
            const int64_t left = n - first;
            merge(from + first, run < left ? run : left, 2 * run < left ? 2 * run : left,
                  to + first);
        }
        double *swap = from;
        from = to;
        to = swap;
    }
    if (from != x) memcpy(x, from, (size_t)n * sizeof *x);
}

void metric_sort(double *x, int64_t n)
{
    if (n <= FEW) sort_few(x, n);
    else sort_many(x, n);
}
