/* Durations as people write them, to int64 nanoseconds and back, exactly.
 *
 *     int64_t ns;
 *     llap_status st = ll_duration_parse("14d", 3, &ns);
 *     char text[LL_DURATION_TEXT_MAX];
 *     ll_duration_format(ns, text);                                14d
 *
 * Two ways to write one, each with an optional sign in front:
 *   - numbers with units, the larger first: 14d  48h  90min  1h30m  1.5h  -500ms  2 weeks
 *       w week weeks     d day days      h hr hour hours    m min mins minute minutes
 *       s sec secs second seconds        ms    us (also with the sign for micro)   ns
 *   - ISO 8601: P1DT12H  PT0.5S  P2W
 * The last number may have a fraction (1.5h, also 1,5h), which must come out at whole nanoseconds.
 * A week is 7 days, a day 24 hours. Months and years have no fixed length and are refused; so is a
 * number without a unit. */
#ifndef LL_BASE_TIME_DURATION_H
#define LL_BASE_TIME_DURATION_H

#include <llapdiff/status.h>
#include <stddef.h>
#include <stdint.h>

/* Reads text[0..n). LLAP_EFORMAT: not a duration, or finer than a nanosecond. LLAP_ELIMIT: beyond
 * int64 (292 years). *out is written on success only. */
llap_status ll_duration_parse(const char *text, size_t n, int64_t *out);

#define LL_DURATION_TEXT_MAX 40

/* Writes whole numbers of d, h, min, s, ms, us and ns, without the zero ones, and a NUL: 1d12h,
 * -1s500ms; zero is 0s. Returns the length. Parsing gives every int64 back. */
size_t ll_duration_format(int64_t ns, char out[LL_DURATION_TEXT_MAX]);

#endif
