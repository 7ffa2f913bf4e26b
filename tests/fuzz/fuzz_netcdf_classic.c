/* The header of a classic NetCDF file: any bytes are accepted or refused, nothing is read behind
 * their end, and what is accepted stays within the limits that libnetcdf relies on. */
#include "data/netcdf/classic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    (void)ll_nc_classic_check(data, n, "fuzz");
    return 0;
}
