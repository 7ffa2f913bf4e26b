/* src/base/time: instants as int64 nanoseconds since 1970, and how people write them. All of it is
 * exact integer arithmetic.
 *
 *   civil.h     the calendar
 *   zone.h      time zones (tzif.h and tzrule.c inside)
 *   time.h      RFC 3339 and epoch numbers, this file
 *   timefmt.h   formats as strptime has them
 *   duration.h  14d, 1h30m
 *   timetext.h  the cursor that all of them share
 *
 * May touch: base. */

/* Times as text: RFC 3339 / ISO 8601 and epoch numbers to int64 nanoseconds and back. Formats in
 * the manner of strptime are in timefmt.h, the calendar in civil.h, zones in zone.h.
 *
 *     int64_t t;
 *     llap_status st = ll_time_parse("2024-05-01 12:30", 16, rome, LL_WALL_ERROR, &t);
 *     char text[LL_TIME_TEXT_MAX];
 *     ll_time_format(t, rome, LL_DIGITS_EXACT, text);          2024-05-01T12:30:00+02:00
 *
 * Texts are (pointer, length) and need no NUL. Nothing allocates or depends on the locale. *out is
 * written on success only. LLAP_EFORMAT: not a time (the detail names position, what was expected
 * and what was found); LLAP_ELIMIT: outside int64 nanoseconds. */
#ifndef LL_BASE_TIME_TIME_H
#define LL_BASE_TIME_TIME_H

#include "base/time/civil.h"
#include "base/time/zone.h"

#include <stddef.h>

/* ---- RFC 3339, ISO 8601 ---- */

/* Reads
 *     YYYY-MM-DD[(T| )hh:mm[:ss[(.|,)f]][Z|+hh:mm|+hhmm|+hh]]
 * with T and Z in either case and f of 1 to 9 digits. More digits are refused, not rounded.
 *   - No offset: the wall time of zone (borrowed until return; NULL: UTC), where it is ambiguous
 *     as wall says. A date alone is its midnight.
 *   - 24:00[:00[.0]] is the end of the day, the next day's 00:00.
 *   - Second 60 is a leap second: allowed as 23:59:60 UTC (or that moment in another offset) only,
 *     and, as in POSIX time, the same instant as the following 00:00:00. */
llap_status ll_time_parse(const char *text, size_t n, const ll_zone *zone, ll_wall wall,
                          int64_t *out);

#define LL_DIGITS_EXACT (-1) /* fraction digits: as few as are exact */
#define LL_TIME_TEXT_MAX 40

/* Writes YYYY-MM-DDThh:mm:ss[.f](Z|+hh:mm) and a NUL, returns the length. digits: 0 .. 9 fraction
 * digits, cut and not rounded (above 9 reads as 9), or LL_DIGITS_EXACT. Z stands where the zone
 * is UTC at all times. Parsing gives t back (less what was cut), whatever the zone: an offset with
 * seconds (local mean time before about 1900) is cut to minutes, and the clock shown agrees with
 * the offset shown. */
size_t ll_time_format(int64_t t, const ll_zone *zone, int digits, char out[LL_TIME_TEXT_MAX]);

/* ---- numbers since 1970 ---- */

typedef enum ll_time_unit { LL_UNIT_NS, LL_UNIT_US, LL_UNIT_MS, LL_UNIT_S } ll_time_unit;

/* "s", "ms", "us" or "ns". */
llap_status ll_time_unit_parse(const char *text, size_t n, ll_time_unit *out);

/* Writes the number with as few fraction digits as are exact, and a NUL; returns the length. */
size_t ll_time_format_epoch(int64_t t, ll_time_unit unit, char out[LL_TIME_TEXT_MAX]);

#endif
