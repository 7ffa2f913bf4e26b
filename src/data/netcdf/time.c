#include "data/netcdf/time.h"

#include "base/error.h"
#include "base/time/civil.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef __int128 int128;

enum { UNITS_MAX = 200 }; /* bytes; no unit is longer, and udunits need not see what is */

#define STEP_MAX (INT64_C(1) << 56)
#define ORIGIN_2001 INT64_C(978307200) /* 2001-01-01 in seconds since 1970 */
#define GREGORIAN (-13197600000.0)     /* 1582-10-15 in seconds since 2001 */

/* ---- numbers -------------------------------------------------------------------------------- */

static bool to_time(const ll_nc_clock *c, int128 ns, int64_t *t)
{
    ns += (int128)c->origin_s * 1000000000 + c->origin_ns;
    if (ns < INT64_MIN || ns > INT64_MAX) return false;
    *t = (int64_t)ns;
    return true;
}

bool ll_nc_clock_integer(const ll_nc_clock *c, int64_t value, int64_t *t)
{
    return to_time(c, (int128)value * c->step_ns, t);
}

/* a / 2^k to the nearest, halves away from zero; 1 <= k < 126. */
static int128 shift_round(int128 a, int k)
{
    const int128 half = (int128)1 << (k - 1), size = a < 0 ? -a : a;
    const int128 q = (size + half) >> k;
    return a < 0 ? -q : q;
}

/* The number m / 2^k stands for all times that would be stored as it: those within half of its last
 * bit, step / 2^(k+1), or within a quarter on the side of zero when m is a power of two. Finds the
 * roundest of them, which is what its writer meant: no two numbers have one in common. */
static bool roundest(int128 exact, int64_t m, int k, int digits, int64_t step, int128 *ns)
{
    static const int64_t grains[] = { 3600000000000, 60000000000, 1000000000, 1000000, 1000 };
    const int128         size = exact < 0 ? -exact : exact;
    const bool           lowest = (m < 0 ? -m : m) == INT64_C(1) << (digits - 1);
    for (size_t i = 0; i < sizeof grains / sizeof *grains; i++) {
        const int128 gap = (int128)grains[i] << k;
        const int128 near = (size + gap / 2) / gap * grains[i];
        const int128 away = (near << k) - size;
        if (away < 0 ? -away * (lowest ? 4 : 2) < step : away * 2 < step) {
            *ns = exact < 0 ? -near : near;
            return true;
        }
    }
    return false;
}

bool ll_nc_clock_real(const ll_nc_clock *c, double value, int digits, int64_t *t)
{
    if (!isfinite(value) || fabs(value) >= 0x1p63) return false;
    if (value == floor(value)) return ll_nc_clock_integer(c, (int64_t)value, t);
    int           e;
    const double  fraction = frexp(value, &e);
    const int64_t m = (int64_t)ldexp(fraction, digits); /* value = m / 2^k, exactly */
    const int     k = digits - e;                       /* > 0, as the value is not whole */
    const int128  exact = (int128)m * c->step_ns;       /* times 2^k: below 2^(53 + 56) */
    int128        ns = 0;
    if (k >= 120) return to_time(c, 0, t); /* less than half a nanosecond */
    /* from 2^64 on the last bit is worth less than a nanosecond: nothing to choose */
    if (k >= 64 || !roundest(exact, m, k, digits, c->step_ns, &ns)) ns = shift_round(exact, k);
    return to_time(c, ns, t);
}

/* ---- units ---------------------------------------------------------------------------------- */

/* udunits takes the 30th of February for the 1st of March, and month 13 for something else. */
static bool date_exists(const char *since)
{
    int y, m, d;
    while (isspace((unsigned char)*since)) since++;
    if (sscanf(since, "%9d-%9d-%9d", &y, &m, &d) != 3) return true; /* no such form */
    if (m < 1 || m > 12 || d < 1) return false;
    return d <= ll_days_in_month(y, m) || (y <= 1582 && y % 4 == 0 && m == 2 && d == 29);
}

const char *ll_nc_since(const char *units)
{
    for (const char *p = units; *p != '\0'; p++)
        if (strncasecmp(p, "since", 5) == 0) return p + 5;
    return NULL;
}

/* The zone of "... 00:00:00 +08:00": asks udunits what the text means without its end. */
static const char *zone_of(ll_nc_file *f, void *units, const char *text, double origin)
{
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1])) n--;
    size_t cut = n;
    while (cut > 0 && (isdigit((unsigned char)text[cut - 1]) || text[cut - 1] == ':')) cut--;
    if (cut == 0 || cut == n || (text[cut - 1] != '+' && text[cut - 1] != '-')) return "UTC";
    char without[UNITS_MAX + 1];
    snprintf(without, sizeof without, "%.*s", (int)(cut - 1), text);
    if (strchr(without, ':') == NULL) return "UTC"; /* a date ends in -01 too */
    const ll_nc_unit u = f->nc->units_parse(units, without);
    const int        minutes = (int)lround((u.origin - origin) / 60);
    if (u.kind != LL_NC_UNIT_SINCE || minutes == 0 || minutes < -1440 || minutes > 1440)
        return "UTC";
    const int size = minutes < 0 ? -minutes : minutes;
    return ll_arena_printf(&f->text, "%c%02d:%02d", minutes < 0 ? '-' : '+', size / 60, size % 60);
}

static llap_status check_calendar(ll_nc_file *f, const ll_nc_var *v, bool *proleptic)
{
    const char *calendar;
    llap_status st = ll_nc_att_text(f, v, "calendar", &calendar);
    if (st != LLAP_OK) return st;
    *proleptic = calendar != NULL && strcasecmp(calendar, "proleptic_gregorian") == 0;
    if (calendar == NULL || *proleptic || strcasecmp(calendar, "standard") == 0 ||
        strcasecmp(calendar, "gregorian") == 0)
        return LLAP_OK;
    return ll_fail(
        LLAP_EUNSUPPORTED,
        "%s: %s: calendar '%s' has dates that do not exist; expected standard, gregorian "
        "or proleptic_gregorian",
        f->path, v->name, calendar);
}

static llap_status set_origin(ll_nc_clock *c, ll_nc_file *f, void *units, const char *text,
                              const ll_nc_unit *u, bool proleptic)
{
    const double whole = floor(u->origin);
    int64_t      us = llround((u->origin - whole) * 1e6);
    c->origin_s = (int64_t)whole + ORIGIN_2001;
    if (us == 1000000) us = 0, c->origin_s++;
    c->origin_ns = (int32_t)us * 1000;
    if (proleptic && u->origin < GREGORIAN) {
        const int64_t julian = (int64_t)floor(u->origin / 86400) + ORIGIN_2001 / 86400;
        c->origin_s += (ll_days_from_date(u->year, u->month, u->day) - julian) * 86400;
    }
    c->axis = LL_AXIS_UTC;
    c->axis.zone = zone_of(f, units, text, u->origin);
    return c->axis.zone == NULL ? LLAP_ENOMEM : LLAP_OK;
}

/* The names that the rest of the library uses for the common units. */
static const char *short_name(int64_t step_ns, const char *text)
{
    static const struct {
        int64_t     ns;
        const char *name;
    } known[] = {
        { 1, "ns" },
        { 1000, "us" },
        { 1000000, "ms" },
        { 1000000000, "s" },
        { 60000000000, "min" },
        { 3600000000000, "h" },
        { 86400000000000, "d" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].ns == step_ns) return known[i].name;
    return text;
}

static llap_status fail_unit(const ll_nc_file *f, const ll_nc_var *v, const char *text,
                             const char *why)
{
    return ll_fail(LLAP_EFORMAT, "%s: %s: units '%s': %s", f->path, v->name, text, why);
}

static llap_status set_unit(ll_nc_clock *c, ll_nc_file *f, const ll_nc_var *v, void *units,
                            const char *text)
{
    if (strlen(text) > UNITS_MAX) return fail_unit(f, v, "...", "longer than any unit");
    const ll_nc_unit u = f->nc->units_parse(units, text);
    if (u.kind == LL_NC_UNIT_OTHER)
        return fail_unit(f, v, text, "expected a unit of time, as 'hours since 2000-01-01'");
    if (u.years)
        return fail_unit(f, v, text,
                         "a mean year or month is no calendar step; expected days or shorter");
    const double ns = u.scale * 1e9;
    if (!(ns < (double)STEP_MAX) || !(ns > 0.5) || fabs(ns - round(ns)) > 1e-9 * ns)
        return fail_unit(f, v, text, "expected a whole number of nanoseconds, at most two years");
    c->step_ns = llround(ns);
    if (u.kind != LL_NC_UNIT_SINCE) {
        c->axis = (ll_axis){ .kind = LL_AXIS_NUMBER, .zone = "", .format = "" };
        c->axis.unit = u.kind == LL_NC_UNIT_PLAIN ? "" : short_name(c->step_ns, text);
        c->axis.unit_ns = u.kind == LL_NC_UNIT_PLAIN ? 1000000000 : c->step_ns;
        return LLAP_OK;
    }
    const char *since = ll_nc_since(text);
    if (since != NULL && !date_exists(since)) return fail_unit(f, v, text, "there is no such date");
    bool        proleptic;
    llap_status st = check_calendar(f, v, &proleptic);
    return st != LLAP_OK ? st : set_origin(c, f, units, text, &u, proleptic);
}

/* Replaces what the writer kept because the unit alone does not say it. */
static llap_status restore_axis(ll_nc_clock *c, ll_nc_file *f, const ll_nc_var *v)
{
    const struct {
        const char  *att;
        const char **to;
    } texts[] = { { "llapdiff_zone", &c->axis.zone },
                  { "llapdiff_format", &c->axis.format },
                  { "llapdiff_unit", &c->axis.unit } };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text;
        llap_status st = ll_nc_att_text(f, v, texts[i].att, &text);
        if (st != LLAP_OK) return st;
        if (text != NULL) *texts[i].to = text;
    }
    ll_nc_numbers n;
    llap_status   st = ll_nc_att_numbers(f, v, "llapdiff_unit_ns", &n);
    if (st == LLAP_OK && n.n == 1 && ll_nc_is_integer(n.type)) {
        if (n.bits[0] <= 0)
            return ll_fail(LLAP_EFORMAT,
                           "%s: %s: llapdiff_unit_ns: expected more than 0, found %lld", f->path,
                           v->name, (long long)n.bits[0]);
        c->axis.unit_ns = n.bits[0];
    }
    return st;
}

llap_status ll_nc_clock_init(ll_nc_clock *c, ll_nc_file *f, const ll_nc_var *time)
{
    *c = (ll_nc_clock){ .step_ns = 1000000000 };
    c->axis = (ll_axis){
        .kind = LL_AXIS_NUMBER, .zone = "", .format = "", .unit = "", .unit_ns = 1000000000
    };
    const char *text;
    llap_status st = ll_nc_att_text(f, time, "units", &text);
    if (st == LLAP_OK && text != NULL && *text != '\0') {
        void *units = f->nc->units_open();
        if (units == NULL)
            return ll_fail(LLAP_EUNSUPPORTED,
                           "%s: the unit database of udunits cannot be read: install the package "
                           "libudunits2-data",
                           f->path);
        st = set_unit(c, f, time, units, text);
        f->nc->units_close(units);
    }
    return st == LLAP_OK ? restore_axis(c, f, time) : st;
}
