/* Whether every series takes its scale from its static inputs; not for others. */
#ifndef LL_ANCHOR_STATIC_CHOOSE_H
#define LL_ANCHOR_STATIC_CHOOSE_H

#include "anchor/model.h"

enum { ANCHOR_STATICS = 2 }; /* candidates */

/* Of pooled series, the model so far with levels and deviations that static inputs tell, which must
 * gain 1 % on validation: with the kappa that it has, and with the one that the variances within
 * and between entities ask for. */
llap_status anchor_choose_statics(const ll_anchor_data *d, const ll_anchor_model_opts *o,
                                  ll_anchor_model **best);

#endif
