/* What the mean function of a chain (climate and known inputs) is made of at one time.
 *
 *     ll_chain_components c;
 *     ll_chain_components_at(chain, e, in, t, &c);
 *     c.level + c.daily + ... = ll_chain_mean(chain, e, in, t), but for rounding
 *
 * Not of counts, whose climate is the mean of their law. */
#ifndef LL_ANCHOR_CHAIN_CHAIN_COMPONENTS_H
#define LL_ANCHOR_CHAIN_CHAIN_COMPONENTS_H

#include "anchor/chain/chain.h"

typedef struct ll_chain_components {
    double level;                   /* what does not change */
    double daily;                   /* over the day, also where the day changes over the year */
    double weekly, annual;          /* of the few terms or the profile */
    double holidays;                /* what is different because the day is a holiday */
    double period[LL_PERIODS_MAX];  /* of each period in the place of the calendar */
    double input[LL_KNOWN_COLUMNS]; /* by known column: what its values differ by from its mean */
} ll_chain_components;

void ll_chain_components_at(const ll_chain *c, size_t e, const ll_inputs *in, double t,
                            ll_chain_components *out);

/* The mean of counts at t as level and what the week adds to it. */
void ll_chain_count_components(const ll_chain *c, size_t e, double t, double *level, double *week);

#endif
