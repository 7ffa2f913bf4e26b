#include "data/arrow/column.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "base/time/time.h"
#include "data/csv/sample.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_CELLS (INT64_C(1) << 48)

static bool bit(const uint8_t *bits, int64_t i) { return bits[i >> 3] >> (i & 7) & 1; }

/* ---- one batch ------------------------------------------------------------------------------ */

/* The buffers that a column of this kind has, each where it is needed. */
static llap_status check_buffers(const struct ArrowArray *a, ll_arrow_kind kind, int n_buffers)
{
    const bool view = kind == LL_ARROW_TEXT_VIEW;
    if (a->length < 0 || a->offset < 0 || a->length > MOST_CELLS || a->offset > MOST_CELLS)
        return ll_fail(LLAP_EFORMAT, "length %" PRId64 " from offset %" PRId64 " cannot be",
                       a->length, a->offset);
    if (view ? a->n_buffers < 3 : a->n_buffers != n_buffers)
        return ll_fail(LLAP_EFORMAT, "expected %d buffers, found %" PRId64, n_buffers,
                       a->n_buffers);
    if (n_buffers > 0 && a->buffers == NULL) return ll_fail(LLAP_EFORMAT, "has no buffers");
    if (a->length > 0 && n_buffers > 1 && a->buffers[1] == NULL)
        return ll_fail(LLAP_EFORMAT, "buffer 1 is not there");
    return LLAP_OK;
}

static const uint8_t *valid_bits(const struct ArrowArray *a, int n_buffers)
{
    return n_buffers == 0 || a->null_count == 0 ? NULL : a->buffers[0];
}

/* Where the values lie: those of the column, or of its dictionary. */
static void bind_values(ll_arrow_column *c, const struct ArrowArray *a)
{
    const ll_arrow_kind kind = c->type.kind;
    c->data = c->type.n_buffers > 1 ? a->buffers[1] : NULL;
    c->bytes = kind == LL_ARROW_TEXT || kind == LL_ARROW_LARGE_TEXT ? a->buffers[2] : NULL;
    if (kind == LL_ARROW_TEXT_VIEW) {
        c->views = a->buffers + 2;
        c->n_views = a->n_buffers - 3; /* the last one holds their lengths */
    }
}

static llap_status text_at(const ll_arrow_column *c, int64_t at, ll_csv_field *out);

/* Checks every text of a dictionary once, so that cells need not. */
static llap_status read_dictionary(ll_arrow_column *c, const struct ArrowArray *d)
{
    if (d == NULL) return ll_fail(LLAP_EFORMAT, "its dictionary is not there");
    llap_status st = check_buffers(d, c->type.kind, c->type.n_buffers);
    if (st != LLAP_OK) return ll_fail_in(st, "dictionary");
    bind_values(c, d);
    c->n_values = d->length;
    c->first_value = d->offset;
    c->valid_value = valid_bits(d, c->type.n_buffers);
    if (!ll_arrow_is_text(c->type.kind)) return LLAP_OK;
    c->value = ll_new((size_t)c->n_values, sizeof *c->value);
    if (c->value == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < c->n_values && st == LLAP_OK; i++)
        if (c->valid_value == NULL || bit(c->valid_value, c->first_value + i))
            st = text_at(c, c->first_value + i, &c->value[i]);
    return st == LLAP_OK ? st : ll_fail_in(st, "dictionary");
}

static int index_buffers(const ll_arrow_type *t)
{
    return t->index != LL_ARROW_NULL ? 2 : t->n_buffers;
}

llap_status ll_arrow_column_init(ll_arrow_column *c, const ll_arrow_type *t,
                                 const struct ArrowArray *a, int64_t first, int64_t n)
{
    *c = (ll_arrow_column){ .type = *t };
    if (t->kind == LL_ARROW_OTHER) return LLAP_OK;
    if (a == NULL || a->release == NULL) return ll_fail(LLAP_EFORMAT, "is not there");
    const bool  coded = t->index != LL_ARROW_NULL;
    llap_status st = check_buffers(a, coded ? t->index : t->kind, index_buffers(t));
    if (st == LLAP_OK && (first < 0 || n < 0 || first > a->length || n > a->length - first))
        st = ll_fail(LLAP_EFORMAT, "expected %" PRId64 " cells, found %" PRId64, first + n,
                     a->length);
    if (st != LLAP_OK) return st;
    c->first = a->offset + first;
    c->valid = valid_bits(a, index_buffers(t));
    if (!coded) bind_values(c, a);
    else c->index = a->buffers[1];
    return coded ? read_dictionary(c, a->dictionary) : LLAP_OK;
}

void ll_arrow_column_deinit(ll_arrow_column *c)
{
    ll_free(c->value);
    *c = (ll_arrow_column){ 0 };
}

/* ---- cells ---------------------------------------------------------------------------------- */

static int64_t integer_at(ll_arrow_kind kind, const void *data, int64_t at)
{
    switch (kind) {
    case LL_ARROW_BOOL:
        return bit(data, at);
    case LL_ARROW_I8:
        return ((const int8_t *)data)[at];
    case LL_ARROW_U8:
        return ((const uint8_t *)data)[at];
    case LL_ARROW_I16:
        return ((const int16_t *)data)[at];
    case LL_ARROW_U16:
        return ((const uint16_t *)data)[at];
    case LL_ARROW_I32:
    case LL_ARROW_DATE_DAYS:
    case LL_ARROW_CLOCK32:
        return ((const int32_t *)data)[at];
    case LL_ARROW_U32:
        return ((const uint32_t *)data)[at];
    default:
        return ((const int64_t *)data)[at];
    }
}

/* IEEE half precision. */
static double half(uint16_t h)
{
    const int    exponent = h >> 10 & 31;
    const double fraction = h & 1023, sign = h & 0x8000 ? -1 : 1;
    if (exponent == 31) return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25));
}

static double number_at(ll_arrow_kind kind, const void *data, int64_t at)
{
    switch (kind) {
    case LL_ARROW_F64:
        return ((const double *)data)[at];
    case LL_ARROW_F32:
        return (double)((const float *)data)[at];
    case LL_ARROW_F16:
        return half(((const uint16_t *)data)[at]);
    case LL_ARROW_U64:
        return (double)((const uint64_t *)data)[at];
    default:
        return (double)integer_at(kind, data, at);
    }
}

bool ll_arrow_present(const ll_arrow_column *c, int64_t i)
{
    if (c->type.kind == LL_ARROW_NULL) return false;
    const int64_t at = c->first + i;
    if (c->valid != NULL && !bit(c->valid, at)) return false;
    if (c->type.index == LL_ARROW_NULL || c->valid_value == NULL) return true;
    const int64_t v = integer_at(c->type.index, c->index, at);
    return v < 0 || v >= c->n_values || bit(c->valid_value, c->first_value + v);
}

double ll_arrow_number(const ll_arrow_column *c, int64_t i)
{
    assert(c->type.index == LL_ARROW_NULL);
    return number_at(c->type.kind, c->data, c->first + i);
}

int64_t ll_arrow_integer(const ll_arrow_column *c, int64_t i)
{
    assert(c->type.index == LL_ARROW_NULL);
    return integer_at(c->type.kind, c->data, c->first + i);
}

static llap_status ticks_of(int64_t x, int64_t unit_ns, int64_t *out)
{
    if (!__builtin_mul_overflow(x, unit_ns, out)) return LLAP_OK;
    return ll_fail(LLAP_ELIMIT, "time %" PRId64 " lies outside 1677 to 2262", x);
}

llap_status ll_arrow_ticks(const ll_arrow_column *c, int64_t i, int64_t *out)
{
    return ticks_of(ll_arrow_integer(c, i), c->type.unit_ns, out);
}

/* ---- cells as text -------------------------------------------------------------------------- */

static llap_status check_text(const char *text, int64_t from, int64_t to, ll_csv_field *out)
{
    if (from < 0 || to < from || to - from > INT32_MAX)
        return ll_fail(LLAP_EFORMAT, "text from byte %" PRId64 " to %" PRId64 " cannot be", from,
                       to);
    const size_t n = (size_t)(to - from);
    if (n > 0 && text == NULL) return ll_fail(LLAP_EFORMAT, "the bytes of its text are not there");
    *out =
        (ll_csv_field){ .text = n == 0 ? (char *)(uintptr_t) "" : (char *)(uintptr_t)(text + from),
                        .len = (uint32_t)n };
    if (n > 0 && (memchr(out->text, '\0', n) != NULL || ll_utf8_prefix(out->text, n) < n))
        return ll_fail(LLAP_EFORMAT, "expected text in UTF-8 without NUL, found '%s'",
                       ll_csv_show(*out).text);
    return LLAP_OK;
}

/* 16 bytes: the length; up to 12 bytes of text, or 4 of them, the number of a buffer and a place
 * in it. */
static llap_status view_at(const ll_arrow_column *c, int64_t at, ll_csv_field *out)
{
    const char *view = (const char *)c->data + 16 * at;
    int32_t     n, buffer, from;
    memcpy(&n, view, sizeof n);
    if (n >= 0 && n <= 12) return check_text(view, 4, 4 + n, out);
    memcpy(&buffer, view + 8, sizeof buffer);
    memcpy(&from, view + 12, sizeof from);
    if (n < 0 || buffer < 0 || buffer >= c->n_views)
        return ll_fail(LLAP_EFORMAT, "a view of %d bytes in buffer %d of %" PRId64 " cannot be",
                       (int)n, (int)buffer, c->n_views);
    const int64_t *lengths = c->views[c->n_views];
    if (lengths != NULL && (int64_t)from + n > lengths[buffer])
        return ll_fail(LLAP_EFORMAT, "a view from byte %d to %" PRId64 " of a buffer of %" PRId64,
                       (int)from, (int64_t)from + n, lengths[buffer]);
    return check_text(c->views[buffer], from, (int64_t)from + n, out);
}

static llap_status text_at(const ll_arrow_column *c, int64_t at, ll_csv_field *out)
{
    const int32_t *offset = c->data;
    const int64_t *large = c->data;
    if (c->type.kind == LL_ARROW_TEXT) return check_text(c->bytes, offset[at], offset[at + 1], out);
    if (c->type.kind == LL_ARROW_LARGE_TEXT)
        return check_text(c->bytes, large[at], large[at + 1], out);
    return view_at(c, at, out);
}

static size_t show_number(ll_arrow_kind kind, const void *data, int64_t at, char room[])
{
    if (kind == LL_ARROW_U64)
        return (size_t)snprintf(room, LL_ARROW_CELL, "%" PRIu64, ((const uint64_t *)data)[at]);
    if (kind < LL_ARROW_F16)
        return (size_t)snprintf(room, LL_ARROW_CELL, "%" PRId64, integer_at(kind, data, at));
    const double x = number_at(kind, data, at);
    static_assert(LL_ARROW_CELL >= LL_DOUBLE_TEXT && LL_ARROW_CELL >= LL_TIME_TEXT_MAX, "room");
    return isnan(x) ? 0 : ll_text_double(x, room);
}

/* 2024-05-01T12:30:00Z, without Z where there is no zone; a date; 12:30:00; seconds. */
static llap_status show_time(const ll_arrow_type *t, int64_t ticks, char room[], size_t *n)
{
    int64_t     ns;
    llap_status st = ticks_of(ticks, t->unit_ns, &ns);
    if (st != LLAP_OK) return st;
    if (t->kind == LL_ARROW_DURATION) {
        *n = ll_text_double((double)ns / 1e9, room);
        return LLAP_OK;
    }
    *n = ll_time_format(ns, NULL, LL_DIGITS_EXACT, room);
    if (t->kind == LL_ARROW_DATE_DAYS) *n = 10;
    else if (*t->zone == '\0') *n -= 1;
    if (t->kind != LL_ARROW_CLOCK32 && t->kind != LL_ARROW_CLOCK64) return st;
    *n -= 11;
    memmove(room, room + 11, *n);
    return st;
}

static llap_status show_at(const ll_arrow_column *c, int64_t at, char room[LL_ARROW_CELL],
                           ll_csv_field *out)
{
    const ll_arrow_kind kind = c->type.kind;
    size_t              n = 0;
    llap_status         st = LLAP_OK;
    if (ll_arrow_is_text(kind)) return text_at(c, at, out);
    if (ll_arrow_is_number(kind)) n = show_number(kind, c->data, at, room);
    else st = show_time(&c->type, integer_at(kind, c->data, at), room, &n);
    *out = (ll_csv_field){ .text = room, .len = (uint32_t)n };
    return st;
}

llap_status ll_arrow_text(const ll_arrow_column *c, int64_t i, char room[LL_ARROW_CELL],
                          ll_csv_field *out)
{
    *out = (ll_csv_field){ .text = room };
    if (c->type.kind == LL_ARROW_OTHER || !ll_arrow_present(c, i)) return LLAP_OK;
    if (c->type.index == LL_ARROW_NULL) return show_at(c, c->first + i, room, out);
    const int64_t v = integer_at(c->type.index, c->index, c->first + i);
    if (v < 0 || v >= c->n_values)
        return ll_fail(LLAP_EFORMAT, "index %" PRId64 " of a dictionary of %" PRId64, v,
                       c->n_values);
    if (c->value == NULL) return show_at(c, c->first_value + v, room, out);
    *out = c->value[v];
    return LLAP_OK;
}
