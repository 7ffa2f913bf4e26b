/* The static inputs that a training was told of. */
#ifndef LL_TRAIN_STATICS_H
#define LL_TRAIN_STATICS_H

#include "predict/view/static_table.h"

#include <llapdiff/model.h>

typedef struct ll_train_columns { /* of the panel */
    int64_t       *target, *n_targets;
    const int64_t *known;
    int64_t        n_known;
} ll_train_columns;

/* Reads them (o->statics; NULL: those that the data has by itself, numbers and words that never
 * change within an entity and are neither targets nor known; "none": none) and says what is
 * missing. Columns of the data that o->statics names are no targets: they are taken off target,
 * and naming one as both is an error. Also after a failure *t is the caller's to deinit. */
llap_status ll_train_statics(const llap_panel *p, const llap_train_opts *o,
                             const ll_train_columns *of, ll_static_table *t);

/* What became of them in the anchor of a target. */
void ll_train_say_statics(const llap_log *log, const ll_model_frame *f, const char *target,
                          const ll_anchor_model *a);

#endif
