#include "check.h"

#include "base/time/duration.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define S INT64_C(1000000000)
#define H (3600 * S)
#define D (24 * H)

static const struct {
    const char *text;
    int64_t     ns;
    const char *canonical;
} good[] = {
    { "14d", 14 * D, "14d" },
    { "48h", 48 * H, "2d" },
    { "90min", 5400 * S, "1h30min" },
    { "1h30m", 5400 * S, "1h30min" },
    { "1.5h", 5400 * S, "1h30min" },
    { "1,5h", 5400 * S, "1h30min" },
    { "500ms", 500 * MS, "500ms" },
    { "2w", 14 * D, "14d" },
    { "10us", 10 * US, "10us" },
    { "10\xc2\xb5s", 10 * US, "10us" },
    { "15s", 15 * S, "15s" },
    { "250ns", 250, "250ns" },
    { "-1d12h", -36 * H, "-1d12h" },
    { "+1d 12 hours", 36 * H, "1d12h" },
    { "2 weeks 1 day", 15 * D, "15d" },
    { "0s", 0, "0s" },
    { "-0h", 0, "0s" },
    { "1.000000001s", S + 1, "1s1ns" },
    { "0.0000000000025w", 1512, "1us512ns" }, /* 1 week / 4e11 */
    { "0.25us", 250, "250ns" },
    { "1.0000000000000000000000000000s", S, "1s" },
    { "P1DT12H", 36 * H, "1d12h" },
    { "-P1D", -D, "-1d" },
    { "P2W", 14 * D, "14d" },
    { "PT90M", 5400 * S, "1h30min" },
    { "PT0.5S", 500 * MS, "500ms" },
    { "P1W2DT3H4M5,5S", 9 * D + 3 * H + 245 * S + 500 * MS, "9d3h4min5s500ms" },
    { "106751d23h47min16s854ms775us807ns", INT64_MAX, "106751d23h47min16s854ms775us807ns" },
    { "-9223372036854775808ns", INT64_MIN, "-106751d23h47min16s854ms775us808ns" },
};

static void durations_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t ns = 42;
        char    text[LL_DURATION_TEXT_MAX];
        CHECK_OK(ll_duration_parse(good[i].text, strlen(good[i].text), &ns));
        if (ns != good[i].ns) fail_msg("%s: %lld", good[i].text, (long long)ns);
        assert_int_equal(ll_duration_format(ns, text), strlen(good[i].canonical));
        assert_string_equal(text, good[i].canonical);
    }
    int64_t ns;
    CHECK_OK(ll_duration_parse("15sX", 3, &ns)); /* the length counts */
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 200000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        const int64_t ns = (int64_t)x >> (i % 64);
        int64_t       back;
        char          text[LL_DURATION_TEXT_MAX];
        CHECK_OK(ll_duration_parse(text, ll_duration_format(ns, text), &back));
        assert_int_equal(back, ns);
    }
}

#define UNITS "a unit (w, d, h, min, s, ms, us or ns)"
#define MONTHS "months and years have no fixed length: write days (m is minutes)"
#define TOO_LONG "longer than 2^63 nanoseconds (292 years)"

static const struct {
    const char *text;
    llap_status code;
    const char *detail;
} bad[] = {
    { "", LLAP_EFORMAT, "duration '' at position 1: expected a number, found the end" },
    { "-", LLAP_EFORMAT, "duration '-' at position 2: expected a number, found the end" },
    { " 1h", LLAP_EFORMAT, "duration ' 1h' at position 1: expected a number, found ' 1h'" },
    { "1h ", LLAP_EFORMAT, "duration '1h ' at position 4: expected a number, found the end" },
    { "14", LLAP_EFORMAT, "duration '14' at position 3: expected " UNITS ", found the end" },
    { "14x", LLAP_EFORMAT, "duration '14x' at position 3: expected " UNITS ", found 'x'" },
    { "14dd", LLAP_EFORMAT, "duration '14dd' at position 3: expected " UNITS ", found 'dd'" },
    { "1H", LLAP_EFORMAT, "duration '1H' at position 2: expected " UNITS ", found 'H'" },
    { "1[", LLAP_EFORMAT, "duration '1[' at position 2: expected " UNITS ", found '['" },
    { "1{", LLAP_EFORMAT, "duration '1{' at position 2: expected " UNITS ", found '{'" },
    { "1.h", LLAP_EFORMAT, "duration '1.h' at position 3: expected a digit, found 'h'" },
    { "h", LLAP_EFORMAT, "duration 'h' at position 1: expected a number, found 'h'" },
    { "3M", LLAP_EFORMAT, "duration '3M': " MONTHS },
    { "1 month", LLAP_EFORMAT, "duration '1 month': " MONTHS },
    { "1y", LLAP_EFORMAT, "duration '1y': " MONTHS },
    { "P1Y", LLAP_EFORMAT, "duration 'P1Y': " MONTHS },
    { "P1M", LLAP_EFORMAT, "duration 'P1M': " MONTHS },
    { "1m1h", LLAP_EFORMAT,
      "duration '1m1h' at position 3: expected a smaller unit than the one before, found '1h'" },
    { "1h1h", LLAP_EFORMAT,
      "duration '1h1h' at position 3: expected a smaller unit than the one before, found '1h'" },
    { "1.5h30m", LLAP_EFORMAT,
      "duration '1.5h30m' at position 5: expected the end after a fraction, found '30m'" },
    { "1.5ns", LLAP_EFORMAT, "duration '1.5ns': finer than a nanosecond" },
    { "P", LLAP_EFORMAT, "duration 'P' at position 2: expected a number, found the end" },
    { "PT", LLAP_EFORMAT, "duration 'PT' at position 3: expected a number, found the end" },
    { "P1DT", LLAP_EFORMAT, "duration 'P1DT' at position 5: expected a number, found the end" },
    { "P1H", LLAP_EFORMAT, "duration 'P1H' at position 3: expected W, D or T, found 'H'" },
    { "PT1D", LLAP_EFORMAT, "duration 'PT1D' at position 4: expected H, M or S, found 'D'" },
    { "PT1HT1S", LLAP_EFORMAT, "duration 'PT1HT1S' at position 5: expected a number, found 'T1S'" },
    { "P 1D", LLAP_EFORMAT, "duration 'P 1D' at position 2: expected a number, found ' 1D'" },
    { "106752d", LLAP_ELIMIT, "duration '106752d': " TOO_LONG },
    { "9223372036854775808ns", LLAP_ELIMIT, "duration '9223372036854775808ns': " TOO_LONG },
    { "-9223372036854775809ns", LLAP_ELIMIT, "duration '-9223372036854775809ns': " TOO_LONG },
    { "18446744073709551616ns", LLAP_ELIMIT, "duration '18446744073709551616ns': " TOO_LONG },
    { "18446744073709551619ns", LLAP_ELIMIT, "duration '18446744073709551619ns': " TOO_LONG },
    { "184467440737095516150ns", LLAP_ELIMIT, "duration '184467440737095516150ns': " TOO_LONG },
    { "18446744073709551s", LLAP_ELIMIT, "duration '18446744073709551s': " TOO_LONG },
    { "18446744073709551.999us", LLAP_ELIMIT, "duration '18446744073709551.999us': " TOO_LONG },
    { "18446744073709551us999ns", LLAP_ELIMIT, "duration '18446744073709551us999ns': " TOO_LONG },
};

static void bad_durations_say_what_is_wrong(void **state)
{
    (void)state;
    int64_t ns = 42;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const llap_status st = ll_duration_parse(bad[i].text, strlen(bad[i].text), &ns);
        assert_string_equal(llap_error_detail(), bad[i].detail);
        assert_int_equal(st, bad[i].code);
    }
    assert_int_equal(ns, 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_exact),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(bad_durations_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
