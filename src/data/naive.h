/* The scores that any model has to beat, on the same windows, masks and scale as its own.
 *
 *     llap_score score[LLAP_NAIVE_COUNT];
 *     st = llap_naive_scores(w, split, scaled, &(llap_naive_opts){ LLAP_PART_TEST, 24 }, score);
 *     score[LLAP_NAIVE_CONTEXT].crps
 *
 * Every observed target of every window of the part counts once. */
#ifndef LLAP_DATA_NAIVE_H
#define LLAP_DATA_NAIVE_H

#include "data/scaling.h"

typedef enum llap_naive {
    LLAP_NAIVE_MEAN,     /* the training mean, 0 on the scale */
    LLAP_NAIVE_LAST,     /* last observed context value */
    LLAP_NAIVE_SEASONAL, /* last observed context value a whole number of periods (rows) before */
    LLAP_NAIVE_CONTEXT_MEAN, /* mean of the observed context values */
    LLAP_NAIVE_CLIMATOLOGY,  /* distribution of the entity's observed training targets */
    LLAP_NAIVE_CONTEXT,      /* distribution of the observed context values */
    LLAP_NAIVE_COUNT
} llap_naive;

typedef struct llap_score {
    double  crps;     /* of a point: the absolute error */
    double  mae, mse; /* of the point, or of the mean of the distribution */
    int64_t n;        /* scored values */
} llap_score;

typedef struct llap_naive_opts {
    llap_part part;
    int64_t   period_rows;
    bool own_unseen; /* an entity without training windows: the climatology of all its own rows,
                        which sees what it is scored on (parity with the published references);
                        else that of the training targets of all others */
} llap_naive_opts;

/* Where the context has no observed value (or no season): the last value, else the mean.
 * LLAP_EINVAL: nothing to score. */
llap_status llap_naive_scores(const llap_windows *w, const llap_split *split, const llap_scaled *x,
                              const llap_naive_opts *o, llap_score out[LLAP_NAIVE_COUNT]);

const char *llap_naive_name(llap_naive which); /* "train_mean", "persistence", ... */

/* ---- exact CRPS of an empirical distribution --------------------------------------------------
 * E|X - y| - E|X - X'| / 2 for X uniform over n sorted values. */
typedef struct llap_empirical {
    int64_t n;
    double *value;  /* [n] increasing */
    double *sum;    /* [n + 1] of the first k values */
    double  spread; /* E|X - X'| / 2 */
    double  mean;
} llap_empirical;

/* Sorts value[n], n >= 1, in place and computes the rest; d borrows value and sum [n + 1]. */
void   llap_empirical_init(llap_empirical *d, int64_t n, double *value, double *sum);
double llap_empirical_crps(const llap_empirical *d, double y);

#endif
