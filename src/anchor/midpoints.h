/* A law as 25 equally likely values: its quantiles at (i + 1/2)/25; not for others. */
#ifndef LL_ANCHOR_MIDPOINTS_H
#define LL_ANCHOR_MIDPOINTS_H

#include <math.h>

enum { LL_MIDPOINTS = 25 };

/* Of the standard normal law. */
static const double LL_MIDPOINT_SCORE[LL_MIDPOINTS] = {
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
static inline double ll_midpoint_crps(const double q[LL_MIDPOINTS], double y)
{
    double off = 0.0, spread = 0.0;
    for (int i = 0; i < LL_MIDPOINTS; i++) {
        off += fabs(q[i] - y);
        spread += q[i] * (2 * i + 1 - LL_MIDPOINTS);
    }
    return off / LL_MIDPOINTS - spread / (LL_MIDPOINTS * LL_MIDPOINTS);
}

#endif
