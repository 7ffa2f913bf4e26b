/* src/residual: the default profile: networks trained on what the anchor leaves.
 *
 *   features.h         tokens, query features and the residual of a window
 *   device_examples.h  the same in device memory
 *   residual.h         this file: training (residual.c) and drawing (residual_sample.c)
 *   spread.h           noise of samples that lie evenly
 *
 * May touch: base, base/rng, backend, graph, nn, anchor, networks, diffusion. */

/* The default profile's networks: the summary of the context and the diffusion of the residual that
 * the anchor leaves, trained together (docs/spec/anchor.md 8.2-8.8).
 *
 *     ll_residual_trainer *t = NULL;
 *     st = ll_residual_trainer_create(&c, set, &opts, &t);
 *     for (int64_t i = 0; i < n && st == LLAP_OK; i++)
 *         st = ll_residual_step(t, i, &loss, &norm);
 *
 * A step is a function of the parameters, the seed and its number alone. Parameters are called
 * summarizer.* and denoiser.*. */
#ifndef LL_RESIDUAL_RESIDUAL_H
#define LL_RESIDUAL_RESIDUAL_H

#include "diffusion/prepared_denoiser.h"
#include "networks/patches.h"
#include "nn/optim.h"
#include "residual/features.h"

typedef struct ll_residual_config {
    ll_layout          layout;
    ll_patch_config    patches;
    ll_denoiser_config denoiser;
} ll_residual_config;

/* ---- training ---- */

typedef struct ll_residual_opts {
    int64_t                batch, steps, warmup;
    int64_t                micro_batches; /* of a batch, as of ll_loss_trainer_opts, as the next */
    const struct ll_ranks *ranks;
    double                 lr, lr_least; /* the rate; the share of it that is left at the end */
    ll_train_attr          optim;
    ll_feature_noise       vary; /* without seed and step */
    uint64_t               seed;
    double                 unit_hours; /* of the time axis; 0: no calendar, poles of a wide range */
    int                    n_threads;
    const ll_backend      *backend;
} ll_residual_opts;

/* clang-format off */
#define LL_RESIDUAL_OPTS \
    ((ll_residual_opts){ .batch = 128, .steps = 1600, .warmup = 200, .lr = 3e-4, .lr_least = 0.02, \
        .optim = { .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .weight_decay = 0.02, .clip = 1.0, .ema = 0.99 }, \
        .vary = { .strange = 0.05, .shift = 0.1, .subset = 0.1 }, .seed = 1, .unit_hours = 1.0, .n_threads = 1 })
/* clang-format on */

typedef struct ll_residual_trainer ll_residual_trainer;

/* Fresh parameters by the seed; borrows set until destroyed. In a backend's own memory all rows lie
 * beside them (residual/device_examples.h); where it does not suffice, batches are made here and
 * copied, and then go in micro-batches (nn/loss_trainer.h). Caller owns *out. */
llap_status ll_residual_trainer_create(const ll_residual_config *c, const ll_feature_set *set,
                                       const ll_residual_opts *o, ll_residual_trainer **out);
void        ll_residual_trainer_destroy(ll_residual_trainer *t);    /* NULL is fine */
ll_params  *ll_residual_trainer_params(ll_residual_trainer *t);     /* borrowed */
int64_t     ll_residual_trainer_rows(const ll_residual_trainer *t); /* that go at once */

/* Step number `step`, from 0. norm is of the gradient. loss NULL: nobody waits for the step; what
 * up to LL_ASYNC_RESULTS such steps came to, results says later, [n] each. */
llap_status ll_residual_step(ll_residual_trainer *t, int64_t step, double *loss, double *norm);
llap_status ll_residual_results(ll_residual_trainer *t, int64_t first, int64_t n, double *loss,
                                double *norm);

/* After a step that came out not finite: what it was, as in nn/non_finite.h, or the input of the
 * batch; text is left alone where nothing is found. *index, *n: the rows of that batch, borrowed
 * until the next step. */
llap_status ll_residual_find_non_finite(ll_residual_trainer *t, int64_t step, char *text,
                                        size_t size, const uint32_t **index, int64_t *n);

/* ---- sampling ---- */

typedef struct ll_residual_member {
    const ll_params *params;
    ll_params_part   part;   /* LL_PARAMS_EMA or LL_PARAMS_MODEL */
    const char      *prefix; /* before summarizer. and denoiser.; NULL: none */
} ll_residual_member;

typedef struct ll_draw_plan {
    int64_t           rows, samples; /* of one run, and of one member in it */
    int64_t           h;
    ll_solver         solver;
    int               steps; /* of it, from one time to the other */
    double            first, last;
    bool              gathered; /* steps, as of ll_points_continuous */
    bool              spread;   /* the samples of a row lie evenly (residual/spread.h) */
    int               n_threads;
    const ll_backend *backend;
    bool              given; /* for ll_residual_complete, */
    int               begin; /* which begins at this point of the steps, from 0 */
} ll_draw_plan;

typedef struct ll_residual_sampler ll_residual_sampler;

/* Borrows the members' parameters until destroyed. Where the backend's own memory does not suffice,
 * fewer rows are taken at once. Caller owns *out. */
llap_status ll_residual_sampler_create(const ll_residual_config *c,
                                       const ll_residual_member *member, int n_members,
                                       const ll_draw_plan *o, ll_residual_sampler **out);
void        ll_residual_sampler_destroy(ll_residual_sampler *s);    /* NULL is fine */
int64_t     ll_residual_sampler_rows(const ll_residual_sampler *s); /* of one run */

/* Whether it is as good as one made by a plan that differs in rows, samples, queries and spread at
 * most: it has no fewer rows, nor more than twice as many. */
bool ll_residual_sampler_serves(const ll_residual_sampler *s, const ll_draw_plan *o);

/* Samples of the residuals of rows index[0 .. n-1]: out [n,n_samples,h,Z]. Sample k is drawn by
 * member k modulo their number, from (seed, row id, k): it depends on nothing else, but for
 * n_samples where they are spread. */
llap_status ll_residual_draw(ll_residual_sampler *s, const ll_feature_set *set,
                             const uint32_t *index, int64_t n, uint64_t seed, int64_t n_samples,
                             float *out);

/* What is known beside the context. Residuals that are known stay as they are while the others are
 * drawn (docs/spec/model.md 6.4); the process begins at point `begin` of the plan, with the guesses
 * noised to that level: at 0 little of a guess is left, at the last point little is changed. */
typedef struct ll_residual_given {
    const float *known; /* [n,h,Z], NaN: to be drawn */
    const float *guess; /* [n,n_samples,h,Z] */
} ll_residual_given;

/* The same, of a sampler whose plan says given. */
llap_status ll_residual_complete(ll_residual_sampler *s, const ll_feature_set *set,
                                 const uint32_t *index, int64_t n, const ll_residual_given *given,
                                 uint64_t seed, int64_t n_samples, float *out);

#endif
