#include "detail.h"

#include "base/time/time.h"

#include <time.h>

/* A small generator of its own, so that failures repeat. */
static uint64_t next_random(void)
{
    static uint64_t x = 0x9e3779b97f4a7c15u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x * 0x2545f4914f6cdd1du;
}

/* ---- calendar ---- */

static void check_against_libc(int64_t t_s)
{
    const time_t   when = t_s;
    struct tm      tm;
    const ll_civil c = ll_civil_at_offset(t_s * LL_NS_PER_S, 0);
    assert_non_null(gmtime_r(&when, &tm));
    if (c.year != tm.tm_year + 1900 || c.month != tm.tm_mon + 1 || c.day != tm.tm_mday ||
        c.hour != tm.tm_hour || c.minute != tm.tm_min || c.second != tm.tm_sec ||
        (c.weekday + 1) % 7 != tm.tm_wday || c.yday != tm.tm_yday + 1 || c.ns != 0)
        fail_msg("%lld: %d-%d-%d", (long long)t_s, c.year, c.month, c.day);
    int64_t back;
    CHECK_OK(ll_civil_to_ns(&c, &back));
    assert_int_equal(back, t_s * LL_NS_PER_S);
    assert_int_equal(timegm(&tm), t_s);
}

static void the_calendar_is_that_of_libc(void **state)
{
    (void)state;
    for (int i = 0; i < 300000; i++) check_against_libc((int64_t)next_random() / LL_NS_PER_S);
    for (int64_t day = -106751; day <= 106751; day++) check_against_libc(day * LL_S_PER_DAY);
    for (int64_t year = -9999; year <= 9999; year++)
        for (int month = 1; month <= 12; month++) {
            struct tm     tm = { .tm_year = (int)year - 1900, .tm_mon = month - 1, .tm_mday = 1 };
            const int64_t days = ll_days_from_date((int32_t)year, month, 1);
            assert_int_equal(days * LL_S_PER_DAY, timegm(&tm));
            ll_civil c = { 0 };
            ll_date_from_days(days + ll_days_in_month((int32_t)year, month) - 1, &c);
            assert_int_equal(c.year, year);
            assert_int_equal(c.month, month);
            assert_int_equal(c.day, ll_days_in_month((int32_t)year, month));
        }
}

static void nanoseconds_survive_the_calendar(void **state)
{
    (void)state;
    const int64_t edges[] = { INT64_MIN, INT64_MIN + 1, -1000000001, -1000000000, -999999999, -1, 0,
                              1,         999999999,     1000000000,  INT64_MAX };
    for (size_t i = 0; i < 200000; i++) {
        const bool    edge = i < sizeof edges / sizeof *edges;
        const int64_t t = edge ? edges[i] : (int64_t)next_random();
        const int32_t offset_s = (int32_t)(next_random() % 187201) - 93600;
        ll_civil      c = ll_civil_at_offset(t, offset_s);
        int64_t       back = 0;
        CHECK_OK(ll_civil_to_ns(&c, &back));
        assert_int_equal(back, t);
    }
    const ll_civil first = ll_civil_at(INT64_MIN, NULL), last = ll_civil_at(INT64_MAX, NULL);
    assert_int_equal(first.year, 1677);
    assert_int_equal(first.ns, 145224192);
    assert_int_equal(last.year, 2262);
    assert_int_equal(last.ns, 854775807);
    assert_int_equal(ll_floor_s(-1), -1);
    assert_int_equal(ll_floor_s(-1000000000), -1);
    assert_int_equal(ll_floor_s(INT64_MIN), -9223372037);
}

static void fields_out_of_range_are_named(void **state)
{
    (void)state;
    const ll_civil good = { .year = 2024, .month = 2, .day = 29 };
    int64_t        t = 7;
    CHECK_OK(ll_civil_to_ns(&good, &t));
    assert_int_equal(t, INT64_C(1709164800000000000));
    ll_civil c = good;
    c.month = 13;
    check_detail(ll_civil_to_ns(&c, &t), LLAP_EINVAL, "month: expected 1..12, found 13");
    c.month = 0;
    check_detail(ll_civil_to_ns(&c, &t), LLAP_EINVAL, "month: expected 1..12, found 0");
    c = good;
    c.year = 2023;
    check_detail(ll_civil_to_ns(&c, &t), LLAP_EINVAL, "day: expected 1..28 in 2023-02, found 29");
    c = good;
    c.second = 60;
    check_detail(ll_civil_to_ns(&c, &t), LLAP_EINVAL, "second: expected 0..59, found 60");
    c = good;
    c.ns = -1;
    check_detail(ll_civil_to_ns(&c, &t), LLAP_EINVAL,
                 "nanosecond: expected 0..999999999, found -1");
    c = good;
    const int32_t years[] = { 1677, 2263, 0, -1, INT32_MIN + 1, INT32_MAX };
    for (size_t i = 0; i < sizeof years / sizeof *years; i++) {
        c = (ll_civil){ .year = years[i], .month = 1, .day = 1 };
        check_detail(ll_civil_to_ns(&c, &t), LLAP_ELIMIT,
                     "this date is outside the range of times, 1677-09-21T00:12:43.145224192Z to "
                     "2262-04-11T23:47:16.854775807Z");
    }
    assert_int_equal(t, INT64_C(1709164800000000000)); /* failures leave it alone */
}

/* ---- RFC 3339 ---- */

typedef struct good_row {
    const char *text;
    int64_t     t;
    const char *exact; /* as ll_time_format writes it back in UTC */
} good_row;

#define S INT64_C(1000000000)

static const good_row good[] = {
    { "1970-01-01", 0, "1970-01-01T00:00:00Z" },
    { "1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00Z" },
    { "2024-02-29T12:34:56Z", 1709210096 * S, "2024-02-29T12:34:56Z" },
    { "2024-02-29t12:34:56z", 1709210096 * S, "2024-02-29T12:34:56Z" },
    { "2024-02-29 12:34:56", 1709210096 * S, "2024-02-29T12:34:56Z" },
    { "2024-02-29 12:34", 1709210040 * S, "2024-02-29T12:34:00Z" },
    { "2024-02-29T12:34Z", 1709210040 * S, "2024-02-29T12:34:00Z" },
    { "2024-02-29T12:34+01", 1709206440 * S, "2024-02-29T11:34:00Z" },
    { "2024-02-29T12:34:56.5Z", 1709210096 * S + 500000000, "2024-02-29T12:34:56.5Z" },
    { "2024-02-29T12:34:56,250", 1709210096 * S + 250000000, "2024-02-29T12:34:56.25Z" },
    { "2024-02-29T12:34:56.000000001-00:00", 1709210096 * S + 1, "2024-02-29T12:34:56.000000001Z" },
    { "2024-02-29T12:34:56.100000000", 1709210096 * S + 100000000, "2024-02-29T12:34:56.1Z" },
    { "2024-02-29T12:34:56+08:00", 1709181296 * S, "2024-02-29T04:34:56Z" },
    { "2024-02-29T12:34:56+0800", 1709181296 * S, "2024-02-29T04:34:56Z" },
    { "2024-02-29T12:34:56+08", 1709181296 * S, "2024-02-29T04:34:56Z" },
    { "2024-02-29T12:34:56-03:30", 1709222696 * S, "2024-02-29T16:04:56Z" },
    { "2024-02-29T12:34:56+23:59", 1709123756 * S, "2024-02-28T12:35:56Z" },
    { "1969-12-31T23:59:59.999999999Z", -1, "1969-12-31T23:59:59.999999999Z" },
    { "1677-09-21T00:12:43.145224192Z", INT64_MIN, "1677-09-21T00:12:43.145224192Z" },
    { "2262-04-11T23:47:16.854775807Z", INT64_MAX, "2262-04-11T23:47:16.854775807Z" },
    { "2262-04-12T23:46:16.854775807+23:59", INT64_MAX, "2262-04-11T23:47:16.854775807Z" },
    { "2016-12-31T23:59:60Z", 1483228800 * S, "2017-01-01T00:00:00Z" },
    { "2016-12-31T23:59:60.25Z", 1483228800 * S + 250000000, "2017-01-01T00:00:00.25Z" },
    { "2017-01-01T05:29:60+05:30", 1483228800 * S, "2017-01-01T00:00:00Z" },
    { "2023-12-31T24:00", 1704067200 * S, "2024-01-01T00:00:00Z" },
    { "2023-12-31T24:00:00.000Z", 1704067200 * S, "2024-01-01T00:00:00Z" },
};

static void times_are_read_and_written_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t t = 42;
        char    text[LL_TIME_TEXT_MAX];
        CHECK_OK(ll_time_parse(good[i].text, strlen(good[i].text), NULL, LL_WALL_ERROR, &t));
        if (t != good[i].t) fail_msg("%s: %lld", good[i].text, (long long)t);
        assert_int_equal(ll_time_format(t, NULL, LL_DIGITS_EXACT, text), strlen(good[i].exact));
        assert_string_equal(text, good[i].exact);
    }
    int64_t t; /* the length counts, not a NUL */
    CHECK_OK(ll_time_parse("1970-01-02T00:00:00", 10, NULL, LL_WALL_ERROR, &t));
    assert_int_equal(t, 86400 * S);
}

static const struct {
    const char *text, *detail;
} bad[] = {
    { "", "time '' at position 1: expected year 0000..9999, found the end" },
    { "x", "time 'x' at position 1: expected year 0000..9999, found 'x'" },
    { "24-01-01", "time '24-01-01' at position 1: expected year 0000..9999, found '24-01-01'" },
    { "2024", "time '2024' at position 5: expected '-', found the end" },
    { "2024/01/01", "time '2024/01/01' at position 5: expected '-', found '/01/01'" },
    { "2024-13-01", "time '2024-13-01' at position 6: expected month 01..12, found '13-01'" },
    { "2024-00-01", "time '2024-00-01' at position 6: expected month 01..12, found '00-01'" },
    { "2024-1-01", "time '2024-1-01' at position 6: expected month 01..12, found '1-01'" },
    { "2024-01", "time '2024-01' at position 8: expected '-', found the end" },
    { "2024-01-32", "time '2024-01-32' at position 9: expected day 01..31, found '32'" },
    { "2023-02-29", "time '2023-02-29': 2023-02 has 28 days, found day 29" },
    { "1900-02-29T00:00:00Z", "time '1900-02-29T00:00:00Z': 1900-02 has 28 days, found day 29" },
    { "2024-01-01Z", "time '2024-01-01Z' at position 11: expected 'T' or a space, found 'Z'" },
    { "2024-01-01T", "time '2024-01-01T' at position 12: expected hour 00..24, found the end" },
    { "2024-01-01T25:00:00Z",
      "time '2024-01-01T25:00:00Z' at position 12: expected hour 00..24, found '25:00:00Z'" },
    { "2024-01-01T12", "time '2024-01-01T12' at position 14: expected ':', found the end" },
    { "2024-01-01T12:60:00Z",
      "time '2024-01-01T12:60:00Z' at position 15: expected minute 00..59, found '60:00Z'" },
    { "2024-01-01T12:00:61Z",
      "time '2024-01-01T12:00:61Z' at position 18: expected second 00..60, found '61Z'" },
    { "2024-01-01T12:00:00 Z", "time '2024-01-01T12:00:00 Z' at position 20: expected a fraction, "
                               "Z, an offset or the end, found ' Z'" },
    { "2024-01-01T12:00.5", "time '2024-01-01T12:00.5' at position 17: expected seconds, Z, an "
                            "offset or the end, found '.5'" },
    { "2024-01-01T12:00:00.", "time '2024-01-01T12:00:00.' at position 21: expected 1 to 9 digits "
                              "of a second, found the end" },
    { "2024-01-01T12:00:00.0123456789Z",
      "time '2024-01-01T12:00:00.0123456789Z' at position 30: expected at most 9 digits of a "
      "second (nanoseconds), found '9Z'" },
    { "2024-01-01T12:00:00Zx",
      "time '2024-01-01T12:00:00Zx' at position 21: expected the end, found 'x'" },
    { "2024-01-01T12:00:00+8",
      "time '2024-01-01T12:00:00+8' at position 21: expected offset hours 00..23, found '8'" },
    { "2024-01-01T12:00:00+24:00", "time '2024-01-01T12:00:00+24:00' at position 21: expected "
                                   "offset hours 00..23, found '24:00'" },
    { "2024-01-01T12:00:00+08:", "time '2024-01-01T12:00:00+08:' at position 24: expected offset "
                                 "minutes 00..59, found the end" },
    { "2024-01-01T12:00:00+08:60", "time '2024-01-01T12:00:00+08:60' at position 24: expected "
                                   "offset minutes 00..59, found '60'" },
    { "2024-01-01T12:00:00+080",
      "time '2024-01-01T12:00:00+080' at position 23: expected offset minutes 00..59, found '0'" },
    { "2024-01-01T24:00:01",
      "time '2024-01-01T24:00:01': 24:00:00 is the last moment of a day, hour 24 has no other" },
    { "2024-01-01T12:00:60Z",
      "time '2024-01-01T12:00:60Z': second 60 exists as 23:59:60 UTC only" },
    { "2024-01-01\x01\xff",
      "time '2024-01-01\\x01\\xff' at position 11: expected 'T' or a space, found '\\x01\\xff'" },
    { "2024-01-01T12:00:00Z and so on until it is too long to show",
      "time '2024-01-01T12:00:00Z and so on until it is too l'... at position 21: expected the "
      "end, "
      "found ' and so on until it is too long to show'" },
};

static void bad_times_say_what_is_wrong(void **state)
{
    (void)state;
    int64_t t = 42;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_detail(ll_time_parse(bad[i].text, strlen(bad[i].text), NULL, LL_WALL_ERROR, &t),
                     LLAP_EFORMAT, bad[i].detail);
    const char *const outside[] = { "1677-09-21T00:12:43.145224191Z",
                                    "2262-04-11T23:47:16.854775808Z", "0000-01-01", "9999-12-31" };
    for (size_t i = 0; i < 4; i++)
        CHECK_FAIL(ll_time_parse(outside[i], strlen(outside[i]), NULL, LL_WALL_ERROR, &t),
                   LLAP_ELIMIT,
                   "' is outside the range of times, 1677-09-21T00:12:43.145224192Z to");
    assert_int_equal(t, 42);
    /* Every byte of a good text replaced by every other: an error or another time, never a crash.
     */
    char text[] = "2024-02-29T12:34:56.5+01:00";
    for (size_t i = 0; i < sizeof text - 1; i++)
        for (int c = 0; c < 256; c++) {
            const char kept = text[i];
            text[i] = (char)c;
            if (ll_time_parse(text, sizeof text - 1, NULL, LL_WALL_ERROR, &t) != LLAP_OK)
                assert_non_null(strstr(llap_error_detail(), "time '"));
            text[i] = kept;
        }
}

static void the_common_shape_agrees_with_the_others(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        const int64_t t = (int64_t)next_random();
        char          text[LL_TIME_TEXT_MAX];
        size_t        n = ll_time_format(t, NULL, LL_DIGITS_EXACT, text);
        int64_t       back;
        CHECK_OK(ll_time_parse(text, n, NULL, LL_WALL_ERROR, &back));
        assert_int_equal(back, t);
        text[10] = 't'; /* not the common shape */
        CHECK_OK(ll_time_parse(text, n, NULL, LL_WALL_ERROR, &back));
        assert_int_equal(back, t);
        const int64_t whole = ll_floor_s(t);
        n = ll_time_format(t, NULL, 0, text);
        assert_int_equal(n, 20);
        if (whole < -9223372036) continue; /* cut below the first second */
        CHECK_OK(ll_time_parse(text, n, NULL, LL_WALL_ERROR, &back));
        assert_int_equal(back, whole * S);
    }
}

static void fixed_digits_are_cut(void **state)
{
    (void)state;
    char text[LL_TIME_TEXT_MAX];
    ll_time_format(1999999999, NULL, 3, text);
    assert_string_equal(text, "1970-01-01T00:00:01.999Z");
    ll_time_format(0, NULL, 99, text);
    assert_string_equal(text, "1970-01-01T00:00:00.000000000Z");
}

/* ---- epoch ---- */

static const struct {
    ll_time_unit unit;
    int64_t      t;
    const char  *exact;
} numbers[] = {
    { LL_UNIT_S, 0, "0" },
    { LL_UNIT_S, S, "1" },
    { LL_UNIT_S, 1700000000 * S, "1700000000" },
    { LL_UNIT_S, 1700000000 * S + 123456789, "1700000000.123456789" },
    { LL_UNIT_S, -1500000000, "-1.5" },
    { LL_UNIT_MS, -500000, "-0.5" },
    { LL_UNIT_MS, 1700000000 * S + 123000000, "1700000000123" },
    { LL_UNIT_US, 1700000000 * S + 123456789, "1700000000123456.789" },
    { LL_UNIT_NS, 1700000000 * S + 123456789, "1700000000123456789" },
    { LL_UNIT_NS, INT64_MIN, "-9223372036854775808" },
    { LL_UNIT_S, INT64_MAX, "9223372036.854775807" },
};

static void epoch_numbers_are_exact(void **state)
{
    (void)state;
    char text[LL_TIME_TEXT_MAX];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const size_t n = ll_time_format_epoch(numbers[i].t, numbers[i].unit, text);
        assert_int_equal(n, strlen(numbers[i].exact));
        assert_string_equal(text, numbers[i].exact);
    }
    for (int i = 0; i < 200000; i++) { /* the digits, without the point, are the nanoseconds */
        const int64_t when = (int64_t)next_random();
        const int     most = 3 * (i % 4);
        ll_time_format_epoch(when, (ll_time_unit)(i % 4), text);
        char     *point = strchr(text, '.');
        const int n = point == NULL ? 0 : (int)strlen(point + 1);
        assert_true(n <= most && (point == NULL || (n > 0 && point[n] != '0')));
        if (point != NULL) memmove(point, point + 1, strlen(point));
        long long t = strtoll(text, NULL, 10);
        for (int k = n; k < most; k++) t *= 10;
        assert_int_equal(t, when);
    }
}

static void units_are_read(void **state)
{
    (void)state;
    static const struct {
        const char  *text;
        ll_time_unit unit;
    } rows[] = {
        { "s", LL_UNIT_S }, { "ms", LL_UNIT_MS }, { "us", LL_UNIT_US }, { "ns", LL_UNIT_NS }
    };
    ll_time_unit unit;
    for (size_t i = 0; i < 4; i++) {
        CHECK_OK(ll_time_unit_parse(rows[i].text, strlen(rows[i].text), &unit));
        assert_int_equal(unit, rows[i].unit);
    }
    check_detail(ll_time_unit_parse("sec", 3, &unit), LLAP_EINVAL,
                 "unit 'sec' at position 1: expected s, ms, us or ns, found 'sec'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_calendar_is_that_of_libc),
        cmocka_unit_test(nanoseconds_survive_the_calendar),
        cmocka_unit_test(fields_out_of_range_are_named),
        cmocka_unit_test(times_are_read_and_written_back),
        cmocka_unit_test(bad_times_say_what_is_wrong),
        cmocka_unit_test(the_common_shape_agrees_with_the_others),
        cmocka_unit_test(fixed_digits_are_cut),
        cmocka_unit_test(epoch_numbers_are_exact),
        cmocka_unit_test(units_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
