/* Sixteen floats as an array, in plain C that any compiler may vectorise: same lanes, same order of
 * sums, but a*b+c rounds twice, so the bits differ from those of AVX2 and AVX-512. vec.h says what
 * each function means. */
#ifndef LL_BACKEND_CPU_VEC_PORTABLE_H
#define LL_BACKEND_CPU_VEC_PORTABLE_H

#include <math.h>
#include <sleef.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { VEC_SIDE = 1 }; /* see vec.h */

/* Forced inline only where the compiler optimises: with sanitizers it would drown in copies. */
#if defined __OPTIMIZE__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define VEC_INLINE static inline __attribute__((always_inline, unused))
#else
#define VEC_INLINE static inline __attribute__((unused))
#endif
#define VEC_EACH for (int i = 0; i < 16; i++)

typedef struct vec {
    float f[16];
} vec;
typedef struct vmask {
    bool f[16];
} vmask;
typedef struct vecd {
    double f[16];
} vecd;

VEC_INLINE vec v_set(float x)
{
    vec      r;
    VEC_EACH r.f[i] = x;
    return r;
}
VEC_INLINE vec v_load(const float *p)
{
    vec r;
    memcpy(&r, p, sizeof r);
    return r;
}
VEC_INLINE vec v_loadn(const float *p, int64_t n)
{
    vec      r;
    VEC_EACH r.f[i] = i < n ? p[i] : 0.0f;
    return r;
}
VEC_INLINE void v_store(float *p, vec a) { memcpy(p, &a, sizeof a); }
VEC_INLINE void v_storen(float *p, int64_t n, vec a)
{
    if (n > 0) memcpy(p, &a, (size_t)(n < 16 ? n : 16) * sizeof *p);
}
VEC_INLINE vec v_keep(vec a, int64_t n)
{
    VEC_EACH a.f[i] = i < n ? a.f[i] : 0.0f;
    return a;
}

VEC_INLINE vec v_add(vec a, vec b)
{
    VEC_EACH a.f[i] += b.f[i];
    return a;
}
VEC_INLINE vec v_sub(vec a, vec b)
{
    VEC_EACH a.f[i] -= b.f[i];
    return a;
}
VEC_INLINE vec v_mul(vec a, vec b)
{
    VEC_EACH a.f[i] *= b.f[i];
    return a;
}
VEC_INLINE vec v_div(vec a, vec b)
{
    VEC_EACH a.f[i] /= b.f[i];
    return a;
}
VEC_INLINE vec v_fma(vec a, vec b, vec c)
{
    VEC_EACH a.f[i] = a.f[i] * b.f[i] + c.f[i];
    return a;
}
VEC_INLINE vec v_fnma(vec a, vec b, vec c)
{
    VEC_EACH a.f[i] = c.f[i] - a.f[i] * b.f[i];
    return a;
}
VEC_INLINE vec v_square_rest(vec a, vec s)
{
    VEC_EACH a.f[i] = (float)((double)a.f[i] * (double)a.f[i] - (double)s.f[i]);
    return a;
}
VEC_INLINE vec v_max(vec a, vec b)
{
    VEC_EACH a.f[i] = a.f[i] > b.f[i] ? a.f[i] : b.f[i];
    return a;
}
VEC_INLINE vec v_min(vec a, vec b)
{
    VEC_EACH a.f[i] = a.f[i] < b.f[i] ? a.f[i] : b.f[i];
    return a;
}
VEC_INLINE vec v_sqrt(vec a)
{
    VEC_EACH a.f[i] = sqrtf(a.f[i]);
    return a;
}
VEC_INLINE vec v_abs(vec a)
{
    VEC_EACH a.f[i] = fabsf(a.f[i]);
    return a;
}
VEC_INLINE vec v_neg(vec a)
{
    VEC_EACH a.f[i] = -a.f[i];
    return a;
}
VEC_INLINE vec v_rint(vec a)
{
    VEC_EACH a.f[i] = rintf(a.f[i]);
    return a;
}
VEC_INLINE float v_power(float n) /* 2^n, 0 from -127 down */
{
    if (!(n > -127.0f)) return n <= -127.0f ? 0.0f : n;
    const uint32_t bits = (uint32_t)((int)n + 127) << 23;
    float          r;
    memcpy(&r, &bits, sizeof r);
    return r;
}
VEC_INLINE vec v_ldexp(vec a, vec n)
{
    VEC_EACH a.f[i] = n.f[i] <= -127.0f ? 0.0f : a.f[i] * v_power(n.f[i]);
    return a;
}

VEC_INLINE vec v_choose(vec z, const float *p)
{
    uint32_t bits[16];
    memcpy(bits, &z, sizeof bits);
    VEC_EACH z.f[i] = p[bits[i] >> 22 & 7];
    return z;
}
VEC_INLINE vec v_two_to(vec k)
{
    uint32_t bits[16];
    memcpy(bits, &k, sizeof bits);
    VEC_EACH bits[i] <<= 23;
    memcpy(&k, bits, sizeof bits);
    return k;
}

VEC_INLINE vmask v_gt(vec a, vec b)
{
    vmask    m;
    VEC_EACH m.f[i] = a.f[i] > b.f[i];
    return m;
}
VEC_INLINE vmask v_ge(vec a, vec b)
{
    vmask    m;
    VEC_EACH m.f[i] = a.f[i] >= b.f[i];
    return m;
}
VEC_INLINE vmask v_eq(vec a, vec b)
{
    vmask    m;
    VEC_EACH m.f[i] = a.f[i] == b.f[i];
    return m;
}
VEC_INLINE vec v_pick(vmask m, vec yes, vec no)
{
    VEC_EACH no.f[i] = m.f[i] ? yes.f[i] : no.f[i];
    return no;
}

VEC_INLINE float v_sum(vec a)
{
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++) a.f[i] += a.f[i + half];
    return a.f[0];
}
VEC_INLINE float v_top(vec a)
{
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++) a.f[i] = a.f[i] > a.f[i + half] ? a.f[i] : a.f[i + half];
    return a.f[0];
}

VEC_INLINE vecd vd_set(double x)
{
    vecd     r;
    VEC_EACH r.f[i] = x;
    return r;
}
VEC_INLINE vecd vd_wide(vec a)
{
    vecd     r;
    VEC_EACH r.f[i] = a.f[i];
    return r;
}
VEC_INLINE vec vd_narrow(vecd a)
{
    vec      r;
    VEC_EACH r.f[i] = (float)a.f[i];
    return r;
}
VEC_INLINE vecd vd_add(vecd a, vecd b)
{
    VEC_EACH a.f[i] += b.f[i];
    return a;
}
VEC_INLINE vecd vd_mul(vecd a, vecd b)
{
    VEC_EACH a.f[i] *= b.f[i];
    return a;
}
VEC_INLINE vecd vd_rint(vecd a)
{
    VEC_EACH a.f[i] = rint(a.f[i]);
    return a;
}
VEC_INLINE double vd_sum(vecd a)
{
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++) a.f[i] += a.f[i + half];
    return a.f[0];
}

/* Rows of 16 become columns. */
VEC_INLINE void v_transpose(vec r[16])
{
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < i; j++) {
            const float x = r[i].f[j];
            r[i].f[j] = r[j].f[i];
            r[j].f[i] = x;
        }
}

VEC_INLINE vec v_exp(vec a)
{
    VEC_EACH a.f[i] = Sleef_expf_u10(a.f[i]);
    return a;
}
VEC_INLINE vec v_log(vec a)
{
    VEC_EACH a.f[i] = Sleef_logf_u10(a.f[i]);
    return a;
}
VEC_INLINE vec v_log1p(vec a)
{
    VEC_EACH a.f[i] = Sleef_log1pf_u10(a.f[i]);
    return a;
}
VEC_INLINE vec v_sin(vec a)
{
    VEC_EACH a.f[i] = Sleef_sinf_u10(a.f[i]);
    return a;
}
VEC_INLINE vec v_cos(vec a)
{
    VEC_EACH a.f[i] = Sleef_cosf_u10(a.f[i]);
    return a;
}
VEC_INLINE vec v_tanh(vec a)
{
    VEC_EACH a.f[i] = Sleef_tanhf_u10(a.f[i]);
    return a;
}

#endif
