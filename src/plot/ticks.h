/* Where an axis has its marks, and what they say: round numbers, dates, durations.
 *
 *     llap_tick tick[LLAP_TICKS_MAX];
 *     int n = llap_ticks_time(&panel->axis, zone, first, length, 8, tick);
 *     for (int i = 0; i < n; i++) draw(left + tick[i].at * width, tick[i].label); */
#ifndef LLAP_PLOT_TICKS_H
#define LLAP_PLOT_TICKS_H

#include "base/zone.h"
#include "data/panel.h"

#define LLAP_TICKS_MAX 32

typedef struct llap_tick {
    double at; /* 0 .. 1 along the axis */
    char   label[32];
} llap_tick;

/* Times from first to first + length (> 0), at most most (2 .. LLAP_TICKS_MAX) of them: on the
 * clock of zone (NULL: UTC) for a calendar, else in units of the axis. Returns how many. */
int llap_ticks_time(const llap_axis *axis, const llap_zone *zone, int64_t first, uint64_t length,
                    int most, llap_tick *out);

/* Round numbers from first to first + length (> 0), at most most (2 .. LLAP_TICKS_MAX). */
int llap_ticks_number(double first, double length, int most, llap_tick *out);

/* Gaps on a logarithmic axis from least to largest ticks (0 < least < largest), not closer than
 * apart (0 .. 1): lengths that people use, or 1, 2, 5, 10, ... where the axis has no unit of time.
 * Not in order. */
int llap_ticks_gap(const llap_axis *axis, double least, double largest, double apart,
                   llap_tick *out);

/* The gap as people say it: "1h", "1d12h"; a number where the axis has no unit of time. */
typedef struct llap_gap_text {
    char text[48];
} llap_gap_text;

llap_gap_text llap_gap_show(const llap_axis *axis, int64_t gap);

#endif
