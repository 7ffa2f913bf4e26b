/* Whether networks fill gaps, decided on validation like everything else about them. */
#ifndef LL_TRAIN_FILL_CHOICE_H
#define LL_TRAIN_FILL_CHOICE_H

#include "model/model.h"
#include "train/run/recipe.h"

#include <llapdiff/model.h>

/* Hides readings of the validation part and asks anchor and networks for them. Where the networks
 * are better by a share of CRPS and by some standard errors (fill_gain and fill_errors of r), they
 * will fill: sets fill_past and fill_both of the features. */
llap_status ll_fill_choice(llap_model *m, const llap_panel *p, const llap_train_opts *o,
                           const ll_recipe_networks *r);

#endif
