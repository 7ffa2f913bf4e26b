/* What the denoiser of stage 3 sees of a part: the latents and summaries that the frozen networks
 * give, computed once.
 *
 *     task_encoded e = { 0 };
 *     st = task_encode(r, r->train, 1000, "latents", &e);
 *     e.z0 + i * e.h * e.Z                        the latents of row i, not normalised yet
 *     llap_scratch_used(&e.block, n * task_encoded_row_bytes(&e));    after looking at n rows
 *     llap_scratch_deinit(&e.block);
 */
#ifndef LLAP_TASK_REFERENCE_ENCODE_H
#define LLAP_TASK_REFERENCE_ENCODE_H

#include "task/reference.h"

/* What of it may lie there: z0, any, tq, E_raw, and the ids as two halves each. */
enum { TASK_NEAR_Z0, TASK_NEAR_ANY, TASK_NEAR_TQ, TASK_NEAR_E, TASK_NEAR_IDS, TASK_NEAR_TABLES };

typedef struct task_encoded {
    int64_t      n, h, S, H, Z;
    llap_scratch block; /* all arrays; may be a file */
    float       *z0;    /* [n,h,Z]; the stage normalises them, 0 where nothing is observed */
    float       *any;   /* [n,h] */
    float       *tq;    /* [n,h] */
    float       *E_raw; /* [n,S,H] */
    uint64_t    *id;    /* [n] */
    int64_t     *end;   /* [n] */
    void        *near[TASK_NEAR_TABLES]; /* in the backend's memory, or NULL; the stage's */
} task_encoded;

size_t task_encoded_row_bytes(const task_encoded *e);

/* At most `most` rows (0: all), evenly spread; `what` is told as progress. Caller owns e->block,
 * also after a failure; *e is { 0 } before. */
llap_status task_encode(const task_reference *r, const llap_rows *rows, int64_t most,
                        const char *what, task_encoded *e);

#endif
