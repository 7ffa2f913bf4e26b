#include "netcdf_tables.h"

/* The same table as time x station and as station x time, names as strings, chars, integers, none.
 */
static void a_grid_is_read_in_any_order(void **state)
{
    (void)state;
    static const char *const orders[] = { "time station", "station time", "one time station" };
    static const char *const names[] = { "string", "char", "coordinate", "integer", "none" };
    for (int o = 0; o < 3; o++)
        for (int k = 0; k < 5; k++) {
            begin("grid.nc");
            dim("time", 3), dim("station", 2), dim("len", 4), dim("one", 1);
            time_and_data("hours since 1970-01-01");
            var("temp", NC_FLOAT, orders[o]);
            var("wind", NC_SHORT, "station time");
            NUMBER("wind", "_FillValue", NC_SHORT, -1);
            var("lat", NC_FLOAT, "station");
            text("temp", "coordinates", "lat");
            if (k == 0) var("id", NC_STRING, "station"), PUT_TEXTS("id", "b", "a");
            if (k == 1) var("id", NC_CHAR, "station len"), put_chars("id", "b\0\0\0a   ");
            if (k == 2) var("station", NC_STRING, "station"), PUT_TEXTS("station", "b", "a");
            if (k == 3) var("station", NC_INT, "station"), PUT("station", 20, 10);
            if (k < 2) text("id", "cf_role", "timeseries_id");
            PUT("time", 0, 1, 2);
            if (o == 1) PUT("temp", 1, 2, 3, 4, 5, 6);
            else PUT("temp", 1, 4, 2, 5, 3, 6);
            PUT("wind", 10, 20, -1, 40, 50, 60);
            const char *file = end();
            if (k <= 2)
                EXPECT(file, defaults(),
                       "temp wind\na 0 4 40\na 3600 5 50\na 7200 6 60\n"
                       "b 0 1 10\nb 3600 2 20\nb 7200 3 _");
            else if (k == 3)
                EXPECT(file, defaults(),
                       "temp wind\n10 0 4 40\n10 3600 5 50\n10 7200 6 60\n"
                       "20 0 1 10\n20 3600 2 20\n20 7200 3 _");
            else
                EXPECT(file, defaults(),
                       "temp wind\n0 0 1 10\n0 3600 2 20\n0 7200 3 _\n"
                       "1 0 4 40\n1 3600 5 50\n1 7200 6 60");
            assert_int_equal(counts.layout, LL_NETCDF_GRID);
            assert_int_equal(counts.ignored_vars, 0);
            assert_string_equal(names[k], names[k]);
        }
}

static void one_station_is_named_by_its_file(void **state)
{
    (void)state;
    for (int named = 0; named < 3; named++) {
        begin_as("buoy.41.nc", named == 0 ? NC_CLASSIC_MODEL | NC_64BIT_OFFSET : NC_NETCDF4);
        dim("time", 0), dim("lat", 1), dim("len", 10), dim("freq", 5);
        time_and_data("seconds since 1970-01-01");
        var("temp", NC_FLOAT, "time");
        var("salt", NC_DOUBLE, "time lat");
        var("spectrum", NC_FLOAT, "time freq");
        var("comment", NC_CHAR, "time");
        if (named == 1) var("name", NC_CHAR, "len"), text("name", "cf_role", "timeseries_id");
        if (named == 2) var("name", NC_STRING, ""), text("name", "cf_role", "timeseries_id");
        classic_data();
        const size_t start[2] = { 0, 0 }, count[2] = { 2, 1 };
        NC(nc_put_vara_double(nc, id_of("time"), start, count, (double[]){ 5, 6 }));
        NC(nc_put_vara_double(nc, id_of("temp"), start, count, (double[]){ 1, 2 }));
        NC(nc_put_vara_double(nc, id_of("salt"), start, count, (double[]){ 3, 4 }));
        if (named == 1) put_chars("name", "north sea ");
        if (named == 2) PUT_TEXTS("name", "north sea");
        EXPECT(end(), defaults(),
               named == 0 ? "temp salt\nbuoy.41 5 1 3\nbuoy.41 6 2 4"
                          : "temp salt\nnorth sea 5 1 3\nnorth sea 6 2 4");
        assert_int_equal(counts.layout, LL_NETCDF_SINGLE);
        assert_int_equal(counts.ignored_vars, 2); /* the spectrum and the comment */
    }
}

static void ragged_arrays_are_read(void **state)
{
    (void)state;
    ragged(false);
    PUT("rows", 2, 0, 4);
    PUT("time", 60, 61, 60, 62, 63, 65);
    PUT("temp", 1, 2, 3, 4, 5, 6);
    EXPECT(end(), defaults(), "temp\na -\nb 0 3\nb 120 4\nb 180 5\nb 300 6\nc 0 1\nc 60 2");
    assert_int_equal(counts.layout, LL_NETCDF_CONTIGUOUS);

    ragged(true);
    PUT("rows", 0, 2, 2, 0, 2, 1);
    PUT("time", 60, 60, 62, 61, 61, 63);
    PUT("temp", 1, 2, 3, 4, 5, 6);
    EXPECT(end(), defaults(), "temp\na 180 6\nb 0 2\nb 60 5\nb 120 3\nc 0 1\nc 60 4");
    assert_int_equal(counts.layout, LL_NETCDF_INDEXED);
    assert_int_equal(counts.unordered, 1);
}

static void incomplete_arrays_are_read(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        begin("incomplete.nc");
        dim("station", 2), dim("obs", 3);
        const char *dims = turned ? "obs station" : "station obs";
        var("time", NC_DOUBLE, dims), text("time", "units", "days since 1970-01-01");
        text("time", "standard_name", "time");
        NUMBER("time", "_FillValue", NC_DOUBLE, -1);
        var("temp", NC_FLOAT, dims), text("temp", "coordinates", "time");
        var("wind", NC_FLOAT, "station obs"), text("wind", "coordinates", "time");
        var("id", NC_STRING, "station"), text("id", "cf_role", "timeseries_id");
        PUT_TEXTS("id", "y", "x");
        if (turned) PUT("time", 0, 5, 1, -1, 2, -1), PUT("temp", 1, 4, 2, 5, 3, 6);
        else PUT("time", 0, 1, 2, 5, -1, -1), PUT("temp", 1, 2, 3, 4, 5, 6);
        PUT("wind", 7, 8, 9, 10, 11, 12);
        EXPECT(end(), defaults(), "temp wind\nx 432000 4 10\ny 0 1 7\ny 86400 2 8\ny 172800 3 9");
        assert_int_equal(counts.layout, LL_NETCDF_INCOMPLETE);
        assert_int_equal(counts.without_time, 2);
    }
}

/* What counts stations when nothing names them. */
static void the_dimension_of_stations_is_guessed(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) { /* coordinates: reals, texts, none */
        begin("guess.nc");
        dim("time", 2), dim("x", 2);
        time_and_data("s since 1970-01-01");
        var("date", NC_INT, "time"), var("v", NC_FLOAT, "time x");
        if (k == 0) var("x", NC_FLOAT, "x"), PUT("x", 0.5, 1.5);
        if (k == 1) var("x", NC_STRING, "x"), PUT_TEXTS("x", "p", "q");
        if (k == 1) var("more", NC_INT, "time"), PUT("more", 0, 0);
        PUT("time", 0, 1), PUT("date", 7, 8), PUT("v", 1, 2, 3, 4);
        EXPECT(end(), defaults(),
               k == 0   ? "date\nguess 0 7\nguess 1 8"
               : k == 1 ? "v\np 0 1\np 1 3\nq 0 2\nq 1 4"
                        : "v\n0 0 1\n0 1 3\n1 0 2\n1 1 4");
    }
}

/* Larger than a slab and in small chunks: nothing depends on how it is read. */
static void large_arrays_are_read_in_pieces(void **state)
{
    (void)state;
    enum { T = 700, S = 450 };
    float *x = ll_new(T * S, sizeof *x);
    double t[T];
    for (int i = 0; i < T * S; i++) x[i] = (float)i;
    for (int i = 0; i < T; i++) t[i] = i;
    static const size_t chunks[][2] = { { 0, 0 }, { 1, S }, { T, 1 }, { 13, 17 }, { 700, 450 } };
    for (int k = 0; k < 5; k++) {
        begin("large.nc");
        dim("time", T), dim("station", S);
        time_and_data("s since 1970-01-01");
        var("x", NC_FLOAT, "time station");
        if (k > 0) NC(nc_def_var_chunking(nc, id_of("x"), NC_CHUNKED, chunks[k]));
        if (k > 0) NC(nc_def_var_deflate(nc, id_of("x"), 0, 1, 1));
        put("time", t);
        NC(nc_put_var_float(nc, id_of("x"), x));
        llap_panel          *p;
        const ll_netcdf_opts o = defaults();
        CHECK_OK(ll_netcdf_read(end(), &o, &p, NULL));
        assert_int_equal(p->n_rows, T * S);
        assert_int_equal(ll_panel_count_observed(p), T * S);
        for (int64_t e = 0; e < S; e++)
            for (int64_t r = 0; r < T; r++)
                if (p->value[e * T + r] != (float)(r * S + atoi(p->entity[e])) ||
                    p->time[e * T + r] != r * 1000000000)
                    fail_msg("chunks %d: entity %s, row %lld", k, p->entity[e], (long long)r);
        llap_panel_destroy(p);
    }
    ll_free(x);
}

/* ---- what is missing ------------------------------------------------------------------------ */

static void missing_values_are_known(void **state)
{
    (void)state;
    begin("missing.nc");
    dim("time", 5);
    time_and_data("s since 1970-01-01");
    var("fill", NC_FLOAT, "time"), NUMBER("fill", "_FillValue", NC_FLOAT, -999.9);
    var("list", NC_INT, "time"), NUMBER("list", "missing_value", NC_DOUBLE, 2, 4, 2.5);
    var("none", NC_DOUBLE, "time"); /* NetCDF's own fill value */
    var("byte", NC_BYTE, "time");   /* has none */
    var("range", NC_FLOAT, "time"), NUMBER("range", "valid_range", NC_DOUBLE, 0.1, 4);
    var("least", NC_INT, "time"), NUMBER("least", "valid_min", NC_INT, 2);
    var("most", NC_INT, "time"), NUMBER("most", "valid_max", NC_INT, 2);
    var("nan", NC_DOUBLE, "time");
    var("long", NC_INT64, "time");
    PUT("time", 0, 1, 2, 3, 4);
    PUT("fill", 1, -999.9, 3, -999, 5);
    PUT("list", 1, 2, 3, 4, 5);
    PUT("none", 1, 2, NC_FILL_DOUBLE, 4, 5);
    PUT("byte", NC_FILL_BYTE, 2, 3, 4, 5);
    PUT("range", 0.1, 0, 4, 5, -1);
    PUT("least", 1, 2, 3, 4, 5);
    PUT("most", 1, 2, 3, 4, 5);
    PUT("nan", NAN, INFINITY, -1e39, 3e38, 1e-60);
    const long long big = 9007199254740993;
    NC(nc_put_att_longlong(nc, id_of("long"), "missing_value", NC_INT64, 1, &big));
    NC(nc_put_var_longlong(nc, id_of("long"),
                           (long long[]){ big - 1, big, big + 1, NC_FILL_INT64, 0 }));
    const char *file = end();
    EXPECT(file, defaults(),
           "fill list none byte range least most nan long\n"
           "missing 0 1 1 1 -127 0.1 _ 1 _ 9.007199e+15\n"
           "missing 1 _ _ 2 2 _ 2 2 _ _\n"
           "missing 2 3 3 _ 3 4 3 _ _ 9.007199e+15\n"
           "missing 3 -999 _ 4 4 _ 4 _ 3e+38 _\n"
           "missing 4 5 5 5 5 _ 5 _ 0 0");
    assert_int_equal(counts.out_of_range, 3 + 1 + 3);
    assert_int_equal(counts.not_finite, 2);
}

static void packed_values_are_unpacked(void **state)
{
    (void)state;
    begin("packed.nc");
    dim("time", 4);
    time_and_data("s since 1970-01-01");
    var("short", NC_SHORT, "time");
    NUMBER("short", "scale_factor", NC_DOUBLE, 0.01),
        NUMBER("short", "add_offset", NC_DOUBLE, 273.15);
    NUMBER("short", "_FillValue", NC_SHORT, -32768);
    NUMBER("short", "valid_range", NC_SHORT, -1000, 1000); /* of the packed numbers */
    var("wide", NC_SHORT, "time");
    NUMBER("wide", "scale_factor", NC_FLOAT, 2);
    NUMBER("wide", "valid_max", NC_FLOAT, 5); /* of the unpacked ones */
    var("ubyte", NC_BYTE, "time");
    text("ubyte", "_Unsigned", "true");
    NUMBER("ubyte", "_FillValue", NC_BYTE, -1), NUMBER("ubyte", "scale_factor", NC_FLOAT, 0.5);
    NUMBER("ubyte", "valid_range", NC_BYTE, 0, -2); /* 0 to 254 */
    PUT("time", 0, 1, 2, 3);
    PUT("short", 0, -32768, 100, 1001);
    PUT("wide", 1, 2, 3, 0);
    PUT("ubyte", 1, -1, -2, 127);
    EXPECT(end(), defaults(),
           "short wide ubyte\npacked 0 273.15 2 0.5\npacked 1 _ 4 _\npacked 2 274.15 _ 127\n"
           "packed 3 _ 0 63.5");
    assert_int_equal(counts.out_of_range, 2);
}

static void order_and_duplicates_are_counted(void **state)
{
    (void)state;
    begin("order.nc");
    dim("time", 5), dim("station", 2);
    time_and_data("s since 1970-01-01");
    NUMBER("time", "missing_value", NC_DOUBLE, -1);
    var("x", NC_FLOAT, "time station");
    PUT("time", 3, 1, -1, 3, 2);
    PUT("x", 1, NAN, 2, 20, 3, 30, 4, 40, 5, NAN);
    const char    *file = end();
    ll_netcdf_opts o = defaults();
    EXPECT(file, o, "x\n0 1 2\n0 2 5\n0 3 4\n1 1 20\n1 2 _\n1 3 40");
    assert_int_equal(counts.without_time, 1);
    assert_int_equal(counts.unordered, 2);
    assert_int_equal(counts.merged_rows, 1);
    assert_int_equal(counts.duplicate_cells, 1);
    o.duplicates = LL_DUPLICATES_ERROR;
    EXPECT_FAIL(file, o, LLAP_EFORMAT,
                "entity '0': 'x' is given twice for time 1970-01-01T00:00:03Z");
}

static void columns_time_and_stations_can_be_chosen(void **state)
{
    (void)state;
    make_choices();
    const char    *file = end();
    ll_netcdf_opts o = defaults();
    EXPECT(file, o, "a b\n0 0 1 5\n0 1 3 7\n1 0 2 6\n1 1 4 8"); /* two on site, one on level */
    o.station = "site";
    EXPECT(file, o, "a b\n0 0 1 5\n0 1 3 7\n1 0 2 6\n1 1 4 8");
    assert_int_equal(counts.ignored_vars, 3); /* reference, l and name */
    o.station = "name";
    EXPECT(file, o, "a b\nm 0 2 6\nm 1 4 8\nn 0 1 5\nn 1 3 7");
    o.columns = (const char *const[]){ "z=b", "q", NULL };
    EXPECT(file, o, "z q\nm 0 6 1\nm 1 8 1\nn 0 5 0\nn 1 7 0");
    o.time = "reference";
    EXPECT(file, o, "z q\nm 3600 6 1\nm 7200 8 1\nn 3600 5 0\nn 7200 7 0");
    o.station = "level";
    o.columns = NULL;
    EXPECT(file, o, "l\n0 3600 1\n0 7200 4\n1 3600 2\n1 7200 5\n2 3600 3\n2 7200 6");
    o = defaults();
    o.station = "nowhere";
    EXPECT_FAIL(file, o, LLAP_EINVAL, "no variable or dimension 'nowhere'");
    o.station = "a";
    EXPECT_FAIL(file, o, LLAP_EINVAL, "'a' does not name stations");
    o.station = "site";
    o.time = "never";
    EXPECT_FAIL(file, o, LLAP_EINVAL, "no time variable 'never'");
    o.time = "name";
    EXPECT_FAIL(file, o, LLAP_EFORMAT, "'name' is not numeric");
    o.time = NULL;
    o.columns = (const char *const[]){ "x=c", NULL };
    EXPECT_FAIL(file, o, LLAP_EINVAL, "there is no variable 'x=c'");
    o.columns = (const char *const[]){ "l", NULL };
    EXPECT_FAIL(file, o, LLAP_EFORMAT, "l(time=2, level=3): expected dimensions time, site");
    o.columns = (const char *const[]){ "name", NULL };
    EXPECT_FAIL(file, o, LLAP_EFORMAT, "'name' is not numeric");
    o.columns = (const char *const[]){ "a", "a=b", NULL };
    EXPECT_FAIL(file, o, LLAP_EINVAL, "two columns are named 'a'");
    o.columns = NULL;
    o.max_rows = 3;
    EXPECT_FAIL(file, o, LLAP_ELIMIT, "4 rows, more than the 3 allowed");
    o.max_rows = 0;
    o.max_entities = 1;
    EXPECT_FAIL(file, o, LLAP_ELIMIT, "2 stations, more than the 1 allowed");
}

static void keep_line(void *user, llap_log_level level, const char *message)
{
    char *all = user;
    snprintf(all + strlen(all), 2000 - strlen(all), "%s: %s\n", llap_log_level_name(level),
             message);
}

static void what_was_decided_is_said(void **state)
{
    (void)state;
    make_choices();
    char           said[2000] = "", expected[2000];
    llap_log       log = { LLAP_LOG_INFO, keep_line, said };
    ll_netcdf_opts o = defaults();
    llap_panel    *p;
    o.station = "site";
    o.log = &log;
    CHECK_OK(ll_netcdf_read(end(), &o, &p, NULL));
    llap_panel_destroy(p);
    snprintf(
        expected, sizeof expected,
        "warning: %s: 3 variables ignored, which are not numeric or not on (time, site): "
        "reference, l, name\n"
        "info: %s: time x station, time 'time', names from the index: 2 entities, 2 variables, "
        "4 rows\n",
        path, path);
    assert_string_equal(said, expected);
}

static llap_status read_all(void *user)
{
    const ll_netcdf_opts o = defaults();
    llap_panel          *p;
    const llap_status    st = ll_netcdf_read(user, &o, &p, NULL);
    llap_panel_destroy(p);
    return st;
}

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    for (int indexed = 0; indexed < 2; indexed++) {
        ragged(indexed);
        if (indexed) PUT("rows", 0, 1, 2, 2, 0, 0);
        else PUT("rows", 2, 1, 3);
        PUT("time", 0, 3, 2, 1, 4, 5);
        check_every_failed_allocation(read_all, (void *)(uintptr_t)end());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grid_is_read_in_any_order),
        cmocka_unit_test(one_station_is_named_by_its_file),
        cmocka_unit_test(ragged_arrays_are_read),
        cmocka_unit_test(incomplete_arrays_are_read),
        cmocka_unit_test(the_dimension_of_stations_is_guessed),
        cmocka_unit_test(large_arrays_are_read_in_pieces),
        cmocka_unit_test(missing_values_are_known),
        cmocka_unit_test(packed_values_are_unpacked),
        cmocka_unit_test(order_and_duplicates_are_counted),
        cmocka_unit_test(columns_time_and_stations_can_be_chosen),
        cmocka_unit_test(what_was_decided_is_said),
        cmocka_unit_test(failing_allocations_lose_nothing),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
