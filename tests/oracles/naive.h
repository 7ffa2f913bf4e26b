/* The scores that any model has to beat, on the same windows, masks and scale as its own.
 *
 *     ll_score score[LL_NAIVE_COUNT];
 *     st = ll_naive_scores(w, split, scaled, &(ll_naive_opts){ LL_PART_TEST, 24 }, score);
 *     score[LL_NAIVE_CONTEXT].crps
 *
 * Every observed target of every window of the part counts once. */
#ifndef LL_TESTS_ORACLES_NAIVE_H
#define LL_TESTS_ORACLES_NAIVE_H

#include "data/windows/scaling.h"

typedef enum ll_naive {
    LL_NAIVE_MEAN,         /* the training mean, 0 on the scale */
    LL_NAIVE_LAST,         /* last observed context value */
    LL_NAIVE_SEASONAL,     /* last observed context value a whole number of periods (rows) before */
    LL_NAIVE_CONTEXT_MEAN, /* mean of the observed context values */
    LL_NAIVE_CLIMATOLOGY,  /* distribution of the entity's observed training targets */
    LL_NAIVE_CONTEXT,      /* distribution of the observed context values */
    LL_NAIVE_COUNT
} ll_naive;

typedef struct ll_score {
    double  crps;     /* of a point: the absolute error */
    double  mae, mse; /* of the point, or of the mean of the distribution */
    int64_t n;        /* scored values */
} ll_score;

typedef struct ll_naive_opts {
    ll_part part;
    int64_t period_rows;
    bool    own_unseen; /* an entity without training windows: the climatology of all its own rows,
                           which sees what it is scored on (parity with the published references);
                           else that of the training targets of all others */
} ll_naive_opts;

/* Where the context has no observed value (or no season): the last value, else the mean.
 * LLAP_EINVAL: nothing to score. */
llap_status ll_naive_scores(const ll_windows *w, const ll_split *split, const ll_scaled *x,
                            const ll_naive_opts *o, ll_score out[LL_NAIVE_COUNT]);

const char *ll_naive_name(ll_naive which); /* "train_mean", "persistence", ... */

/* ---- exact CRPS of an empirical distribution --------------------------------------------------
 * E|X - y| - E|X - X'| / 2 for X uniform over n sorted values. */
typedef struct ll_empirical {
    int64_t n;
    double *value;  /* [n] increasing */
    double *sum;    /* [n + 1] of the first k values */
    double  spread; /* E|X - X'| / 2 */
    double  mean;
} ll_empirical;

/* Sorts value[n], n >= 1, in place and computes the rest; d borrows value and sum [n + 1]. */
void   ll_empirical_init(ll_empirical *d, int64_t n, double *value, double *sum);
double ll_empirical_crps(const ll_empirical *d, double y);

#endif
