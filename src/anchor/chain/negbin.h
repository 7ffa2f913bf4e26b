/* The negative binomial law of a count: mean m, variance m + m^2/r. Its cumulative probabilities
 * are taken to normal scores and back, so that a Gaussian process can forecast counts:
 *
 *     const ll_negbin law = { .mean = 1.2, .r = 1.5 };
 *     double u = ll_negbin_score(&law, 3, .5);       a count, the middle of its own share
 *     double y = ll_negbin_quantile(&law, u);        3 again: any u within the share of 3 is
 *
 * Both tails are computed as logarithms, each where it is small: a count far beyond all others
 * keeps a score of its own, and comes back. Any r from .1 to 1e4 and mean from 1e-9 to 1e12. Counts
 * come back exactly; where the mean is 1e5 r or more, to 1e-7 of themselves. */
#ifndef LL_ANCHOR_CHAIN_NEGBIN_H
#define LL_ANCHOR_CHAIN_NEGBIN_H

#define LL_NEGBIN_R_LEAST .1
#define LL_NEGBIN_R_MOST 1e4
#define LL_NEGBIN_MEAN_LEAST 1e-9
#define LL_NEGBIN_MEAN_MOST 1e12
#define LL_NEGBIN_COUNT_MOST 9007199254740992.0 /* 2^53: counts beyond are not whole in double */

typedef struct ll_negbin {
    double mean, r;
} ll_negbin;

/* Logarithms of P(Y = y), P(Y <= y), P(Y > y); y a whole number, 0 or more. */
typedef struct ll_negbin_tails {
    double density, below, above;
} ll_negbin_tails;
ll_negbin_tails ll_negbin_at(const ll_negbin *law, double y);

/* The normal score at the share v in (0, 1) of what y holds: that of P(Y < y) + v P(Y = y). */
double ll_negbin_score(const ll_negbin *law, double y, double v);

/* The least whole number y with P(Y <= y) >= Phi(x). NaN stays one. */
double ll_negbin_quantile(const ll_negbin *law, double x);

#endif
