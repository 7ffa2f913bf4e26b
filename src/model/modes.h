/* Poles as a tool: what a set of damped modes says about a series.
 *
 *     y(t) = sum_k e^(-rho_k t) (c_k cos(omega_k t) + b_k sin(omega_k t)),      t >= 0
 *
 *     llap_mode m[K];
 *     st = llap_denoiser_poles(&cfg, params, &(llap_poles_opts){ .t = 500, .E = E, .S = S, ... },
 * m); half-life  llap_mode_half_life(m[k])      period  llap_mode_period(m[k])
 *
 * Times are in the model's unit. */
#ifndef LLAP_MODEL_MODES_H
#define LLAP_MODEL_MODES_H

#include "model/denoiser.h"

typedef struct llap_mode {
    double rho, omega; /* the poles -rho +- i omega; c and b are the residues */
    double c, b;
} llap_mode;

double llap_mode_half_life(llap_mode m); /* ln 2 / rho; infinite for rho = 0 */
double llap_mode_period(llap_mode m);    /* 2 pi / omega; infinite for omega = 0 */

typedef struct llap_complex {
    double re, im;
} llap_complex;

double llap_modes_response(const llap_mode *m, int64_t K, double t); /* y(t) */
/* G(s) = sum_k (c_k (s + rho_k) + b_k omega_k) / ((s + rho_k)^2 + omega_k^2), the Laplace transform
 */
llap_complex llap_modes_transfer(const llap_mode *m, int64_t K, llap_complex s);
/* sum_k e^(-2 rho_k t) (c_k^2 + b_k^2): never grows */
double llap_modes_energy(const llap_mode *m, int64_t K, double t);
/* Hurwitz: every rho > 0. */
bool llap_modes_stable(const llap_mode *m, int64_t K);

/* The real realisation y(t) = C e^(A t) B with 2 x 2 blocks [-rho, -omega; omega, -rho]:
 * A [2K,2K] row-major, B and C [2K]. */
void llap_modes_realise(const llap_mode *m, int64_t K, double *A, double *B, double *C);

/* -------- the renewal view: modes seen from event to event -------- */

/* A mode z = -rho + i omega multiplies by e^(z gap) over a gap; over random gaps, by its mean. */
typedef struct llap_event_pole {
    llap_complex multiplier; /* lambda = mean of e^(z gap); |lambda| <= 1 for rho >= 0 */
    llap_complex log_pole;   /* log lambda, its imaginary part in (-pi, pi] */
    llap_complex second;     /* z mean + z^2 variance / 2, the second-order approximation */
    bool         stable;     /* |lambda| < 1 */
} llap_event_pole;

/* LLAP_EINVAL: no gaps, or one that is negative or not finite. */
llap_status llap_event_pole_of(llap_mode m, const double *gap, int64_t n, llap_event_pole *out);

/* -------- the poles of a model -------- */

typedef struct llap_poles_opts {
    const llap_backend *backend; /* of floats */
    llap_params_part    part;    /* the model's weights, or LLAP_PARAMS_EMA */
    const char         *prefix;  /* of the model's names in the store; NULL: none */
    const float        *E;       /* [S,H] summary of one window; NULL: the unconditional poles */
    const float        *E_raw;   /* where an option asks for it */
    const float        *E_pad;   /* [S], 1: no token; NULL: all are */
    int64_t             S;
    int64_t             t;    /* diffusion step, or */
    double              time; /* continuous time */
    bool                base; /* the parameters alone, without step and summary */
    /* Residues, those of the prediction from z: wanted with h > 0 queries. */
    int64_t      h;
    const float *tq; /* [h] */
    const float *z;  /* [h,Z]; NULL: zeros, the middle of the noise */
    const float *f;  /* [h,F], with query features; NULL: zeros */
} llap_poles_opts;

/* Fills rho and omega of m[K], spec 4.11; with residues (h > 0) c and b of one latent channel, else
 * 0. energy [K], or NULL: c^2 + b^2 of each mode summed over all channels. The residues are those
 * of y = A theta in latent channels, before the head's nonlinear part. */
llap_status llap_denoiser_poles(const llap_denoiser_config *c, const llap_params *params,
                                const llap_poles_opts *o, int64_t channel, llap_mode *m,
                                double *energy);

#endif
