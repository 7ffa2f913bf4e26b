/* The reverse process: from noise to samples of the latent trajectory (spec/model.md, section 6).
 *
 *     llap_points list;
 *     st = llap_points_reference(schedule, 64, LLAP_KARRAS_RHO, &list);        33 steps, Q2
 *     if (st == LLAP_OK)
 *         st = llap_sample(&LLAP_SAMPLER_REFERENCE, &list, shape, &predictor, &io, out);
 *     llap_points_deinit(&list);
 *
 * The predictor is anything that answers like a denoiser; model/denoise.h makes one of the network.
 * All samples of all windows go together: arrays are [B,R,h,Z]. What a sample becomes depends on
 * its own window and number alone, never on those beside it. */
#ifndef LLAP_MODEL_SAMPLER_H
#define LLAP_MODEL_SAMPLER_H

#include "model/diffusion.h"

/* -------- where to stop on the way -------- */

typedef struct llap_point {
    int64_t    t;    /* step of the schedule, or -1 in continuous time */
    double     time; /* t, or the continuous time in (0,1) */
    llap_level level;
} llap_point;

typedef struct llap_points { /* from noise to data */
    llap_point *at;
    int         n;
} llap_points;

void llap_points_deinit(llap_points *p);

/* Spec 6.1: Karras spacing snapped to steps, duplicates removed; all T steps for n >= T. */
llap_status llap_points_reference(const llap_schedule *s, int n, double rho, llap_points *out);
/* Exactly n steps (at most T-2), uniform in log-SNR from T-2 to 1: the outlier T-1 is left out. */
llap_status llap_points_honest(const llap_schedule *s, int n, llap_points *out);
/* As many, for few evaluations: from sigma/alpha = 12 n to 1/n, gathered where signal and noise are
 * alike (uniform in asinh(log(alpha/sigma) / 2)). With UniPC 8 to 10 are like 32 honest ones. */
llap_status llap_points_gathered(const llap_schedule *s, int n, llap_points *out);
/* n points in continuous time, alpha = cos(pi t / 2), sigma = sin(pi t / 2): the first n of n+1
 * that are uniform in log(sigma / alpha) from first to last, spec accuracy.md 4.8; or gathered. */
llap_status llap_points_continuous(int n, double first, double last, bool gathered,
                                   llap_points *out);

/* -------- options -------- */

typedef enum llap_solver { /* "ddim", "dpmpp_2m", "unipc" */
                           LLAP_SOLVER_DDIM,
                           LLAP_SOLVER_DPMPP_2M, /* DPM-Solver++ of second order, multistep */
                           LLAP_SOLVER_UNIPC, /* predictor and corrector of second order, B(h) = e^h
                                                 - 1 */
} llap_solver;

extern const char *const llap_solver_names[];

typedef struct llap_sampler_opts {
    llap_solver     solver;
    llap_prediction predict;
    double guidance[2];      /* g = g0 + (g1 - g0) alpha_bar^power; 1, 1: no unconditional pass */
    double guidance_power;   /* 0.3 in the reference's evaluation, Q1 */
    bool   guidance_rescale; /* mean and deviation of the conditional prediction are kept */
    double eta;              /* of DDIM: 0 deterministic, 1 ancestral */
    double threshold_p;      /* dynamic threshold's quantile; 0: off */
    double threshold_max;
    double clip; /* |x0| at every step; 0: off */
    bool   self_condition;
} llap_sampler_opts;

/* clang-format off */
#define LLAP_SAMPLER_REFERENCE \
    ((llap_sampler_opts){ .solver = LLAP_SOLVER_DDIM, .predict = LLAP_PREDICT_V, .guidance = { 1.0, 2.0 }, \
                          .guidance_power = 0.3, .guidance_rescale = true, .threshold_max = 1.0 })
#define LLAP_SAMPLER_DEFAULT \
    ((llap_sampler_opts){ .solver = LLAP_SOLVER_DPMPP_2M, .predict = LLAP_PREDICT_V, .guidance = { 1.0, 1.0 }, \
                          .guidance_power = 1.0, .clip = 6.0 })
/* clang-format on */

/* -------- sampling -------- */

typedef struct llap_extent {
    int64_t B, R, h, Z;
} llap_extent;

/* Fills pred [B,R,h,Z] at point i of the list. sc is the previous estimate, or NULL. */
typedef struct llap_predictor {
    llap_status (*predict)(void *user, int i, const llap_point *at, bool conditional,
                           const float *x, const float *sc, float *pred);
    void *user;
    bool  has_condition; /* else there is only one pass, called with conditional = false */
} llap_predictor;

/* Looks at step i: the state on entry, the prediction of each pass (NULL: not made). */
typedef void (*llap_sample_watch)(void *user, int i, const float *x, const float *pred_c,
                                  const float *pred_u);

typedef struct llap_sample_io {
    /* Own draws: normals by (seed, window, sample, step, element). */
    uint64_t        seed;
    const uint64_t *window;       /* [B] ids: hashes of content */
    uint32_t        first_sample; /* the number of sample 0 */
    /* Draws of the caller, used instead where not NULL. */
    const float *init;     /* [B,R,h,Z] */
    const float *step;     /* [n-1,B,R,h,Z], for eta > 0 */
    const float *obs_init; /* [B,R,h,Z], for inpainting */
    const float *obs_step; /* [n-1,B,R,h,Z] */
    /* Inpainting, spec 6.4: latents y_obs [B,h,Z] hold where keep [B,h,Z] is not 0. Both or none.
     */
    const float   *y_obs;
    const uint8_t *keep;
    /* Starts from these [B,R,h,Z], noised to the level of the first point, and not from noise
     * alone: a guess of somebody else, of which the points that are left change more or less. */
    const float *start;

    llap_sample_watch watch; /* or NULL */
    void             *watcher;
} llap_sample_io;

/* What a normal is for; part of the results: append only. */
typedef enum llap_noise { LLAP_NOISE_INIT, LLAP_NOISE_STEP, LLAP_NOISE_OBS } llap_noise;

/* The normals [B,R,h,Z] of a purpose at transition i: own draws, see above. */
void llap_sample_normals(const llap_sample_io *io, llap_extent e, llap_noise what, int i,
                         float *out);

/* The samples, [B,R,h,Z]. LLAP_EINVAL: options that do not fit; LLAP_ENUMERIC: a prediction is not
 * finite; what the predictor says. Borrows everything until return. */
llap_status llap_sample(const llap_sampler_opts *o, const llap_points *list, llap_extent extent,
                        const llap_predictor *p, const llap_sample_io *io, float *out);

/* g at this level, in single precision as the reference has it. */
float llap_guidance_at(const llap_sampler_opts *o, float alpha_bar);

/* One DDIM transition of n numbers: x' = a' x0 + sqrt(1 - abar' - s^2) eps + s noise; noise may be
 * NULL for eta = 0. llap_ddim_sigma is s. */
float llap_ddim_sigma(llap_level from, llap_level to, double eta);
void  llap_ddim_step(llap_level from, llap_level to, double eta, const float *x0, const float *eps,
                     const float *noise, float *x, int64_t n);

#endif
