/* A model for the entities of one panel: those that training has not seen take level and spread
 * from their static inputs.
 *
 *     ll_static_view v;
 *     st = ll_static_view_init(&v, model, panel, file or NULL, log);
 *     st = ...(v.m, panel)                         ask this one in the place of model
 *     ll_static_view_deinit(&v);                                   also after a failure
 *
 * Where the model has no use for static inputs, or knows every entity, v.m is the model itself. */
#ifndef LL_PREDICT_VIEW_STATIC_VIEW_H
#define LL_PREDICT_VIEW_STATIC_VIEW_H

#include "predict/view/static_table.h"

#include <llapdiff/log.h>

typedef struct ll_static_view {
    const llap_model *m;
    llap_model        model;  /* the model with the next two */
    ll_anchor_model  *anchor; /* [n_targets] copies whose chains know the entities */
    const char      **more;   /* names of the entities, */
    float            *terms;  /* and what the stack is told of them */
} ll_static_view;

/* Borrows model and panel until deinit. Warns about values that are missing, and about those that
 * training has not seen. path: a file of static inputs; LLAP_EOPTION: the model has none. */
llap_status ll_static_view_init(ll_static_view *v, const llap_model *m, const llap_panel *p,
                                const char *path, const llap_log *log);

/* Where n models answer with m: LLAP_EUNSUPPORTED names the first entity of the panel that one of
 * them would need its static inputs for. */
llap_status ll_static_check_with(const llap_model *m, const llap_model *const *with, int64_t n,
                                 const llap_panel *p);
void        ll_static_view_deinit(ll_static_view *v);

#endif
