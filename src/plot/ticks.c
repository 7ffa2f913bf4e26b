#include "plot/ticks.h"

#include "base/time/civil.h"
#include "base/time/duration.h"

#include <stdio.h>

/* ---- the calendar ---------------------------------------------------------------------------- */

typedef struct step { /* either is 0 */
    int64_t seconds;
    int32_t months;
} step;

static const step steps[] = {
    { 1, 0 },      { 2, 0 },      { 5, 0 },      { 10, 0 },      { 15, 0 },    { 30, 0 },
    { 60, 0 },     { 120, 0 },    { 300, 0 },    { 600, 0 },     { 900, 0 },   { 1800, 0 },
    { 3600, 0 },   { 7200, 0 },   { 10800, 0 },  { 21600, 0 },   { 43200, 0 }, { 86400, 0 },
    { 172800, 0 }, { 345600, 0 }, { 604800, 0 }, { 1209600, 0 }, { 0, 1 },     { 0, 2 },
    { 0, 3 },      { 0, 6 },      { 0, 12 },     { 0, 24 },      { 0, 60 },    { 0, 120 },
    { 0, 240 },    { 0, 600 },    { 0, 1200 },   { 0, 6000 },
};

static double seconds_of(step s)
{
    return s.months > 0 ? (double)s.months * 30.44 * 86400 : (double)s.seconds;
}

static bool has_hours(step s) { return s.months == 0 && s.seconds >= 60 && s.seconds < 86400; }

/* Of hours the first mark and those of midnight name the day, so that there is room for more. */
static void label_date(step s, const ll_civil *c, bool first, ll_tick *t)
{
    const size_t n = sizeof t->label;
    if (s.months >= 12) snprintf(t->label, n, "%04d", (int)c->year);
    else if (s.months > 0) snprintf(t->label, n, "%04d-%02d", (int)c->year, (int)c->month);
    else if (s.seconds >= 86400)
        snprintf(t->label, n, "%04d-%02d-%02d", (int)c->year, (int)c->month, (int)c->day);
    else if (has_hours(s) && c->hour == 0 && c->minute == 0)
        snprintf(t->label, n, "%02d-%02d", (int)c->month, (int)c->day);
    else if (has_hours(s) && first)
        snprintf(t->label, n, "%02d-%02d %02d:%02d", (int)c->month, (int)c->day, (int)c->hour,
                 (int)c->minute);
    else if (has_hours(s)) snprintf(t->label, n, "%02d:%02d", (int)c->hour, (int)c->minute);
    else snprintf(t->label, n, "%02d:%02d:%02d", (int)c->hour, (int)c->minute, (int)c->second);
}

static int64_t floor_to(int64_t a, int64_t b) { return a - ((a % b) + b) % b; }

/* The k-th mark at or after the mark before first, in seconds of the local clock. Weeks begin on
 * Monday; 1970-01-01 was a Thursday. */
static int64_t mark(step s, const ll_civil *from, int64_t local_s, int64_t k)
{
    const int64_t monday = s.seconds % 604800 == 0 ? 4 * LL_S_PER_DAY : 0;
    if (s.months == 0) return floor_to(local_s - monday, s.seconds) + monday + k * s.seconds;
    const int64_t month =
        floor_to((int64_t)from->year * 12 + from->month - 1, s.months) + k * s.months;
    const int64_t year = floor_to(month, 12) / 12;
    return ll_days_from_date((int32_t)year, (int32_t)(month - 12 * year) + 1, 1) * LL_S_PER_DAY;
}

static int calendar_ticks(step s, const ll_zone *zone, int64_t first, uint64_t length, ll_tick *out)
{
    const ll_civil from = ll_civil_at(first, zone);
    const int64_t  local_s = ll_floor_s(first) + from.offset_s;
    int            n = 0;
    for (int64_t k = 0; k < 2 * LL_TICKS_MAX && n < LL_TICKS_MAX; k++) {
        const int64_t wall = mark(s, &from, local_s, k);
        int32_t       east = 0;
        int64_t       t;
        if (ll_zone_resolve(zone, wall, LL_WALL_LATER, &east) != LLAP_OK ||
            !ll_ns_from_parts(wall - east, 0, &t) || t < first)
            continue;
        if ((uint64_t)t - (uint64_t)first > length) break;
        const ll_civil c = ll_civil_at(t, zone);
        out[n].at = (double)((uint64_t)t - (uint64_t)first) / (double)length;
        label_date(s, &c, n == 0, &out[n]);
        n++;
    }
    return n;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten: the least that is x or more. */
static double round_up(double x)
{
    const double ten = pow(10, floor(log10(x)));
    return x <= ten ? ten : x <= 2 * ten ? 2 * ten : x <= 5 * ten ? 5 * ten : 10 * ten;
}

int ll_ticks_number(double first, double length, int most, ll_tick *out)
{
    const double by = round_up(length / (most - 1));
    int          n = 0;
    for (double k = ceil(first / by); k * by <= first + length && n < most; k++) {
        out[n].at = (k * by - first) / length;
        snprintf(out[n++].label, sizeof out->label, "%.10g", k == 0 ? 0.0 : k * by);
    }
    return n;
}

int ll_ticks_time(const ll_axis *axis, const ll_zone *zone, int64_t first, uint64_t length,
                  int most, ll_tick *out)
{
    const double unit = (double)axis->unit_ns;
    if (axis->kind == LL_AXIS_NUMBER)
        return ll_ticks_number((double)first / unit, (double)length / unit, most, out);
    const double seconds = (double)length * 1e-9;
    if (seconds < 2) /* counted from the beginning of the second */
        return ll_ticks_number(ll_civil_at(first, NULL).ns * 1e-9, seconds, most, out);
    size_t i = 0;
    for (; i + 1 < sizeof steps / sizeof *steps; i++) {
        /* Of few days one wants the hours, and their labels are short. */
        const bool   hours = has_hours(steps[i]) && seconds < 3.5 * 86400;
        const double room = hours ? 1.5 * most : most - 1;
        if (seconds / seconds_of(steps[i]) <= fmin(room, LL_TICKS_MAX - 1)) break;
    }
    return calendar_ticks(steps[i], zone, first, length, out);
}

/* ---- gaps ------------------------------------------------------------------------------------ */

static bool has_unit(const ll_axis *axis)
{
    return axis->kind == LL_AXIS_CALENDAR || axis->unit[0] != '\0';
}

static int add_gap(double at, double apart, const char *label, ll_tick *out, int n)
{
    if (n == LL_TICKS_MAX || at < 0 || at > 1) return n;
    for (int i = 0; i < n; i++)
        if (fabs(out[i].at - at) < apart) return n;
    out[n].at = at;
    snprintf(out[n].label, sizeof out->label, "%s", label);
    return n + 1;
}

/* The first ones of a table are the ones that matter most: later ones fill the room between. */
static int duration_ticks(double least, double largest, double apart, ll_tick *out)
{
    static const struct {
        double      ns;
        const char *label;
    } known[] = {
        { 1, "1 ns" },           { 1e3, "1 us" },      { 1e6, "1 ms" },     { 1e9, "1 s" },
        { 60e9, "1 min" },       { 3600e9, "1 h" },    { 86400e9, "1 d" },  { 31557600e9, "1 y" },
        { 604800e9, "1 w" },     { 10e9, "10 s" },     { 600e9, "10 min" }, { 21600e9, "6 h" },
        { 1e1, "10 ns" },        { 1e2, "100 ns" },    { 1e4, "10 us" },    { 1e5, "100 us" },
        { 1e7, "10 ms" },        { 1e8, "100 ms" },    { 2592e12, "30 d" }, { 315576e12, "10 y" },
        { 3155760e12, "100 y" }, { 1800e9, "30 min" }, { 30e9, "30 s" },    { 43200e9, "12 h" },
        { 10800e9, "3 h" },      { 7200e9, "2 h" },    { 172800e9, "2 d" }, { 300e9, "5 min" },
        { 120e9, "2 min" },      { 900e9, "15 min" },  { 7776e12, "90 d" }, { 1209600e9, "2 w" },
        { 345600e9, "4 d" },     { 5e9, "5 s" },       { 2e9, "2 s" },      { 14400e9, "4 h" },
    };
    int n = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        n = add_gap(log(known[i].ns / least) / log(largest / least), apart, known[i].label, out, n);
    return n;
}

static int power_ticks(double least, double largest, double apart, ll_tick *out)
{
    static const int times[] = { 1, 2, 5 };
    int              n = 0;
    for (int i = 0; i < 3; i++)
        for (double e = floor(log10(least)); e <= log10(largest); e++) {
            char         label[32];
            const double x = times[i] * pow(10, e);
            snprintf(label, sizeof label, "%.10g", x);
            n = add_gap(log(x / least) / log(largest / least), apart, label, out, n);
        }
    return n;
}

int ll_ticks_gap(const ll_axis *axis, double least, double largest, double apart, ll_tick *out)
{
    const double unit = (double)axis->unit_ns;
    if (has_unit(axis)) return duration_ticks(least, largest, apart, out);
    return power_ticks(least / unit, largest / unit, apart, out);
}

ll_gap_text ll_gap_show(const ll_axis *axis, int64_t gap)
{
    ll_gap_text s;
    if (!has_unit(axis))
        snprintf(s.text, sizeof s.text, "%.6g", (double)gap / (double)axis->unit_ns);
    else if (gap < 60 * LL_NS_PER_S) ll_duration_format(gap, s.text);
    else { /* to the second: people read this */
        const int64_t half = gap % LL_NS_PER_S >= LL_NS_PER_S / 2 ? LL_NS_PER_S : 0;
        const int64_t whole = gap - gap % LL_NS_PER_S;
        ll_duration_format(whole <= INT64_MAX - half ? whole + half : whole, s.text);
    }
    return s;
}
