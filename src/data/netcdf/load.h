/* Finding llapdiff-netcdf.so, and reading and writing with a driver at hand. Not for other folders,
 * but for tests: they bring a driver of their own. */
#ifndef LL_DATA_NETCDF_LOAD_H
#define LL_DATA_NETCDF_LOAD_H

#include "data/netcdf/driver.h"
#include "data/netcdf/netcdf.h"

/* Loads the object (NULL: llapdiff/llapdiff-netcdf.so beside the library or program that this code
 * is in) for good. what is the file that needs it, for the message. LLAP_EUNSUPPORTED. */
llap_status ll_netcdf_load(const char *object, const char *what, const ll_nc_driver **out);

/* As ll_netcdf_read and ll_netcdf_write, without loading and locking, on the file at real,
 * which messages call path. */
llap_status ll_netcdf_read_with(const ll_nc_driver *nc, const char *real, const char *path,
                                const ll_netcdf_opts *o, llap_panel **out,
                                ll_netcdf_counts *counts);
llap_status ll_netcdf_write_with(const ll_nc_driver *nc, const llap_panel *p, const char *real,
                                 const char *path, const ll_netcdf_opts *o);

#endif
