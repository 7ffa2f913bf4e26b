/* Units and numbers of time, as udunits and the library understand them together. */
#include "netcdf_make.h"

#include "data/netcdf/load.h"
#include "data/netcdf/time.h"

#define DAY INT64_C(86400000000000)
#define HOUR INT64_C(3600000000000)
#define SECOND INT64_C(1000000000)
#define Y2000 (INT64_C(10957) * DAY)

/* The clock of a variable with these attributes; NULL: none. */
static llap_status clock_of(const char *units, const char *calendar, ll_nc_file *f, ll_nc_clock *c)
{
    static ll_netcdf_counts     none;
    static const ll_netcdf_opts o;
    const ll_nc_driver         *driver;
    begin_as("time.nc", NC_NETCDF4);
    dim("time", 1);
    var("time", NC_INT, "time");
    if (units != NULL) text("time", "units", units);
    if (calendar != NULL) text("time", "calendar", calendar);
    (void)end();
    CHECK_OK(ll_netcdf_load(LLAP_NETCDF_OBJECT, path, &driver));
    CHECK_OK(ll_nc_file_open(f, driver, path, "time.nc", &o, &none));
    return ll_nc_clock_init(c, f, &f->var[0]);
}

static void units_are_understood(void **state)
{
    (void)state;
    static const struct {
        const char *units, *calendar;
        int64_t     value, time;
        const char *zone;
    } cases[] = {
        { "minutes since 2000-01-01 00:00:00 +08:00", NULL, 0, Y2000 - 8 * HOUR, "+08:00" },
        { "minutes since 2000-01-01 00:00:00+08:00", NULL, 480, Y2000, "+08:00" },
        { "hours since 2000-01-01T00:00:00Z", "standard", 1, Y2000 + HOUR, "UTC" },
        { "hours since 2000-01-01 00:00:00 -3:30", "gregorian", 0, Y2000 + 7 * HOUR / 2, "-03:30" },
        { "days since 1970-1-1", "GREGORIAN", -1, -DAY, "UTC" },
        { "days since 1970-01-01", NULL, 106751, 106751 * DAY, "UTC" },
        { "seconds since 1970-01-01 00:00:00.5", NULL, 1, 3 * SECOND / 2, "UTC" },
        { "seconds since 1970-01-01 00:00:00.000001", NULL, 0, 1000, "UTC" },
        { "ms since 1970-01-01", NULL, 7, 7000000, "UTC" },
        { "microseconds since 1970-01-01 00:00 UTC", NULL, 7, 7000, "UTC" },
        { "nanoseconds since 1970-01-01", NULL, INT64_MAX, INT64_MAX, "UTC" },
        { "nanoseconds since 1970-01-01", NULL, INT64_MIN, INT64_MIN, "UTC" },
        { "0.5 hours since 1970-01-01", NULL, 3, 3 * HOUR / 2, "UTC" },
        { "weeks since 1970-01-01", NULL, 2, 14 * DAY, "UTC" },
        /* The first of January 1 is two days earlier in the calendar with Julian dates. */
        { "hours since 1-1-1 00:00:0.0", NULL, 17067072, -4 * 365 * DAY, NULL },
        { "days since 0001-01-01", "standard", 719164, 0, "UTC" },
        { "days since 0001-01-01", "proleptic_gregorian", 719162, 0, "UTC" },
        { "days since 1582-10-15", "proleptic_gregorian", 141427, 0, "UTC" },
        { "days since 1582-10-15", "standard", 141427, 0, "UTC" },
        { "days since 1582-10-04", "standard", 141428, 0, "UTC" },
        { "days since 1500-02-29", "standard", 171593, -DAY, NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ll_nc_file  f;
        ll_nc_clock c;
        int64_t     t;
        CHECK_OK(clock_of(cases[i].units, cases[i].calendar, &f, &c));
        assert_int_equal(c.axis.kind, LL_AXIS_CALENDAR);
        assert_true(ll_nc_clock_integer(&c, cases[i].value, &t));
        if (cases[i].zone != NULL) {
            if (t != cases[i].time)
                fail_msg("%s: expected %lld, found %lld", cases[i].units, (long long)cases[i].time,
                         (long long)t);
            assert_string_equal(c.axis.zone, cases[i].zone);
        }
        ll_nc_file_close(&f);
    }
}

static void numbers_without_a_date_stay_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *units, *unit;
        int64_t     step_ns, unit_ns;
    } cases[] = {
        { "h", "h", HOUR, HOUR },
        { "hours", "h", HOUR, HOUR },
        { "s", "s", SECOND, SECOND },
        { "seconds", "s", SECOND, SECOND },
        { "days", "d", DAY, DAY },
        { "min", "min", 60 * SECOND, 60 * SECOND },
        { "weeks", "weeks", 7 * DAY, 7 * DAY },
        { NULL, "", SECOND, SECOND },
        { "1", "", SECOND, SECOND },
        { "", "", SECOND, SECOND },
        { "1e-3", "", 1000000, SECOND },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ll_nc_file  f;
        ll_nc_clock c;
        CHECK_OK(clock_of(cases[i].units, NULL, &f, &c));
        assert_int_equal(c.axis.kind, LL_AXIS_NUMBER);
        assert_string_equal(c.axis.unit, cases[i].unit);
        assert_int_equal(c.axis.unit_ns, cases[i].unit_ns);
        assert_int_equal(c.step_ns, cases[i].step_ns);
        ll_nc_file_close(&f);
    }
}

static void what_is_no_time_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *units, *calendar;
        llap_status code;
        const char *text;
    } cases[] = {
        { "days since 2000-01-01", "noleap", LLAP_EUNSUPPORTED,
          "time.nc: time: calendar 'noleap'" },
        { "days since 2000-01-01", "365_day", LLAP_EUNSUPPORTED, "calendar '365_day'" },
        { "days since 2000-01-01", "360_day", LLAP_EUNSUPPORTED, "calendar '360_day'" },
        { "days since 2000-01-01", "julian", LLAP_EUNSUPPORTED, "calendar 'julian'" },
        { "months since 2000-01-01", NULL, LLAP_EFORMAT, "mean year or month" },
        { "years since 2000-01-01", NULL, LLAP_EFORMAT, "units 'years since 2000-01-01'" },
        { "years", NULL, LLAP_EFORMAT, "mean year or month" },
        { "metres", NULL, LLAP_EFORMAT, "units 'metres': expected a unit of time" },
        { "Hz", NULL, LLAP_EFORMAT, "expected a unit of time" },
        { "celsius", NULL, LLAP_EFORMAT, "expected a unit of time" },
        { "days since yesterday", NULL, LLAP_EFORMAT, "expected a unit of time" },
        { "days since 2000-02-30", NULL, LLAP_EFORMAT, "there is no such date" },
        { "days since 1900-02-29", NULL, LLAP_EFORMAT, "there is no such date" },
        { "days since 2000-13-01", NULL, LLAP_EFORMAT, "there is no such date" },
        { "picoseconds since 2000-01-01", NULL, LLAP_EFORMAT, "whole number of nanoseconds" },
        { "1000 days since 2000-01-01", NULL, LLAP_EFORMAT, "at most two years" },
        { "seconds since 1970-01-01 00:00 CET", NULL, LLAP_EFORMAT, "expected a unit of time" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ll_nc_file  f;
        ll_nc_clock c;
        CHECK_FAIL(clock_of(cases[i].units, cases[i].calendar, &f, &c), cases[i].code,
                   cases[i].text);
        ll_nc_file_close(&f);
    }
    char        long_unit[300];
    ll_nc_file  f;
    ll_nc_clock c;
    memset(long_unit, 's', sizeof long_unit);
    long_unit[299] = '\0';
    CHECK_FAIL(clock_of(long_unit, NULL, &f, &c), LLAP_EFORMAT, "longer than any unit");
    ll_nc_file_close(&f);
}

/* ---- numbers -------------------------------------------------------------------------------- */

static void floating_numbers_are_the_roundest_time(void **state)
{
    (void)state;
    const ll_nc_clock day = { .step_ns = DAY }, second = { .step_ns = SECOND };
    int64_t           t;
    /* every minute of a hundred days around today, in days */
    for (int64_t m = 20000 * 1440; m < 20100 * 1440; m++) {
        assert_true(ll_nc_clock_real(&day, (double)m / 1440, 53, &t));
        assert_int_equal(t, m * 60 * SECOND);
    }
    /* every millisecond of some seconds, in seconds since 1970 */
    for (int64_t ms = 1700000000000; ms < 1700000003000; ms++) {
        assert_true(ll_nc_clock_real(&second, (double)ms / 1000, 53, &t));
        assert_int_equal(t, ms * 1000000);
        assert_true(ll_nc_clock_real(&second, -(double)ms / 1000, 53, &t));
        assert_int_equal(t, -ms * 1000000);
    }
    /* hours of a year as float */
    for (int64_t h = 0; h < 365 * 24; h++) {
        assert_true(ll_nc_clock_real(&day, (double)(float)((double)h / 24), 24, &t));
        assert_int_equal(t, h * HOUR);
    }
    /* a fraction that is no rounder time is left alone */
    assert_true(ll_nc_clock_real(&day, 20000 + 0x1p-16, 53, &t));
    assert_int_equal(t, 20000 * DAY + DAY / 65536);
    /* neighbours never fall together, also across a power of two */
    int64_t before = INT64_MIN;
    for (float x = 511.9f; x < 512.2f; x = nextafterf(x, 1000)) {
        assert_true(ll_nc_clock_real(&day, (double)x, 24, &t));
        assert_true(t > before);
        before = t;
    }
    /* near zero the nearest nanosecond counts */
    assert_true(ll_nc_clock_real(&second, 1.6e-9, 53, &t));
    assert_int_equal(t, 2);
    assert_true(ll_nc_clock_real(&second, -2.4e-9, 53, &t));
    assert_int_equal(t, -2);
    assert_true(ll_nc_clock_real(&day, 1e-300, 53, &t));
    assert_int_equal(t, 0);
    assert_true(ll_nc_clock_real(&day, 5e-324, 53, &t));
    assert_int_equal(t, 0);
}

static void numbers_out_of_range_are_refused(void **state)
{
    (void)state;
    const ll_nc_clock day = { .step_ns = DAY }, ns = { .step_ns = 1 },
                      year1 = { .step_ns = DAY, .origin_s = -719162 * 86400LL };
    int64_t t;
    assert_false(ll_nc_clock_integer(&day, 106752, &t));
    assert_false(ll_nc_clock_integer(&day, INT64_MIN, &t));
    assert_false(ll_nc_clock_integer(&year1, 0, &t));
    assert_true(ll_nc_clock_integer(&year1, 719162, &t));
    assert_int_equal(t, 0);
    assert_false(ll_nc_clock_real(&day, 106752.5, 53, &t));
    assert_false(ll_nc_clock_real(&day, NAN, 53, &t));
    assert_false(ll_nc_clock_real(&day, -INFINITY, 53, &t));
    assert_false(ll_nc_clock_real(&ns, 0x1p63, 53, &t));
    assert_true(ll_nc_clock_real(&ns, -0x1p62, 53, &t));
    assert_int_equal(t, -(INT64_C(1) << 62));
}

static void a_time_out_of_range_is_named(void **state)
{
    (void)state;
    begin("range.nc");
    dim("time", 2), var("time", NC_INT, "time"), text("time", "units", "days since 1970-01-01");
    PUT("time", 1, 200000);
    EXPECT_FAIL(end(), defaults(), LLAP_EFORMAT,
                "range.nc: time: element 1: 200000 is outside 1677-09-21 to 2262-04-11");
}

static void integer_and_packed_times_are_exact(void **state)
{
    (void)state;
    static const nc_type types[] = { NC_BYTE,   NC_SHORT, NC_INT,    NC_INT64, NC_UBYTE,
                                     NC_USHORT, NC_UINT,  NC_UINT64, NC_FLOAT, NC_DOUBLE };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        begin("types.nc");
        dim("time", 2), var("time", types[i], "time"), text("time", "units", "h since 1970-01-01");
        PUT("time", 1, 120);
        EXPECT(end(), defaults(), "\ntypes 3600\ntypes 432000");
    }
    begin("scaled.nc");
    dim("time", 2), var("time", NC_INT, "time"), text("time", "units", "h since 1970-01-01");
    NUMBER("time", "scale_factor", NC_DOUBLE, 0.1);
    PUT("time", 5, 17);
    EXPECT(end(), defaults(), "\nscaled 1800\nscaled 6120");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_understood),
        cmocka_unit_test(numbers_without_a_date_stay_numbers),
        cmocka_unit_test(what_is_no_time_is_refused),
        cmocka_unit_test(floating_numbers_are_the_roundest_time),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(a_time_out_of_range_is_named),
        cmocka_unit_test(integer_and_packed_times_are_exact),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
