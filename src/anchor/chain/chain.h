/* src/anchor/chain: from readings to the scale of the anchor and back.
 *
 *   chain.h              this file: curve, climate, window scale; chain_fit.c
 *   chain_climate.h      the regression on calendar, known inputs and periods; chain_profile.c
 *   chain_kinds.h        counts, shares, whole numbers; negbin.h
 *   chain_components.h   what climate and known inputs are made of
 *   glitch.h             readings that are none
 *   known.h, known_fit.h, holidays.h:
 *                        inputs that are known ahead
 *   periods.h            cycles that no calendar names
 *   statics.h            what never changes of a series, and tells its level; chain_static.c
 *   quantile.h           of a list of numbers
 *
 * May touch: base, base/rng, anchor/process. */

/* The chain of scales in front of the anchor, for one variable, each link monotone and undone
 * exactly, so that the quantiles of a forecast are those of the anchor taken back:
 *
 *     y  -> z = (y - mu_e) / sd_e                          statistics of the training rows; or of
 *                                                          log y in the place of y
 *     z  -> v = Yeo-Johnson(z; lambda)                     one lambda, by likelihood; or a curve of
 *                                                          y itself: log(1 + |y|) or asinh(y)
 *     v  -> u = (v - g_m) / g_s                            pooled training mean, deviation
 *     u  -> u = (u - climate_e(t)) / r_s                   a ridge on calendar terms, optional,
 *                                                          and on known inputs (known.h)
 *     u  -> w = (u - m) / s                                of one window: ll_window_norm
 *
 *     ll_chain *c = NULL;
 *     llap_status st = ll_chain_fit(train, n, &LL_CHAIN_DEFAULT, &c);
 *     double z = ll_chain_z(c, e, y), u = ll_chain_u(c, e, t, z);
 *     z = ll_chain_z_back_given(c, e, ll_chain_climate(c, e, t), u), y = ll_chain_y_back(c, e, z);
 *     ll_chain_destroy(c);
 *
 * No value is too far out: beyond the knots, the 5 and 95 % quantiles of the training z, the curve
 * goes on as a straight line, so that it takes the whole line to the whole line. Models of before
 * (LL_CURVE_CLIPPED) hold z and the answers within the range of training instead.
 *
 * t is in hours since 1970-01-01T00:00Z where there is a climate, else it is not used. A missing
 * value (NaN) stays one all the way. e is the series' index, or any larger number for a series that
 * was not in training: it takes the statistics of all together, or those that its static inputs
 * tell (ll_chain_more). */
#ifndef LL_ANCHOR_CHAIN_CHAIN_H
#define LL_ANCHOR_CHAIN_CHAIN_H

#include "anchor/chain/holidays.h"
#include "anchor/chain/known.h"
#include "anchor/chain/statics.h"
#include "base/kind.h"

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rows of one series; y NaN: missing. Borrowed until the call returns. */
typedef struct ll_series {
    size_t        n;
    const double *t;     /* [n] not decreasing */
    const double *y;     /* [n] */
    const double *u;     /* [n] y after ll_chain_convert, by the chain and the index that the series
                            is asked under; NULL: whoever needs it converts what it looks at */
    const ll_inputs *in; /* its known inputs, as the chain has them; NULL: none is known */
} ll_series;

/* The second link. The last two look at the value in its own unit, y = mu_e + sd_e z. */
typedef enum ll_transform {
    LL_TRANSFORM_NONE,        /* lambda 1 */
    LL_TRANSFORM_YEO_JOHNSON, /* lambda by likelihood */
    LL_TRANSFORM_LOG1P,       /* v = log(1 + |y|), with the sign of y */
    LL_TRANSFORM_ASINH,       /* v = asinh(y) */
} ll_transform;

/* How z is made and goes on where training has not been. */
typedef enum ll_curve {
    LL_CURVE_CLIPPED, /* z and answers are held within bounds */
    LL_CURVE_TAILS,   /* straight lines beyond the knots */
    LL_CURVE_LOG,     /* z of log(y - origin), a straight line below y_0 */
    LL_CURVE_LOGIT,   /* z of log(x/(1 - x)), x = (y - y_min)/(y_max - y_min); then tails */
    LL_CURVE_COUNTS,  /* u is the normal score of y in a negative binomial law of e and t */
} ll_curve;

/* Known inputs of a chain that is to be fitted; those of each series are in ll_series.in. */
struct ll_anchor_kernel;
typedef struct ll_known_opts {
    const ll_known                *known;  /* what the inputs are like; NULL: none is used */
    const struct ll_anchor_kernel *whiten; /* weigh rows by what it has not foreseen; NULL: alike */
    bool                           slow;   /* also their means over the day before */
} ll_known_opts;
/* Static inputs of the series; n 0: none. */
typedef struct ll_static_opts {
    const ll_static_column *column; /* [n] of [n_series] each */
    int32_t                 n;
} ll_static_opts;

/* What is known about the values: found by looking (base/kind.h), or given by the user. Zeros:
 * nothing is. */
typedef struct ll_chain_values {
    ll_kind kind;             /* counts and whole numbers: answers are whole */
    bool    has_min, has_max; /* answers are held within */
    double  min, max;
    bool    given_min;     /* by the user: a logarithm may begin there, though values lie at it */
    bool    keep_glitches; /* the user believes every reading */
    bool    free;          /* the user wants no floor, not even that of a logarithm */
    int32_t week;          /* parts of the week that counts differ by: 168 hours, 7 days, 1: none */
} ll_chain_values;

/* Cycles of any length, the strongest first (periods.h), as terms of a climate. */
enum { LL_PERIODS_MAX = 3, LL_PERIOD_HARMONICS = 6 };
typedef struct ll_periods {
    int32_t n;                         /* 0: none */
    double  span[LL_PERIODS_MAX];      /* in the unit of times, > 0 */
    int32_t harmonics[LL_PERIODS_MAX]; /* 1 .. LL_PERIOD_HARMONICS */
} ll_periods;

int32_t ll_periods_count(const ll_periods *p); /* terms: 1, sin and cos of each harmonic */
void    ll_periods_terms(const ll_periods *p, double t, double *out);

typedef struct ll_chain_opts {
    ll_curve curve;           /* else than clipped: glitches are left out, z_clip and tail not read;
                               * log: nor is transform */
    bool         pooled;      /* one mu and sd (and climate) for all series */
    bool         one_climate; /* one climate, though each has its own mu and sd */
    ll_transform transform;
    bool         climate; /* daily and weekly terms; annual ones where training spans two years */
    bool         profile; /* a weekly profile in the place of a climate's few terms */
    double       gap;     /* hours between rows, for it; > 0 */
    ll_periods   periods; /* these in the place of the calendar, where there is a climate */
    double       z_clip;  /* z is clipped to +- this */
    double tail; /* before anything, y is clipped to its quantiles tail and 1 - tail; 0: not */
    ll_known_opts          known;
    ll_static_opts         statics;  /* pooled: of every series, else of those without a value */
    const ll_holiday_list *holidays; /* of a climate; NULL: none */
    ll_chain_values        values;   /* counts: only absurd ones are glitches */
    /* Fitted to the same values with other options of climate, known inputs and curve (or NULL):
     * limits of glitches and, of the same curve, what bends are not looked for again. */
    const struct ll_chain *like;
} ll_chain_opts;

#define LL_CHAIN_DEFAULT \
    ((ll_chain_opts){ .transform = LL_TRANSFORM_YEO_JOHNSON, .climate = true, .z_clip = 5 })
/* A climate of many harmonics. */
typedef struct ll_weekly {
    int32_t daily, weekly; /* harmonics of day (2 .. 12) and week (1 .. 84); 0: no profile */
    bool    annual;        /* and of the year, as in the few terms */
} ll_weekly;

enum { LL_WEEKLY_MAX = 181 };
ll_weekly ll_weekly_of(double gap, bool annual); /* of data every so many hours */
int32_t   ll_weekly_count(ll_weekly p);          /* terms: those of the week without the day's */
void      ll_weekly_terms(ll_weekly p, double t, double *out);

enum { LL_CLIMATE_ROOM = LL_WEEKLY_MAX + LL_HOLIDAY_TERMS }; /* terms of any climate */

#define LL_CLIMATE_MAX 23 /* terms: 1, 6 daily, 4 weekly, then 4 annual and 8 daily x annual */

/* sin and cos of 2 pi k t/period, k = 1 .. n; returns 2 n. */
int ll_cycle_terms(double t, double period, int n, double *out);

/* All of it is saved with the model. Statistics rows are [n_series + 1]: the last is all pooled. */
typedef struct ll_chain {
    size_t   n_series;
    double  *mu, *sd;
    ll_curve curve;
    double   knot[2];     /* of z, for tails */
    double   y_0;         /* for log: a tenth of the least training value above the origin */
    double   origin;      /* for log: 0, or the least value that the user gave */
    double   edge;        /* for logit: x is held within [edge, 1 - edge] on the way in, */
    double   end[2];      /* and x <= end[0] or >= end[1] comes back as the bound itself */
    double  *rate;        /* for counts: mean of each series, */
    double  *week;        /* [n_week] by what it is multiplied in each part of the week, */
    int32_t  n_week;      /* 168 hours or 7 days; 1: there is no calendar, */
    double   dispersion;  /* and r of the law: variance m + m^2/r */
    ll_kind  kind;        /* counts and whole numbers: answers are whole */
    double  *y_mu, *y_sd; /* of y itself where mu and sd are of its log or logit, else NULL */
    double  *low, *high;  /* range of the training values; NULL as long as z is clipped */
    double  *glitch;      /* limits of glitch.h; NULL: none is looked for */
    double   glitch_end;
    double   y_lo, y_hi; /* y is clipped to these */
    double   z_clip;
    double   y_min, y_max; /* answers are held within, as z_lo and z_hi below; +-inf: not */
    double   lambda, g_m, g_s;
    bool     log1p, asinh; /* of y, instead of Yeo-Johnson */
    double  z_lo, z_hi; /* answers are held within, where clipped: least training z - 0.2, z_clip */
    int32_t n_climate;  /* terms: 0, 11, 23 or those of a profile or of periods; then holidays */
    ll_weekly        profile;     /* daily 0: the few terms, or */
    ll_periods       periods;     /* n > 0: these */
    bool             one_climate; /* of all series: */
    double          *climate;     /* [n_climate]; else [n_series + 1,n_climate] */
    double           r_s;         /* 1 without a climate */
    ll_holiday_list *holidays;    /* in the climate, owned; NULL: none */
    ll_known        *known;       /* effects of known inputs, owned; NULL: none */
    ll_statics      *statics;     /* what static inputs tell, owned; NULL: nothing */
    double          *loose;       /* variance in u of the levels that they told; NULL: 0 */
    size_t           n_more;      /* rows of mu, sd, rate and loose behind the pooled one */
} ll_chain;

/* Caller owns *out (ll_chain_destroy). A series without a value takes the pooled statistics; a
 * constant one is divided by 1. LLAP_EINVAL: no value at all, or one that is infinite. */
llap_status ll_chain_fit(const ll_series *train, size_t n, const ll_chain_opts *o, ll_chain **out);
void        ll_chain_destroy(ll_chain *c); /* NULL is fine */

/* The same chain for n further series, as their static inputs tell: series n_series + 1 + i is
 * which[i] of the columns. Borrows the rest of c until it is freed; caller owns *out
 * (ll_chain_more_destroy). c has statics. */
llap_status ll_chain_more(const ll_chain *c, const ll_static_column *column, const size_t *which,
                          size_t n, ll_chain **out);
void        ll_chain_more_destroy(ll_chain *c); /* NULL is fine */

/* A chain that was fitted on some series becomes one of n, all as the pooled one: with one climate;
 * then takes what the training rows of series e say of its own level, spread, range and glitches.
 * No series of it may have static inputs of its own. */
llap_status ll_chain_widen(ll_chain *c, size_t n);
llap_status ll_chain_take(ll_chain *c, size_t e, const ll_series *train);

/* The coefficients of a series. */
static inline const double *ll_chain_coefficients(const ll_chain *c, size_t e)
{
    const size_t row = c->one_climate ? 0 : e < c->n_series ? e : c->n_series;
    return c->climate + row * (size_t)c->n_climate;
}

/* Row of mu, sd, rate and loose. */
static inline size_t ll_chain_row(const ll_chain *c, size_t e)
{
    return e <= c->n_series + c->n_more ? e : c->n_series;
}

/* Variance in u of the level of a series that is not its own but what static inputs tell. */
static inline double ll_chain_loose(const ll_chain *c, size_t e)
{
    return c->loose == NULL ? 0.0 : c->loose[ll_chain_row(c, e)];
}

/* z of an answer in standard deviations of the training values, the unit of scores: (y - mean) /
 * deviation of the y that it comes back as; and a value as measured, which nothing rounds nor holds
 * within bounds (but a clipped chain). */
double ll_chain_unit(const ll_chain *c, size_t e, double z);
double ll_chain_unit_of(const ll_chain *c, size_t e, double y);
/* Which of y [n] (NaN: missing) are glitches, looking at no others than these: drop [n]. */
void ll_chain_mark(const ll_chain *c, size_t e, const double *y, size_t n, bool *drop);
/* The same with each value as the last one (glitch.h). */
void ll_chain_mark_past(const ll_chain *c, size_t e, const double *y, size_t n, bool *drop);

double ll_chain_z(const ll_chain *c, size_t e, double y);
double ll_chain_y_back(const ll_chain *c, size_t e, double z);
double ll_chain_u(const ll_chain *c, size_t e, double t, double z);

/* u of a value that is to be forecast: as ll_chain_u, but a count lies anywhere within its own
 * share of the law, drawn from (series, row), so that scores of the truth are normal. */
double ll_chain_target(const ll_chain *c, size_t e, size_t row, const ll_inputs *in, double t,
                       double y);

/* y of a series to u [n], and to z [n] on the way unless that is NULL; NaN where it is missing. */
void ll_chain_convert(const ll_chain *c, size_t e, const ll_series *s, double *z, double *u);

/* The climate at t, before r_s; 0 without one; of counts the mean of the law at t. The way back
 * takes it as given: many values of one time (quantiles, samples) need it only once. */
double ll_chain_climate(const ll_chain *c, size_t e, double t);
/* The same with what the known inputs of the series add: what stands for the climate from here on.
 * And the variance in u of what was filled in of them. */
double ll_chain_mean(const ll_chain *c, size_t e, const ll_inputs *in, double t);
double ll_chain_doubt(const ll_chain *c, const ll_inputs *in, double t);
double ll_chain_u_given(const ll_chain *c, size_t e, double climate, double z);
double ll_chain_z_back_given(const ll_chain *c, size_t e, double climate, double u);

/* The calendar terms of a time in hours, in the order above; n_terms is 11 or 23. */
void ll_climate_terms(double t, int32_t n_terms, double *out);

/* Terms of the climate that are not those of holidays. */
int32_t ll_chain_usual_terms(const ll_chain *c);

extern const char *const ll_curve_names[]; /* clipped, tails, log ..; closed by NULL */
const char              *ll_curve_name(ll_curve c);

double ll_chain_bend(const ll_chain *c, size_t e, double z); /* v */
double ll_yeo_johnson(double x, double lambda);
double ll_yeo_johnson_back(double v, double lambda); /* inf where no x has that value */

/* Level and scale of a window's context u [n] (NaN: missing), shrunk to 0 and 1:
 * m = sum u / (n + kappa), s^2 = (sum (u - m)^2 + 8) / (n + 8). */
void ll_window_norm(const double *u, size_t n, double kappa, double *m, double *s);

#endif
