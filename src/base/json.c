#include "base/json.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct llap_json {
    json_t *root;
    char   *name; /* for messages */
};

/* ---- parsing ---- */

/* Where the text stands, as jansson counts it: lines from 1, columns in characters from 1. */
typedef struct place {
    size_t line, column;
} place;

static place place_of(const char *text, size_t at)
{
    place p = { 1, 1 };
    for (size_t i = 0; i < at; i++) {
        p.column += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (text[i] == '\n') p = (place){ p.line + 1, 1 };
    }
    return p;
}

/* Bounds what jansson will allocate: each value or key but the first stands behind one of , : [ {
 * outside of strings. Malformed text is counted somehow; jansson refuses it later. Also finds the
 * longest stretch between such marks and quotes, hence a bound of the longest token. */
static llap_status check_limits(const char *text, size_t n, const char *name,
                                const llap_json_limits *limits, size_t *longest)
{
    if (n > limits->n_bytes)
        return llap_fail(LLAP_ELIMIT, "%s: %zu bytes of JSON, the limit is %zu", name, n,
                         limits->n_bytes);
    size_t depth = 0, n_values = 1, start = 0;
    bool   quoted = false;
    for (size_t i = 0; i < n; i++) {
        const char c = text[i];
        if (quoted && c == '\\') i++;
        else if (c == '"') quoted = !quoted;
        if (i - start > *longest) *longest = i - start;
        if (quoted) continue;
        const bool opens = c == '{' || c == '[';
        if (opens || c == ',' || c == ':') start = i;
        depth += opens;
        depth -= (c == '}' || c == ']') && depth > 0;
        n_values += opens || c == ',' || c == ':';
        if (depth <= limits->depth && n_values <= limits->n_values) continue;
        const place p = place_of(text, i);
        if (depth > limits->depth)
            return llap_fail(LLAP_ELIMIT, "%s:%zu:%zu: more than %zu levels of nesting", name,
                             p.line, p.column, limits->depth);
        return llap_fail(LLAP_ELIMIT, "%s:%zu:%zu: more than %zu keys and values", name, p.line,
                         p.column, limits->n_values);
    }
    return LLAP_OK;
}

static llap_status fail_parse(const json_error_t *e, const char *name)
{
    /* Where memory runs out in its lexer, jansson may report a token it did not expect; but malloc
     * has left its mark. */
    if (json_error_code(e) == json_error_out_of_memory || errno == ENOMEM)
        return llap_fail(LLAP_ENOMEM, "%s: out of memory", name);
    return llap_fail(LLAP_EFORMAT, "%s:%d:%d: %s", name, e->line, e->column,
                     llap_text_show(e->text).text);
}

llap_status llap_json_parse(const char *text, size_t n, const char *name,
                            const llap_json_limits *limits, llap_json **out)
{
    *out = NULL;
    const llap_json_limits usual = LLAP_JSON_LIMITS;
    size_t                 longest = 0;
    llap_status st = check_limits(text, n, name, limits != NULL ? limits : &usual, &longest);
    if (st != LLAP_OK) return st;
    /* jansson 2.14 does not survive failing to grow the buffer for a token of 16 bytes or more
     * (akheron/jansson#362): see first that there is room for the longest. */
    void *room = llap_new(longest, 4);
    if (room == NULL) return LLAP_ENOMEM;
    llap_free(room);
    llap_json *j = llap_new(1, sizeof *j);
    if (j == NULL) return LLAP_ENOMEM;
    json_error_t e = { 0 };
    j->name = llap_strndup(name, strlen(name));
    errno = 0;
    if (j->name != NULL) j->root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
    if (j->root != NULL) {
        *out = j;
        return LLAP_OK;
    }
    st = j->name != NULL ? fail_parse(&e, name) : LLAP_ENOMEM;
    llap_json_destroy(j);
    return st;
}

llap_status llap_json_read(const char *path, const llap_json_limits *limits, llap_json **out)
{
    *out = NULL;
    const llap_json_limits usual = LLAP_JSON_LIMITS;
    char                  *text;
    size_t                 n;
    if (limits == NULL) limits = &usual;
    llap_status st = llap_file_read(path, limits->n_bytes, &text, &n);
    if (st == LLAP_OK) st = llap_json_parse(text, n, path, limits, out);
    llap_free(text);
    return st;
}

void llap_json_destroy(llap_json *j)
{
    if (j == NULL) return;
    json_decref(j->root);
    llap_free(j->name);
    llap_free(j);
}

/* ---- paths ---- */

/* Puts file and path in front of the detail. */
static llap_status fail_at(const llap_json *j, const char *path)
{
    if (*path != '\0') (void)llap_fail_in(LLAP_EFORMAT, "'%s'", path);
    return llap_fail_in(LLAP_EFORMAT, "%s", j->name);
}

/* A value as messages show it. */
typedef struct shown {
    char text[sizeof(llap_text_shown) + 2];
} shown;

static shown show(const json_t *v)
{
    static const char *const words[] = { [JSON_OBJECT] = "an object",
                                         [JSON_ARRAY] = "an array",
                                         [JSON_TRUE] = "true",
                                         [JSON_FALSE] = "false",
                                         [JSON_NULL] = "null" };
    shown                    s;
    if (json_is_string(v))
        snprintf(s.text, sizeof s.text, "\"%s\"", llap_text_show(json_string_value(v)).text);
    else if (json_is_integer(v))
        snprintf(s.text, sizeof s.text, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else if (json_is_real(v)) llap_text_double(json_real_value(v), s.text);
    else snprintf(s.text, sizeof s.text, "%s", words[json_typeof(v)]);
    return s;
}

/* "config.json: 'train.batch': expected WHAT, found "ten"", and perhaps what was meant. */
static llap_status fail_expected(const llap_json *j, const char *path, const char *what,
                                 const json_t *found, const char *meant)
{
    (void)llap_fail(LLAP_EFORMAT, "expected %s, found %s%s%s%s", what, show(found).text,
                    meant != NULL ? ", did you mean \"" : "", meant != NULL ? meant : "",
                    meant != NULL ? "\"?" : "");
    return fail_at(j, path);
}

/* The value at path, NULL when absent. LLAP_EFORMAT when something on the way is no object or
 * array, as the path has it. */
static llap_status find(const llap_json *j, const char *path, json_t **out)
{
    json_t     *v = j->root;
    const char *p = path;
    while (*p != '\0' && v != NULL) {
        const bool index = *p == '[';
        if (index ? !json_is_array(v) : !json_is_object(v)) {
            char   way[LLAP_DETAIL_MAX];
            size_t n = (size_t)(p - path);
            n -= n > 0 && !index; /* the dot */
            snprintf(way, sizeof way, "%.*s", (int)n, path);
            *out = NULL;
            return fail_expected(j, way, index ? "an array" : "an object", v, NULL);
        }
        if (index) {
            char *end;
            v = json_array_get(v, strtoul(p + 1, &end, 10));
            p = end + (*end == ']');
        } else {
            const size_t n = strcspn(p, ".[");
            v = json_object_getn(v, p, n);
            p += n;
        }
        p += *p == '.';
    }
    *out = v;
    return LLAP_OK;
}

bool llap_json_has(const llap_json *j, const char *path)
{
    json_t *v;
    return find(j, path, &v) == LLAP_OK && v != NULL;
}

llap_status llap_json_need(const llap_json *j, const char *path)
{
    json_t           *v;
    const llap_status st = find(j, path, &v);
    if (st != LLAP_OK || v != NULL) return st;
    return llap_fail(LLAP_EFORMAT, "%s: '%s': missing", j->name, path);
}

size_t llap_json_length(const llap_json *j, const char *path)
{
    json_t *v;
    return find(j, path, &v) == LLAP_OK ? json_array_size(v) : 0;
}

static bool listed(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

llap_status llap_json_keys(const llap_json *j, const char *path, const char *const *keys)
{
    json_t     *v;
    llap_status st = find(j, path, &v);
    if (st != LLAP_OK || v == NULL) return st;
    if (!json_is_object(v)) return fail_expected(j, path, "an object", v, NULL);
    const char *key;
    json_t     *member;
    json_object_foreach(v, key, member)
    {
        if (listed(key, keys)) continue;
        const char *near = llap_text_nearest(key, keys);
        (void)llap_fail(LLAP_EFORMAT, "unknown key '%s'%s%s%s", llap_text_show(key).text,
                        near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                        near != NULL ? "'?" : "");
        return fail_at(j, path);
    }
    return LLAP_OK;
}

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
    char min[LLAP_DOUBLE_TEXT], max[LLAP_DOUBLE_TEXT];
    llap_text_double(k->min, min);
    llap_text_double(k->max, max);
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

static llap_status fail_kind(const llap_json *j, const char *path, const kind *k, const json_t *v)
{
    char what[512];
    k->expected(k, what, sizeof what);
    const bool word = k->names != NULL && json_is_string(v);
    return fail_expected(j, path, what, v,
                         word ? llap_text_nearest(json_string_value(v), k->names) : NULL);
}

static llap_status get(const llap_json *j, const char *path, const kind *k, void *out)
{
    json_t     *v;
    llap_status st = find(j, path, &v);
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

llap_status llap_json_int(const llap_json *j, const char *path, int64_t min, int64_t max,
                          int64_t *v)
{
    const kind k = int_kind(min, max);
    return get(j, path, &k, v);
}

llap_status llap_json_double(const llap_json *j, const char *path, double min, double max,
                             double *v)
{
    const kind k = double_kind(min, max);
    return get(j, path, &k, v);
}

llap_status llap_json_bool(const llap_json *j, const char *path, bool *v)
{
    return get(j, path, &bool_kind, v);
}

llap_status llap_json_string(const llap_json *j, const char *path, const char **v)
{
    return get(j, path, &string_kind, v);
}

llap_status llap_json_enum(const llap_json *j, const char *path, const char *const *names, int *v)
{
    const kind k = { .take = take_enum, .expected = expected_enum, .names = names };
    return get(j, path, &k, v);
}

/* ---- arrays of one kind ---- */

static llap_status get_array(const llap_json *j, const char *path, const kind *k, void **out,
                             size_t *n)
{
    json_t     *v;
    llap_status st = find(j, path, &v);
    if (st != LLAP_OK || v == NULL) return st;
    if (!json_is_array(v)) return fail_expected(j, path, "an array", v, NULL);
    const size_t len = json_array_size(v);
    char        *values = llap_new(len, k->size);
    if (values == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < len; i++) {
        const json_t *element = json_array_get(v, i);
        if (k->take(element, k, values + i * k->size)) continue;
        char where[LLAP_DETAIL_MAX];
        snprintf(where, sizeof where, "%s[%zu]", path, i);
        llap_free(values);
        return fail_kind(j, where, k, element);
    }
    *out = values;
    *n = len;
    return LLAP_OK;
}

llap_status llap_json_ints(const llap_json *j, const char *path, int64_t min, int64_t max,
                           int64_t **v, size_t *n)
{
    const kind        k = int_kind(min, max);
    void             *out = *v;
    const llap_status st = get_array(j, path, &k, &out, n);
    *v = out;
    return st;
}

llap_status llap_json_doubles(const llap_json *j, const char *path, double min, double max,
                              double **v, size_t *n)
{
    const kind        k = double_kind(min, max);
    void             *out = *v;
    const llap_status st = get_array(j, path, &k, &out, n);
    *v = out;
    return st;
}

llap_status llap_json_strings(const llap_json *j, const char *path, const char ***v, size_t *n)
{
    void             *out = (void *)*v;
    const llap_status st = get_array(j, path, &string_kind, &out, n);
    *v = out;
    return st;
}

/* ---- dumping ---- */

static void dump(llap_json_writer *w, const char *key, json_t *v);

static void dump_object(llap_json_writer *w, const char *key, json_t *v)
{
    const char *name;
    json_t     *member;
    llap_json_open(w, key, '{');
    json_object_foreach(v, name, member) dump(w, name, member);
    llap_json_close(w, '}');
}

static void dump_array(llap_json_writer *w, const char *key, json_t *v)
{
    bool flat = true; /* numbers and words go on one line */
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *e = json_array_get(v, i);
        flat = flat && !json_is_object(e) && !json_is_array(e);
    }
    llap_json_open(w, key, flat ? '(' : '[');
    for (size_t i = 0; i < json_array_size(v); i++) dump(w, NULL, json_array_get(v, i));
    llap_json_close(w, ']');
}

/* As deep as the limits let the document be. */
static void dump(llap_json_writer *w, const char *key, json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        dump_object(w, key, v);
        break;
    case JSON_ARRAY:
        dump_array(w, key, v);
        break;
    case JSON_STRING:
        llap_json_put_string(w, key, json_string_value(v));
        break;
    case JSON_INTEGER:
        llap_json_put_int(w, key, json_integer_value(v));
        break;
    case JSON_REAL:
        llap_json_put_double(w, key, json_real_value(v));
        break;
    case JSON_TRUE:
        llap_json_put_bool(w, key, true);
        break;
    case JSON_FALSE:
        llap_json_put_bool(w, key, false);
        break;
    case JSON_NULL:
        llap_json_put_null(w, key);
        break;
    }
}

void llap_json_put(llap_json_writer *w, const char *key, const llap_json *j)
{
    dump(w, key, j->root);
}

static llap_status dump_text(json_t *v, int indent, char **text, size_t *n)
{
    llap_json_writer w = { .indent = indent };
    dump(&w, NULL, v);
    return llap_json_finish(&w, text, n);
}

llap_status llap_json_dump(const llap_json *j, int indent, char **text, size_t *n)
{
    return dump_text(j->root, indent, text, n);
}

llap_status llap_json_part(const llap_json *j, const char *path, char **text, size_t *n)
{
    json_t *v = NULL;
    *text = NULL;
    *n = 0;
    const llap_status st = find(j, path, &v);
    return st != LLAP_OK || v == NULL ? st : dump_text(v, 0, text, n);
}
