/* The chain of scales in front of the anchor, for one variable, each link monotone and undone
 * exactly, so that the quantiles of a forecast are those of the anchor taken back:
 *
 *     y  -> z = (clip(y) - mu_e) / sd_e, clipped           statistics of the training rows
 *     z  -> v = Yeo-Johnson(z; lambda)                     one lambda, by likelihood; or a curve of
 *                                                          y itself: log(1 + |y|) or asinh(y)
 *     v  -> u = (v - g_m) / g_s                            pooled training mean, deviation
 *     u  -> u = (u - climate_e(t)) / r_s                   a ridge on calendar terms, optional
 *     u  -> w = (u - m) / s                                of one window: ll_window_norm
 *
 *     ll_chain *c = NULL;
 *     llap_status st = ll_chain_fit(train, n, &LL_CHAIN_DEFAULT, &c);
 *     double z = ll_chain_z(c, e, y), u = ll_chain_u(c, e, t, z);
 *     z = ll_chain_z_back(c, e, t, u), y = ll_chain_y_back(c, e, z);
 *     ll_chain_destroy(c);
 *
 * t is in hours since 1970-01-01T00:00Z where there is a climate, else it is not used. A missing
 * value (NaN) stays one all the way. e is the series' index, or any larger number for a series that
 * was not in training: it takes the statistics of all together. */
#ifndef LL_ANCHOR_CHAIN_H
#define LL_ANCHOR_CHAIN_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rows of one series; y NaN: missing. Borrowed until the call returns. */
typedef struct ll_series {
    size_t        n;
    const double *t; /* [n] not decreasing */
    const double *y; /* [n] */
    const double *u; /* [n] y after ll_chain_convert, by the chain and the index that the series
                        is asked under; NULL: whoever needs it converts what it looks at */
} ll_series;

/* The second link. The last two look at the value in its own unit, y = mu_e + sd_e z. */
typedef enum ll_transform {
    LL_TRANSFORM_NONE,        /* lambda 1 */
    LL_TRANSFORM_YEO_JOHNSON, /* lambda by likelihood */
    LL_TRANSFORM_LOG1P,       /* v = log(1 + |y|), with the sign of y */
    LL_TRANSFORM_ASINH,       /* v = asinh(y) */
} ll_transform;

typedef struct ll_chain_opts {
    bool         pooled; /* one mu and sd (and climate) for all series */
    ll_transform transform;
    bool         climate; /* daily and weekly terms; annual ones where training spans two years */
    double       z_clip;  /* z is clipped to +- this */
    double tail; /* before anything, y is clipped to its quantiles tail and 1 - tail; 0: not */
} ll_chain_opts;

#define LL_CHAIN_DEFAULT \
    ((ll_chain_opts){ .transform = LL_TRANSFORM_YEO_JOHNSON, .climate = true, .z_clip = 5 })
#define LL_CLIMATE_MAX 23 /* terms: 1, 6 daily, 4 weekly, then 4 annual and 8 daily x annual */

/* All of it is saved with the model. Statistics rows are [n_series + 1]: the last is all pooled. */
typedef struct ll_chain {
    size_t  n_series;
    double *mu, *sd;
    double  y_lo, y_hi; /* y is clipped to these */
    double  z_clip;
    double  y_min, y_max; /* answers are held within, as z_lo and z_hi below; +-inf: not */
    double  lambda, g_m, g_s;
    bool    log1p, asinh; /* of y, instead of Yeo-Johnson */
    double  z_lo, z_hi;   /* answers are held within: least training z - 0.2, z_clip */
    int32_t n_climate;    /* terms: 0, 11 or 23 */
    double *climate;      /* [n_series + 1,n_climate] */
    double  r_s;          /* 1 without a climate */
} ll_chain;

/* Caller owns *out (ll_chain_destroy). A series without a value takes the pooled statistics; a
 * constant one is divided by 1. LLAP_EINVAL: no value at all, or one that is infinite. */
llap_status ll_chain_fit(const ll_series *train, size_t n, const ll_chain_opts *o, ll_chain **out);
void        ll_chain_destroy(ll_chain *c); /* NULL is fine */

double ll_chain_z(const ll_chain *c, size_t e, double y);
double ll_chain_y_back(const ll_chain *c, size_t e, double z);
double ll_chain_u(const ll_chain *c, size_t e, double t, double z);
double ll_chain_z_back(const ll_chain *c, size_t e, double t, double u);

/* y of a series to u [n], and to z [n] on the way unless that is NULL; NaN where it is missing. */
void ll_chain_convert(const ll_chain *c, size_t e, const ll_series *s, double *z, double *u);

/* The climate at t, before r_s; 0 without one. The other two take it as given: many values of one
 * time (quantiles, samples) need it only once. */
double ll_chain_climate(const ll_chain *c, size_t e, double t);
double ll_chain_u_given(const ll_chain *c, size_t e, double climate, double z);
double ll_chain_z_back_given(const ll_chain *c, size_t e, double climate, double u);

/* The calendar terms of a time in hours, in the order above; n_terms is 11 or 23. */
void ll_climate_terms(double t, int32_t n_terms, double *out);

double ll_chain_bend(const ll_chain *c, size_t e, double z); /* v */
double ll_yeo_johnson(double x, double lambda);
double ll_yeo_johnson_back(double v, double lambda); /* inf where no x has that value */

/* Level and scale of a window's context u [n] (NaN: missing), shrunk to 0 and 1:
 * m = sum u / (n + kappa), s^2 = (sum (u - m)^2 + 8) / (n + 8). */
void ll_window_norm(const double *u, size_t n, double kappa, double *m, double *s);

#endif
