#include "base/json/fields.h"

#include "base/alloc.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(enum ll_field_kind) == sizeof(int), "enums are ints");

static llap_status read_reals(const ll_json *j, const char *path, const ll_field *f, ll_reals *out)
{
    double     *v = NULL;
    size_t      n = 0;
    llap_status st =
        ll_json_has(j, path) ? ll_json_doubles(j, path, f->low, f->high, &v, &n) : LLAP_OK;
    if (st == LLAP_OK && n > LL_REALS_MAX)
        st = ll_json_fail(j, path, "expected at most %d numbers, found %zu", LL_REALS_MAX, n);
    if (st == LLAP_OK && ll_json_has(j, path)) {
        out->n = (int)n;
        for (size_t i = 0; i < n; i++) out->v[i] = v[i];
    }
    ll_free(v);
    return st;
}

static llap_status read_small(const ll_json *j, const char *path, const ll_field *f, int *out)
{
    int64_t           v = *out;
    const llap_status st = ll_json_int(j, path, (int64_t)f->low, (int64_t)f->high, &v);
    if (st == LLAP_OK) *out = (int)v;
    return st;
}

static llap_status read_one(const ll_json *j, const char *path, const ll_field *f, void *at)
{
    switch (f->kind) {
    case LL_FIELD_INT:
        return ll_json_int(j, path, (int64_t)f->low, (int64_t)f->high, at);
    case LL_FIELD_SMALL:
        return read_small(j, path, f, at);
    case LL_FIELD_REAL:
        return ll_json_double(j, path, f->low, f->high, at);
    case LL_FIELD_REALS:
        return read_reals(j, path, f, at);
    case LL_FIELD_BOOL:
        return ll_json_bool(j, path, at);
    case LL_FIELD_CHOICE:
        break;
    }
    int v;
    memcpy(&v, at, sizeof v);
    const llap_status st = ll_json_enum(j, path, f->names, &v);
    if (st == LLAP_OK) memcpy(at, &v, sizeof v);
    return st;
}

llap_status ll_fields_read(const ll_json *j, const char *path, const ll_field *f, int n,
                           void *record)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < n && st == LLAP_OK; i++) {
        char full[256];
        snprintf(full, sizeof full, "%s%s%s", path, path[0] == '\0' ? "" : ".", f[i].key);
        st = read_one(j, full, &f[i], (char *)record + f[i].offset);
    }
    return st;
}

llap_status ll_fields_only(const ll_json *j, const char *path, const ll_field *f, int n,
                           const char *const *more)
{
    int n_more = 0;
    while (more != NULL && more[n_more] != NULL) n_more++;
    const char **keys = ll_new((size_t)(n + n_more) + 1, sizeof *keys); /* closed by NULL */
    if (keys == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < n; i++) keys[i] = f[i].key;
    for (int i = 0; i < n_more; i++) keys[n + i] = more[i];
    const llap_status st = ll_json_keys(j, path, (const char *const *)keys);
    ll_free((void *)keys);
    return st;
}

static void write_reals(ll_json_writer *w, const char *key, const ll_reals *r)
{
    ll_json_open(w, key, '(');
    for (int i = 0; i < r->n; i++) ll_json_put_double(w, NULL, r->v[i]);
    ll_json_close(w, ']');
}

void ll_fields_write(ll_json_writer *w, const ll_field *f, int n, const void *record)
{
    for (int i = 0; i < n; i++) {
        const void *at = (const char *)record + f[i].offset;
        switch (f[i].kind) {
        case LL_FIELD_INT:
            ll_json_put_int(w, f[i].key, *(const int64_t *)at);
            break;
        case LL_FIELD_SMALL:
            ll_json_put_int(w, f[i].key, *(const int *)at);
            break;
        case LL_FIELD_REAL:
            ll_json_put_double(w, f[i].key, *(const double *)at);
            break;
        case LL_FIELD_REALS:
            write_reals(w, f[i].key, at);
            break;
        case LL_FIELD_BOOL:
            ll_json_put_bool(w, f[i].key, *(const bool *)at);
            break;
        case LL_FIELD_CHOICE: {
            int v;
            memcpy(&v, at, sizeof v);
            ll_json_put_string(w, f[i].key, f[i].names[v]);
        }
        }
    }
}

static llap_status check_real(const char *what, const ll_field *f, double v)
{
    if (v >= f->low && v <= f->high) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "%s: %s: expected %g..%g, found %g", what, f->key, f->low, f->high,
                   v);
}

static llap_status check_one(const char *what, const ll_field *f, const void *at)
{
    int         count = 0, v;
    llap_status st = LLAP_OK;
    switch (f->kind) {
    case LL_FIELD_INT:
        return check_real(what, f, (double)*(const int64_t *)at);
    case LL_FIELD_SMALL:
        return check_real(what, f, *(const int *)at);
    case LL_FIELD_REAL:
        return check_real(what, f, *(const double *)at);
    case LL_FIELD_REALS:
        for (int i = 0; st == LLAP_OK && i < ((const ll_reals *)at)->n; i++)
            st = check_real(what, f, ((const ll_reals *)at)->v[i]);
        return st;
    case LL_FIELD_BOOL:
        return LLAP_OK;
    case LL_FIELD_CHOICE:
        break;
    }
    memcpy(&v, at, sizeof v);
    while (f->names[count] != NULL) count++;
    if (v >= 0 && v < count) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "%s: %s: choice %d of %d", what, f->key, v, count);
}

llap_status ll_fields_check(const char *what, const ll_field *f, int n, const void *record)
{
    llap_status st = LLAP_OK;
    for (int i = 0; i < n && st == LLAP_OK; i++)
        st = check_one(what, &f[i], (const char *)record + f[i].offset);
    return st;
}
