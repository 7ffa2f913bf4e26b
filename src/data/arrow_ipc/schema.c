#include "data/arrow_ipc/schema.h"

#include "base/error.h"
#include "base/text.h"

#include <string.h>

enum { COLUMNS_MAX = 1 << 12, NAME_MAX_BYTES = 1023 };

static const char *const type_names[TYPE_MOST + 1] = { [TYPE_BINARY] = "binary",
                                                       [TYPE_DECIMAL] = "decimals",
                                                       [TYPE_INTERVAL] = "intervals",
                                                       [12] = "lists",
                                                       [13] = "structs",
                                                       [14] = "unions",
                                                       [15] = "binary",
                                                       [16] = "lists",
                                                       [17] = "maps",
                                                       [19] = "binary",
                                                       [21] = "lists",
                                                       [22] = "run-end encoded values",
                                                       [23] = "binary",
                                                       [25] = "lists",
                                                       [26] = "lists" };

static void release_schema(struct ArrowSchema *s) { s->release = NULL; }

/* One of the formats of a type, by what its table says; NULL: there is none. */
static const char *pick(const char *const *format, size_t n, int64_t which)
{
    return which >= 0 && (uint64_t)which < n ? format[which] : NULL;
}

static const char *int_format(ll_flat *f, size_t type)
{
    static const char *const with_sign[] = { "c", "s", "i", "l" }, *const without[] = { "C", "S",
                                                                                        "I", "L" };
    const int64_t bits = ll_flat_int(f, type, 0, 4, 0);
    const bool    sign = ll_flat_int(f, type, 1, 1, 0) != 0;
    const int64_t which = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : bits == 64 ? 3 : -1;
    return pick(sign ? with_sign : without, 4, which);
}

static const char *time_format(ll_flat *f, size_t type)
{
    static const char *const units[] = { "tts", "ttm", "ttu", "ttn" };
    const int64_t            unit = ll_flat_int(f, type, 0, 2, 1);
    const int64_t            bits = ll_flat_int(f, type, 1, 4, 32);
    return bits == (unit < 2 ? 32 : 64) ? pick(units, 4, unit) : NULL;
}

/* "tsn:Europe/Rome" */
static llap_status timestamp_format(ll_flat *f, size_t type, ll_arena *a, const char **out)
{
    static const char *const units[] = { "tss:", "tsm:", "tsu:", "tsn:" };
    size_t                   n = 0;
    const char              *unit = pick(units, 4, ll_flat_int(f, type, 0, 2, 0));
    const char              *zone = ll_flat_string(f, type, 1, &n);
    if (unit == NULL) return ll_fail(LLAP_EFORMAT, "an unknown unit of time");
    if (n > NAME_MAX_BYTES || (n > 0 && memchr(zone, '\0', n) != NULL))
        return ll_fail(LLAP_EFORMAT, "a zone that cannot be");
    *out = ll_arena_printf(a, "%s%.*s", unit, (int)n, n > 0 ? zone : "");
    return *out == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static llap_status read_type(ll_flat *f, size_t field, ll_arena *a, const char **out)
{
    static const char *const floats[] = { "e", "f", "g" }, *const dates[] = { "tdD", "tdm" },
                             *const durations[] = { "tDs", "tDm", "tDu", "tDn" };
    const int64_t                   which = ll_flat_int(f, field, FIELD_TYPE_TYPE, 1, 0);
    const size_t                    type = ll_flat_table(f, field, FIELD_TYPE);
    *out = NULL;
    if (f->bad || type == 0) return ll_fail(LLAP_EFORMAT, "its type is not there");
    switch (which) {
    case TYPE_NULL:
        *out = "n";
        break;
    case TYPE_INT:
        *out = int_format(f, type);
        break;
    case TYPE_FLOAT:
        *out = pick(floats, 3, ll_flat_int(f, type, 0, 2, 0));
        break;
    case TYPE_TEXT:
        *out = "u";
        break;
    case TYPE_LARGE_TEXT:
        *out = "U";
        break;
    case TYPE_TEXT_VIEW:
        *out = "vu";
        break;
    case TYPE_BOOL:
        *out = "b";
        break;
    case TYPE_DATE:
        *out = pick(dates, 2, ll_flat_int(f, type, 0, 2, 1));
        break;
    case TYPE_TIME:
        *out = time_format(f, type);
        break;
    case TYPE_TIMESTAMP:
        return timestamp_format(f, type, a, out);
    case TYPE_DURATION:
        *out = pick(durations, 4, ll_flat_int(f, type, 0, 2, 1));
        break;
    default:
        break;
    }
    if (*out != NULL) return LLAP_OK;
    const char *name = which > 0 && which <= TYPE_MOST ? type_names[which] : NULL;
    return ll_fail(LLAP_EFORMAT, "%s cannot be read", name != NULL ? name : "values of this type");
}

static llap_status read_name(ll_flat *f, size_t field, ll_arena *a, const char **out)
{
    size_t      n;
    const char *name = ll_flat_string(f, field, FIELD_NAME, &n);
    if (n > NAME_MAX_BYTES) return ll_fail(LLAP_EFORMAT, "a name of %zu bytes", n);
    if (n > 0 && memchr(name, '\0', n) != NULL)
        return ll_fail(LLAP_EFORMAT, "a name with a NUL in it");
    *out = ll_arena_strndup(a, n > 0 ? name : "", n);
    return *out == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static llap_status read_coded(ll_flat *f, size_t coded, ll_ipc_field *out)
{
    const size_t index = ll_flat_table(f, coded, CODED_INDEX);
    out->dictionary = ll_flat_int(f, coded, CODED_ID, 8, 0);
    out->values = out->schema;
    out->values.name = "";
    out->schema.dictionary = &out->values;
    out->schema.format = index == 0 ? "i" : int_format(f, index);
    return out->schema.format != NULL ? LLAP_OK
                                      : ll_fail(LLAP_EFORMAT, "indices of an unknown width");
}

static llap_status read_field(ll_flat *f, size_t field, ll_arena *a, ll_ipc_field *out)
{
    size_t      n_children;
    llap_status st = f->bad ? ll_fail(LLAP_EFORMAT, "is not there") : LLAP_OK;
    if (st == LLAP_OK) st = read_name(f, field, a, &out->schema.name);
    if (st == LLAP_OK) st = read_type(f, field, a, &out->schema.format);
    (void)ll_flat_vector(f, field, FIELD_CHILDREN, 4, &n_children);
    if (st == LLAP_OK && n_children > 0)
        st = ll_fail(LLAP_EFORMAT, "has columns of its own, which cannot be read");
    out->schema.flags = ll_flat_int(f, field, FIELD_NULLABLE, 1, 0) != 0 ? ARROW_FLAG_NULLABLE : 0;
    out->schema.release = release_schema;
    const size_t coded = ll_flat_table(f, field, FIELD_CODED);
    if (st == LLAP_OK && coded != 0) st = read_coded(f, coded, out);
    if (st == LLAP_OK && f->bad) st = ll_fail(LLAP_EFORMAT, "points outside of its message");
    return st == LLAP_OK ? ll_arrow_type_init(&out->type, &out->schema) : st;
}

llap_status ll_ipc_schema_read(ll_flat *f, size_t schema, ll_arena *a, ll_ipc_schema *out)
{
    size_t       n;
    const size_t fields = ll_flat_vector(f, schema, SCHEMA_FIELDS, 4, &n);
    if (f->bad || schema == 0) return ll_fail(LLAP_EFORMAT, "the schema: cannot be read");
    if (ll_flat_int(f, schema, SCHEMA_ENDIAN, 2, 0) != 0)
        return ll_fail(LLAP_EFORMAT, "the schema: big-endian data cannot be read");
    if (n == 0 || n > COLUMNS_MAX)
        return ll_fail(LLAP_EFORMAT, "the schema: expected 1 to %d columns, found %zu", COLUMNS_MAX,
                       n);
    out->field = ll_arena_new(a, n, sizeof *out->field);
    out->child = ll_arena_new(a, n, sizeof *out->child);
    if (out->field == NULL || out->child == NULL) return LLAP_ENOMEM;
    out->n = n;
    for (size_t i = 0; i < n; i++) {
        ll_ipc_field     *k = &out->field[i];
        const llap_status st = read_field(f, ll_flat_element(f, fields, i), a, k);
        if (st != LLAP_OK)
            return ll_fail_in(st, "column %zu '%s'", i + 1,
                              ll_text_show(k->schema.name == NULL ? "" : k->schema.name).text);
        out->child[i] = &k->schema;
    }
    out->whole = (struct ArrowSchema){ .format = "+s",
                                       .name = "",
                                       .n_children = (int64_t)n,
                                       .children = out->child,
                                       .release = release_schema };
    return LLAP_OK;
}
