#include "data/netcdf/value.h"

#include "base/error.h"

#include <float.h>
#include <math.h>
#include <strings.h>

static int unsigned_type(int type)
{
    return type == LL_NC_BYTE    ? LL_NC_UBYTE
           : type == LL_NC_SHORT ? LL_NC_USHORT
           : type == LL_NC_INT   ? LL_NC_UINT
           : type == LL_NC_INT64 ? LL_NC_UINT64
                                 : type;
}

/* A number of an attribute as the integer that a value of this type would hold: -1 is 255 where a
 * byte is unsigned. */
static int64_t wrap(int64_t bits, int type)
{
    switch (type) {
    case LL_NC_UBYTE:
        return (uint8_t)bits;
    case LL_NC_USHORT:
        return (uint16_t)bits;
    case LL_NC_UINT:
        return (uint32_t)bits;
    default:
        return bits;
    }
}

static void add_missing(ll_nc_rule *r, double value, int64_t bits, int type)
{
    if (r->n_missing == LL_NC_MISSING_MAX) return;
    if (!ll_nc_is_integer(r->type)) {
        /* -9999.9 of a double attribute is stored as the nearest float */
        r->missing[r->n_missing++] = r->type == LL_NC_FLOAT ? (double)(float)value : value;
        return;
    }
    if (!ll_nc_is_integer(type)) {
        if (value != floor(value) || fabs(value) >= 0x1p63) return; /* no integer equals it */
        bits = (int64_t)value;
    }
    r->missing_bits[r->n_missing++] = wrap(bits, r->type);
}

/* What libnetcdf puts where nothing was written. Bytes have no such value: all 256 are in use. */
static void add_default_fill(ll_nc_rule *r)
{
    switch (r->type) {
    case LL_NC_SHORT:
        add_missing(r, 0, -32767, LL_NC_SHORT);
        break;
    case LL_NC_INT:
        add_missing(r, 0, -2147483647, LL_NC_INT);
        break;
    case LL_NC_USHORT:
        add_missing(r, 0, 65535, LL_NC_USHORT);
        break;
    case LL_NC_UINT:
        add_missing(r, 0, 4294967295, LL_NC_UINT);
        break;
    case LL_NC_INT64:
        add_missing(r, 0, -9223372036854775806, LL_NC_INT64);
        break;
    case LL_NC_UINT64:
        add_missing(r, 0, -2, LL_NC_UINT64);
        break;
    case LL_NC_FLOAT:
    case LL_NC_DOUBLE:
        add_missing(r, 9.9692099683868690e+36, 0, r->type);
        break;
    default:
        break;
    }
}

static llap_status read_missing(ll_nc_rule *r, ll_nc_file *f, const ll_nc_var *v)
{
    ll_nc_numbers fill, missing;
    llap_status   st = ll_nc_att_numbers(f, v, "_FillValue", &fill);
    if (st == LLAP_OK) st = ll_nc_att_numbers(f, v, "missing_value", &missing);
    if (st != LLAP_OK) return st;
    if (fill.n > 0) add_missing(r, fill.value[0], fill.bits[0], fill.type);
    else add_default_fill(r);
    for (int i = 0; i < missing.n; i++)
        add_missing(r, missing.value[i], missing.bits[i], missing.type);
    return LLAP_OK;
}

static llap_status one_number(ll_nc_file *f, const ll_nc_var *v, const char *name, double otherwise,
                              double *out, int *type)
{
    ll_nc_numbers n;
    llap_status   st = ll_nc_att_numbers(f, v, name, &n);
    *out = n.n > 0 ? n.value[0] : otherwise;
    *type = n.n > 0 ? n.type : 0;
    if (st == LLAP_OK && n.n > 1)
        st = ll_fail(LLAP_EFORMAT, "%s: %s: attribute %s: expected 1 value, found %d", f->path,
                     v->name, name, n.n);
    if (st == LLAP_OK && n.n == 1 && isnan(*out))
        st = ll_fail(LLAP_EFORMAT, "%s: %s: attribute %s: expected a number, found NaN", f->path,
                     v->name, name);
    return st;
}

static llap_status read_packing(ll_nc_rule *r, ll_nc_file *f, const ll_nc_var *v, int *type)
{
    int         scale_type, offset_type;
    llap_status st = one_number(f, v, "scale_factor", 1, &r->scale, &scale_type);
    if (st == LLAP_OK) st = one_number(f, v, "add_offset", 0, &r->offset, &offset_type);
    if (st != LLAP_OK) return st;
    r->packed = scale_type != 0 || offset_type != 0;
    /* of the wider of the two */
    *type = scale_type == LL_NC_DOUBLE || offset_type == LL_NC_DOUBLE ? LL_NC_DOUBLE
            : scale_type != 0                                         ? scale_type
                                                                      : offset_type;
    return LLAP_OK;
}

/* An end of the range as the stored numbers see it. */
static double end_of(const ll_nc_rule *r, const ll_nc_numbers *n, int i)
{
    if (r->type == LL_NC_FLOAT) return (double)(float)n->value[i];
    if (!ll_nc_is_integer(r->type) || !ll_nc_is_integer(n->type)) return n->value[i];
    return r->type == LL_NC_UINT64 ? (double)(uint64_t)n->bits[i]
                                   : (double)wrap(n->bits[i], r->type);
}

static llap_status read_range(ll_nc_rule *r, ll_nc_file *f, const ll_nc_var *v, int unpacked_type)
{
    r->min = -INFINITY;
    r->max = INFINITY;
    ll_nc_numbers n;
    int           type = 0;
    llap_status   st = ll_nc_att_numbers(f, v, "valid_range", &n);
    if (st == LLAP_OK && n.n > 0) {
        if (n.n != 2)
            return ll_fail(LLAP_EFORMAT,
                           "%s: %s: attribute valid_range: expected 2 values, found %d", f->path,
                           v->name, n.n);
        r->min = end_of(r, &n, 0);
        r->max = end_of(r, &n, 1);
        type = n.type;
    } else {
        if (st == LLAP_OK) st = ll_nc_att_numbers(f, v, "valid_min", &n);
        if (st == LLAP_OK && n.n > 0) r->min = end_of(r, &n, 0), type = n.type;
        if (st == LLAP_OK) st = ll_nc_att_numbers(f, v, "valid_max", &n);
        if (st == LLAP_OK && n.n > 0) r->max = end_of(r, &n, 0), type = n.type;
    }
    /* NetCDF's rule: a range of the unpacked type, when that is not the stored one, is meant for
     * the unpacked numbers. */
    r->range_unpacked = r->packed && type == unpacked_type && type != v->type;
    return st;
}

llap_status ll_nc_rule_init(ll_nc_rule *r, ll_nc_file *f, const ll_nc_var *v)
{
    *r = (ll_nc_rule){ .type = v->type };
    const char *text;
    int         unpacked_type = 0;
    llap_status st = ll_nc_att_text(f, v, "_Unsigned", &text);
    if (st == LLAP_OK && text != NULL && strcasecmp(text, "true") == 0)
        r->type = unsigned_type(v->type);
    if (st == LLAP_OK) st = read_missing(r, f, v);
    if (st == LLAP_OK) st = read_packing(r, f, v, &unpacked_type);
    if (st == LLAP_OK) st = read_range(r, f, v, unpacked_type);
    return st;
}

/* ---- applying ------------------------------------------------------------------------------- */

/* x unpacked; NaN when it is missing or out of range. */
static inline double unpack(const ll_nc_rule *r, double x, ll_netcdf_counts *counts)
{
    const double y = r->packed ? x * r->scale + r->offset : x, z = r->range_unpacked ? y : x;
    if (z >= r->min && z <= r->max) return y;
    if (!isnan(z)) counts->out_of_range++;
    return NAN;
}

static inline double real(const ll_nc_rule *r, double x, ll_netcdf_counts *counts)
{
    /* before unpacking, which would hide them */
    for (int k = 0; k < r->n_missing; k++)
        if (x == r->missing[k]) return NAN;
    return unpack(r, x, counts);
}

static inline double integer(const ll_nc_rule *r, int64_t x, ll_netcdf_counts *counts)
{
    for (int k = 0; k < r->n_missing; k++)
        if (x == r->missing_bits[k]) return NAN;
    return unpack(r, r->type == LL_NC_UINT64 ? (double)(uint64_t)x : (double)x, counts);
}

bool ll_nc_rule_number(const ll_nc_rule *r, const void *raw, size_t i, double *out,
                       ll_netcdf_counts *counts)
{
    *out = ll_nc_is_integer(r->type) ? integer(r, ll_nc_element_bits(raw, r->type, i), counts)
                                     : real(r, ll_nc_element(raw, r->type, i), counts);
    return !isnan(*out);
}

static inline float to_float(double x, ll_netcdf_counts *counts)
{
    const float y = (float)x;
    if (!isinf(y)) return y;
    counts->not_finite++;
    return NAN;
}

/* Floats as they are: one sweep for each missing value, which compilers make vectors of. */
static void plain_floats(const ll_nc_rule *r, const float *raw, size_t n, float *out,
                         ll_netcdf_counts *counts)
{
    int64_t infinite = 0;
    for (size_t i = 0; i < n; i++) out[i] = raw[i];
    for (int k = 0; k < r->n_missing; k++) {
        const float missing = (float)r->missing[k];
        for (size_t i = 0; i < n; i++) out[i] = out[i] == missing ? NAN : out[i];
    }
    for (size_t i = 0; i < n; i++) {
        const bool yes = fabsf(out[i]) > FLT_MAX;
        infinite += yes;
        out[i] = yes ? NAN : out[i];
    }
    counts->not_finite += infinite;
}

void ll_nc_rule_apply(const ll_nc_rule *r, const void *raw, size_t n, float *out,
                      ll_netcdf_counts *counts)
{
    if (r->type == LL_NC_FLOAT && !r->packed && r->min == -INFINITY && r->max == INFINITY) {
        plain_floats(r, raw, n, out, counts);
    } else if (r->type == LL_NC_SHORT) { /* the usual packed type */
        for (size_t i = 0; i < n; i++)
            out[i] = to_float(integer(r, ((const int16_t *)raw)[i], counts), counts);
    } else {
        for (size_t i = 0; i < n; i++) {
            double x;
            (void)ll_nc_rule_number(r, raw, i, &x, counts);
            out[i] = to_float(x, counts);
        }
    }
}
