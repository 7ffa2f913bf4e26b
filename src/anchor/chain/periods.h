/* Periods that no calendar names: of numbers as times, or where somebody asks for them.
 *
 *     ll_periods p;
 *     llap_status st = ll_periods_find(u, n_series, &p);      p.n of them, p.span[i] long
 *
 * At most three, the strongest first. Frequencies from four cycles of the record to what the gaps
 * resolve, a quarter of a cycle apart. A peak must stand 24 times over the background around it,
 * which is red for red noise, and what it explains with its harmonics must be 2 % of the variance:
 * white noise and a first-order process have none. */
#ifndef LL_ANCHOR_CHAIN_PERIODS_H
#define LL_ANCHOR_CHAIN_PERIODS_H

#include "anchor/chain/chain.h"

/* y of the series is what is looked at, in any unit; NaN: missing. Of many series or rows some are
 * looked at: eight series, 16384 rows. Series may have phases of their own. */
llap_status ll_periods_find(const ll_series *s, size_t n, ll_periods *out);

/* The first three of these spans (> 0) with the harmonics that rows `gap` apart resolve. */
ll_periods ll_periods_given(const double *span, int32_t n, double gap);

#endif
