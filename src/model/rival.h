/* A published model as a model of ours (docs/spec/rivals.md 14): its task, the columns that it
 * looks at beside the targets, the scales of training and its parameters. In the file:
 *
 *     config "rival"     {"model": "dlinear", "rows": K, "steps": H, "context": steps, "horizon":
 *                        steps, "rhythm": "hourly", "small": false, "calendar": 0 or 6, "inputs":
 *                        [names], "options": {all of its table (rivals/options.h)}}
 *     rival.X            F32, parameter or state X of its graph, by the names of its authors
 *     rival.scale.mean, rival.scale.std
 *                        F32 [entities + 1,variables], everything pooled in the last row; targets
 *                        first
 *
 * There are no anchors, networks or stack beside it. Loading knows all shapes before it takes
 * memory for them. */
#ifndef LL_MODEL_RIVAL_H
#define LL_MODEL_RIVAL_H

#include "base/arena.h"
#include "base/json/json.h"
#include "base/safetensors.h"
#include "rivals/feed/feed.h"

typedef struct ll_rival_model {
    ll_rival_task      task;
    int64_t            n_entities;
    const char *const *input;     /* [task.vars - task.targets] names */
    float             *mean, *sd; /* [n_entities + 1,task.vars] */
    ll_params         *params;    /* X, without training's state */
    ll_arena           arena;
} ll_rival_model;

/* The parameters are 0, means 0 and deviations 1. Names are copied. Caller owns *out. */
llap_status ll_rival_model_create(const ll_rival_task *k, int64_t n_entities,
                                  const char *const *input, ll_rival_model **out);
void        ll_rival_model_destroy(ll_rival_model *r);          /* NULL is fine */
int64_t     ll_rival_model_parameters(const ll_rival_model *r); /* that training moves */

void        ll_rival_write(ll_json_writer *w, const ll_rival_model *r); /* "rival": {...} */
llap_status ll_rival_save(const ll_rival_model *r, ll_tensors_writer *w);
/* Of a model of so many targets and entities; adds to *n_tensors how many are its own. */
llap_status ll_rival_load(const ll_tensors *t, const ll_json *config, int64_t n_targets,
                          int64_t n_entities, ll_rival_model **out, size_t *n_tensors);

#endif
