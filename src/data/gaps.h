/* The gaps between the rows of a panel: how regular it is, and which grid would suit it.
 *
 *     llap_gaps g;
 *     st = llap_gaps_measure(panel, &g);
 *     g.usual, g.usual_share            1 h, 0.97 */
#ifndef LLAP_DATA_GAPS_H
#define LLAP_DATA_GAPS_H

#include "data/panel.h"

typedef struct llap_gaps { /* in ticks of the axis; all 0 without two rows of one entity */
    int64_t n;
    int64_t least, median, p95, most; /* order statistics: the value at index n/2, 19n/20, ... */
    int64_t usual;                    /* the most frequent one; the shortest of equals */
    double  usual_share;              /* of all gaps */
    double  multiple_share;           /* gaps that are whole multiples of the usual one */
    int64_t grid;                     /* suggestion for a grid, see llap_gaps_grid */
} llap_gaps;

llap_status llap_gaps_measure(const llap_panel *p, llap_gaps *out);

/* The usual gap where at least half of the gaps are it; else the length that people use (1 s ... 30
 * min, 1 h ... 12 h, 1 d, 1 w) nearest to the median in ratio, or whole days where that is more
 * than two weeks. For axes without unit: the usual gap, else the median. 0: no gaps. */
int64_t llap_gaps_grid(const llap_gaps *g, const llap_axis *axis);

#endif
