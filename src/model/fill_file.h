/* The filling of gaps by all sensors (src/fill) in a model file. Under "filling" of the
 * configuration: step, day, entities, neighbours, the names of the variables and which of them it
 * answers about. Absent: the anchors fill. Tensors, all F64:
 *     fill.scale        [variables,5] mean, sd, lambda, middle, spread
 *     fill.kernel       [variables,17] variances, decays, noise
 *     fill.far          [variables]
 *     fill.near         [entities,neighbours] numbers of entities, -1: none; absent without
 *     fill.cov.0, 1     [variables,groups,3,slots,slots]
 *     fill.quantiles    [variables,6,7]
 *     fill.unrest       [variables]
 * and where "trees" is true (absent: false), F32:
 *     fill.trees.0, 1   [1 + trees,85] what they start from; of a tree feature, threshold, missing
 *                       left, left and right child of 14 splits, and 15 leaves (fill/trees.h) */
#ifndef LL_MODEL_FILL_FILE_H
#define LL_MODEL_FILL_FILE_H

#include "base/json/json.h"
#include "base/safetensors.h"
#include "model/model.h"

#define LL_FILL_TENSORS "fill." /* what their names begin with */

/* The key "filling" of an open object. */
void ll_fill_write(ll_json_writer *w, const ll_filling *f);

typedef struct ll_fill_tensors { /* arrays that exist for the file alone */
    double *near;
    float  *trees[2];
} ll_fill_tensors;
void ll_fill_tensors_deinit(ll_fill_tensors *t); /* { 0 } is fine */

/* Adds the tensors; the writer borrows them from f and kept until it is saved. */
llap_status ll_fill_save(const ll_filling *f, ll_fill_tensors *kept, ll_tensors_writer *w);

/* Caller owns *out; *n_tensors grows by those that belong to it. LLAP_EFORMAT names what is
 * missing or out of range. */
llap_status ll_fill_load(const ll_tensors *t, const ll_json *config, const ll_model_frame *f,
                         ll_filling **out, size_t *n_tensors);

#endif
