/* The stack in a model file. Under "stack" of the configuration: the layout, the names of the
 * inputs, means and deviations, the weights of the pool and of each member its sizes, start
 * quantiles, steps and score; "diffusion" where there were diffusion networks: their weight, and
 * whether paths go in their order, for which they are in the file as model/network.h has them.
 * Tensors:
 *     stack.neighbours       F32 [targets,entities,5] numbers of entities, -1: none; of joint ones
 *     stack.statics          F32 [entities,terms] static inputs, where an anchor uses them
 *     stack.scale            F32 [targets,23] edges of leads and deviations, of u and v
 *     stack.columns.K        F32 [5,columns] mean, deviation, has an indicator, range of training
 *                            (3 rows, without the range: of 0.2); K is s, r, u or v
 *     stack.K.w0, b0 ...     F32 as stack/networks.h has them
 * Only members that count are there. */
#ifndef LL_MODEL_STACK_FILE_H
#define LL_MODEL_STACK_FILE_H

#include "base/json/json.h"
#include "base/safetensors.h"
#include "model/model.h"

#define LL_STACK_TENSORS "stack." /* what their names begin with */

/* The key "stack" of an open object. */
void ll_stack_write(ll_json_writer *w, const ll_stack *s);

typedef struct ll_stack_tensors { /* arrays that exist for the file alone */
    float *neighbour, *scale, *columns[LL_STACK_KINDS];
} ll_stack_tensors;
void ll_stack_tensors_deinit(ll_stack_tensors *t); /* { 0 } is fine */

/* Adds the tensors; the writer borrows them from s and kept until it is saved. */
llap_status ll_stack_save(const ll_stack *s, const ll_model_frame *f, ll_stack_tensors *kept,
                          ll_tensors_writer *w);

/* Caller owns *out; *n_tensors grows by those that belong to it. LLAP_EFORMAT names what is
 * missing, out of range or contradicts another. */
llap_status ll_stack_load(const ll_tensors *t, const ll_json *config, const ll_model_frame *f,
                          ll_stack **out, size_t *n_tensors);

#endif
