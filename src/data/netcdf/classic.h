/* Checks the header of a classic NetCDF file (CDF-1, CDF-2, CDF-5) before libnetcdf sees it, for
 * libnetcdf trusts it: a name longer than it allows overruns the caller's buffer, and what a
 * shortened file lacks is read as zeros. Not for other folders.
 *
 *     st = ll_nc_classic_check(map.data, map.size, "air.nc"); */
#ifndef LL_DATA_NETCDF_CLASSIC_H
#define LL_DATA_NETCDF_CLASSIC_H

#include <llapdiff/status.h>
#include <stddef.h>
#include <stdint.h>

/* LLAP_EFORMAT names what is wrong and where: FILE: byte 96: ... . data[0..3) is "CDF". */
llap_status ll_nc_classic_check(const uint8_t *data, size_t n, const char *path);

#endif
