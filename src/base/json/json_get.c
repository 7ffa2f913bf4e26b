/* Values by path, each as one of a few kinds; json.c finds them. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json_doc.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- one value ---- */

/* A getter of one kind: takes v into out or says what it expected. */
typedef struct kind {
    bool (*take)(const json_t *v, const struct kind *k, void *out);
    void (*expected)(const struct kind *k, char *what, size_t size);
    size_t             size; /* of a value */
    int64_t            min_int, max_int;
    double             min, max;
    const char *const *names;
    const char        *what;
} kind;

static void expected_plain(const kind *k, char *what, size_t size)
{
    snprintf(what, size, "%s", k->what);
}

/* "an integer", "an integer >= 1", "an integer <= 9", "an integer in 1..9" */
static void expected_range(const char *what, const char *min, const char *max, char *out,
                           size_t size)
{
    if (min != NULL && max != NULL) snprintf(out, size, "%s in %s..%s", what, min, max);
    else if (min != NULL) snprintf(out, size, "%s >= %s", what, min);
    else if (max != NULL) snprintf(out, size, "%s <= %s", what, max);
    else snprintf(out, size, "%s", what);
}

static bool take_int(const json_t *v, const kind *k, void *out)
{
    const int64_t i = json_integer_value(v);
    if (!json_is_integer(v) || i < k->min_int || i > k->max_int) return false;
    *(int64_t *)out = i;
    return true;
}

static void expected_int(const kind *k, char *what, size_t size)
{
    char min[32], max[32];
    snprintf(min, sizeof min, "%lld", (long long)k->min_int);
    snprintf(max, sizeof max, "%lld", (long long)k->max_int);
    expected_range("an integer", k->min_int != INT64_MIN ? min : NULL,
                   k->max_int != INT64_MAX ? max : NULL, what, size);
}

static bool take_double(const json_t *v, const kind *k, void *out)
{
    const double d = json_number_value(v);
    if (!json_is_number(v) || d < k->min || d > k->max) return false;
    *(double *)out = d;
    return true;
}

static void expected_double(const kind *k, char *what, size_t size)
{
    char min[LL_DOUBLE_TEXT], max[LL_DOUBLE_TEXT];
    ll_text_double(k->min, min);
    ll_text_double(k->max, max);
    expected_range("a number", isfinite(k->min) ? min : NULL, isfinite(k->max) ? max : NULL, what,
                   size);
}

static bool take_bool(const json_t *v, const kind *k, void *out)
{
    (void)k;
    if (!json_is_boolean(v)) return false;
    *(bool *)out = json_is_true(v);
    return true;
}

static bool take_string(const json_t *v, const kind *k, void *out)
{
    (void)k;
    if (!json_is_string(v)) return false;
    *(const char **)out = json_string_value(v);
    return true;
}

static bool take_enum(const json_t *v, const kind *k, void *out)
{
    if (!json_is_string(v)) return false;
    for (int i = 0; k->names[i] != NULL; i++)
        if (strcmp(json_string_value(v), k->names[i]) == 0) {
            *(int *)out = i;
            return true;
        }
    return false;
}

static void expected_enum(const kind *k, char *what, size_t size)
{
    size_t n = (size_t)snprintf(what, size, "one of");
    for (int i = 0; k->names[i] != NULL && n < size; i++)
        n += (size_t)snprintf(what + n, size - n, "%s \"%s\"", i > 0 ? "," : "", k->names[i]);
}

static llap_status fail_kind(const ll_json *j, const char *path, const kind *k, const json_t *v)
{
    char what[512];
    k->expected(k, what, sizeof what);
    const bool word = k->names != NULL && json_is_string(v);
    return json_fail_expected(j, path, what, v,
                              word ? llap_text_nearest(json_string_value(v), k->names) : NULL);
}

static llap_status get(const ll_json *j, const char *path, const kind *k, void *out)
{
    json_t     *v;
    llap_status st = json_find(j, path, &v);
    if (st != LLAP_OK || v == NULL || k->take(v, k, out)) return st;
    return fail_kind(j, path, k, v);
}

static kind int_kind(int64_t min, int64_t max)
{
    return (kind){ .take = take_int,
                   .expected = expected_int,
                   .size = sizeof(int64_t),
                   .min_int = min,
                   .max_int = max };
}

static kind double_kind(double min, double max)
{
    return (kind){ .take = take_double,
                   .expected = expected_double,
                   .size = sizeof(double),
                   .min = min,
                   .max = max };
}

static const kind bool_kind = { .take = take_bool,
                                .expected = expected_plain,
                                .what = "true or false" };
static const kind string_kind = { .take = take_string,
                                  .expected = expected_plain,
                                  .size = sizeof(const char *),
                                  .what = "a string" };

llap_status ll_json_int(const ll_json *j, const char *path, int64_t min, int64_t max, int64_t *v)
{
    const kind k = int_kind(min, max);
    return get(j, path, &k, v);
}

llap_status ll_json_double(const ll_json *j, const char *path, double min, double max, double *v)
{
    const kind k = double_kind(min, max);
    return get(j, path, &k, v);
}

llap_status ll_json_bool(const ll_json *j, const char *path, bool *v)
{
    return get(j, path, &bool_kind, v);
}

llap_status ll_json_string(const ll_json *j, const char *path, const char **v)
{
    return get(j, path, &string_kind, v);
}

llap_status ll_json_enum(const ll_json *j, const char *path, const char *const *names, int *v)
{
    const kind k = { .take = take_enum, .expected = expected_enum, .names = names };
    return get(j, path, &k, v);
}

/* ---- arrays of one kind ---- */

static llap_status get_array(const ll_json *j, const char *path, const kind *k, void **out,
                             size_t *n)
{
    json_t     *v;
    llap_status st = json_find(j, path, &v);
    if (st != LLAP_OK || v == NULL) return st;
    if (!json_is_array(v)) return json_fail_expected(j, path, "an array", v, NULL);
    const size_t len = json_array_size(v);
    char        *values = ll_new(len, k->size);
    if (values == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < len; i++) {
        const json_t *element = json_array_get(v, i);
        if (k->take(element, k, values + i * k->size)) continue;
        char where[LL_DETAIL_MAX];
        snprintf(where, sizeof where, "%s[%zu]", path, i);
        ll_free(values);
        return fail_kind(j, where, k, element);
    }
    *out = values;
    *n = len;
    return LLAP_OK;
}

llap_status ll_json_ints(const ll_json *j, const char *path, int64_t min, int64_t max, int64_t **v,
                         size_t *n)
{
    const kind        k = int_kind(min, max);
    void             *out = *v;
    const llap_status st = get_array(j, path, &k, &out, n);
    *v = out;
    return st;
}

llap_status ll_json_doubles(const ll_json *j, const char *path, double min, double max, double **v,
                            size_t *n)
{
    const kind        k = double_kind(min, max);
    void             *out = *v;
    const llap_status st = get_array(j, path, &k, &out, n);
    *v = out;
    return st;
}

llap_status ll_json_strings(const ll_json *j, const char *path, const char ***v, size_t *n)
{
    void             *out = (void *)*v;
    const llap_status st = get_array(j, path, &string_kind, &out, n);
    *v = out;
    return st;
}

ll_json_value ll_json_member(const ll_json *j, const char *name)
{
    const json_t *v = json_object_get(j->root, name);
    ll_json_value out = { .kind = v == NULL ? LL_JSON_ABSENT : LL_JSON_OTHER };
    if (json_is_null(v)) out.kind = LL_JSON_NULL;
    if (json_is_boolean(v) || json_is_integer(v)) {
        out.kind = LL_JSON_INTEGER;
        out.integer = json_is_boolean(v) ? json_is_true(v) : json_integer_value(v);
        out.real = (double)out.integer;
    } else if (json_is_real(v)) {
        out.kind = LL_JSON_REAL;
        out.real = json_real_value(v);
    } else if (json_is_string(v)) {
        out.kind = LL_JSON_STRING;
        out.text = json_string_value(v);
    }
    return out;
}
