/* The contest of the curves that a kind of values has of its own: counts, and values between two
 * bounds; not for others. */
#ifndef LL_ANCHOR_CHOOSE_KIND_H
#define LL_ANCHOR_CHOOSE_KIND_H

#include "anchor/window.h"

/* Steps of all candidates that the kind of the values has. */
int64_t anchor_kind_steps(const ll_anchor_model_opts *o);

/* Puts one of them in the place of *best where validation is clearly for it: by 1 %. */
llap_status anchor_choose_kind(const ll_anchor_data *d, const ll_anchor_model_opts *o,
                               ll_anchor_model **best);

#endif
