/* Rows of a feature set in the memory of a backend, and the batches of training made of them there:
 * what llap_feature_fill does and the noise of the process, as part of the graph.
 *
 *     llap_resident *r = NULL;
 *     st = llap_resident_create(set, backend, &r);                LLAP_ENOMEM: no room for them
 *     const llap_resident_rows in = llap_resident_rows_of(g, r, B, &vary);
 *     ... in.tokens, in.z0 ...
 *     st = llap_resident_bind(r, run);
 *
 * A step then only says which rows: inputs "index" int [B] and "key" int [4] as llap_draw. The
 * draws are those of the host; what depends on a shift is computed in floats. */
#ifndef LLAP_MODEL_RESIDENT_H
#define LLAP_MODEL_RESIDENT_H

#include "graph/plan.h"
#include "model/features.h"

typedef struct llap_resident llap_resident;

/* Borrows nothing of the set afterwards. Caller owns *out. */
llap_status llap_resident_create(const llap_feature_set *set, const llap_backend *backend,
                                 llap_resident **out);
void        llap_resident_destroy(llap_resident *r); /* NULL is fine */

typedef struct llap_resident_rows { /* as llap_feature_batch; eps is the noise, [B,h,Z] */
    llap_tensor *tokens, *token_pad, *entity, *tq, *f, *pad, *z0, *mask, *eps;
} llap_resident_rows;

llap_resident_rows llap_resident_rows_of(llap_graph *g, const llap_resident *r, int64_t B,
                                         const llap_feature_noise *vary);

/* The tables; all but the inputs named above. */
llap_status llap_resident_bind(const llap_resident *r, llap_run *run);

#endif
