/* The anchor by its definition: the dense covariance matrix, its Cholesky factor, long double. Also
 * the random problems that the tests share. */
#ifndef LLAP_TESTS_ANCHOR_DENSE_H
#define LLAP_TESTS_ANCHOR_DENSE_H

#include "anchor/chain/chain.h"
#include "anchor/process/process.h"
#include "check.h"

/* Scales of 1, no bounds: what a chain of given numbers starts from. */
static const ll_chain PLAIN_CHAIN = { .y_lo = -INFINITY,
                                      .y_hi = INFINITY,
                                      .y_min = -INFINITY,
                                      .y_max = INFINITY,
                                      .z_clip = INFINITY,
                                      .lambda = 1,
                                      .g_s = 1,
                                      .r_s = 1 };

/* The way back from u at time t. */
static inline double chain_z_back(const ll_chain *c, size_t e, double t, double u)
{
    return ll_chain_z_back_given(c, e, ll_chain_climate(c, e, t), u);
}

static inline long double dense_k(const ll_anchor_kernel *k, long double d)
{
    long double sum = 0;
    for (int i = 0; i < k->n_terms; i++)
        sum += k->a[i] * expl(-k->rho[i] * fabsl(d)) * cosl(k->omega[i] * d);
    return sum;
}

/* Covariance of the drift at times s and t after the first event. */
static inline long double dense_drift(const ll_anchor_kernel *k, long double s, long double t)
{
    if (k->drift == LL_ANCHOR_STILL) return 0;
    const long double least = fminl(s, t), c = k->damping;
    const long double walk = k->start + k->q * least;
    if (k->drift == LL_ANCHOR_LEVEL) return walk;
    const long double x = expm1l(-c * least); /* of the integral of the slope */
    return walk + k->v / (2 * c * c * c) * (2 * (c * least + x) + x * expm1l(-c * fabsl(s - t)));
}

static inline double dense_first(const ll_anchor_window *w) /* event */
{
    double t = INFINITY;
    for (size_t i = 0; i < w->n_obs; i++)
        if (!isnan(w->y[i])) t = fmin(t, w->t[i]);
    for (size_t q = 0; q < w->n_query; q++) t = fmin(t, w->t_query[q]);
    return t;
}

/* mean [n_query], cov [n_query,n_query] of f given the observations with use[i]; NULL: all. raise
 * [n_obs]: what the monitor has given the level before each; NULL: nothing. */
static inline void dense_raised(const ll_anchor_kernel *k, const ll_anchor_window *w,
                                const bool *use, const double *raise, double *mean, double *cov,
                                double *loglik)
{
    const long double t1 = dense_first(w);
    const size_t      nq = w->n_query;
    size_t            n = 0;
    size_t           *at = calloc(w->n_obs + 1, sizeof *at);
    for (size_t i = 0; i < w->n_obs; i++)
        if (!isnan(w->y[i]) && (use == NULL || use[i])) at[n++] = i;
    long double *L = calloc(n * n + 1, sizeof *L), *alpha = calloc(n + 1, sizeof *alpha),
                *B = calloc(nq * n + 1, sizeof *B);
    long double ll = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            long double s = dense_k(k, (long double)w->t[at[i]] - w->t[at[j]]) +
                            dense_drift(k, w->t[at[i]] - t1, w->t[at[j]] - t1);
            for (size_t l = 0; raise != NULL && l <= at[j]; l++) s += raise[l];
            if (i == j) s += (long double)k->nu + k->jitter;
            for (size_t l = 0; l < j; l++) s -= L[i * n + l] * L[j * n + l];
            L[i * n + j] = i == j ? sqrtl(s) : s / L[j * n + j];
        }
        long double s = w->y[at[i]];
        for (size_t l = 0; l < i; l++) s -= L[i * n + l] * alpha[l];
        alpha[i] = s / L[i * n + i];
        ll -= 0.5L * alpha[i] * alpha[i] + logl(L[i * n + i]) +
              0.5L * 1.8378770664093454835606594728112L;
    }
    for (size_t q = 0; q < nq; q++) {
        long double m = 0;
        for (size_t i = 0; i < n; i++) {
            long double s = dense_k(k, (long double)w->t[at[i]] - w->t_query[q]) +
                            dense_drift(k, w->t[at[i]] - t1, w->t_query[q] - t1);
            for (size_t l = 0; raise != NULL && l <= at[i]; l++)
                if (w->t_query[q] >= w->t[l]) s += raise[l];
            for (size_t l = 0; l < i; l++) s -= L[i * n + l] * B[q * n + l];
            B[q * n + i] = s / L[i * n + i];
            m += B[q * n + i] * alpha[i];
        }
        if (mean != NULL) mean[q] = (double)m;
        for (size_t p = 0; cov != NULL && p <= q; p++) {
            long double s = dense_k(k, (long double)w->t_query[p] - w->t_query[q]) +
                            dense_drift(k, w->t_query[p] - t1, w->t_query[q] - t1);
            for (size_t l = 0; raise != NULL && l < w->n_obs; l++)
                if (fmin(w->t_query[q], w->t_query[p]) >= w->t[l]) s += raise[l];
            for (size_t l = 0; l < n; l++) s -= B[q * n + l] * B[p * n + l];
            cov[q * nq + p] = cov[p * nq + q] = (double)s;
        }
    }
    if (loglik != NULL) *loglik = (double)ll;
    free(at);
    free(L);
    free(alpha);
    free(B);
}

static inline void dense_posterior(const ll_anchor_kernel *k, const ll_anchor_window *w,
                                   const bool *use, double *mean, double *cov, double *loglik)
{
    dense_raised(k, w, use, NULL, mean, cov, loglik);
}

/* The monitor by its definition: raise [n_obs], the scale of the window's end; far [n_obs] may be
 * NULL. Each reading is predicted from those before it by the dense matrix. */
static inline double dense_monitor(const ll_anchor_kernel *k, const ll_anchor_window *w,
                                   double *raise, double *far)
{
    const double s = w->scale > 0 ? w->scale : 1;
    double       sum = 0, n = 0, since = NAN, y = 0, y2 = 0, ny = 0;
    int          doubt = 0;
    bool        *use = calloc(w->n_obs + 1, sizeof *use);
    for (size_t i = 0; i < w->n_obs; i++) raise[i] = 0;
    if (w->n_obs > 0) raise[0] = w->start; /* the first event, where it is an observation */
    for (size_t i = 0; i < w->n_obs; i++) {
        if (far != NULL) far[i] = NAN;
        if (isnan(w->y[i])) continue;
        ll_anchor_window one = *w;
        double           mean, var;
        one.n_query = 1;
        one.t_query = &w->t[i];
        dense_raised(k, &one, use, raise, &mean, &var, NULL);
        const double e = (w->y[i] - mean) * (k->innovation ? 1 : s);
        const double d = var + k->nu + k->jitter;
        const double a = fabs(e) / sqrt(d * (8 + sum) / (8 + n));
        const int    sign = e > 0 ? 1 : -1;
        const bool   off = k->monitor > 0 && a > k->monitor, strikes = off && doubt == sign;
        if (far != NULL) far[i] = a;
        doubt = off && !strikes ? sign : 0;
        if (strikes) raise[i] += e * e, since = w->t[i], y = y2 = ny = 0;
        sum += strikes ? 1 : fmin(e * e / d, 16);
        n += 1;
        if (!isnan(since)) y += w->y[i], y2 += w->y[i] * w->y[i], ny += 1;
        use[i] = true;
    }
    free(use);
    if (k->innovation) return (8 + sum) / (8 + n);
    return isnan(since) ? 1 : (y2 - y * y / ny + 8 / (s * s)) / (ny + 8);
}

/* A small generator of its own, so that the problems stay the same for ever (splitmix64). */
typedef struct dice {
    uint64_t state;
} dice;

static inline double roll(dice *d) /* (0,1) */
{
    uint64_t z = (d->state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}
static inline double roll_log(dice *d, double lo, double hi) { return lo * pow(hi / lo, roll(d)); }
static inline double roll_normal(dice *d)
{
    const double r = sqrt(-2.0 * log(roll(d)));
    return r * cos(6.283185307179586 * roll(d));
}

static inline ll_anchor_kernel roll_kernel(dice *d, double nu_min)
{
    ll_anchor_kernel k = { .n_terms = 1 + (int32_t)(roll(d) * 8), .jitter = 1e-4 };
    for (int i = 0; i < k.n_terms; i++) {
        k.a[i] = roll_log(d, 1e-3, 2.0);
        k.rho[i] = roll_log(d, 1e-5, 10.0);
        k.omega[i] = roll(d) < 0.4 ? 0.0 : roll_log(d, 1e-3, 3.0);
    }
    k.nu = roll_log(d, nu_min, 0.5);
    return k;
}

/* Bit for bit; the padding of a struct is no number. */
static inline void check_same_kernel(const ll_anchor_kernel *x, const ll_anchor_kernel *y)
{
    assert_int_equal(x->n_terms, y->n_terms);
    assert_memory_equal(x->a, y->a, sizeof x->a);
    assert_memory_equal(x->rho, y->rho, sizeof x->rho);
    assert_memory_equal(x->omega, y->omega, sizeof x->omega);
    assert_true(x->nu == y->nu && x->jitter == y->jitter);
}

typedef struct problem {
    ll_anchor_window w;
    double          *t, *y, *tq, *target;
} problem;

/* n observations at gaps from lo to hi, some repeated, some missing; n_query queries: before,
 * between, at the observations, after. */
static inline problem roll_problem(dice *d, size_t n, size_t n_query, double lo, double hi)
{
    problem p = { .t = calloc(n + 1, sizeof(double)),
                  .y = calloc(n + 1, sizeof(double)),
                  .tq = calloc(n_query + 1, sizeof(double)),
                  .target = calloc(n_query + 1, sizeof(double)) };
    double  now = roll_normal(d);
    for (size_t i = 0; i < n; i++) {
        if (roll(d) > 0.2) now += roll_log(d, lo, hi);
        p.t[i] = now;
        p.y[i] = roll(d) < 0.15 ? NAN : roll_normal(d);
    }
    for (size_t q = 0; q < n_query; q++) {
        const double side = roll(d);
        const double at = n > 0 ? p.t[(size_t)(roll(d) * (double)n)] : now;
        if (side < 0.2) p.tq[q] = at;
        else if (side < 0.6) p.tq[q] = at + roll_log(d, lo, hi);
        else if (side < 0.8) p.tq[q] = at - roll_log(d, lo, hi);
        else p.tq[q] = now + roll_log(d, lo, hi);
        p.target[q] = roll(d) < 0.2 ? NAN : roll_normal(d);
    }
    p.w = (ll_anchor_window){
        .n_obs = n, .t = p.t, .y = p.y, .n_query = n_query, .t_query = p.tq, .target = p.target
    };
    return p;
}
static inline void problem_free(problem *p)
{
    free(p->t);
    free(p->y);
    free(p->tq);
    free(p->target);
}

#endif
