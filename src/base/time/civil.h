/* The calendar: int64 nanoseconds since 1970-01-01T00:00:00Z and their year, month, day, hour, ...
 * in the proleptic Gregorian calendar, without leap seconds (POSIX time: every day has 86400 s).
 * int64 reaches from 1677-09-21T00:12:43.145224192Z to 2262-04-11T23:47:16.854775807Z.
 *
 *     ll_civil c = ll_civil_at(t, zone);            NULL zone: UTC
 *     feature[0] = c.hour, feature[1] = c.weekday, feature[2] = c.yday;
 *     c.day++ and so on, then
 *     llap_status st = ll_civil_to_ns(&c, &t);        refuses what is no date */
#ifndef LL_BASE_TIME_CIVIL_H
#define LL_BASE_TIME_CIVIL_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stdint.h>

#define LL_NS_PER_S INT64_C(1000000000)
#define LL_S_PER_DAY INT64_C(86400)
#define LL_NS_PER_HOUR (3600 * LL_NS_PER_S)
#define LL_NS_PER_DAY (LL_S_PER_DAY * LL_NS_PER_S)

typedef struct ll_zone ll_zone; /* zone.h */

typedef struct ll_civil {
    int32_t year;                 /* astronomical: 0 is 1 BC */
    int32_t month, day;           /* 1 .. 12, 1 .. 31 */
    int32_t hour, minute, second; /* 0 .. 23, 0 .. 59, 0 .. 59 */
    int32_t ns;                   /* 0 .. 999999999 */
    int32_t weekday;              /* 0 Monday .. 6 Sunday */
    int32_t yday;                 /* day of the year, 1 .. 366 */
    int32_t offset_s;             /* seconds east of UTC of this clock: local = UTC + offset */
} ll_civil;

/* The clock and calendar of zone (borrowed until return; NULL: UTC) at t: defined for every t. */
ll_civil ll_civil_at(int64_t t_ns, const ll_zone *zone);

/* The same for a clock that is offset_s (within +-26 h) ahead of UTC. */
ll_civil ll_civil_at_offset(int64_t t_ns, int32_t offset_s);

/* The instant that year .. ns and offset_s name; weekday and yday are not read.
 * LLAP_EINVAL: a field outside its range, or a day its month does not have.
 * LLAP_ELIMIT: the instant is outside int64. *out is written on success only. */
llap_status ll_civil_to_ns(const ll_civil *c, int64_t *out);

/* ---- pieces ---- */

/* Days from 1970-01-01 to the date. The month must be 1 .. 12; the day may be any number and
 * counts on from the first of the month. */
int64_t ll_days_from_date(int32_t year, int32_t month, int32_t day);

/* The date (year, month, day, weekday, yday of *c) of a day since 1970-01-01; |days| < 2^39. */
void ll_date_from_days(int64_t days, ll_civil *c);

bool    ll_is_leap_year(int32_t year);
int32_t ll_days_in_month(int32_t year, int32_t month); /* month 1 .. 12 */

/* s seconds + ns (|ns| < 10^9) as nanoseconds; false, and *out untouched, outside int64. */
bool ll_ns_from_parts(int64_t s, int64_t ns, int64_t *out);

/* The whole seconds of t, rounded down: what zones are asked with. */
int64_t ll_floor_s(int64_t t_ns);

/* Reports LLAP_ELIMIT for what: "WHAT is outside the range of times, 1677-... to 2262-...". */
llap_status ll_fail_time_range(const char *what);

#endif
