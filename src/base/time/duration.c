#include "base/time/duration.h"

#include "base/time/timetext.h"

#include <string.h>

#define US UINT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)
#define MIN (60 * S)
#define H (60 * MIN)
#define D (24 * H)
#define W (7 * D)
#define NO_LENGTH 0 /* months and years */

typedef struct unit {
    const char *word;
    uint64_t    ns;
} unit;

static const unit units[] = {
    { "w", W },
    { "week", W },
    { "weeks", W },
    { "d", D },
    { "day", D },
    { "days", D },
    { "h", H },
    { "hr", H },
    { "hour", H },
    { "hours", H },
    { "m", MIN },
    { "min", MIN },
    { "mins", MIN },
    { "minute", MIN },
    { "minutes", MIN },
    { "s", S },
    { "sec", S },
    { "secs", S },
    { "second", S },
    { "seconds", S },
    { "ms", MS },
    { "us", US },
    { "\xc2\xb5s", US },
    { "\xce\xbcs", US },
    { "ns", 1 },
    { "M", NO_LENGTH },
    { "mo", NO_LENGTH },
    { "mon", NO_LENGTH },
    { "month", NO_LENGTH },
    { "months", NO_LENGTH },
    { "y", NO_LENGTH },
    { "Y", NO_LENGTH },
    { "yr", NO_LENGTH },
    { "year", NO_LENGTH },
    { "years", NO_LENGTH },
};
static const unit iso_date_units[] = {
    { "W", W }, { "D", D }, { "M", NO_LENGTH }, { "Y", NO_LENGTH }
};
static const unit iso_time_units[] = { { "H", H }, { "M", MIN }, { "S", S } };

typedef struct unit_set {
    const unit *units;
    size_t      n, longest; /* words */
    const char *expected;
} unit_set;

#define SET(list, longest, expected)                           \
    {                                                          \
        list, sizeof(list) / sizeof *(list), longest, expected \
    }
static const unit_set plain_set = SET(units, SIZE_MAX, "a unit (w, d, h, min, s, ms, us or ns)");
static const unit_set iso_date_set = SET(iso_date_units, 1, "W, D or T");
static const unit_set iso_time_set = SET(iso_time_units, 1, "H, M or S");

static llap_status fail_range(const ll_scan *s)
{
    return ll_scan_fail(s, LLAP_ELIMIT, "longer than 2^63 nanoseconds (292 years)");
}

/* Letters, and the bytes of the sign for micro. */
static bool in_word(int c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0x80; }

static llap_status scan_unit(ll_scan *s, const unit_set *set, uint64_t *ns)
{
    const size_t start = s->at;
    while (in_word(ll_scan_peek(s)) && s->at - start < set->longest) s->at++;
    const size_t n = s->at - start;
    for (size_t i = 0; i < set->n; i++) {
        const unit *u = &set->units[i];
        if (strlen(u->word) != n || memcmp(u->word, s->text + start, n) != 0) continue;
        *ns = u->ns;
        if (u->ns != NO_LENGTH) return LLAP_OK;
        return ll_scan_fail(s, s->code,
                            "months and years have no fixed length: write days (m is minutes)");
    }
    s->at = start;
    return ll_scan_expected(s, "%s", set->expected);
}

typedef struct number {
    uint64_t whole;
    size_t   from, to; /* the digits of the fraction */
} number;

static llap_status scan_value(ll_scan *s, number *v)
{
    *v = (number){ 0 };
    if (!ll_is_digit(ll_scan_peek(s))) return ll_scan_expected(s, "a number");
    while (ll_is_digit(ll_scan_peek(s)))
        if (__builtin_mul_overflow(v->whole, 10, &v->whole) ||
            __builtin_add_overflow(v->whole, (uint64_t)(s->text[s->at++] - '0'), &v->whole))
            return fail_range(s);
    if (!ll_scan_take(s, '.') && !ll_scan_take(s, ',')) return LLAP_OK;
    v->from = s->at;
    while (ll_is_digit(ll_scan_peek(s))) s->at++;
    v->to = s->at;
    return v->to > v->from ? LLAP_OK : ll_scan_expected(s, "a digit");
}

/* *total += v of the unit. The fraction is summed from its last digit: what stands behind each
 * decimal place is whole exactly when the sum is. */
static llap_status add_part(const ll_scan *s, const number *v, uint64_t unit_ns, uint64_t *total)
{
    uint64_t part = 0, whole;
    for (size_t i = v->to; i-- > v->from;) {
        part += (uint64_t)(s->text[i] - '0') * unit_ns;
        if (part % 10 != 0) return ll_scan_fail(s, s->code, "finer than a nanosecond");
        part /= 10;
    }
    if (__builtin_mul_overflow(v->whole, unit_ns, &whole) ||
        __builtin_add_overflow(whole, part, &whole) || __builtin_add_overflow(*total, whole, total))
        return fail_range(s);
    return LLAP_OK;
}

static llap_status scan_parts(ll_scan *s, bool iso, uint64_t *total)
{
    const unit_set *set = iso ? &iso_date_set : &plain_set;
    uint64_t        last_ns = UINT64_MAX;
    *total = 0;
    do {
        if (!iso && last_ns != UINT64_MAX) ll_scan_skip_blanks(s);
        if (iso && set != &iso_time_set && ll_scan_take(s, 'T')) set = &iso_time_set;
        const size_t start = s->at;
        number       v;
        uint64_t     unit_ns = 0;
        llap_status  st = scan_value(s, &v);
        if (!iso) ll_scan_skip_blanks(s);
        if (st == LLAP_OK) st = scan_unit(s, set, &unit_ns);
        if (st == LLAP_OK && unit_ns >= last_ns) {
            s->at = start;
            st = ll_scan_expected(s, "a smaller unit than the one before");
        }
        if (st == LLAP_OK && v.to != 0 && s->at < s->n)
            st = ll_scan_expected(s, "the end after a fraction");
        if (st == LLAP_OK) st = add_part(s, &v, unit_ns, total);
        if (st != LLAP_OK) return st;
        last_ns = unit_ns;
    } while (s->at < s->n);
    return LLAP_OK;
}

llap_status ll_duration_parse(const char *text, size_t n, int64_t *out)
{
    ll_scan    s = { text, n, 0, "duration", LLAP_EFORMAT };
    const bool negative = ll_scan_take(&s, '-');
    if (!negative) (void)ll_scan_take(&s, '+');
    const bool        iso = ll_scan_take(&s, 'P');
    uint64_t          total;
    const llap_status st = scan_parts(&s, iso, &total);
    if (st != LLAP_OK) return st;
    if (total > (uint64_t)INT64_MAX + negative) return fail_range(&s);
    *out = (int64_t)(negative ? 0 - total : total);
    return LLAP_OK;
}

size_t ll_duration_format(int64_t ns, char out[LL_DURATION_TEXT_MAX])
{
    static const unit shown[] = { { "d", D },   { "h", H },   { "min", MIN }, { "s", S },
                                  { "ms", MS }, { "us", US }, { "ns", 1 } };
    uint64_t          left = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    char             *p = out;
    if (ns < 0) *p++ = '-';
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (left < shown[i].ns) continue;
        p = ll_put_number(p, left / shown[i].ns);
        p = ll_put_text(p, shown[i].word);
        left %= shown[i].ns;
    }
    if (p == out) p = ll_put_text(p, "0s");
    *p = '\0';
    return (size_t)(p - out);
}
