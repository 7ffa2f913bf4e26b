/* Two-sided answers without inverting a covariance: a backward sweep in the form of Bryson and
 * Frazier carries r and N, the score of what is observed later and its information, so that
 *
 *     mean = x_0 + b r     variance = b_0 - b N b     with b = P h, h = [1, 0, ...].
 *
 * A variance of which the future leaves next to nothing comes from root.c instead.
 *
 * Between two queries i before j (de Jong): cov = b_i L^T (h - N_j b_j), where L takes b_i forward
 * as the filter takes its mean. Draws follow Durbin and Koopman: simulate states and readings from
 * the first query on, and replace the part of the simulation that the readings explain by what the
 * true readings say. */
#include "anchor/process/process.h"

#include "anchor/process/state.h"
#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct ll_anchor_posterior {
    anchor_system sys;
    size_t        n_query, n_events;
    size_t        first; /* the first event that is a query; n_events if none */
    double        loglik;
    anchor_event *ev;    /* [n_events] */
    anchor_step  *step;  /* [n_events] transition into the event */
    double       *b;     /* [n_events,J] P h before the event: first row of P */
    double       *d;     /* [n_events] observation: its predicted variance, noise included */
    double       *e;     /* [n_events] observation: its surprise */
    double       *start; /* [J,ld] covariance at the first query */
    double       *u;     /* [n_query,J] h - N b */
    double       *mean;  /* [n_query] */
    double       *var;   /* [n_query] of f */
};

void ll_anchor_posterior_destroy(ll_anchor_posterior *p)
{
    if (p == NULL) return;
    double *const arrays[] = { p->b, p->d, p->e, p->start, p->u, p->mean, p->var };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
    ll_free(p->step);
    ll_free(p->ev);
    ll_free(p);
}

static llap_status read_events(ll_anchor_posterior *p, const ll_anchor_window *w)
{
    size_t *order = ll_new(2 * w->n_query, sizeof *order);
    p->ev = ll_new(w->n_obs + w->n_query, sizeof *p->ev);
    if (order == NULL || p->ev == NULL) {
        ll_free(order);
        return LLAP_ENOMEM;
    }
    p->n_query = w->n_query;
    p->n_events = anchor_events(w, p->ev, order);
    assert(p->n_events <= w->n_obs + w->n_query);
    ll_free(order);
    while (p->first < p->n_events && p->ev[p->first].query < 0) p->first++;
    return LLAP_OK;
}

static llap_status make_arrays(ll_anchor_posterior *p) /* also again, for another system */
{
    const size_t J = (size_t)p->sys.J;
    const struct {
        double **at;
        size_t   rows, width;
    } want[] = {
        { &p->b, p->n_events, J },           { &p->d, p->n_events, 1 },
        { &p->e, p->n_events, 1 },           { &p->u, p->n_query, J },
        { &p->mean, p->n_query, 1 },         { &p->var, p->n_query, 1 },
        { &p->start, J, (size_t)p->sys.ld },
    };
    ll_free(p->step);
    p->step = ll_new(p->n_events, sizeof *p->step);
    if (p->step == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        ll_free(*want[i].at);
        *want[i].at = ll_new(want[i].rows, want[i].width * sizeof(double));
        if (*want[i].at == NULL) return LLAP_ENOMEM;
    }
    return LLAP_OK;
}

/* False: the level moves and this system has none. */
static bool forward(ll_anchor_posterior *p, double monitor, double unit, double start)
{
    const anchor_system *sys = &p->sys;
    double               x[ANCHOR_MAX_J], P[ANCHOR_MAX_J * ANCHOR_MAX_J];
    anchor_step          step = { .gap = -1.0 };
    anchor_monitor       mo = { 0 };
    p->loglik = 0.0;
    anchor_start(sys, x, P);
    for (size_t k = 0; k < p->n_events; k++) {
        anchor_event *ev = &p->ev[k];
        double       *b = p->b + k * (size_t)sys->J;
        if (ev->gap > 0.0) {
            anchor_step_set(&step, sys, ev->gap);
            p->step[k] = step;
            anchor_push(sys, &step, x);
            anchor_push_cov(sys, &step, P);
        }
        ev->raise = k == 0 ? start : 0.0;
        if (ev->raise > 0.0) {
            if (sys->level < 0) return false;
            anchor_add_level(sys, ev->raise, sys->ld, P);
        }
        if (k == p->first) memcpy(p->start, P, (size_t)(sys->J * sys->ld) * sizeof *P);
        if (ev->query >= 0) {
            assert((size_t)ev->query < p->n_query && k >= p->first);
            memcpy(b, P, (size_t)sys->J * sizeof *b);
            p->mean[ev->query] = x[0];
            p->var[ev->query] = fmax(P[0], 0.0);
            continue;
        }
        const double e = p->e[k] = ev->y - x[0];
        double       d = fmax(P[0], 0.0) + sys->r;
        const double raise = anchor_monitor_read(&mo, monitor, ev->y, e * unit, d);
        if (raise > 0.0) {
            if (sys->level < 0) return false;
            anchor_add_level(sys, raise, sys->ld, P);
            ev->raise += raise;
            d += raise;
        }
        p->d[k] = d;
        p->loglik -= anchor_surprise(e, d);
        anchor_update(sys, e, d, b, x, P);
    }
    return true;
}

/* Takes the information N of what comes after an observation over that observation:
 * N <- A^T N A + h h^T / d, where A = I - b h^T/d differs from I in its first column only, whose
 * first entry 1 - b_0/d is r/d. */
static void gather(const anchor_system *sys, const double *b, double d, double *N)
{
    double A[ANCHOR_MAX_J], w[ANCHOR_MAX_J];
    assert(d >= sys->r); /* never less than the noise */
    A[0] = sys->r / d;
    for (int i = 1; i < sys->J; i++) A[i] = -b[i] / d;
    anchor_apply(sys, N, A, w);
    N[0] = anchor_dot(sys->J, A, w) + 1.0 / d;
    for (int i = 1; i < sys->J; i++) N[i] = N[i * sys->ld] = w[i];
}

/* The same for the score r: r <- A^T r + h e/d. */
static void gather_score(const anchor_system *sys, const double *b, double d, double e, double *r)
{
    r[0] = (sys->r * r[0] + e - anchor_dot(sys->J - 1, b + 1, r + 1)) / d;
}

static void backward(ll_anchor_posterior *p)
{
    const anchor_system *sys = &p->sys;
    const size_t         J = (size_t)sys->J;
    double               r[ANCHOR_MAX_J] = { 0 }, N[ANCHOR_MAX_J * ANCHOR_MAX_J] = { 0 };
    bool                 later = false; /* until an observation is met r and N are zero */
    for (size_t k = p->n_events; k-- > p->first;) {
        const double *b = p->b + k * J;
        if (p->ev[k].query >= 0) {
            const size_t q = (size_t)p->ev[k].query;
            double       Nb[ANCHOR_MAX_J];
            anchor_apply(sys, N, b, Nb);
            p->mean[q] += anchor_dot(sys->J, b, r);
            p->var[q] = fmax(p->var[q] - anchor_dot(sys->J, b, Nb), 0.0);
            for (int i = 0; i < sys->J; i++) p->u[q * J + (size_t)i] = (i == 0) - Nb[i];
        } else {
            gather_score(sys, b, p->d[k], p->e[k], r);
            gather(sys, b, p->d[k], N);
            later = true;
        }
        if (later && p->ev[k].gap > 0.0) {
            anchor_pull(sys, &p->step[k], r);
            anchor_pull_cov(sys, &p->step[k], N);
        }
    }
}

/* b_0 - b N b is good to about 5e-13 of b_0. Where less than a hundredth of it is left, it is
 * computed anew, without a difference. */
static llap_status sharpen(ll_anchor_posterior *p)
{
    const size_t J = (size_t)p->sys.J;
    size_t       n_want = 0;
    bool        *want = ll_new(p->n_query, sizeof *want);
    if (want == NULL) return LLAP_ENOMEM;
    for (size_t k = p->first; k < p->n_events; k++) {
        const int64_t q = p->ev[k].query;
        if (q < 0 || !(p->var[q] < 0.01 * p->b[k * J])) continue;
        want[q] = true;
        n_want++;
    }
    llap_status st = LLAP_OK;
    if (n_want > 0)
        st = anchor_root(&p->sys, p->ev, p->step, p->n_events, want, n_want, p->var, p->u);
    ll_free(want);
    return st;
}

llap_status ll_anchor_condition(const ll_anchor_kernel *k, const ll_anchor_window *w,
                                ll_anchor_posterior **out)
{
    *out = NULL;
    llap_status st = ll_anchor_kernel_check(k);
    if (st == LLAP_OK) st = anchor_check(w, 1);
    if (st != LLAP_OK) return st;
    ll_anchor_posterior *p = ll_new(1, sizeof *p);
    if (p == NULL) return LLAP_ENOMEM;
    st = read_events(p, w);
    double           start = w->start;
    ll_anchor_kernel own = *k;
    if (st == LLAP_OK && anchor_is_unread(p->ev, p->n_events)) {
        own = anchor_kernel_unread(k, &start);
        start += w->start;
    }
    anchor_system_init(&p->sys, &own, false);
    if (st == LLAP_OK) st = make_arrays(p);
    const double unit = anchor_unit(own.innovation, w->scale);
    if (st == LLAP_OK && !forward(p, own.monitor, unit, start)) {
        anchor_system_init(&p->sys, &own, true);
        st = make_arrays(p);
        const bool done = st != LLAP_OK || forward(p, own.monitor, unit, start);
        assert(done); /* there is a level now */
        (void)done;
    }
    if (st == LLAP_OK) {
        backward(p);
        st = sharpen(p);
    }
    if (st == LLAP_OK) *out = p;
    else ll_anchor_posterior_destroy(p);
    return st;
}

double ll_anchor_loglik(const ll_anchor_posterior *p) { return p->loglik; }

llap_status ll_anchor_marginals(const ll_anchor_posterior *p, ll_anchor_of of, double *mean,
                                double *var)
{
    for (size_t q = 0; q < p->n_query; q++) {
        if (mean != NULL) mean[q] = p->mean[q];
        if (var != NULL) var[q] = p->var[q] + (of == LL_ANCHOR_NOISY ? p->sys.nu : 0.0);
    }
    return LLAP_OK;
}

/* Covariances of the query at event k with all later ones. */
static void covariance_row(const ll_anchor_posterior *p, size_t k, double *cov)
{
    const anchor_system *sys = &p->sys;
    const size_t         J = (size_t)sys->J;
    const size_t         row = (size_t)p->ev[k].query;
    double               x[ANCHOR_MAX_J];
    assert(row < p->n_query);
    memcpy(x, p->b + k * J, J * sizeof *x);
    for (size_t l = k + 1; l < p->n_events; l++) {
        if (p->ev[l].gap > 0.0) anchor_push(sys, &p->step[l], x);
        if (p->ev[l].query >= 0) {
            const size_t col = (size_t)p->ev[l].query;
            const double v = anchor_dot(sys->J, x, p->u + col * J);
            cov[row * p->n_query + col] = cov[col * p->n_query + row] = v;
            continue;
        }
        const double f = x[0] / p->d[l];
        for (size_t i = 1; i < J; i++) x[i] -= p->b[l * J + i] * f;
        x[0] = sys->r * f;
    }
}

llap_status ll_anchor_covariance(const ll_anchor_posterior *p, ll_anchor_of of, double *cov)
{
    for (size_t k = p->first; k < p->n_events; k++)
        if (p->ev[k].query >= 0) covariance_row(p, k, cov);
    for (size_t q = 0; q < p->n_query; q++)
        cov[q * p->n_query + q] = p->var[q] + (of == LL_ANCHOR_NOISY ? p->sys.nu : 0.0);
    return LLAP_OK;
}

/* Normals of an event: J for the state, one for the noise, one for what the monitor gives. */
static size_t event_normals(const ll_anchor_posterior *p)
{
    return (size_t)p->sys.J + (p->sys.level >= 0 ? 2 : 1);
}

/* Of a path: for each event from the first query on. */
size_t ll_anchor_path_normals(const ll_anchor_posterior *p)
{
    return (p->n_events - p->first) * event_normals(p);
}

/* Lower Cholesky factor of a covariance that may be singular: a direction without variance gets a
 * column of zeros. */
static void factor(const anchor_system *sys, const double *P, double *L)
{
    const int J = sys->J, ld = sys->ld;
    memset(L, 0, (size_t)(J * ld) * sizeof *L);
    for (int j = 0; j < J; j++) {
        const double left = P[j * ld + j] - anchor_dot(j, L + j * ld, L + j * ld);
        if (!(left > 1e-15 * P[j * ld + j])) continue;
        const double pivot = L[j * ld + j] = sqrt(left);
        for (int i = j + 1; i < J; i++)
            L[i * ld + j] = (P[i * ld + j] - anchor_dot(j, L + i * ld, L + j * ld)) / pivot;
    }
}

/* x += noise of a gap from the normals z [J]. */
static void disturb(const anchor_system *sys, const anchor_step *st, const double *z, double *x)
{
    double own;
    for (int i = 0; i < sys->n; i++) {
        const double sd = sqrt(sys->a[i] * st->grown[i]);
        const int    s = anchor_sine(sys, i);
        x[0] += sd * z[i];
        if (i > 0) x[i] += sd * z[i];
        if (s >= 0) x[s] += sd * z[s];
    }
    if (sys->slope < 0) return;
    const double both = anchor_slope_noise(sys, st, &own);
    x[sys->slope] += both * z[sys->level] + own * z[sys->slope];
}

/* Simulates states and readings with mean zero into f (at queries the simulated f, at observations
 * the surprise that the filter would have had), and takes off at queries what the filter knew. */
static void simulate(const ll_anchor_posterior *p, const double *L, const double *z, double *f)
{
    const anchor_system *sys = &p->sys;
    const size_t         J = (size_t)sys->J;
    double               x[ANCHOR_MAX_J], known[ANCHOR_MAX_J] = { 0 };
    for (int i = 0; i < sys->J; i++) x[i] = anchor_dot(i + 1, L + i * sys->ld, z);
    for (size_t k = p->first; k < p->n_events; k++, z += event_normals(p)) {
        if (k > p->first && p->ev[k].gap > 0.0) {
            anchor_push(sys, &p->step[k], x);
            anchor_push(sys, &p->step[k], known);
            disturb(sys, &p->step[k], z, x);
        }
        if (k > p->first && p->ev[k].raise > 0.0) { /* L has that of the first */
            const double jump = sqrt(p->ev[k].raise) * z[J + 1];
            assert(sys->level > 0);
            x[0] += jump;
            x[sys->level] += jump;
        }
        double *at = &f[k - p->first];
        *at = x[0] - known[0];
        if (p->ev[k].query >= 0) continue;
        *at += sqrt(sys->r) * z[J];
        for (size_t i = 0; i < J; i++) known[i] += p->b[k * J + i] * (*at / p->d[k]);
    }
}

/* Takes off what the readings after each query tell of the simulation, and adds the true mean. */
static void correct(const ll_anchor_posterior *p, ll_anchor_of of, const double *z, const double *f,
                    double *path)
{
    const anchor_system *sys = &p->sys;
    const size_t         J = (size_t)sys->J;
    const double         noise = of == LL_ANCHOR_NOISY ? sqrt(sys->nu) : 0.0;
    double               r[ANCHOR_MAX_J] = { 0 };
    for (size_t k = p->n_events; k-- > p->first;) {
        const double *b = p->b + k * J;
        const double  at = f[k - p->first];
        if (p->ev[k].query >= 0)
            path[p->ev[k].query] = p->mean[p->ev[k].query] + at - anchor_dot(sys->J, b, r) +
                                   noise * z[(k - p->first) * event_normals(p) + J];
        else gather_score(sys, b, p->d[k], at, r);
        if (p->ev[k].gap > 0.0) anchor_pull(sys, &p->step[k], r);
    }
}

llap_status ll_anchor_paths(const ll_anchor_posterior *p, ll_anchor_of of, size_t n_paths,
                            const double *normals, double *paths)
{
    const size_t width = ll_anchor_path_normals(p);
    if (p->n_query == 0) return LLAP_OK;
    assert(p->first < p->n_events);
    double *f = ll_new(p->n_events - p->first, sizeof *f);
    if (f == NULL) return LLAP_ENOMEM;
    double L[ANCHOR_MAX_J * ANCHOR_MAX_J];
    factor(&p->sys, p->start, L);
    for (size_t i = 0; i < n_paths; i++) {
        simulate(p, L, normals + i * width, f);
        correct(p, of, normals + i * width, f, paths + i * p->n_query);
    }
    ll_free(f);
    return LLAP_OK;
}

/* ---- one normal a query ---- */

/* A draw at a query is taken in like a reading, which leaves the law of what comes after it given
 * that draw. Deviation of the draw given those before it, sd [n], and what one deviation moves the
 * state by, gain [n,J]; n queries from the first event on that is one. */
static void take_in(const ll_anchor_posterior *p, double *sd, double *gain)
{
    anchor_system sys = p->sys;
    const size_t  J = (size_t)sys.J;
    double        P[ANCHOR_MAX_J * ANCHOR_MAX_J], b[ANCHOR_MAX_J], x[ANCHOR_MAX_J] = { 0 };
    sys.r = sys.nu; /* a new reading has no jitter */
    memcpy(P, p->start, (size_t)(sys.J * sys.ld) * sizeof *P);
    for (size_t k = p->first; k < p->n_events; k++) {
        const size_t at = k - p->first;
        if (at > 0 && p->ev[k].gap > 0.0) anchor_push_cov(&sys, &p->step[k], P);
        const double d = fmax(P[0], 0.0) + sys.nu;
        sd[at] = sqrt(d);
        memset(gain + at * J, 0, J * sizeof *gain);
        if (!(d > 0.0)) continue; /* nothing is left to draw */
        anchor_update(&sys, 0.0, d, b, x, P);
        for (size_t i = 0; i < J; i++) gain[at * J + i] = b[i] / sd[at];
    }
}

static void innovate(const ll_anchor_posterior *p, const double *sd, const double *gain,
                     const double *normal, double *score)
{
    const size_t J = (size_t)p->sys.J;
    double       x[ANCHOR_MAX_J] = { 0 };
    for (size_t k = p->first; k < p->n_events; k++) {
        const size_t at = k - p->first, q = (size_t)p->ev[k].query;
        const double z = normal[q]; /* score may be normal */
        if (at > 0 && p->ev[k].gap > 0.0) anchor_push(&p->sys, &p->step[k], x);
        score[q] = (x[0] + sd[at] * z) / sqrt(fmax(p->var[q] + p->sys.nu, 1e-300));
        for (size_t i = 0; i < J; i++) x[i] += gain[at * J + i] * z;
    }
}

llap_status ll_anchor_innovate(const ll_anchor_posterior *p, size_t n_paths, const double *normals,
                               double *scores)
{
    const size_t n = p->n_events - p->first;
    if (n != p->n_query)
        return ll_fail(LLAP_EINVAL,
                       "anchor: expected queries after all readings, found %zu "
                       "readings after the first query",
                       n - p->n_query);
    double     *sd = ll_new(n, sizeof *sd), *gain = ll_new(n, (size_t)p->sys.J * sizeof *gain);
    llap_status st = sd == NULL || gain == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) take_in(p, sd, gain);
    for (size_t i = 0; st == LLAP_OK && i < n_paths; i++)
        innovate(p, sd, gain, normals + i * n, scores + i * n);
    ll_free(sd);
    ll_free(gain);
    return st;
}
