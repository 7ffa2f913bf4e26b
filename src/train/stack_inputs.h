/* What a stack looks at, found in the training part: its layout, the variables beside the targets
 * (directions as vectors), means, deviations and limits of glitches.
 *
 *     ll_stack *s = NULL;
 *     st = ll_stack_inputs(m, panel, var, "wind,rain" or NULL, &s);           without members yet
 */
#ifndef LL_TRAIN_STACK_INPUTS_H
#define LL_TRAIN_STACK_INPUTS_H

#include "data/panel.h"
#include "model/model.h"

/* var [targets] of the panel; names NULL: all other variables; statics [columns] of the panel's
 * entities, for where an anchor uses them. Caller owns *out. LLAP_EINVAL,
 * LLAP_EOPTION, LLAP_ELIMIT say what is wrong with the names. */
llap_status ll_stack_inputs(const llap_model *m, const llap_panel *p, const int64_t *var,
                            const char *names, const ll_static_column *statics, ll_stack **out);

#endif
