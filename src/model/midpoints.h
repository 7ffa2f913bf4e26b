/* A law as 25 equally likely values: its quantiles at (i + 1/2)/25; not for others. */
#ifndef LLAP_MODEL_MIDPOINTS_H
#define LLAP_MODEL_MIDPOINTS_H

#include <math.h>

enum { LLAP_MIDPOINTS = 25 };

/* Of the standard normal law. */
static const double LLAP_MIDPOINT_SCORE[LLAP_MIDPOINTS] = {
    -2.0537489106318225,
    -1.554773594596853,
    -1.2815515655446008,
    -1.080319340814956,
    -0.9153650878428141,
    -0.7721932141886849,
    -0.6433454053929168,
    -0.5244005127080407,
    -0.4124631294414046,
    -0.3054807880993974,
    -0.2018934791418509,
    -0.10043372051146975,
    0.0,
    0.10043372051146975,
    0.2018934791418509,
    0.3054807880993974,
    0.4124631294414046,
    0.5244005127080407,
    0.6433454053929168,
    0.7721932141886849,
    0.9153650878428141,
    1.080319340814956,
    1.2815515655446008,
    1.554773594596853,
    2.0537489106318225,
};

/* CRPS of y under sorted quantiles q: 1/M sum |q_i - y| - 1/(2 M^2) sum |q_i - q_j|. */
static inline double llap_midpoint_crps(const double q[LLAP_MIDPOINTS], double y)
{
    double off = 0.0, spread = 0.0;
    for (int i = 0; i < LLAP_MIDPOINTS; i++) {
        off += fabs(q[i] - y);
        spread += q[i] * (2 * i + 1 - LLAP_MIDPOINTS);
    }
    return off / LLAP_MIDPOINTS - spread / (LLAP_MIDPOINTS * LLAP_MIDPOINTS);
}

#endif
