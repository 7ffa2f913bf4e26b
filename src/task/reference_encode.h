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

/* What of it may lie in a backend's memory, as [n,width] of four bytes each: z0, any, tq, E_raw,
 * and the ids as two halves; and the names of a net's inputs that are these tables. */
enum { TASK_NEAR_Z0, TASK_NEAR_ANY, TASK_NEAR_TQ, TASK_NEAR_E, TASK_NEAR_IDS, TASK_NEAR_TABLES };
extern const char *const task_near_names[TASK_NEAR_TABLES]; /* "rows.z0" */

typedef struct task_encoded {
    int64_t      n, h, S, H, Z;
    llap_scratch block;                  /* all arrays; may be a file */
    float       *z0;                     /* [n,h,Z], not normalised at first */
    float       *any;                    /* [n,h] */
    float       *tq;                     /* [n,h] */
    float       *E_raw;                  /* [n,S,H] */
    uint64_t    *id;                     /* [n] */
    int64_t     *end;                    /* [n] */
    void        *near[TASK_NEAR_TABLES]; /* NULL: not there */
} task_encoded;

size_t task_encoded_row_bytes(const task_encoded *e);

/* At most `most` rows (0: all), evenly spread; `what` is told as progress. Caller owns e->block,
 * also after a failure; *e is { 0 } before. */
llap_status task_encode(const task_reference *r, const llap_rows *rows, int64_t most,
                        const char *what, task_encoded *e);

/* Latents by the statistics of training's, which become the model's; 0 where nothing is observed.
 */
llap_status task_encoded_normalise(const task_reference *r, task_encoded *train, task_encoded *val);
/* Of each feature of the summaries over all rows and tokens, the model's too, [H]; NULL where it is
 * normalised by each batch's own. */
llap_status task_encoded_statistics(const task_reference *r, task_encoded *train,
                                    const float **mean, const float **deviation);

/* All tables to the backend's memory; the caller gives them back with leave, also after a failure.
 */
llap_status task_encoded_move(task_encoded *e, const llap_backend *backend);
void        task_encoded_leave(task_encoded *e, const llap_backend *backend);
llap_status task_encoded_place(const task_encoded *e, task_net *net);
int64_t     task_encoded_width(const task_encoded *e, int table);

#endif
