/* What the files of training share. */
#ifndef LLAP_TASK_TRAIN_H
#define LLAP_TASK_TRAIN_H

#include "base/json.h"

#include <llapdiff/model.h>

/* The options with those of the file o->config where o has none; *config is that file, NULL without
 * one. Strings of out borrow from o and *config, which the caller owns (llap_json_destroy).
 * LLAP_EFORMAT names a key that is unknown, misread or out of range. */
llap_status task_train_config(const llap_train_opts *o, llap_train_opts *out, llap_json **config);

/* What can be said about the options and the data before anything is fitted: LLAP_OK, or what
 * llap_train would refuse after the same look. */
llap_status task_train_check(const llap_panel *panel, const llap_train_opts *o);

/* The options that were given as members of an open object: what such a file says.
 */
void task_train_config_write(llap_json_writer *w, const llap_train_opts *o);

#endif
