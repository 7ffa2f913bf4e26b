/* DPM-Solver++ and UniPC in data prediction. With l = log(a / s) and h = l' - l the exact solution
 * is
 *
 *     x' = (s'/s) x - a' (e^-h - 1) x0 + (terms of the estimate's slope along l)
 *
 * so a constant estimate gives DDIM, and the slope from the last two estimates the second order.
 * Where no noise is left, s' = 0, the step is endless and the estimate is the answer. */
#include "diffusion/solver.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void ll_solver_remember(ll_solver_history *h, ll_level at, const float *x0)
{
    float *oldest = h->x0[2];
    assert(h->known >= 0 && h->known <= 3);
    for (int i = 2; i > 0; i--) {
        h->x0[i] = h->x0[i - 1];
        h->level[i] = h->level[i - 1];
    }
    h->x0[0] = oldest;
    h->level[0] = at;
    memcpy(h->x0[0], x0, (size_t)h->n * sizeof *x0);
    if (h->known < 3) h->known++;
}

static double lambda(ll_level l) { return log((double)l.a) - log((double)l.s); }

/* x = keep from + sum_i w_i x0_i */
static void combine(const ll_solver_history *h, const float *from, double keep, const double w[3],
                    float *x)
{
    for (int64_t i = 0; i < h->n; i++) {
        double v = keep * (double)from[i];
        for (int k = 0; k < h->known; k++) v += w[k] * (double)h->x0[k][i];
        x[i] = (float)v;
    }
}

/* DPM-Solver++(2M): D = (1 + 1/2r) x0_0 - 1/2r x0_1, r = h_before / h */
static void dpmpp_2m(const ll_solver_history *h, ll_level to, float *x)
{
    const double step = lambda(to) - lambda(h->level[0]);
    const double gain = -(double)to.a * expm1(-step);
    double       half = 0.0;
    if (h->known > 1 && isfinite(step))
        half = 0.5 * step / (lambda(h->level[0]) - lambda(h->level[1]));
    const double w[3] = { gain * (1.0 + half), -gain * half, 0.0 };
    combine(h, x, (double)to.s / (double)h->level[0].s, w, x);
}

/* UniP of second order with B(h) = e^-h - 1: the slope (x0_1 - x0_0) / r1 with the weight 1/2 */
static void unip(ll_solver_history *h, ll_level to, float *x)
{
    const double step = lambda(to) - lambda(h->level[0]);
    const double gain = -(double)to.a * expm1(-step);
    double       slope = 0.0;
    if (h->known > 1 && isfinite(step))
        slope = 0.5 * step / (lambda(h->level[1]) - lambda(h->level[0]));
    const double w[3] = { gain * (1.0 - slope), gain * slope, 0.0 };
    memcpy(h->x, x, (size_t)h->n * sizeof *x);
    combine(h, x, (double)to.s / (double)h->level[0].s, w, x);
}

/* UniC: the step from the point before again, now that the estimate at its end is known.
 * x = (s'/s) x - a' B (x0_1 + rho_1 (x0_2 - x0_1) / r1 + rho_2 (x0_0 - x0_1)), where the rho solve
 * rho_1 + rho_2 = b_1, r1 rho_1 + rho_2 = b_2; with one estimate before, rho_1 = 0, rho_2 = 1/2. */
void ll_solver_correct(const ll_solver_history *h, float *x)
{
    if (h->known < 2) return;
    const double step = lambda(h->level[0]) - lambda(h->level[1]), B = expm1(-step);
    const double gain = -(double)h->level[0].a * B;
    double       to_old = 0.0, to_new = 0.5; /* rho_1 / r1 and rho_2 */
    if (h->known > 2) {
        const double r1 = (lambda(h->level[2]) - lambda(h->level[1])) / step;
        const double phi2 = -B / step - 1.0, phi3 = -phi2 / step - 0.5;
        const double b1 = phi2 / B, b2 = 2.0 * phi3 / B;
        const double rho1 = (b1 - b2) / (1.0 - r1);
        to_old = rho1 / r1;
        to_new = b1 - rho1;
    }
    const double w[3] = { gain * to_new, gain * (1.0 - to_old - to_new), gain * to_old };
    combine(h, h->x, (double)h->level[0].s / (double)h->level[1].s, w, x);
}

void ll_solver_advance(ll_solver solver, ll_solver_history *h, ll_level to, float *x)
{
    assert(solver != LL_SOLVER_DDIM && h->known >= 1);
    if (solver == LL_SOLVER_UNIPC) unip(h, to, x);
    else dpmpp_2m(h, to, x);
}
