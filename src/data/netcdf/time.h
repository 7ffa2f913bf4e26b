/* What the numbers of a NetCDF time variable mean. Not for other folders.
 *
 *     ll_nc_clock c;
 *     st = ll_nc_clock_init(&c, f, time_var, units);
 *     ok = ll_nc_clock_integer(&c, 90, &t);           90 minutes since ...
 *     ok = ll_nc_clock_real(&c, 0.0625, 53, &t);      digits: bits of the type's mantissa */
#ifndef LL_DATA_NETCDF_TIME_H
#define LL_DATA_NETCDF_TIME_H

#include "data/netcdf/file.h"

typedef struct ll_nc_clock {
    ll_axis axis;      /* strings borrowed from the file */
    int64_t step_ns;   /* of one unit; 1 .. 2^56 */
    int64_t origin_s;  /* since 1970, may be far outside what int64 nanoseconds reach */
    int32_t origin_ns; /* 0 .. 999999999 */
} ll_nc_clock;

/* Reads units, calendar and our own attributes of the time variable. */
llap_status ll_nc_clock_init(ll_nc_clock *c, ll_nc_file *f, const ll_nc_var *time);

/* What follows the word "since" in a unit; NULL: it is not there. */
const char *ll_nc_since(const char *units);

/* Nanoseconds of a count of units. False: outside int64, or not finite. */
bool ll_nc_clock_integer(const ll_nc_clock *c, int64_t value, int64_t *t);
bool ll_nc_clock_real(const ll_nc_clock *c, double value, int digits, int64_t *t);

#endif
