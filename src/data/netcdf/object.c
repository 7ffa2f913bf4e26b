/* llapdiff-netcdf.so: the only object that links libnetcdf and udunits. See driver.h. */
#include "driver.h"

#include <assert.h>
#include <llapdiff/export.h>
#include <math.h>
#include <netcdf.h>
#include <pthread.h>
#include <stdlib.h>
#include <udunits2.h>

static_assert(LL_NC_BYTE == NC_BYTE && LL_NC_CHAR == NC_CHAR && LL_NC_SHORT == NC_SHORT &&
                  LL_NC_INT == NC_INT && LL_NC_FLOAT == NC_FLOAT && LL_NC_DOUBLE == NC_DOUBLE &&
                  LL_NC_UBYTE == NC_UBYTE && LL_NC_USHORT == NC_USHORT && LL_NC_UINT == NC_UINT &&
                  LL_NC_INT64 == NC_INT64 && LL_NC_UINT64 == NC_UINT64 && LL_NC_STRING == NC_STRING,
              "types");
static_assert(LL_NC_NAME_MAX == NC_MAX_NAME && LL_NC_VAR_DIMS == NC_MAX_VAR_DIMS &&
                  LL_NC_GLOBAL == NC_GLOBAL,
              "limits");
static_assert(LL_NC_ENAMEINUSE == NC_ENAMEINUSE && LL_NC_ENOTATT == NC_ENOTATT &&
                  LL_NC_EMAXNAME == NC_EMAXNAME && LL_NC_EBADNAME == NC_EBADNAME &&
                  LL_NC_ENOMEM == NC_ENOMEM,
              "codes");

/* Both libraries keep global state without locks of their own. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void lock(void) { (void)pthread_mutex_lock(&one_at_a_time); }
static void unlock(void) { (void)pthread_mutex_unlock(&one_at_a_time); }

static int open_file(const char *path, int *file) { return nc_open(path, NC_NOWRITE, file); }

static int create_file(const char *path, int *file)
{
    const int rc = nc_create(path, NC_NETCDF4 | NC_CLOBBER, file);
    int       old;
    /* every value gets written, so filling first would write twice */
    return rc == NC_NOERR ? nc_set_fill(*file, NC_NOFILL, &old) : rc;
}

static int set_cache(int file, int var, size_t n_bytes)
{
    const int rc = nc_set_var_chunk_cache(file, var, n_bytes, 1009, 0.75f);
    return rc == NC_ENOTNC4 ? NC_NOERR : rc;
}

/* ---- units ---------------------------------------------------------------------------------- */

typedef struct units {
    ut_system *system;
    ut_unit   *second, *one, *year, *month;
} units;

static void units_close(void *p)
{
    units *u = p;
    if (u == NULL) return;
    ut_free(u->second);
    ut_free(u->one);
    ut_free(u->year);
    ut_free(u->month);
    ut_free_system(u->system);
    free(u);
}

static void *units_open(void)
{
    units *u = calloc(1, sizeof *u);
    if (u == NULL) return NULL;
    /* udunits would print what it does not understand; the handler is set back at once, for it
     * belongs to the whole process */
    ut_error_message_handler before = ut_set_error_message_handler(ut_ignore);
    u->system = ut_read_xml(NULL);
    if (u->system != NULL) {
        u->second = ut_get_unit_by_name(u->system, "second");
        u->one = ut_get_dimensionless_unit_one(u->system);
        u->year = ut_get_unit_by_name(u->system, "year");
        u->month = ut_get_unit_by_name(u->system, "month");
    }
    (void)ut_set_error_message_handler(before);
    if (u->second != NULL && u->one != NULL && u->year != NULL && u->month != NULL) return u;
    units_close(u);
    return NULL;
}

/* How many `to` one `unit` is; 0 when it is none, an inverse, or has another zero. */
static double ratio(ut_unit *unit, ut_unit *to)
{
    if (!ut_are_convertible(unit, to)) return 0;
    cv_converter *c = ut_get_converter(unit, to);
    if (c == NULL) return 0;
    const double zero = cv_convert_double(c, 0), one = cv_convert_double(c, 1),
                 two = cv_convert_double(c, 2);
    cv_free(c);
    return zero == 0 && one > 0 && fabs(two - 2 * one) <= 1e-12 * two ? one : 0;
}

typedef struct stamp {
    units      *u;
    ll_nc_unit *out;
} stamp;

static ut_status other(const ut_unit *unit, void *arg)
{
    (void)unit, (void)arg;
    return UT_SUCCESS;
}
static ut_status product(const ut_unit *unit, int n, const ut_unit *const *basic, const int *power,
                         void *arg)
{
    (void)unit, (void)n, (void)basic, (void)power, (void)arg;
    return UT_SUCCESS;
}
static ut_status galilean(const ut_unit *unit, double scale, const ut_unit *under, double offset,
                          void *arg)
{
    (void)unit, (void)scale, (void)under, (void)offset, (void)arg;
    return UT_SUCCESS;
}
static ut_status logarithmic(const ut_unit *unit, double base, const ut_unit *reference, void *arg)
{
    (void)unit, (void)base, (void)reference, (void)arg;
    return UT_SUCCESS;
}

static bool is_years(const units *u, ut_unit *unit)
{
    return fabs(ratio(unit, u->year) - 1) < 1e-9 || fabs(ratio(unit, u->month) - 1) < 1e-9;
}

static ut_status timestamp(const ut_unit *unit, const ut_unit *step, double origin, void *arg)
{
    (void)unit;
    const stamp *s = arg;
    ll_nc_unit  *out = s->out;
    ut_unit     *copy = ut_clone(step);
    if (copy == NULL) return UT_OS;
    out->scale = ratio(copy, s->u->second);
    out->years = is_years(s->u, copy);
    ut_free(copy);
    if (!(out->scale > 0) || !(fabs(origin) < 1e12)) return UT_SUCCESS;
    out->kind = LL_NC_UNIT_SINCE;
    out->origin = origin;
    int    hour, minute;
    double second, resolution;
    /* at noon, where no rounding reaches another day */
    ut_decode_time((floor(origin / 86400) + 0.5) * 86400, &out->year, &out->month, &out->day, &hour,
                   &minute, &second, &resolution);
    return UT_SUCCESS;
}

static ll_nc_unit units_parse(void *p, const char *text)
{
    static const ut_visitor  visitor = { other, product, galilean, timestamp, logarithmic };
    units                   *u = p;
    ll_nc_unit               out = { .kind = LL_NC_UNIT_OTHER };
    ut_error_message_handler before = ut_set_error_message_handler(ut_ignore);
    ut_unit                 *unit = ut_parse(u->system, text, UT_UTF8);
    if (unit != NULL) {
        (void)ut_accept_visitor(unit, &visitor, &(stamp){ u, &out });
        if (out.kind == LL_NC_UNIT_OTHER && (out.scale = ratio(unit, u->second)) > 0) {
            out.kind = LL_NC_UNIT_TIME;
            out.years = is_years(u, unit);
        } else if (out.kind == LL_NC_UNIT_OTHER && (out.scale = ratio(unit, u->one)) > 0) {
            out.kind = LL_NC_UNIT_PLAIN;
        }
        ut_free(unit);
    }
    (void)ut_set_error_message_handler(before);
    return out;
}

extern LLAP_API const ll_nc_driver llap_netcdf_driver;
const ll_nc_driver                 llap_netcdf_driver = {
                    .abi = LL_NC_ABI,
                    .lock = lock,
                    .unlock = unlock,
                    .error = nc_strerror,
                    .open = open_file,
                    .close = nc_close,
                    .inq_groups = nc_inq_grps,
                    .inq_dims = nc_inq_dimids,
                    .inq_dim = nc_inq_dim,
                    .inq_n_vars = nc_inq_nvars,
                    .inq_var = nc_inq_var,
                    .inq_chunks = nc_inq_var_chunking,
                    .set_cache = set_cache,
                    .inq_att = nc_inq_att,
                    .get_att = nc_get_att,
                    .get = nc_get_vara,
                    .free_strings = nc_free_string,
                    .create = create_file,
                    .abort = nc_abort,
                    .def_dim = nc_def_dim,
                    .def_var = nc_def_var,
                    .def_deflate = nc_def_var_deflate,
                    .put_att = nc_put_att,
                    .put = nc_put_vara,
                    .units_open = units_open,
                    .units_close = units_close,
                    .units_parse = units_parse,
};
