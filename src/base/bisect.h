/* Places in numbers that do not decrease, by bisection:
 *
 *     row = ll_first_after(p->time, p->start[e], p->start[e + 1], origin);
 *
 * Each looks at x[first .. end) and answers `end` where there is no such place. */
#ifndef LL_BASE_BISECT_H
#define LL_BASE_BISECT_H

#include <stddef.h>
#include <stdint.h>

/* The first that is not below v. */
static inline int64_t ll_first_from(const int64_t *x, int64_t first, int64_t end, int64_t v)
{
    while (first < end) {
        const int64_t mid = first + (end - first) / 2;
        if (x[mid] < v) first = mid + 1;
        else end = mid;
    }
    return first;
}

/* The first that is above v. */
static inline int64_t ll_first_after(const int64_t *x, int64_t first, int64_t end, int64_t v)
{
    return v == INT64_MAX ? end : ll_first_from(x, first, end, v + 1);
}

/* How many of x[0 .. n) are at most v. */
static inline size_t ll_count_upto(const double *x, size_t n, double v)
{
    size_t first = 0;
    while (first < n) {
        const size_t mid = first + (n - first) / 2;
        if (x[mid] <= v) first = mid + 1;
        else n = mid;
    }
    return first;
}

#endif
