/* Many entities: a sample of them fits and chooses, all of them get their own level and spread. So
 * time and memory of a training do not grow with the entities.
 *
 *     st = ll_train_sample(p, o, LL_SAMPLE_LIMITS, &some); NULL: all of them train
 *     st = ... train on some, or on p ...
 *     if (some != NULL) st = ll_train_widen(model, p, some); */
#ifndef LL_TRAIN_SAMPLE_H
#define LL_TRAIN_SAMPLE_H

#include "model/model.h"

#include <llapdiff/model.h>

typedef struct ll_sample_limits {
    int64_t entities; /* at least; more than linked series or a joint law have */
    int64_t rows;     /* as many entities as have so many rows, */
    int64_t from;     /* of panels with more rows than these, and twice the entities */
} ll_sample_limits;

#define LL_SAMPLE_LIMITS \
    (&(ll_sample_limits){ .entities = 4096, .rows = INT64_C(1) << 19, .from = INT64_C(4) << 20 })

/* Every k-th entity as a panel of its own, which borrows p. Where the training says of single
 * entities what they are (parts, static inputs that are named), where networks know them (a stack
 * by time, diffusion networks) and in the `reference` profile, all train. Caller owns *out. */
llap_status ll_train_sample(const llap_panel *p, const llap_train_opts *o,
                            const ll_sample_limits *limits, llap_panel **out);

/* The model of a sample becomes one of all entities of p: what they have in common stays, each has
 * its own statistics of its training rows. Of independent entities, split by entity, nobody has;
 * those that are not in the sample are entities that training has not seen. */
llap_status ll_train_widen(llap_model *m, const llap_panel *p, const llap_panel *some);

#endif
