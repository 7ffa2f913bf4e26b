#include "data/arrow/type.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

#define S INT64_C(1000000000)

/* clang-format off */
static const struct {
    const char   *format; /* a ':' at its end: whatever follows */
    ll_arrow_kind kind;
    int           n_buffers;
    int64_t       unit_ns;
} formats[] = {
    { "n", LL_ARROW_NULL, 0, 0 },
    { "b", LL_ARROW_BOOL, 2, 0 },
    { "c", LL_ARROW_I8, 2, 0 },   { "C", LL_ARROW_U8, 2, 0 },
    { "s", LL_ARROW_I16, 2, 0 },  { "S", LL_ARROW_U16, 2, 0 },
    { "i", LL_ARROW_I32, 2, 0 },  { "I", LL_ARROW_U32, 2, 0 },
    { "l", LL_ARROW_I64, 2, 0 },  { "L", LL_ARROW_U64, 2, 0 },
    { "e", LL_ARROW_F16, 2, 0 },  { "f", LL_ARROW_F32, 2, 0 }, { "g", LL_ARROW_F64, 2, 0 },
    { "u", LL_ARROW_TEXT, 3, 0 }, { "U", LL_ARROW_LARGE_TEXT, 3, 0 }, { "vu", LL_ARROW_TEXT_VIEW, 2, 0 },
    { "tss:", LL_ARROW_TIMESTAMP, 2, S },        { "tsm:", LL_ARROW_TIMESTAMP, 2, S / 1000 },
    { "tsu:", LL_ARROW_TIMESTAMP, 2, S / 1000000 }, { "tsn:", LL_ARROW_TIMESTAMP, 2, 1 },
    { "tdD", LL_ARROW_DATE_DAYS, 2, 86400 * S }, { "tdm", LL_ARROW_DATE_MS, 2, S / 1000 },
    { "tts", LL_ARROW_CLOCK32, 2, S },           { "ttm", LL_ARROW_CLOCK32, 2, S / 1000 },
    { "ttu", LL_ARROW_CLOCK64, 2, S / 1000000 }, { "ttn", LL_ARROW_CLOCK64, 2, 1 },
    { "tDs", LL_ARROW_DURATION, 2, S },          { "tDm", LL_ARROW_DURATION, 2, S / 1000 },
    { "tDu", LL_ARROW_DURATION, 2, S / 1000000 }, { "tDn", LL_ARROW_DURATION, 2, 1 },
};
static const char *const others[][2] = {
    { "d:", "decimal" }, { "z", "binary" }, { "Z", "binary" }, { "vz", "binary" }, { "w:", "binary" },
    { "ti", "interval" }, { "+l", "list" }, { "+L", "list" }, { "+vl", "list" }, { "+vL", "list" },
    { "+w", "list" }, { "+s", "struct" }, { "+m", "map" }, { "+u", "union" }, { "+r", "run-end encoded" },
};
/* clang-format on */

static bool fits(const char *format, const char *pattern)
{
    const size_t n = strlen(pattern);
    return pattern[n - 1] == ':' ? strncmp(format, pattern, n) == 0 : strcmp(format, pattern) == 0;
}

static void read_format(ll_arrow_type *t, const char *format)
{
    *t = (ll_arrow_type){ .kind = LL_ARROW_OTHER, .zone = "" };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (fits(format, formats[i].format)) {
            t->kind = formats[i].kind;
            t->unit_ns = formats[i].unit_ns;
            t->n_buffers = formats[i].n_buffers;
            if (t->kind == LL_ARROW_TIMESTAMP) t->zone = format + 4;
        }
}

llap_status ll_arrow_type_init(ll_arrow_type *t, const struct ArrowSchema *s)
{
    *t = (ll_arrow_type){ .kind = LL_ARROW_OTHER, .zone = "" };
    if (s == NULL || s->format == NULL) return ll_fail(LLAP_EFORMAT, "has no format");
    read_format(t, s->format);
    if (s->dictionary == NULL) return LLAP_OK;
    const ll_arrow_kind index = t->kind;
    if (index < LL_ARROW_I8 || index > LL_ARROW_U64)
        return ll_fail(LLAP_EFORMAT, "expected whole numbers as indices of a dictionary, found %s",
                       ll_arrow_show(s->format).text);
    if (s->dictionary->format == NULL || s->dictionary->dictionary != NULL)
        return ll_fail(LLAP_EFORMAT, "its dictionary has no format, or a dictionary of its own");
    read_format(t, s->dictionary->format);
    t->index = index;
    return LLAP_OK;
}

ll_arrow_shown ll_arrow_show(const char *format)
{
    ll_arrow_shown shown;
    snprintf(shown.text, sizeof shown.text, "format '%.40s'", format);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(format, others[i][0], strlen(others[i][0])) == 0)
            snprintf(shown.text, sizeof shown.text, "%s", others[i][1]);
    return shown;
}
