/* POSIX TZ strings as TZif footers carry them (RFC 8536, 3.3):
 *
 *     CET-1CEST,M3.5.0,M10.5.0/3        std offset dst [offset],start[/time],end[/time]
 *
 * Offsets count WEST of Greenwich. A date is Mm.w.d (weekday d, 0 Sunday, of week w of month m; 5:
 * the last), Jn (day 1..365 of the year, 29 February not counted) or n (0..365, counted); its time
 * is local, 02:00:00 when not said, -167 .. 167 hours. */
#include "base/time/tzif.h"

#include "base/time/civil.h"
#include "base/time/timetext.h"

#include <string.h>

typedef struct rule_date {
    char    form; /* 'M', 'J', or '0' for the zero-based day */
    int32_t month, week, weekday, day;
    int32_t time_s;
} rule_date;

bool ll_tz_set_abbreviation(ll_tz_kind *k, const char *text, size_t n)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
    if (n < 1 || n >= sizeof k->abbreviation) return false;
    for (size_t i = 0; i < n; i++)
        if (memchr(allowed, text[i], sizeof allowed - 1) == NULL) return false;
    memcpy(k->abbreviation, text, n);
    k->abbreviation[n] = '\0';
    return true;
}

static bool is_letter(int c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

/* CET, or <+0330>. */
static llap_status scan_abbreviation(ll_scan *s, ll_tz_kind *k)
{
    const size_t start = s->at;
    const bool   quoted = ll_scan_take(s, '<');
    const size_t from = s->at;
    if (quoted)
        while (ll_scan_peek(s) != '>' && s->at < s->n) s->at++;
    else
        while (is_letter(ll_scan_peek(s))) s->at++;
    const size_t n = s->at - from;
    if (ll_tz_set_abbreviation(k, s->text + from, n) && (!quoted || ll_scan_take(s, '>')))
        return LLAP_OK;
    s->at = start;
    return ll_scan_expected(s, "the name of a zone");
}

/* [+-]h[:mm[:ss]] in seconds. */
static llap_status scan_clock(ll_scan *s, int32_t max_hours, int32_t *out)
{
    const ll_number hours = { "hours", 1, 3, 0, max_hours };
    const ll_number minutes = { "minutes", 2, 2, 0, 59 }, seconds = { "seconds", 2, 2, 0, 59 };
    const bool      negative = ll_scan_take(s, '-');
    if (!negative) (void)ll_scan_take(s, '+');
    int32_t     h = 0, m = 0, sec = 0;
    llap_status st = ll_scan_number(s, &hours, &h);
    if (st == LLAP_OK && ll_scan_take(s, ':')) {
        st = ll_scan_number(s, &minutes, &m);
        if (st == LLAP_OK && ll_scan_take(s, ':')) st = ll_scan_number(s, &seconds, &sec);
    }
    const int32_t total = (h * 60 + m) * 60 + sec;
    *out = negative ? -total : total;
    return st;
}

static llap_status scan_point(ll_scan *s) /* between the numbers of Mm.w.d */
{
    return ll_scan_take(s, '.') ? LLAP_OK : ll_scan_expected(s, "'.'");
}

static llap_status scan_date(ll_scan *s, rule_date *d)
{
    static const ll_number month = { "month", 1, 2, 1, 12 }, week = { "week", 1, 1, 1, 5 },
                           weekday = { "weekday", 1, 1, 0, 6 }, julian = { "day", 1, 3, 1, 365 },
                           zero_based = { "day", 1, 3, 0, 365 };
    llap_status st;
    *d = (rule_date){ .form = '0', .time_s = 2 * 3600 };
    if (ll_scan_take(s, 'M')) {
        d->form = 'M';
        st = ll_scan_number(s, &month, &d->month);
        if (st == LLAP_OK) st = scan_point(s);
        if (st == LLAP_OK) st = ll_scan_number(s, &week, &d->week);
        if (st == LLAP_OK) st = scan_point(s);
        if (st == LLAP_OK) st = ll_scan_number(s, &weekday, &d->weekday);
    } else if (ll_scan_take(s, 'J')) {
        d->form = 'J';
        st = ll_scan_number(s, &julian, &d->day);
    } else {
        st = ll_scan_number(s, &zero_based, &d->day);
    }
    if (st == LLAP_OK && ll_scan_take(s, '/')) st = scan_clock(s, 167, &d->time_s);
    return st;
}

/* Days since 1970-01-01 of the date in a year. */
static int64_t day_of(const rule_date *d, int32_t year)
{
    const int64_t first = ll_days_from_date(year, 1, 1);
    if (d->form == '0') return first + d->day;
    if (d->form == 'J') return first + d->day - 1 + (d->day >= 60 && ll_is_leap_year(year));
    ll_civil c = { 0 };
    ll_date_from_days(ll_days_from_date(year, d->month, 1), &c);
    const int32_t on_first = (c.weekday + 1) % 7; /* 0 Sunday */
    int32_t       day = 1 + (d->weekday - on_first + 7) % 7 + 7 * (d->week - 1);
    if (day > ll_days_in_month(year, d->month)) day -= 7;
    return ll_days_from_date(year, d->month, day);
}

/* Adds a change at its place among the spans of the rule, which are those from n_before on. Of two
 * at one instant the later added counts: daylight time that ends as the next year's starts goes on,
 * one that ends as it starts is none. */
static void add_span(ll_zone *z, size_t n_before, int64_t at, uint16_t kind)
{
    if (at <= z->spans[n_before - 1].from_s) return;
    size_t i = z->n_spans;
    while (z->spans[i - 1].from_s > at) i--;
    if (z->spans[i - 1].from_s == at) {
        z->spans[i - 1].kind = kind;
        return;
    }
    memmove(&z->spans[i + 1], &z->spans[i], (z->n_spans - i) * sizeof *z->spans);
    z->spans[i] = (ll_tz_span){ at, kind };
    z->n_spans++;
}

static void add_years(ll_zone *z, uint16_t std, const rule_date *start, const rule_date *end)
{
    const size_t   n_before = z->n_spans;
    const uint16_t dst = (uint16_t)(std + 1);
    const int32_t  std_s = z->kinds[std].offset_s, dst_s = z->kinds[dst].offset_s;
    for (int32_t year = LL_TZ_YEAR_FIRST; year <= LL_TZ_YEAR_LAST; year++) {
        const int64_t from = day_of(start, year) * LL_S_PER_DAY + start->time_s - std_s;
        const int64_t to = day_of(end, year) * LL_S_PER_DAY + end->time_s - dst_s;
        add_span(z, n_before, from, dst);
        add_span(z, n_before, to, std);
    }
}

/* offset of the kind, which the string counts westwards. */
static llap_status scan_west(ll_scan *s, ll_tz_kind *k)
{
    const llap_status st = scan_clock(s, 24, &k->offset_s);
    k->offset_s = -k->offset_s;
    return st;
}

static llap_status scan_dst(ll_scan *s, const ll_tz_kind *std, ll_tz_kind *dst, rule_date dates[2])
{
    dst->dst = true;
    dst->offset_s = std->offset_s + 3600;
    llap_status st = scan_abbreviation(s, dst);
    if (st == LLAP_OK && ll_scan_peek(s) != ',') st = scan_west(s, dst);
    for (int i = 0; i < 2 && st == LLAP_OK; i++) {
        if (!ll_scan_take(s, ',')) st = ll_scan_expected(s, "',' and the date of a change");
        else st = scan_date(s, &dates[i]);
    }
    if (st == LLAP_OK && s->at < s->n) st = ll_scan_expected(s, "the end");
    return st;
}

llap_status ll_tz_add_rule(ll_zone *z, const char *text, size_t n)
{
    ll_scan        s = { text, n, 0, "rule", LLAP_EFORMAT };
    const uint16_t std = (uint16_t)z->n_kinds;
    rule_date      dates[2];
    z->n_kinds += 2;
    llap_status st = scan_abbreviation(&s, &z->kinds[std]);
    if (st == LLAP_OK) st = scan_west(&s, &z->kinds[std]);
    const bool has_dst = s.at < n;
    if (st == LLAP_OK && has_dst) st = scan_dst(&s, &z->kinds[std], &z->kinds[std + 1], dates);
    if (st != LLAP_OK) return st;
    /* Without transitions the rule holds at all times; else behind the last of them. */
    if (z->n_spans == 1) z->spans[0].kind = std;
    if (has_dst) add_years(z, std, &dates[0], &dates[1]);
    return LLAP_OK;
}
