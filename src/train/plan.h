/* What a training will do, before anything is fitted: columns, spans, which windows train and which
 * choose, sizes and numbers.
 *
 *     ll_train_plan l;
 *     st = ll_train_plan_init(p, o, &l);
 *     if (st == LLAP_OK) st = ll_train_plan_read(&l, config);
 *     ll_train_plan_deinit(&l);                                also after a failure */
#ifndef LL_TRAIN_PLAN_H
#define LL_TRAIN_PLAN_H

#include "predict/view/static_table.h"
#include "train/run/recipe.h"

#include <llapdiff/model.h>

enum { LL_TRAIN_NONE = -1, LL_TRAIN_STACK = -2 };

typedef struct ll_train_plan {
    int                    size;      /* LL_TRAIN_NONE, LL_TRAIN_STACK, or ll_size */
    bool                   diffusion; /* networks beside the stack, */
    ll_size                networks;  /* of this size; without a stack too */
    bool                   reference;
    const struct ll_rival *rival;   /* a published model; NULL: none */
    const ll_backend      *backend; /* of networks */
    ll_recipe              recipe;  /* its anchors; what networks suggest comes later */
    int64_t               *var;     /* [frame.n_targets] */
    uint8_t               *part;    /* [n_entities] */
    const char           **names;   /* [frame.n_targets], then those of known columns */
    int64_t               *known;   /* [frame.n_known] columns of the panel */
    ll_static_table        statics;
    ll_model_frame         frame; /* borrows the rest */
} ll_train_plan;

llap_status ll_train_plan_init(const llap_panel *p, const llap_train_opts *o, ll_train_plan *l);
/* Its recipe, with what a configuration says of it; config may be NULL. */
llap_status ll_train_plan_read(ll_train_plan *l, const ll_json *config);
void        ll_train_plan_deinit(ll_train_plan *l);

#endif
