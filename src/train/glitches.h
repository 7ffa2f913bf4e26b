/* Which readings of a target count as missing because they are far from all around them: said once,
 * with their number and the first places, before anything is learned from the rest. */
#ifndef LL_TRAIN_GLITCHES_H
#define LL_TRAIN_GLITCHES_H

#include "anchor/chain/chain.h"
#include "data/panel.h"

#include <llapdiff/log.h>

/* Of variable var of the panel that c was fitted on. LLAP_ENOMEM. */
llap_status ll_train_say_glitches(const llap_log *log, const llap_panel *p, int64_t var,
                                  const ll_chain *c);

#endif
