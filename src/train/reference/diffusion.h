/* What the files of stage 3 share:
 *
 *   diffusion_graphs.c         the loss, its graphs and what they are fed with
 *   diffusion_micro_batches.c  steps of batches that do not fit
 *   diffusion.c                the stage
 */
#ifndef LL_TRAIN_REFERENCE_DIFFUSION_H
#define LL_TRAIN_REFERENCE_DIFFUSION_H

#include "diffusion/diffusion.h"
#include "nn/epochs.h"
#include "train/reference/encode.h"
#include "train/reference/reference.h"

typedef struct diffusion_stage {
    ll_reference *r;
    ll_params    *params;
    ll_session   *train[2], *check[2]; /* for whole batches, and for the last one */
    ll_session   *part; /* for P rows, where batches go in micro-batches; else NULL */
    int64_t       P;
    int32_t      *t;             /* [B] of a batch in micro-batches; and */
    float        *flag, *weight; /* [B]; and */
    float         kinds[2];      /* whether any row has its condition, and whether any has none */
    ll_encoded    rows, val;
    int64_t       B, S, H, Z, n_batches;
    uint32_t     *order; /* [n_batches] of an epoch */
    int64_t       epoch; /* that it is of; -1: none */
    int64_t       ready; /* the step whose batch is in its net; -1: none */
    bool   device_data;  /* rows and val lie in the backend's memory, and batches are made there */
    float *device_stats; /* there: mean and deviation below, [2,H], */
    ll_epochs        device_order, val_order; /* of rows and of val, */
    void            *device_index;            /* and the rows of a step, int [B] */
    ll_lr            lr;
    double           lr_now;
    const float     *mean, *deviation; /* of the summaries, [H]; NULL: those of the batch */
    int64_t          first, count;     /* rows of the last step */
    ll_async_results results;
} diffusion_stage;

/* -------- diffusion_graphs.c -------- */

ll_rng diffusion_epoch_rng(const void *stage, int64_t epoch); /* that orders its batches */

/* Everything that steps look at goes to the memory of a GPU; where it has no room for that, batches
 * are copied there for each step. */
llap_status diffusion_move_to_device(diffusion_stage *s);
void        diffusion_release_device(diffusion_stage *s);

ll_loss_opts diffusion_loss_opts(const diffusion_stage *s, bool training);
ll_tensor   *diffusion_describe(ll_graph *g, const diffusion_stage *s, int64_t B, bool training);

int64_t diffusion_at_once(const diffusion_stage *s); /* rows: of a batch, or of a micro-batch */
/* The net for so many rows, made when it is first asked for; the stage owns it. */
llap_status diffusion_net_for(diffusion_stage *s, ll_session **pair, int64_t count, bool training,
                              ll_session **out);
void        diffusion_destroy_nets(diffusion_stage *s);

/* Rows first .. first + count - 1, with the noise of this step. */
void diffusion_fill(const diffusion_stage *s, ll_encoded *e, int64_t first, int64_t count,
                    uint32_t number, bool training, ll_session *net);
/* Where rows and draws are made there: which draws, and numbers first .. first + count - 1 of the
 * order. */
llap_status diffusion_name_rows(const diffusion_stage *s, ll_epochs *order, int64_t first,
                                int64_t count, uint32_t number, ll_session *net);

/* -------- diffusion_micro_batches.c -------- */

/* From now on a batch goes in equal parts, as few as there is room for. */
llap_status diffusion_split(diffusion_stage *s);
llap_status diffusion_step_in_micro_batches(diffusion_stage *s, int64_t number, double *loss,
                                            double *norm);
llap_status diffusion_find_non_finite(diffusion_stage *s, int64_t number, char *text, size_t size);

#endif
