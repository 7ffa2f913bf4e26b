/* Included by rng.c and rng_fma.c, each with its own flags and TRANSFORM(name). */
#include "base/rng/rng.h"

/* z[2i], z[2i+1] from bits[2i], bits[2i+1], n pairs. */
void ll_normals_plain(const uint32_t *bits, size_t n, float *z);
void ll_normals_fma(const uint32_t *bits, size_t n, float *z);

void TRANSFORM(ll_normals)(const uint32_t *restrict bits, size_t n, float *restrict z)
{
    for (size_t i = 0; i < n; i++)
        ll_normal_of(bits[2 * i], bits[2 * i + 1], &z[2 * i], &z[2 * i + 1]);
}
