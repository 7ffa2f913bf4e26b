/* Philox4x32-10 on many blocks side by side: the same words as ll_rng_block. A word sits in the
 * lower half of a 64-bit lane, so that one instruction gives both halves of its product; what is in
 * the upper half never matters. Included by rng_fma.c and rng_avx512.c, which define the vectors.
 */
#include "base/rng/rng.h"

enum { LL_BLOCK_LANES = 16 }; /* blocks are made in multiples of this */

/* Blocks first .. first + n - 1 of four words each; writes n rounded up to whole lanes. */
void ll_blocks_fma(const ll_rng *r, uint64_t first, size_t n, uint32_t *out);
void ll_blocks_avx512(const ll_rng *r, uint64_t first, size_t n, uint32_t *out);

#ifdef BLOCKS /* the function's name */

enum { VECTORS = LL_BLOCK_LANES / LANES }; /* independent chains hide the multiplier's latency */

void BLOCKS(const ll_rng *r, uint64_t first, size_t n, uint32_t *out)
{
    const lanes m0 = set(PHILOX_M4x32_0), m1 = set(PHILOX_M4x32_1);
    for (size_t i = 0; i < n; i += LL_BLOCK_LANES) {
        lanes    a[VECTORS], b[VECTORS], c[VECTORS], d[VECTORS];
        uint32_t k0 = r->key[0], k1 = r->key[1];
        for (int v = 0; v < VECTORS; v++) {
            a[v] = count(first + i + (size_t)(v * LANES));
            b[v] = upper(a[v]);
            c[v] = set(r->sample);
            d[v] = set(r->step);
        }
        for (int round = 0; round < 10; round++, k0 += PHILOX_W32_0, k1 += PHILOX_W32_1) {
            const lanes s0 = set(k0), s1 = set(k1);
            for (int v = 0; v < VECTORS; v++) {
                const lanes x = times(m0, a[v]), y = times(m1, c[v]);
                a[v] = mix(upper(y), b[v], s0);
                b[v] = y;
                c[v] = mix(upper(x), d[v], s1);
                d[v] = x;
            }
        }
        for (int v = 0; v < VECTORS; v++)
            put(out + 4 * (i + (size_t)(v * LANES)), a[v], b[v], c[v], d[v]);
    }
}

#endif
