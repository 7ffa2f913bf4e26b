/* What the networks of the default profile are trained on.
 *
 *     ll_training_set f;
 *     st = ll_training_set_init(&f, &frame, p, var, o, size, config);      layout and recipe
 *     ... the anchors are fitted ...
 *     if (st == LLAP_OK) st = ll_training_set_see(&f, m, p, config);       rows and features
 *     ... f.train, f.recipe.networks ...
 *     ll_training_set_deinit(&f);                                also after a failure */
#ifndef LL_TRAIN_TRAINING_SET_H
#define LL_TRAIN_TRAINING_SET_H

#include "data/windows/scaling.h"
#include "predict/view/panel_view.h"
#include "train/run/recipe.h"

#include <llapdiff/model.h>

typedef struct ll_training_set { /* everything that training looks at */
    ll_windows     *windows;
    ll_split       *split;
    ll_scaling     *scaling; /* of the inputs; NULL: none */
    const char    **input;   /* names */
    int64_t         n_inputs;
    ll_layout       layout; /* before ll_training_set_see: as large as it may become */
    ll_panel_view   view;
    ll_examples     train_list, check_list, final_list;
    ll_feature_set *train, *check, *final;

    const ll_backend *backend; /* that trains and draws */
    ll_recipe         recipe;
    int64_t           batch; /* rows of a step */
} ll_training_set;

/* Of the frame's targets, variables var of the panel, as the options of llap_train and "network"
 * and "training" of the configuration (NULL: none) say. */
llap_status ll_training_set_init(ll_training_set *f, const ll_model_frame *frame,
                                 const llap_panel *p, const int64_t *var, const llap_train_opts *o,
                                 ll_size size, const ll_json *config);
/* So many steps, and what follows from them, in the recipe. */
llap_status ll_training_set_steps(ll_training_set *f, const ll_model_frame *frame, int64_t steps,
                                  const llap_train_opts *o, ll_size size, const ll_json *config);
/* With the model's anchors. Borrows m and p until deinit. */
llap_status ll_training_set_see(ll_training_set *f, const llap_model *m, const llap_panel *p,
                                const ll_json *config);
void        ll_training_set_deinit(ll_training_set *f); /* { 0 } is fine */

#endif
