/* When a stored number is missing, and what it means otherwise. Not for other folders.
 *
 *     llap_nc_rule rule;
 *     st = llap_nc_rule_init(&rule, f, v);
 *     llap_nc_rule_apply(&rule, raw, n, out, counts);          NaN = missing */
#ifndef LLAP_DATA_NETCDF_VALUE_H
#define LLAP_DATA_NETCDF_VALUE_H

#include "data/netcdf_file.h"

enum { LLAP_NC_MISSING_MAX = LLAP_NC_NUMBERS_MAX + 1 };

typedef struct llap_nc_rule {
    int     type; /* of the stored numbers, after _Unsigned */
    int     n_missing;
    double  missing[LLAP_NC_MISSING_MAX];      /* floating types */
    int64_t missing_bits[LLAP_NC_MISSING_MAX]; /* integer types */
    bool    packed, range_unpacked;
    double  min, max; /* of the stored numbers, or of the unpacked ones */
    double  scale, offset;
} llap_nc_rule;

llap_status llap_nc_rule_init(llap_nc_rule *r, llap_nc_file *f, const llap_nc_var *v);

/* Whether element i is missing or out of range (which is counted), and its number if not. */
bool llap_nc_rule_number(const llap_nc_rule *r, const void *raw, size_t i, double *out,
                         llap_netcdf_counts *counts);

/* n elements to floats. */
void llap_nc_rule_apply(const llap_nc_rule *r, const void *raw, size_t n, float *out,
                        llap_netcdf_counts *counts);

#endif
