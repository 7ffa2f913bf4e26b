#include "base/error.h"
#include "data/netcdf/rows.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { SLAB_BYTES = 1 << 20, NAME_MAX_BYTES = 1 << 16 };

static llap_status fail_var(ll_nc_file *f, const ll_nc_var *v, int code)
{
    return ll_nc_fail(f->nc, f->path, v->name, code);
}

/* Up to a NUL, without the blanks that fill the array. */
static const char *copy_chars(ll_nc_file *f, const char *text, size_t n)
{
    n = strnlen(text, n);
    while (n > 0 && text[n - 1] == ' ') n--;
    return ll_arena_strndup(&f->text, text, n);
}

static llap_status char_names(ll_nc_file *f, const ll_nc_var *v, int64_t n, const char **name)
{
    const bool    one = v->n_dims < 2; /* name(len) of a single station, or a single letter */
    const int64_t len = v->n_dims == 0 ? 1 : f->dim[v->dim[v->n_dims - 1]].len;
    if (len > NAME_MAX_BYTES)
        return ll_fail(LLAP_ELIMIT, "%s: %s: names of more than %d bytes", f->path,
                       ll_nc_describe(f, v), NAME_MAX_BYTES);
    const int64_t step = len == 0 ? n : SLAB_BYTES / len;
    char         *buf = ll_new((size_t)(n < step ? n : step), (size_t)len);
    llap_status   st = buf == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t k = 0; k < n && st == LLAP_OK; k += step) {
        const size_t m = (size_t)(n - k < step ? n - k : step);
        const size_t start[2] = { one ? 0 : (size_t)k, 0 },
                     count[2] = { one ? (size_t)len : m, (size_t)len };
        const int rc = len == 0 ? 0 : f->nc->get(f->id, v->id, start, count, buf);
        if (rc != 0) st = fail_var(f, v, rc);
        for (size_t i = 0; i < m && st == LLAP_OK; i++) {
            name[(size_t)k + i] = copy_chars(f, buf + i * (size_t)len, (size_t)len);
            if (name[(size_t)k + i] == NULL) st = LLAP_ENOMEM;
        }
    }
    ll_free(buf);
    return st;
}

static llap_status string_names(ll_nc_file *f, const ll_nc_var *v, int64_t n, const char **name)
{
    enum { STEP = 4096 };
    char      **buf = ll_new(n < STEP ? (size_t)n : STEP, sizeof *buf);
    llap_status st = buf == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t k = 0; k < n && st == LLAP_OK; k += STEP) {
        const size_t start = (size_t)k, m = (size_t)(n - k < STEP ? n - k : STEP);
        const int    rc = f->nc->get(f->id, v->id, &start, &m, buf);
        if (rc != 0) {
            st = fail_var(f, v, rc);
            break;
        }
        for (size_t i = 0; i < m && st == LLAP_OK; i++) {
            const char *s = buf[i] == NULL ? "" : buf[i];
            name[start + i] = ll_arena_strndup(&f->text, s, strlen(s));
            if (name[start + i] == NULL) st = LLAP_ENOMEM;
        }
        (void)f->nc->free_strings(m, buf);
    }
    ll_free(buf);
    return st;
}

static llap_status number_names(ll_nc_file *f, const ll_nc_var *v, int64_t n, const char **name)
{
    const int64_t step = SLAB_BYTES / 8;
    int64_t      *buf = ll_new((size_t)(n < step ? n : step), sizeof *buf);
    llap_status   st = buf == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t k = 0; k < n && st == LLAP_OK; k += step) {
        const size_t start = (size_t)k, m = (size_t)(n - k < step ? n - k : step);
        const int    rc = f->nc->get(f->id, v->id, &start, &m, buf);
        if (rc != 0) st = fail_var(f, v, rc);
        for (size_t i = 0; i < m && st == LLAP_OK; i++) {
            const int64_t x = ll_nc_element_bits(buf, v->type, i);
            name[start + i] = v->type == LL_NC_UINT64
                                  ? ll_arena_printf(&f->text, "%llu", (unsigned long long)x)
                                  : ll_arena_printf(&f->text, "%lld", (long long)x);
            if (name[start + i] == NULL) st = LLAP_ENOMEM;
        }
    }
    ll_free(buf);
    return st;
}

/* "data/buoy.nc" is "buoy". */
static const char *file_name(ll_nc_file *f)
{
    const char  *slash = strrchr(f->path, '/'), *name = slash == NULL ? f->path : slash + 1;
    const char  *point = strrchr(name, '.');
    const size_t n = point == NULL || point == name ? strlen(name) : (size_t)(point - name);
    return ll_arena_strndup(&f->text, name, n);
}

llap_status ll_nc_station_names(ll_nc_file *f, const ll_nc_layout *l, int64_t n, const char **name)
{
    const ll_nc_var *v = l->name;
    if (v == NULL && l->kind == LL_NETCDF_SINGLE)
        return (name[0] = file_name(f)) == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (v == NULL) {
        for (int64_t k = 0; k < n; k++)
            if ((name[k] = ll_arena_printf(&f->text, "%lld", (long long)k)) == NULL)
                return LLAP_ENOMEM;
        return LLAP_OK;
    }
    if (n == 0) return LLAP_OK;
    return v->type == LL_NC_CHAR     ? char_names(f, v, n, name)
           : v->type == LL_NC_STRING ? string_names(f, v, n, name)
                                     : number_names(f, v, n, name);
}
