/* Where an axis has its marks, and what they say: round numbers, dates, durations.
 *
 *     ll_tick tick[LL_TICKS_MAX];
 *     int n = ll_ticks_time(&panel->axis, zone, first, length, 8, tick);
 *     for (int i = 0; i < n; i++) draw(left + tick[i].at * width, tick[i].label); */
#ifndef LL_PLOT_TICKS_H
#define LL_PLOT_TICKS_H

#include "base/time/zone.h"
#include "data/panel.h"

#define LL_TICKS_MAX 32

typedef struct ll_tick {
    double at; /* 0 .. 1 along the axis */
    char   label[32];
} ll_tick;

/* Times from first to first + length (> 0), at most most (2 .. LL_TICKS_MAX) of them, of hours of
 * few days half as many more: on the clock of zone (NULL: UTC) for a calendar, else in units of the
 * axis. Returns how many. */
int ll_ticks_time(const ll_axis *axis, const ll_zone *zone, int64_t first, uint64_t length,
                  int most, ll_tick *out);

/* Round numbers from first to first + length (> 0), at most most (2 .. LL_TICKS_MAX). */
int ll_ticks_number(double first, double length, int most, ll_tick *out);

/* Gaps on a logarithmic axis from least to largest ticks (0 < least < largest), not closer than
 * apart (0 .. 1): lengths that people use, or 1, 2, 5, 10, ... where the axis has no unit of time.
 * Not in order. */
int ll_ticks_gap(const ll_axis *axis, double least, double largest, double apart, ll_tick *out);

/* The gap as people say it: "1h", "1d12h"; a number where the axis has no unit of time. */
typedef struct ll_gap_text {
    char text[48];
} ll_gap_text;

ll_gap_text ll_gap_show(const ll_axis *axis, int64_t gap);

#endif
