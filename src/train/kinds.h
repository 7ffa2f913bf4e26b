/* What kind of values a target has: what the user says, else what training shows. */
#ifndef LL_TRAIN_KINDS_H
#define LL_TRAIN_KINDS_H

#include "anchor/chain/chain.h"
#include "data/windows/split.h"
#include "model/model.h"

#include <llapdiff/log.h>
#include <llapdiff/model.h>

/* Of variable var, a target, of the panel of w: kind and bounds, from the training rows of split;
 * log: warned where they exceed bounds that the user gave; NULL: not. LLAP_EINVAL: a training value
 * cannot be of the kind that the user gave. */
llap_status ll_target_values(const ll_windows *w, const ll_split *split, const llap_train_opts *o,
                             const ll_model_frame *f, int64_t var, const llap_log *log,
                             ll_chain_values *out);

#endif
