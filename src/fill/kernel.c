#include "fill/kernel.h"

#include "anchor/process/process.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { POLES = 3, DOUBLES = 5, PARAMETERS = 2 * LL_FILL_TERMS + 1, STEPS = 60 };
static const double full_turn = 6.283185307179586;
static const double period[LL_FILL_TERMS] = { [DOUBLES] = 24, 12, 8 };

ll_fill_kernel ll_fill_kernel_start(bool day, double unit)
{
    static const double a[] = { .4, .2, .1, .1, .1, .1, .03, .02 };
    static const double span[] = { 500, 36, 5, 12, 2, 400, 300, 300 };
    ll_fill_kernel      k = { .nu = .02 };
    for (int i = 0; i < LL_FILL_TERMS; i++) {
        k.a[i] = day || i < DOUBLES ? a[i] : 0;
        k.rho[i] = 1 / (span[i] * (day ? 1 : unit));
    }
    return k;
}

/* A term for a = 1, and its derivative by log rho. */
static double term(const ll_fill_kernel *k, int i, double d, double *slope)
{
    const double x = k->rho[i] * d, e = exp(-x);
    if (i < POLES) {
        *slope = -x * e;
        return e;
    }
    if (i < DOUBLES) {
        *slope = -x * x * e;
        return (1 + x) * e;
    }
    const double c = e * cos(full_turn * d / period[i]);
    *slope = -x * c;
    return c;
}

double ll_fill_kernel_at(const ll_fill_kernel *k, double d)
{
    double sum = 0, slope;
    for (int i = 0; i < LL_FILL_TERMS; i++)
        if (k->a[i] > 0) sum += k->a[i] * term(k, i, d, &slope);
    return sum;
}

void ll_fill_lags_init(ll_fill_lags *l, const ll_fill_kernel *k, double step)
{
    assert(step > 0);
    *l = (ll_fill_lags){ .k = k, .step = step, .per_step = 1 / step };
    for (int i = 0; i < LL_FILL_LAGS; i++) l->at[i] = ll_fill_kernel_at(k, i * step);
}

/* The whole multiple that d is; -1: none that is kept. */
static int lag_of(double per_step, double d)
{
    const double x = d * per_step + 0.5;
    if (!(x < LL_FILL_LAGS)) return -1;
    const int near = (int)x;
    return fabs(x - 0.5 - near) < 1e-6 ? near : -1;
}

double ll_fill_lag(const ll_fill_lags *l, double d)
{
    const int i = lag_of(l->per_step, d);
    return i >= 0 ? l->at[i] : ll_fill_kernel_at(l->k, d);
}

bool ll_fill_factor(double *K, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double s = K[i * n + j];
            for (int l = 0; l < j; l++) s -= K[i * n + l] * K[j * n + l];
            if (i == j && !(s > 0)) return false;
            K[i * n + j] = i == j ? sqrt(s) : s / K[j * n + j];
        }
    return true;
}

void ll_fill_solve(const double *L, int n, double *x)
{
    for (int i = 0; i < n; i++) {
        for (int l = 0; l < i; l++) x[i] -= L[i * n + l] * x[l];
        x[i] /= L[i * n + i];
    }
    for (int i = n; i-- > 0;) {
        for (int l = i + 1; l < n; l++) x[i] -= L[l * n + i] * x[l];
        x[i] /= L[i * n + i];
    }
}

int ll_fill_grow(const ll_fill_lags *l, double nu, const double *t, int from, int n,
                 ll_fill_root *U)
{
    double k[LL_FILL_LOOK];
    assert(from >= 0 && n <= LL_FILL_LOOK);
    for (int i = from; i < n; i++) {
        for (int j = 0; j < i; j++) k[j] = ll_fill_lag(l, fabs(t[i] - t[j]));
        k[i] = l->at[0] + nu;
        for (int j = 0; j < i; j++) { /* by whole rows: no sum waits for its last term */
            const double u = U->u[j][i] = k[j] * U->u[j][j];
            for (int x = j + 1; x <= i; x++) k[x] -= u * U->u[j][x];
        }
        if (!(k[i] > 0)) return i;
        U->u[i][i] = 1 / sqrt(k[i]);
    }
    return n;
}

void ll_fill_solve_root(const ll_fill_root *U, int n, double *x)
{
    for (int i = 0; i < n; i++) {
        x[i] *= U->u[i][i];
        for (int j = i + 1; j < n; j++) x[j] -= x[i] * U->u[i][j];
    }
    for (int i = n; i-- > 0;) {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int j = i + 1; j < n; j++) sum += U->u[i][j] * x[j];
        x[i] = (x[i] - sum) * U->u[i][i];
    }
}

void ll_fill_weights(const ll_fill_lags *l, double nu, int n, const double *t,
                     const ll_fill_root *U, double *w, double *var)
{
    double to[LL_FILL_LOOK];
    assert(n >= 0 && n <= LL_FILL_LOOK);
    for (int i = 0; i < n; i++) to[i] = w[i] = ll_fill_lag(l, fabs(t[i]));
    ll_fill_solve_root(U, n, w);
    *var = l->at[0] + nu;
    for (int i = 0; i < n; i++) *var -= w[i] * to[i];
}

/* ---- the fit ---- */

/* How the loss depends on k at each distance: at whole multiples of the step gathered, else passed
 * on at once. */
typedef struct slopes {
    const ll_fill_kernel *k;
    double                per_step, by[LL_FILL_LAGS], *g;
} slopes;

static void pass_on(const slopes *s, double d, double by)
{
    for (int i = 0; i < LL_FILL_TERMS; i++) {
        if (!(s->k->a[i] > 0)) continue;
        double       slope;
        const double value = term(s->k, i, d, &slope);
        s->g[i] += by * s->k->a[i] * value;
        s->g[LL_FILL_TERMS + i] += by * s->k->a[i] * slope;
    }
}

static void add_slope(slopes *s, double d, double by)
{
    const int i = lag_of(s->per_step, d);
    if (i >= 0) s->by[i] += by;
    else pass_on(s, d, by);
}

/* of mean (by gm) and variance (by gv) of one example: alpha = K^-1 y. */
static void example_slopes(slopes *s, const ll_fill_example *x, const double *w,
                           const double *alpha, double gm, double gv)
{
    double own = gv;
    for (int i = 0; i < x->n; i++) {
        own += gv * w[i] * w[i] - gm * w[i] * alpha[i];
        add_slope(s, fabs(x->t[i]), gm * alpha[i] - 2 * gv * w[i]);
        for (int j = 0; j < i; j++)
            add_slope(s, fabs(x->t[i] - x->t[j]),
                      2 * gv * w[i] * w[j] - gm * (w[i] * alpha[j] + w[j] * alpha[i]));
    }
    s->by[0] += own;
    s->g[2 * LL_FILL_TERMS] += own * s->k->nu;
}

double ll_fill_kernel_loss(const ll_fill_example *x, int64_t n, double step,
                           const ll_fill_kernel *k, double *g)
{
    static const double floor_of_variance = 1e-5, density = 0.1;
    ll_fill_lags        lags;
    slopes              s = { .k = k, .per_step = 1 / step, .g = g };
    double              sum = 0;
    ll_fill_lags_init(&lags, k, step);
    if (g != NULL) memset(g, 0, PARAMETERS * sizeof *g);
    for (int64_t e = 0; e < n; e++) {
        ll_fill_root U;
        double       w[LL_FILL_LOOK], alpha[LL_FILL_LOOK], var, mean = 0, d_mean, d_sd;
        if (ll_fill_grow(&lags, k->nu, x[e].t, 0, x[e].n, &U) < x[e].n) continue;
        ll_fill_weights(&lags, k->nu, x[e].n, x[e].t, &U, w, &var);
        for (int i = 0; i < x[e].n; i++) mean += w[i] * (alpha[i] = x[e].y[i]);
        const double held = fmax(var, floor_of_variance), sd = sqrt(held), off = x[e].truth - mean;
        sum += ll_anchor_crps(x[e].truth, mean, sd, &d_mean, &d_sd);
        sum += density * 0.5 * (log(held) + off * off / held);
        if (g == NULL) continue;
        ll_fill_solve_root(&U, x[e].n, alpha);
        const double gm = d_mean - density * off / held;
        const double gv = d_sd / (2 * sd) + density * 0.5 * (1 - off * off / held) / held;
        example_slopes(&s, &x[e], w, alpha, gm, var > floor_of_variance ? gv : 0);
    }
    const double each = n > 0 ? 1 / (double)n : 0;
    for (int i = 0; g != NULL && i < LL_FILL_LAGS; i++)
        if (s.by[i] != 0) pass_on(&s, i * step, s.by[i]);
    for (int i = 0; g != NULL && i < PARAMETERS; i++) g[i] *= each;
    return sum * each;
}

void ll_fill_kernel_fit(const ll_fill_example *x, int64_t n, double step, ll_fill_kernel *k)
{
    const ll_fill_kernel start = *k;
    ll_fill_kernel       best = start;
    double               m[PARAMETERS] = { 0 }, v[PARAMETERS] = { 0 }, least = INFINITY;
    double               log_of[PARAMETERS] = { 0 }, g[PARAMETERS];
    for (int step_no = 1; step_no <= STEPS; step_no++) {
        double loss = ll_fill_kernel_loss(x, n, step, k, g);
        for (int i = 0; i < PARAMETERS; i++) { /* held near the start */
            loss += 1e-4 * log_of[i] * log_of[i];
            g[i] += 2e-4 * log_of[i];
        }
        if (!isfinite(loss)) break;
        if (loss < least) least = loss, best = *k;
        const double rate = 0.15 * (1 - (step_no - 1.0) / STEPS);
        for (int i = 0; i < PARAMETERS; i++) {
            m[i] = 0.9 * m[i] + 0.1 * g[i];
            v[i] = 0.98 * v[i] + 0.02 * g[i] * g[i];
            const double mean = m[i] / (1 - pow(0.9, step_no)),
                         square = v[i] / (1 - pow(0.98, step_no));
            log_of[i] = fmin(fmax(log_of[i] - rate * mean / (sqrt(square) + 1e-12), -8), 8);
        }
        for (int i = 0; i < LL_FILL_TERMS; i++) {
            k->a[i] = start.a[i] * exp(log_of[i]);
            k->rho[i] = start.rho[i] * exp(log_of[LL_FILL_TERMS + i]);
        }
        k->nu = fmax(start.nu * exp(log_of[2 * LL_FILL_TERMS]), 1e-5);
    }
    *k = best;
}
