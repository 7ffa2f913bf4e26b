/* How a file writes its times: one clock reads them all into a panel's ticks and knows the axis.
 *
 *     ll_clock c;
 *     st = ll_clock_init(&c, "%d/%m/%Y %H.%M", NULL, "Europe/Rome");
 *     st = ll_clock_read(&c, "10/03/2004 18.00", 16, '.', &t);
 *     ll_axis axis = ll_clock_axis(&c);
 *     ll_clock_deinit(&c);
 *
 * Formats:
 *     rfc3339     2004-03-10T18:00:00Z; also with a blank, without zone or seconds, or a date
 *     epoch       a number since 1970 in the unit s, ms, us or ns
 *     number      a number in the unit: any duration ("min", "0.5h"), or none
 *     elapsed     HH:MM[:SS[.f]] since some beginning; hours may exceed 24
 *     parts       year, month, day, ... one by one (ll_clock_read_parts)
 *     otherwise   anything with a %: strptime (base/time/timefmt.h) */
#ifndef LL_DATA_CLOCK_H
#define LL_DATA_CLOCK_H

#include "base/time/timefmt.h"
#include "base/time/zone.h"
#include "data/panel.h"

typedef enum ll_clock_kind {
    LL_CLOCK_RFC3339,
    LL_CLOCK_EPOCH,
    LL_CLOCK_NUMBER,
    LL_CLOCK_ELAPSED,
    LL_CLOCK_PARTS,
    LL_CLOCK_FORMAT,
} ll_clock_kind;

enum { LL_CLOCK_TEXT = LL_TIMEFMT_MAX + 1, LL_CLOCK_PARTS_MAX = 6 };

typedef struct ll_clock {
    ll_clock_kind kind;
    char          format[LL_CLOCK_TEXT]; /* of LL_CLOCK_FORMAT, else its word above */
    char          unit[32];              /* "" when unknown */
    int64_t       unit_ns;
    ll_zone      *zone; /* NULL: none given, UTC */
    ll_wall       wall; /* of times that the zone shows twice or never; may be set after init */
    ll_timefmt    timefmt;

    /* what the times were like */
    char suffix[8]; /* zone of the first time that named one: "Z", "+08:00" */
    bool zoned, unzoned, mixed;

    char    day[10]; /* the last date read, and its midnight: most rows share their neighbour's */
    int64_t midnight;
} ll_clock;

/* unit and zone may be NULL. LLAP_EINVAL: no such format, unit or zone. The caller owns what is in
 * *c (ll_clock_deinit), also after a failure. */
llap_status ll_clock_init(ll_clock *c, const char *format, const char *unit, const char *zone);
void        ll_clock_deinit(ll_clock *c); /* { 0 } is fine */

/* Reads text[0..n); decimal is the point of numbers. LLAP_EFORMAT, LLAP_ELIMIT. */
llap_status ll_clock_read(ll_clock *c, const char *text, size_t n, char decimal, int64_t *out);

/* From year, month, day, hour, minute, second; the last ones may be absent. */
llap_status ll_clock_read_parts(ll_clock *c, const int32_t *part, int n_parts, int64_t *out);

/* The axis of the times read so far; its strings are borrowed from the clock. */
ll_axis ll_clock_axis(const ll_clock *c);

/* Writes times of an axis as its file did, so that they read back exactly:
 *     st = ll_clock_writer_init(&w, &panel->axis);
 *     st = ll_clock_write(&w, t, text, &len);
 *     ll_clock_writer_deinit(&w);
 * A format that cannot hold every tick (no seconds) loses none: LLAP_EINVAL at such a time. */
typedef struct ll_clock_writer {
    ll_axis      axis; /* strings borrowed from the axis given */
    ll_zone     *zone;
    bool         formatted, epoch;
    ll_timefmt   timefmt;
    ll_time_unit unit;
} ll_clock_writer;

llap_status ll_clock_writer_init(ll_clock_writer *w, const ll_axis *axis);
void        ll_clock_writer_deinit(ll_clock_writer *w);
llap_status ll_clock_write(const ll_clock_writer *w, int64_t t, char out[LL_TIMEFMT_TEXT_MAX],
                           size_t *len);

/* A time for a message. */
typedef struct ll_clock_shown {
    char text[LL_TIMEFMT_TEXT_MAX + 1];
} ll_clock_shown;

ll_clock_shown ll_clock_show(const ll_axis *axis, int64_t t);

#endif
