/* The NetCDF reader over a driver that makes up a file from the input: dimensions, variables,
 * attributes that matter or mislead, and values. Whatever a file says, a panel that keeps its
 * promises comes out, or an error. libnetcdf is not involved. */
#include "base/alloc.h"
#include "data/netcdf/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_DIMS = 4, MAX_VARS = 8, MAX_ATTS = 6, MAX_VAR_DIMS = 3, MAX_LEN = 12 };

static const char *const att_names[] = {
    "units",
    "standard_name",
    "axis",
    "calendar",
    "cf_role",
    "sample_dimension",
    "bounds",
    "instance_dimension",
    "coordinates",
    "ancillary_variables",
    "flag_meanings",
    "_FillValue",
    "missing_value",
    "valid_range",
    "valid_min",
    "valid_max",
    "scale_factor",
    "add_offset",
    "_Unsigned",
    "llapdiff_name",
    "llapdiff_unit_ns",
    "llapdiff_zone",
};
static const char *const texts[] = {
    "s since 1970-01-01",
    "h",
    "time",
    "T",
    "timeseries_id",
    "d0",
    "d1",
    "d2",
    "d3",
    "v0 v1",
    "v2",
    "observed filled",
    "true",
    "noleap",
    "days since 2000-02-30",
    "",
    "standard",
    "m since 2000-01-01 00:00 +08:00",
};
enum { N_ATT_NAMES = sizeof att_names / sizeof *att_names, N_TEXTS = sizeof texts / sizeof *texts };

typedef struct att {
    const char *name, *text; /* text NULL: numbers */
    int         type;
    size_t      n;
    double      number[3];
} att;

typedef struct var {
    int type, n_dims, dim[MAX_VAR_DIMS], n_atts;
    att a[MAX_ATTS];
} var;

static struct {
    const uint8_t *data;
    size_t         n, at;
    int            n_dims, n_vars;
    size_t         len[MAX_DIMS];
    var            v[MAX_VARS];
} file;

static unsigned take(unsigned below)
{
    const unsigned byte = file.at < file.n ? file.data[file.at] : 0;
    file.at++;
    return byte % below;
}

static double take_number(void)
{
    static const double odd[] = { 0,  1,     -1,   2,    3,   0.5,  86400,   1e9,
                                  -9, 1e300, 1e39, -127, 255, 1e18, 106751.5 };
    const unsigned      k = take(18);
    return k < 15 ? odd[k] : k == 15 ? NAN : k == 16 ? INFINITY : (double)take(256) / 7;
}

static void make_var(var *v)
{
    v->type = (int)take(14);
    v->n_dims = (int)take(MAX_VAR_DIMS + 1);
    for (int i = 0; i < v->n_dims; i++) v->dim[i] = (int)take((unsigned)file.n_dims);
    v->n_atts = (int)take(MAX_ATTS + 1);
    for (int i = 0; i < v->n_atts; i++) {
        att *a = &v->a[i];
        *a = (att){ .name = att_names[take(N_ATT_NAMES)], .type = 1 + (int)take(12) };
        if (a->type == LL_NC_CHAR || a->type == LL_NC_STRING) {
            a->text = texts[take(N_TEXTS)];
            a->n = a->type == LL_NC_STRING ? 1 : strlen(a->text);
        } else {
            a->n = take(4);
            for (size_t k = 0; k < a->n; k++) a->number[k] = take_number();
        }
    }
}

static void make_file(const uint8_t *data, size_t n)
{
    memset(&file, 0, sizeof file);
    file.data = data, file.n = n;
    file.n_dims = 1 + (int)take(MAX_DIMS);
    for (int d = 0; d < file.n_dims; d++) {
        const unsigned len = take(MAX_LEN + 3);
        file.len[d] = len <= MAX_LEN ? len : len == MAX_LEN + 1 ? (size_t)1 << 62 : SIZE_MAX;
    }
    file.n_vars = (int)take(MAX_VARS + 1);
    for (int v = 0; v < file.n_vars; v++) make_var(&file.v[v]);
}

/* ---- the driver ----------------------------------------------------------------------------- */

static void        nothing(void) {}
static const char *error(int code)
{
    (void)code;
    return "made up";
}
static int open_file(const char *path, int *id)
{
    (void)path;
    *id = 0;
    return 0;
}
static int close_file(int id)
{
    (void)id;
    return 0;
}
static int inq_groups(int id, int *n, int *ids)
{
    (void)id, (void)ids;
    *n = 0;
    return 0;
}
static int inq_dims(int id, int *n, int *ids, int parents)
{
    (void)id, (void)parents;
    *n = file.n_dims;
    for (int d = 0; ids != NULL && d < file.n_dims; d++) ids[d] = 10 * d;
    return 0;
}
static int inq_dim(int id, int dim, char *name, size_t *len)
{
    (void)id;
    snprintf(name, 10, "d%d", dim / 10);
    *len = file.len[dim / 10];
    return 0;
}
static int inq_n_vars(int id, int *n)
{
    (void)id;
    *n = file.n_vars;
    return 0;
}
static int inq_var(int id, int k, char *name, int *type, int *n_dims, int *dims, int *n_atts)
{
    (void)id;
    const var *v = &file.v[k];
    snprintf(name, 10, k < MAX_DIMS && v->n_dims > 0 && v->dim[0] == k ? "d%d" : "v%d", k);
    *type = v->type;
    *n_dims = v->n_dims;
    *n_atts = v->n_atts;
    for (int i = 0; i < v->n_dims; i++) dims[i] = 10 * v->dim[i];
    return 0;
}
static int inq_chunks(int id, int k, int *storage, size_t *len)
{
    (void)id;
    *storage = k % 2;
    for (int i = 0; i < file.v[k].n_dims; i++) len[i] = (size_t)(1 + (k + i) % 5);
    return 0;
}
static int set_cache(int id, int k, size_t n)
{
    (void)id, (void)k, (void)n;
    return 0;
}
static const att *find_att(int k, const char *name)
{
    for (int i = 0; k >= 0 && i < file.v[k].n_atts; i++)
        if (strcmp(file.v[k].a[i].name, name) == 0) return &file.v[k].a[i];
    return NULL;
}
static int inq_att(int id, int k, const char *name, int *type, size_t *len)
{
    (void)id;
    const att *a = find_att(k, name);
    if (a == NULL) return LL_NC_ENOTATT;
    *type = a->type;
    *len = a->n;
    return 0;
}

static int64_t to_integer(double x) { return x > -9e18 && x < 9e18 ? (int64_t)x : INT64_MIN; }

static void put(void *to, int type, size_t i, double x)
{
    const int64_t k = to_integer(x);
    switch (type) {
    case LL_NC_FLOAT:
        ((float *)to)[i] = (float)x;
        break;
    case LL_NC_DOUBLE:
        ((double *)to)[i] = x;
        break;
    case LL_NC_BYTE:
    case LL_NC_UBYTE:
        ((uint8_t *)to)[i] = (uint8_t)k;
        break;
    case LL_NC_SHORT:
    case LL_NC_USHORT:
        ((uint16_t *)to)[i] = (uint16_t)k;
        break;
    case LL_NC_INT:
    case LL_NC_UINT:
        ((uint32_t *)to)[i] = (uint32_t)k;
        break;
    default:
        ((int64_t *)to)[i] = k;
        break;
    }
}

static char *copy_of(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    if (copy != NULL) strcpy(copy, text);
    return copy;
}

static int get_att(int id, int k, const char *name, void *to)
{
    (void)id;
    const att *a = find_att(k, name);
    if (a->type == LL_NC_STRING) *(char **)to = copy_of(a->text);
    else if (a->text != NULL) memcpy(to, a->text, a->n);
    else
        for (size_t i = 0; i < a->n; i++) put(to, a->type, i, a->number[i]);
    return 0;
}

/* Values are drawn from the input as they are asked for, within the dimensions. */
static int get(int id, int k, const size_t *start, const size_t *count, void *to)
{
    (void)id;
    const var *v = &file.v[k];
    size_t     n = 1;
    for (int i = 0; i < v->n_dims; i++) {
        if (start[i] > file.len[v->dim[i]] || count[i] > file.len[v->dim[i]] - start[i]) abort();
        n *= count[i];
    }
    if (v->type < 1 || v->type > LL_NC_STRING) abort(); /* must not be asked for */
    for (size_t i = 0; i < n; i++) {
        if (v->type == LL_NC_STRING) ((char **)to)[i] = copy_of(texts[take(N_TEXTS)]);
        else if (v->type == LL_NC_CHAR) ((char *)to)[i] = "ab \0"[take(4)];
        else put(to, v->type, i, take_number());
    }
    return 0;
}
static int free_strings(size_t n, char **strings)
{
    for (size_t i = 0; i < n; i++) free(strings[i]);
    return 0;
}
static void *units_open(void) { return &file; }
static void  units_close(void *units) { (void)units; }

static ll_nc_unit units_parse(void *units, const char *text)
{
    (void)units;
    ll_nc_unit u = { .kind = LL_NC_UNIT_OTHER };
    if (*text == 's') u = (ll_nc_unit){ LL_NC_UNIT_SINCE, 1, false, -978307200, 1970, 1, 1 };
    if (*text == 'm') u = (ll_nc_unit){ LL_NC_UNIT_SINCE, 60, false, -3e10, 1050, 1, 1 };
    if (*text == 'h') u = (ll_nc_unit){ .kind = LL_NC_UNIT_TIME, .scale = 3600 };
    if (*text == 'd') u = (ll_nc_unit){ LL_NC_UNIT_SINCE, 86400, false, 0, 2001, 1, 1 };
    return u;
}

static const ll_nc_driver driver = {
    .abi = LL_NC_ABI,
    .lock = nothing,
    .unlock = nothing,
    .error = error,
    .open = open_file,
    .close = close_file,
    .inq_groups = inq_groups,
    .inq_dims = inq_dims,
    .inq_dim = inq_dim,
    .inq_n_vars = inq_n_vars,
    .inq_var = inq_var,
    .inq_chunks = inq_chunks,
    .set_cache = set_cache,
    .inq_att = inq_att,
    .get_att = get_att,
    .get = get,
    .free_strings = free_strings,
    .units_open = units_open,
    .units_close = units_close,
    .units_parse = units_parse,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    make_file(data, n);
    ll_netcdf_opts o = LL_NETCDF_DEFAULT;
    o.max_rows = o.max_entities = 1000;
    o.duplicates = take(2) ? LL_DUPLICATES_ERROR : LL_DUPLICATES_LAST;
    ll_netcdf_counts counts;
    llap_panel      *p;
    const int64_t    live = ll_alloc_live();
    if (ll_netcdf_read_with(&driver, "fuzz", "fuzz.nc", &o, &p, &counts) == LLAP_OK &&
        ll_panel_check(p) != LLAP_OK)
        abort();
    llap_panel_destroy(p);
    if (ll_alloc_live() != live) abort();
    return 0;
}
