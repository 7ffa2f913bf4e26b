/* How much one number tells about another: the size of their correlation.
 *
 *     ll_correlation c = { 0 };
 *     ll_correlation_add(&c, x, y);            of each pair
 *     ll_correlation_size(&c)                  0 .. 1, or -1: too few, or one never changes
 */
#ifndef LL_STACK_CORRELATION_H
#define LL_STACK_CORRELATION_H

#include <math.h>

typedef struct ll_correlation {
    double n, x, y, xx, yy, xy;
} ll_correlation;

static inline void ll_correlation_add(ll_correlation *c, double x, double y)
{
    c->n++, c->x += x, c->y += y, c->xx += x * x, c->yy += y * y, c->xy += x * y;
}

static inline double ll_correlation_size(const ll_correlation *c)
{
    const double vx = c->n * c->xx - c->x * c->x, vy = c->n * c->yy - c->y * c->y;
    if (c->n < 20 || !(vx > 0) || !(vy > 0)) return -1;
    return fabs(c->n * c->xy - c->x * c->y) / sqrt(vx * vy);
}

#endif
