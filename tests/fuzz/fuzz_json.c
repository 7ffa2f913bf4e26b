/* The JSON reader on arbitrary bytes: what it accepts is dumped, and its dump reads back to the
 * same dump, on one line and indented. The getters are tried on what is there, and whatever a path
 * names stands somewhere in the text. */
#include "base/alloc.h"
#include "base/json/json.h"
#include "base/json/json_place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok) abort();
}

static void try_getters(const ll_json *j, const char *path)
{
    static const char *const names[] = { "batch", "rate", "loss", NULL };
    int64_t                  i = 5, *ints = NULL;
    double                   d = 0.5, *doubles = NULL;
    bool                     b = false;
    int                      e = 2;
    const char              *s = "", **strings = NULL;
    size_t                   n = 0;
    (void)ll_json_keys(j, path, names);
    (void)ll_json_int(j, path, 1, 9, &i);
    (void)ll_json_double(j, path, 0, 1, &d);
    (void)ll_json_bool(j, path, &b);
    (void)ll_json_enum(j, path, names, &e);
    (void)ll_json_string(j, path, &s);
    must(i >= 1 && i <= 9 && d >= 0 && d <= 1 && e >= 0 && e < 3 && strlen(s) < SIZE_MAX);
    if (ll_json_ints(j, path, 1, 9, &ints, &n) == LLAP_OK && ints != NULL)
        for (size_t k = 0; k < n; k++) must(ints[k] >= 1 && ints[k] <= 9);
    if (ll_json_doubles(j, path, -INFINITY, INFINITY, &doubles, &n) == LLAP_OK && doubles != NULL)
        for (size_t k = 0; k < n; k++) must(isfinite(doubles[k]));
    if (ll_json_strings(j, path, &strings, &n) == LLAP_OK && strings != NULL)
        for (size_t k = 0; k < n; k++) must(strings[k] != NULL);
    must(ll_json_has(j, path) == (ll_json_need(j, path) == LLAP_OK));
    ll_free(ints);
    ll_free(doubles);
    ll_free(strings);
}

/* The whole document as the writer writes it. */
static llap_status dump(const ll_json *j, int indent, char **text, size_t *n)
{
    ll_json_writer w = { .indent = indent };
    ll_json_put(&w, NULL, j);
    return ll_json_finish(&w, text, n);
}

static void dump_twice(const ll_json *j, int indent)
{
    char    *first, *second;
    size_t   n_first, n_second;
    ll_json *again;
    /* An indented dump may be longer than the limits of what is read. */
    const ll_json_limits limits = { .n_bytes = SIZE_MAX, .n_values = 1 << 20, .depth = 64 };
    must(dump(j, indent, &first, &n_first) == LLAP_OK);
    must(ll_json_parse(first, n_first, "dump", &limits, &again) == LLAP_OK);
    must(dump(again, indent, &second, &n_second) == LLAP_OK);
    must(n_first == n_second && memcmp(first, second, n_first) == 0);
    ll_json_destroy(again);
    ll_free(first);
    ll_free(second);
}

/* A table, options and arrays of arrays, as requests have them. */
static void try_tables(const ll_json *j, const char *path)
{
    char           text[64], *csv = NULL, *flat = NULL;
    size_t         n = 0;
    ll_json_counts c;
    if (ll_json_text(j, path, text, sizeof text) == LLAP_OK) must(strlen(text) < sizeof text);
    if (ll_json_csv(j, path, &csv, &n) == LLAP_OK) must(strlen(csv) == n && csv[n - 1] == '\n');
    ll_free(csv);
    if (ll_json_flat(j, path, &flat, &n, &c) == LLAP_OK && flat != NULL) {
        ll_json             *again;
        const ll_json_limits limits = { .n_bytes = SIZE_MAX, .n_values = 1 << 20, .depth = 2 };
        must(ll_json_parse(flat, n, "flat", &limits, &again) == LLAP_OK);
        must(ll_json_length(again, "") ==
             c.strings + c.whole + c.reals + c.flags + c.nulls + c.objects);
        ll_json_destroy(again);
    }
    ll_free(flat);
}

static void find_places(const uint8_t *data, size_t n, const char *path)
{
    char *text = ll_strndup((const char *)data, n);
    must(text != NULL);
    const json_place end = json_place_of(text, n), value = json_place_find(text, path, NULL),
                     key = json_place_find(text, path, "batch");
    must(value.line >= 1 && value.column >= 1 && value.line <= end.line);
    must(key.line >= value.line && key.line <= end.line);
    ll_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    ll_json          *j;
    const llap_status st = ll_json_parse((const char *)data, n, "input", NULL, &j);
    must((st == LLAP_OK) == (j != NULL));
    must(st == LLAP_OK || st == LLAP_EFORMAT || st == LLAP_ELIMIT);
    if (j == NULL) return 0;
    static const char *const paths[] = { "", "a", "a.b", "train.batch", "[0]", "a[1].b" };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        try_getters(j, paths[i]);
        try_tables(j, paths[i]);
        find_places(data, n, paths[i]);
    }
    dump_twice(j, 0);
    dump_twice(j, 2);
    ll_json_destroy(j);
    return 0;
}
