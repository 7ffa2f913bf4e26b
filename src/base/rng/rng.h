/* src/base/rng: random numbers, each named by what it is for. The seed of every draw is made here
 * (ll_rng_make).
 *
 *   rng.h         this file: streams, keys, draws; compiles as CUDA too
 *   rng_blocks.h  the same by vectors
 *
 * May touch: base. */

/* Random numbers by name, not by order. A draw is a function of what it is for:
 *
 *     seed, stream          the user's seed; which use of randomness (LL_STREAM_...)
 *     window                what the draw belongs to: a hash of content, never a batch position
 *     sample, step, element which trajectory, which step, which number
 *
 * so the same draw comes out for any thread count, batch size and order of work, on the CPU and on
 * a GPU. The generator is Philox4x32-10 of Random123; seed, stream and window are mixed into its
 * key, sample, step and element / 4 are its counter.
 *
 *     ll_rng r = ll_rng_make(seed, LL_STREAM_NOISE, window, sample, step);
 *     float    u = ll_rng_uniform(&r, i);           [0, 1)
 *     float    z = ll_rng_normal(&r, i);            mean 0, deviation 1
 *     ll_rng_fill_normal(&r, first, n, z);          z[j] = ll_rng_normal(&r, first + j)
 *
 * This header compiles as C and as CUDA, and both give the same bits: normals use conversions,
 * square root and fused multiply-adds only, each exactly rounded by IEEE 754. Build without fast
 * mathematics. */
#ifndef LL_BASE_RNG_RNG_H
#define LL_BASE_RNG_RNG_H

#include <Random123/philox.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define LL_BOTH static __host__ __device__ inline
#else
#define LL_BOTH static inline
#endif

/* What randomness is used for. Numbers are part of the results: append, never renumber. */
typedef enum ll_stream {
    LL_STREAM_TEST,    /* tests, fuzzing, benchmarks */
    LL_STREAM_INIT,    /* weights before training */
    LL_STREAM_SHUFFLE, /* order of windows, permutation of entities */
    LL_STREAM_MASK,    /* induced missingness, imputation masks */
    LL_STREAM_DROPOUT, /* dropout */
    LL_STREAM_DIFFUSE, /* forward noise and step of training */
    LL_STREAM_NOISE,   /* noise of the sampler */
    LL_STREAM_SYNTH,   /* synthetic data */
    LL_STREAM_FIT,     /* windows drawn while fitting */
    LL_STREAM_BOOT,    /* bootstrap */
    LL_STREAM_SCORE,   /* scoring: places among equals, pairs of members */
    LL_STREAM_FILL,    /* guesses where a gap is filled */
    LL_STREAM_JOINT,   /* normals of one time that series share */
} ll_stream;

typedef struct ll_rng {
    uint32_t key[2]; /* of seed, stream, window */
    uint32_t sample, step;
} ll_rng;

/* Philox with a 128-bit counter c and a 64-bit key k. */
LL_BOTH void ll_philox(const uint32_t c[4], const uint32_t k[2], uint32_t out[4])
{
    philox4x32_ctr_t ctr;
    philox4x32_key_t key;
    for (int i = 0; i < 4; i++) ctr.v[i] = c[i];
    for (int i = 0; i < 2; i++) key.v[i] = k[i];
    ctr = philox4x32_R(10, ctr, key);
    for (int i = 0; i < 4; i++) out[i] = ctr.v[i];
}

LL_BOTH ll_rng ll_rng_make(uint64_t seed, ll_stream stream, uint64_t window, uint32_t sample,
                           uint32_t step)
{
    const uint32_t c[4] = { (uint32_t)window, (uint32_t)(window >> 32), (uint32_t)stream, 0 };
    const uint32_t k[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t       mixed[4];
    ll_philox(c, k, mixed);
    ll_rng r;
    r.key[0] = mixed[0];
    r.key[1] = mixed[1];
    r.sample = sample;
    r.step = step;
    return r;
}

/* Elements 4 * block .. 4 * block + 3 as 32 random bits each. */
LL_BOTH void ll_rng_block(const ll_rng *r, uint64_t block, uint32_t out[4])
{
    const uint32_t c[4] = { (uint32_t)block, (uint32_t)(block >> 32), r->sample, r->step };
    ll_philox(c, r->key, out);
}

LL_BOTH uint32_t ll_rng_bits(const ll_rng *r, uint64_t element)
{
    uint32_t b[4];
    ll_rng_block(r, element / 4, b);
    return b[element % 4];
}

/* The upper 24 bits as a float in [0, 1). */
LL_BOTH float ll_uniform_of(uint32_t bits) { return (float)(bits >> 8) * 0x1p-24f; }

LL_BOTH float ll_rng_uniform(const ll_rng *r, uint64_t element)
{
    return ll_uniform_of(ll_rng_bits(r, element));
}

/* A whole number in 0 .. n-1, n >= 1: 64 random bits (elements 2i and 2i + 1) scaled by n; the
 * largest bias is n / 2^64. */
LL_BOTH uint64_t ll_rng_below(const ll_rng *r, uint64_t i, uint64_t n)
{
    uint32_t b[4];
    ll_rng_block(r, i / 2, b);
    const uint32_t *w = b + 2 * (i % 2);
    /* The upper half of a 64 x 64 product, in 32-bit pieces so that CUDA gives the same. */
    const uint64_t lo = w[0], hi = w[1], n_lo = n & 0xffffffffu, n_hi = n >> 32;
    const uint64_t low = (lo * n_lo) >> 32, a = hi * n_lo + low, c = lo * n_hi + (a & 0xffffffffu);
    return hi * n_hi + (a >> 32) + (c >> 32);
}

/* -log((a + 1/2) / 2^32), the argument strictly inside (0, 1): exact to about 2 units in the last
 * place. The fraction m in [sqrt(1/2), sqrt(2)) is kept as f = m - 1; next to 1 that distance comes
 * from the complement of a, because (float)a would round it away. No branches: compilers vectorise
 * it. */
LL_BOTH float ll_minus_log_of(uint32_t a)
{
    union {
        float    value;
        uint32_t bits;
    } x, m;
    x.value = (float)a + 0.5f;
    const uint32_t above = (x.bits & 0x7fffffu) > 0x3504f3u; /* fraction over sqrt(2) */
    const int32_t  power = (int32_t)(x.bits >> 23) - 127 - 32 + (int32_t)above;
    m.bits = (x.bits & 0x7fffffu) | (0x3f800000u - (above << 23));
    const float below_one = ((float)~a + 0.5f) * -0x1p-32f;
    const float f = power == 0 ? below_one : m.value - 1.0f;
    const float e = (float)power;
    /* log1p(f) = f - f^2/2 + f^3 p(f); p is a minimax polynomial, relative error 7.5e-10. */
    float p = 6.746640334e-02f;
    p = fmaf(p, f, -1.167565177e-01f);
    p = fmaf(p, f, 1.188816232e-01f);
    p = fmaf(p, f, -1.240558893e-01f);
    p = fmaf(p, f, 1.421955235e-01f);
    p = fmaf(p, f, -1.666799585e-01f);
    p = fmaf(p, f, 2.000211866e-01f);
    p = fmaf(p, f, -2.500000960e-01f);
    p = fmaf(p, f, 3.333331260e-01f);
    const float l = fmaf(f * f, fmaf(f, p, -0.5f), f);
    return -fmaf(e, 0x1.62e4p-1f, fmaf(e, 1.42860682e-6f, l)); /* e ln 2 in two parts */
}

/* Sine and cosine of the angle b / 2^32 of a full turn. */
LL_BOTH void ll_turn_of(uint32_t b, float *sine, float *cosine)
{
    const uint32_t quarter = (b + (1u << 29)) >> 30;
    const int32_t  rest = (int32_t)(b - (quarter << 30)); /* within an eighth of a turn */
    const float    t = (float)rest * 0x1p-30f, y = t * t;
    float          s = 1.582067438e-04f, c = 9.036317029e-04f;
    s = fmaf(s, y, -4.681266477e-03f);
    s = fmaf(s, y, 7.969258276e-02f);
    s = fmaf(s, y, -6.459640961e-01f);
    s = fmaf(s, y, 1.570796327e+00f);
    s *= t;
    c = fmaf(c, y, -2.086007132e-02f);
    c = fmaf(c, y, 2.536692039e-01f);
    c = fmaf(c, y, -1.233700541e+00f);
    c = fmaf(c, y, 1.0f);
    const float odd = quarter & 1 ? c : s, even = quarter & 1 ? s : c;
    *sine = quarter & 2 ? -odd : odd;
    *cosine = (quarter + 1) & 2 ? -even : even;
}

/* Two independent normals from 64 random bits (Box and Muller). The largest possible is 6.76. */
LL_BOTH void ll_normal_of(uint32_t a, uint32_t b, float *z0, float *z1)
{
    float       s, c;
    const float r = sqrtf(2.0f * ll_minus_log_of(a));
    ll_turn_of(b, &s, &c);
    *z0 = r * c;
    *z1 = r * s;
}

LL_BOTH float ll_rng_normal(const ll_rng *r, uint64_t element)
{
    uint32_t b[4];
    float    z[2];
    ll_rng_block(r, element / 4, b);
    const uint32_t *w = b + (element % 4 / 2) * 2;
    ll_normal_of(w[0], w[1], &z[0], &z[1]);
    return z[element % 2];
}

#ifdef __cplusplus
extern "C" {
#endif

/* Many at once, equal to the functions above element by element: out[j] is element first + j. */
void ll_rng_fill_uniform(const ll_rng *r, uint64_t first, size_t n, float *out);
void ll_rng_fill_normal(const ll_rng *r, uint64_t first, size_t n, float *out);

/* A random order of 0 .. n-1 (Fisher and Yates). */
void ll_rng_permute(const ll_rng *r, size_t n, uint32_t *out);

/* A 64-bit hash of bytes on top of h (0 to start): the window ids. */
uint64_t ll_hash(uint64_t h, const void *bytes, size_t n);

#ifdef __cplusplus
}
#endif

#endif
