/* Static inputs while a chain is fitted; not for others. */
#ifndef LL_ANCHOR_CHAIN_CHAIN_STATIC_H
#define LL_ANCHOR_CHAIN_CHAIN_STATIC_H

#include "anchor/chain/chain.h"

static inline bool chain_has_statics(const ll_chain_opts *o) { return o->statics.n > 0; }

/* From mu and sd (or the rates of counts) of each series s [n_series], which are its own so far:
 * fits the ridges and sets those of the series that take theirs from them. Where they tell nothing,
 * pooled series have those of all. */
llap_status chain_take_statics(ll_chain *c, const ll_series *s, const ll_chain_opts *o);

/* What is known when all other links are: how sure the levels are. */
llap_status chain_finish_statics(ll_chain *c, const ll_series *s, const ll_chain_opts *o);

#endif
