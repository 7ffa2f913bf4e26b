#include "detail.h"

#include "base/time/time.h"
#include "base/time/zone.h"

#include <time.h>

static ll_zone *zone(const char *spec)
{
    ll_zone *z;
    CHECK_OK(ll_zone_create(spec, strlen(spec), NULL, &z));
    return z;
}

static uint64_t next_random(void)
{
    static uint64_t x = 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

/* ---- fixed zones, names ---- */

static void fixed_zones_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *name;
        int32_t     offset_s;
    } rows[] = {
        { "UTC", "UTC", 0 },
        { "GMT", "UTC", 0 },
        { "Z", "UTC", 0 },
        { "+00:00", "UTC", 0 },
        { "-00", "UTC", 0 },
        { "+05:30", "+05:30", 19800 },
        { "+0530", "+05:30", 19800 },
        { "-08", "-08:00", -28800 },
        { "+8", "+08:00", 28800 },
        { "UTC+8", "+08:00", 28800 },
        { "GMT-3", "-03:00", -10800 },
        { "UTC-03:30", "-03:30", -12600 },
        { "+23:59", "+23:59", 86340 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ll_zone *z = zone(rows[i].spec);
        assert_string_equal(ll_zone_name(z), rows[i].name);
        assert_int_equal(ll_zone_at(z, 0).offset_s, rows[i].offset_s);
        assert_string_equal(ll_zone_at(z, 0).abbreviation, rows[i].name);
        assert_int_equal(ll_zone_is_utc(z), rows[i].offset_s == 0);
        int32_t offset_s;
        CHECK_OK(ll_zone_resolve(z, INT64_C(-9223372037), LL_WALL_ERROR, &offset_s));
        assert_int_equal(offset_s, rows[i].offset_s);
        ll_zone_destroy(z);
    }
    int32_t offset_s = 1;
    CHECK_OK(ll_zone_resolve(NULL, 0, LL_WALL_ERROR, &offset_s));
    assert_int_equal(offset_s, 0);
    assert_string_equal(ll_zone_name(NULL), "UTC");
    assert_string_equal(ll_zone_at(NULL, 0).abbreviation, "UTC");
    assert_true(ll_zone_is_utc(NULL));
    ll_zone_destroy(NULL);
}

#define ZONES "expected UTC, an offset such as +05:30, or a name such as Europe/Rome"

static void bad_zones_say_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *detail;
    } rows[] = {
        { "", "time zone '' at position 1: expected the name of a zone, found the end" },
        { "/etc/passwd", "time zone '/etc/passwd' at position 1: " ZONES ", found '/etc/passwd'" },
        { "../shadow", "time zone '../shadow' at position 1: " ZONES ", found '../shadow'" },
        { "Europe/../x", "time zone 'Europe/../x' at position 8: " ZONES ", found '../x'" },
        { "Europe//Rome", "time zone 'Europe//Rome' at position 8: " ZONES ", found '/Rome'" },
        { "Europe/",
          "time zone 'Europe/' at position 8: expected the name of a zone, found the end" },
        { "Europe/Rome\n",
          "time zone 'Europe/Rome\\x0a' at position 12: " ZONES ", found '\\x0a'" },
        { "~", "time zone '~' at position 1: " ZONES ", found '~'" },
        { "A@", "time zone 'A@' at position 2: " ZONES ", found '@'" },
        { "+25", "time zone '+25' at position 2: expected offset hours 0..23, found '25'" },
        { "UTC+", "time zone 'UTC+' at position 5: expected offset hours 0..23, found the end" },
        { "+05:30x", "time zone '+05:30x' at position 7: expected the end, found 'x'" },
        { "Abcdefghijklmnopqrstuvwxyz/Abcdefghijklmnopqrstuvwxyz/0123456789a",
          "time zone 'Abcdefghijklmnopqrstuvwxyz/Abcdefghijklmnopqrstu'...: expected a name of at "
          "most 63 bytes, found 65" },
    };
    ll_zone *z;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_detail(ll_zone_create(rows[i].spec, strlen(rows[i].spec), NULL, &z), LLAP_EINVAL,
                     rows[i].detail);
        assert_null(z);
    }
    check_detail(ll_zone_create("Mars/Olympus", 12, NULL, &z), LLAP_EINVAL,
                 "time zone 'Mars/Olympus': not in the time zone database /usr/share/zoneinfo "
                 "(package tzdata)");
    check_detail(ll_zone_create("Europe/Rome", 11, "/nonexistent", &z), LLAP_ENOTFOUND,
                 "time zone 'Europe/Rome': there is no time zone database in /nonexistent: install "
                 "the package tzdata");
    check_detail(ll_zone_create("Europe", 6, NULL, &z), LLAP_EINVAL,
                 "time zone 'Europe': /usr/share/zoneinfo/Europe: is a directory, expected a file");
    CHECK_FAIL(ll_zone_create("UTCX", 4, NULL, &z), LLAP_EINVAL, "not in the time zone database");
    CHECK_FAIL(ll_zone_create("Zebra", 5, NULL, &z), LLAP_EINVAL, "not in the time zone database");
    CHECK_FAIL(ll_zone_create("X", 1, NULL, &z), LLAP_EINVAL, "not in the time zone database");
}

static llap_status make_zones(void *user)
{
    (void)user;
    ll_zone    *fixed = NULL, *named = NULL;
    llap_status st = ll_zone_create("+01:00", 6, NULL, &fixed);
    if (st == LLAP_OK) st = ll_zone_create("Europe/Rome", 11, NULL, &named);
    ll_zone_destroy(fixed);
    ll_zone_destroy(named);
    return st;
}

static void failed_allocations_are_reported(void **state)
{
    (void)state;
    check_every_failed_allocation(make_zones, NULL);
}

/* ---- against libc ---- */

static void check_at(const ll_zone *z, const char *name, int64_t t_s)
{
    const time_t when = t_s;
    struct tm    tm;
    assert_non_null(localtime_r(&when, &tm));
    const ll_zone_local l = ll_zone_at(z, t_s);
    if (l.offset_s != tm.tm_gmtoff || l.dst != (tm.tm_isdst > 0) ||
        strcmp(l.abbreviation, tm.tm_zone) != 0)
        fail_msg("%s at %lld: expected %ld %s, found %d %s", name, (long long)t_s, tm.tm_gmtoff,
                 tm.tm_zone, l.offset_s, l.abbreviation);
    /* The wall time leads back: t is one of the readings, and the only one unless in a fold. */
    const int64_t local_s = t_s + l.offset_s;
    int32_t       early, late, only;
    CHECK_OK(ll_zone_resolve(z, local_s, LL_WALL_EARLIER, &early));
    CHECK_OK(ll_zone_resolve(z, local_s, LL_WALL_LATER, &late));
    assert_true(late <= early);
    assert_int_equal(ll_zone_at(z, local_s - early).offset_s, early);
    assert_int_equal(ll_zone_at(z, local_s - late).offset_s, late);
    assert_true(local_s - early <= t_s && t_s <= local_s - late);
    const bool ok = ll_zone_resolve(z, local_s, LL_WALL_ERROR, &only) == LLAP_OK;
    assert_int_equal(ok, early == late);
    if (ok) assert_int_equal(only, l.offset_s);
}

static void zones_are_those_of_libc(void **state)
{
    (void)state;
    static const char *const names[] = {
        "Europe/Rome",       "Europe/Dublin",    "Europe/London",     "America/New_York",
        "America/Sao_Paulo", "America/St_Johns", "Asia/Kolkata",      "Asia/Kathmandu",
        "Asia/Tehran",       "Australia/Sydney", "Pacific/Apia",      "Australia/Lord_Howe",
        "Pacific/Chatham",   "Pacific/Auckland", "Africa/Casablanca", "Asia/Tokyo",
        "America/Santiago",  "Antarctica/Troll", "Etc/GMT+8",         "Asia/Gaza",
        "America/Nuuk",      "Asia/Manila",      "Africa/Monrovia",   "America/Port-au-Prince",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ll_zone *z = zone(names[i]);
        assert_string_equal(ll_zone_name(z), names[i]);
        char variable[80];
        snprintf(variable, sizeof variable, ":%s", names[i]);
        setenv("TZ", variable, 1);
        tzset();
        for (int k = 0; k < 20000; k++) check_at(z, names[i], ll_floor_s((int64_t)next_random()));
        for (int k = 0; k < 20000; k++) /* 1970 .. 2100, where people are */
            check_at(z, names[i], (int64_t)(next_random() % UINT64_C(4102444800)));
        /* Every hour's edge of two years, before and after what files tabulate. */
        for (int64_t hour = 0; hour < 2 * 8784; hour++)
            for (int64_t s = -1; s <= 1; s++) {
                check_at(z, names[i], 1704067200 + hour * 1800 + s);
                check_at(z, names[i], 7258118400 + hour * 1800 + s);
            }
        check_at(z, names[i], -9223372037);
        check_at(z, names[i], 9223372036);
        ll_zone_destroy(z);
    }
    unsetenv("TZ");
    tzset();
}

static void etc_utc_is_utc(void **state)
{
    (void)state;
    ll_zone *z = zone("Etc/UTC"), *london = zone("Europe/London");
    assert_true(ll_zone_is_utc(z));
    assert_false(ll_zone_is_utc(london));
    char text[LL_TIME_TEXT_MAX];
    ll_time_format(0, z, LL_DIGITS_EXACT, text);
    assert_string_equal(text, "1970-01-01T00:00:00Z");
    ll_time_format(1704067200 * LL_NS_PER_S, london, LL_DIGITS_EXACT, text);
    assert_string_equal(text, "2024-01-01T00:00:00+00:00");
    ll_zone_destroy(z);
    ll_zone_destroy(london);
}

/* ---- gaps and folds ---- */

static void gaps_and_folds_follow_the_option(void **state)
{
    (void)state;
    ll_zone *rome = zone("Europe/Rome");
    static const struct {
        const char *text;
        ll_wall     wall;
        const char *utc;
    } rows[] = {
        { "2024-03-31 02:30", LL_WALL_EARLIER, "2024-03-31T00:30:00Z" },
        { "2024-03-31 02:30", LL_WALL_LATER, "2024-03-31T01:30:00Z" },
        { "2024-10-27 02:30", LL_WALL_EARLIER, "2024-10-27T00:30:00Z" },
        { "2024-10-27 02:30", LL_WALL_LATER, "2024-10-27T01:30:00Z" },
        { "2024-03-31 01:59:59", LL_WALL_ERROR, "2024-03-31T00:59:59Z" },
        { "2024-03-31 03:00", LL_WALL_ERROR, "2024-03-31T01:00:00Z" },
        { "2024-10-27 01:59:59", LL_WALL_ERROR, "2024-10-26T23:59:59Z" },
        { "2024-10-27 03:00", LL_WALL_ERROR, "2024-10-27T02:00:00Z" },
        { "2100-07-01 00:00", LL_WALL_ERROR, "2100-06-30T22:00:00Z" },
        { "1800-01-01 00:49:56", LL_WALL_ERROR, "1800-01-01T00:00:00Z" },
    };
    int64_t t;
    char    text[LL_TIME_TEXT_MAX];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_OK(ll_time_parse(rows[i].text, strlen(rows[i].text), rome, rows[i].wall, &t));
        ll_time_format(t, NULL, LL_DIGITS_EXACT, text);
        assert_string_equal(text, rows[i].utc);
    }
    check_detail(
        ll_time_parse("2024-03-31 02:00", 16, rome, LL_WALL_ERROR, &t), LLAP_EFORMAT,
        "time '2024-03-31 02:00': Europe/Rome never shows this time, its clock went from "
        "+01:00 to +02:00: choose the earlier or the later (`twice`), or write the offset");
    check_detail(ll_time_parse("2024-10-27 02:59:59", 19, rome, LL_WALL_ERROR, &t), LLAP_EFORMAT,
                 "time '2024-10-27 02:59:59': Europe/Rome shows this time twice, at +02:00 and at "
                 "+01:00: choose the earlier or the later (`twice`), or write the offset");
    /* An offset with seconds is cut in the text, and the text still means the instant. */
    ll_time_format(-5364662400 * LL_NS_PER_S, rome, LL_DIGITS_EXACT, text);
    assert_string_equal(text, "1800-01-01T00:49:00+00:49");
    for (int i = 0; i < 100000; i++) {
        const int64_t when = (int64_t)next_random();
        CHECK_OK(ll_time_parse(text, ll_time_format(when, rome, LL_DIGITS_EXACT, text), NULL,
                               LL_WALL_ERROR, &t));
        assert_int_equal(t, when);
    }
    const ll_civil c = ll_civil_at(1719828000 * LL_NS_PER_S, rome);
    assert_int_equal(c.hour, 12);
    assert_int_equal(c.offset_s, 7200);
    ll_zone_destroy(rome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_zones_are_read),
        cmocka_unit_test(bad_zones_say_what_is_wrong),
        cmocka_unit_test(failed_allocations_are_reported),
        cmocka_unit_test(zones_are_those_of_libc),
        cmocka_unit_test(etc_utc_is_utc),
        cmocka_unit_test(gaps_and_folds_follow_the_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
