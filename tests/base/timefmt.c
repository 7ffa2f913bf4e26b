#include "check.h"

#include "base/time/timefmt.h"

static void check_detail(llap_status st, llap_status code, const char *detail)
{
    assert_string_equal(llap_error_detail(), detail);
    assert_int_equal(st, code);
}

static ll_timefmt compile(const char *format)
{
    ll_timefmt f;
    CHECK_OK(ll_timefmt_init(&f, format, strlen(format)));
    return f;
}

#define S INT64_C(1000000000)

static const struct {
    const char *format, *text, *t, *written;
} good[] = {
    { "%Y-%m-%d %H:%M:%S", "2024-02-29 12:34:56", "2024-02-29T12:34:56Z", "2024-02-29 12:34:56" },
    { "%F %T", "2024-02-29 12:34:56", "2024-02-29T12:34:56Z", "2024-02-29 12:34:56" },
    { "%FT%T.%fZ", "2024-02-29T12:34:56.25Z", "2024-02-29T12:34:56.25Z",
      "2024-02-29T12:34:56.25Z" },
    { "%Y%m%d%H%M%S", "20240229123456", "2024-02-29T12:34:56Z", "20240229123456" },
    { "%Y%m%d", "20240229", "2024-02-29T00:00:00Z", "20240229" },
    { "%d/%m/%Y %R", "1/2/2024 7:05", "2024-02-01T07:05:00Z", "01/02/2024 07:05" },
    { "%D", "02/29/24", "2024-02-29T00:00:00Z", "02/29/24" },
    { "%D", "12/31/68", "2068-12-31T00:00:00Z", "12/31/68" },
    { "%D", "01/01/69", "1969-01-01T00:00:00Z", "01/01/69" },
    { "%m/%d/%Y %I:%M %p", "2/3/2024 12:05 am", "2024-02-03T00:05:00Z", "02/03/2024 12:05 AM" },
    { "%m/%d/%Y %I:%M %p", "2/3/2024 12:05 PM", "2024-02-03T12:05:00Z", "02/03/2024 12:05 PM" },
    { "%m/%d/%Y %I %p", "2/3/2024 11 pm", "2024-02-03T23:00:00Z", "02/03/2024 11 PM" },
    { "%a, %d %b %Y %T %z", "Thu, 29 feb 2024 12:34:56 +0100", "2024-02-29T11:34:56Z",
      "Thu, 29 Feb 2024 11:34:56 +0000" },
    { "%A %e %B %Y %R%z", "THURSDAY  1 February 2024 00:00Z", "2024-02-01T00:00:00Z",
      "Thursday  1 February 2024 00:00+0000" },
    { "%e.%m.%Y", "11.2.2024", "2024-02-11T00:00:00Z", "11.02.2024" },
    { "%Y %j", "2024 366", "2024-12-31T00:00:00Z", "2024 366" },
    { "%Y-%j", "2023-60", "2023-03-01T00:00:00Z", "2023-060" },
    { "%F %T %Z", "2024-02-29 12:34:56 gmt", "2024-02-29T12:34:56Z", "2024-02-29 12:34:56 UTC" },
    { "%s", "1700000000", "2023-11-14T22:13:20Z", "1700000000" },
    { "%s", "+1", "1970-01-01T00:00:01Z", "1" },
    { "%s.%f", "-0.5", "1969-12-31T23:59:59.5Z", "-0.5" },
    { "%s.%f", "-9223372036.854775808", "1677-09-21T00:12:43.145224192Z", "-9223372036.854775808" },
    { "%f/%s", "5/1", "1970-01-01T00:00:01.5Z", "5/1" },
    { "%F%t%n%R 100%%", "2024-02-29 \t 12:34  100%", "2024-02-29T12:34:00Z",
      "2024-02-29\t\n12:34 100%" },
    { " %F", "\t 2024-02-29", "2024-02-29T00:00:00Z", " 2024-02-29" },
    { "%F %H", "2024-02-29 24", "2024-03-01T00:00:00Z", "2024-03-01 00" },
    { "%F %T", "2016-12-31 23:59:60", "2017-01-01T00:00:00Z", "2017-01-01 00:00:00" },
    { "%a %F %H", "Wed 2024-02-28 24", "2024-02-29T00:00:00Z", "Thu 2024-02-29 00" },
    { "%Y\xe5\xb9\xb4%m\xe6\x9c\x88%d",
      "2024\xe5\xb9\xb4"
      "2\xe6\x9c\x88"
      "3",
      "2024-02-03T00:00:00Z",
      "2024\xe5\xb9\xb4"
      "02\xe6\x9c\x88"
      "03" },
};

static void texts_are_read_and_written_in_their_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const ll_timefmt f = compile(good[i].format);
        int64_t          t, want;
        char             out[LL_TIMEFMT_TEXT_MAX];
        size_t           len;
        CHECK_OK(ll_time_parse(good[i].t, strlen(good[i].t), NULL, LL_WALL_ERROR, &want));
        CHECK_OK(ll_timefmt_parse(&f, good[i].text, strlen(good[i].text), NULL, LL_WALL_ERROR, &t));
        if (t != want) fail_msg("%s: %lld, not %lld", good[i].text, (long long)t, (long long)want);
        CHECK_OK(ll_timefmt_write(&f, t, NULL, LL_DIGITS_EXACT, out, &len));
        assert_string_equal(out, good[i].written);
        assert_int_equal(len, strlen(out));
        CHECK_OK(ll_timefmt_parse(&f, out, len, NULL, LL_WALL_ERROR, &want));
        assert_int_equal(want, t);
    }
}

static void every_time_survives_an_exact_format(void **state)
{
    (void)state;
    static const char *const formats[] = { "%F %T.%f",       "%A %d %B %Y %I:%M:%S.%f %p",
                                           "%Y%j%H%M%S.%f",  "%b %e %Y %T,%f %z",
                                           "%a %F %T.%f %Z", "%s.%f" };
    ll_zone                 *rome, *fixed;
    CHECK_OK(ll_zone_create("Europe/Rome", 11, NULL, &rome));
    CHECK_OK(ll_zone_create("-03:30", 6, NULL, &fixed));
    uint64_t x = 88172645463325252u;
    for (int i = 0; i < 60000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        const int64_t    t = (int64_t)x;
        const ll_timefmt f = compile(formats[i % 6]);
        const ll_zone   *zones[] = { NULL, fixed, rome };
        for (int z = 0; z < (i % 6 >= 3 ? 3 : 2); z++) { /* Rome is ambiguous without an offset */
            char    text[LL_TIMEFMT_TEXT_MAX];
            size_t  n;
            int64_t back = 0;
            CHECK_OK(ll_timefmt_write(&f, t, zones[z], LL_DIGITS_EXACT, text, &n));
            CHECK_OK(ll_timefmt_parse(&f, text, n, zones[z], LL_WALL_ERROR, &back));
            if (back != t) fail_msg("%s: %lld, not %lld", text, (long long)back, (long long)t);
        }
    }
    ll_zone_destroy(rome);
    ll_zone_destroy(fixed);
}

static void zones_count_where_the_text_is_silent(void **state)
{
    (void)state;
    ll_zone *rome;
    CHECK_OK(ll_zone_create("Europe/Rome", 11, NULL, &rome));
    const ll_timefmt local = compile("%F %R"), offset = compile("%F %R %z");
    int64_t          t;
    CHECK_OK(ll_timefmt_parse(&local, "2024-07-01 12:00", 16, rome, LL_WALL_ERROR, &t));
    assert_int_equal(t, 1719828000 * S);
    char   text[LL_TIMEFMT_TEXT_MAX];
    size_t n;
    CHECK_OK(ll_timefmt_write(&offset, t, rome, LL_DIGITS_EXACT, text, &n));
    assert_string_equal(text, "2024-07-01 12:00 +0200");
    CHECK_OK(ll_timefmt_parse(&offset, "2024-07-01 12:00 Z", 18, rome, LL_WALL_ERROR, &t));
    assert_int_equal(t, 1719835200 * S);
    check_detail(ll_timefmt_parse(&local, "2024-10-27 02:30", 16, rome, LL_WALL_ERROR, &t),
                 LLAP_EFORMAT,
                 "time '2024-10-27 02:30': Europe/Rome shows this time twice, at +02:00 and at "
                 "+01:00: choose the earlier or the later (`twice`), or write the offset");
    ll_zone_destroy(rome);
}

static void fixed_digits_are_cut(void **state)
{
    (void)state;
    const ll_timefmt f = compile("%F %T.%f");
    char             text[LL_TIMEFMT_TEXT_MAX];
    size_t           n;
    CHECK_OK(ll_timefmt_write(&f, 1999999999, NULL, 3, text, &n));
    assert_string_equal(text, "1970-01-01 00:00:01.999");
    CHECK_OK(ll_timefmt_write(&f, 0, NULL, LL_DIGITS_EXACT, text, &n));
    assert_string_equal(text, "1970-01-01 00:00:00.0");
}

static void two_digit_years_are_not_written_wrong(void **state)
{
    (void)state;
    const ll_timefmt f = compile("%D");
    char             text[LL_TIMEFMT_TEXT_MAX];
    size_t           n;
    check_detail(ll_timefmt_write(&f, -400 * 86400 * S, NULL, 0, text, &n), LLAP_ELIMIT,
                 "%y writes the years 1969..2068, not 1968");
    check_detail(ll_timefmt_write(&f, 4000000000 * S, NULL, 0, text, &n), LLAP_ELIMIT,
                 "%y writes the years 1969..2068, not 2096");
}

#define LETTERS "a conversion out of YymbBdejHIpMSfaAzZsFDTRnt% behind a %"

static const struct {
    const char *format, *detail;
} bad_formats[] = {
    { "", "time format '': expected a year, %Y or %y" },
    { "%Q", "time format '%Q' at position 1: expected " LETTERS ", found '%Q'" },
    { "%Y-%m-%d %E", "time format '%Y-%m-%d %E' at position 10: expected " LETTERS ", found '%E'" },
    { "%Y %", "time format '%Y %' at position 4: expected " LETTERS ", found '%'" },
    { "%m-%d", "time format '%m-%d': expected a year, %Y or %y" },
    { "%Y-%d", "time format '%Y-%d': expected a month, %m, %b or %B" },
    { "%Y-%m", "time format '%Y-%m': expected a day, %d or %e" },
    { "%F %j", "time format '%F %j': %j goes without month and day" },
    { "%F %I:%M", "time format '%F %I:%M': %I and %p go together" },
    { "%F %R %p", "time format '%F %R %p': %I and %p go together" },
    { "%F %M", "time format '%F %M': %M needs an hour, %H or %I" },
    { "%F %H %S", "time format '%F %H %S': %S needs a minute, %M" },
    { "%F %R.%f", "time format '%F %R.%f': %f needs a second, %S or %s" },
    { "%F %z", "time format '%F %z': %z needs a minute, %M" },
    { "%s %Y", "time format '%s %Y': %s goes with %f only" },
    { "%F %Y", "time format '%F %Y' at position 4: expected each part of a time once, without a "
               "second %Y or what stands for it, found '%Y'" },
    { "%F %b", "time format '%F %b' at position 4: expected each part of a time once, without a "
               "second %b or what stands for it, found '%b'" },
    { "%y %F", "time format '%y %F' at position 4: expected each part of a time once, without a "
               "second %Y or what stands for it, found '%F'" },
    { "%s0", "time format '%s0' at position 3: expected no digits behind %s, whose width varies, "
             "found '0'" },
    { "%m-%e%Y", "time format '%m-%e%Y' at position 6: expected no digits behind %e, whose width "
                 "varies, found '%Y'" },
};

static void bad_formats_say_what_is_wrong(void **state)
{
    (void)state;
    ll_timefmt f;
    for (size_t i = 0; i < sizeof bad_formats / sizeof *bad_formats; i++)
        check_detail(ll_timefmt_init(&f, bad_formats[i].format, strlen(bad_formats[i].format)),
                     LLAP_EINVAL, bad_formats[i].detail);
    char text[LL_TIMEFMT_MAX + 1];
    memset(text, 'x', sizeof text);
    memcpy(text, "%A%B%d%Y%s", 8);
    CHECK_OK(ll_timefmt_init(&f, text, LL_TIMEFMT_MAX));
    CHECK_FAIL(ll_timefmt_init(&f,
                               "%F %T xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                               "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
                               126),
               LLAP_ELIMIT, "expected at most 128 characters and conversions");
}

static const struct {
    const char *format, *text, *detail;
} bad_texts[] = {
    { "%F", "2024-02-30", "time '2024-02-30': 2024-02 has 29 days, found day 30" },
    { "%F", "2024-02-3x", "time '2024-02-3x' at position 10: expected the end, found 'x'" },
    { "%F", "2024-02", "time '2024-02' at position 8: expected '-', found the end" },
    { "%F %T", "2024-02-03T12:00:00",
      "time '2024-02-03T12:00:00' at position 11: expected a blank, "
      "found 'T12:00:00'" },
    { "%d %b %Y", "1 March 2024",
      "time '1 March 2024' at position 6: expected a blank, found 'ch "
      "2024'" },
    { "%d %b %Y", "1 Foo 2024",
      "time '1 Foo 2024' at position 3: expected a month, Jan to Dec, found 'Foo 2024'" },
    { "%d %B %Y", "1 Mar 2024",
      "time '1 Mar 2024' at position 3: expected a month, January to December, found 'Mar 2024'" },
    { "%a %F", "Fri 2024-02-29", "time 'Fri 2024-02-29': 2024-02-29 is a Thursday, found Friday" },
    { "%F %I %p", "2024-02-29 13 PM",
      "time '2024-02-29 13 PM' at position 12: expected hour 1..12, found '13 PM'" },
    { "%Y %j", "2023 366", "time '2023 366': 2023 has 365 days, found day 366" },
    { "%Y %j", "2023 0",
      "time '2023 0' at position 6: expected day of the year 1..366, found '0'" },
    { "%F %R %z", "2024-02-29 12:00 CET",
      "time '2024-02-29 12:00 CET' at position 18: expected an offset such as +08:00, found "
      "'CET'" },
    { "%F %Z", "2024-02-29 CET",
      "time '2024-02-29 CET' at position 12: expected UTC, GMT or Z, found 'CET'" },
    { "%F %T.%f", "2024-02-29 12:00:00.",
      "time '2024-02-29 12:00:00.' at position 21: expected 1 to "
      "9 digits of a second, found the end" },
    { "%s", "x", "time 'x' at position 1: expected seconds since 1970, found 'x'" },
    { "%F\x01", "2024-02-29",
      "time '2024-02-29' at position 11: expected byte 0x01, found the end" },
    { "%F\xff", "2024-02-29",
      "time '2024-02-29' at position 11: expected byte 0xff, found the end" },
    { "%F %H:%M", "2024-02-29 24:01",
      "time '2024-02-29 24:01': 24:00:00 is the last moment of a day, hour 24 has no other" },
};

static void bad_texts_say_what_is_wrong(void **state)
{
    (void)state;
    int64_t t = 42;
    for (size_t i = 0; i < sizeof bad_texts / sizeof *bad_texts; i++) {
        const ll_timefmt f = compile(bad_texts[i].format);
        check_detail(ll_timefmt_parse(&f, bad_texts[i].text, strlen(bad_texts[i].text), NULL,
                                      LL_WALL_ERROR, &t),
                     LLAP_EFORMAT, bad_texts[i].detail);
    }
    const ll_timefmt  f = compile("%s");
    const char *const outside[] = { "9223372037", "-9223372037", "99999999999", "999999999999" };
    for (size_t i = 0; i < 4; i++)
        CHECK_FAIL(ll_timefmt_parse(&f, outside[i], strlen(outside[i]), NULL, LL_WALL_ERROR, &t),
                   LLAP_ELIMIT, "is outside the range of times");
    assert_int_equal(t, 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read_and_written_in_their_format),
        cmocka_unit_test(every_time_survives_an_exact_format),
        cmocka_unit_test(zones_count_where_the_text_is_silent),
        cmocka_unit_test(fixed_digits_are_cut),
        cmocka_unit_test(two_digit_years_are_not_written_wrong),
        cmocka_unit_test(bad_formats_say_what_is_wrong),
        cmocka_unit_test(bad_texts_say_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
