/* src/diffusion: the noise process and its reverse.
 *
 *   diffusion.h          this file: schedules, what is predicted, the loss
 *   sampler.h            the reverse loop (sampler.c), step lists (points.c), solvers (solver.h)
 *   prepared_denoiser.h  the denoiser made ready to sample; chooses one of the next two
 *   denoiser_steps.h     step by step, with any solver
 *   denoiser_loop.h      the whole loop as plans, on a device
 *   weight_copies.h      parameters where another backend computes
 *
 * May touch: base, base/rng, backend, graph, nn, networks. */

/* The noise process: schedules, what the network predicts and how to read it, and the training loss
 * (docs/spec/model.md 5).
 *
 *     ll_schedule *s;
 *     st = ll_schedule_create(LL_SCHEDULE_COSINE, 1000, &s);         caller owns
 *     const ll_level at = ll_schedule_level(s, t);
 *     x0 = ll_to_x0(LL_PREDICT_V, at, z_t, v);                       one number
 *
 * z_t = a z0 + s eps with a = sqrt(alpha_bar), s = sqrt(1 - alpha_bar). Tables are single
 * precision, computed as the reference does, because its step lists depend on their last bits. */
#ifndef LL_DIFFUSION_DIFFUSION_H
#define LL_DIFFUSION_DIFFUSION_H

#include "networks/denoiser.h"

typedef enum ll_schedule_kind { LL_SCHEDULE_COSINE, LL_SCHEDULE_LINEAR } ll_schedule_kind;

extern const char *const ll_schedule_names[];   /* "cosine", "linear", NULL */
extern const char *const ll_prediction_names[]; /* "v", "x0", "eps", NULL: as ll_prediction */

typedef struct ll_schedule { /* [T] each; immutable once made */
    int64_t T;
    float  *beta, *alpha, *alpha_bar, *sqrt_alpha, *sqrt_alpha_bar, *sqrt_one_minus_alpha_bar;
} ll_schedule;

/* The linear schedule goes from 1e-4 to 2e-2. Caller owns *out: ll_schedule_destroy. */
llap_status ll_schedule_create(ll_schedule_kind kind, int64_t T, ll_schedule **out);
/* From the betas and alpha-bars of a model file, both [T] and copied; LLAP_EFORMAT names what
 * cannot be: not finite, outside (0,1], rising. */
llap_status ll_schedule_from(const float *beta, const float *alpha_bar, int64_t T,
                             ll_schedule **out);
void        ll_schedule_destroy(ll_schedule *s); /* NULL is fine */

float ll_schedule_sigma(const ll_schedule *s, int64_t t); /* sqrt((1 - abar) / abar) */
float ll_schedule_snr(const ll_schedule *s, int64_t t);   /* q / (1-q), q within 1e-6 of 0, 1 */

/* -------- levels and conversions, docs/spec/model.md 5.3 -------- */

typedef struct ll_level {
    float a, s;      /* of signal and noise */
    float alpha_bar; /* a^2 */
} ll_level;

ll_level ll_schedule_level(const ll_schedule *s, int64_t t);

float ll_noised(ll_level l, float z0, float eps);                  /* z_t */
float ll_target(ll_prediction p, ll_level l, float z0, float eps); /* of training */
float ll_to_x0(ll_prediction p, ll_level l, float z_t, float pred);
float ll_to_eps(ll_prediction p, ll_level l, float z_t, float pred);

/* -------- Karras spacing, docs/spec/model.md 6.1 -------- */

#define LL_KARRAS_RHO 7.5

/* The step next to the u-th part (0..1) of the way from the largest to the smallest sigma. */
int64_t ll_karras_step(const ll_schedule *s, double u, double rho);

/* -------- min-SNR weights, docs/spec/model.md 5.4.6 -------- */

typedef enum ll_weight_norm {                 /* "auto", "batch", "global", "none" */
                              LL_WEIGHT_AUTO, /* batch for more than one row, else global */
                              LL_WEIGHT_BATCH,
                              LL_WEIGHT_GLOBAL,
                              LL_WEIGHT_NONE,
} ll_weight_norm;

extern const char *const ll_weight_norm_names[];

float ll_min_snr(const ll_schedule *s, int64_t t, double gamma, ll_prediction p);
/* The mean over t = 1..T-1 that `global` divides by. */
double ll_min_snr_mean(const ll_schedule *s, double gamma, ll_prediction p);

/* -------- the training loss, docs/spec/model.md 5.4 -------- */

typedef struct ll_loss_opts {
    ll_prediction  predict;
    bool           min_snr; /* false: every row counts the same */
    double         gamma;
    ll_weight_norm normalize;
    bool           self_condition; /* a first pass gives the estimate for the second */
    double         share[2];       /* of conditional and unconditional rows; 0, 0: by number */
} ll_loss_opts;

typedef struct ll_loss_in {
    ll_tensor *z0;          /* [B,h,Z] clean latent */
    ll_tensor *eps;         /* [B,h,Z] standard normal */
    ll_tensor *t;           /* int [B] */
    ll_tensor *mask;        /* [B,h], 1 where something is observed; NULL: everywhere */
    ll_tensor *tq;          /* [B,h] */
    ll_tensor *E, *E_raw;   /* [B,S,H], as for the denoiser */
    ll_tensor *conditional; /* [B] ones and zeros, or NULL */
    /* Where the rows are a part of a batch; NULL: they are all of it. */
    ll_tensor *weight;   /* [B] of the rows; NULL: as o says */
    ll_tensor *kinds;    /* [2]: conditional rows are in the batch, and unconditional ones */
    bool       training; /* dropout and power iterations */

    /* In continuous time, a = cos(pi t / 2) and s = sin(pi t / 2): docs/spec/anchor.md 8.6. */
    ll_tensor *time;            /* [B] in (0,1), instead of t and the schedule, which is NULL */
    ll_tensor *f, *pad, *E_pad; /* as for the denoiser */
} ll_loss_in;

/* One element; o->min_snr needs a schedule. Conditional and unconditional rows go through one
 * forward. Notes x_t, error (by row), weights_raw, weights, loss_c, loss_u, and sc_feat. */
ll_tensor *ll_diffusion_loss(ll_graph *g, const ll_denoiser_config *c, const ll_schedule *s,
                             const ll_loss_opts *o, const ll_loss_in *in);

/* The weights that n rows of those steps have in it, [n]; conditional NULL: all are. */
void ll_diffusion_weights(const ll_schedule *s, const ll_loss_opts *o, const int32_t *t,
                          const float *conditional, int64_t n, float *weight);

/* What a training step draws for the row of a window: t on 1..T-1 (uniform, or by Karras spacing),
 * whether it is conditional, and [n] normals; keyed by seed, window and step of training. */
typedef struct ll_draw_opts {
    uint64_t seed;
    bool     karras;
    double   drop; /* probability of an unconditional row, 0.18 in the reference */
} ll_draw_opts;

void ll_diffusion_draw(const ll_schedule *s, const ll_draw_opts *o, uint64_t window, uint32_t step,
                       int32_t *t, float *conditional, float *eps, size_t n);

#endif
