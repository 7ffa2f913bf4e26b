/* What a stack looks at, found in the training part: its layout, the variables beside the targets
 * (directions as vectors), means, deviations and limits of glitches.
 *
 *     ll_stack *s = NULL;
 *     st = ll_stack_inputs(m, panel, var, &(ll_stack_inputs_opts){ "wind,rain" }, &s);
 *     ... s has no members yet ...
 */
#ifndef LL_TRAIN_STACK_INPUTS_H
#define LL_TRAIN_STACK_INPUTS_H

#include "data/panel.h"
#include "model/model.h"

#include <llapdiff/log.h>

typedef struct ll_stack_inputs_opts {
    const char *names; /* NULL: all other variables, the best 40 where there are more */
    const ll_static_column
                   *statics; /* [columns] of the panel's entities, as the anchors had them */
    const llap_log *log;
} ll_stack_inputs_opts;

/* var [targets] of the panel. Caller owns *out. LLAP_EINVAL,
 * LLAP_EOPTION, LLAP_ELIMIT say what is wrong with the names. */
llap_status ll_stack_inputs(const llap_model *m, const llap_panel *p, const int64_t *var,
                            const ll_stack_inputs_opts *o, ll_stack **out);

#endif
