/* NetCDF files that are malformed, damaged or none. */
#include "netcdf_tables.h"

#include "base/file.h"

/* libnetcdf believes what a damaged header says about sizes; as malloc does, say no. */
LLAP_API const char *__asan_default_options(void);
const char          *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static void stations_are_wrong(const ll_netcdf_opts o)
{
    ragged(false);
    PUT("rows", 2, 1, 4);
    EXPECT_FAIL(end(), o, LLAP_EFORMAT, "rows: sums to more than the 6 of dimension 'obs'");
    ragged(false);
    PUT("rows", 2, 1, 2);
    EXPECT_FAIL(end(), o, LLAP_EFORMAT, "rows: expected the sum 6 of dimension 'obs', found 5");
    ragged(false);
    PUT("rows", 2, -1, 5);
    EXPECT_FAIL(end(), o, LLAP_EFORMAT, "rows: station 1: expected a count, found a negative one");
    ragged(false);
    EXPECT_FAIL(end(), o, LLAP_EFORMAT, "rows: station 0: expected a count, found a missing value");
    ragged(true);
    PUT("rows", 0, 1, 2, 3, 0, 0);
    PUT("time", 0, 1, 2, 3, 4, 5);
    EXPECT_FAIL(end(), o, LLAP_EFORMAT, "rows: element 3: expected 0 to 2, found 3");
    ragged(true);
    text("rows", "instance_dimension", "nothing");
    EXPECT_FAIL(end(), o, LLAP_EFORMAT, "instance_dimension 'nothing' does not exist");
    ragged(false);
    PUT("rows", 2, 0, 4), PUT("time", 0, 1, 2, 3, 4, 5);
    PUT_TEXTS("name", "a", "b", "a");
    EXPECT_FAIL(end(), o, LLAP_EFORMAT, "are both named 'a'");
    for (int ragged_too = 0; ragged_too < 2; ragged_too++) {
        begin("elsewhere.nc");
        dim("station", 2), dim("obs", 3), dim("other", 5);
        var("time", NC_INT, ragged_too ? "obs" : "station obs");
        text("time", "units", "s since 1970-01-01");
        var("name", NC_STRING, "other"), text("name", "cf_role", "timeseries_id");
        var("rows", NC_INT, "station");
        if (ragged_too) text("rows", "sample_dimension", "obs");
        EXPECT_FAIL(end(), o, LLAP_EFORMAT,
                    "name(other=5) names stations, but 'station' counts them");
    }
}

static void times_are_wrong(const ll_netcdf_opts o)
{
    begin("none.nc");
    dim("time", 2), var("x", NC_FLOAT, "time");
    EXPECT_FAIL(end(), o, LLAP_EFORMAT, "none.nc: no time variable");
    begin("two.nc");
    dim("a", 2), dim("b", 2);
    var("a", NC_INT, "a"), text("a", "units", "s since 1970-01-01");
    var("b", NC_INT, "b"), text("b", "units", "s since 1970-01-01");
    EXPECT_FAIL(end(), o, LLAP_EFORMAT, "both 'a' and 'b' may be the time");
    begin("tie.nc");
    dim("time", 2), dim("site", 2), dim("level", 3), time_and_data("s since 1970-01-01");
    var("a", NC_FLOAT, "time site"), var("l", NC_FLOAT, "level time");
    EXPECT_FAIL(end(), o, LLAP_EFORMAT,
                "cannot tell whether dimension 'site' or 'level' counts the stations");
    begin("cube.nc");
    dim("a", 2), dim("b", 2), dim("c", 2);
    var("time", NC_INT, "a b c"), text("time", "units", "s since 1970-01-01");
    EXPECT_FAIL(end(), o, LLAP_EFORMAT, "time(a=2, b=2, c=2): expected time on one dimension");
    begin("groups.nc");
    int group;
    NC(nc_def_grp(nc, "inner", &group));
    EXPECT_FAIL(end(), o, LLAP_EUNSUPPORTED, "has groups only");
}

static void attributes_are_wrong(const ll_netcdf_opts o)
{
    begin("packing.nc");
    dim("time", 2), time_and_data("s since 1970-01-01"), var("x", NC_SHORT, "time");
    PUT("time", 0, 1);
    NUMBER("x", "scale_factor", NC_DOUBLE, 1, 2);
    EXPECT_FAIL(end(), o, LLAP_EFORMAT, "x: attribute scale_factor: expected 1 value, found 2");
    begin("empty.nc"); /* wrong also where there is nothing to unpack */
    dim("time", 0), time_and_data("s since 1970-01-01"), var("x", NC_SHORT, "time");
    NUMBER("x", "scale_factor", NC_DOUBLE, 1, 2);
    EXPECT_FAIL(end(), o, LLAP_EFORMAT, "x: attribute scale_factor: expected 1 value, found 2");
    begin("range.nc");
    dim("time", 2), time_and_data("s since 1970-01-01"), var("x", NC_SHORT, "time");
    PUT("time", 0, 1);
    NUMBER("x", "valid_range", NC_SHORT, 1, 2, 3);
    EXPECT_FAIL(end(), o, LLAP_EFORMAT, "x: attribute valid_range: expected 2 values, found 3");
}

static void malformed_files_are_named(void **state)
{
    (void)state;
    stations_are_wrong(defaults());
    times_are_wrong(defaults());
    attributes_are_wrong(defaults());
}

/* A tiny file may claim dimensions that no memory holds. */
static void huge_dimensions_are_refused(void **state)
{
    (void)state;
    ll_netcdf_opts o = defaults();
    o.max_entities = 0;
    begin("huge.nc");
    dim("time", (size_t)1 << 40), dim("station", (size_t)1 << 40);
    time_and_data("s since 1970-01-01");
    var("x", NC_FLOAT, "time station");
    const char *file = end();
    EXPECT_FAIL(file, o, LLAP_ELIMIT, "1099511627776 x 1099511627776 elements are too many");
    begin("wide.nc");
    dim("time", 1000), dim("station", (size_t)1 << 40);
    time_and_data("s since 1970-01-01");
    var("x", NC_FLOAT, "time station");
    file = end();
    EXPECT_FAIL(file, defaults(), LLAP_ELIMIT,
                "1099511627776 stations, more than the 1000000 allowed");
    /* nothing, but a lot of it */
    begin("nothing.nc");
    dim("obs", (size_t)1 << 40), dim("station", 0);
    var("time", NC_INT, "obs station"), text("time", "units", "s since 1970-01-01");
    var("x", NC_FLOAT, "obs station");
    text("x", "coordinates", "time");
    o.station = "station";
    EXPECT(end(), o, "x");
}

static void what_is_no_netcdf_is_said_so(void **state)
{
    (void)state;
    const ll_netcdf_opts o = defaults();
    bool                 yes;
    EXPECT_FAIL("/no/such.nc", o, LLAP_ENOTFOUND, "/no/such.nc: No such file");
    EXPECT_FAIL(folder, o, LLAP_EINVAL, "is a directory");
    EXPECT_FAIL("/dev/null", o, LLAP_EINVAL, "not a regular file");
    EXPECT_FAIL("https://127.0.0.1/x.nc", o, LLAP_ENOTFOUND,
                "https://127.0.0.1/x.nc: No such file");
    snprintf(path, sizeof path, "%s/text.nc", folder);
    FILE *f = fopen(path, "wb");
    fputs("time,temp\n1,2\n", f);
    fclose(f);
    EXPECT_FAIL(path, o, LLAP_EFORMAT, "text.nc: is not a NetCDF file");
    CHECK_OK(ll_netcdf_detect(path, &yes));
    assert_false(yes);
    CHECK_FAIL(ll_netcdf_detect(folder, &yes), LLAP_EINVAL, "is a directory");
    f = fopen(path, "wb");
    fputs("CDF\001 and no more", f);
    fclose(f);
    CHECK_OK(ll_netcdf_detect(path, &yes));
    assert_true(yes);
    EXPECT_FAIL(path, o, LLAP_EFORMAT, "text.nc: ");
    make_choices();
    CHECK_OK(ll_netcdf_detect(end(), &yes));
    assert_true(yes);
}

/* Every prefix of a file, and every file with a byte turned over, is read or refused. */
static void damaged_files_are_refused(void **state)
{
    (void)state;
    begin_as("damaged.nc", NC_64BIT_DATA);
    dim("time", 3), dim("station", 2), dim("len", 3);
    time_and_data("hours since 1970-01-01");
    var("temp", NC_FLOAT, "time station");
    var("id", NC_CHAR, "station len"), text("id", "cf_role", "timeseries_id");
    classic_data();
    PUT("time", 0, 1, 2), PUT("temp", 1, 2, 3, 4, 5, 6), put_chars("id", "onetwo");
    char  *bytes;
    size_t n;
    CHECK_OK(ll_file_read(end(), 1 << 20, &bytes, &n));
    ll_netcdf_opts o = defaults();
    o.max_rows = o.max_entities = 1000;
    int read = 0;
    for (size_t k = 0; k < 2 * n; k++) {
        FILE *f = fopen(path, "wb");
        if (k >= n) bytes[k - n] ^= (char)(1 << (k % 8));
        fwrite(bytes, 1, k < n ? k : n, f);
        if (k >= n) bytes[k - n] ^= (char)(1 << (k % 8));
        fclose(f);
        llap_panel *p;
        if (ll_netcdf_read(path, &o, &p, NULL) == LLAP_OK) {
            CHECK_OK(ll_panel_check(p));
            if (k < n - 2) fail_msg("cut to %zu bytes and read", k); /* the last 2 are padding */
            read++;
        }
        llap_panel_destroy(p);
    }
    assert_true(read > 0 && read < (int)n);
    ll_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_files_are_named),
        cmocka_unit_test(huge_dimensions_are_refused),
        cmocka_unit_test(what_is_no_netcdf_is_said_so),
        cmocka_unit_test(damaged_files_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
