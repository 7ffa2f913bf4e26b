/* Glitches: single readings far from everything around them (65535, a spike of a sensor). A value
 * of a series is compared with the median of the five observed values around it; at both ends the
 * five are those of the end. Further away than the limit, which training has set, it counts as
 * missing. Behind the last two readings there is nobody to confirm or deny them: where training
 * shows that such values tend to stay, they are only dropped when three times as far.
 *
 *     bool drop[5];
 *     ll_glitch_mark(y, 5, (ll_glitch_rule){ limit, end, 0 }, drop);
 *
 * A jump larger than the limit is believed from its third reading on. */
#ifndef LL_ANCHOR_CHAIN_GLITCH_H
#define LL_ANCHOR_CHAIN_GLITCH_H

#include "anchor/chain/chain.h"

typedef struct ll_glitch_rule {
    double limit; /* 0: there are no glitches */
    double end;   /* >= 1: of the last two observed values the limit is limit * end */
    /* Largest value of a training that is all above 0, or 0. What is always positive moves by
     * shares of its level: where the median lies above top the limit grows with it, as that of a
     * price that has risen tenfold must. */
    double top;
} ll_glitch_rule;

/* Sets drop [n] of y [n] (NaN: missing, never dropped). Fewer than five observed values: none. */
void ll_glitch_mark(const double *y, size_t n, ll_glitch_rule rule, bool *drop);

/* The same for whoever looks at all windows of a series at once: each value as the last one, so
 * that no later value decides. A jump larger than the limit loses its first two readings.
 * rule.end is not looked at. */
void ll_glitch_mark_past(const double *y, size_t n, ll_glitch_rule rule, bool *drop);

/* Learns limit [n + 1] of each series, the last of all together, and end (1 or 3):
 *     limit = max(8 q.975 |r|, 3 (q.84 - q.16 of y)), 0, no limit, where that is 0
 * Of counts a single large one is a sale: limit = 1000 (1 + q.975 of y).
 * pooled: all have the last. LLAP_ENOMEM. */
llap_status ll_glitch_fit(const ll_series *s, size_t n, bool pooled, bool counts, double *limit,
                          double *end);

#endif
