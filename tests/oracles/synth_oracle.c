/* What the truth of a synthetic panel says about times not yet measured: the Gaussian conditional,
 * by a dense Cholesky factor in double. */
#include "oracles/synth_oracle.h"

#include "base/alloc.h"
#include "base/error.h"

static double mode_covariance(const ll_synth_mode *m, double dt)
{
    return m->power * exp(-m->rho * fabs(dt)) * cos(m->omega * dt);
}

double ll_synth_covariance(const ll_synth *s, const ll_synth_point *a, const ll_synth_point *b)
{
    const int64_t i = a->entity * s->o.n_vars + a->var, j = b->entity * s->o.n_vars + b->var;
    const double  dt = a->hours - b->hours;
    const int     n = s->o.n_shared;
    double        c = 0;
    for (int m = 0; m < n; m++)
        c += s->load[i * n + m] * s->load[j * n + m] * mode_covariance(&s->shared[m], dt);
    for (int m = 0; i == j && m < s->o.n_own; m++)
        c += mode_covariance(&s->own[i * s->o.n_own + m], dt);
    return c;
}

/* a [n,n] becomes its lower Cholesky factor. */
static llap_status factor(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double x = a[i * n + j];
            for (int64_t k = 0; k < j; k++) x -= a[i * n + k] * a[j * n + k];
            if (i == j && !(x > 0))
                return ll_fail(LLAP_ENUMERIC, "oracle: point %lld is determined by those before",
                               (long long)i);
            a[i * n + j] = i == j ? sqrt(x) : x / a[j * n + j];
        }
    return LLAP_OK;
}

/* x becomes the solution of l x = x. */
static void solve(const double *l, int64_t n, double *x)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++) x[i] -= l[i * n + k] * x[k];
        x[i] /= l[i * n + i];
    }
}

llap_status ll_synth_condition(const ll_synth *s, const ll_synth_point *given, const double *value,
                               int64_t n, const ll_synth_point *asked, int64_t m, double *mean,
                               double *variance)
{
    const double noise = s->o.noise * s->o.noise;
    double      *l = ll_new((size_t)n, (size_t)n * sizeof *l);
    double      *z = ll_new(2 * (size_t)n, sizeof *z), *c = z == NULL ? NULL : z + n;
    llap_status  st = l == NULL || z == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j <= i; j++)
                l[i * n + j] = ll_synth_covariance(s, &given[i], &given[j]);
            l[i * n + i] += noise;
            z[i] = value[i] - ll_synth_mean(s, &given[i]);
        }
        st = factor(l, n);
    }
    if (st == LLAP_OK) solve(l, n, z);
    for (int64_t q = 0; st == LLAP_OK && q < m; q++) {
        mean[q] = ll_synth_mean(s, &asked[q]);
        variance[q] = ll_synth_covariance(s, &asked[q], &asked[q]) + noise;
        for (int64_t i = 0; i < n; i++) c[i] = ll_synth_covariance(s, &given[i], &asked[q]);
        solve(l, n, c);
        for (int64_t i = 0; i < n; i++) {
            mean[q] += c[i] * z[i];
            variance[q] -= c[i] * c[i];
        }
    }
    ll_free(l);
    ll_free(z);
    return st;
}

llap_status ll_synth_oracle(const ll_synth *s, const ll_windows *w, int64_t i, double *mean,
                            double *variance)
{
    const ll_window  *v = &w->at[i];
    const llap_panel *p = w->panel;
    const int64_t     most = v->n_context * p->n_vars, m = v->n_query * w->n_targets;
    ll_synth_point   *point = ll_new((size_t)(most + m), sizeof *point);
    double           *value = ll_new((size_t)most, sizeof *value);
    llap_status       st = point == NULL || value == NULL ? LLAP_ENOMEM : LLAP_OK;
    int64_t           n = 0;
    for (int64_t r = v->first; st == LLAP_OK && r < ll_window_query(v); r++)
        for (int64_t k = 0; k < p->n_vars; k++) {
            if (!ll_panel_observed(p, r, k)) continue;
            point[n] = (ll_synth_point){ v->entity, k, ll_synth_hours(p->time[r]) };
            value[n++] = (double)p->value[r * p->n_vars + k];
        }
    for (int64_t q = 0; st == LLAP_OK && q < m; q++)
        point[most + q] =
            (ll_synth_point){ v->entity, w->target[q % w->n_targets],
                              ll_synth_hours(p->time[ll_window_query(v) + q / w->n_targets]) };
    if (st == LLAP_OK) st = ll_synth_condition(s, point, value, n, point + most, m, mean, variance);
    ll_free(point);
    ll_free(value);
    return st;
}
