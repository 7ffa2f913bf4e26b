/* src/data/netcdf: CF station series to panels and back. Only object.c is linked with libnetcdf and
 * udunits.
 *
 *   driver.h, load.h         the table of their functions; loading it
 *   classic.h                headers checked before libnetcdf sees them
 *   file.h                   the parts of a file
 *   layout.h                 time, stations, columns
 *   rows.h, time.h, value.h  rows, times and values
 *   read.c, write.c          both ways
 *
 * May touch: base, base/time, data. */

/* NetCDF files to panels and back, after the CF conventions.
 *
 *     llap_panel *p;
 *     st = ll_netcdf_read("buoys.nc", &LL_NETCDF_DEFAULT, &p, NULL);
 *     st = ll_netcdf_write(p, "copy.nc", &LL_NETCDF_DEFAULT);
 *
 * libnetcdf and udunits are linked by one object of ours alone, llapdiff-netcdf.so, which is loaded
 * when the first file is read or written and then stays. Without it, or without the libraries it
 * needs, both functions answer LLAP_EUNSUPPORTED and name the packages. Neither library may be
 * used by two threads at once: calls wait for one another here; a program that uses libnetcdf
 * itself must keep away meanwhile. Classic files are checked before libnetcdf sees them; netCDF-4
 * files are taken apart by HDF5 alone, which a forged one can crash: not for files of strangers.
 *
 * Layouts that are read (dimensions in any order, others of length 1 are passed over):
 *     time x station     temp(time, station), time(time)
 *     one station        temp(time), time(time)
 *     contiguous ragged  temp(obs), time(obs), row_size(station) with sample_dimension
 *     indexed ragged     temp(obs), time(obs), index(obs) with instance_dimension
 *     incomplete         temp(station, obs), time(station, obs)
 * Every numeric variable on these dimensions becomes a column, unless it is a coordinate, bounds,
 * or described by another; what else there is gets ignored, and the log says so. Only the root
 * group is looked at.
 *
 * Entities are named by the text variable with cf_role timeseries_id (or trajectory_id), else by
 * the coordinate variable of the station dimension, else by their index; one station without a name
 * by its file, "buoy.nc" is "buoy". Stations without rows stay in the panel.
 *
 * Time: udunits reads the unit. "minutes since 2000-01-01 00:00:00 +08:00" makes a calendar axis, a
 * plain "hours" or no unit a number axis. The Gregorian calendar only. Integers are exact. A
 * floating number means the roundest time (whole hours, minutes, s, ms, us, else ns) among those
 * that would be stored as it: day 20000 and 1/24 is 01:00:00, not 01:00:00.000000105. The origin
 * counts to the microsecond. Rows without a time are left out and counted.
 *
 * Missing is: equal to _FillValue or missing_value (before unpacking), outside valid_range,
 * valid_min, valid_max, NaN; without _FillValue, NetCDF's default one except for bytes. _Unsigned,
 * scale_factor and add_offset are obeyed. Infinite or beyond float is missing too; all are counted.
 *
 * Memory: the panel and 16 bytes for each time in the file, or 56 bytes for each time, whichever is
 * more, and slabs of 4 MiB (64 when the file's chunks are large). */
#ifndef LL_DATA_NETCDF_NETCDF_H
#define LL_DATA_NETCDF_NETCDF_H

#include "data/panel_builder.h"

#include <llapdiff/log.h>

/* All pointers are borrowed until return. */
typedef struct ll_netcdf_opts {
    const char *const *columns;   /* variables wanted, in this order, ended by NULL; "new=old"
                                     renames. NULL: every data variable */
    const char     *time;         /* the time variable; NULL: found */
    const char     *station;      /* variable with the names, or dimension; NULL: found */
    ll_duplicates   duplicates;   /* two values for one entity, time and variable */
    int64_t         max_rows;     /* more is LLAP_ELIMIT; <= 0: no limit of ours */
    int64_t         max_entities; /* likewise */
    int             deflate;      /* writing: 0 plain, 1 (fast) to 9 (small) compressed */
    const char     *object;       /* llapdiff-netcdf.so; NULL: the one beside the library */
    const llap_log *log;          /* NULL: silent */
} ll_netcdf_opts;

#define LL_NETCDF_DEFAULT \
    ((ll_netcdf_opts){ .duplicates = LL_DUPLICATES_LAST, .max_entities = 1000000 })

typedef enum ll_netcdf_layout {
    LL_NETCDF_GRID,
    LL_NETCDF_SINGLE,
    LL_NETCDF_CONTIGUOUS,
    LL_NETCDF_INDEXED,
    LL_NETCDF_INCOMPLETE,
} ll_netcdf_layout;

/* What the file was like. */
typedef struct ll_netcdf_counts {
    ll_netcdf_layout layout;
    int64_t          ignored_vars;    /* neither columns nor a part of the layout */
    int64_t          without_time;    /* times that are missing: no row */
    int64_t          without_station; /* indexed: station missing: no row */
    int64_t          unordered;       /* rows earlier than the one before them */
    int64_t          merged_rows;     /* rows that fell together with an earlier one */
    int64_t          duplicate_cells; /* values given twice or more often; the last stays */
    int64_t          not_finite;      /* infinite or beyond float: missing */
    int64_t          out_of_range;    /* outside valid_range: missing */
} ll_netcdf_counts;

/* Whether the first bytes are those of a NetCDF file (classic or HDF5). Loads nothing. */
llap_status ll_netcdf_detect(const char *path, bool *yes);

/* Caller owns *out. counts may be NULL. LLAP_EFORMAT names file, variable, dimension, what was
 * expected and found; LLAP_EUNSUPPORTED: no NetCDF here, or a calendar that is not ours. */
llap_status ll_netcdf_read(const char *path, const ll_netcdf_opts *o, llap_panel **out,
                           ll_netcdf_counts *counts);

/* Writes a CF contiguous ragged array (featureType timeSeries, netCDF-4) from which
 * ll_netcdf_read makes an equal panel. Atomic, as ll_writer in base/file.h; the target must be
 * a regular file or new. Of the options only deflate, object and log are used.
 *
 *     dimensions  station, obs
 *     string      station_id(station)     cf_role timeseries_id
 *     int64       row_size(station)       sample_dimension obs
 *     int64       time(obs)               days .. nanoseconds [since 1970-01-01 00:00:00], the
 * coarsest exact one; llapdiff_zone, _format, _unit, _unit_ns where the axis says more than the
 * unit float       VARIABLE(obs)           _FillValue NaN; llapdiff_name where NetCDF does not
 * allow the name byte        VARIABLE_filled(obs)    flag_meanings "observed filled"; only where
 * cells are filled
 */
llap_status ll_netcdf_write(const llap_panel *p, const char *path, const ll_netcdf_opts *o);

#endif
