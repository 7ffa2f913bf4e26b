/* Sixteen floats as one AVX-512 register. vec.h says what each function means. */
#ifndef LL_BACKEND_CPU_VEC_AVX512_H
#define LL_BACKEND_CPU_VEC_AVX512_H

#include <immintrin.h>
#include <sleef.h>
#include <stdint.h>

enum { VEC_NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
enum { VEC_SIDE = 4 }; /* see vec.h */
#define VEC_INLINE static inline __attribute__((always_inline, unused))

typedef __m512    vec;
typedef __mmask16 vmask;
typedef struct vecd {
    __m512d lo, hi;
} vecd;

VEC_INLINE vmask v_head(int64_t n) { return (vmask)((1u << n) - 1u); }

VEC_INLINE vec  v_set(float x) { return _mm512_set1_ps(x); }
VEC_INLINE vec  v_load(const float *p) { return _mm512_loadu_ps(p); }
VEC_INLINE vec  v_loadn(const float *p, int64_t n) { return _mm512_maskz_loadu_ps(v_head(n), p); }
VEC_INLINE void v_store(float *p, vec a) { _mm512_storeu_ps(p, a); }
VEC_INLINE void v_storen(float *p, int64_t n, vec a) { _mm512_mask_storeu_ps(p, v_head(n), a); }
VEC_INLINE vec  v_keep(vec a, int64_t n) { return _mm512_maskz_mov_ps(v_head(n), a); }

VEC_INLINE vec v_add(vec a, vec b) { return _mm512_add_ps(a, b); }
VEC_INLINE vec v_sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
VEC_INLINE vec v_mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
VEC_INLINE vec v_div(vec a, vec b) { return _mm512_div_ps(a, b); }
VEC_INLINE vec v_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
VEC_INLINE vec v_fnma(vec a, vec b, vec c) { return _mm512_fnmadd_ps(a, b, c); }
VEC_INLINE vec v_square_rest(vec a, vec s) { return _mm512_fmsub_ps(a, a, s); }
VEC_INLINE vec v_max(vec a, vec b) { return _mm512_max_ps(a, b); }
VEC_INLINE vec v_min(vec a, vec b) { return _mm512_min_ps(a, b); }
VEC_INLINE vec v_sqrt(vec a) { return _mm512_sqrt_ps(a); }
VEC_INLINE vec v_abs(vec a) { return _mm512_abs_ps(a); }
VEC_INLINE vec v_neg(vec a) { return _mm512_xor_ps(a, _mm512_set1_ps(-0.0f)); }
VEC_INLINE vec v_rint(vec a) { return _mm512_roundscale_ps(a, VEC_NEAREST); }
VEC_INLINE vec v_ldexp(vec a, vec n)
{
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(n, _mm512_set1_ps(-127.0f), _CMP_NLE_UQ), a,
                                  n);
}

VEC_INLINE vec v_choose(vec z, const float *p)
{
    return _mm512_permutexvar_ps(_mm512_srli_epi32(_mm512_castps_si512(z), 22),
                                 _mm512_broadcast_f32x8(_mm256_loadu_ps(p)));
}
VEC_INLINE vec v_two_to(vec k)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(k), 23));
}

VEC_INLINE vmask v_gt(vec a, vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
VEC_INLINE vmask v_ge(vec a, vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
VEC_INLINE vmask v_eq(vec a, vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
VEC_INLINE vec   v_pick(vmask m, vec yes, vec no) { return _mm512_mask_blend_ps(m, no, yes); }

VEC_INLINE float v_sum(vec a)
{
    const __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    const __m128 d = _mm_add_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)));
}

VEC_INLINE float v_top(vec a)
{
    const __m256 b = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    const __m128 d = _mm_max_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_max_ss(d, _mm_movehdup_ps(d)));
}

VEC_INLINE vecd vd_set(double x) { return (vecd){ _mm512_set1_pd(x), _mm512_set1_pd(x) }; }
VEC_INLINE vecd vd_wide(vec a)
{
    return (vecd){ _mm512_cvtps_pd(_mm512_castps512_ps256(a)),
                   _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)) };
}
VEC_INLINE vec vd_narrow(vecd a)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a.lo)), _mm512_cvtpd_ps(a.hi),
                              1);
}
VEC_INLINE vecd vd_add(vecd a, vecd b)
{
    return (vecd){ _mm512_add_pd(a.lo, b.lo), _mm512_add_pd(a.hi, b.hi) };
}
VEC_INLINE vecd vd_mul(vecd a, vecd b)
{
    return (vecd){ _mm512_mul_pd(a.lo, b.lo), _mm512_mul_pd(a.hi, b.hi) };
}
VEC_INLINE vecd vd_rint(vecd a)
{
    return (vecd){ _mm512_roundscale_pd(a.lo, VEC_NEAREST),
                   _mm512_roundscale_pd(a.hi, VEC_NEAREST) };
}
VEC_INLINE double vd_sum(vecd a)
{
    const __m512d b = _mm512_add_pd(a.lo, a.hi);
    const __m256d c = _mm256_add_pd(_mm512_castpd512_pd256(b), _mm512_extractf64x4_pd(b, 1));
    const __m128d d = _mm_add_pd(_mm256_castpd256_pd128(c), _mm256_extractf128_pd(c, 1));
    return _mm_cvtsd_f64(_mm_add_sd(d, _mm_unpackhi_pd(d, d)));
}

/* Rows of 16 become columns. */
VEC_INLINE void v_transpose(vec r[16])
{
    vec t[16];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const __m512d a = _mm512_castps_pd(t[4 * i]), b = _mm512_castps_pd(t[4 * i + 2]);
        const __m512d c = _mm512_castps_pd(t[4 * i + 1]), d = _mm512_castps_pd(t[4 * i + 3]);
        r[4 * i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
        r[4 * i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        r[4 * i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(c, d));
        r[4 * i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(c, d));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
        r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
        r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
    }
}

VEC_INLINE vec v_exp(vec a) { return Sleef_finz_expf16_u10avx512f(a); }
VEC_INLINE vec v_log(vec a) { return Sleef_finz_logf16_u10avx512f(a); }
VEC_INLINE vec v_log1p(vec a) { return Sleef_finz_log1pf16_u10avx512f(a); }
VEC_INLINE vec v_sin(vec a) { return Sleef_finz_sinf16_u10avx512f(a); }
VEC_INLINE vec v_cos(vec a) { return Sleef_finz_cosf16_u10avx512f(a); }
VEC_INLINE vec v_tanh(vec a) { return Sleef_finz_tanhf16_u10avx512f(a); }

#endif
