#include "base/time/time.h"

#include "base/time/timetext.h"

/* ---- RFC 3339, ISO 8601 ---- */

/* Two digits at p; sets *bad when one is none. */
static int32_t two(const char *p, unsigned *bad)
{
    const unsigned tens = (unsigned)p[0] - '0', ones = (unsigned)p[1] - '0';
    *bad |= (tens > 9) | (ones > 9);
    return (int32_t)(tens * 10 + ones);
}

/* The shape of nearly every time in a file, YYYY-MM-DDThh:mm:ss, without a branch per character.
 * false: look closer with scan_clock, which also says what is wrong. */
static bool read_common(const char *p, ll_reading *r)
{
    unsigned bad = (p[4] != '-') | (p[7] != '-') | (p[13] != ':') | (p[16] != ':') |
                   ((p[10] != 'T') & (p[10] != ' '));
    r->year = two(p, &bad) * 100 + two(p + 2, &bad);
    r->month = two(p + 5, &bad);
    r->day = two(p + 8, &bad);
    r->hour = two(p + 11, &bad);
    r->minute = two(p + 14, &bad);
    r->second = two(p + 17, &bad);
    bad |= ((uint32_t)r->month - 1 > 11) | ((uint32_t)r->day - 1 > 30) | (r->hour > 24) |
           (r->minute > 59) | (r->second > 60);
    return bad == 0;
}

static llap_status scan_mark(ll_scan *s, char mark)
{
    return ll_scan_take(s, mark) ? LLAP_OK : ll_scan_expected(s, "'%c'", mark);
}

/* YYYY-MM-DD[(T| )hh:mm[:ss]]; *date_only when it ends with the day. */
static llap_status scan_clock(ll_scan *s, ll_reading *r, bool *date_only)
{
    static const ll_number year = { "year", 4, 4, 0, 9999 }, month = { "month", 2, 2, 1, 12 },
                           day = { "day", 2, 2, 1, 31 }, hour = { "hour", 2, 2, 0, 24 },
                           minute = { "minute", 2, 2, 0, 59 }, second = { "second", 2, 2, 0, 60 };
    r->hour = r->minute = r->second = 0;
    llap_status st = ll_scan_number(s, &year, &r->year);
    if (st == LLAP_OK) st = scan_mark(s, '-');
    if (st == LLAP_OK) st = ll_scan_number(s, &month, &r->month);
    if (st == LLAP_OK) st = scan_mark(s, '-');
    if (st == LLAP_OK) st = ll_scan_number(s, &day, &r->day);
    *date_only = s->at == s->n;
    if (st != LLAP_OK || *date_only) return st;
    if (!ll_scan_take(s, 'T') && !ll_scan_take(s, 't') && !ll_scan_take(s, ' '))
        return ll_scan_expected(s, "'T' or a space");
    st = ll_scan_number(s, &hour, &r->hour);
    if (st == LLAP_OK) st = scan_mark(s, ':');
    if (st == LLAP_OK) st = ll_scan_number(s, &minute, &r->minute);
    if (st == LLAP_OK && ll_scan_take(s, ':')) st = ll_scan_number(s, &second, &r->second);
    return st;
}

/* [(.|,)f][Z|offset], the fraction only where had_seconds. */
static llap_status scan_tail(ll_scan *s, ll_reading *r, bool had_seconds)
{
    llap_status st = LLAP_OK;
    if (had_seconds && (ll_scan_take(s, '.') || ll_scan_take(s, ',')))
        st = ll_scan_fraction(s, &r->ns);
    if (st != LLAP_OK || s->at == s->n) return st;
    const int c = ll_scan_peek(s);
    r->zoned = true;
    if (c == '+' || c == '-') st = ll_scan_offset(s, 2, &r->offset_s);
    else if (c == 'Z' || c == 'z') s->at++;
    else
        return ll_scan_expected(s, "%s, Z, an offset or the end",
                                had_seconds ? "a fraction" : "seconds");
    if (st == LLAP_OK && s->at < s->n) st = ll_scan_expected(s, "the end");
    return st;
}

llap_status ll_time_parse(const char *text, size_t n, const ll_zone *zone, ll_wall wall,
                          int64_t *out)
{
    ll_scan    s = { text, n, 0, "time", LLAP_EFORMAT };
    ll_reading r;
    r.ns = 0;
    r.zoned = false;
    r.offset_s = 0;
    bool        date_only = false;
    llap_status st = LLAP_OK;
    if (n >= 19 && read_common(text, &r)) s.at = 19;
    else st = scan_clock(&s, &r, &date_only);
    if (st == LLAP_OK && !date_only) st = scan_tail(&s, &r, s.at == 19);
    return st == LLAP_OK ? ll_reading_resolve(&s, &r, zone, wall, out) : st;
}

size_t ll_time_format(int64_t t, const ll_zone *zone, int digits, char out[LL_TIME_TEXT_MAX])
{
    const int32_t  offset_s = ll_zone_at(zone, ll_floor_s(t)).offset_s / 60 * 60;
    const ll_civil c = ll_civil_at_offset(t, offset_s);
    const struct {
        char    before;
        int32_t value;
    } parts[] = {
        { '-', c.month }, { '-', c.day }, { 'T', c.hour }, { ':', c.minute }, { ':', c.second }
    };
    char *p = ll_put_digits(out, (uint64_t)c.year, 4);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *p++ = parts[i].before;
        p = ll_put_digits(p, (uint64_t)parts[i].value, 2);
    }
    char *point = p;
    *point = '.';
    p = ll_put_fraction(p + 1, (uint32_t)c.ns, 9, digits);
    if (p == point + 1) p = point; /* no digits, no point */
    if (ll_zone_is_utc(zone)) *p++ = 'Z';
    else p = ll_put_offset(p, offset_s, true);
    *p = '\0';
    return (size_t)(p - out);
}

/* ---- numbers since 1970 ---- */

llap_status ll_time_unit_parse(const char *text, size_t n, ll_time_unit *out)
{
    static const char *const names[] = { "ns", "us", "ms", "s" };
    ll_scan                  s = { text, n, 0, "unit", LLAP_EINVAL };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (ll_scan_take_word(&s, names[i]) && s.at == n) {
            *out = (ll_time_unit)i;
            return LLAP_OK;
        }
        s.at = 0;
    }
    return ll_scan_expected(&s, "s, ms, us or ns");
}

size_t ll_time_format_epoch(int64_t t, ll_time_unit unit, char out[LL_TIME_TEXT_MAX])
{
    static const uint32_t per_unit[] = { 1, 1000, 1000000, 1000000000 };
    const uint64_t        size = t < 0 ? 0 - (uint64_t)t : (uint64_t)t;
    char                 *p = out;
    if (t < 0) *p++ = '-';
    p = ll_put_number(p, size / per_unit[unit]);
    char *point = p;
    *point = '.';
    p = ll_put_fraction(p + 1, (uint32_t)(size % per_unit[unit]), 3 * (int)unit, LL_DIGITS_EXACT);
    if (p == point + 1) p = point;
    *p = '\0';
    return (size_t)(p - out);
}
