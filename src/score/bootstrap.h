/* How sure a difference of two forecasters is: a paired block bootstrap. Units (days of the
 * context's end, or entities) are drawn again in runs of consecutive ones, so that forecasts that
 * overlap stay together; both forecasters are scored on the same drawn units. */
#ifndef LL_SCORE_BOOTSTRAP_H
#define LL_SCORE_BOOTSTRAP_H

#include "score/scoring.h"

typedef struct bootstrap_opts {
    int64_t  n_draws; /* 0: no intervals */
    int64_t  run;     /* consecutive units drawn together, >= 1 */
    bool     units;   /* errors in data units, not in standard deviations */
    uint64_t seed;
} bootstrap_opts;

typedef struct bootstrap_range {
    double value;     /* of all units */
    double se;        /* deviation of the draws; NaN without draws, as the next two */
    double low, high; /* the middle 95 % of the draws */
} bootstrap_range;

typedef struct bootstrap_result {
    bootstrap_range crps; /* mean of a - mean of b */
    bootstrap_range mse;
    bootstrap_range skill; /* 1 - mean CRPS of a / that of b */
    int64_t n_left_out;    /* units in which one of them did not answer all: they compare nothing */
} bootstrap_result;

/* a and b are [n_units], about the same values. LLAP_ENOMEM. */
llap_status bootstrap_difference(const scoring_sum *a, const scoring_sum *b, int64_t n_units,
                                 const bootstrap_opts *o, bootstrap_result *out);

#endif
