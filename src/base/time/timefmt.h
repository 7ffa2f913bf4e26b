/* Times in a format of the user's, in the manner of strptime and strftime but without locale: what
 * was read in a format can be written in it.
 *
 *     ll_timefmt f;
 *     llap_status  st = ll_timefmt_init(&f, "%d/%m/%Y %H:%M", 14);    checks the format, once
 *     st = ll_timefmt_parse(&f, text, n, rome, LL_WALL_ERROR, &t);
 *     char out[LL_TIMEFMT_TEXT_MAX];
 *     size_t len;
 *     st = ll_timefmt_write(&f, t, rome, LL_DIGITS_EXACT, out, &len);
 *
 *     %Y  year, 4 digits              %H  hour 0..24                %z  Z, +hh:mm, +hhmm or +hh
 *     %y  year, 2 digits: 69..99 is   %I  hour 1..12, with %p           (written +hhmm)
 *         1969..1999, 00..68 is       %p  AM or PM                  %Z  UTC, GMT or Z (written UTC)
 *         2000..2068                  %M  minute 0..59              %s  seconds since 1970, signed
 *     %m  month 1..12                 %S  second 0..60              %F  %Y-%m-%d
 *     %b  Jan  %B  January            %f  1 to 9 digits behind      %D  %m/%d/%y
 *     %d  day 1..31                       the point of a second     %T  %H:%M:%S
 *     %e  the same, written with      %a  Mon  %A  Monday;          %R  %H:%M
 *         a space for the zero            must agree with the date  %n %t  newline, tab
 *     %j  day of the year 1..366                                    %%  the sign itself
 *
 * Reading: month, day, hour, minute, second may have one digit or two, %j one to three; names in
 * either case; blanks in the format (also %n, %t) match one or more blanks; every other character
 * is itself. All of the text must be used. 24:00, second 60 and wall times in gaps and folds are
 * as ll_time_parse says. Writing: fixed widths, zeros in front.
 *
 * A format must name an instant: a year and month and day, or %Y %j, or %s alone (with %f if
 * wanted). Hours are optional, minutes need hours, seconds need minutes, %f needs seconds, %z needs
 * minutes; nothing twice. %e %f %s vary in width and must not be followed by digits. */
#ifndef LL_BASE_TIME_TIMEFMT_H
#define LL_BASE_TIME_TIMEFMT_H

#include "base/time/time.h"

#define LL_TIMEFMT_MAX 128      /* characters and conversions of a format */
#define LL_TIMEFMT_TEXT_MAX 256 /* bytes of any time written in one, the closing NUL included */

/* A checked format. Plain data: copy it, share it between threads; nothing to free. */
typedef struct ll_timefmt {
    uint32_t used;   /* bit i: conversion i of the table in timefmt.c occurs */
    uint32_t fields; /* bit i: field i does */
    uint32_t n;
    uint8_t  step[LL_TIMEFMT_MAX];    /* index of a conversion, or a character of the text */
    char     literal[LL_TIMEFMT_MAX]; /* that character */
} ll_timefmt;

/* Checks the format text[0..n); keeps nothing of it. LLAP_EINVAL: unknown conversion (with its
 * position), or not enough or too much to name an instant. LLAP_ELIMIT: too long. */
llap_status ll_timefmt_init(ll_timefmt *f, const char *text, size_t n);

/* Reads text[0..n); zone (borrowed until return; NULL: UTC) and wall count where the format has
 * neither %z nor %Z nor %s. *out is written on success only. LLAP_EFORMAT, LLAP_ELIMIT. */
llap_status ll_timefmt_parse(const ll_timefmt *f, const char *text, size_t n, const ll_zone *zone,
                             ll_wall wall, int64_t *out);

/* Writes t, as zone's clock shows it, with a NUL; *len is the length without it. A format with %Z
 * is written in UTC. digits is for %f: 1 .. 9, cut and not rounded, or LL_DIGITS_EXACT (at least
 * one). Without %z or %Z the text of a time in a fold does not tell which of the two it is.
 * LLAP_ELIMIT: %y, and the year is outside 1969..2068. */
llap_status ll_timefmt_write(const ll_timefmt *f, int64_t t, const ll_zone *zone, int digits,
                             char out[LL_TIMEFMT_TEXT_MAX], size_t *len);

#endif
