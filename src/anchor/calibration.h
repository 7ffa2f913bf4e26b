/* Calibration of Gaussian forecasts on forecasts whose truth is known: for near, middle and far
 * leads the normal scores are stretched, by one factor or, where that is better, by one at each of
 * five levels, so that flat or heavy-tailed truths are met too. Symmetric and monotone.
 *
 *     ll_calibration c;
 *     llap_status st = ll_calibration_fit(lead, residual, n, 24, 72, 0.5, &c);
 *     q = mean + sd * ll_calibration_bend(ll_calibration_at(&c, lead_of_query), score); */
#ifndef LL_ANCHOR_CALIBRATION_H
#define LL_ANCHOR_CALIBRATION_H

#include <llapdiff/status.h>
#include <stddef.h>

enum { LL_CALIBRATION_BUCKETS = 3, LL_CALIBRATION_LEVELS = 5 };
#define LL_CALIBRATION_LEAST 1e-6 /* of a factor */
#define LL_CALIBRATION_MOST 1e6

typedef struct ll_calibration {
    double edge[LL_CALIBRATION_BUCKETS - 1]; /* a lead <= edge[i] is in bucket i or before */
    /* of the scores that hold 25, 50, 80, 95 and 99 %; 1: unchanged */
    double factor[LL_CALIBRATION_BUCKETS][LL_CALIBRATION_LEVELS];
} ll_calibration;

ll_calibration ll_calibration_none(double near, double middle);

/* residual [n] = (truth - mean) / sd of Gaussian forecasts (NaN: unknown), lead [n] in the unit of
 * the edges. One factor a bucket, of .7 .8 .9 1 1.1 1.2 1.3 1.45 1.6 the one with the least CRPS of
 * the residuals; all are 1 unless they lower it by more than 0.3 % together. Then the residuals'
 * own quantiles in the place of the factor, for buckets with 1000 of them, unless they do not lower
 * it by another 0.3 %. LLAP_ENOMEM. */
llap_status ll_calibration_fit(const double *lead, const double *residual, size_t n, double near,
                               double middle, double trust, ll_calibration *out);

const double *ll_calibration_at(const ll_calibration *c, double lead); /* borrowed from c */
double        ll_calibration_bend(const double *factor, double score);
double        ll_calibration_unbend(const double *factor, double bent); /* its reverse */

#endif
