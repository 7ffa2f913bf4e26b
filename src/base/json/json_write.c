#include "base/alloc.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put(ll_json_writer *w, const char *s, size_t n)
{
    if (w->st != LLAP_OK) return;
    if (w->room - w->n <= n) { /* one more for the closing NUL */
        const size_t room = 2 * (w->n + n) + 64;
        char        *text = ll_grow(w->text, room, 1);
        if (text == NULL) {
            w->st = LLAP_ENOMEM;
            return;
        }
        w->text = text;
        w->room = room;
    }
    memcpy(w->text + w->n, s, n);
    w->n += n;
}

static void put_text(ll_json_writer *w, const char *s) { put(w, s, strlen(s)); }

static void put_quoted(ll_json_writer *w, const char *s)
{
    const size_t n = strlen(s), valid = ll_utf8_prefix(s, n);
    if (valid < n && w->st == LLAP_OK)
        w->st = ll_fail(LLAP_EINVAL, "string '%s': invalid UTF-8 at byte %zu", ll_text_show(s).text,
                        valid);
    put_text(w, "\"");
    for (;;) {
        size_t plain = 0;
        while ((unsigned char)s[plain] >= 0x20 && s[plain] != '"' && s[plain] != '\\') plain++;
        put(w, s, plain);
        s += plain;
        if (*s == '\0') break;
        char escape[12];
        if (*s == '"' || *s == '\\') snprintf(escape, sizeof escape, "\\%c", *s);
        else if (*s == '\n') snprintf(escape, sizeof escape, "\\n");
        else snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*s);
        put_text(w, escape);
        s++;
    }
    put_text(w, "\"");
}

/* In front of a value or of a closing bracket, where indentation puts it on a line of its own. */
static void new_line(ll_json_writer *w)
{
    if (w->indent == 0 || w->line_depth > 0) return;
    put_text(w, "\n");
    for (int i = 0; i < w->indent * w->depth; i++) put_text(w, " ");
}

static void begin_value(ll_json_writer *w, const char *key)
{
    if (w->comma) put_text(w, w->indent > 0 && w->line_depth > 0 ? ", " : ",");
    if (w->depth > 0) new_line(w);
    w->comma = true;
    if (key == NULL) return;
    put_quoted(w, key);
    put_text(w, w->indent > 0 ? ": " : ":");
}

void ll_json_open(ll_json_writer *w, const char *key, char bracket)
{
    begin_value(w, key);
    put_text(w, bracket == '{' ? "{" : "[");
    w->depth++;
    w->comma = false;
    if (bracket == '(' && w->line_depth == 0) w->line_depth = w->depth;
}

void ll_json_close(ll_json_writer *w, char bracket)
{
    const bool line = w->line_depth == w->depth;
    w->depth--;
    if (w->comma) new_line(w); /* not in an empty one */
    if (line) w->line_depth = 0;
    put(w, &bracket, 1);
    w->comma = true;
}

void ll_json_put_int(ll_json_writer *w, const char *key, int64_t v)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%lld", (long long)v);
    begin_value(w, key);
    put_text(w, digits);
}

void ll_json_put_double(ll_json_writer *w, const char *key, double v)
{
    begin_value(w, key);
    if (!isfinite(v)) {
        put_text(w, "null");
        return;
    }
    char digits[LL_DOUBLE_TEXT];
    ll_text_double(v, digits);
    put_text(w, digits);
    if (strpbrk(digits, ".e") == NULL) put_text(w, ".0"); /* it stays a double when read */
}

void ll_json_put_bool(ll_json_writer *w, const char *key, bool v)
{
    begin_value(w, key);
    put_text(w, v ? "true" : "false");
}

void ll_json_put_null(ll_json_writer *w, const char *key)
{
    begin_value(w, key);
    put_text(w, "null");
}

void ll_json_put_string(ll_json_writer *w, const char *key, const char *v)
{
    begin_value(w, key);
    put_quoted(w, v);
}

llap_status ll_json_finish(ll_json_writer *w, char **text, size_t *n)
{
    put_text(w, w->indent > 0 ? "\n" : ""); /* and room for the NUL */
    const llap_status st = w->st;
    const bool        ok = st == LLAP_OK;
    if (ok) w->text[w->n] = '\0';
    else ll_free(w->text);
    *text = ok ? w->text : NULL;
    *n = ok ? w->n : 0;
    *w = (ll_json_writer){ .indent = w->indent };
    return st;
}
