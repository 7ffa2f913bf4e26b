#include "base/time/timetext.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- messages ---- */

#define SHOWN_MAX 48 /* bytes of a text that a message repeats */

/* text between quotes, what is not printable as \xHH, the far end of long ones as ... */
static void quote(const char *text, size_t n, char out[4 * SHOWN_MAX + 8])
{
    char *p = out;
    *p++ = '\'';
    for (size_t i = 0; i < n && i < SHOWN_MAX; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c >= ' ' && c < 0x7f) *p++ = (char)c;
        else p += snprintf(p, 5, "\\x%02x", c);
    }
    p = ll_put_text(p, n > SHOWN_MAX ? "'..." : "'");
    *p = '\0';
}

llap_status ll_scan_expected(const ll_scan *s, const char *fmt, ...)
{
    char    text[4 * SHOWN_MAX + 8], found[4 * SHOWN_MAX + 8] = "the end", expected[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(expected, sizeof expected, fmt, args);
    va_end(args);
    quote(s->text, s->n, text);
    if (s->at < s->n) quote(s->text + s->at, s->n - s->at, found);
    return ll_fail(s->code, "%s %s at position %zu: expected %s, found %s", s->kind, text,
                   s->at + 1, expected, found);
}

llap_status ll_scan_fail(const ll_scan *s, llap_status code, const char *fmt, ...)
{
    char    text[4 * SHOWN_MAX + 8], why[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    quote(s->text, s->n, text);
    return ll_fail(code, "%s %s: %s", s->kind, text, why);
}

llap_status ll_scan_fail_range(const ll_scan *s)
{
    char text[4 * SHOWN_MAX + 8], what[4 * SHOWN_MAX + 40];
    quote(s->text, s->n, text);
    snprintf(what, sizeof what, "%s %s", s->kind, text);
    return ll_fail_time_range(what);
}

/* ---- reading ---- */

bool ll_is_blank(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool ll_scan_take(ll_scan *s, char c)
{
    if (ll_scan_peek(s) != (unsigned char)c) return false;
    s->at++;
    return true;
}

/* ASCII letters without regard to the locale. */
static int lower(int c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; }

bool ll_scan_take_word(ll_scan *s, const char *word)
{
    const size_t n = strlen(word);
    if (n > s->n - s->at) return false;
    for (size_t i = 0; i < n; i++)
        if (lower((unsigned char)s->text[s->at + i]) != lower((unsigned char)word[i])) return false;
    s->at += n;
    return true;
}

void ll_scan_skip_blanks(ll_scan *s)
{
    while (ll_is_blank(ll_scan_peek(s))) s->at++;
}

llap_status ll_scan_number(ll_scan *s, const ll_number *rule, int32_t *out)
{
    const size_t start = s->at;
    int32_t      v = 0;
    int          n = 0;
    for (; n < rule->max && ll_is_digit(ll_scan_peek(s)); n++)
        v = v * 10 + (s->text[s->at++] - '0');
    if (n >= rule->min && v >= rule->low && v <= rule->high) {
        *out = v;
        return LLAP_OK;
    }
    s->at = start;
    return ll_scan_expected(s, "%s %0*d..%0*d", rule->name, rule->min, (int)rule->low, rule->min,
                            (int)rule->high);
}

static const uint32_t pow10[] = { 1,      10,      100,      1000,      10000,
                                  100000, 1000000, 10000000, 100000000, 1000000000 };

llap_status ll_scan_fraction(ll_scan *s, int32_t *ns)
{
    uint32_t v = 0;
    int      n = 0;
    for (; n < 9 && ll_is_digit(ll_scan_peek(s)); n++)
        v = v * 10 + (uint32_t)(s->text[s->at++] - '0');
    if (n == 0) return ll_scan_expected(s, "1 to 9 digits of a second");
    if (ll_is_digit(ll_scan_peek(s)))
        return ll_scan_expected(s, "at most 9 digits of a second (nanoseconds)");
    *ns = (int32_t)(v * pow10[9 - n]);
    return LLAP_OK;
}

llap_status ll_scan_offset(ll_scan *s, int min_hour_digits, int32_t *offset_s)
{
    const ll_number hour = { "offset hours", min_hour_digits, 2, 0, 23 };
    const ll_number minute = { "offset minutes", 2, 2, 0, 59 };
    const int       sign = ll_scan_peek(s);
    if (sign != '+' && sign != '-') return ll_scan_expected(s, "an offset such as +08:00");
    s->at++;
    int32_t h = 0, m = 0;
    if (ll_scan_number(s, &hour, &h) != LLAP_OK) return s->code;
    if (ll_scan_take(s, ':') || ll_is_digit(ll_scan_peek(s)))
        if (ll_scan_number(s, &minute, &m) != LLAP_OK) return s->code;
    const int32_t seconds = (h * 60 + m) * 60;
    *offset_s = sign == '-' ? -seconds : seconds;
    return LLAP_OK;
}

llap_status ll_reading_resolve(const ll_scan *s, const ll_reading *r, const ll_zone *zone,
                               ll_wall wall, int64_t *out)
{
    const int32_t last = ll_days_in_month(r->year, r->month);
    if (r->day > last)
        return ll_scan_fail(s, s->code, "%04d-%02d has %d days, found day %d", (int)r->year,
                            (int)r->month, (int)last, (int)r->day);
    if (r->hour == 24 && (r->minute | r->second | r->ns) != 0)
        return ll_scan_fail(s, s->code,
                            "24:00:00 is the last moment of a day, hour 24 has no "
                            "other");
    const int64_t days = ll_days_from_date(r->year, r->month, r->day);
    const int64_t local_s = ((days * 24 + r->hour) * 60 + r->minute) * 60 + r->second;
    int32_t       offset_s = r->offset_s;
    if (!r->zoned && zone != NULL) {
        const llap_status st = ll_zone_resolve(zone, local_s, wall, &offset_s);
        if (st != LLAP_OK) return ll_scan_fail(s, st, "%s", llap_error_detail());
    }
    const int64_t t_s = local_s - offset_s;
    if (r->second == 60 && t_s % LL_S_PER_DAY != 0)
        return ll_scan_fail(s, s->code, "second 60 exists as 23:59:60 UTC only");
    if (!ll_ns_from_parts(t_s, r->ns, out)) return ll_scan_fail_range(s);
    return LLAP_OK;
}

/* ---- writing ---- */

char *ll_put_text(char *p, const char *text)
{
    const size_t n = strlen(text);
    memcpy(p, text, n);
    return p + n;
}

char *ll_put_digits(char *p, uint64_t v, int width)
{
    for (int i = width; i-- > 0; v /= 10) p[i] = (char)('0' + v % 10);
    return p + width;
}

char *ll_put_number(char *p, uint64_t v)
{
    int width = 1;
    for (uint64_t rest = v; rest >= 10; rest /= 10) width++;
    return ll_put_digits(p, v, width);
}

char *ll_put_fraction(char *p, uint32_t v, int digits, int shown)
{
    if (shown < 0) {
        const int least = -1 - shown;
        for (shown = digits; shown > least && v / pow10[digits - shown] % 10 == 0;) shown--;
    }
    if (shown > digits) shown = digits;
    return ll_put_digits(p, v / pow10[digits - shown], shown);
}

char *ll_put_offset(char *p, int32_t offset_s, bool colon)
{
    const int32_t minutes = (offset_s < 0 ? -offset_s : offset_s) / 60;
    *p++ = offset_s < 0 ? '-' : '+';
    p = ll_put_digits(p, (uint64_t)(minutes / 60), 2);
    if (colon) *p++ = ':';
    return ll_put_digits(p, (uint64_t)(minutes % 60), 2);
}
