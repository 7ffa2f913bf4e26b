#include "check.h"

#include "data/text/number.h"

static float read_float(const char *text)
{
    float x = 12345;
    assert_int_equal(ll_number_float(text, strlen(text), '.', &x), LL_NUMBER_FINITE);
    return x;
}

/* The C library's conversion is correctly rounded, and the tests run in the C locale. */
static void expect_exact(const char *text)
{
    const float want = strtof(text, NULL);
    float       found;
    assert_int_equal(ll_number_float(text, strlen(text), '.', &found),
                     isinf(want) ? LL_NUMBER_INFINITE : LL_NUMBER_FINITE);
    const double want_d = strtod(text, NULL);
    double       found_d;
    assert_int_equal(ll_number_double(text, strlen(text), '.', &found_d), LL_NUMBER_FINITE);
    if (memcmp(&want, &found, sizeof want) != 0 || memcmp(&want_d, &found_d, sizeof want_d) != 0)
        fail_msg("%s: expected %a and %a, found %a and %a", text, (double)want, want_d,
                 (double)found, found_d);
}

static void decimals_round_correctly(void **state)
{
    (void)state;
    static const char *texts[] = {
        "0",
        "-0",
        "1",
        "-1.5",
        "+2",
        ".5",
        "5.",
        "007",
        "1e5",
        "1E-5",
        "1e+05",
        "123456789012345",
        "9007199254740993",
        "16777217",
        "16777219",
        "16777217.0",
        "0.1",
        "3.4028234e38",
        "1e-45",
        "1.1754943e-38",
        "7.006492321624085e-46",
        "7.0064923216240861e-46",
        "1.00000017881393432617187499",
        "1.00000017881393432617187500",
        "1.00000017881393432617187501",
        "8388609.5",
        "8388608.500000001",
        "0.000000000000000000001",
        "123456789012345678901234567890",
        "1e38",
        "18446744073709551616",
        "0e99999",
        "1e-99999",
        "1.000000059604644775390625",
        "1.0000000596046448",
        "1.0000000596046447",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) expect_exact(texts[i]);
    srand(3);
    for (int i = 0; i < 200000; i++) {
        char          text[64];
        const int64_t w = (int64_t)rand() << (rand() % 30);
        snprintf(text, sizeof text, "%lld.%0*de%d", (long long)(w >> rand() % 40), 1 + rand() % 12,
                 rand() % 100000, rand() % 50 - 25);
        expect_exact(text);
    }
}

static void what_is_no_number_is_refused(void **state)
{
    (void)state;
    static const char *texts[] = { "",    "+",     "-",     ".",    "e5",   "1e", "1e+",
                                   "1 ",  " 1",    "1,5",   "0x10", "nan",  "NA", "1.2.3",
                                   "--1", "1e5.0", "1_000", "in",   "infin" };
    float              x;
    double             d;
    int64_t            t;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const size_t n = strlen(texts[i]);
        assert_int_equal(ll_number_float(texts[i], n, '.', &x), LL_NUMBER_NONE);
        assert_int_equal(ll_number_double(texts[i], n, '.', &d), LL_NUMBER_NONE);
        assert_false(ll_number_ticks(texts[i], n, '.', 10, &t));
    }
    char longest[LL_NUMBER_TEXT + 1];
    memset(longest, '0', sizeof longest);
    assert_int_equal(ll_number_float(longest, LL_NUMBER_TEXT, '.', &x), LL_NUMBER_FINITE);
    assert_int_equal(ll_number_float(longest, LL_NUMBER_TEXT + 1, '.', &x), LL_NUMBER_NONE);
}

static void thousands_are_three_digits_at_a_time(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        char        decimal;
        const char *plain; /* "": not written so */
    } cases[] = {
        { "1,234.5", '.', "1234.5" },
        { "-12,345,678", '.', "-12345678" },
        { "1.538,65", ',', "1538,65" },
        { "1 234,5", ',', "1234,5" },
        { "1\xc2\xa0"
          "234,5",
          ',', "1234,5" },
        { "1\xe2\x80\xaf"
          "234\xe2\x80\xaf"
          "567",
          '.', "1234567" },
        { "1'234.5", '.', "1234.5" },
        { "1\xe2\x80\x99"
          "234.",
          '.', "1234." },
        { "1_000", '.', "1000" },
        { "999.5", '.', "" },
        { "0,125", '.', "" },
        { "1,23", '.', "" },
        { "1,2345", '.', "" },
        { "1234,567", '.', "" },
        { "1,234 567", '.', "" },
        { "1,234,5", '.', "" },
        { "1,234.5.6", '.', "" },
        { "1,234e5", '.', "" },
        { ",234", '.', "" },
        { "1.234", '.', "" },
        { "1 234\xc2", '.', "" },
        { "1,,234", '.', "" },
        { "192.168.1.1", ',', "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char         out[LL_NUMBER_TEXT];
        const size_t n =
            ll_number_ungroup(cases[i].text, strlen(cases[i].text), cases[i].decimal, out);
        if (n != strlen(cases[i].plain) || memcmp(out, cases[i].plain, n) != 0)
            fail_msg("%s became '%.*s'", cases[i].text, (int)n, out);
    }
}

static void infinity_is_told_apart(void **state)
{
    (void)state;
    static const char *texts[] = { "inf", "-Inf", "+INFINITY", "1e39", "-3.5e38", "1e99999" };
    float              x;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(ll_number_float(texts[i], strlen(texts[i]), '.', &x), LL_NUMBER_INFINITE);
        assert_true(isinf(x) && (signbit(x) != 0) == (texts[i][0] == '-'));
    }
}

static void the_decimal_comma_works(void **state)
{
    (void)state;
    float x;
    assert_int_equal(ll_number_float("-2,625", 6, ',', &x), LL_NUMBER_FINITE);
    assert_true(x == -2.625f);
    assert_int_equal(ll_number_float("0,1234567890123456789012", 24, ',', &x), LL_NUMBER_FINITE);
    assert_true(x == 0.1234567890123456789012f);
    assert_int_equal(ll_number_float("2.6", 3, ',', &x), LL_NUMBER_NONE);
}

static void floats_survive_writing(void **state)
{
    (void)state;
    char text[LL_NUMBER_PRINT];
    static const struct {
        float       x;
        const char *text;
    } known[] = {
        { 0, "0" },
        { -0.0f, "-0" },
        { 1, "1" },
        { 0.1f, "0.1" },
        { -2.5f, "-2.5" },
        { 16777216, "16777216" },
        { 1e9f, "1e9" },
        { 1e38f, "1e38" },
        { 1e-5f, "0.00001" },
        { 1e-6f, "1e-6" },
        { 1e-45f, "1e-45" },
        { 3.4028235e38f, "3.4028235e38" },
        { 123456.7f, "123456.7" },
        { 1013.25f, "1013.25" },
        { 100, "100" },
        { 0.0024f, "0.0024" },
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        ll_number_print(known[i].x, '.', text);
        assert_string_equal(text, known[i].text);
    }
    uint32_t bits = 1;
    for (int i = 0; i < 300000; i++) {
        bits = bits * 1664525u + 1013904223u;
        float x;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        const size_t n = ll_number_print(x, '.', text);
        assert_true(n == strlen(text) && n < LL_NUMBER_PRINT);
        const float back = read_float(text);
        if (memcmp(&back, &x, sizeof x) != 0) fail_msg("%a became %s", (double)x, text);
        /* never longer in digits than what the C library needs */
        int  digits = 0, needed = 1;
        char c[40];
        for (const char *p = text; *p != '\0' && *p != 'e'; p++) digits += *p >= '0' && *p <= '9';
        while (snprintf(c, sizeof c, "%.*e", needed - 1, (double)x), strtof(c, NULL) != x) needed++;
        if (fabsf(x) >= 1e9f || fabsf(x) < 1e-5f) assert_true(digits <= needed);
    }
}

static void a_memory_changes_nothing(void **state)
{
    (void)state;
    ll_number_memory *m = calloc(1, sizeof *m);
    srand(5);
    for (int i = 0; i < 300000; i++) {
        static const char *const odd[] = { "",      "NA", "-",  "inf",      "1e39",     "1e38",
                                           "1.2.3", "0",  "-0", "12345678", "123456789" };
        char                     text[40] = "";
        float                    x = 0, y = 0;
        if (i % 5 == 0) snprintf(text, sizeof text, "%s", odd[rand() % 11]);
        else snprintf(text, sizeof text, "%s%d.%d", i % 3 ? "" : "-", rand() % 300, rand() % 10);
        const size_t n = strlen(text);
        text[n + 1] = (char)rand(); /* what lies behind must not matter */
        const ll_number_kind kind = ll_number_float(text, n, '.', &x);
        assert_int_equal(ll_number_recall(m, text, n, '.', &y), kind);
        if (kind == LL_NUMBER_FINITE) assert_memory_equal(&x, &y, sizeof x);
    }
    free(m);
}

static void ticks_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t     unit, ticks;
    } known[] = {
        { "0", 60, 0 },
        { "2880", 60000000000, 172800000000000 },
        { "0.5", 3, 2 },
        { "-0.5", 3, -2 },
        { "1.5e3", 10, 15000 },
        { "1700000000.123456789", 1000000000, 1700000000123456789 },
        { "9223372036854775807", 1, INT64_MAX },
        { "-9223372036854775808", 1, INT64_MIN },
        { "0.0166666666666", 60000000000, 1000000000 },
        { "1e-30", 1000, 0 },
        { "00012", 1, 12 },
    };
    int64_t t;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const size_t n = strlen(known[i].text);
        assert_true(ll_number_ticks(known[i].text, n, '.', known[i].unit, &t));
        assert_int_equal(t, known[i].ticks);
    }
    assert_false(ll_number_ticks("9223372036854775808", 19, '.', 1, &t));
    assert_false(ll_number_ticks("1e19", 4, '.', 1, &t));
    assert_false(ll_number_ticks("inf", 3, '.', 1, &t));
    static const int64_t units[] = {
        1, 7, 1000000000, 60000000000, 86400000000000, 3155760000000007
    };
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 60000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        const int64_t ticks = (int64_t)x >> (i % 60), unit = units[i % 6];
        char          text[LL_NUMBER_PRINT];
        const size_t  n = ll_number_print_ticks(ticks, unit, ',', text);
        assert_true(n == strlen(text) && n < LL_NUMBER_PRINT);
        assert_true(ll_number_ticks(text, n, ',', unit, &t));
        if (t != ticks) fail_msg("%lld / %lld became %s", (long long)ticks, (long long)unit, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decimals_round_correctly),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(infinity_is_told_apart),
        cmocka_unit_test(the_decimal_comma_works),
        cmocka_unit_test(floats_survive_writing),
        cmocka_unit_test(ticks_are_exact),
        cmocka_unit_test(a_memory_changes_nothing),
        cmocka_unit_test(thousands_are_three_digits_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
