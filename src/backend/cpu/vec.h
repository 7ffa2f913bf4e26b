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
 *     vmask v_gt v_ge v_eq, vec v_pick(mask, yes, no)
 *     float v_sum(a), v_top(a)        lane i with i+8, then i+4, i+2, i+1
 *     v_transpose(vec r[16])
 *     vecd vd_set vd_wide vd_add vd_mul vd_rint vd_sum, vec vd_narrow   sixteen doubles
 *     v_exp v_log v_log1p v_sin v_cos v_tanh                            SLEEF, 1.0 ulp
 *
 * and this file adds what is built on them. */
#ifndef LLAP_BACKEND_CPU_VEC_H
#define LLAP_BACKEND_CPU_VEC_H

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
VEC_INLINE void v_exp_downs(int n, const vec *x, vec *y)
{
    static const float by[] = { 8.368702605e-03f, 4.166838527e-02f, 1.666652113e-01f,
                                4.999999404e-01f };
    vec                p[VEC_SIDE], r[VEC_SIDE], q[VEC_SIDE];
    V_EACH(n) p[i] = v_rint(v_mul(x[i], v_set(1.44269504f)));
    V_EACH(n) r[i] = v_fnma(p[i], v_set(0.693359375f), x[i]);
    V_EACH(n) r[i] = v_fnma(p[i], v_set(-2.12194440e-4f), r[i]);
    /* e^r = 1 + r + r^2 q(r), |r| <= ln(2)/2: error 3.1e-9 */
    V_EACH(n) q[i] = v_set(1.381464885e-03f);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) V_EACH(n) q[i] = v_fma(q[i], r[i], v_set(by[k]));
    V_EACH(n) q[i] = v_add(v_fma(v_mul(r[i], r[i]), q[i], r[i]), v_set(1.0f));
    V_EACH(n) y[i] = v_ldexp(q[i], p[i]);
}

VEC_INLINE vec v_exp_down(vec x)
{
    vec y;
    v_exp_downs(1, &x, &y);
    return y;
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

/* The normal distribution function of x and e^(-x^2/2), for GELU. The tail is
 *     Phi(-t) = e^(-t^2/2) w P(w),   w = 1/(1 + 0.3 t),   P of degree 9: error 3.5e-9 on 0 <= t <=
 * 14, so that GELU's relative error is at most 3.9e-7 on both sides of zero (0.5 x (1 + erf) would
 * lose all digits below -5), and 3.5 times faster than with SLEEF's erf: 11 against 37 ns for 16
 * numbers where it was measured. */
VEC_INLINE void v_phis(int n, const vec *x, vec *phi, vec *bell)
{
    static const float by[] = { 1.259357759e-06f,  7.734707469e-05f,  -3.792538337e-05f,
                                -9.759784443e-04f, -3.210714203e-04f, 1.485594269e-02f,
                                6.705407053e-02f,  1.623316407e-01f,  2.570205629e-01f };
    vec                t[VEC_SIDE], w[VEC_SIDE], u[VEC_SIDE], p[VEC_SIDE], s[VEC_SIDE], e[VEC_SIDE];
    const vec          half = v_set(-0.5f);
    V_EACH(n) t[i] = v_min(v_set(14.0f), v_abs(x[i]));
    V_EACH(n) w[i] = v_div(v_set(1.0f), v_fma(t[i], v_set(0.3f), v_set(1.0f)));
    V_EACH(n) s[i] = v_mul(t[i], t[i]);
    V_EACH(n) u[i] = v_mul(half, s[i]);
    v_exp_downs(n, u, e);
    V_EACH(n) e[i] = v_fma(v_mul(half, v_square_rest(t[i], s[i])), e[i], e[i]);
    V_EACH(n) u[i] = v_fma(w[i], v_set(2.476190567f), v_set(-1.476190448f));
    V_EACH(n) p[i] = v_set(-5.889539807e-06f);
#pragma GCC unroll 9
    for (int k = 0; k < 9; k++) V_EACH(n) p[i] = v_fma(p[i], u[i], v_set(by[k]));
    V_EACH(n)
    {
        const vec tail = v_mul(e[i], v_mul(w[i], p[i]));
        phi[i] = v_pick(v_gt(v_set(0.0f), x[i]), tail, v_sub(v_set(1.0f), tail));
        bell[i] = e[i];
    }
}

VEC_INLINE void v_gelus(int n, vec *x)
{
    vec phi[VEC_SIDE], bell[VEC_SIDE];
    v_phis(n, x, phi, bell);
    V_EACH(n) x[i] = v_mul(x[i], phi[i]);
}

VEC_INLINE vec v_gelu(vec x)
{
    v_gelus(1, &x);
    return x;
}

VEC_INLINE void v_gelu_slopes(int n, vec *x)
{
    vec phi[VEC_SIDE], bell[VEC_SIDE];
    v_phis(n, x, phi, bell);
    V_EACH(n) x[i] = v_fma(v_mul(x[i], v_set(0.3989422804f)), bell[i], phi[i]);
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

#endif
