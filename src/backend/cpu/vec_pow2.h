/* 2^x where |x| is known to be small: half the multiplications of v_exp2_down, by a table of the
 * sixteenth roots of 2, and no case to tell apart. Included after vec.h. */
#ifndef LL_BACKEND_CPU_VEC_POW2_H
#define LL_BACKEND_CPU_VEC_POW2_H

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
