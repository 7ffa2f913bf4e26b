/* When a stored number is missing, and what it means otherwise. Not for other folders.
 *
 *     ll_nc_rule rule;
 *     st = ll_nc_rule_init(&rule, f, v);
 *     ll_nc_rule_apply(&rule, raw, n, out, counts);          NaN = missing */
#ifndef LL_DATA_NETCDF_VALUE_H
#define LL_DATA_NETCDF_VALUE_H

#include "data/netcdf/file.h"

enum { LL_NC_MISSING_MAX = LL_NC_NUMBERS_MAX + 1 };

typedef struct ll_nc_rule {
    int     type; /* of the stored numbers, after _Unsigned */
    int     n_missing;
    double  missing[LL_NC_MISSING_MAX];      /* floating types */
    int64_t missing_bits[LL_NC_MISSING_MAX]; /* integer types */
    bool    packed, range_unpacked;
    double  min, max; /* of the stored numbers, or of the unpacked ones */
    double  scale, offset;
} ll_nc_rule;

llap_status ll_nc_rule_init(ll_nc_rule *r, ll_nc_file *f, const ll_nc_var *v);

/* Whether element i is missing or out of range (which is counted), and its number if not. */
bool ll_nc_rule_number(const ll_nc_rule *r, const void *raw, size_t i, double *out,
                       ll_netcdf_counts *counts);

/* n elements to floats. */
void ll_nc_rule_apply(const ll_nc_rule *r, const void *raw, size_t n, float *out,
                      ll_netcdf_counts *counts);

#endif
