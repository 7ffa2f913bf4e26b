/* The static inputs that a training was told of. */
#ifndef LL_TRAIN_STATICS_H
#define LL_TRAIN_STATICS_H

#include "predict/view/static_table.h"

#include <llapdiff/model.h>

/* Reads them (o->statics; NULL: there are none) and says what is missing. Columns of the data are
 * no targets: they are taken off target [*n_targets], and naming one is an error. Also after a
 * failure *t is the caller's to deinit. */
llap_status ll_train_statics(const llap_panel *p, const llap_train_opts *o, int64_t *target,
                             int64_t *n_targets, ll_static_table *t);

/* What became of them in the anchor of a target. */
void ll_train_say_statics(const llap_log *log, const ll_model_frame *f, const char *target,
                          const ll_anchor_model *a);

#endif
