#include "anchor/fit.h"

#include "anchor/window.h"
#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#define MAX_NUMBERS (3 * LL_ANCHOR_MAX_TERMS + 3)

/* What Adam moves: log a, log rho, log(nu - floor), log q and log v of a drift, log omega of the
 * cycles. Held within
 * bounds that no data can tell from zero or infinity, so that every step is a valid kernel. */
typedef struct numbers {
    int    n;
    double at[MAX_NUMBERS];
} numbers;

static const double LOG_BOUND = 46.0; /* e^46 = 1e20 */

static numbers to_numbers(const ll_anchor_kernel *k, const ll_anchor_fit_opts *o)
{
    numbers x = { 0 };
    for (int i = 0; i < k->n_terms; i++) x.at[x.n++] = log(k->a[i]);
    for (int i = 0; i < k->n_terms; i++) x.at[x.n++] = log(k->rho[i]);
    x.at[x.n++] = log(fmax(k->nu - o->nu_floor, 1e-12));
    if (k->drift != LL_ANCHOR_STILL) x.at[x.n++] = log(k->q);
    if (k->drift == LL_ANCHOR_SLOPE) x.at[x.n++] = log(k->v);
    for (int i = 0; o->learn_omega && i < k->n_terms; i++)
        if (k->omega[i] > 0.0) x.at[x.n++] = log(k->omega[i]);
    return x;
}

static void to_kernel(const double *x, const ll_anchor_fit_opts *o, ll_anchor_kernel *k)
{
    int at = 0;
    for (int i = 0; i < k->n_terms; i++) k->a[i] = exp(x[at++]);
    for (int i = 0; i < k->n_terms; i++) k->rho[i] = exp(x[at++]);
    k->nu = exp(x[at++]) + o->nu_floor;
    if (k->drift != LL_ANCHOR_STILL) k->q = exp(x[at++]);
    if (k->drift == LL_ANCHOR_SLOPE) k->v = exp(x[at++]);
    for (int i = 0; o->learn_omega && i < k->n_terms; i++)
        if (k->omega[i] > 0.0) k->omega[i] = exp(x[at++]);
}

/* Gradient of the mean score by the numbers, cut to the norm asked for. */
static numbers gradient(const ll_anchor_kernel *k, const ll_anchor_fit_opts *o,
                        const ll_anchor_loss *loss)
{
    numbers g = { 0 };
    for (int i = 0; i < k->n_terms; i++) g.at[g.n++] = loss->d_a[i] * k->a[i];
    for (int i = 0; i < k->n_terms; i++) g.at[g.n++] = loss->d_rho[i] * k->rho[i];
    g.at[g.n++] = loss->d_nu * (k->nu - o->nu_floor);
    if (k->drift != LL_ANCHOR_STILL) g.at[g.n++] = loss->d_q * k->q;
    if (k->drift == LL_ANCHOR_SLOPE) g.at[g.n++] = loss->d_v * k->v;
    for (int i = 0; o->learn_omega && i < k->n_terms; i++)
        if (k->omega[i] > 0.0) g.at[g.n++] = loss->d_omega[i] * k->omega[i];
    double square = 0.0;
    for (int i = 0; i < g.n; i++) {
        g.at[i] /= (double)loss->count;
        square += g.at[i] * g.at[i];
    }
    const double norm = sqrt(square);
    for (int i = 0; norm > o->clip && i < g.n; i++) g.at[i] *= o->clip / norm;
    return g;
}

/* Where a fit is. Doubles alone, so that a watch can keep them. */
typedef struct descent {
    double step;           /* steps made */
    double moves;          /* those of Adam */
    double n_late;         /* in sum */
    double x[MAX_NUMBERS]; /* the numbers now */
    double m[MAX_NUMBERS], v[MAX_NUMBERS];
    /* The answer is the mean of the late steps: one batch of windows more or less then hardly
     * shows. */
    double sum[MAX_NUMBERS];
} descent;

enum { DESCENT = sizeof(descent) / sizeof(double) };

static void adam_step(descent *d, const numbers *g, double lr)
{
    const double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
    const double n = d->moves += 1.0;
    for (int i = 0; i < g->n; i++) {
        d->m[i] = beta1 * d->m[i] + (1.0 - beta1) * g->at[i];
        d->v[i] = beta2 * d->v[i] + (1.0 - beta2) * g->at[i] * g->at[i];
        const double m = d->m[i] / (1.0 - pow(beta1, n));
        const double v = d->v[i] / (1.0 - pow(beta2, n));
        d->x[i] = fmin(fmax(d->x[i] - lr * m / (sqrt(v) + eps), -LOG_BOUND), LOG_BOUND);
    }
}

/* A place that a descent can be at. */
static llap_status descent_check(const descent *d, const ll_anchor_fit_opts *o)
{
    enum { N = MAX_NUMBERS };
    const double late = d->n_late * LOG_BOUND;
    llap_status  st = anchor_note_check(o->name, "steps", &d->step, 1, 0, (double)o->n_steps);
    if (st == LLAP_OK) st = anchor_note_check(o->name, "moves", &d->moves, 1, 0, d->step);
    if (st == LLAP_OK) st = anchor_note_check(o->name, "late steps", &d->n_late, 1, 0, d->step);
    if (st == LLAP_OK) st = anchor_note_check(o->name, "numbers", d->x, N, -LOG_BOUND, LOG_BOUND);
    if (st == LLAP_OK) st = anchor_note_check(o->name, "moments", d->m, N, -DBL_MAX, DBL_MAX);
    if (st == LLAP_OK) st = anchor_note_check(o->name, "squares", d->v, N, 0, DBL_MAX);
    return st == LLAP_OK ? anchor_note_check(o->name, "sums", d->sum, N, -late, late) : st;
}

/* From the start, or from where the watch has it. */
static llap_status descent_begin(descent *d, const ll_anchor_fit_opts *o, ll_anchor_kernel *k)
{
    if (o->watch.find != NULL && o->watch.find(o->watch.user, o->name, &d->step, DESCENT)) {
        const llap_status st = descent_check(d, o);
        if (st == LLAP_OK && d->moves > 0.0) to_kernel(d->x, o, k);
        return st;
    }
    *d = (descent){ 0 };
    memcpy(d->x, to_numbers(k, o).at, sizeof d->x);
    return LLAP_OK;
}

static void descent_end(descent *d, const ll_anchor_fit_opts *o, ll_anchor_kernel *k)
{
    if (d->moves == 0.0) return;
    assert(d->n_late <= d->step);
    for (int i = 0; d->n_late > 0.0 && i < MAX_NUMBERS; i++) d->x[i] = d->sum[i] / d->n_late;
    to_kernel(d->x, o, k);
}

static llap_status check(const ll_anchor_kernel *k, const ll_anchor_fit_opts *o)
{
    const llap_status st = ll_anchor_kernel_check(k);
    if (st != LLAP_OK) return st;
    if (o->n_steps < 1 || o->n_rows < 1)
        return ll_fail(LLAP_EINVAL,
                       "anchor fit: expected at least one step and one row, "
                       "found %lld and %zu",
                       (long long)o->n_steps, o->n_rows);
    if (!(o->lr > 0.0) || !(o->lr_late > 0.0) || !(o->clip > 0.0))
        return ll_fail(LLAP_EINVAL,
                       "anchor fit: expected step sizes and clip > 0, "
                       "found %g, %g, %g",
                       o->lr, o->lr_late, o->clip);
    if (!(o->nu_floor >= 0.0) || !(o->nu_floor + k->jitter > 0.0) || !(o->var_floor > 0.0))
        return ll_fail(LLAP_EINVAL,
                       "anchor fit: expected nu_floor >= 0 and var_floor > 0, "
                       "found %g and %g",
                       o->nu_floor, o->var_floor);
    return LLAP_OK;
}

static bool is_late(const ll_anchor_fit_opts *o, int64_t step)
{
    return (double)step >= o->late * (double)o->n_steps;
}

/* One step. *loss is the mean score before it. */
static llap_status step(ll_anchor_kernel *k, const ll_anchor_fit_opts *o, int64_t i,
                        const ll_anchor_window *w, descent *d, double *loss)
{
    ll_anchor_loss    l;
    const llap_status st = ll_anchor_loss_gradient(k, w, o->n_rows, o->loss, o->var_floor, &l);
    *loss = NAN;
    if (st != LLAP_OK || l.count == 0) return st;
    const numbers g = gradient(k, o, &l);
    *loss = l.sum / (double)l.count;
    for (int j = 0; j < g.n; j++)
        if (!isfinite(g.at[j]) || !isfinite(*loss))
            return ll_fail(LLAP_ENUMERIC, "anchor fit: step %lld: the loss is %g", (long long)i,
                           *loss);
    adam_step(d, &g, is_late(o, i) ? o->lr_late : o->lr);
    to_kernel(d->x, o, k);
    return LLAP_OK;
}

/* The watch may stop the fit. */
static llap_status tell(const ll_anchor_fit_opts *o, const descent *d, double loss)
{
    const ll_anchor_watch *w = &o->watch;
    llap_status            st = LLAP_OK;
    if (w->keep != NULL) st = w->keep(w->user, o->name, &d->step, DESCENT);
    if (st == LLAP_OK && w->step != NULL)
        st = w->step(w->user, o->name, o->before + (int64_t)d->step, (int64_t)d->step, loss);
    return st;
}

llap_status ll_anchor_fit(ll_anchor_kernel *k, const ll_anchor_fit_opts *o, ll_anchor_batch batch,
                          void *user)
{
    llap_status st = check(k, o);
    if (st != LLAP_OK) return st;
    descent d;
    st = descent_begin(&d, o, k);
    if (st != LLAP_OK) return st;
    ll_anchor_window *w = ll_new(o->n_rows, sizeof *w);
    if (w == NULL) return LLAP_ENOMEM;
    for (int64_t i = (int64_t)d.step; i < o->n_steps && st == LLAP_OK; i++) {
        double loss = NAN;
        st = batch(user, i, o->n_rows, w);
        if (st == LLAP_OK) st = step(k, o, i, w, &d, &loss);
        if (st != LLAP_OK) break;
        d.step += 1.0;
        assert(d.step <= (double)o->n_steps && d.moves <= d.step);
        d.n_late += is_late(o, i);
        for (int j = 0; is_late(o, i) && j < MAX_NUMBERS; j++) d.sum[j] += d.x[j];
        st = tell(o, &d, loss);
    }
    ll_free(w);
    descent_end(&d, o, k);
    return st;
}
