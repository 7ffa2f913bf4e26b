/* One member of the default profile's networks, from its first weights to those that validation
 * liked best, docs/spec/anchor.md 8.7. */
#ifndef LL_TRAIN_NETWORK_MEMBER_H
#define LL_TRAIN_NETWORK_MEMBER_H

#include "predict/network_members.h"
#include "train/run/budget.h"
#include "train/run/run.h"
#include "train/training_set.h"

/* Samples of all examples of a set, [n,n_samples,h,Z]. Caller owns *out. */
llap_status ll_network_members_draw(const ll_network_members *n, const ll_backend *backend,
                                    const llap_log *log, const ll_feature_set *set, int steps,
                                    int64_t n_samples, uint64_t seed, float **out);

/* Copies the networks of one member of another model to names after prefix. Where that model has
 * fewer members, they are taken in turn. */
llap_status ll_network_take_from(const llap_model *from, int64_t member, ll_params *params,
                                 const char *prefix);

/* Trains one member as a stage of the run and copies its averaged weights into net. from: a model
 * to start from, or NULL. */
llap_status ll_train_member(ll_training_run *run, const llap_model *m, ll_network *net,
                            const ll_training_set *f, const llap_train_opts *o,
                            const llap_model *from, int64_t member);

/* How long that takes here, from a few steps and draws. */
llap_status ll_measure_member(const llap_model *m, const ll_network *net, const ll_training_set *f,
                              const llap_train_opts *o, ll_work_cost *cost);

#endif
