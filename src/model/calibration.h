/* Spread calibration: one factor on the deviation for near, middle and far leads, chosen on
 * validation forecasts, and only where it helps.
 *
 *     llap_calibration c = llap_calibration_fit(lead, residual, n, 24, 72);
 *     sd *= llap_calibration_at(&c, lead_of_query); */
#ifndef LLAP_MODEL_CALIBRATION_H
#define LLAP_MODEL_CALIBRATION_H

#include <stddef.h>

enum { LLAP_CALIBRATION_BUCKETS = 3 };

typedef struct llap_calibration {
    double edge[LLAP_CALIBRATION_BUCKETS - 1]; /* a lead <= edge[i] is in bucket i or before */
    double scale[LLAP_CALIBRATION_BUCKETS];    /* 1: unchanged */
} llap_calibration;

/* residual [n] = (truth - mean) / sd of Gaussian forecasts (NaN: unknown), lead [n] in the unit of
 * the edges. Per bucket the factor of .7 .8 .9 1 1.1 1.2 1.3 1.45 1.6 with the least CRPS of the
 * residuals; all are 1 unless they lower it by more than 0.3 % together. */
llap_calibration llap_calibration_fit(const double *lead, const double *residual, size_t n,
                                      double near, double middle);

double llap_calibration_at(const llap_calibration *c, double lead);

#endif
