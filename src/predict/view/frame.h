/* A panel seen through the frame of a model: its time axis, the columns of the targets, windows and
 * their parts. */
#ifndef LL_PREDICT_VIEW_FRAME_H
#define LL_PREDICT_VIEW_FRAME_H

#include "data/pack.h"
#include "data/windows/split.h"
#include "model/model.h"

/* Refuses a panel whose time axis is not of the kind that the model was trained on, and a packed
 * one that was changed. */
llap_status ll_check_axis(const llap_model *m, const llap_panel *p);

/* The variable of the panel for each target, [n_targets]. LLAP_EINVAL names the columns that are
 * missing and those that are there. */
llap_status ll_target_columns(const llap_model *m, const llap_panel *p, int64_t *var);

/* The windows of a panel as the model's frame says, about these variables. By time, windows whose
 * horizon goes beyond the record are left out, so that all leads weigh the same. By entity,
 * contexts may begin before the record where most entities would have no window otherwise. Caller
 * owns *out.
 */
llap_status ll_frame_windows(const ll_model_frame *f, const llap_panel *p, const int64_t *target,
                             int64_t n_targets, ll_windows **out);

/* Which part of the model's training every window belongs to. Entities that training did not see
 * test, by entity; by time they are parted as all others. Caller owns *out (ll_split_destroy). */
llap_status ll_frame_split(const ll_model_frame *f, const ll_windows *w, ll_split **out);

/* Adds "; windows that end at T, T and 3 more" to a message. */
void ll_frame_name_windows(const ll_model_frame *f, const int64_t *end, int64_t n, char *text,
                           size_t size);

#endif
