/* How the series of a model move together, from what its anchors are wrong by. */
#ifndef LL_TRAIN_JOINT_H
#define LL_TRAIN_JOINT_H

#include "model/model.h"
#include <llapdiff/log.h>

/* Finds the joint law of the anchors of m (docs/spec/anchor.md 11) on training and validation
 * windows of the panel it was trained on, variables var; m->joint stays NULL where nothing is
 * correlated. Same bytes for any number of threads. */
llap_status ll_train_joint(llap_model *m, const llap_panel *p, const int64_t *var,
                           const llap_log *log);

#endif
