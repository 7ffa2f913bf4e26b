#include "base/text.h"

#include "base/error.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- UTF-8 ---- */

/* The length of the valid character that starts p[0..n), n > 0; 0 when there is none. */
static size_t character(const unsigned char *p, size_t n)
{
    const unsigned c = p[0];
    if (c < 0x80) return 1;
    if (c < 0xc2 || c > 0xf4) return 0;
    const size_t len = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (n < len) return 0;
    /* The second byte carries the rules: no overlong form, no surrogate, none past U+10FFFF. */
    const unsigned low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    const unsigned high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high) return 0;
    for (size_t i = 2; i < len; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    return len;
}

size_t ll_utf8_prefix(const char *s, size_t n)
{
    size_t at = 0;
    for (size_t len = 1; at < n && len > 0; at += len)
        len = character((const unsigned char *)s + at, n - at);
    return at;
}

size_t ll_utf8_encode(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    const size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00u >> len & 0xf0) | c);
    return len;
}

/* ---- messages ---- */

ll_text_shown ll_text_show(const char *s)
{
    ll_text_shown        out = { "" };
    size_t               used = 0;
    const unsigned char *p = (const unsigned char *)s;
    for (size_t left = strlen(s); left > 0;) {
        if (used + 8 > sizeof out.text) { /* the longest piece and "..." with its NUL */
            memcpy(out.text + used, "...", 4);
            break;
        }
        const size_t len = character(p, left);
        /* 0xc2 0x80..0x9f are control characters too, and terminals may obey them. */
        const int plain = len > 0 && p[0] >= 0x20 && p[0] != 0x7f && !(p[0] == 0xc2 && p[1] < 0xa0);
        const size_t taken = plain ? len : 1;
        if (plain) memcpy(out.text + used, p, len);
        else snprintf(out.text + used, 5, "\\x%02x", p[0]);
        used += plain ? len : 4;
        p += taken;
        left -= taken;
    }
    return out;
}

/* ---- numbers ---- */

size_t ll_text_double(double v, char out[LL_DOUBLE_TEXT])
{
    /* 15 digits lose no shorter decimal in the normal range and %g drops their zeros, so that a
     * shorter search is needed for subnormals only. */
    int digits = fabs(v) < DBL_MIN ? 1 : DBL_DIG;
    snprintf(out, LL_DOUBLE_TEXT, "%.*g", digits, v);
    while (digits < DBL_DECIMAL_DIG && strtod(out, NULL) != v)
        snprintf(out, LL_DOUBLE_TEXT, "%.*g", ++digits, v);
    char *point = out + strspn(out, "-0123456789");
    if (strchr("eni", *point) == NULL) {                 /* not the end, an exponent, nan or inf */
        const size_t len = strcspn(point, "0123456789"); /* a locale's may be longer than one */
        memmove(point + 1, point + len, strlen(point + len) + 1);
        *point = '.';
    }
    return strlen(out);
}

/* ---- did you mean ---- */

size_t ll_text_distance(const char *a, const char *b)
{
    const size_t na = strlen(a), nb = strlen(b);
    if (na > LL_WORD_MAX || nb > LL_WORD_MAX) return na > nb ? na : nb;
    /* Three rows of the table d[i][j], the distance of a[0..i) and b[0..j). */
    size_t  rows[3][LL_WORD_MAX + 1];
    size_t *two_up = rows[0], *up = rows[1], *row = rows[2];
    for (size_t j = 0; j <= nb; j++) row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *oldest = two_up;
        two_up = up;
        up = row;
        row = oldest;
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = up[j - 1] + (a[i - 1] != b[j - 1]);
            if (up[j] + 1 < best) best = up[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            const int swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && two_up[j - 2] + 1 < best) best = two_up[j - 2] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

const char *llap_text_nearest(const char *word, const char *const *names)
{
    const size_t third = strlen(word) / 3;
    size_t       limit = third > 1 ? third : 1;
    const char  *nearest = NULL;
    for (; *names != NULL; names++) {
        const size_t d = ll_text_distance(word, *names);
        if (d > limit || d >= strlen(word)) continue;
        nearest = *names;
        if (d == 0) break;
        limit = d - 1;
    }
    return nearest;
}
