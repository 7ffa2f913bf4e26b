/* The anchor of each target: which of its windows fit and which choose. */
#ifndef LL_TRAIN_ANCHORS_H
#define LL_TRAIN_ANCHORS_H

#include "train/run/recipe.h"
#include "train/run/run.h"

#include <llapdiff/model.h>

/* The stage `anchor` of a run: an anchor for each of the frame's targets, variables var of the
 * panel, into anchor [n_targets]. The caller owns them, also after a failure. statics: of the
 * entities of the panel. */
llap_status ll_anchors_fit(ll_training_run *run, const llap_panel *p, const llap_train_opts *o,
                           const ll_recipe_anchor *recipe, const ll_model_frame *f,
                           const ll_static_opts *statics, const int64_t *var,
                           ll_anchor_model **anchor);

/* Room that they take in a state, at most, in numbers of a ll_stage_size. */
size_t ll_anchors_numbers(const ll_model_frame *f);

#endif
