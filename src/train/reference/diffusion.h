/* What the files of stage 3 share:
 *
 *   diffusion_graphs.c  the loss, and what its graphs are fed with
 *   diffusion.c         the stage
 */
#ifndef LL_TRAIN_REFERENCE_DIFFUSION_H
#define LL_TRAIN_REFERENCE_DIFFUSION_H

#include "diffusion/diffusion.h"
#include "nn/epochs.h"
#include "train/reference/encode.h"
#include "train/reference/reference.h"

typedef struct diffusion_stage {
    ll_reference    *r;
    ll_loss_trainer *trainer;
    ll_encoded       rows, val;
    int64_t          B, S, H, Z, n_batches;
    uint32_t        *order;            /* [n_batches] of an epoch */
    int64_t          epoch;            /* that it is of; -1: none */
    const float     *mean, *deviation; /* of the summaries, [H]; NULL: those of the batch */
    ll_lr            lr;
    double           lr_now;
    /* of a whole batch that goes in micro-batches, */
    int64_t  whole;         /* that of this step; -1: none */
    int32_t *t;             /* [B] steps of the process */
    float   *flag, *weight; /* [B] */
    float    kinds[2];      /* whether any row has its condition, and whether any has none */
    /* in the backend's memory, where rows and val lie there */
    float    *device_stats;            /* mean and deviation, [2,H] */
    ll_epochs device_order, val_order; /* of rows and of val */
    void     *device_index;            /* the rows of a step, int [B] */
} diffusion_stage;

ll_rng diffusion_epoch_rng(const void *stage, int64_t epoch); /* that orders its batches */

/* The rows of the batch of a step: first .. first + count - 1. */
void    diffusion_find_batch(diffusion_stage *s, int64_t number, int64_t *first, int64_t *count);
int64_t diffusion_count(void *stage, int64_t number); /* how many, without making the order */

/* -------- diffusion_graphs.c -------- */

/* For the trainer: the loss; everything that steps look at, in the memory of a GPU; the inputs of a
 * step. */
ll_tensor  *diffusion_describe(ll_graph *g, void *stage, const ll_loss_of *what);
llap_status diffusion_move(void *stage, ll_loss_trainer *t);
void        diffusion_leave(void *stage);
llap_status diffusion_place(void *stage, bool training, ll_session *net);
llap_status diffusion_take(void *stage, int64_t number, ll_session *net);
llap_status diffusion_fill(void *stage, const ll_micro_batch *b, ll_session *net, double *share);

/* Rows first .. first + count - 1 of validation, each always with the same step and noise. */
llap_status diffusion_fill_check(diffusion_stage *s, int64_t first, int64_t count, ll_session *net);

#endif
