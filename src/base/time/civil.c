#include "base/time/civil.h"

#include "base/error.h"
#include "base/time/zone.h"

static const int16_t days_before_month[2][13] = {
    { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365 },
    { 0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366 },
};

static int64_t floor_div(int64_t a, int64_t b) { return (a >= 0 ? a : a - (b - 1)) / b; }

int64_t ll_floor_s(int64_t t_ns)
{
    const int64_t q = t_ns / LL_NS_PER_S; /* floor_div would overflow at INT64_MIN */
    return q - (t_ns < q * LL_NS_PER_S);
}

bool ll_is_leap_year(int32_t year)
{
    /* A multiple of 4 and of 25 is one of 100, and then it must be one of 16. */
    return (year & (year % 25 == 0 ? 15 : 3)) == 0;
}

int32_t ll_days_in_month(int32_t year, int32_t month)
{
    const int16_t *before = days_before_month[ll_is_leap_year(year)];
    return before[month] - before[month - 1];
}

int64_t ll_days_from_date(int32_t year, int32_t month, int32_t day)
{
    /* Leap days before 1 January of the year; 719528 days lead from 0000-01-01 to 1970. */
    const int64_t y = (int64_t)year - 1;
    const int64_t leap_days = floor_div(y, 4) - floor_div(y, 100) + floor_div(y, 400) + 1;
    return (int64_t)year * 365 + leap_days - 719528 +
           days_before_month[ll_is_leap_year(year)][month - 1] + day - 1;
}

void ll_date_from_days(int64_t days, ll_civil *c)
{
    /* Years are counted from 1 March 0000, so that the leap day ends a year, a century and an era
     * of 400 years (146097 days) alike; 719468 days lead from there to 1970. */
    const int64_t day0 = days + 719468, era = floor_div(day0, 146097);
    const int32_t d = (int32_t)(day0 - era * 146097);                /* 0 .. 146096 */
    const int32_t y = (d - d / 1460 + d / 36524 - d / 146096) / 365; /* 0 .. 399 */
    const int32_t from_march = d - (365 * y + y / 4 - y / 100);      /* 0 .. 365 */
    const int32_t m = (5 * from_march + 2) / 153;                    /* 0 March .. 11 */
    const bool    next = m >= 10;                                    /* January, February */
    c->year = (int32_t)(era * 400) + y + next;
    c->month = m + (next ? -9 : 3);
    c->day = from_march - (153 * m + 2) / 5 + 1;
    c->weekday = (int32_t)(days + 3 - 7 * floor_div(days + 3, 7)); /* 1970-01-01: Thursday */
    c->yday = days_before_month[ll_is_leap_year(c->year)][c->month - 1] + c->day;
}

ll_civil ll_civil_at_offset(int64_t t_ns, int32_t offset_s)
{
    const int64_t t_s = ll_floor_s(t_ns);
    const int64_t local_s = t_s + offset_s; /* seconds: cannot overflow where nanoseconds would */
    const int64_t days = floor_div(local_s, LL_S_PER_DAY);
    const int32_t s = (int32_t)(local_s - days * LL_S_PER_DAY);
    ll_civil      c = {
             .hour = s / 3600, .minute = s / 60 % 60, .second = s % 60, .offset_s = offset_s
    };
    c.ns = (int32_t)((uint64_t)t_ns - (uint64_t)t_s * (uint64_t)LL_NS_PER_S);
    ll_date_from_days(days, &c);
    return c;
}

ll_civil ll_civil_at(int64_t t_ns, const ll_zone *zone)
{
    return ll_civil_at_offset(t_ns, ll_zone_at(zone, ll_floor_s(t_ns)).offset_s);
}

bool ll_ns_from_parts(int64_t s, int64_t ns, int64_t *out)
{
    if (s < 0 && ns > 0) { /* INT64_MIN itself is a whole second below the range and a fraction */
        s++;
        ns -= LL_NS_PER_S;
    }
    int64_t t;
    if (__builtin_mul_overflow(s, LL_NS_PER_S, &t) || __builtin_add_overflow(t, ns, &t))
        return false;
    *out = t;
    return true;
}

llap_status ll_fail_time_range(const char *what)
{
    return ll_fail(LLAP_ELIMIT,
                   "%s is outside the range of times, 1677-09-21T00:12:43.145224192Z to "
                   "2262-04-11T23:47:16.854775807Z",
                   what);
}

llap_status ll_civil_to_ns(const ll_civil *c, int64_t *out)
{
    const struct {
        const char *name;
        int32_t     value, low, high;
    } fields[] = {
        { "month", c->month, 1, 12 },
        { "day", c->day, 1, 31 },
        { "hour", c->hour, 0, 23 },
        { "minute", c->minute, 0, 59 },
        { "second", c->second, 0, 59 },
        { "nanosecond", c->ns, 0, 999999999 },
        { "offset", c->offset_s, -93600, 93600 },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].value < fields[i].low || fields[i].value > fields[i].high)
            return ll_fail(LLAP_EINVAL, "%s: expected %d..%d, found %d", fields[i].name,
                           fields[i].low, fields[i].high, fields[i].value);
    const int32_t last = ll_days_in_month(c->year, c->month);
    if (c->day > last)
        return ll_fail(LLAP_EINVAL, "day: expected 1..%d in %d-%02d, found %d", last, c->year,
                       c->month, c->day);
    const int64_t days = ll_days_from_date(c->year, c->month, c->day);
    const int64_t s = ((days * 24 + c->hour) * 60 + c->minute) * 60 + c->second - c->offset_s;
    if (!ll_ns_from_parts(s, c->ns, out)) return ll_fail_time_range("this date");
    return LLAP_OK;
}
