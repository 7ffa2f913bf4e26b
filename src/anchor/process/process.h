/* src/anchor/process: the Gaussian process itself, conditioned on one history or on several.
 *
 *   process.h            this file: kernel, windows, answers
 *   state.h, events.c    the state-space form; readings and queries in the order of time
 *   filter.c, posterior.c, root.c:
 *                        forward; both ways; with roots
 *   gradient.c           how a likelihood or a score depends on the kernel
 *   linked.h             several series at once
 *
 * May touch: base. */

/* The anchor: a Gaussian process with stable poles, conditioned exactly on an irregular history.
 *
 *     y(t) = f(t) + noise,   cov(f(t), f(t + d)) = k(d) = sum_i a_i exp(-rho_i |d|) cos(omega_i d)
 *
 * Each term is a conjugate pair of poles -rho_i +- i omega_i, so f is the output of a linear
 * stochastic system whose state is known exactly after every observation. All answers below equal
 * those of the dense covariance matrix but cost O(J^2) per observation and query, where J is the
 * number of states: one for a term with omega = 0, two for the others.
 *
 *     ll_anchor_kernel k = ll_anchor_kernel_hourly();
 *     ll_anchor_window w = { .n_obs = n, .t = t, .y = y, .n_query = q, .t_query = tq };
 *     ll_anchor_posterior *p = NULL;
 *     llap_status st = ll_anchor_condition(&k, &w, &p);
 *     if (st == LLAP_OK) st = ll_anchor_marginals(p, LL_ANCHOR_NOISY, mean, var);
 *     ll_anchor_posterior_destroy(p);
 *
 * Time is any unit in which rho and omega are given. Everything is in double; the values of y and
 * the times may come from single precision. Means, variances from the past and from both sides,
 * covariances, paths and likelihoods have nine digits for noise down to 1e-8 of the variance, at
 * gaps from 1e-6 to 1e6. Nothing here is random: draws take normals. */
#ifndef LL_ANCHOR_PROCESS_PROCESS_H
#define LL_ANCHOR_PROCESS_PROCESS_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LL_ANCHOR_MAX_TERMS 16
#define LL_ANCHOR_MAX_STATES (2 * LL_ANCHOR_MAX_TERMS + 2)

/* What carries a series away from the level that its terms return to. */
typedef enum ll_anchor_drift {
    LL_ANCHOR_STILL, /* nothing */
    LL_ANCHOR_LEVEL, /* a level that walks: variance start at the first event, q d over a gap d */
    LL_ANCHOR_SLOPE, /* and is moved by a slope b: db = -damping b dt + noise of variance v dt */
} ll_anchor_drift;

typedef struct ll_anchor_kernel {
    int32_t n_terms;                    /* 1 .. LL_ANCHOR_MAX_TERMS */
    double  a[LL_ANCHOR_MAX_TERMS];     /* variances, > 0 */
    double  rho[LL_ANCHOR_MAX_TERMS];   /* decay per unit of time, > 0 */
    double  omega[LL_ANCHOR_MAX_TERMS]; /* radians per unit of time, >= 0 */
    double  nu;                         /* variance of the observation noise, >= 0 */
    double  jitter; /* added to nu where observations are conditioned on, and nowhere else;
                     * nu + jitter > 0 */
    ll_anchor_drift drift;
    double start; /* variance of the level at the first event of a window, >= 0; in a window without
                   * a reading the level has what the terms leave of 1 instead, and stays */
    double q, v;  /* of the level's and the slope's noise per unit of time, > 0 where used */
    double damping;    /* of the slope, > 0 where used */
    double monitor;    /* threshold of the monitor below; 0: off */
    bool   innovation; /* variances are scaled by what the window's readings surprise by */
} ll_anchor_kernel;

/* The monitor. A reading e away from its mean (in u: times the scale of the window), whose variance
 * is S by the kernel alone, is far off by a = |e|/sqrt(S
 * r), r = (8 + sum z)/(8 + n) over the n readings before it, z = min(e^2/S, 16). At the second
 * reading in a row with a > monitor and the same sign the level (of variance 0 where there is no
 * drift) has its variance raised by e^2, so that the filter follows at once; that reading counts z
 * = 1.
 *
 * Innovation scale: the readings are y = u - m in the unit of u, not divided by the scale of the
 * window, and the variance of a query is multiplied by (8 + sum z)/(8 + n). Otherwise, after the
 * monitor has struck, variances are multiplied by the scale of the readings since, as
 * ll_window_norm has it, over that of the window. Means are the same either way. */

/* The start of every fit on data with a clock: time in hours, three relaxations and the cycles
 * of 24, 12, 8 and 168 hours. */
ll_anchor_kernel ll_anchor_kernel_hourly(void);

/* The start on data without a clock, or whose cycles are not the clock's: three relaxations and
 * n_cycles cycles whose periods are log-spaced from shortest to span. A context of that length can
 * resolve no longer ones, readings every step none below 2 * step. */
llap_status ll_anchor_kernel_spaced(double shortest, double span, int32_t n_cycles,
                                    ll_anchor_kernel *out);

llap_status ll_anchor_kernel_check(const ll_anchor_kernel *k); /* LLAP_EINVAL names the field */
const char *ll_anchor_drift_name(ll_anchor_drift d);           /* none, level or slope */
double      ll_anchor_half_life(double rho); /* log(2)/rho: the amplitude halves, in time units */

/* One history and the times asked about. Borrows all arrays until the call returns. */
typedef struct ll_anchor_window {
    size_t        n_obs;
    const double *t;       /* [n_obs] finite, not decreasing; equal times are allowed */
    const double *y;       /* [n_obs] NaN: missing */
    size_t        n_query; /* 0 is fine */
    const double *t_query; /* [n_query] finite, any order */
    const double *target;  /* [n_query] what came true, NaN: unknown; only scores read it */
    double        start;   /* variance that the level has beyond the kernel's at the first event */
    double        scale;   /* s that y and target were divided by, or, innovation, were not; 0: 1 */
} ll_anchor_window;

/* Which quantity a variance belongs to. */
typedef enum ll_anchor_of {
    LL_ANCHOR_LATENT, /* f(t) */
    LL_ANCHOR_NOISY,  /* a new reading y(t) = f(t) + noise: nu (without jitter) is included */
} ll_anchor_of;

/* Answers given everything observed, before and after each query (forecast, gap filling). */
typedef struct ll_anchor_posterior ll_anchor_posterior;

/* On success the caller owns *out (ll_anchor_posterior_destroy), else *out is NULL. Memory
 * n_obs + n_query times O(J). Where readings to come take away 99 % of the variance that the past
 * leaves at a query, it takes seven times as long or so, and memory O(J^2) for each such query.
 * LLAP_EINVAL: kernel or times; LLAP_ENOMEM. */
llap_status ll_anchor_condition(const ll_anchor_kernel *k, const ll_anchor_window *w,
                                ll_anchor_posterior **out);
void        ll_anchor_posterior_destroy(ll_anchor_posterior *p); /* NULL is fine */

double ll_anchor_loglik(const ll_anchor_posterior *p); /* log density of the observed y */
/* mean, var [n_query]; either may be NULL. */
llap_status ll_anchor_marginals(const ll_anchor_posterior *p, ll_anchor_of of, double *mean,
                                double *var);
/* cov [n_query,n_query], symmetric. O(n_query (n_query + n_obs) J). */
llap_status ll_anchor_covariance(const ll_anchor_posterior *p, ll_anchor_of of, double *cov);
/* Draws whole paths from the joint law of the queries: paths [n_paths,n_query]. normals
 * [n_paths, ll_anchor_path_normals()] are independent standard normals; the same normals give
 * the same path whatever n_paths is. O((n_query + n_obs) J) a path. */
size_t      ll_anchor_path_normals(const ll_anchor_posterior *p);
llap_status ll_anchor_paths(const ll_anchor_posterior *p, ll_anchor_of of, size_t n_paths,
                            const double *normals, double *paths);

/* Paths of the same joint law, as normal scores of their margins (of a new reading), by one normal
 * for each query: normals and scores are [n_paths,n_query]. The score at a query depends on the
 * normals of that query and of those before it, so normals that belong to times can be shared with
 * other series. scores may be normals. LLAP_EINVAL: a reading after the first query. O(n_query J)
 * a path. */
llap_status ll_anchor_innovate(const ll_anchor_posterior *p, size_t n_paths, const double *normals,
                               double *scores);

/* How far off the readings of a window are, as the monitor measures it: a [n_obs], NaN: missing. */
llap_status ll_anchor_surprises(const ll_anchor_kernel *k, const ll_anchor_window *w, double *a);

/* Causal answers: each query given the observations at or before its time. Windows are shared out
 * among threads; mean[i], var[i] [n_query of window i] (var of a new reading). loglik [n_windows]
 * may be NULL. Same bytes for any number of threads. */
llap_status ll_anchor_filter(const ll_anchor_kernel *k, const ll_anchor_window *w, size_t n_windows,
                             double *const *mean, double *const *var, double *loglik);

/* The same of one window, with the means term by term: term [n_query,n_terms + 1], the level of a
 * drift last. They add up to mean [n_query]. */
llap_status ll_anchor_filter_terms(const ll_anchor_kernel *k, const ll_anchor_window *w,
                                   double *mean, double *var, double *term);

typedef enum ll_anchor_loss_kind {
    LL_ANCHOR_CRPS, /* Gaussian CRPS of the targets, each given what was observed before it */
    LL_ANCHOR_NLL,  /* negative log likelihood of the observations; targets are not read */
} ll_anchor_loss_kind;

typedef struct ll_anchor_loss {
    double  sum;   /* over all scored values */
    int64_t count; /* values scored: targets that are known (CRPS), observations (NLL) */
    /* Derivatives of sum with respect to the kernel's fields themselves. */
    double d_a[LL_ANCHOR_MAX_TERMS];
    double d_rho[LL_ANCHOR_MAX_TERMS];
    double d_omega[LL_ANCHOR_MAX_TERMS];
    double d_nu, d_q, d_v;
} ll_anchor_loss;

/* Loss and its exact gradient, by one reverse sweep through the filter: O(J^2) per observation and
 * query for all derivatives together. The variance of a target is held at var_floor from below
 * (no derivative there); NLL does not use it. The monitor is off. Innovation scale: the CRPS of
 * each window is divided by its scale. Same bytes for any number of threads. */
llap_status ll_anchor_loss_gradient(const ll_anchor_kernel *k, const ll_anchor_window *w,
                                    size_t n_windows, ll_anchor_loss_kind kind, double var_floor,
                                    ll_anchor_loss *out);

/* Gaussian CRPS of y under N(mean, sd^2), sd > 0; derivatives may be NULL. */
double ll_anchor_crps(double y, double mean, double sd, double *d_mean, double *d_sd);

#endif
