/* The reverse process: from noise to samples of the latent trajectory (docs/spec/model.md 6).
 *
 *     ll_points list;
 *     st = ll_points_reference(schedule, 64, LL_KARRAS_RHO, &list);        33 steps
 *     if (st == LLAP_OK)
 *         st = ll_sample(&LL_SAMPLER_REFERENCE, &list, shape, &predictor, &io, out);
 *     ll_points_deinit(&list);
 *
 * The predictor is anything that answers like a denoiser; diffusion/denoiser_steps.h makes one of
 * the network. All samples of all windows go together: arrays are [B,R,h,Z]. What a sample becomes
 * depends on its own window and number alone, never on those beside it. */
#ifndef LL_DIFFUSION_SAMPLER_H
#define LL_DIFFUSION_SAMPLER_H

#include "diffusion/diffusion.h"

/* -------- where to stop on the way -------- */

typedef struct ll_point {
    int64_t  t;    /* step of the schedule, or -1 in continuous time */
    double   time; /* t, or the continuous time in (0,1) */
    ll_level level;
} ll_point;

typedef struct ll_points { /* from noise to data */
    ll_point *at;
    int       n;
} ll_points;

void ll_points_deinit(ll_points *p);

/* docs/spec/model.md 6.1, 12.2: Karras spacing snapped to steps, duplicates removed; all T steps
 * for n >= T. */
llap_status ll_points_reference(const ll_schedule *s, int n, double rho, ll_points *out);
/* Exactly n steps (at most T-2), uniform in log-SNR from T-2 to 1: the outlier T-1 is left out. */
llap_status ll_points_honest(const ll_schedule *s, int n, ll_points *out);
/* As many, for few evaluations: from sigma/alpha = 12 n to 1/n, gathered where signal and noise are
 * alike (uniform in asinh(log(alpha/sigma) / 2)). With UniPC 8 to 10 are like 32 honest ones. */
llap_status ll_points_gathered(const ll_schedule *s, int n, ll_points *out);
/* n points in continuous time, alpha = cos(pi t / 2), sigma = sin(pi t / 2): the first n of n+1
 * that are uniform in log(sigma / alpha) from first to last, docs/spec/anchor.md 8.8; or gathered.
 */
llap_status ll_points_continuous(int n, double first, double last, bool gathered, ll_points *out);

/* -------- options -------- */

typedef enum ll_solver { /* "ddim", "dpmpp_2m", "unipc" */
                         LL_SOLVER_DDIM,
                         LL_SOLVER_DPMPP_2M, /* DPM-Solver++ of second order, multistep */
                         LL_SOLVER_UNIPC,    /* predictor and corrector of second order, B(h) = e^h
                                                  - 1 */
} ll_solver;

extern const char *const ll_solver_names[];

typedef struct ll_sampler_opts {
    ll_solver     solver;
    ll_prediction predict;
    double        guidance[2]; /* g = g0 + (g1 - g0) alpha_bar^power; 1, 1: no unconditional pass */
    double        guidance_power;   /* 0.3 in the reference's evaluation, docs/spec/model.md 12.1 */
    bool          guidance_rescale; /* mean and deviation of the conditional prediction are kept */
    double        eta;              /* of DDIM: 0 deterministic, 1 ancestral */
    double        threshold_p;      /* dynamic threshold's quantile; 0: off */
    double        threshold_max;
    double        clip; /* |x0| at every step; 0: off */
    bool          self_condition;
} ll_sampler_opts;

/* clang-format off */
#define LL_SAMPLER_REFERENCE \
    ((ll_sampler_opts){ .solver = LL_SOLVER_DDIM, .predict = LL_PREDICT_V, .guidance = { 1.0, 2.0 }, \
                          .guidance_power = 0.3, .guidance_rescale = true, .threshold_max = 1.0 })
#define LL_SAMPLER_DEFAULT \
    ((ll_sampler_opts){ .solver = LL_SOLVER_DPMPP_2M, .predict = LL_PREDICT_V, .guidance = { 1.0, 1.0 }, \
                          .guidance_power = 1.0, .clip = 6.0 })
/* clang-format on */

/* -------- sampling -------- */

typedef struct ll_extent {
    int64_t B, R, h, Z;
} ll_extent;

/* Fills pred [B,R,h,Z] at point i of the list. sc is the previous estimate, or NULL. */
typedef struct ll_predictor {
    llap_status (*predict)(void *user, int i, const ll_point *at, bool conditional, const float *x,
                           const float *sc, float *pred);
    void *user;
    bool  has_condition; /* else there is only one pass, called with conditional = false */
} ll_predictor;

/* Looks at step i: the state on entry, the prediction of each pass (NULL: not made). */
typedef void (*ll_sample_watch)(void *user, int i, const float *x, const float *pred_c,
                                const float *pred_u);

typedef struct ll_sample_io {
    /* Own draws: normals by (seed, window, sample, step, element). */
    uint64_t        seed;
    const uint64_t *window;       /* [B] ids: hashes of content */
    uint32_t        first_sample; /* the number of sample 0 */
    /* Draws of the caller, used instead where not NULL. */
    const float *init;     /* [B,R,h,Z] */
    const float *step;     /* [n-1,B,R,h,Z], for eta > 0 */
    const float *obs_init; /* [B,R,h,Z], for inpainting */
    const float *obs_step; /* [n-1,B,R,h,Z] */
    /* Inpainting, docs/spec/model.md 6.4: latents y_obs [B,h,Z] hold where keep [B,h,Z] is not 0.
     * Both or none.
     */
    const float   *y_obs;
    const uint8_t *keep;
    /* Starts from these [B,R,h,Z], noised to the level of the first point, and not from noise
     * alone: a guess of somebody else, of which the points that are left change more or less. */
    const float *start;

    ll_sample_watch watch; /* or NULL */
    void           *watcher;
} ll_sample_io;

/* What a normal is for; part of the results: append only. */
typedef enum ll_noise { LL_NOISE_INIT, LL_NOISE_STEP, LL_NOISE_OBS } ll_noise;

/* The normals [B,R,h,Z] of a purpose at transition i: own draws, see above. */
void ll_sample_normals(const ll_sample_io *io, ll_extent e, ll_noise what, int i, float *out);

/* The samples, [B,R,h,Z]. LLAP_EINVAL: options that do not fit; LLAP_ENUMERIC: a prediction is not
 * finite; what the predictor says. Borrows everything until return. */
llap_status ll_sample(const ll_sampler_opts *o, const ll_points *list, ll_extent extent,
                      const ll_predictor *p, const ll_sample_io *io, float *out);

/* g at this level, in single precision as the reference has it. */
float ll_guidance_at(const ll_sampler_opts *o, float alpha_bar);

/* One DDIM transition of n numbers: x' = a' x0 + sqrt(1 - abar' - s^2) eps + s noise; noise may be
 * NULL for eta = 0. ll_ddim_sigma is s. */
float ll_ddim_sigma(ll_level from, ll_level to, double eta);
void  ll_ddim_step(ll_level from, ll_level to, double eta, const float *x0, const float *eps,
                   const float *noise, float *x, int64_t n);

#endif
