/* The gaps between the rows of a panel: how regular it is, and which grid would suit it.
 *
 *     ll_gaps g;
 *     st = ll_gaps_measure(panel, &g);
 *     g.usual, g.usual_share            1 h, 0.97 */
#ifndef LL_DATA_GAPS_H
#define LL_DATA_GAPS_H

#include "data/panel.h"

typedef struct ll_gaps { /* in ticks of the axis; all 0 without two rows of one entity */
    int64_t n;
    int64_t least, median, p95, most; /* order statistics: the value at index n/2, 19n/20, ... */
    int64_t usual;                    /* the most frequent one; the shortest of equals */
    double  usual_share;              /* of all gaps */
    double  multiple_share;           /* gaps that are whole multiples of the usual one */
    int64_t middle;                   /* median of the gaps within 15 % of the median */
    double  middle_share;             /* of all gaps: near 1 for a step with jitter */
    int64_t grid;                     /* suggestion for a grid, see ll_gaps_grid */
} ll_gaps;

llap_status ll_gaps_measure(const llap_panel *p, ll_gaps *out);

/* The usual gap where at least half of the gaps are it. Else, where half of them are near the
 * median, a step with jitter: their middle, rounded to whole days, hours, halves, quarters, 10 or
 * 5 min within 4 %, or minutes or seconds within 2 %. Else the length that people use (1 s ... 30
 * min, 1 h ... 12 h, 1 d, 1 w) nearest to the median in ratio, or whole days where that is more
 * than two weeks. For axes without unit: the usual gap, else the median. 0: no gaps. */
int64_t ll_gaps_grid(const ll_gaps *g, const ll_axis *axis);

#endif
