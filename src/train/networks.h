/* Training the networks of the default profile on top of a model's anchors. */
#ifndef LL_TRAIN_NETWORKS_H
#define LL_TRAIN_NETWORKS_H

#include "predict/network_members.h"
#include "train/run/run.h"
#include "train/training_set.h"

/* Everything that is known before the anchors are: what networks are trained on
 * (ll_training_set_init) and the run, which has room for its states. config may be NULL, or have
 * options of the networks under "network". Caller owns *run, and *finished as of
 * ll_training_run_open, and deinits f, also after a failure. */
llap_status ll_train_networks_open(ll_training_set *f, const ll_model_frame *frame,
                                   const llap_panel *p, const int64_t *var,
                                   const llap_train_opts *o, ll_size size, const ll_json *config,
                                   ll_training_run **run, llap_model **finished);

/* Trains networks on top of the model's anchors and gives them to it: m->network. *fits: false
 * where the budget leaves time for none, and m->network is NULL. */
llap_status ll_train_networks(llap_model *m, ll_training_run *run, ll_training_set *f,
                              const llap_panel *p, const llap_train_opts *o, ll_size size,
                              const ll_json *config, bool *fits);

#endif
