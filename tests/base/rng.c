#include "check.h"

#include "base/cpu.h"
#include "base/rng/rng.h"
#include "base/rng/rng_blocks.h"

/* The three philox4x32-10 rows of Random123's published known answers. */
static void philox_gives_the_published_vectors(void **state)
{
    (void)state;
    static const uint32_t rows[][10] = {
        { 0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
        { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
          0x41c83b0e, 0xa20bc7c6, 0x6d5451fd },
        { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
          0x94fdcceb, 0x5001e420, 0x24126ea1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t out[4];
        ll_philox(rows[i], rows[i] + 4, out);
        assert_memory_equal(out, rows[i] + 6, sizeof out);
    }
}

/* Every field of the name changes the draw, and the numbers (from a second
 * implementation of the same definition) never change again. */
static void names_are_apart_and_stable(void **state)
{
    (void)state;
    const ll_rng r[] = {
        ll_rng_make(1, LL_STREAM_TEST, 3, 4, 5),
        ll_rng_make(2, LL_STREAM_TEST, 3, 4, 5),
        ll_rng_make(1, LL_STREAM_INIT, 3, 4, 5),
        ll_rng_make(1, LL_STREAM_TEST, 9, 4, 5),
        ll_rng_make(1, LL_STREAM_TEST, 3, 9, 5),
        ll_rng_make(1, LL_STREAM_TEST, 3, 4, 9),
        ll_rng_make(1ull << 32 | 1, LL_STREAM_TEST, 3, 4, 5),
        ll_rng_make(1, LL_STREAM_TEST, 3ull << 32, 4, 5),
    };
    enum { N = sizeof r / sizeof *r };
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++)
            assert_int_not_equal(ll_rng_bits(&r[i], 0), ll_rng_bits(&r[j], 0));
    assert_int_not_equal(ll_rng_bits(&r[0], 1), ll_rng_bits(&r[0], 1ull << 40));
    assert_int_equal(ll_rng_bits(&r[0], 0), 0x6f9a3d62);
    assert_int_equal(ll_rng_bits(&r[0], 6), 0x836719dc);
}

static void any_split_gives_the_same(void **state)
{
    (void)state;
    enum { N = 3001 };
    static float   whole[N], parts[N], uniform[N];
    const ll_rng   r = ll_rng_make(7, LL_STREAM_TEST, 11, 0, 0);
    const uint64_t first = (1ull << 34) + 3; /* across a block and beyond 32 bits */
    ll_rng_fill_normal(&r, first, N, whole);
    ll_rng_fill_uniform(&r, first, N, uniform);
    for (size_t at = 0, piece = 1; at < N; piece = piece % 401 + 7) {
        const size_t n = N - at < piece ? N - at : piece;
        ll_rng_fill_normal(&r, first + at, n, parts + at);
        at += n;
    }
    assert_memory_equal(whole, parts, sizeof whole);
    for (size_t i = 0; i < N; i++) {
        const float z = ll_rng_normal(&r, first + i);
        assert_memory_equal(&z, &whole[i], sizeof z);
        assert_true(uniform[i] == ll_rng_uniform(&r, first + i));
    }
}

/* The transform against the C library in double, over the whole range of bits. */
static void transform_is_accurate(void **state)
{
    (void)state;
    double       worst_log = 0, worst_turn = 0;
    const ll_rng r = ll_rng_make(1, LL_STREAM_TEST, 0, 0, 0);
    for (uint64_t i = 0; i < 2000000; i++) {
        uint32_t b = ll_rng_bits(&r, i);
        if (i % 4 == 1) b >>= b % 32;         /* small arguments */
        if (i % 4 == 2) b = ~(b >> (b % 32)); /* next to one */
        if (i < 64) b = i < 32 ? (uint32_t)i : ~(uint32_t)(i - 32);
        const double w = (b + 0.5) * 0x1p-32, want = -log1p(w - 1.0);
        worst_log = fmax(worst_log, fabs((double)ll_minus_log_of(b) - want) / want);
        float s, c;
        ll_turn_of(b, &s, &c);
        const double angle = 6.283185307179586477 * b * 0x1p-32;
        worst_turn =
            fmax(worst_turn, fmax(fabs((double)s - sin(angle)), fabs((double)c - cos(angle))));
    }
    print_message(
        "worst relative error of the logarithm %.3g, worst error of sine and cosine %.3g\n",
        worst_log, worst_turn);
    assert_true(worst_log < 2.5e-7);
    assert_true(worst_turn < 1.5e-7);
}

/* Kolmogorov-Smirnov distance, moments, tails and lag correlation of a million normals: each bound
 * is five deviations of its statistic, so a correct generator passes for about any seed. */
static void normals_are_normal(void **state)
{
    (void)state;
    enum { N = 1000000, CELLS = 2000 };
    float       *z = ll_new(N, sizeof *z);
    const ll_rng r = ll_rng_make(20240229, LL_STREAM_TEST, 5, 0, 0);
    ll_rng_fill_normal(&r, 0, N, z);
    double  m1 = 0, m2 = 0, m3 = 0, m4 = 0, lag1 = 0, lag2 = 0;
    int     beyond4 = 0;
    int64_t cells[CELLS] = { 0 };
    for (int i = 0; i < N; i++) {
        const double x = z[i];
        m1 += x;
        m2 += x * x;
        m3 += x * x * x;
        m4 += x * x * x * x;
        if (i > 0) lag1 += x * (double)z[i - 1];
        if (i > 1) lag2 += x * x * (double)z[i - 1] * (double)z[i - 1];
        beyond4 += fabs(x) > 4.0;
        const double p = 0.5 * erfc(-x / sqrt(2.0));
        cells[(int)fmin(p * CELLS, CELLS - 1)]++;
    }
    const double root = sqrt((double)N);
    assert_true(fabs(m1 / N) < 5 / root);
    assert_true(fabs(m2 / N - 1) < 5 * sqrt(2.0) / root);
    assert_true(fabs(m3 / N) < 5 * sqrt(15.0) / root);
    assert_true(fabs(m4 / N - 3) < 5 * sqrt(96.0) / root);
    assert_true(fabs(lag1 / N) < 5 / root);
    assert_true(fabs(lag2 / N - 1) < 5 * sqrt(8.0) / root);
    assert_true(fabs(beyond4 - 63.34) < 5 * sqrt(63.34));
    double ks = 0, chi2 = 0, below = 0;
    for (int i = 0; i < CELLS; i++) {
        const double e = (double)cells[i] - (double)N / CELLS;
        chi2 += e * e / ((double)N / CELLS);
        below += (double)cells[i];
        ks = fmax(ks, fabs(below / N - (i + 1.0) / CELLS));
    }
    assert_true(ks < 2.4 / root);
    assert_true(fabs(chi2 - (CELLS - 1)) < 5 * sqrt(2.0 * (CELLS - 1)));
    ll_free(z);
}

static void whole_numbers_and_permutations_are_even(void **state)
{
    (void)state;
    enum { N = 60000, SIDES = 6 };
    const ll_rng r = ll_rng_make(3, LL_STREAM_TEST, 0, 0, 0);
    int          count[SIDES] = { 0 }, first[SIDES] = { 0 };
    for (uint64_t i = 0; i < N; i++) count[ll_rng_below(&r, i, SIDES)]++;
    for (uint32_t i = 0; i < N; i++) {
        const ll_rng s = ll_rng_make(3, LL_STREAM_TEST, 1, i, 0);
        uint32_t     order[SIDES], seen = 0;
        ll_rng_permute(&s, SIDES, order);
        for (int j = 0; j < SIDES; j++) seen |= 1u << order[j];
        assert_int_equal(seen, (1u << SIDES) - 1);
        first[order[0]]++;
    }
    for (int i = 0; i < SIDES; i++) {
        assert_true(fabs(count[i] - N / 6.0) < 5 * sqrt(N * 5.0 / 36));
        assert_true(fabs(first[i] - N / 6.0) < 5 * sqrt(N * 5.0 / 36));
    }
    /* against the 128-bit product */
    for (uint64_t i = 0; i < 1000; i++) {
        const uint64_t n = (uint64_t)ll_rng_bits(&r, i) << (i % 33) | 1;
        const uint64_t x = (uint64_t)ll_rng_bits(&r, 2 * i + 1) << 32 | ll_rng_bits(&r, 2 * i);
        assert_true(ll_rng_below(&r, i, n) == (uint64_t)(((unsigned __int128)x * n) >> 64));
    }
}

/* Blocks made side by side are those made one by one, on every machine that has the vectors. */
static void blocks_side_by_side(void **state)
{
    typedef void   blocks_fn(const ll_rng *, uint64_t, size_t, uint32_t *);
    const ll_rng   r = ll_rng_make(5, LL_STREAM_TEST, 77, 3, 0xfffffff0u);
    const uint64_t firsts[] = { 0, 1, 0xfffffff8u, 0x123456789abcu };
    uint32_t       out[4 * 2 * LL_BLOCK_LANES], one[4];
    (void)state;
#if defined __x86_64__ && !defined LLAP_NO_SIMD
    blocks_fn *const all[] = { ll_cpu_has_fma() ? ll_blocks_fma : NULL,
                               ll_cpu_has_avx512() ? ll_blocks_avx512 : NULL };
#else
    blocks_fn *const all[] = { NULL };
#endif
    for (size_t v = 0; v < sizeof all / sizeof *all; v++)
        for (size_t f = 0; f < sizeof firsts / sizeof *firsts && all[v] != NULL; f++) {
            all[v](&r, firsts[f], LL_BLOCK_LANES + 1, out);
            for (size_t b = 0; b < 2 * LL_BLOCK_LANES; b++) {
                ll_rng_block(&r, firsts[f] + b, one);
                for (int w = 0; w < 4; w++) assert_int_equal(out[4 * b + (size_t)w], one[w]);
            }
        }
}

static void hashes_tell_contents_apart(void **state)
{
    (void)state;
    static const char zeros[40] = { 0 };
    uint64_t          seen[41];
    for (size_t n = 0; n <= 40; n++) {
        seen[n] = ll_hash(0, zeros, n);
        for (size_t m = 0; m < n; m++) assert_true(seen[n] != seen[m]);
    }
    assert_true(ll_hash(0, "a", 1) != ll_hash(0, "b", 1));
    assert_true(ll_hash(1, "a", 1) != ll_hash(0, "a", 1));
    assert_true(ll_hash(ll_hash(0, "a", 1), "b", 1) != ll_hash(ll_hash(0, "b", 1), "a", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_vectors),
        cmocka_unit_test(names_are_apart_and_stable),
        cmocka_unit_test(any_split_gives_the_same),
        cmocka_unit_test(transform_is_accurate),
        cmocka_unit_test(normals_are_normal),
        cmocka_unit_test(whole_numbers_and_permutations_are_even),
        cmocka_unit_test(blocks_side_by_side),
        cmocka_unit_test(hashes_tell_contents_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
