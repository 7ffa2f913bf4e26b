#include "anchor/chain/negbin.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>

static const double LOG_ROOT_2PI = 0.91893853320467274178; /* log sqrt(2 pi) */
static const double LOG_HALF = -0.69314718055994530942;

/* ---- the density (Loader 2000: no difference of large logarithms) ---- */

/* log z! less Stirling's formula for it. */
static double stirling_rest(double z)
{
    double shift = 0.0;
    for (; z < 15.0; z += 1.0) shift += (z + 0.5) * log1p(1.0 / z) - 1.0;
    const double s = 1.0 / (z * z);
    return shift + (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680)))) / z;
}

/* x log(x/m) + m - x, x > 0. */
static double deviance(double x, double m)
{
    if (fabs(x - m) >= 0.1 * (x + m)) return x * log(x / m) + m - x;
    const double v = (x - m) / (x + m), square = v * v;
    double       sum = (x - m) * v, term = 2.0 * x * v;
    for (int k = 3; k < 1000; k += 2) {
        term *= square;
        const double next = sum + term / k;
        if (next == sum) break;
        sum = next;
    }
    return sum;
}

static double log_density(const ll_negbin *law, double y)
{
    const double r = law->r, m = law->mean, n = r + y;
    if (y == 0.0) return -r * log1p(m / r);
    return stirling_rest(n) - stirling_rest(r) - stirling_rest(y) - deviance(r, n * (r / (r + m))) -
           deviance(y, n * (m / (r + m))) + 0.5 * log(r / (n * y)) - LOG_ROOT_2PI;
}

/* ---- tails ---- */

/* The continued fraction of the incomplete beta function (modified Lentz), for x below
 * (a + 1)/(a + b + 2), where it converges fast. */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double       c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
    if (fabs(d) < tiny) d = tiny;
    d = 1.0 / d;
    double h = d;
    for (int i = 1; i < 200000; i++) {
        const double k = i, even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
        const double odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
        for (int half = 0; half < 2; half++) {
            const double term = half == 0 ? even : odd;
            d = 1.0 + term * d;
            c = 1.0 + term / c;
            if (fabs(d) < tiny) d = tiny;
            if (fabs(c) < tiny) c = tiny;
            d = 1.0 / d;
            h *= d * c;
        }
        if (fabs(d * c - 1.0) < DBL_EPSILON) break;
    }
    return h;
}

static double log_rest(double log_p) /* log(1 - p) */
{
    return log_p > LOG_HALF ? log(-expm1(log_p)) : log1p(-exp(log_p));
}

/* Is the tail below the one to compute at y? */
static bool is_low(const ll_negbin *law, double y)
{
    const double p = law->r / (law->r + law->mean);
    return p * (law->r + y + 3.0) < law->r + 1.0;
}

/* Of the tail that is_low says: P(Y <= y)/P(Y = y), or P(Y > y)/P(Y = y). */
static double tail_in_densities(const ll_negbin *law, double y, bool low)
{
    const double r = law->r, m = law->mean, p = r / (r + m), q = m / (r + m);
    if (low) return y == 0.0 ? 1.0 : (r + y) * q / r * beta_fraction(r, y + 1.0, p);
    return (r + y) / (y + 1.0) * q * beta_fraction(y + 1.0, r, q);
}

static double hold_count(double y) { return fmin(fmax(y, 0.0), LL_NEGBIN_COUNT_MOST); }

ll_negbin_tails ll_negbin_at(const ll_negbin *law, double y)
{
    assert(law->mean > 0.0 && law->r > 0.0);
    y = hold_count(y);
    const bool   low = is_low(law, y);
    const double density = log_density(law, y);
    const double tail = fmin(density + log(tail_in_densities(law, y, low)), 0.0);
    return low ? (ll_negbin_tails){ density, tail, log_rest(tail) }
               : (ll_negbin_tails){ density, log_rest(tail), tail };
}

/* ---- the normal law ---- */

/* log P(X > x), x >= 0. */
static double normal_log_tail(double x)
{
    if (x < 30.0) return log(0.5 * erfc(x * 0.70710678118654752440));
    const double s = 1.0 / (x * x);
    return -0.5 * x * x - log(x) - LOG_ROOT_2PI + log1p(-s * (1.0 - s * (3.0 - 15.0 * s)));
}

/* x >= 0 with log P(X > x) = tail; tail <= log 1/2. Newton's method on a concave function. */
static double normal_tail_score(double tail)
{
    double x = sqrt(fmax(-2.0 * (tail - LOG_HALF), 0.0));
    for (int i = 0; i < 50; i++) {
        const double now = normal_log_tail(x);
        const double slope = -exp(-0.5 * x * x - LOG_ROOT_2PI - now);
        const double step = (now - tail) / slope;
        x = fmax(x - step, 0.0);
        if (fabs(step) <= 1e-15 * (1.0 + x)) break;
    }
    return x;
}

/* ---- scores and back ---- */

double ll_negbin_score(const ll_negbin *law, double y, double v)
{
    assert(v > 0.0 && v < 1.0);
    if (isnan(y)) return NAN;
    y = hold_count(y);
    const bool   low = is_low(law, y);
    const double tail = tail_in_densities(law, y, low);
    const double part = fmin(log_density(law, y) + log(low ? tail - 1.0 + v : tail + 1.0 - v), 0.0);
    const bool   small = part <= LOG_HALF; /* else the score lies on the other side */
    const double x = normal_tail_score(small ? part : log_rest(part));
    return low == small ? -x : x;
}

/* Is P(Y <= y) >= Phi(x)? tail: the logarithm of the smaller of Phi(x) and 1 - Phi(x). */
static bool reached(const ll_negbin *law, double y, double x, double tail)
{
    const ll_negbin_tails at = ll_negbin_at(law, y);
    return x <= 0.0 ? at.below >= tail : at.above <= tail;
}

/* From a guess outwards in growing steps, then by halves. */
static double search(const ll_negbin *law, double x)
{
    const double m = law->mean, tail = normal_log_tail(fabs(x)), sd = sqrt(m + m * m / law->r);
    double       hi = floor(hold_count(m + sd * x)), step = fmax(1.0, floor(sd / 8.0)), lo;
    if (reached(law, hi, x, tail)) {
        for (lo = hi; lo > 0.0 && reached(law, lo, x, tail); step *= 2.0) {
            hi = lo;
            lo = fmax(lo - step, 0.0);
        }
        if (lo == 0.0 && reached(law, lo, x, tail)) return 0.0;
    } else {
        for (lo = hi; hi < LL_NEGBIN_COUNT_MOST && !reached(law, hi, x, tail); step *= 2.0) {
            lo = hi;
            hi = hold_count(hi + step);
        }
    }
    while (hi - lo > 1.0) {
        const double middle = floor(lo + 0.5 * (hi - lo));
        if (reached(law, middle, x, tail)) hi = middle;
        else lo = middle;
    }
    return hi;
}

double ll_negbin_quantile(const ll_negbin *law, double x)
{
    const double near = 5.0, few = 50.0; /* where adding densities is exact and short */
    const double r = law->r, m = law->mean;
    if (isnan(x)) return NAN;
    if (!(fabs(x) <= near && m <= few)) return search(law, fmin(fmax(x, -1e8), 1e8));
    const double p = 0.5 * erfc(-x * 0.70710678118654752440), q = m / (r + m);
    double       density = exp(-r * log1p(m / r)), sum = density, y = 0.0;
    while (sum < p && density > 0.0) {
        density *= (r + y) / (y + 1.0) * q;
        sum += density;
        y += 1.0;
    }
    return y;
}
