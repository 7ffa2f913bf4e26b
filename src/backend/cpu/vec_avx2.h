/* Sixteen floats as two AVX2 registers: the same lanes, the same bits as AVX-512. vec.h says what
 * each function means. */
#ifndef LL_BACKEND_CPU_VEC_AVX2_H
#define LL_BACKEND_CPU_VEC_AVX2_H

#include <immintrin.h>
#include <sleef.h>
#include <stdint.h>

enum { VEC_NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };
enum { VEC_SIDE = 1 }; /* see vec.h */
#define VEC_INLINE static inline __attribute__((always_inline, unused))

typedef struct vec {
    __m256 a, b;
} vec;
typedef struct vmask {
    __m256 a, b;
} vmask;
typedef struct vecd {
    __m256d q[4];
} vecd;

/* Lanes first .. first+7 of the first n, as the sign bits that maskload wants. */
VEC_INLINE __m256i v_head8(int64_t n, int first)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n - first), lane);
}

VEC_INLINE vec v_set(float x) { return (vec){ _mm256_set1_ps(x), _mm256_set1_ps(x) }; }
VEC_INLINE vec v_load(const float *p)
{
    return (vec){ _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8) };
}
VEC_INLINE vec v_loadn(const float *p, int64_t n)
{
    return (vec){ _mm256_maskload_ps(p, v_head8(n, 0)),
                  n > 8 ? _mm256_maskload_ps(p + 8, v_head8(n, 8)) : _mm256_setzero_ps() };
}
VEC_INLINE void v_store(float *p, vec x)
{
    _mm256_storeu_ps(p, x.a);
    _mm256_storeu_ps(p + 8, x.b);
}
VEC_INLINE void v_storen(float *p, int64_t n, vec x)
{
    _mm256_maskstore_ps(p, v_head8(n, 0), x.a);
    if (n > 8) _mm256_maskstore_ps(p + 8, v_head8(n, 8), x.b);
}
VEC_INLINE vec v_keep(vec x, int64_t n)
{
    return (vec){ _mm256_and_ps(x.a, _mm256_castsi256_ps(v_head8(n, 0))),
                  _mm256_and_ps(x.b, _mm256_castsi256_ps(v_head8(n, 8))) };
}

VEC_INLINE vec v_add(vec x, vec y)
{
    return (vec){ _mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b) };
}
VEC_INLINE vec v_sub(vec x, vec y)
{
    return (vec){ _mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b) };
}
VEC_INLINE vec v_mul(vec x, vec y)
{
    return (vec){ _mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b) };
}
VEC_INLINE vec v_div(vec x, vec y)
{
    return (vec){ _mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b) };
}
VEC_INLINE vec v_fma(vec x, vec y, vec z)
{
    return (vec){ _mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b) };
}
VEC_INLINE vec v_fnma(vec x, vec y, vec z)
{
    return (vec){ _mm256_fnmadd_ps(x.a, y.a, z.a), _mm256_fnmadd_ps(x.b, y.b, z.b) };
}
VEC_INLINE vec v_square_rest(vec x, vec s)
{
    return (vec){ _mm256_fmsub_ps(x.a, x.a, s.a), _mm256_fmsub_ps(x.b, x.b, s.b) };
}
VEC_INLINE vec v_max(vec x, vec y)
{
    return (vec){ _mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b) };
}
VEC_INLINE vec v_min(vec x, vec y)
{
    return (vec){ _mm256_min_ps(x.a, y.a), _mm256_min_ps(x.b, y.b) };
}
VEC_INLINE vec v_sqrt(vec x) { return (vec){ _mm256_sqrt_ps(x.a), _mm256_sqrt_ps(x.b) }; }
VEC_INLINE vec v_abs(vec x)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return (vec){ _mm256_andnot_ps(sign, x.a), _mm256_andnot_ps(sign, x.b) };
}
VEC_INLINE vec v_neg(vec x)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return (vec){ _mm256_xor_ps(sign, x.a), _mm256_xor_ps(sign, x.b) };
}
VEC_INLINE vec v_rint(vec x)
{
    return (vec){ _mm256_round_ps(x.a, VEC_NEAREST), _mm256_round_ps(x.b, VEC_NEAREST) };
}
VEC_INLINE __m256 v_ldexp8(__m256 x, __m256 n)
{
    const __m256i bits = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    const __m256  y = _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(bits, 23)));
    return _mm256_and_ps(y, _mm256_cmp_ps(n, _mm256_set1_ps(-127.0f), _CMP_NLE_UQ));
}
VEC_INLINE vec v_ldexp(vec x, vec n) { return (vec){ v_ldexp8(x.a, n.a), v_ldexp8(x.b, n.b) }; }

VEC_INLINE __m256 v_choose8(__m256 z, __m256 p)
{
    return _mm256_permutevar8x32_ps(p, _mm256_srli_epi32(_mm256_castps_si256(z), 22));
}
VEC_INLINE vec v_choose(vec z, const float *p)
{
    const __m256 row = _mm256_loadu_ps(p);
    return (vec){ v_choose8(z.a, row), v_choose8(z.b, row) };
}
VEC_INLINE vec v_two_to(vec k)
{
    return (vec){ _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(k.a), 23)),
                  _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(k.b), 23)) };
}

VEC_INLINE vmask v_gt(vec x, vec y)
{
    return (vmask){ _mm256_cmp_ps(x.a, y.a, _CMP_GT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_GT_OQ) };
}
VEC_INLINE vmask v_ge(vec x, vec y)
{
    return (vmask){ _mm256_cmp_ps(x.a, y.a, _CMP_GE_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_GE_OQ) };
}
VEC_INLINE vmask v_eq(vec x, vec y)
{
    return (vmask){ _mm256_cmp_ps(x.a, y.a, _CMP_EQ_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_EQ_OQ) };
}
VEC_INLINE vec v_pick(vmask m, vec yes, vec no)
{
    return (vec){ _mm256_blendv_ps(no.a, yes.a, m.a), _mm256_blendv_ps(no.b, yes.b, m.b) };
}

VEC_INLINE float v_sum(vec x)
{
    const __m256 b = _mm256_add_ps(x.a, x.b);
    const __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    const __m128 d = _mm_add_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_add_ss(d, _mm_movehdup_ps(d)));
}

VEC_INLINE float v_top(vec x)
{
    const __m256 b = _mm256_max_ps(x.a, x.b);
    const __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    const __m128 d = _mm_max_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_max_ss(d, _mm_movehdup_ps(d)));
}

VEC_INLINE vecd vd_set(double x)
{
    const __m256d q = _mm256_set1_pd(x);
    return (vecd){ { q, q, q, q } };
}
VEC_INLINE vecd vd_wide(vec x)
{
    return (vecd){ { _mm256_cvtps_pd(_mm256_castps256_ps128(x.a)),
                     _mm256_cvtps_pd(_mm256_extractf128_ps(x.a, 1)),
                     _mm256_cvtps_pd(_mm256_castps256_ps128(x.b)),
                     _mm256_cvtps_pd(_mm256_extractf128_ps(x.b, 1)) } };
}
VEC_INLINE vec vd_narrow(vecd x)
{
    return (vec){ _mm256_set_m128(_mm256_cvtpd_ps(x.q[1]), _mm256_cvtpd_ps(x.q[0])),
                  _mm256_set_m128(_mm256_cvtpd_ps(x.q[3]), _mm256_cvtpd_ps(x.q[2])) };
}
VEC_INLINE vecd vd_add(vecd x, vecd y)
{
    return (vecd){ { _mm256_add_pd(x.q[0], y.q[0]), _mm256_add_pd(x.q[1], y.q[1]),
                     _mm256_add_pd(x.q[2], y.q[2]), _mm256_add_pd(x.q[3], y.q[3]) } };
}
VEC_INLINE vecd vd_mul(vecd x, vecd y)
{
    return (vecd){ { _mm256_mul_pd(x.q[0], y.q[0]), _mm256_mul_pd(x.q[1], y.q[1]),
                     _mm256_mul_pd(x.q[2], y.q[2]), _mm256_mul_pd(x.q[3], y.q[3]) } };
}
VEC_INLINE vecd vd_rint(vecd x)
{
    return (vecd){ { _mm256_round_pd(x.q[0], VEC_NEAREST), _mm256_round_pd(x.q[1], VEC_NEAREST),
                     _mm256_round_pd(x.q[2], VEC_NEAREST), _mm256_round_pd(x.q[3], VEC_NEAREST) } };
}
VEC_INLINE double vd_sum(vecd x)
{
    const __m256d lo = _mm256_add_pd(x.q[0], x.q[2]), hi = _mm256_add_pd(x.q[1], x.q[3]);
    const __m256d c = _mm256_add_pd(lo, hi);
    const __m128d d = _mm_add_pd(_mm256_castpd256_pd128(c), _mm256_extractf128_pd(c, 1));
    return _mm_cvtsd_f64(_mm_add_sd(d, _mm_unpackhi_pd(d, d)));
}

VEC_INLINE void v_transpose8(__m256 r[8])
{
    __m256 t[8];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
        r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
        r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
        r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) r[i] = t[i];
}

/* Rows of 16 become columns. */
VEC_INLINE void v_transpose(vec r[16])
{
    __m256 a[8], b[8], c[8], d[8];
    for (int i = 0; i < 8; i++) {
        a[i] = r[i].a;
        b[i] = r[i].b;
        c[i] = r[i + 8].a;
        d[i] = r[i + 8].b;
    }
    v_transpose8(a);
    v_transpose8(b);
    v_transpose8(c);
    v_transpose8(d);
    for (int i = 0; i < 8; i++) {
        r[i] = (vec){ a[i], c[i] };
        r[i + 8] = (vec){ b[i], d[i] };
    }
}

VEC_INLINE vec v_exp(vec x)
{
    return (vec){ Sleef_finz_expf8_u10avx2(x.a), Sleef_finz_expf8_u10avx2(x.b) };
}
VEC_INLINE vec v_log(vec x)
{
    return (vec){ Sleef_finz_logf8_u10avx2(x.a), Sleef_finz_logf8_u10avx2(x.b) };
}
VEC_INLINE vec v_log1p(vec x)
{
    return (vec){ Sleef_finz_log1pf8_u10avx2(x.a), Sleef_finz_log1pf8_u10avx2(x.b) };
}
VEC_INLINE vec v_sin(vec x)
{
    return (vec){ Sleef_finz_sinf8_u10avx2(x.a), Sleef_finz_sinf8_u10avx2(x.b) };
}
VEC_INLINE vec v_cos(vec x)
{
    return (vec){ Sleef_finz_cosf8_u10avx2(x.a), Sleef_finz_cosf8_u10avx2(x.b) };
}
VEC_INLINE vec v_tanh(vec x)
{
    return (vec){ Sleef_finz_tanhf8_u10avx2(x.a), Sleef_finz_tanhf8_u10avx2(x.b) };
}

#endif
