/* Numbers into increasing order, in place. NaN has no place in an order: the callers have none.
 *
 *     ll_sort_doubles(x, n); */
#ifndef LL_BASE_SORT_H
#define LL_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

void ll_sort_doubles(double *x, size_t n);
void ll_sort_floats(float *x, size_t n);
void ll_sort_ints(int64_t *x, size_t n);

#endif
