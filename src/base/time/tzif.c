/* TZif, RFC 8536, all numbers big-endian:
 *
 *     header   4 "TZif", 1 version (NUL, '2', '3', '4'), 15 reserved, six u32 counts:
 *              UT flags, standard flags, leap seconds, transitions, kinds, name bytes
 *     block    transition times (i32 in version 1, i64 later), their kinds (u8),
 *              kinds (i32 offset, u8 dst, u8 index of the name), name bytes,
 *              leap seconds, standard flags, UT flags
 *
 * Version 1 is header and block. Later ones repeat both with 64-bit times, and end with a footer:
 * newline, POSIX TZ string (may be empty), newline. The first block is then for old readers. */
#include "base/time/tzif.h"

#include "base/error.h"

#include <string.h>

#define HEADER_BYTES 44
#define KIND_BYTES 6

typedef struct reader {
    const char    *name;
    const uint8_t *p;
    size_t         left;
} reader;

typedef struct header {
    uint8_t  version;
    uint32_t n_ut, n_std, n_leap, n_times, n_kinds, n_chars;
} header;

static llap_status damaged(const reader *r, const char *what)
{
    return ll_fail(LLAP_EFORMAT, "time zone file %s: %s", r->name, what);
}

static const uint8_t *take(reader *r, size_t n) /* n <= left */
{
    const uint8_t *p = r->p;
    r->p += n;
    r->left -= n;
    return p;
}

static uint32_t u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t i64(const uint8_t *p) { return (int64_t)((uint64_t)u32(p) << 32 | u32(p + 4)); }

static uint64_t block_bytes(const header *h, unsigned time_bytes)
{
    return (uint64_t)h->n_times * (time_bytes + 1) + (uint64_t)h->n_kinds * KIND_BYTES +
           h->n_chars + (uint64_t)h->n_leap * (time_bytes + 4) + h->n_std + h->n_ut;
}

static llap_status read_header(reader *r, unsigned time_bytes, header *h)
{
    if (r->left < HEADER_BYTES || memcmp(r->p, "TZif", 4) != 0)
        return damaged(r, "expected a header that starts with TZif");
    const uint8_t *p = take(r, HEADER_BYTES);
    *h = (header){ p[4],        u32(p + 20), u32(p + 24), u32(p + 28),
                   u32(p + 32), u32(p + 36), u32(p + 40) };
    if (h->version != 0 && h->version < '2') return damaged(r, "unknown version");
    if (block_bytes(h, time_bytes) > r->left)
        return damaged(r, "its counts ask for more bytes than it has");
    return LLAP_OK;
}

/* One row of the table of kinds; names are the n name bytes. */
static bool read_kind(const uint8_t *row, const uint8_t *names, size_t n, ll_tz_kind *k)
{
    k->offset_s = (int32_t)u32(row);
    k->dst = row[4] == 1;
    const size_t   at = row[5];
    const uint8_t *end = at < n ? memchr(names + at, '\0', n - at) : NULL;
    return k->offset_s >= -LL_ZONE_OFFSET_MAX && k->offset_s <= LL_ZONE_OFFSET_MAX && row[4] <= 1 &&
           end != NULL &&
           ll_tz_set_abbreviation(k, (const char *)names + at, (size_t)(end - names) - at);
}

static llap_status read_block(reader *r, const header *h, unsigned time_bytes, ll_zone *z)
{
    const uint8_t *times = take(r, (size_t)h->n_times * time_bytes);
    const uint8_t *kind_of = take(r, h->n_times);
    const uint8_t *kinds = take(r, (size_t)h->n_kinds * KIND_BYTES);
    const uint8_t *names = take(r, h->n_chars);
    (void)take(r, h->n_std + (size_t)h->n_ut); /* for POSIX strings without rules: not ours */
    for (size_t i = 0; i < h->n_kinds; i++)
        if (!read_kind(kinds + i * KIND_BYTES, names, h->n_chars, &z->kinds[i]))
            return damaged(r, "a local time type is malformed");
    z->n_kinds = h->n_kinds;
    for (size_t i = 0; i < h->n_times; i++) {
        const uint8_t *p = times + i * time_bytes;
        const int64_t  at = time_bytes == 8 ? i64(p) : (int32_t)u32(p);
        if (at <= z->spans[z->n_spans - 1].from_s)
            return damaged(r, "its transition times do not ascend");
        if (kind_of[i] >= h->n_kinds) return damaged(r, "a transition has no local time type");
        z->spans[z->n_spans++] = (ll_tz_span){ at, kind_of[i] };
    }
    return LLAP_OK;
}

static llap_status read_footer(reader *r, ll_zone *z)
{
    if (r->left < 2 || r->p[0] != '\n' || r->p[r->left - 1] != '\n')
        return damaged(r, "expected a footer between two newlines");
    const char  *text = (const char *)r->p + 1;
    const size_t n = r->left - 2;
    if (n == 0) return LLAP_OK;
    const llap_status st = ll_tz_add_rule(z, text, n);
    return st == LLAP_OK ? st : ll_fail_in(st, "time zone file %s", r->name);
}

llap_status ll_zone_decode(const uint8_t *data, size_t n, const char *name, ll_zone **out)
{
    *out = NULL;
    reader   r = { name, data, n };
    header   h;
    unsigned time_bytes = 4;
    if (n > LL_ZONE_FILE_MAX)
        return ll_fail(LLAP_ELIMIT, "time zone file %s: expected at most %d bytes, found %zu", name,
                       LL_ZONE_FILE_MAX, n);
    llap_status st = read_header(&r, time_bytes, &h);
    if (st == LLAP_OK && h.version != 0) {
        (void)take(&r, (size_t)block_bytes(&h, time_bytes));
        time_bytes = 8;
        st = read_header(&r, time_bytes, &h);
    }
    if (st != LLAP_OK) return st;
    if (h.n_leap != 0)
        return ll_fail(LLAP_EUNSUPPORTED,
                       "time zone file %s: counts leap seconds, which our times do not", name);
    if (h.n_kinds < 1 || h.n_kinds > 256) return damaged(&r, "expected 1 to 256 local time types");
    ll_zone *z;
    st = ll_tz_create(name, h.n_times + LL_TZ_RULE_SPANS, &z);
    if (st != LLAP_OK) return st;
    st = read_block(&r, &h, time_bytes, z);
    if (st == LLAP_OK && time_bytes == 8) st = read_footer(&r, z);
    if (st == LLAP_OK) *out = z;
    else ll_zone_destroy(z);
    return st;
}
