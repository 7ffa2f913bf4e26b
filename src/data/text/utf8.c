#include "data/text/utf8.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

static bool is_ascii(const char *s, size_t n)
{
    uint64_t any = 0;
    size_t   i = 0;
    for (uint64_t word; i + sizeof word <= n; i += sizeof word) {
        memcpy(&word, s + i, sizeof word);
        any |= word;
    }
    for (; i < n; i++) any |= (unsigned char)s[i];
    return (any & UINT64_C(0x8080808080808080)) == 0;
}

/* Whether s[0..n), which is not valid, may become so when more bytes follow. */
static bool is_beginning(const char *s, size_t n)
{
    const unsigned char lead = (unsigned char)s[0];
    const size_t        needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
    if (n >= needed || lead > 0xf4) return false;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)s[i] & 0xc0) != 0x80) return false;
    return true;
}

/* From u->raw to `to`, valid runs as they are, other bytes one by one; stops when either is used
 * up. */
static size_t convert(ll_utf8_reader *u, char *to, size_t max)
{
    size_t at = 0, n = 0;
    while (at < u->n_raw) {
        const char *from = u->raw + at;
        size_t      run = ll_utf8_prefix(from, u->n_raw - at);
        if (run > max - n) { /* do not cut a character in two */
            run = max - n;
            while (run > 0 && ((unsigned char)from[run] & 0xc0) == 0x80) run--;
            memcpy(to + n, from, run);
            n += run;
            at += run;
            break;
        }
        memcpy(to + n, from, run);
        n += run;
        at += run;
        if (at == u->n_raw || max - n < 2) break;
        if (!u->at_end && is_beginning(u->raw + at, u->n_raw - at)) break;
        n += ll_utf8_encode((unsigned char)u->raw[at++], to + n);
        u->repaired++;
    }
    u->n_raw -= at;
    memmove(u->raw, u->raw + at, u->n_raw);
    return n;
}

static llap_status keep_raw(ll_utf8_reader *u, const char *bytes, size_t n)
{
    if (u->n_raw + n > u->raw_capacity) {
        char *larger = ll_grow(u->raw, u->n_raw + n, 1);
        if (larger == NULL) return LLAP_ENOMEM;
        u->raw = larger;
        u->raw_capacity = u->n_raw + n;
    }
    memcpy(u->raw + u->n_raw, bytes, n);
    u->n_raw += n;
    return LLAP_OK;
}

llap_status ll_utf8_read(ll_utf8_reader *u, char *to, size_t max, size_t *n)
{
    *n = 0;
    while (*n == 0) {
        size_t got = 0;
        if (u->n_raw < 4 && !u->at_end) {
            llap_status st = ll_source_read(u->source, to, max, &got);
            if (st != LLAP_OK) return st;
            u->at_end = got == 0;
            if (u->n_raw == 0 && is_ascii(to, got)) {
                *n = got;
                return LLAP_OK;
            }
            if (got > 0 && (st = keep_raw(u, to, got)) != LLAP_OK) return st;
        }
        if (u->n_raw == 0) break;
        *n = convert(u, to, max);
    }
    return LLAP_OK;
}

void ll_utf8_deinit(ll_utf8_reader *u)
{
    ll_free(u->raw);
    *u = (ll_utf8_reader){ 0 };
}
