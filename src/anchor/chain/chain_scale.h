/* Mean and deviation of a series, as the first link of a chain has them; not for others. */
#ifndef LL_ANCHOR_CHAIN_CHAIN_SCALE_H
#define LL_ANCHOR_CHAIN_CHAIN_SCALE_H

#include "anchor/chain/chain.h"

/* Of the values of one series that has some; a constant one is divided by 1. */
void chain_scale_of(const ll_series *s, double *mu, double *sd);

#endif
