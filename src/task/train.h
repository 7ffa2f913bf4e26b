/* What the files of training share. */
#ifndef LLAP_TASK_TRAIN_H
#define LLAP_TASK_TRAIN_H

#include "base/json.h"
#include "model/model.h"
#include "task/recipe.h"
#include "task/training.h"

#include <llapdiff/model.h>

/* The options with those of the file o->config where o has none; *config is that file, or an object
 * of o->network and o->training; NULL without any of the three. Strings of out borrow from o and
 * *config, which the caller owns (llap_json_destroy).
 * LLAP_EFORMAT names a key that is unknown, misread or out of range. */
llap_status task_train_config(const llap_train_opts *o, llap_train_opts *out, llap_json **config);

/* What can be said about the options and the data before anything is fitted: LLAP_OK, or what
 * llap_train would refuse after the same look. */
llap_status task_train_check(const llap_panel *panel, const llap_train_opts *o);

/* The options of a training as its model keeps them: m->training, or *text (caller owns,
 * llap_free), is a file as above, for another run. Files that were given, parts and from, are not
 * named in it. */
llap_status task_train_text(const llap_train_opts *o, const llap_json *config, const task_recipe *r,
                            char **text);
llap_status task_train_remember(const llap_train_opts *o, const llap_json *config,
                                const task_recipe *r, llap_model *m);

/* The stage `anchor` of a run: an anchor for each of the frame's targets, variables var of the
 * panel, into anchor [n_targets]. The caller owns them, also after a failure. */
llap_status task_anchors_fit(task_training *run, const llap_panel *p, const llap_train_opts *o,
                             const task_recipe_anchor *recipe, const llap_model_frame *f,
                             const int64_t *var, llap_anchor_model **anchor);

/* Room that they take in a state, at most, in numbers of a task_stage_size. */
size_t task_anchors_numbers(const llap_model_frame *f);

#endif
