#include "base/sort.h"

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
