#include "data/clock.h"

#include "base/error.h"
#include "base/text.h"
#include "base/time/duration.h"
#include "data/text/number.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char   *word;
    ll_clock_kind kind;
} formats[] = {
    { "rfc3339", LL_CLOCK_RFC3339 }, { "epoch", LL_CLOCK_EPOCH }, { "number", LL_CLOCK_NUMBER },
    { "elapsed", LL_CLOCK_ELAPSED }, { "parts", LL_CLOCK_PARTS },
};

/* "min" or "0.5h" to nanoseconds. */
static llap_status read_unit(ll_clock *c, const char *unit)
{
    char         text[sizeof c->unit + 1];
    const bool   bare = unit[0] < '0' || unit[0] > '9';
    const size_t n = (size_t)snprintf(text, sizeof text, "%s%s", bare ? "1" : "", unit);
    if (n >= sizeof text || strlen(unit) >= sizeof c->unit)
        return ll_fail(LLAP_EINVAL, "time unit '%s': too long", unit);
    const llap_status st = ll_duration_parse(text, n, &c->unit_ns);
    if (st != LLAP_OK) return ll_fail_in(LLAP_EINVAL, "time unit '%s'", unit);
    if (c->unit_ns <= 0) return ll_fail(LLAP_EINVAL, "time unit '%s': not positive", unit);
    memcpy(c->unit, unit, strlen(unit) + 1);
    return LLAP_OK;
}

static llap_status choose_unit(ll_clock *c, const char *unit)
{
    c->unit_ns = LL_NS_PER_S;
    if (c->kind == LL_CLOCK_ELAPSED) return read_unit(c, "min");
    if (c->kind == LL_CLOCK_NUMBER)
        return unit == NULL || *unit == '\0' ? LLAP_OK : read_unit(c, unit);
    if (c->kind != LL_CLOCK_EPOCH) return LLAP_OK;
    ll_time_unit known;
    if (unit == NULL) unit = "s";
    const llap_status st = ll_time_unit_parse(unit, strlen(unit), &known);
    return st == LLAP_OK ? read_unit(c, unit) : ll_fail_in(LLAP_EINVAL, "time unit");
}

llap_status ll_clock_init(ll_clock *c, const char *format, const char *unit, const char *zone)
{
    *c = (ll_clock){ .kind = LL_CLOCK_FORMAT };
    const size_t n = strlen(format);
    if (n >= sizeof c->format) return ll_fail(LLAP_EINVAL, "time format '%s': too long", format);
    memcpy(c->format, format, n + 1);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(format, formats[i].word) == 0) c->kind = formats[i].kind;
    llap_status st = LLAP_OK;
    if (c->kind == LL_CLOCK_FORMAT) {
        if (strchr(format, '%') == NULL)
            return ll_fail(LLAP_EINVAL,
                           "time format '%s': expected rfc3339, epoch, number, elapsed or one "
                           "with %% in it",
                           format);
        st = ll_timefmt_init(&c->timefmt, format, n);
    }
    if (st == LLAP_OK) st = choose_unit(c, unit);
    if (st == LLAP_OK && zone != NULL && *zone != '\0')
        st = ll_zone_create(zone, strlen(zone), NULL, &c->zone);
    return st;
}

void ll_clock_deinit(ll_clock *c)
{
    ll_zone_destroy(c->zone);
    *c = (ll_clock){ 0 };
}

/* ---- reading -------------------------------------------------------------------------------- */

static int two_digits(const char *p)
{
    const unsigned a = (unsigned)(p[0] - '0'), b = (unsigned)(p[1] - '0');
    return a < 10 && b < 10 ? (int)(a * 10 + b) : 99;
}

/* DATEThh:mm:ss[Z] on the day of the time before, in UTC: the shape of most rows of most files. */
static bool same_day(const ll_clock *c, const char *text, size_t n, int64_t *out)
{
    if ((n != 19 && (n != 20 || text[19] != 'Z')) || memcmp(text, c->day, sizeof c->day) != 0 ||
        (text[10] != 'T' && text[10] != ' ') || text[13] != ':' || text[16] != ':')
        return false;
    if (n == 19 && c->zone != NULL) return false;
    const int hour = two_digits(text + 11), minute = two_digits(text + 14);
    const int second = two_digits(text + 17);
    if (hour > 23 || minute > 59 || second > 59) return false;
    return !__builtin_add_overflow(
        c->midnight, ((int64_t)hour * 3600 + minute * 60 + second) * LL_NS_PER_S, out);
}

static void remember_day(ll_clock *c, const char *text, size_t n)
{
    if (n < sizeof c->day) return;
    if (ll_time_parse(text, sizeof c->day, NULL, LL_WALL_ERROR, &c->midnight) == LLAP_OK)
        memcpy(c->day, text, sizeof c->day);
}

/* Books whether the time named its zone, and whether all named the same. */
static void note_zone(ll_clock *c, const char *text, size_t n)
{
    size_t at = n < 10 ? n : 10;
    while (at < n && text[at] != 'Z' && text[at] != 'z' && text[at] != '+' && text[at] != '-') at++;
    if (at == n) {
        c->unzoned = true;
        return;
    }
    char suffix[sizeof c->suffix] = { 0 };
    for (size_t i = 0; at + i < n && i + 1 < sizeof suffix; i++) suffix[i] = text[at + i];
    if (suffix[0] == 'z') suffix[0] = 'Z';
    if (!c->zoned) memcpy(c->suffix, suffix, sizeof suffix);
    else if (memcmp(c->suffix, suffix, sizeof suffix) != 0) c->mixed = true;
    c->zoned = true;
}

static llap_status read_rfc3339(ll_clock *c, const char *text, size_t n, int64_t *out)
{
    const bool fast = same_day(c, text, n, out);
    if (!fast) {
        const llap_status st = ll_time_parse(text, n, c->zone, c->wall, out);
        if (st != LLAP_OK) return st;
        remember_day(c, text, n);
    }
    if (n == 20 && c->zoned && c->suffix[0] == 'Z' && !c->mixed) return LLAP_OK;
    note_zone(c, text, n);
    return LLAP_OK;
}

static llap_status fail_found(const char *expected, const char *text, size_t n)
{
    char start[49]; /* any bytes, quoted line ends too */
    snprintf(start, sizeof start, "%.*s", (int)(n < 48 ? n : 48), text);
    return ll_fail(LLAP_EFORMAT, "expected a time %s, found '%s'", expected,
                   ll_text_show(start).text);
}

static llap_status read_elapsed(const char *text, size_t n, char decimal, int64_t *out)
{
    const bool  negative = n > 0 && text[0] == '-';
    const char *p = text + negative, *end = text + n;
    int64_t     hours = 0;
    int         n_digits = 0;
    for (; p < end && *p >= '0' && *p <= '9' && n_digits < 7; p++, n_digits++)
        hours = hours * 10 + (*p - '0');
    bool    ok = n_digits > 0 && end - p >= 3 && p[0] == ':' && two_digits(p + 1) <= 59;
    int64_t rest = 0;
    if (ok && end - p > 3) {
        const char *seconds = p + 4;
        ok = end - p >= 6 && p[3] == ':' && two_digits(seconds) <= 59 &&
             ll_number_ticks(seconds, (size_t)(end - seconds), decimal, LL_NS_PER_S, &rest) &&
             rest < 60 * LL_NS_PER_S;
    }
    if (!ok) return fail_found("HH:MM or HH:MM:SS", text, n);
    const int64_t minutes = hours * 60 + two_digits(p + 1);
    int64_t       t;
    if (__builtin_mul_overflow(minutes, 60 * LL_NS_PER_S, &t) ||
        __builtin_add_overflow(t, rest, &t))
        return ll_fail_time_range("elapsed time");
    *out = negative ? -t : t;
    return LLAP_OK;
}

llap_status ll_clock_read(ll_clock *c, const char *text, size_t n, char decimal, int64_t *out)
{
    switch (c->kind) {
    case LL_CLOCK_RFC3339:
        return read_rfc3339(c, text, n, out);
    case LL_CLOCK_FORMAT:
        c->unzoned = true;
        return ll_timefmt_parse(&c->timefmt, text, n, c->zone, c->wall, out);
    case LL_CLOCK_ELAPSED:
        return read_elapsed(text, n, decimal, out);
    case LL_CLOCK_EPOCH:
    case LL_CLOCK_NUMBER:
        if (ll_number_ticks(text, n, decimal, c->unit_ns, out)) return LLAP_OK;
        return fail_found("as a number", text, n);
    case LL_CLOCK_PARTS:
        break;
    }
    return ll_fail(LLAP_EINVAL, "time format 'parts' needs several columns");
}

llap_status ll_clock_read_parts(ll_clock *c, const int32_t *part, int n_parts, int64_t *out)
{
    ll_civil   civil = { .year = part[0],
                         .month = n_parts > 1 ? part[1] : 1,
                         .day = n_parts > 2 ? part[2] : 1,
                         .hour = n_parts > 3 ? part[3] : 0,
                         .minute = n_parts > 4 ? part[4] : 0,
                         .second = n_parts > 5 ? part[5] : 0 };
    const bool midnight = civil.hour == 24 && civil.minute == 0 && civil.second == 0;
    if (midnight) civil.hour = 0; /* the end of the day */
    int64_t     local;
    llap_status st = ll_civil_to_ns(&civil, &local);
    if (st == LLAP_OK && midnight &&
        __builtin_add_overflow(local, LL_S_PER_DAY * LL_NS_PER_S, &local))
        st = ll_fail_time_range("time");
    int32_t offset_s = 0;
    if (st == LLAP_OK) st = ll_zone_resolve(c->zone, ll_floor_s(local), c->wall, &offset_s);
    if (st == LLAP_OK && __builtin_sub_overflow(local, offset_s * LL_NS_PER_S, out))
        st = ll_fail_time_range("time");
    c->unzoned = true;
    return st;
}

ll_axis ll_clock_axis(const ll_clock *c)
{
    if (c->kind == LL_CLOCK_NUMBER || c->kind == LL_CLOCK_ELAPSED)
        return (ll_axis){
            .kind = LL_AXIS_NUMBER, .zone = "", .format = "", .unit = c->unit, .unit_ns = c->unit_ns
        };
    ll_axis a = LL_AXIS_UTC;
    if (c->kind == LL_CLOCK_FORMAT) a.format = c->format;
    if (c->kind == LL_CLOCK_EPOCH) {
        static const char *const words[] = { [LL_UNIT_NS] = "epoch ns",
                                             [LL_UNIT_US] = "epoch us",
                                             [LL_UNIT_MS] = "epoch ms",
                                             [LL_UNIT_S] = "epoch s" };
        ll_time_unit             unit = LL_UNIT_S;
        (void)ll_time_unit_parse(c->unit, strlen(c->unit), &unit); /* checked at init */
        a.format = words[unit];
    }
    if (c->zone != NULL) a.zone = ll_zone_name(c->zone);
    else if (c->zoned && !c->mixed && !c->unzoned) a.zone = c->suffix[0] == 'Z' ? "UTC" : c->suffix;
    else if (c->unzoned && !c->zoned) a.zone = "";
    return a;
}

/* ---- writing -------------------------------------------------------------------------------- */

llap_status ll_clock_writer_init(ll_clock_writer *w, const ll_axis *axis)
{
    *w = (ll_clock_writer){ .axis = *axis };
    if (axis->kind == LL_AXIS_NUMBER) return LLAP_OK;
    llap_status st = LLAP_OK;
    if (axis->zone[0] != '\0') st = ll_zone_create(axis->zone, strlen(axis->zone), NULL, &w->zone);
    if (st != LLAP_OK || axis->format[0] == '\0') return st;
    w->epoch = strncmp(axis->format, "epoch ", 6) == 0;
    w->formatted = !w->epoch;
    if (w->epoch) return ll_time_unit_parse(axis->format + 6, strlen(axis->format + 6), &w->unit);
    return ll_timefmt_init(&w->timefmt, axis->format, strlen(axis->format));
}

void ll_clock_writer_deinit(ll_clock_writer *w)
{
    ll_zone_destroy(w->zone);
    *w = (ll_clock_writer){ 0 };
}

llap_status ll_clock_write(const ll_clock_writer *w, int64_t t, char out[LL_TIMEFMT_TEXT_MAX],
                           size_t *len)
{
    static_assert(LL_TIMEFMT_TEXT_MAX >= LL_TIME_TEXT_MAX && LL_TIMEFMT_TEXT_MAX >= LL_NUMBER_PRINT,
                  "one buffer serves all");
    if (w->axis.kind == LL_AXIS_NUMBER) {
        *len = ll_number_print_ticks(t, w->axis.unit_ns, '.', out);
        return LLAP_OK;
    }
    if (w->epoch) {
        *len = ll_time_format_epoch(t, w->unit, out);
        return LLAP_OK;
    }
    if (!w->formatted) {
        *len = ll_time_format(t, w->zone, LL_DIGITS_EXACT, out);
        if (w->axis.zone[0] == '\0' && out[*len - 1] == 'Z') out[--*len] = '\0';
        return LLAP_OK;
    }
    int64_t     back;
    llap_status st = ll_timefmt_write(&w->timefmt, t, w->zone, LL_DIGITS_EXACT, out, len);
    if (st == LLAP_OK) st = ll_timefmt_parse(&w->timefmt, out, *len, w->zone, LL_WALL_ERROR, &back);
    if (st == LLAP_OK && back != t)
        st = ll_fail(LLAP_EINVAL, "time format '%s' cannot hold %lld ns exactly (it writes %s)",
                     w->axis.format, (long long)t, out);
    return st;
}

ll_clock_shown ll_clock_show(const ll_axis *axis, int64_t t)
{
    ll_clock_shown  s = { "?" };
    ll_clock_writer w;
    size_t          n = 1;
    if (ll_clock_writer_init(&w, axis) == LLAP_OK && ll_clock_write(&w, t, s.text, &n) == LLAP_OK)
        s.text[n] = '\0';
    ll_clock_writer_deinit(&w);
    return s;
}
