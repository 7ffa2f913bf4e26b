/* The filling of gaps by all sensors (src/fill): fitted on the training part, kept for the targets
 * that validation is better for. */
#ifndef LL_TRAIN_FILLING_H
#define LL_TRAIN_FILLING_H

#include "train/run/run.h"

/* m has its anchors. Sets m->filling, or leaves NULL: there is one column of one entity, too little
 * data, or the anchors fill every target as well. var [n_targets] of the panel. What is found is in
 * the states of the run from then on: a run that goes on after it does not fit it again, one that
 * was stopped inside goes on with the second of two fits, or with the choice after them. */
llap_status ll_train_filling(llap_model *m, ll_training_run *run, const llap_panel *p,
                             const int64_t *var, const llap_train_opts *o);

#endif
