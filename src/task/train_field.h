/* What the networks of the default profile are trained on.
 *
 *     task_field f;
 *     st = task_field_init(&f, &frame, p, var, o, size, config);      layout and recipe
 *     ... the anchors are fitted ...
 *     if (st == LLAP_OK) st = task_field_see(&f, m, p, config);       rows and features
 *     ... f.train, f.recipe.networks ...
 *     task_field_deinit(&f);                                also after a failure */
#ifndef LLAP_TASK_TRAIN_FIELD_H
#define LLAP_TASK_TRAIN_FIELD_H

#include "data/scaling.h"
#include "task/recipe.h"
#include "task/sight.h"

#include <llapdiff/model.h>

typedef struct task_field { /* everything that training looks at */
    llap_windows     *windows;
    llap_split       *split;
    llap_scaling     *scaling; /* of the inputs; NULL: none */
    const char      **input;   /* names */
    int64_t           n_inputs;
    llap_layout       layout; /* before task_field_see: as large as it may become */
    task_sight        sight;
    task_rows         train_rows, check_rows, final_rows;
    llap_feature_set *train, *check, *final;

    const llap_backend *backend; /* that trains and draws */
    task_recipe         recipe;
    int64_t             batch; /* rows of a step */
} task_field;

/* Of the frame's targets, variables var of the panel, as the options of llap_train and "network"
 * and "training" of the configuration (NULL: none) say. */
llap_status task_field_init(task_field *f, const llap_model_frame *frame, const llap_panel *p,
                            const int64_t *var, const llap_train_opts *o, llap_size size,
                            const llap_json *config);
/* With the model's anchors. Borrows m and p until deinit. */
llap_status task_field_see(task_field *f, const llap_model *m, const llap_panel *p,
                           const llap_json *config);
void        task_field_deinit(task_field *f); /* { 0 } is fine */

#endif
