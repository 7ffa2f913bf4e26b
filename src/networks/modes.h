/* Poles as a tool: what a set of damped modes says about a series.
 *
 *     y(t) = sum_k e^(-rho_k t) (c_k cos(omega_k t) + b_k sin(omega_k t)),      t >= 0
 *
 *     ll_mode m[K];
 *     st = ll_denoiser_poles(&cfg, params, &(ll_poles_opts){ .t = 500, .E = E, .S = S }, m);
 *     half-life  ll_mode_half_life(m[k])      period  ll_mode_period(m[k])
 *
 * Times are in the model's unit. */
#ifndef LL_NETWORKS_MODES_H
#define LL_NETWORKS_MODES_H

#include "networks/denoiser.h"

typedef struct ll_mode {
    double rho, omega; /* the poles -rho +- i omega; c and b are the residues */
    double c, b;
} ll_mode;

double ll_mode_half_life(ll_mode m); /* ln 2 / rho; infinite for rho = 0 */
double ll_mode_period(ll_mode m);    /* 2 pi / omega; infinite for omega = 0 */

typedef struct ll_complex {
    double re, im;
} ll_complex;

double ll_modes_response(const ll_mode *m, int64_t K, double t); /* y(t) */
/* G(s) = sum_k (c_k (s + rho_k) + b_k omega_k) / ((s + rho_k)^2 + omega_k^2), the Laplace transform
 */
ll_complex ll_modes_transfer(const ll_mode *m, int64_t K, ll_complex s);
/* sum_k e^(-2 rho_k t) (c_k^2 + b_k^2): never grows */
/* Hurwitz: every rho > 0. */
bool ll_modes_stable(const ll_mode *m, int64_t K);

/* The real realisation y(t) = C e^(A t) B with 2 x 2 blocks [-rho, -omega; omega, -rho]:
 * A [2K,2K] row-major, B and C [2K]. */
void ll_modes_realise(const ll_mode *m, int64_t K, double *A, double *B, double *C);

/* -------- the renewal view: modes seen from event to event -------- */

/* A mode z = -rho + i omega multiplies by e^(z gap) over a gap; over random gaps, by its mean. */
typedef struct ll_event_pole {
    ll_complex multiplier; /* lambda = mean of e^(z gap); |lambda| <= 1 for rho >= 0 */
    ll_complex log_pole;   /* log lambda, its imaginary part in (-pi, pi] */
    ll_complex second;     /* z mean + z^2 variance / 2, the second-order approximation */
    bool       stable;     /* |lambda| < 1 */
} ll_event_pole;

/* LLAP_EINVAL: no gaps, or one that is negative or not finite. */
llap_status ll_event_pole_of(ll_mode m, const double *gap, int64_t n, ll_event_pole *out);

/* -------- the poles of a model -------- */

typedef struct ll_poles_opts {
    const ll_backend *backend; /* of floats */
    ll_params_part    part;    /* the model's weights, or LL_PARAMS_EMA */
    const char       *prefix;  /* of the model's names in the store; NULL: none */
    const float      *E;       /* [S,H] summary of one window; NULL: the unconditional poles */
    const float      *E_raw;   /* where an option asks for it */
    const float      *E_pad;   /* [S], 1: no token; NULL: all are */
    int64_t           S;
    int64_t           t;    /* diffusion step, or */
    double            time; /* continuous time */
    bool              base; /* the parameters alone, without step and summary */
    /* Residues, those of the prediction from z: wanted with h > 0 queries. */
    int64_t      h;
    const float *tq; /* [h] */
    const float *z;  /* [h,Z]; NULL: zeros, the middle of the noise */
    const float *f;  /* [h,F], with query features; NULL: zeros */
} ll_poles_opts;

/* Fills rho and omega of m[K], docs/spec/model.md 4.11; with residues (h > 0) c and b of one latent
 * channel, else 0. energy [K], or NULL: c^2 + b^2 of each mode summed over all channels. The
 * residues are those of y = A theta in latent channels, before the head's nonlinear part. */
llap_status ll_denoiser_poles(const ll_denoiser_config *c, const ll_params *params,
                              const ll_poles_opts *o, int64_t channel, ll_mode *m, double *energy);

#endif
