#include "base/options.h"

#include "base/error.h"
#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <llapdiff/text.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(enum llap_option_type) == sizeof(int), "enums are ints");

static const void *field_of(const llap_option *o, const void *options)
{
    return (const char *)options + o->offset;
}

const char *const ll_gpu_precision_words[] = {
    "", [LLAP_GPU_FP32] = "fp32", [LLAP_GPU_TF32] = "tf32", [LLAP_GPU_BF16] = "bf16", NULL
};

/* ---- fields ---- */

static int get_int(const void *at)
{
    int v;
    memcpy(&v, at, sizeof v);
    return v;
}

static int64_t get_integer(const void *at)
{
    int64_t v;
    memcpy(&v, at, sizeof v);
    return v;
}

static double get_real(const void *at)
{
    double v;
    memcpy(&v, at, sizeof v);
    return v;
}

static const char *get_text(const void *at)
{
    const char *v;
    memcpy(&v, at, sizeof v);
    return v;
}

static int count_words(const llap_option *o)
{
    int n = 0;
    assert(o->words != NULL && *o->words[0] == '\0');
    while (o->words[n] != NULL) n++;
    return n;
}

/* 0 stands for a default that is another number: LLAP_ZERO gives it. */
static bool hides_zero(const llap_option *o)
{
    return o->low <= 0 && o->high >= 0 && o->usual != NULL && strtod(o->usual, NULL) != 0;
}

/* ---- by name ---- */

const llap_option *llap_option_find(const llap_option *table, const char *name)
{
    for (; table->name != NULL; table++)
        if (strcmp(table->name, name) == 0) return table;
    return NULL;
}

const char *ll_option_word(const llap_option *table, const char *name, int value)
{
    const llap_option *o = llap_option_find(table, name);
    assert(o != NULL && o->type == LLAP_OPTION_WORD && value >= 0 && value < count_words(o));
    return o->words[value];
}

static llap_status no_such_option(const llap_option *table, const char *name)
{
    enum { MOST = 64 };
    const char *names[MOST + 1] = { NULL };
    for (size_t i = 0; i < MOST && table[i].name != NULL; i++) names[i] = table[i].name;
    const char *near = llap_text_nearest(name, names);
    return ll_fail(LLAP_EOPTION, "%s: no such option%s%s%s", ll_text_show(name).text,
                   near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

/* ---- from text ---- */

static llap_status out_of_range(const llap_option *o, const char *found)
{
    return ll_fail(LLAP_EOPTION, "%s: expected a %snumber in %.16g..%.16g, found %s", o->name,
                   o->type == LLAP_OPTION_INTEGER ? "whole " : "", o->low, o->high, found);
}

static llap_status set_number(const llap_option *o, const char *text, void *at)
{
    char      *end;
    const bool whole = o->type == LLAP_OPTION_INTEGER;
    errno = 0;
    int64_t             n = whole ? strtoll(text, &end, 10) : 0;
    double              x = whole ? (double)n : strtod(text, &end);
    const ll_text_shown shown = ll_text_show(text);
    if (end == text || *end != '\0' || errno != 0 || !isfinite(x))
        return ll_fail(LLAP_EOPTION, "%s: expected a %snumber, found '%s'", o->name,
                       whole ? "whole " : "", shown.text);
    if (x < o->low || x > o->high) return out_of_range(o, shown.text);
    if (x == 0 && hides_zero(o)) n = LLAP_ZERO, x = LLAP_ZERO;
    if (whole) memcpy(at, &n, sizeof n);
    else memcpy(at, &x, sizeof x);
    return LLAP_OK;
}

static llap_status set_word(const llap_option *o, const char *text, void *at)
{
    char        list[256] = "";
    size_t      n = 0;
    const char *near = llap_text_nearest(text, o->words + 1);
    for (int i = 1; o->words[i] != NULL; i++) {
        if (strcmp(text, o->words[i]) == 0) {
            memcpy(at, &i, sizeof i);
            return LLAP_OK;
        }
        if (n < sizeof list)
            n +=
                (size_t)snprintf(list + n, sizeof list - n, "%s%s", i > 1 ? ", " : "", o->words[i]);
    }
    return ll_fail(LLAP_EOPTION, "%s: expected one of %s, found '%s'%s%s%s", o->name, list,
                   ll_text_show(text).text, near ? " (did you mean '" : "", near ? near : "",
                   near ? "'?)" : "");
}

static llap_status set_char(const llap_option *o, const char *text, char *at)
{
    const char *one = strcmp(text, "tab") == 0 ? "\t" : text;
    if (strlen(one) != 1)
        return ll_fail(LLAP_EOPTION, "%s: expected one character, found '%s'", o->name,
                       ll_text_show(text).text);
    *at = *one;
    return LLAP_OK;
}

static llap_status set_flag(const llap_option *o, const char *text, void *at)
{
    const int yes = strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "false") != 0)
        return ll_fail(LLAP_EOPTION, "%s: expected true or false, found '%s'", o->name,
                       ll_text_show(text).text);
    memcpy(at, &yes, sizeof yes);
    return LLAP_OK;
}

static llap_status set_text(const llap_option *o, const char *text, void *at)
{
    if (o->type == LLAP_OPTION_FILE && *text == '\0')
        return ll_fail(LLAP_EOPTION, "%s: expected FILE, found ''", o->name);
    memcpy(at, &text, sizeof text);
    return LLAP_OK;
}

llap_status llap_option_set(const llap_option *table, void *options, const char *name,
                            const char *text)
{
    const llap_option *o = llap_option_find(table, name);
    if (o == NULL) return no_such_option(table, name);
    char *at = (char *)options + o->offset;
    switch (o->type) {
    case LLAP_OPTION_CHAR:
        return set_char(o, text, at);
    case LLAP_OPTION_WORD:
        return set_word(o, text, at);
    case LLAP_OPTION_INTEGER:
    case LLAP_OPTION_REAL:
        return set_number(o, text, at);
    case LLAP_OPTION_FLAG:
        return set_flag(o, text, at);
    default:
        return set_text(o, text, at);
    }
}

/* ---- to text ---- */

int llap_option_given(const llap_option *o, const void *options)
{
    const void *at = field_of(o, options);
    switch (o->type) {
    case LLAP_OPTION_CHAR:
        return *(const char *)at != '\0';
    case LLAP_OPTION_WORD:
    case LLAP_OPTION_FLAG:
        return get_int(at) != 0;
    case LLAP_OPTION_INTEGER:
        return get_integer(at) != 0;
    case LLAP_OPTION_REAL:
        return get_real(at) != 0;
    default:
        return get_text(at) != NULL;
    }
}

static size_t write_number(const llap_option *o, const void *at, char *out, size_t room)
{
    char digits[LL_DOUBLE_TEXT];
    if (o->type == LLAP_OPTION_INTEGER) {
        const int64_t v = get_integer(at);
        return (size_t)snprintf(out, room, "%lld",
                                v == LLAP_ZERO && hides_zero(o) ? 0LL : (long long)v);
    }
    const double x = get_real(at);
    ll_text_double(x == LLAP_ZERO && hides_zero(o) ? 0 : x, digits);
    return (size_t)snprintf(out, room, "%s", digits);
}

size_t llap_option_text(const llap_option *o, const void *options, char *out, size_t room)
{
    const void *at = field_of(o, options);
    const char *text = o->usual == NULL ? "" : o->usual;
    if (o->type == LLAP_OPTION_FLAG) text = get_int(at) != 0 ? "true" : "false";
    else if (!llap_option_given(o, options)) return (size_t)snprintf(out, room, "%s", text);
    if (o->type == LLAP_OPTION_INTEGER || o->type == LLAP_OPTION_REAL)
        return write_number(o, at, out, room);
    if (o->type == LLAP_OPTION_CHAR)
        return (size_t)snprintf(out, room, *(const char *)at == '\t' ? "tab" : "%c",
                                *(const char *)at);
    if (o->type == LLAP_OPTION_WORD) {
        const int v = get_int(at);
        text = v > 0 && v < count_words(o) ? o->words[v] : "";
    } else if (o->type != LLAP_OPTION_FLAG) {
        text = get_text(at);
    }
    return (size_t)snprintf(out, room, "%s", text);
}

/* ---- as a whole ---- */

static llap_status check_number(const llap_option *o, double x)
{
    char digits[LL_DOUBLE_TEXT];
    if (x == 0 || (x == LLAP_ZERO && hides_zero(o)) || (x >= o->low && x <= o->high))
        return LLAP_OK;
    ll_text_double(x, digits);
    return out_of_range(o, digits);
}

llap_status llap_options_check(const llap_option *o, const void *options)
{
    llap_status st = LLAP_OK;
    for (; o->name != NULL && st == LLAP_OK; o++) {
        const void *at = field_of(o, options);
        if (o->type == LLAP_OPTION_INTEGER) st = check_number(o, (double)get_integer(at));
        if (o->type == LLAP_OPTION_REAL) st = check_number(o, get_real(at));
        if (o->type != LLAP_OPTION_WORD) continue;
        const int v = get_int(at), n = count_words(o);
        if (v < 0 || v >= n)
            st = ll_fail(LLAP_EOPTION, "%s: expected a value of its enum, 0..%d, found %d", o->name,
                         n - 1, v);
    }
    return st;
}

llap_status llap_options_resolve(const llap_option *table, const void *given, void *out,
                                 size_t size)
{
    llap_status st = llap_options_check(table, given);
    memcpy(out, given, size);
    for (const llap_option *o = table; o->name != NULL && st == LLAP_OK; o++) {
        char      *at = (char *)out + o->offset;
        const bool number = o->type == LLAP_OPTION_INTEGER || o->type == LLAP_OPTION_REAL;
        assert(o->offset < size);
        if (!number && o->type != LLAP_OPTION_WORD) continue;
        if (!llap_option_given(o, out) && o->usual != NULL)
            st = llap_option_set(table, out, o->name, o->usual);
        if (o->type == LLAP_OPTION_INTEGER && get_integer(at) == LLAP_ZERO && hides_zero(o))
            memset(at, 0, sizeof(int64_t));
        if (o->type == LLAP_OPTION_REAL && get_real(at) == LLAP_ZERO && hides_zero(o))
            memset(at, 0, sizeof(double));
    }
    assert(st == LLAP_OK || st == LLAP_EOPTION);
    return st;
}
