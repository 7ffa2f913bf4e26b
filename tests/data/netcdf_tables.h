/* Tables in NetCDF files that several tests read. */
#ifndef LLAP_TESTS_DATA_NETCDF_TABLES_H
#define LLAP_TESTS_DATA_NETCDF_TABLES_H

#include "netcdf_make.h"

static void time_and_data(const char *units)
{
    var("time", NC_DOUBLE, "time");
    text("time", "units", units);
}

static void ragged(bool indexed)
{
    begin("ragged.nc");
    dim("station", 3), dim("obs", 6);
    var("time", NC_INT, "obs");
    text("time", "units", "minutes since 1970-01-01 00:00:00 +01:00");
    text("time", "standard_name", "time");
    var("temp", NC_FLOAT, "obs");
    text("temp", "coordinates", "time lat");
    var("lat", NC_FLOAT, "station");
    var("name", NC_STRING, "station");
    text("name", "cf_role", "timeseries_id");
    PUT_TEXTS("name", "c", "a", "b");
    var("rows", NC_INT, indexed ? "obs" : "station");
    text("rows", indexed ? "instance_dimension" : "sample_dimension", indexed ? "station" : "obs");
}

static void make_choices(void)
{
    begin("choices.nc");
    dim("time", 2), dim("site", 2), dim("level", 3);
    time_and_data("s since 1970-01-01");
    text("time", "bounds", "time_bnds");
    var("time_bnds", NC_DOUBLE, "time site"), text("time_bnds", "units", "s since 1970-01-01");
    var("reference", NC_DOUBLE, "time"), text("reference", "units", "h since 1970-01-01");
    text("reference", "standard_name", "forecast_reference_time");
    var("a", NC_FLOAT, "time site"), var("b", NC_FLOAT, "time site");
    var("q", NC_BYTE, "time site"), text("a", "ancillary_variables", "q");
    var("l", NC_FLOAT, "time level");
    var("name", NC_STRING, "site"), PUT_TEXTS("name", "n", "m");
    PUT("time", 0, 1), PUT("reference", 1, 2), PUT("a", 1, 2, 3, 4), PUT("b", 5, 6, 7, 8);
    PUT("q", 0, 1, 0, 1), PUT("l", 1, 2, 3, 4, 5, 6);
}

#endif
