#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json/json_doc.h"
#include "base/json/json_place.h"
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parsing ---- */

/* Bounds what jansson will allocate: each value or key but the first stands behind one of , : [ {
 * outside of strings. Malformed text is counted somehow; jansson refuses it later. Also finds the
 * longest stretch between such marks and quotes, hence a bound of the longest token. */
static llap_status check_limits(const char *text, size_t n, const char *name,
                                const ll_json_limits *limits, size_t *longest)
{
    if (n > limits->n_bytes)
        return ll_fail(LLAP_ELIMIT, "%s: %zu bytes of JSON, the limit is %zu", name, n,
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
        const json_place p = json_place_of(text, i);
        if (depth > limits->depth)
            return ll_fail(LLAP_ELIMIT, "%s:%zu:%zu: more than %zu levels of nesting", name, p.line,
                           p.column, limits->depth);
        return ll_fail(LLAP_ELIMIT, "%s:%zu:%zu: more than %zu keys and values", name, p.line,
                       p.column, limits->n_values);
    }
    return LLAP_OK;
}

static llap_status fail_parse(const json_error_t *e, const char *name)
{
    /* Where memory runs out in its lexer, jansson may report a token it did not expect; but malloc
     * has left its mark. */
    if (json_error_code(e) == json_error_out_of_memory || errno == ENOMEM)
        return ll_fail(LLAP_ENOMEM, "%s: out of memory", name);
    return ll_fail(LLAP_EFORMAT, "%s:%d:%d: %s", name, e->line, e->column,
                   ll_text_show(e->text).text);
}

llap_status ll_json_parse(const char *text, size_t n, const char *name,
                          const ll_json_limits *limits, ll_json **out)
{
    *out = NULL;
    const ll_json_limits usual = LL_JSON_LIMITS;
    size_t               longest = 0;
    llap_status st = check_limits(text, n, name, limits != NULL ? limits : &usual, &longest);
    if (st != LLAP_OK) return st;
    /* jansson 2.14 does not survive failing to grow the buffer for a token of 16 bytes or more
     * (akheron/jansson#362): see first that there is room for the longest. */
    void *room = ll_new(longest, 4);
    if (room == NULL) return LLAP_ENOMEM;
    ll_free(room);
    ll_json *j = ll_new(1, sizeof *j);
    if (j == NULL) return LLAP_ENOMEM;
    json_error_t e = { 0 };
    j->wrong = LLAP_EFORMAT;
    j->name = ll_strndup(name, strlen(name));
    errno = 0;
    if (j->name != NULL) j->root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
    if (j->root != NULL) {
        *out = j;
        return LLAP_OK;
    }
    st = j->name != NULL ? fail_parse(&e, name) : LLAP_ENOMEM;
    ll_json_destroy(j);
    return st;
}

llap_status ll_json_read(const char *path, const ll_json_limits *limits, ll_json **out)
{
    *out = NULL;
    const ll_json_limits usual = LL_JSON_LIMITS;
    char                *text;
    size_t               n;
    if (limits == NULL) limits = &usual;
    llap_status st = ll_file_read(path, limits->n_bytes, &text, &n);
    if (st == LLAP_OK && n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) /* byte-order mark */
        memmove(text, text + 3, (n -= 3) + 1);
    if (st == LLAP_OK) st = ll_json_parse(text, n, path, limits, out);
    if (st == LLAP_OK) (*out)->text = text;
    else ll_free(text);
    return st;
}

void ll_json_destroy(ll_json *j)
{
    if (j == NULL) return;
    for (int i = 0; i < LL_JSON_PARTS; i++) {
        ll_free(j->part[i].key);
        ll_json_destroy(j->part[i].from);
    }
    json_decref(j->root);
    ll_free(j->name);
    ll_free(j->text);
    ll_free(j);
}

void ll_json_fail_at(ll_json *j, llap_status code) { j->wrong = code; }

llap_status ll_json_add(ll_json *j, const char *key, ll_json *part)
{
    int n = 0;
    while (j->part[n].key != NULL) n++; /* there is room: the caller's promise */
    json_t *v = json_object_get(part->root, key);
    j->part[n] = (struct ll_json_part){ ll_strndup(key, strlen(key)), part };
    const bool ok = j->part[n].key != NULL && json_object_set(j->root, key, v) == 0;
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

/* ---- paths ---- */

/* The document that has what is at path. */
static const ll_json *origin(const ll_json *j, const char *path)
{
    const size_t n = strcspn(path, ".[");
    for (int i = 0; i < LL_JSON_PARTS && j->part[i].key != NULL; i++)
        if (strlen(j->part[i].key) == n && memcmp(j->part[i].key, path, n) == 0)
            return j->part[i].from;
    return j;
}

static void show_place(const ll_json *j, const char *path, const char *key, char *out, size_t size)
{
    j = origin(j, path);
    const json_place p = j->text == NULL ? (json_place){ 0 } : json_place_find(j->text, path, key);
    if (j->text == NULL) snprintf(out, size, "%s", j->name);
    else snprintf(out, size, "%s:%zu:%zu", j->name, p.line, p.column);
}

void ll_json_place(const ll_json *j, const char *path, char *out, size_t size)
{
    show_place(j, path, NULL, out, size);
}

/* Puts file, place and path in front of the detail, which may be about a key there. */
static llap_status fail_at(const ll_json *j, const char *path, const char *key)
{
    const llap_status code = origin(j, path)->wrong;
    char              place[LL_DETAIL_MAX];
    show_place(j, path, key, place, sizeof place);
    if (*path != '\0' && strcmp(path, place) != 0) (void)ll_fail_in(code, "'%s'", path);
    return ll_fail_in(code, "%s", place);
}

llap_status ll_json_fail(const ll_json *j, const char *path, const char *fmt, ...)
{
    char    text[LL_DETAIL_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    (void)ll_fail(LLAP_EFORMAT, "%s", text);
    return fail_at(j, path, NULL);
}

/* A value as messages show it. */
typedef struct shown {
    char text[sizeof(ll_text_shown) + 2];
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
        snprintf(s.text, sizeof s.text, "\"%s\"", ll_text_show(json_string_value(v)).text);
    else if (json_is_integer(v))
        snprintf(s.text, sizeof s.text, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else if (json_is_real(v)) ll_text_double(json_real_value(v), s.text);
    else snprintf(s.text, sizeof s.text, "%s", words[json_typeof(v)]);
    return s;
}

llap_status json_fail_expected(const ll_json *j, const char *path, const char *what,
                               const json_t *found, const char *meant)
{
    (void)ll_fail(LLAP_EFORMAT, "expected %s, found %s%s%s%s", what, show(found).text,
                  meant != NULL ? ", did you mean \"" : "", meant != NULL ? meant : "",
                  meant != NULL ? "\"?" : "");
    return fail_at(j, path, NULL);
}

llap_status json_find(const ll_json *j, const char *path, json_t **out)
{
    json_t     *v = j->root;
    const char *p = path;
    while (*p != '\0' && v != NULL) {
        const bool index = *p == '[';
        if (index ? !json_is_array(v) : !json_is_object(v)) {
            char   way[LL_DETAIL_MAX];
            size_t n = (size_t)(p - path);
            n -= n > 0 && !index; /* the dot */
            snprintf(way, sizeof way, "%.*s", (int)n, path);
            *out = NULL;
            return json_fail_expected(j, way, index ? "an array" : "an object", v, NULL);
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

bool ll_json_has(const ll_json *j, const char *path)
{
    json_t *v;
    return json_find(j, path, &v) == LLAP_OK && v != NULL;
}

llap_status ll_json_need(const ll_json *j, const char *path)
{
    json_t           *v;
    const llap_status st = json_find(j, path, &v);
    if (st != LLAP_OK || v != NULL) return st;
    (void)ll_fail(LLAP_EFORMAT, "missing");
    return fail_at(j, path, NULL);
}

size_t ll_json_length(const ll_json *j, const char *path)
{
    json_t *v;
    return json_find(j, path, &v) == LLAP_OK ? json_array_size(v) : 0;
}

static bool listed(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0) return true;
    return false;
}

llap_status ll_json_keys(const ll_json *j, const char *path, const char *const *keys)
{
    json_t     *v;
    llap_status st = json_find(j, path, &v);
    if (st != LLAP_OK || v == NULL) return st;
    if (!json_is_object(v)) return json_fail_expected(j, path, "an object", v, NULL);
    const char *key;
    json_t     *member;
    json_object_foreach(v, key, member)
    {
        if (listed(key, keys)) continue;
        const char *near = llap_text_nearest(key, keys);
        (void)ll_fail(LLAP_EFORMAT, "unknown key '%s'%s%s%s", ll_text_show(key).text,
                      near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                      near != NULL ? "'?" : "");
        return fail_at(j, path, key);
    }
    return LLAP_OK;
}

/* ---- dumping ---- */

static void dump(ll_json_writer *w, const char *key, json_t *v);

static void dump_object(ll_json_writer *w, const char *key, json_t *v)
{
    const char *name;
    json_t     *member;
    ll_json_open(w, key, '{');
    json_object_foreach(v, name, member) dump(w, name, member);
    ll_json_close(w, '}');
}

static void dump_array(ll_json_writer *w, const char *key, json_t *v)
{
    bool flat = true; /* numbers and words go on one line */
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *e = json_array_get(v, i);
        flat = flat && !json_is_object(e) && !json_is_array(e);
    }
    ll_json_open(w, key, flat ? '(' : '[');
    for (size_t i = 0; i < json_array_size(v); i++) dump(w, NULL, json_array_get(v, i));
    ll_json_close(w, ']');
}

/* As deep as the limits let the document be. */
static void dump(ll_json_writer *w, const char *key, json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        dump_object(w, key, v);
        break;
    case JSON_ARRAY:
        dump_array(w, key, v);
        break;
    case JSON_STRING:
        ll_json_put_string(w, key, json_string_value(v));
        break;
    case JSON_INTEGER:
        ll_json_put_int(w, key, json_integer_value(v));
        break;
    case JSON_REAL:
        ll_json_put_double(w, key, json_real_value(v));
        break;
    case JSON_TRUE:
        ll_json_put_bool(w, key, true);
        break;
    case JSON_FALSE:
        ll_json_put_bool(w, key, false);
        break;
    case JSON_NULL:
        ll_json_put_null(w, key);
        break;
    }
}

void ll_json_put(ll_json_writer *w, const char *key, const ll_json *j) { dump(w, key, j->root); }

llap_status ll_json_part(const ll_json *j, const char *path, char **text, size_t *n)
{
    json_t *v = NULL;
    *text = NULL;
    *n = 0;
    const llap_status st = json_find(j, path, &v);
    if (st != LLAP_OK || v == NULL) return st;
    ll_json_writer w = { .indent = 0 };
    dump(&w, NULL, v);
    return ll_json_finish(&w, text, n);
}
