/* One JSON file that describes a run: read beside the options of llap_train, and kept with the
 * model for another run. */
#ifndef LL_TRAIN_RUN_CONFIG_H
#define LL_TRAIN_RUN_CONFIG_H

#include "base/json/json.h"
#include "model/model.h"
#include "train/run/recipe.h"

#include <llapdiff/model.h>

/* The options with those of the file o->config where o has none, resolved (base/options.h): numbers
 * and words are what holds, but for size, whose default depends on the profile; *config is that
 * file, or an object of o->network and o->training; NULL without any of the three. Strings of out
 * borrow from o and *config, which the caller owns (ll_json_destroy). LLAP_EFORMAT names a key
 * that is unknown, misread or out of range. All functions below take options that come from here.
 */
llap_status ll_train_config(const llap_train_opts *o, llap_train_opts *out, ll_json **config);

/* Whether a batch of so many rows can go in the micro-batches of the options, and as many processes
 * as there are can share these out. LLAP_EOPTION; of several ranks the first one says it. */
llap_status ll_train_micro_batches(const llap_train_opts *o, int64_t batch);

/* The options of a training as its model keeps them: m->training, or *text (caller owns,
 * ll_free), is a file as above, for another run. Files that were given, parts and from, are not
 * named in it. */
llap_status ll_train_options_text(const llap_train_opts *o, const ll_json *config,
                                  const ll_recipe *r, char **text);
llap_status ll_train_options_keep(const llap_train_opts *o, const ll_json *config,
                                  const ll_recipe *r, llap_model *m);

#endif
