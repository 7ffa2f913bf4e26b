#include <llapdiff/config.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 4096 };

/* "a,b,c" of an array of strings or numbers. */
static llap_status join(const ll_json *j, const char *name, char *out)
{
    const char **word = NULL;
    double      *number = NULL;
    size_t       n = 0, at = 0;
    llap_status  st = ll_json_strings(j, name, &word, &n);
    if (st == LLAP_EFORMAT) st = ll_json_doubles(j, name, -HUGE_VAL, HUGE_VAL, &number, &n);
    for (size_t i = 0; st == LLAP_OK && i < n && at < TEXT; i++) {
        char text[LL_DOUBLE_TEXT];
        if (number != NULL) ll_text_double(number[i], text);
        at += (size_t)snprintf(out + at, TEXT - at, "%s%s", i > 0 ? "," : "",
                               number != NULL ? text : word[i]);
    }
    if (st == LLAP_OK && at >= TEXT) st = ll_fail(LLAP_ELIMIT, "'%s': too long a list", name);
    ll_free((void *)word);
    ll_free(number);
    return st;
}

/* The value as text, whatever it is. */
static llap_status as_text(const ll_json *j, const char *name, char *out)
{
    const char *s = NULL;
    bool        flag = false;
    int64_t     whole = 0;
    double      x = 0;
    if (ll_json_string(j, name, &s) == LLAP_OK) {
        if (strlen(s) >= TEXT) return ll_fail(LLAP_ELIMIT, "'%s': too long", name);
        snprintf(out, TEXT, "%s", s);
    } else if (ll_json_bool(j, name, &flag) == LLAP_OK) {
        snprintf(out, TEXT, "%s", flag ? "true" : "false");
    } else if (ll_json_int(j, name, INT64_MIN, INT64_MAX, &whole) == LLAP_OK) {
        snprintf(out, TEXT, "%lld", (long long)whole);
    } else if (ll_json_double(j, name, -HUGE_VAL, HUGE_VAL, &x) == LLAP_OK) {
        ll_text_double(x, out);
    } else if (join(j, name, out) != LLAP_OK) {
        char       *part = NULL;
        size_t      n;
        llap_status st = ll_json_part(j, name, &part, &n);
        if (st == LLAP_OK && n >= TEXT) st = ll_fail(LLAP_ELIMIT, "'%s': too long", name);
        if (st == LLAP_OK) memcpy(out, part, n + 1);
        ll_free(part);
        return st;
    }
    return LLAP_OK;
}

llap_status llap_config_read(const char *path, const char *const *names,
                             llap_status (*set)(void *user, const char *name, const char *text,
                                                const char *place),
                             void *user)
{
    ll_json    *j = NULL;
    char        place[LL_DETAIL_MAX];
    char       *text = ll_new(TEXT, 1);
    llap_status st = text == NULL
                         ? LLAP_ENOMEM
                         : ll_json_read(strcmp(path, "-") == 0 ? "/dev/stdin" : path, NULL, &j);
    if (st == LLAP_OK) st = ll_json_keys(j, "", names);
    for (size_t i = 0; st == LLAP_OK && names[i] != NULL; i++) {
        if (!ll_json_has(j, names[i])) continue;
        st = as_text(j, names[i], text);
        ll_json_place(j, names[i], place, sizeof place);
        if (st == LLAP_OK) st = set(user, names[i], text, place);
    }
    ll_json_destroy(j);
    ll_free(text);
    return st;
}
