/* src/train/rivals: published models, trained as ours are: windows, split and scales of the frame,
 * the loop and states of train/run, early stopping by CRPS on validation.
 *
 *   rivals.h  this file
 *   train.c   from options to a model: windows, sizes, options
 *   recipe.c  how each of them is trained unless told
 *   stage.c   the stage: batches, losses, learning rates
 *   check.c   CRPS of validation
 *
 * May touch: base, base/json, base/time, base/rng, backend, graph, nn, data, data/windows, rivals,
 * rivals/feed, stack, fill, model, predict, predict/view, predict/rivals, train/run. */
#ifndef LL_TRAIN_RIVALS_RIVALS_H
#define LL_TRAIN_RIVALS_RIVALS_H

#include "nn/loss_trainer.h"
#include "predict/rivals/rivals.h"
#include "train/run/recipe.h"
#include "train/run/run.h"

#include <llapdiff/model.h>

/* The model that o->rival names, with o->rival_options; var [n_targets] are the variables of the
 * frame's targets. Caller owns *out. */
llap_status ll_rival_train(const llap_panel *p, const llap_train_opts *o, const ll_json *config,
                           const ll_model_frame *f, const int64_t *var, const ll_backend *backend,
                           llap_model **out);

/* -------- inside -------- */

typedef struct ll_rival_training {
    const llap_train_opts *o;
    const ll_model_frame  *frame;
    const ll_backend      *backend;
    ll_windows            *windows;
    ll_split              *split;
    ll_rival_model        *r;    /* what is trained ends here */
    ll_rival_view          view; /* of the panel, through r */
    ll_recipe              recipe;
    uint32_t              *train, *check; /* [n_train], [n_check] windows */
    int64_t                n_train, n_check;
} ll_rival_training;

/* Of so many windows of training; config may change it. */
llap_status ll_rival_recipe(const ll_rival_training *t, const ll_json *config, ll_recipe *out);
double      ll_rival_lr(const ll_recipe_rival *how, int64_t step); /* from 0 */

ll_rival_window ll_rival_training_window(const ll_rival_training *t, uint32_t i, bool read);

llap_status ll_rival_run(ll_rival_training *t, ll_training_run *run);

/* Mean CRPS of the windows t->check on training's scale; params are of the backend. NaN: an answer
 * was not finite. */
llap_status ll_rival_check_crps(const ll_rival_training *t, const ll_params *params, double *score);

#endif
