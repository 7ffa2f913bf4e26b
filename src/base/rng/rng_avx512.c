#include "base/rng/rng.h"

#if defined __AVX512F__
#include <immintrin.h>

enum { LANES = 8 };
typedef __m512i lanes;

static inline lanes set(uint32_t x) { return _mm512_set1_epi64((long long)x); }
static inline lanes upper(lanes x) { return _mm512_srli_epi64(x, 32); }
static inline lanes times(lanes x, lanes y) { return _mm512_mul_epu32(x, y); }
static inline lanes mix(lanes x, lanes y, lanes z)
{
    return _mm512_ternarylogic_epi64(x, y, z, 0x96);
}
static inline lanes count(uint64_t first)
{
    const lanes steps = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_add_epi64(_mm512_set1_epi64((long long)first), steps);
}

/* Blocks of a, b, c, d, one after the other. */
static inline void put(uint32_t *to, lanes a, lanes b, lanes c, lanes d)
{
    const lanes ab = _mm512_mask_blend_epi32(0xaaaa, a, _mm512_slli_epi64(b, 32));
    const lanes cd = _mm512_mask_blend_epi32(0xaaaa, c, _mm512_slli_epi64(d, 32));
    const lanes low = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
    const lanes high = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi64(ab, low, cd));
    _mm512_storeu_si512(to + 16, _mm512_permutex2var_epi64(ab, high, cd));
}

#define BLOCKS ll_blocks_avx512
#endif
#include "base/rng/rng_blocks.h"
