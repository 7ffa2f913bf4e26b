/* Networks on fresh weights and made-up data, ready to be measured: a training step, a forward
 * pass, or a whole forecast from noise to samples. What `llapdiff bench` and the programs under
 * bench/ time; no result of it means anything.
 *
 *     ll_rig *r;
 *     st = ll_rig_create(&(ll_rig_opts){ .what = LL_RIG_STEP, .size = LL_RIG_SMALL,
 *                                            .rows = 128, .n_threads = 2 }, &r);
 *     if (st == LLAP_OK) st = ll_rig_run(r);           as often as wanted
 *     flops = 2 * ll_rig_products(r);                  of one run
 *     ll_rig_destroy(r); */
#ifndef LL_BENCH_RIG_H
#define LL_BENCH_RIG_H

#include "diffusion/prepared_denoiser.h"

typedef enum ll_rig_what {
    LL_RIG_FORWARD,  /* noising, denoiser (and summarizer, where trained with it), loss: one pass,
                          nothing folded */
    LL_RIG_STEP,     /* loss, gradients, clipping, AdamW, EMA */
    LL_RIG_FORECAST, /* samples of rows windows from noise */
    LL_RIG_SUMMARY,  /* the summarizer of the profile, for entities where it has them */
    LL_RIG_DECODE,   /* the set-VAE's decoder, for all samples */
} ll_rig_what;

typedef enum ll_rig_size {
    LL_RIG_TINY,  /* default profile, tiny */
    LL_RIG_SMALL, /* default profile */
    LL_RIG_PAPER, /* reference profile at the paper's size */
} ll_rig_size;

extern const char *const ll_rig_sizes[]; /* "tiny", "small", "paper", NULL */

typedef struct ll_rig_opts {
    ll_rig_what what;
    ll_rig_size size;
    int64_t     rows;    /* windows of a batch; 0: 1 */
    int64_t     samples; /* of a window; 0: 1; forecast only */
    int64_t     horizon; /* query times; 0: 168 */
    int64_t     latent;  /* channels; 0: 24 in the reference profile, 1 in the default */
    int64_t     poles;   /* K; 0: that of the size */
    int         n_threads;
    /* NULL: the cpu. One with memory of its own keeps everything there and samples as planned. */
    const ll_backend *backend;
    bool              no_dropout; /* step: as at inference, so that others can check the numbers */
    /* forecast */
    ll_solver solver;
    int  steps;  /* asked for; 0: the profile's, 64 (that is 33, docs/spec/model.md 12.2) or 12 */
    int  first;  /* only so many steps of that list; 0: all */
    bool honest; /* reference profile: exactly that many steps, each a different one */
    bool whole;  /* one plan for every sample, nothing shared: to compare with */
} ll_rig_opts;

typedef struct ll_rig ll_rig;

llap_status ll_rig_create(const ll_rig_opts *o, ll_rig **out); /* caller owns */
void        ll_rig_destroy(ll_rig *r);                         /* NULL is fine */
llap_status ll_rig_run(ll_rig *r);
void        ll_rig_forget(ll_rig *r); /* what a forecast keeps for the next one */

double ll_rig_products(const ll_rig *r); /* multiply-adds of the last run's matrix products */
size_t ll_rig_bytes(const ll_rig *r);    /* of plans' workspaces and of parameters */
int    ll_rig_steps(const ll_rig *r);    /* of a forecast; else 1 */

/* Parameters, inputs and results of the last run, as "w.NAME", "in.NAME" and "out.NAME": for a
 * comparison with another implementation. Borrows until the writer has saved. */
llap_status ll_rig_export(const ll_rig *r, ll_tensors_writer *w);

/* A forward's or a step's plan and run, for a profile; NULL for a forecast. */
const ll_plan *ll_rig_plan(const ll_rig *r);
ll_run        *ll_rig_inner_run(ll_rig *r);
ll_params     *ll_rig_params(const ll_rig *r); /* borrowed */

#endif
