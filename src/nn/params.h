/* Parameter store: the named arrays of a model, fresh or loaded, that runs are bound to.
 *
 *     llap_params *p;
 *     st = llap_params_create(g, &p);                    all parameters and states of the graph
 *     if (st == LLAP_OK) llap_params_init(p, seed);      as each layer says
 *     if (st == LLAP_OK) st = llap_params_bind(p, run);  every one that the run's plan needs
 *
 * What a name draws depends on seed and name alone, so that adding a layer changes no other one. */
#ifndef LLAP_NN_PARAMS_H
#define LLAP_NN_PARAMS_H

#include "graph/plan.h"

typedef struct llap_params llap_params;

typedef struct llap_param_info {
    const char *name;
    llap_leaf   leaf; /* parameter or state */
    llap_elem   elem;
    llap_shape  shape;
    int64_t     count;
    void       *data; /* count floats, or int32; owned by the store */
} llap_param_info;

llap_status llap_params_create(const llap_graph *g, llap_params **out); /* zeroed; caller owns */
void        llap_params_destroy(llap_params *p);                        /* NULL is fine */

void llap_params_init(llap_params *p, uint64_t seed);

int                    llap_params_count(const llap_params *p);
const llap_param_info *llap_params_at(const llap_params *p, int i);
const llap_param_info *llap_params_find(const llap_params *p, const char *name); /* NULL: none */

/* Binds all parameters and states of the run's plan; it borrows them until it is destroyed.
 * LLAP_ENOTFOUND when one is not in the store, LLAP_EINVAL when its shape is another. */
llap_status llap_params_bind(const llap_params *p, const llap_plan *plan, llap_run *run);

#endif
