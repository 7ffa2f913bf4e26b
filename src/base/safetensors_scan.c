#include "base/safetensors_scan.h"

#include "base/error.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ll_header_fail(ll_header *s, const char *fmt, ...)
{
    s->at = s->n;
    if (s->st != LLAP_OK) return;
    char    what[LL_DETAIL_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    s->st = ll_fail(LLAP_EFORMAT, "%s: %s", s->file, what);
}

/* ---- bytes ---- */

/* The next byte, -1 at the end. */
static int peek(const ll_header *s) { return s->at < s->n ? (unsigned char)s->text[s->at] : -1; }

/* The same, taken. */
static int next(ll_header *s)
{
    const int c = peek(s);
    s->at += c >= 0;
    return c;
}

static void skip_space(ll_header *s)
{
    for (int c = peek(s); c == ' ' || c == '\n' || c == '\r' || c == '\t'; c = peek(s)) s->at++;
}

/* "header byte 17: expected ':', found 'x'", about the next byte. */
static void fail_expected(ll_header *s, const char *what)
{
    const int c = peek(s);
    char      found[32];
    if (c < 0) snprintf(found, sizeof found, "the end of the header");
    else if (c > 0x20 && c < 0x7f) snprintf(found, sizeof found, "'%c'", c);
    else snprintf(found, sizeof found, "byte 0x%02x", (unsigned)c);
    ll_header_fail(s, "header byte %zu: expected %s, found %s", s->at, what, found);
}

/* ---- structure ---- */

void ll_header_take(ll_header *s, char mark)
{
    skip_space(s);
    const char what[] = { '\'', mark, '\'', '\0' };
    if (peek(s) == mark) s->at++;
    else fail_expected(s, what);
}

bool ll_header_more(ll_header *s, char closing, size_t i)
{
    skip_space(s);
    if (peek(s) == closing) {
        s->at++;
        return false;
    }
    if (i > 0 && peek(s) != ',') {
        const char what[] = { '\'', ',', '\'', ' ', 'o', 'r', ' ', '\'', closing, '\'', '\0' };
        fail_expected(s, what);
    }
    s->at += i > 0 && s->st == LLAP_OK; /* the comma */
    return s->st == LLAP_OK;
}

void ll_header_end(ll_header *s)
{
    while (peek(s) == ' ') s->at++;
    if (s->at < s->n) fail_expected(s, "only spaces behind the closing '}'");
}

/* ---- values ---- */

int64_t ll_header_number(ll_header *s)
{
    skip_space(s);
    const size_t start = s->at;
    int64_t      v = 0;
    for (int c = peek(s); c >= '0' && c <= '9'; c = peek(s)) {
        s->at++;
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, c - '0', &v))
            ll_header_fail(s, "header byte %zu: number larger than %lld", start,
                           (long long)INT64_MAX);
    }
    if (s->st == LLAP_OK && s->at == start) fail_expected(s, "a whole number");
    if (s->st == LLAP_OK && s->at > start + 1 && s->text[start] == '0')
        ll_header_fail(s, "header byte %zu: number with a leading zero", start);
    return s->st == LLAP_OK ? v : 0;
}

/* The four digits of \uXXXX. */
static uint32_t hex4(ll_header *s)
{
    static const char digits[] = "0123456789abcdefABCDEF";
    uint32_t          v = 0;
    for (int i = 0; i < 4; i++) {
        const int   c = peek(s);
        const char *d = c > 0 ? strchr(digits, c) : NULL;
        if (d == NULL) {
            fail_expected(s, "a hexadecimal digit");
            return 0;
        }
        const uint32_t k = (uint32_t)(d - digits);
        v = v << 4 | (k < 16 ? k : k - 6);
        s->at++;
    }
    return v;
}

/* What follows "\u": one character, which may take two escapes. */
static uint32_t unicode_escape(ll_header *s)
{
    const size_t start = s->at - 2;
    uint32_t     c = hex4(s);
    if (c >= 0xd800 && c < 0xdc00) {
        const bool     pair = next(s) == '\\' && next(s) == 'u';
        const uint32_t low = pair ? hex4(s) : 0;
        if (low < 0xdc00 || low > 0xdfff)
            ll_header_fail(s, "header byte %zu: surrogate without its other half", start);
        else c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    } else if (c >= 0xdc00 && c < 0xe000) {
        ll_header_fail(s, "header byte %zu: surrogate without its other half", start);
    }
    if (c == 0) ll_header_fail(s, "header byte %zu: NUL character in a string", start);
    return c;
}

/* What follows a backslash, as UTF-8. */
static size_t escape(ll_header *s, char out[4])
{
    static const char marks[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const int         c = peek(s);
    const char       *m = c > 0 ? strchr(marks, c) : NULL;
    if (m == NULL && c != 'u') {
        fail_expected(s, "one of \" \\ / b f n r t u behind a backslash");
        return 0;
    }
    s->at++;
    return ll_utf8_encode(m != NULL ? (unsigned char)meant[m - marks] : unicode_escape(s), out);
}

size_t ll_header_string(ll_header *s, char *out, size_t size)
{
    ll_header_take(s, '"');
    size_t len = 0;
    for (int c = next(s); c != '"'; c = next(s)) {
        if (c < 0x20) {
            s->at -= c >= 0;
            fail_expected(s, "a string without control characters, closed by '\"'");
            break;
        }
        char         piece[4] = { (char)c };
        const size_t n = c == '\\' ? escape(s, piece) : 1;
        for (size_t i = 0; i < n; i++, len++)
            if (len + 1 < size) out[len] = piece[i];
    }
    out[len < size ? len : size - 1] = '\0';
    return len;
}
