/* How a file writes its times: one clock reads them all into a panel's ticks and knows the axis.
 *
 *     llap_clock c;
 *     st = llap_clock_init(&c, "%d/%m/%Y %H.%M", NULL, "Europe/Rome");
 *     st = llap_clock_read(&c, "10/03/2004 18.00", 16, '.', &t);
 *     llap_axis axis = llap_clock_axis(&c);
 *     llap_clock_deinit(&c);
 *
 * Formats:
 *     rfc3339     2004-03-10T18:00:00Z, also with a blank, without zone or seconds, or the date
 * alone epoch       a number since 1970 in the unit s, ms, us or ns number      a number in the
 * unit: any duration ("min", "0.5h"), or none elapsed     HH:MM[:SS[.f]] since some beginning;
 * hours may exceed 24 parts       year, month, day, ... one by one (llap_clock_read_parts) anything
 * with a %: strptime (base/timefmt.h) */
#ifndef LLAP_DATA_CLOCK_H
#define LLAP_DATA_CLOCK_H

#include "base/timefmt.h"
#include "base/zone.h"
#include "data/panel.h"

typedef enum llap_clock_kind {
    LLAP_CLOCK_RFC3339,
    LLAP_CLOCK_EPOCH,
    LLAP_CLOCK_NUMBER,
    LLAP_CLOCK_ELAPSED,
    LLAP_CLOCK_PARTS,
    LLAP_CLOCK_FORMAT,
} llap_clock_kind;

enum { LLAP_CLOCK_TEXT = LLAP_TIMEFMT_MAX + 1, LLAP_CLOCK_PARTS_MAX = 6 };

typedef struct llap_clock {
    llap_clock_kind kind;
    char            format[LLAP_CLOCK_TEXT]; /* of LLAP_CLOCK_FORMAT, else its word above */
    char            unit[32];                /* "" when unknown */
    int64_t         unit_ns;
    llap_zone      *zone; /* NULL: none given, UTC */
    llap_wall       wall; /* of times that the zone shows twice or never; may be set after init */
    llap_timefmt    timefmt;

    /* what the times were like */
    char suffix[8]; /* zone of the first time that named one: "Z", "+08:00" */
    bool zoned, unzoned, mixed;

    char    day[10]; /* the last date read, and its midnight: most rows share their neighbour's */
    int64_t midnight;
} llap_clock;

/* unit and zone may be NULL. LLAP_EINVAL: no such format, unit or zone. The caller owns what is in
 * *c (llap_clock_deinit), also after a failure. */
llap_status llap_clock_init(llap_clock *c, const char *format, const char *unit, const char *zone);
void        llap_clock_deinit(llap_clock *c); /* { 0 } is fine */

/* Reads text[0..n); decimal is the point of numbers. LLAP_EFORMAT, LLAP_ELIMIT. */
llap_status llap_clock_read(llap_clock *c, const char *text, size_t n, char decimal, int64_t *out);

/* From year, month, day, hour, minute, second; the last ones may be absent. */
llap_status llap_clock_read_parts(llap_clock *c, const int32_t *part, int n_parts, int64_t *out);

/* The axis of the times read so far; its strings are borrowed from the clock. */
llap_axis llap_clock_axis(const llap_clock *c);

/* Writes times of an axis as its file did, so that they read back exactly:
 *     st = llap_clock_writer_init(&w, &panel->axis);
 *     st = llap_clock_write(&w, t, text, &len);
 *     llap_clock_writer_deinit(&w);
 * A format that cannot hold every tick (no seconds) loses none: LLAP_EINVAL at such a time. */
typedef struct llap_clock_writer {
    llap_axis      axis; /* strings borrowed from the axis given */
    llap_zone     *zone;
    bool           formatted, epoch;
    llap_timefmt   timefmt;
    llap_time_unit unit;
} llap_clock_writer;

llap_status llap_clock_writer_init(llap_clock_writer *w, const llap_axis *axis);
void        llap_clock_writer_deinit(llap_clock_writer *w);
llap_status llap_clock_write(const llap_clock_writer *w, int64_t t, char out[LLAP_TIMEFMT_TEXT_MAX],
                             size_t *len);

/* A time for a message. */
typedef struct llap_clock_shown {
    char text[LLAP_TIMEFMT_TEXT_MAX + 1];
} llap_clock_shown;

llap_clock_shown llap_clock_show(const llap_axis *axis, int64_t t);

#endif
