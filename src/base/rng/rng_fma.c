#define TRANSFORM(name) name##_fma
#include "base/rng/rng_transform.h"

#if defined __AVX2__
#include <immintrin.h>

enum { LANES = 4 };
typedef __m256i lanes;

static inline lanes set(uint32_t x) { return _mm256_set1_epi64x((long long)x); }
static inline lanes upper(lanes x) { return _mm256_srli_epi64(x, 32); }
static inline lanes times(lanes x, lanes y) { return _mm256_mul_epu32(x, y); }
static inline lanes mix(lanes x, lanes y, lanes z)
{
    return _mm256_xor_si256(_mm256_xor_si256(x, y), z);
}
static inline lanes count(uint64_t first)
{
    return _mm256_add_epi64(_mm256_set1_epi64x((long long)first), _mm256_set_epi64x(3, 2, 1, 0));
}

/* Blocks of a, b, c, d, one after the other. */
static inline void put(uint32_t *to, lanes a, lanes b, lanes c, lanes d)
{
    const lanes ab = _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xaa);
    const lanes cd = _mm256_blend_epi32(c, _mm256_slli_epi64(d, 32), 0xaa);
    const lanes even = _mm256_unpacklo_epi64(ab, cd), odd = _mm256_unpackhi_epi64(ab, cd);
    _mm256_storeu_si256((lanes *)(void *)to, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((lanes *)(void *)(to + 8), _mm256_permute2x128_si256(even, odd, 0x31));
}

#define BLOCKS ll_blocks_fma
#endif
#include "base/rng/rng_blocks.h"
