/* What the denoiser of stage 3 sees of a part: the latents and summaries that the frozen networks
 * give, computed once.
 *
 *     ll_encoded e = { 0 };
 *     st = ll_encode(r, r->train, 1000, "latents", &e);
 *     e.z0 + i * e.h * e.Z                        the latents of row i, not normalised yet
 *     ll_scratch_used(&e.block, n * ll_encoded_row_bytes(&e));    after looking at n rows
 *     ll_scratch_deinit(&e.block);
 */
#ifndef LL_TRAIN_REFERENCE_ENCODE_H
#define LL_TRAIN_REFERENCE_ENCODE_H

#include "train/reference/reference.h"

/* What of it may lie in a backend's memory, as [n,width] of four bytes each: z0, any, tq, E_raw,
 * and the ids as two halves; and the names of a net's inputs that are these tables. */
enum {
    LL_DEVICE_TABLE_Z0,
    LL_DEVICE_TABLE_ANY,
    LL_DEVICE_TABLE_TQ,
    LL_DEVICE_TABLE_E,
    LL_DEVICE_TABLE_IDS,
    LL_DEVICE_TABLE_TABLES
};
extern const char *const ll_device_table_names[LL_DEVICE_TABLE_TABLES]; /* "rows.z0" */

typedef struct ll_encoded {
    int64_t    n, h, S, H, Z;
    ll_scratch block;                               /* all arrays; may be a file */
    float     *z0;                                  /* [n,h,Z], not normalised at first */
    float     *any;                                 /* [n,h] */
    float     *tq;                                  /* [n,h] */
    float     *E_raw;                               /* [n,S,H] */
    uint64_t  *id;                                  /* [n] */
    int64_t   *end;                                 /* [n] */
    void      *device_data[LL_DEVICE_TABLE_TABLES]; /* NULL: not there */
} ll_encoded;

size_t ll_encoded_row_bytes(const ll_encoded *e);

/* At most `most` rows (0: all), evenly spread; `what` is told as progress. Caller owns e->block,
 * also after a failure; *e is { 0 } before. */
llap_status ll_encode(const ll_reference *r, const ll_example_list *rows, int64_t most,
                      const char *what, ll_encoded *e);

/* Latents by the statistics of training's, which become the model's; 0 where nothing is observed.
 */
llap_status ll_encoded_normalise(const ll_reference *r, ll_encoded *train, ll_encoded *val);
/* Of each feature of the summaries over all rows and tokens, the model's too, [H]; NULL where it is
 * normalised by each batch's own. */
llap_status ll_encoded_statistics(const ll_reference *r, ll_encoded *train, const float **mean,
                                  const float **deviation);

/* All tables to the backend's memory; the caller gives them back with leave, also after a failure.
 */
llap_status ll_encoded_move(ll_encoded *e, const ll_backend *backend);
void        ll_encoded_leave(ll_encoded *e, const ll_backend *backend);
llap_status ll_encoded_to_device(const ll_encoded *e, ll_session *net);
int64_t     ll_encoded_width(const ll_encoded *e, int table);

#endif
