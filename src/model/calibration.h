/* Calibration of Gaussian forecasts on forecasts whose truth is known: for near, middle and far
 * leads the normal scores are stretched, by one factor or, where that is better, by one at each of
 * five levels, so that flat or heavy-tailed truths are met too. Symmetric and monotone.
 *
 *     llap_calibration c;
 *     llap_status st = llap_calibration_fit(lead, residual, n, 24, 72, 0.5, &c);
 *     q = mean + sd * llap_calibration_bend(llap_calibration_at(&c, lead_of_query), score); */
#ifndef LLAP_MODEL_CALIBRATION_H
#define LLAP_MODEL_CALIBRATION_H

#include <llapdiff/status.h>
#include <stddef.h>

enum { LLAP_CALIBRATION_BUCKETS = 3, LLAP_CALIBRATION_LEVELS = 5 };
#define LLAP_CALIBRATION_LEAST 1e-6 /* of a factor */
#define LLAP_CALIBRATION_MOST 1e6

typedef struct llap_calibration {
    double edge[LLAP_CALIBRATION_BUCKETS - 1]; /* a lead <= edge[i] is in bucket i or before */
    /* of the scores that hold 25, 50, 80, 95 and 99 %; 1: unchanged */
    double factor[LLAP_CALIBRATION_BUCKETS][LLAP_CALIBRATION_LEVELS];
} llap_calibration;

llap_calibration llap_calibration_none(double near, double middle);

/* residual [n] = (truth - mean) / sd of Gaussian forecasts (NaN: unknown), lead [n] in the unit of
 * the edges. One factor a bucket, of .7 .8 .9 1 1.1 1.2 1.3 1.45 1.6 the one with the least CRPS of
 * the residuals; all are 1 unless they lower it by more than 0.3 % together. Then the residuals'
 * own quantiles in the place of the factor, for buckets with 1000 of them, unless they do not lower
 * it by another 0.3 %. LLAP_ENOMEM. */
llap_status llap_calibration_fit(const double *lead, const double *residual, size_t n, double near,
                                 double middle, double trust, llap_calibration *out);

const double *llap_calibration_at(const llap_calibration *c, double lead); /* borrowed from c */
double        llap_calibration_bend(const double *factor, double score);

#endif
