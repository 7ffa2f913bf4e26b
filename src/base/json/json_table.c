/* Values as others write them: options as text, a table by columns as CSV. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json_doc.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- text of options ---- */

/* "a,b,c" of an array of strings or numbers. */
static llap_status join(const ll_json *j, const char *name, char *out, size_t room)
{
    const char **word = NULL;
    double      *number = NULL;
    size_t       n = 0, at = 0;
    llap_status  st = ll_json_strings(j, name, &word, &n);
    if (st == LLAP_EFORMAT || st == LLAP_EOPTION)
        st = ll_json_doubles(j, name, -HUGE_VAL, HUGE_VAL, &number, &n);
    for (size_t i = 0; st == LLAP_OK && i < n && at < room; i++) {
        char text[LL_DOUBLE_TEXT];
        if (number != NULL) ll_text_double(number[i], text);
        at += (size_t)snprintf(out + at, room - at, "%s%s", i > 0 ? "," : "",
                               number != NULL ? text : word[i]);
    }
    if (st == LLAP_OK && at >= room) st = ll_fail(LLAP_ELIMIT, "'%s': too long a list", name);
    ll_free((void *)word);
    ll_free(number);
    return st;
}

llap_status ll_json_text(const ll_json *j, const char *path, char *out, size_t room)
{
    const char       *s = NULL;
    bool              flag = false;
    int64_t           whole = 0;
    double            x = 0;
    const llap_status there = ll_json_need(j, path);
    if (there != LLAP_OK) return there;
    if (ll_json_string(j, path, &s) == LLAP_OK) {
        if (strlen(s) >= room) return ll_fail(LLAP_ELIMIT, "'%s': too long", path);
        snprintf(out, room, "%s", s);
    } else if (ll_json_bool(j, path, &flag) == LLAP_OK) {
        snprintf(out, room, "%s", flag ? "true" : "false");
    } else if (ll_json_int(j, path, INT64_MIN, INT64_MAX, &whole) == LLAP_OK) {
        snprintf(out, room, "%lld", (long long)whole);
    } else if (ll_json_double(j, path, -HUGE_VAL, HUGE_VAL, &x) == LLAP_OK) {
        char text[LL_DOUBLE_TEXT];
        ll_text_double(x, text);
        snprintf(out, room, "%s", text);
    } else if (join(j, path, out, room) != LLAP_OK) {
        char       *part = NULL;
        size_t      n;
        llap_status st = ll_json_part(j, path, &part, &n);
        if (st == LLAP_OK && n >= room) st = ll_fail(LLAP_ELIMIT, "'%s': too long", path);
        if (st == LLAP_OK) memcpy(out, part, n + 1);
        ll_free(part);
        return st;
    }
    return LLAP_OK;
}

/* ---- a table ---- */

typedef struct csv {
    char       *text;
    size_t      n, room;
    llap_status st;
} csv;

static void put(csv *c, const char *s, size_t n)
{
    if (c->st == LLAP_OK && c->n + n + 1 > c->room) {
        const size_t room = 2 * (c->n + n + 1);
        char        *more = ll_grow(c->text, room, 1);
        if (more == NULL) c->st = LLAP_ENOMEM;
        else c->text = more, c->room = room;
    }
    if (c->st != LLAP_OK) return;
    memcpy(c->text + c->n, s, n);
    c->n += n;
    c->text[c->n] = '\0';
}

static void put_string(csv *c, const char *s)
{
    if (s[strcspn(s, ",\"\r\n")] == '\0') {
        put(c, s, strlen(s));
        return;
    }
    put(c, "\"", 1);
    for (size_t n; *s != '\0'; s += n) {
        n = strcspn(s, "\"");
        put(c, s, n);
        if (s[n] != '"') continue;
        put(c, "\"\"", 2);
        n++;
    }
    put(c, "\"", 1);
}

static bool put_cell(csv *c, const json_t *v)
{
    char text[LL_DOUBLE_TEXT];
    if (json_is_string(v)) {
        put_string(c, json_string_value(v));
    } else if (json_is_integer(v)) {
        put(c, text,
            (size_t)snprintf(text, sizeof text, "%" PRId64, (int64_t)json_integer_value(v)));
    } else if (json_is_real(v)) {
        put(c, text, ll_text_double(json_real_value(v), text));
    } else if (json_is_boolean(v)) {
        put(c, json_is_true(v) ? "1" : "0", 1);
    }
    return !json_is_object(v) && !json_is_array(v);
}

static llap_status fail_length(const ll_json *j, const char *path, const char *name, size_t found,
                               size_t rows)
{
    return ll_json_fail(j, path, "'%s': expected %zu values, as the first column has, found %zu",
                        ll_text_show(name).text, rows, found);
}

/* The names of the columns; *rows is how many values the first has, and all must. */
static llap_status put_names(csv *c, const ll_json *j, const char *path, json_t *table,
                             size_t *rows)
{
    const char *name;
    json_t     *column;
    size_t      k = 0;
    json_object_foreach(table, name, column)
    {
        if (!json_is_array(column))
            return ll_json_fail(j, path, "'%s': expected an array of values",
                                ll_text_show(name).text);
        if (k == 0) *rows = json_array_size(column);
        if (json_array_size(column) != *rows)
            return fail_length(j, path, name, json_array_size(column), *rows);
        if (k++ > 0) put(c, ",", 1);
        put_string(c, name);
    }
    put(c, "\n", 1);
    return k > 0 ? LLAP_OK : ll_json_fail(j, path, "expected columns, found none");
}

static llap_status put_rows(csv *c, const ll_json *j, const char *path, json_t *table, size_t rows)
{
    const size_t n = json_object_size(table);
    json_t     **column = ll_new(n, sizeof *column);
    const char  *name;
    json_t      *each;
    size_t       k = 0;
    llap_status  st = column == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) json_object_foreach(table, name, each) column[k++] = each;
    for (size_t i = 0; st == LLAP_OK && i < rows; i++) {
        for (k = 0; st == LLAP_OK && k < n; k++) {
            if (k > 0) put(c, ",", 1);
            if (!put_cell(c, json_array_get(column[k], i)))
                st = ll_json_fail(j, path, "column %zu, value %zu: expected a number, text or null",
                                  k + 1, i + 1);
        }
        put(c, "\n", 1);
        if (st == LLAP_OK) st = c->st;
    }
    ll_free(column);
    return st;
}

llap_status ll_json_csv(const ll_json *j, const char *path, char **text, size_t *n)
{
    json_t     *table = NULL;
    csv         c = { 0 };
    size_t      rows = 0;
    llap_status st = json_find(j, path, &table);
    *text = NULL;
    if (st == LLAP_OK && !json_is_object(table))
        st =
            ll_json_fail(j, path, "expected an object of columns, {\"time\": [...], \"x\": [...]}");
    if (st == LLAP_OK) st = put_names(&c, j, path, table, &rows);
    if (st == LLAP_OK) st = put_rows(&c, j, path, table, rows);
    if (st == LLAP_OK) st = c.st;
    if (st == LLAP_OK) *text = c.text, *n = c.n;
    else ll_free(c.text);
    return st;
}

/* ---- an array of arrays as one ---- */

/* Depth is that of the document, which its limits bound. */
static void put_flat(ll_json_writer *w, const json_t *array, ll_json_counts *c)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *v = json_array_get(array, i);
        if (json_is_array(v)) {
            put_flat(w, v, c);
        } else if (json_is_string(v)) {
            c->strings++;
            ll_json_put_string(w, NULL, json_string_value(v));
        } else if (json_is_integer(v)) {
            c->whole++;
            ll_json_put_int(w, NULL, (int64_t)json_integer_value(v));
        } else if (json_is_real(v)) {
            c->reals++;
            ll_json_put_double(w, NULL, json_real_value(v));
        } else if (json_is_boolean(v)) {
            c->flags++;
            ll_json_put_bool(w, NULL, json_is_true(v));
        } else {
            c->nulls += json_is_null(v);
            c->objects += json_is_object(v);
            ll_json_put_null(w, NULL);
        }
    }
}

llap_status ll_json_flat(const ll_json *j, const char *path, char **text, size_t *n,
                         ll_json_counts *counts)
{
    json_t        *array = NULL;
    ll_json_writer w = { 0 };
    *text = NULL;
    *n = 0;
    *counts = (ll_json_counts){ 0 };
    llap_status st = json_find(j, path, &array);
    if (st == LLAP_OK && array == NULL) st = ll_json_need(j, path);
    if (st != LLAP_OK) return st;
    if (!json_is_array(array)) return json_fail_expected(j, path, "an array", array, NULL);
    ll_json_open(&w, NULL, '[');
    put_flat(&w, array, counts);
    ll_json_close(&w, ']');
    return ll_json_finish(&w, text, n);
}
