/* The noise process: schedules, what the network predicts and how to read it, and the training loss
 * (spec/model.md, section 5).
 *
 *     llap_schedule *s;
 *     st = llap_schedule_create(LLAP_SCHEDULE_COSINE, 1000, &s);         caller owns
 *     const llap_level at = llap_schedule_level(s, t);
 *     x0 = llap_to_x0(LLAP_PREDICT_V, at, z_t, v);                       one number
 *
 * z_t = a z0 + s eps with a = sqrt(alpha_bar), s = sqrt(1 - alpha_bar). Tables are single
 * precision, computed as the reference does, because its step lists depend on their last bits. */
#ifndef LLAP_MODEL_DIFFUSION_H
#define LLAP_MODEL_DIFFUSION_H

#include "model/denoiser.h"

typedef enum llap_schedule_kind { LLAP_SCHEDULE_COSINE, LLAP_SCHEDULE_LINEAR } llap_schedule_kind;

extern const char *const llap_schedule_names[];   /* "cosine", "linear", NULL */
extern const char *const llap_prediction_names[]; /* "v", "x0", "eps", NULL: as llap_prediction */

typedef struct llap_schedule { /* [T] each; immutable once made */
    int64_t T;
    float  *beta, *alpha, *alpha_bar, *sqrt_alpha, *sqrt_alpha_bar, *sqrt_one_minus_alpha_bar;
} llap_schedule;

/* The linear schedule goes from 1e-4 to 2e-2. Caller owns *out: llap_schedule_destroy. */
llap_status llap_schedule_create(llap_schedule_kind kind, int64_t T, llap_schedule **out);
/* From the betas and alpha-bars of a model file, both [T] and copied; LLAP_EFORMAT names what
 * cannot be: not finite, outside (0,1], rising. */
llap_status llap_schedule_from(const float *beta, const float *alpha_bar, int64_t T,
                               llap_schedule **out);
void        llap_schedule_destroy(llap_schedule *s); /* NULL is fine */

float  llap_schedule_sigma(const llap_schedule *s, int64_t t);       /* sqrt((1 - abar) / abar) */
double llap_schedule_alpha_bar_at(const llap_schedule *s, double t); /* linear between steps */
float  llap_schedule_snr(const llap_schedule *s, int64_t t); /* q / (1-q), q within 1e-6 of 0, 1 */

/* -------- levels and conversions, spec 5.3 -------- */

typedef struct llap_level {
    float a, s;      /* of signal and noise */
    float alpha_bar; /* a^2 */
} llap_level;

llap_level llap_schedule_level(const llap_schedule *s, int64_t t);

float llap_noised(llap_level l, float z0, float eps);                    /* z_t */
float llap_target(llap_prediction p, llap_level l, float z0, float eps); /* of training */
float llap_to_x0(llap_prediction p, llap_level l, float z_t, float pred);
float llap_to_eps(llap_prediction p, llap_level l, float z_t, float pred);

/* -------- Karras spacing, spec 6.1 -------- */

#define LLAP_KARRAS_RHO 7.5

/* The step next to the u-th part (0..1) of the way from the largest to the smallest sigma. */
int64_t llap_karras_step(const llap_schedule *s, double u, double rho);

/* -------- min-SNR weights, spec 5.4.6 -------- */

typedef enum llap_weight_norm {                   /* "auto", "batch", "global", "none" */
                                LLAP_WEIGHT_AUTO, /* batch for more than one row, else global */
                                LLAP_WEIGHT_BATCH,
                                LLAP_WEIGHT_GLOBAL,
                                LLAP_WEIGHT_NONE,
} llap_weight_norm;

extern const char *const llap_weight_norm_names[];

float llap_min_snr(const llap_schedule *s, int64_t t, double gamma, llap_prediction p);
/* The mean over t = 1..T-1 that `global` divides by. */
double llap_min_snr_mean(const llap_schedule *s, double gamma, llap_prediction p);

/* -------- the training loss, spec 5.4 -------- */

typedef struct llap_loss_opts {
    llap_prediction  predict;
    bool             min_snr; /* false: every row counts the same */
    double           gamma;
    llap_weight_norm normalize;
    bool             self_condition; /* a first pass gives the estimate for the second */
    double           share[2];       /* of conditional and unconditional rows; 0, 0: by number */
} llap_loss_opts;

typedef struct llap_loss_in {
    llap_tensor *z0;          /* [B,h,Z] clean latent */
    llap_tensor *eps;         /* [B,h,Z] standard normal */
    llap_tensor *t;           /* int [B] */
    llap_tensor *mask;        /* [B,h], 1 where something is observed; NULL: everywhere */
    llap_tensor *tq;          /* [B,h] */
    llap_tensor *E, *E_raw;   /* [B,S,H], as for the denoiser */
    llap_tensor *conditional; /* [B] ones and zeros, or NULL */
    /* Where the rows are a part of a batch; NULL: they are all of it. */
    llap_tensor *weight;   /* [B] of the rows; NULL: as o says */
    llap_tensor *kinds;    /* [2]: conditional rows are in the batch, and unconditional ones */
    bool         training; /* dropout and power iterations */

    /* In continuous time, a = cos(pi t / 2) and s = sin(pi t / 2): spec accuracy.md 4.8. */
    llap_tensor *time;            /* [B] in (0,1), instead of t and the schedule, which is NULL */
    llap_tensor *f, *pad, *E_pad; /* as for the denoiser */
} llap_loss_in;

/* One element; o->min_snr needs a schedule. Conditional and unconditional rows go through one
 * forward. Notes x_t, error (by row), weights_raw, weights, loss_c, loss_u, and sc_feat. */
llap_tensor *llap_diffusion_loss(llap_graph *g, const llap_denoiser_config *c,
                                 const llap_schedule *s, const llap_loss_opts *o,
                                 const llap_loss_in *in);

/* The weights that n rows of those steps have in it, [n]; conditional NULL: all are. */
void llap_diffusion_weights(const llap_schedule *s, const llap_loss_opts *o, const int32_t *t,
                            const float *conditional, int64_t n, float *weight);

/* What a training step draws for the row of a window: t on 1..T-1 (uniform, or by Karras spacing),
 * whether it is conditional, and [n] normals; keyed by seed, window and step of training. */
typedef struct llap_draw_opts {
    uint64_t seed;
    bool     karras;
    double   drop; /* probability of an unconditional row, 0.18 in the reference */
} llap_draw_opts;

void llap_diffusion_draw(const llap_schedule *s, const llap_draw_opts *o, uint64_t window,
                         uint32_t step, int32_t *t, float *conditional, float *eps, size_t n);

#endif
