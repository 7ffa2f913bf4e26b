/* The filling of gaps by all sensors (src/fill): fitted on the training part, kept for the targets
 * that validation is better for. */
#ifndef LL_TRAIN_FILLING_H
#define LL_TRAIN_FILLING_H

#include "model/model.h"

/* m has its anchors. Sets m->filling, or leaves NULL: there is one column of one entity, too little
 * data, or the anchors fill every target as well. var [n_targets] of the panel. */
llap_status ll_train_filling(llap_model *m, const llap_panel *p, const int64_t *var,
                             const llap_train_opts *o);

#endif
