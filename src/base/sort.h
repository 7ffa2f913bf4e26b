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

/* ---- by keys that are strings of bytes ---- */

/* Sorting by keys that are strings of bytes, in place: no allocation, no comparison callback, and
 * time bounded by the bytes of the keys however hostile they are (libc's qsort allocates, and
 * quicksort can be driven to n*n).
 *
 *     static unsigned name_byte(const void *ctx, uint32_t item, size_t depth)
 *     {
 *         const char *const *names = ctx;
 *         return (unsigned char)names[item][depth];
 *     }
 *     uint32_t items[] = { 0, 1, 2 };
 *     ll_radix_sort(items, 3, name_byte, names);      names[items[0]] is now the smallest
 *
 * Equal keys end up side by side in any order. */
/* The digit of an item's key at this depth: 0 where the key ends (it is not asked further), else
 * 1 .. 256. */
typedef unsigned ll_radix_digit(const void *ctx, uint32_t item, size_t depth);

/* Sorts items[0..n), n < 2^32. */
void ll_radix_sort(uint32_t *items, size_t n, ll_radix_digit *digit, const void *ctx);

#endif
