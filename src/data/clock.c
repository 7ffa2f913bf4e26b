#include "data/clock.h"

#include "base/duration.h"
#include "base/error.h"
#include "data/number.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char     *word;
    llap_clock_kind kind;
} formats[] = {
    { "rfc3339", LLAP_CLOCK_RFC3339 }, { "epoch", LLAP_CLOCK_EPOCH },
    { "number", LLAP_CLOCK_NUMBER },   { "elapsed", LLAP_CLOCK_ELAPSED },
    { "parts", LLAP_CLOCK_PARTS },
};

/* "min" or "0.5h" to nanoseconds. */
static llap_status read_unit(llap_clock *c, const char *unit)
{
    char         text[sizeof c->unit + 1];
    const bool   bare = unit[0] < '0' || unit[0] > '9';
    const size_t n = (size_t)snprintf(text, sizeof text, "%s%s", bare ? "1" : "", unit);
    if (n >= sizeof text || strlen(unit) >= sizeof c->unit)
        return llap_fail(LLAP_EINVAL, "time unit '%s': too long", unit);
    const llap_status st = llap_duration_parse(text, n, &c->unit_ns);
    if (st != LLAP_OK) return llap_fail_in(LLAP_EINVAL, "time unit '%s'", unit);
    if (c->unit_ns <= 0) return llap_fail(LLAP_EINVAL, "time unit '%s': not positive", unit);
    memcpy(c->unit, unit, strlen(unit) + 1);
    return LLAP_OK;
}

static llap_status choose_unit(llap_clock *c, const char *unit)
{
    c->unit_ns = LLAP_NS_PER_S;
    if (c->kind == LLAP_CLOCK_ELAPSED) return read_unit(c, "min");
    if (c->kind == LLAP_CLOCK_NUMBER)
        return unit == NULL || *unit == '\0' ? LLAP_OK : read_unit(c, unit);
    if (c->kind != LLAP_CLOCK_EPOCH) return LLAP_OK;
    llap_time_unit known;
    if (unit == NULL) unit = "s";
    const llap_status st = llap_time_unit_parse(unit, strlen(unit), &known);
    return st == LLAP_OK ? read_unit(c, unit) : llap_fail_in(LLAP_EINVAL, "time unit");
}

llap_status llap_clock_init(llap_clock *c, const char *format, const char *unit, const char *zone)
{
    *c = (llap_clock){ .kind = LLAP_CLOCK_FORMAT };
    const size_t n = strlen(format);
    if (n >= sizeof c->format) return llap_fail(LLAP_EINVAL, "time format '%s': too long", format);
    memcpy(c->format, format, n + 1);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(format, formats[i].word) == 0) c->kind = formats[i].kind;
    llap_status st = LLAP_OK;
    if (c->kind == LLAP_CLOCK_FORMAT) {
        if (strchr(format, '%') == NULL)
            return llap_fail(LLAP_EINVAL,
                             "time format '%s': expected rfc3339, epoch, number, elapsed or one "
                             "with %% in it",
                             format);
        st = llap_timefmt_init(&c->timefmt, format, n);
    }
    if (st == LLAP_OK) st = choose_unit(c, unit);
    if (st == LLAP_OK && zone != NULL && *zone != '\0')
        st = llap_zone_create(zone, strlen(zone), NULL, &c->zone);
    return st;
}

void llap_clock_deinit(llap_clock *c)
{
    llap_zone_destroy(c->zone);
    *c = (llap_clock){ 0 };
}

/* ---- reading -------------------------------------------------------------------------------- */

static int two_digits(const char *p)
{
    const unsigned a = (unsigned)(p[0] - '0'), b = (unsigned)(p[1] - '0');
    return a < 10 && b < 10 ? (int)(a * 10 + b) : 99;
}

/* DATEThh:mm:ss[Z] on the day of the time before, in UTC: the shape of most rows of most files. */
static bool same_day(const llap_clock *c, const char *text, size_t n, int64_t *out)
{
    if ((n != 19 && (n != 20 || text[19] != 'Z')) || memcmp(text, c->day, sizeof c->day) != 0 ||
        (text[10] != 'T' && text[10] != ' ') || text[13] != ':' || text[16] != ':')
        return false;
    if (n == 19 && c->zone != NULL) return false;
    const int hour = two_digits(text + 11), minute = two_digits(text + 14);
    const int second = two_digits(text + 17);
    if (hour > 23 || minute > 59 || second > 59) return false;
    return !__builtin_add_overflow(
        c->midnight, ((int64_t)hour * 3600 + minute * 60 + second) * LLAP_NS_PER_S, out);
}

static void remember_day(llap_clock *c, const char *text, size_t n)
{
    if (n < sizeof c->day) return;
    if (llap_time_parse(text, sizeof c->day, NULL, LLAP_WALL_ERROR, &c->midnight) == LLAP_OK)
        memcpy(c->day, text, sizeof c->day);
}

/* Books whether the time named its zone, and whether all named the same. */
static void note_zone(llap_clock *c, const char *text, size_t n)
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

static llap_status read_rfc3339(llap_clock *c, const char *text, size_t n, int64_t *out)
{
    const bool fast = same_day(c, text, n, out);
    if (!fast) {
        const llap_status st = llap_time_parse(text, n, c->zone, c->wall, out);
        if (st != LLAP_OK) return st;
        remember_day(c, text, n);
    }
    if (n == 20 && c->zoned && c->suffix[0] == 'Z' && !c->mixed) return LLAP_OK;
    note_zone(c, text, n);
    return LLAP_OK;
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
             llap_number_ticks(seconds, (size_t)(end - seconds), decimal, LLAP_NS_PER_S, &rest) &&
             rest < 60 * LLAP_NS_PER_S;
    }
    if (!ok)
        return llap_fail(LLAP_EFORMAT, "expected a time HH:MM or HH:MM:SS, found '%.*s'",
                         (int)(n < 48 ? n : 48), text);
    const int64_t minutes = hours * 60 + two_digits(p + 1);
    int64_t       t;
    if (__builtin_mul_overflow(minutes, 60 * LLAP_NS_PER_S, &t) ||
        __builtin_add_overflow(t, rest, &t))
        return llap_fail_time_range("elapsed time");
    *out = negative ? -t : t;
    return LLAP_OK;
}

llap_status llap_clock_read(llap_clock *c, const char *text, size_t n, char decimal, int64_t *out)
{
    switch (c->kind) {
    case LLAP_CLOCK_RFC3339:
        return read_rfc3339(c, text, n, out);
    case LLAP_CLOCK_FORMAT:
        c->unzoned = true;
        return llap_timefmt_parse(&c->timefmt, text, n, c->zone, c->wall, out);
    case LLAP_CLOCK_ELAPSED:
        return read_elapsed(text, n, decimal, out);
    case LLAP_CLOCK_EPOCH:
    case LLAP_CLOCK_NUMBER:
        if (llap_number_ticks(text, n, decimal, c->unit_ns, out)) return LLAP_OK;
        return llap_fail(LLAP_EFORMAT, "expected a time as a number, found '%.*s'",
                         (int)(n < 48 ? n : 48), text);
    case LLAP_CLOCK_PARTS:
        break;
    }
    return llap_fail(LLAP_EINVAL, "time format 'parts' needs several columns");
}

llap_status llap_clock_read_parts(llap_clock *c, const int32_t *part, int n_parts, int64_t *out)
{
    llap_civil civil = { .year = part[0],
                         .month = n_parts > 1 ? part[1] : 1,
                         .day = n_parts > 2 ? part[2] : 1,
                         .hour = n_parts > 3 ? part[3] : 0,
                         .minute = n_parts > 4 ? part[4] : 0,
                         .second = n_parts > 5 ? part[5] : 0 };
    const bool midnight = civil.hour == 24 && civil.minute == 0 && civil.second == 0;
    if (midnight) civil.hour = 0; /* the end of the day */
    int64_t     local;
    llap_status st = llap_civil_to_ns(&civil, &local);
    if (st == LLAP_OK && midnight &&
        __builtin_add_overflow(local, LLAP_S_PER_DAY * LLAP_NS_PER_S, &local))
        st = llap_fail_time_range("time");
    int32_t offset_s = 0;
    if (st == LLAP_OK) st = llap_zone_resolve(c->zone, llap_floor_s(local), c->wall, &offset_s);
    if (st == LLAP_OK && __builtin_sub_overflow(local, offset_s * LLAP_NS_PER_S, out))
        st = llap_fail_time_range("time");
    c->unzoned = true;
    return st;
}

llap_axis llap_clock_axis(const llap_clock *c)
{
    if (c->kind == LLAP_CLOCK_NUMBER || c->kind == LLAP_CLOCK_ELAPSED)
        return (llap_axis){ .kind = LLAP_AXIS_NUMBER,
                            .zone = "",
                            .format = "",
                            .unit = c->unit,
                            .unit_ns = c->unit_ns };
    llap_axis a = LLAP_AXIS_UTC;
    if (c->kind == LLAP_CLOCK_FORMAT) a.format = c->format;
    if (c->kind == LLAP_CLOCK_EPOCH) {
        static const char *const words[] = { [LLAP_UNIT_NS] = "epoch ns",
                                             [LLAP_UNIT_US] = "epoch us",
                                             [LLAP_UNIT_MS] = "epoch ms",
                                             [LLAP_UNIT_S] = "epoch s" };
        llap_time_unit           unit = LLAP_UNIT_S;
        (void)llap_time_unit_parse(c->unit, strlen(c->unit), &unit); /* checked at init */
        a.format = words[unit];
    }
    if (c->zone != NULL) a.zone = llap_zone_name(c->zone);
    else if (c->zoned && !c->mixed && !c->unzoned) a.zone = c->suffix[0] == 'Z' ? "UTC" : c->suffix;
    else if (c->unzoned && !c->zoned) a.zone = "";
    return a;
}

/* ---- writing -------------------------------------------------------------------------------- */

llap_status llap_clock_writer_init(llap_clock_writer *w, const llap_axis *axis)
{
    *w = (llap_clock_writer){ .axis = *axis };
    if (axis->kind == LLAP_AXIS_NUMBER) return LLAP_OK;
    llap_status st = LLAP_OK;
    if (axis->zone[0] != '\0')
        st = llap_zone_create(axis->zone, strlen(axis->zone), NULL, &w->zone);
    if (st != LLAP_OK || axis->format[0] == '\0') return st;
    w->epoch = strncmp(axis->format, "epoch ", 6) == 0;
    w->formatted = !w->epoch;
    if (w->epoch) return llap_time_unit_parse(axis->format + 6, strlen(axis->format + 6), &w->unit);
    return llap_timefmt_init(&w->timefmt, axis->format, strlen(axis->format));
}

void llap_clock_writer_deinit(llap_clock_writer *w)
{
    llap_zone_destroy(w->zone);
    *w = (llap_clock_writer){ 0 };
}

llap_status llap_clock_write(const llap_clock_writer *w, int64_t t, char out[LLAP_TIMEFMT_TEXT_MAX],
                             size_t *len)
{
    static_assert(LLAP_TIMEFMT_TEXT_MAX >= LLAP_TIME_TEXT_MAX &&
                      LLAP_TIMEFMT_TEXT_MAX >= LLAP_NUMBER_PRINT,
                  "one buffer serves all");
    if (w->axis.kind == LLAP_AXIS_NUMBER) {
        *len = llap_number_print_ticks(t, w->axis.unit_ns, '.', out);
        return LLAP_OK;
    }
    if (w->epoch) {
        *len = llap_time_format_epoch(t, w->unit, out);
        return LLAP_OK;
    }
    if (!w->formatted) {
        *len = llap_time_format(t, w->zone, LLAP_DIGITS_EXACT, out);
        if (w->axis.zone[0] == '\0' && out[*len - 1] == 'Z') out[--*len] = '\0';
        return LLAP_OK;
    }
    int64_t     back;
    llap_status st = llap_timefmt_write(&w->timefmt, t, w->zone, LLAP_DIGITS_EXACT, out, len);
    if (st == LLAP_OK)
        st = llap_timefmt_parse(&w->timefmt, out, *len, w->zone, LLAP_WALL_ERROR, &back);
    if (st == LLAP_OK && back != t)
        st = llap_fail(LLAP_EINVAL, "time format '%s' cannot hold %lld ns exactly (it writes %s)",
                       w->axis.format, (long long)t, out);
    return st;
}

llap_clock_shown llap_clock_show(const llap_axis *axis, int64_t t)
{
    llap_clock_shown  s = { "?" };
    llap_clock_writer w;
    size_t            n = 1;
    if (llap_clock_writer_init(&w, axis) == LLAP_OK &&
        llap_clock_write(&w, t, s.text, &n) == LLAP_OK)
        s.text[n] = '\0';
    llap_clock_writer_deinit(&w);
    return s;
}
