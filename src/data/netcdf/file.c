#include "data/netcdf/file.h"

#include "base/alloc.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

llap_status ll_nc_fail(const ll_nc_driver *nc, const char *path, const char *what, int code)
{
    if (code == EINVAL) return ll_fail(LLAP_EFORMAT, "%s: is damaged", path);
    if (code > 0) return ll_fail_errno(code, "%s", path);
    const llap_status st = code == LL_NC_ENOMEM ? LLAP_ENOMEM : LLAP_EFORMAT;
    if (what == NULL) return ll_fail(st, "%s: %s", path, nc->error(code));
    return ll_fail(st, "%s: %s: %s", path, what, nc->error(code));
}

/* ---- opening -------------------------------------------------------------------------------- */

static llap_status list_dims(ll_nc_file *f)
{
    int n = 0;
    int rc = f->nc->inq_dims(f->id, &n, NULL, 0);
    if (rc != 0) return ll_nc_fail(f->nc, f->path, NULL, rc);
    int *ids = ll_arena_new(&f->text, (size_t)n, sizeof *ids);
    f->dim = ll_arena_new(&f->text, (size_t)n, sizeof *f->dim);
    if (ids == NULL || f->dim == NULL) return LLAP_ENOMEM;
    rc = f->nc->inq_dims(f->id, &n, ids, 0);
    for (int d = 0; d < n && rc == 0; d++) {
        char   name[LL_NC_NAME_MAX + 1] = "";
        size_t len = 0;
        rc = f->nc->inq_dim(f->id, ids[d], name, &len);
        if (rc != 0) break;
        if (len > INT64_MAX)
            return ll_fail(LLAP_ELIMIT, "%s: dimension '%s' is longer than 2^63 - 1", f->path,
                           name);
        char *copy = ll_arena_strndup(&f->text, name, strlen(name));
        if (copy == NULL) return LLAP_ENOMEM;
        f->dim[d] = (ll_nc_dim){ copy, (int64_t)len, ids[d] };
        f->n_dims = d + 1;
    }
    return rc == 0 ? LLAP_OK : ll_nc_fail(f->nc, f->path, "dimensions", rc);
}

/* Turns the ids of a variable's dimensions into positions; false: one is of another group. */
static bool place_dims(const ll_nc_file *f, int *dims, int n)
{
    for (int i = 0; i < n; i++) {
        int d = 0;
        while (d < f->n_dims && f->dim[d].id != dims[i]) d++;
        if (d == f->n_dims) return false;
        dims[i] = d;
    }
    return true;
}

static llap_status list_vars(ll_nc_file *f)
{
    int n = 0;
    int rc = f->nc->inq_n_vars(f->id, &n);
    if (rc != 0) return ll_nc_fail(f->nc, f->path, NULL, rc);
    f->var = ll_arena_new(&f->text, (size_t)n, sizeof *f->var);
    if (f->var == NULL) return LLAP_ENOMEM;
    for (int v = 0; v < n; v++) {
        char name[LL_NC_NAME_MAX + 1] = "";
        int  type = 0, n_dims = 0, n_atts = 0, dims[LL_NC_VAR_DIMS];
        rc = f->nc->inq_var(f->id, v, name, &type, &n_dims, dims, &n_atts);
        if (rc != 0) return ll_nc_fail(f->nc, f->path, "variables", rc);
        if (n_dims > LL_NC_VAR_DIMS || !place_dims(f, dims, n_dims))
            return ll_fail(LLAP_EFORMAT, "%s: variable '%s' has dimensions that the file has not",
                           f->path, name);
        int  *copy = ll_arena_new(&f->text, (size_t)n_dims, sizeof *copy);
        char *called = ll_arena_strndup(&f->text, name, strlen(name));
        if (copy == NULL || called == NULL) return LLAP_ENOMEM;
        if (n_dims > 0) memcpy(copy, dims, (size_t)n_dims * sizeof *copy);
        f->var[v] =
            (ll_nc_var){ .name = called, .id = v, .type = type, .n_dims = n_dims, .dim = copy };
        f->n_vars = v + 1;
    }
    return LLAP_OK;
}

llap_status ll_nc_file_open(ll_nc_file *f, const ll_nc_driver *nc, const char *real,
                            const char *path, const ll_netcdf_opts *o, ll_netcdf_counts *counts)
{
    *f = (ll_nc_file){ .nc = nc, .opts = o, .counts = counts, .path = path, .id = -1 };
    const int rc = nc->open(real, &f->id);
    if (rc != 0) {
        f->id = -1;
        return ll_nc_fail(nc, path, NULL, rc);
    }
    llap_status st = list_dims(f);
    if (st == LLAP_OK) st = list_vars(f);
    return st;
}

void ll_nc_file_close(ll_nc_file *f)
{
    if (f->id >= 0) (void)f->nc->close(f->id);
    ll_arena_deinit(&f->text);
    *f = (ll_nc_file){ .id = -1 };
}

/* ---- asking --------------------------------------------------------------------------------- */

int ll_nc_find_dim(const ll_nc_file *f, const char *name)
{
    for (int d = 0; d < f->n_dims; d++)
        if (strcmp(f->dim[d].name, name) == 0) return d;
    return -1;
}

int ll_nc_find_var(const ll_nc_file *f, const char *name)
{
    for (int v = 0; v < f->n_vars; v++)
        if (strcmp(f->var[v].name, name) == 0) return v;
    return -1;
}

bool ll_nc_on_dim(const ll_nc_var *v, int dim)
{
    for (int i = 0; i < v->n_dims; i++)
        if (v->dim[i] == dim) return true;
    return false;
}

bool ll_nc_is_coordinate(const ll_nc_file *f, const ll_nc_var *v)
{
    return v->n_dims >= 1 && strcmp(f->dim[v->dim[0]].name, v->name) == 0 &&
           (v->n_dims == 1 || (v->n_dims == 2 && v->type == LL_NC_CHAR));
}

bool ll_nc_is_integer(int type)
{
    return type == LL_NC_BYTE || type == LL_NC_SHORT || type == LL_NC_INT ||
           (type >= LL_NC_UBYTE && type <= LL_NC_UINT64);
}

bool ll_nc_is_numeric(int type)
{
    return type == LL_NC_FLOAT || type == LL_NC_DOUBLE || ll_nc_is_integer(type);
}

bool ll_nc_is_text(int type) { return type == LL_NC_CHAR || type == LL_NC_STRING; }

const char *ll_nc_describe(ll_nc_file *f, const ll_nc_var *v)
{
    char   text[512];
    size_t n = (size_t)snprintf(text, sizeof text, "%.100s(", v->name);
    for (int i = 0; i < v->n_dims && n < sizeof text - 180; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.100s=%lld", i > 0 ? ", " : "",
                              f->dim[v->dim[i]].name, (long long)f->dim[v->dim[i]].len);
    snprintf(text + n, sizeof text - n, ")");
    const char *copy = ll_arena_strndup(&f->text, text, strlen(text));
    return copy != NULL ? copy : v->name;
}

/* ---- attributes ----------------------------------------------------------------------------- */

static int var_id(const ll_nc_var *v) { return v == NULL ? LL_NC_GLOBAL : v->id; }

static llap_status fail_att(const ll_nc_file *f, const ll_nc_var *v, const char *name, int code)
{
    char what[600];
    snprintf(what, sizeof what, "%s: attribute %s", v == NULL ? "global" : v->name, name);
    return ll_nc_fail(f->nc, f->path, what, code);
}

/* Type and length; *len 0 when there is no such attribute. */
static llap_status find_att(ll_nc_file *f, const ll_nc_var *v, const char *name, int *type,
                            size_t *len)
{
    *len = 0;
    const int rc = f->nc->inq_att(f->id, var_id(v), name, type, len);
    if (rc == 0) return LLAP_OK;
    *len = 0;
    return rc == LL_NC_ENOTATT ? LLAP_OK : fail_att(f, v, name, rc);
}

static llap_status att_string(ll_nc_file *f, const ll_nc_var *v, const char *name, const char **out)
{
    char     *string = NULL;
    const int rc = f->nc->get_att(f->id, var_id(v), name, &string);
    if (rc != 0) return fail_att(f, v, name, rc);
    llap_status st = LLAP_OK;
    if (string != NULL) {
        const size_t n = strnlen(string, LL_NC_TEXT_MAX);
        if ((*out = ll_arena_strndup(&f->text, string, n)) == NULL) st = LLAP_ENOMEM;
    }
    (void)f->nc->free_strings(1, &string);
    return st;
}

llap_status ll_nc_att_text(ll_nc_file *f, const ll_nc_var *v, const char *name, const char **out)
{
    *out = NULL;
    int         type = 0;
    size_t      len;
    llap_status st = find_att(f, v, name, &type, &len);
    if (st != LLAP_OK || !ll_nc_is_text(type)) return st;
    if (type == LL_NC_STRING) return len == 1 ? att_string(f, v, name, out) : LLAP_OK;
    if (len > LL_NC_TEXT_MAX)
        return ll_fail(LLAP_ELIMIT, "%s: %s: attribute %s is longer than %d bytes", f->path,
                       v == NULL ? "global" : v->name, name, LL_NC_TEXT_MAX);
    char *text = ll_arena_new(&f->text, len + 1, 1);
    if (text == NULL) return LLAP_ENOMEM;
    const int rc = f->nc->get_att(f->id, var_id(v), name, text);
    if (rc != 0) return fail_att(f, v, name, rc);
    *out = text; /* up to a NUL inside, if there is one */
    return LLAP_OK;
}

llap_status ll_nc_att_numbers(ll_nc_file *f, const ll_nc_var *v, const char *name,
                              ll_nc_numbers *out)
{
    out->n = 0;
    out->type = 0;
    size_t      len;
    llap_status st = find_att(f, v, name, &out->type, &len);
    if (st != LLAP_OK || len == 0 || !ll_nc_is_numeric(out->type)) return st;
    if (len > LL_NC_NUMBERS_MAX)
        return ll_fail(LLAP_ELIMIT, "%s: %s: attribute %s: expected at most %d values, found %zu",
                       f->path, v == NULL ? "global" : v->name, name, LL_NC_NUMBERS_MAX, len);
    _Alignas(8) unsigned char raw[LL_NC_NUMBERS_MAX * 8];
    const int                 rc = f->nc->get_att(f->id, var_id(v), name, raw);
    if (rc != 0) return fail_att(f, v, name, rc);
    out->n = (int)len;
    for (size_t i = 0; i < len; i++) {
        out->value[i] = ll_nc_element(raw, out->type, i);
        out->bits[i] = ll_nc_element_bits(raw, out->type, i);
    }
    return LLAP_OK;
}

/* ---- elements ------------------------------------------------------------------------------- */

double ll_nc_element(const void *raw, int type, size_t i)
{
    if (type == LL_NC_FLOAT) return (double)((const float *)raw)[i];
    if (type == LL_NC_DOUBLE) return ((const double *)raw)[i];
    const int64_t bits = ll_nc_element_bits(raw, type, i);
    return type == LL_NC_UINT64 ? (double)(uint64_t)bits : (double)bits;
}

int64_t ll_nc_element_bits(const void *raw, int type, size_t i)
{
    switch (type) {
    case LL_NC_BYTE:
        return ((const int8_t *)raw)[i];
    case LL_NC_SHORT:
        return ((const int16_t *)raw)[i];
    case LL_NC_INT:
        return ((const int32_t *)raw)[i];
    case LL_NC_UBYTE:
        return ((const uint8_t *)raw)[i];
    case LL_NC_USHORT:
        return ((const uint16_t *)raw)[i];
    case LL_NC_UINT:
        return ((const uint32_t *)raw)[i];
    case LL_NC_INT64:
        return ((const int64_t *)raw)[i];
    case LL_NC_UINT64:
        return (int64_t)((const uint64_t *)raw)[i];
    default:
        return 0;
    }
}
