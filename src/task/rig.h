/* Networks on fresh weights and made-up data, ready to be measured: a training step, a forward
 * pass, or a whole forecast from noise to samples. What `llapdiff bench` and the programs under
 * bench/ time; no result of it means anything.
 *
 *     llap_rig *r;
 *     st = llap_rig_create(&(llap_rig_opts){ .what = LLAP_RIG_STEP, .size = LLAP_RIG_SMALL,
 *                                            .rows = 128, .n_threads = 2 }, &r);
 *     if (st == LLAP_OK) st = llap_rig_run(r);           as often as wanted
 *     flops = 2 * llap_rig_products(r);                  of one run
 *     llap_rig_destroy(r); */
#ifndef LLAP_TASK_RIG_H
#define LLAP_TASK_RIG_H

#include "model/planned.h"

typedef enum llap_rig_what {
    LLAP_RIG_FORWARD,  /* noising, denoiser (and summarizer, where trained with it), loss: one pass,
                          nothing folded */
    LLAP_RIG_STEP,     /* loss, gradients, clipping, AdamW, EMA */
    LLAP_RIG_FORECAST, /* samples of rows windows from noise */
    LLAP_RIG_SUMMARY,  /* the summarizer of the profile, for entities where it has them */
    LLAP_RIG_DECODE,   /* the set-VAE's decoder, for all samples */
} llap_rig_what;

typedef enum llap_rig_size {
    LLAP_RIG_TINY,  /* default profile, tiny */
    LLAP_RIG_SMALL, /* default profile */
    LLAP_RIG_PAPER, /* reference profile at the paper's size */
} llap_rig_size;

extern const char *const llap_rig_sizes[]; /* "tiny", "small", "paper", NULL */

typedef struct llap_rig_opts {
    llap_rig_what what;
    llap_rig_size size;
    int64_t       rows;    /* windows of a batch; 0: 1 */
    int64_t       samples; /* of a window; 0: 1; forecast only */
    int64_t       horizon; /* query times; 0: 168 */
    int64_t       latent;  /* channels; 0: 24 in the reference profile, 1 in the default */
    int64_t       poles;   /* K; 0: that of the size */
    int           n_threads;
    /* NULL: the cpu. One with memory of its own keeps everything there and samples as planned. */
    const llap_backend *backend;
    bool no_dropout; /* step: as at inference, so that others can check the numbers */
    /* forecast */
    llap_solver solver;
    int         steps;  /* asked for; 0: the profile's, 64 (that is 33, Q2) or 12 */
    int         first;  /* only so many steps of that list; 0: all */
    bool        honest; /* reference profile: exactly that many steps, each a different one */
    bool        whole;  /* one plan for every sample, nothing shared: to compare with */
} llap_rig_opts;

typedef struct llap_rig llap_rig;

llap_status llap_rig_create(const llap_rig_opts *o, llap_rig **out); /* caller owns */
void        llap_rig_destroy(llap_rig *r);                           /* NULL is fine */
llap_status llap_rig_run(llap_rig *r);
void        llap_rig_forget(llap_rig *r); /* what a forecast keeps for the next one */

double llap_rig_products(const llap_rig *r); /* multiply-adds of the last run's matrix products */
size_t llap_rig_bytes(const llap_rig *r);    /* of plans' workspaces and of parameters */
int    llap_rig_steps(const llap_rig *r);    /* of a forecast; else 1 */

/* Parameters, inputs and results of the last run, as "w.NAME", "in.NAME" and "out.NAME": for a
 * comparison with another implementation. Borrows until the writer has saved. */
llap_status llap_rig_export(const llap_rig *r, llap_tensors_writer *w);

/* A forward's or a step's plan and run, for a profile; NULL for a forecast. */
const llap_plan *llap_rig_plan(const llap_rig *r);
llap_run        *llap_rig_inner_run(llap_rig *r);
llap_params     *llap_rig_params(const llap_rig *r); /* borrowed */

#endif
