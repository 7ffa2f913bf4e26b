/* A vector of sixteen floats, the same for every instruction set: kernels are written once against
 * it (body_*.h) and compiled once per instruction set (isa_*.c), so that all of them sum the same
 * lanes in the same order. vec_avx512.h, vec_avx2.h and vec_portable.h each define
 *
 *     vec v_set(x)                    all lanes x
 *     vec v_load(p), v_loadn(p, n)    16 floats; the first n (0..16), the rest 0 and not read
 *     v_store(p, a), v_storen(p, n, a)
 *     vec v_keep(a, n)                the first n lanes, the rest 0
 *     v_add v_sub v_mul v_div v_sqrt v_abs v_neg v_rint
 *     vec v_fma(a, b, c)              a*b + c, rounded once (portable: twice); v_fnma: c - a*b
 *     vec v_square_rest(a, s)         a*a - s, exact where s is a*a rounded
 *     vec v_max(a, b), v_min(a, b)    b where either is NaN
 *     vec v_ldexp(a, n)               a 2^n, n a whole number <= 127; 0 where n <= -127, whatever a
 *     vec v_choose(z, p)              p[0..7] by half an octave of z: 1 1.5 2 3 .. are 6 7 0 1 ..
 *     vec v_two_to(k)                 2^n, n >= -126 (0 for -127) where k is V_WHOLE + n
 *     vmask v_gt v_ge v_eq, vec v_pick(mask, yes, no)
 *     float v_sum(a), v_top(a)        lane i with i+8, then i+4, i+2, i+1
 *     v_transpose(vec r[16])
 *     vecd vd_set vd_wide vd_add vd_mul vd_rint vd_sum, vec vd_narrow   sixteen doubles
 *     v_exp v_log v_log1p v_sin v_cos v_tanh                            SLEEF, 1.0 ulp
 *
 * and this file adds what is built on them. */
#ifndef LL_BACKEND_CPU_VEC_H
#define LL_BACKEND_CPU_VEC_H

#include <stdint.h>
#include <string.h>

#if defined VEC_AVX512
#include "backend/cpu/vec_avx512.h"
#elif defined VEC_AVX2
#include "backend/cpu/vec_avx2.h"
#else
#include "backend/cpu/vec_portable.h"
#endif

/* A step of a loop over n floats: 16 of them, or what is left. */
VEC_INLINE int64_t v_left(int64_t n) { return n < 16 ? n : 16; }
VEC_INLINE vec     v_ld(const float *p, int64_t n) { return n >= 16 ? v_load(p) : v_loadn(p, n); }
VEC_INLINE void    v_st(float *p, int64_t n, vec a)
{
    if (n >= 16) v_store(p, a);
    else v_storen(p, n, a);
}

/* Long chains of operations run side by side for VEC_SIDE vectors where there are registers for
 * them: a processor looks ahead only so far, and finds nothing to do beside a single chain. */
#define V_EACH(n) _Pragma("GCC unroll 4") for (int i = 0; i < (n); i++)

/* e^x for x <= 0 (a little above is fine), at most 1.1 ulp; 0 below -87.7 (SLEEF's is as exact but
 * is a call, before which a loop must put all its registers away: 1.3 times slower inside a
 * softmax). */
VEC_INLINE vec v_exp_down(vec x)
{
    const vec n = v_rint(v_mul(x, v_set(1.44269504f)));
    const vec r = v_fnma(n, v_set(-2.12194440e-4f), v_fnma(n, v_set(0.693359375f), x));
    vec q = v_set(1.381464885e-03f); /* e^r = 1 + r + r^2 q(r), |r| <= ln(2)/2: error 3.1e-9 */
    q = v_fma(q, r, v_set(8.368702605e-03f));
    q = v_fma(q, r, v_set(4.166838527e-02f));
    q = v_fma(q, r, v_set(1.666652113e-01f));
    q = v_fma(q, r, v_set(4.999999404e-01f));
    return v_ldexp(v_add(v_fma(v_mul(r, r), q, r), v_set(1.0f)), n);
}

/* e^x to 1.1 ulp for any x; results below 1e-38 are 0. */
VEC_INLINE vec v_exp_any(vec x)
{
    const vec limit = v_set(88.0f), y = v_exp_down(v_min(limit, x));
    return v_top(x) <= 88.0f ? y : v_pick(v_gt(x, limit), v_exp(x), y);
}

/* 2^x likewise, an eighth cheaper: attention keeps its scores in powers of two. */
VEC_INLINE vec v_exp2_down(vec x)
{
    const vec n = v_rint(x), r = v_sub(x, n);
    vec       q = v_set(1.535328920e-04f); /* 2^r = 1 + r q(r), |r| <= 1/2: error 2.0e-9 */
    q = v_fma(q, r, v_set(1.339884358e-03f));
    q = v_fma(q, r, v_set(9.618437849e-03f));
    q = v_fma(q, r, v_set(5.550332740e-02f));
    q = v_fma(q, r, v_set(2.402264774e-01f));
    q = v_fma(q, r, v_set(6.931471825e-01f));
    return v_ldexp(v_fma(q, r, v_set(1.0f)), n);
}

/* GELU is max(x, 0) less a bump that fades fast, its slope a step less another, turned for x < 0:
 *     x Phi(x) = max(x, 0) - e^(-t^2/2) Q(t),   Q = t Phi(-t) e^(t^2/2),   t = |x|,
 * and the slope's Q is Phi(-t) e^(t^2/2) - t/sqrt(2 pi), so that no digits are lost where x < 0
 * (0.5 x (1 + erf) would have none below -5). Both Q are smooth and slow: in each of eight
 * intervals, which end at t = 0.3 0.9 1.5 2.7 3.8 6.2 8.6 13.3, a polynomial of degree 6 in t less
 * a middle m has an error of 8e-8. Rows here are m and the coefficients, highest first, columns
 * v_choose's. GELU's relative error is at most 3.1e-7 on both sides of zero (portable 3.3e-7), the
 * slope's error 1e-7, relative 2.7e-7 below -2. 1.5 times faster than with a division and one
 * polynomial of degree 9, which was 3.5 times faster than SLEEF's erf. */
static const float v_gelu_bump[8][8] = {
    { 2.08599114e+00f, 3.25064969e+00f, 5.02953005e+00f, 7.36357212e+00f, 1.09737129e+01f, 0.0f,
      5.98275483e-01f, 1.16997397e+00f },
    { -2.41905305e-04f, -2.97614988e-05f, -2.57719512e-06f, -1.89324453e-07f, -1.17391998e-08f,
      -1.89487059e-02f, -5.95541252e-03f, -1.46107178e-03f },
    { 7.89379003e-04f, 1.22358761e-04f, 1.34650300e-05f, 1.35964319e-06f, 1.10573474e-07f,
      6.01079650e-02f, 1.50331231e-02f, 4.34198603e-03f },
    { -2.39531696e-03f, -4.62386291e-04f, -6.32247466e-05f, -8.86822818e-06f, -9.60764169e-07f,
      -1.32623479e-01f, -3.53425182e-02f, -1.14787249e-02f },
    { 7.01258611e-03f, 1.67590764e-03f, 3.04503425e-04f, 5.74175538e-05f, 8.87925489e-06f,
      2.49975920e-01f, 7.58629814e-02f, 2.78225951e-02f },
    { -1.81908421e-02f, -5.47545264e-03f, -1.34175434e-03f, -3.43548891e-04f, -7.58220776e-05f,
      -3.98941666e-01f, -1.40177026e-01f, -5.88483103e-02f },
    { 3.93368863e-02f, 1.52226072e-02f, 5.11471368e-03f, 1.80949515e-03f, 5.84480760e-04f,
      5.00000000e-01f, 2.07661092e-01f, 1.01553276e-01f },
    { 3.39727104e-01f, 3.68733108e-01f, 3.84758651e-01f, 3.91980350e-01f, 3.95757824e-01f, 0.0f,
      1.96646735e-01f, 2.80687034e-01f },
};
static const float v_slope_bump[8][8] = {
    { 2.08953452e+00f, 3.22111988e+00f, 5.03661728e+00f, 7.35884714e+00f, 1.08605213e+01f, 0.0f,
      5.90007067e-01f, 1.19005430e+00f },
    { 1.40376142e-04f, 2.07124922e-05f, 2.31820763e-06f, 2.25327213e-07f, 1.94112850e-08f,
      7.17088906e-03f, 2.48187734e-03f, 7.28656887e-04f },
    { -4.96265071e-04f, -9.87329113e-05f, -1.34389820e-05f, -1.84604744e-06f, -2.21409323e-07f,
      -2.53459178e-02f, -7.31825782e-03f, -2.23993300e-03f },
    { 1.74016855e-03f, 4.33123903e-04f, 7.55019209e-05f, 1.43993784e-05f, 2.33407081e-06f,
      6.22514710e-02f, 1.92697961e-02f, 6.72533130e-03f },
    { -6.03608461e-03f, -1.87556387e-03f, -4.45036014e-04f, -1.15290517e-04f, -2.68074855e-05f,
      -1.32955655e-01f, -4.73534055e-02f, -1.90659612e-02f },
    { 1.96012463e-02f, 7.76990782e-03f, 2.53967778e-03f, 8.94271419e-04f, 2.83131900e-04f,
      2.49999210e-01f, 1.04996368e-01f, 4.96098585e-02f },
    { -4.58024919e-01f, -4.29622114e-01f, -4.13130760e-01f, -4.06001031e-01f, -4.02387083e-01f,
      -7.97884524e-01f, -6.02964699e-01f, -5.15183568e-01f },
    { -6.70955777e-01f, -1.17072213e+00f, -1.93297267e+00f, -2.88265371e+00f, -4.29681396e+00f,
      5.00000000e-01f, 9.49902087e-02f, -2.37209171e-01f },
};

/* x + V_WHOLE is rounded to a whole number n, and its last bits are those of 2^n's exponent. */
#define V_WHOLE (0x1.8p23f + 127.0f)

/* e and q of which e q is the bump. t^2 = 2 ln(2) n + r, where 2 ln(2) has 17 bits so that its
 * product with n is exact: r is rounded once. For what is missing e is e^(-t^2/2) times 1 - 1.0e-6
 * t^2, which the coefficients of q undo; e^(-r/2) has an error of 1.0e-7. e is 0 beyond t = 13.24.
 */
VEC_INLINE void v_bumps(int n, const vec *x, const float by[8][8], vec *e, vec *q)
{
    static const float down[] = { -2.59069988e-04f, 2.61869980e-03f,  -2.08346844e-02f,
                                  1.24998376e-01f,  -5.00000894e-01f, 1.0f };
    vec                t[VEC_SIDE], z[VEC_SIDE], k[VEC_SIDE], r[VEC_SIDE];
    const vec          whole = v_set(V_WHOLE);
    V_EACH(n) t[i] = v_min(v_set(13.2677f), v_abs(x[i]));
    V_EACH(n) z[i] = v_fma(t[i], v_set(0.8466f), v_set(0.75f));
    V_EACH(n) k[i] = v_fma(v_mul(t[i], v_set(-0.721347520f)), t[i], whole);
    V_EACH(n) r[i] = v_square_rest(t[i], v_mul(v_sub(k[i], whole), v_set(-0x1.62e4p0f)));
    V_EACH(n) t[i] = v_sub(t[i], v_choose(z[i], by[0]));
    V_EACH(n) e[i] = v_set(down[0]);
    V_EACH(n) q[i] = v_choose(z[i], by[1]);
#pragma GCC unroll 6
    for (int j = 1; j < 6; j++) {
        V_EACH(n) e[i] = v_fma(e[i], r[i], v_set(down[j]));
        V_EACH(n) q[i] = v_fma(q[i], t[i], v_choose(z[i], by[j + 1]));
    }
    V_EACH(n) e[i] = v_mul(e[i], v_two_to(k[i]));
    V_EACH(n) q[i] = v_fma(q[i], t[i], v_choose(z[i], by[7]));
}

VEC_INLINE void v_gelus(int n, vec *x)
{
    vec e[VEC_SIDE], q[VEC_SIDE];
    v_bumps(n, x, v_gelu_bump, e, q);
    /* max(x, 0) so that -0 stays, and -infinity becomes NaN as it does in x Phi(x) */
    V_EACH(n) x[i] = v_fnma(e[i], q[i], v_sub(x[i], v_min(x[i], v_set(0.0f))));
}

VEC_INLINE vec v_gelu(vec x)
{
    v_gelus(1, &x);
    return x;
}

VEC_INLINE void v_gelu_slopes(int n, vec *x)
{
    vec e[VEC_SIDE], q[VEC_SIDE];
    v_bumps(n, x, v_slope_bump, e, q);
    V_EACH(n) q[i] = v_mul(e[i], q[i]);
    V_EACH(n) x[i] = v_pick(v_gt(v_set(0.0f), x[i]), q[i], v_sub(v_set(1.0f), q[i]));
}

VEC_INLINE vec v_gelu_slope(vec x)
{
    v_gelu_slopes(1, &x);
    return x;
}

/* sin x and cos x to 1.6 ulp for any x. Quarter turns are taken off in double, pi/2 in two parts of
 * which the first times n is exact below 1.5e6; SLEEF takes the lanes beyond. At angles of several
 * hundred this is
 * 3 times faster than SLEEF alone, which leaves its short reduction at 125. */
VEC_INLINE void v_sincos(vec x, vec *sine, vec *cosine)
{
    const vecd wide = vd_wide(x), n = vd_rint(vd_mul(wide, vd_set(0x1.45f306dc9c883p-1)));
    vecd       rest = vd_add(wide, vd_mul(n, vd_set(-0x1.921fb544p+0)));
    rest = vd_add(rest, vd_mul(n, vd_set(-0x1.0b4611a626331p-34)));
    const vec r = vd_narrow(rest), z = v_mul(r, r), turns = vd_narrow(n);
    vec       s = v_fma(v_set(-1.951556915e-04f), z, v_set(8.332163095e-03f));
    s = v_fma(s, z, v_set(-1.666665524e-01f)); /* error 3.8e-9 */
    s = v_fma(v_mul(s, z), r, r);
    vec c = v_fma(v_set(2.443407539e-05f), z, v_set(-1.388732577e-03f));
    c = v_fma(c, z, v_set(4.166664556e-02f)); /* error 1.2e-10 */
    c = v_add(v_fma(v_mul(z, z), c, v_mul(v_set(-0.5f), z)), v_set(1.0f));

    /* q = n mod 4 as -2..2 */
    const vec   q = v_fnma(v_rint(v_mul(turns, v_set(0.25f))), v_set(4.0f), turns), size = v_abs(q);
    const vec   one_turn = v_set(1.0f);
    const vmask odd = v_eq(size, one_turn), half = v_gt(size, one_turn);
    const vec   ss = v_pick(odd, c, s), cc = v_pick(odd, s, c);
    *sine = v_pick(half, v_neg(ss), v_pick(v_eq(q, v_set(-1.0f)), v_neg(ss), ss));
    *cosine = v_pick(half, v_neg(cc), v_pick(v_eq(q, one_turn), v_neg(cc), cc));

    const vec limit = v_set(1.5e6f);
    if (!(v_top(v_abs(x)) <= 1.5e6f)) {
        const vmask far = v_gt(v_abs(x), limit);
        *sine = v_pick(far, v_sin(x), *sine);
        *cosine = v_pick(far, v_cos(x), *cosine);
    }
}

/* ---- 2^x where |x| is known to be small: half the multiplications of v_exp2_down, by a table of
 * the sixteenth roots of 2, and no case to tell apart ---- */

/* Bits of 2^(j/16), less j/16 as part of an exponent. */
static const int32_t VEC_ROOTS[16] = { 0x3f800000, 0x3f7daac3, 0x3f7b95c2, 0x3f79c3d3,
                                       0x3f7837f0, 0x3f76f532, 0x3f75fed7, 0x3f75583f,
                                       0x3f7504f3, 0x3f7508a4, 0x3f75672a, 0x3f76248c,
                                       0x3f7744fd, 0x3f78ccdf, 0x3f7ac0c7, 0x3f7d257d };

/* 2^(i/16), i being what the last bits of t count (|i| < 2000). */
#if defined    VEC_AVX512
VEC_INLINE vec v_roots(vec t)
{
    const __m512i i = _mm512_castps_si512(t);
    const __m512i root = _mm512_permutexvar_epi32(i, _mm512_loadu_si512(VEC_ROOTS));
    return _mm512_castsi512_ps(_mm512_add_epi32(root, _mm512_slli_epi32(i, 19)));
}
#elif defined VEC_AVX2
VEC_INLINE __m256 v_roots8(__m256 t)
{
    const __m256i i = _mm256_castps_si256(t);
    const __m256i lo = _mm256_loadu_si256((const __m256i *)VEC_ROOTS);
    const __m256i hi = _mm256_loadu_si256((const __m256i *)(VEC_ROOTS + 8));
    const __m256  a = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(lo, i));
    const __m256  b = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(hi, i));
    const __m256  root = _mm256_blendv_ps(a, b, _mm256_castsi256_ps(_mm256_slli_epi32(i, 28)));
    return _mm256_castsi256_ps(
        _mm256_add_epi32(_mm256_castps_si256(root), _mm256_slli_epi32(i, 19)));
}
VEC_INLINE vec v_roots(vec t) { return (vec){ v_roots8(t.a), v_roots8(t.b) }; }
#else
VEC_INLINE vec v_roots(vec t)
{
    uint32_t bits[16];
    memcpy(bits, &t, sizeof t);
    for (int i = 0; i < 16; i++) bits[i] = (uint32_t)VEC_ROOTS[bits[i] & 15] + (bits[i] << 19);
    memcpy(&t, bits, sizeof t);
    return t;
}
#endif

/* 2^x for |x| <= 120, at most 1.1 ulp. */
VEC_INLINE vec v_exp2_near(vec x)
{
    const vec shift = v_set(0x1.8p19f), t = v_add(x, shift); /* whole sixteenths */
    const vec r = v_sub(x, v_sub(t, shift)), root = v_roots(t);
    vec       q = v_set(5.550595000e-02f); /* 2^r = 1 + r q(r), |r| <= 1/32: error 1.7e-9 */
    q = v_fma(q, r, v_set(2.402342856e-01f));
    q = v_fma(q, r, v_set(6.931471825e-01f));
    return v_fma(root, v_mul(q, r), root);
}

#endif
