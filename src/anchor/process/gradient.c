/* Exact derivatives of scores by one sweep back through the filter. For a step
 *
 *     x' = F x    P' = F P F^T + Q    b = P' h    d = h b + r    e = y - h x'
 *     x'' = x' + b e/d                P'' = P' - b b^T/d         h = [1, 0, ...]
 *
 * the adjoints (xb, Pb: derivatives of the score with respect to x and P, Pb symmetric) go from ''
 * to ' to the event before. In the coordinates of the terms' own c and s the rotation-decay blocks
 * commute with their derivatives, dF/drho = -gap F and dF/domega = gap G F with G the quarter turn,
 * so that only the predicted x' and P' are needed, which the forward sweep keeps. */
#include "anchor/process/process.h"

#include "anchor/process/state.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* What one thread keeps of one window. */
typedef struct tape {
    anchor_event       *ev;    /* [n_max] */
    size_t             *order; /* [2 * n_query_max] */
    anchor_steps        steps; /* of all windows so far */
    const anchor_step **step;  /* [n_max] transition into the event, where it has a gap */
    double             *x;     /* [n_max,J] predicted mean */
    double             *P;     /* [n_max,J,ld] predicted covariance */
    double             *d;     /* [n_max] variance of the reading; at a query nu is included */
    double             *e;     /* [n_max] observation minus its mean; at a query the mean itself */
    double             *by;    /* [n_max] what the variance of a query is multiplied by, over d */
} tape;

typedef struct adjoint {
    double x[ANCHOR_MAX_J];
    double P[ANCHOR_MAX_J * ANCHOR_MAX_J];
    double a[ANCHOR_PLACES], rho[ANCHOR_PLACES], omega[ANCHOR_PLACES];
    double nu, q, v;
    double z; /* of each z that the scale of later queries adds up */
} adjoint;

static void forward(const anchor_system *sys, bool innovation, size_t n, tape *tp)
{
    anchor_monitor mo = { 0 };
    const size_t   J = (size_t)sys->J, size = J * (size_t)sys->ld;
    double         x[ANCHOR_MAX_J], b[ANCHOR_MAX_J], P[ANCHOR_MAX_J * ANCHOR_MAX_J];
    anchor_start(sys, x, P);
    anchor_steps_reserve(&tp->steps, n);
    for (size_t k = 0; k < n; k++) {
        if (tp->ev[k].gap > 0.0) {
            tp->step[k] = anchor_steps_find(&tp->steps, sys, tp->ev[k].gap);
            anchor_push(sys, tp->step[k], x);
            anchor_push_cov(sys, tp->step[k], P);
        }
        memcpy(tp->x + k * J, x, J * sizeof *x);
        memcpy(tp->P + k * size, P, size * sizeof *P);
        if (tp->ev[k].query >= 0) {
            tp->d[k] = fmax(P[0], 0.0) + sys->nu;
            tp->e[k] = x[0];
            tp->by[k] = anchor_monitor_scale(&mo, innovation, 1.0);
            continue;
        }
        const double d = tp->d[k] = fmax(P[0], 0.0) + sys->r;
        const double e = tp->e[k] = tp->ev[k].y - x[0];
        anchor_monitor_read(&mo, 0.0, tp->ev[k].y, e, d);
        anchor_update(sys, e, d, b, x, P);
    }
}

static void query_back(double d_mean, double d_var, adjoint *ad)
{
    ad->x[0] += d_mean;
    ad->P[0] += d_var;
    ad->nu += d_var;
}

/* b: first row of P'. d_e, d_d: derivatives of the score by e and d themselves, 0 unless the
 * observation is scored. */
static void observation_back(const anchor_system *sys, const double *b, double d, double e,
                             double d_e, double d_d, adjoint *ad)
{
    double Pb[ANCHOR_MAX_J];
    anchor_apply(sys, ad->P, b, Pb);
    const double xb = anchor_dot(sys->J, ad->x, b), bPb = anchor_dot(sys->J, b, Pb);
    d_e += xb / d;
    d_d += (bPb - xb * e) / (d * d);
    for (int i = 0; i < sys->J; i++) { /* from b = P' h, the symmetric part */
        const double half = 0.5 * (ad->x[i] * e - 2.0 * Pb[i]) / d;
        ad->P[i] += half;
        ad->P[i * sys->ld] += half;
    }
    ad->P[0] += d_d; /* and from d = P'_00 + r */
    ad->nu += d_d;
    ad->x[0] -= d_e;
}

/* From the coordinates with f to the terms' own: a state loses the other c from its first entry
 * (or row), an adjoint gives its first to all other c. */
static void own_states(const anchor_system *sys, int w, double *restrict X)
{
    for (int i = 1; i < sys->n; i++)
        for (int j = 0; j < w; j++) X[j] -= X[i * w + j];
}

static void own_adjoint(const anchor_system *sys, int w, double *restrict A)
{
    for (int i = 1; i < sys->n; i++)
        for (int j = 0; j < w; j++) A[i * w + j] += A[j];
}

/* Over the gap into an event whose predicted x and P are given. */
static void gap_back(const anchor_system *sys, const anchor_step *st, const double *x,
                     const double *P, adjoint *ad)
{
    const int J = sys->J, ld = sys->ld;
    double    X[ANCHOR_MAX_J * ANCHOR_MAX_J], A[ANCHOR_MAX_J * ANCHOR_MAX_J];
    double    xo[ANCHOR_MAX_J], ao[ANCHOR_MAX_J], grown[ANCHOR_MAX_J], moved[ANCHOR_MAX_J];
    memcpy(X, P, (size_t)(J * ld) * sizeof *X);
    memcpy(A, ad->P, (size_t)(J * ld) * sizeof *A);
    memcpy(xo, x, (size_t)J * sizeof *xo);
    memcpy(ao, ad->x, (size_t)J * sizeof *ao);
    own_states(sys, ld, X);
    own_adjoint(sys, ld, A);
    own_states(sys, 1, xo);
    own_adjoint(sys, 1, ao);
    for (int i = 0; i < J; i++) {
        moved[i] = ao[i] * xo[i] + 2.0 * anchor_dot(J, A + i * ld, X + i * ld);
        grown[i] = A[i * ld + i] + (i > 0 && i < sys->n ? A[i * ld] : 0.0);
    }
    if (sys->level >= 0) {
        const double level = grown[sys->level];
        ad->q += level * st->gap;
        if (sys->slope >= 0) {
            const int b = sys->slope;
            ad->v += (level * st->q_ll + 2.0 * A[sys->level * ld + b] * st->q_lb +
                      A[b * ld + b] * st->q_bb) /
                     sys->v;
        }
    }
    for (int i = 0; i < sys->n; i++) {
        const int s = anchor_sine(sys, i);
        if (s >= 0) {
            grown[i] += grown[s];
            moved[i] += moved[s];
            const double turned =
                anchor_dot(J, X + i * ld, A + s * ld) - anchor_dot(J, X + s * ld, A + i * ld);
            ad->omega[i] += st->gap * (ao[s] * xo[i] - ao[i] * xo[s] + 2.0 * turned);
        }
        ad->a[i] += grown[i] * st->grown[i];
        /* P' - Q was moved by F, and Q itself grows with rho. */
        ad->rho[i] += st->gap * (2.0 * grown[i] * sys->a[i] - moved[i]);
    }
    anchor_pull(sys, st, ad->x);
    anchor_pull_cov(sys, st, ad->P);
}

/* Score of event k and its derivatives by (mean, variance) or (e, d). */
typedef struct score {
    double value, d_first, d_second;
    int    count;
} score;

static score score_target(double y, double mean, double var, double floor)
{
    if (isnan(y)) return (score){ 0 };
    score        s = { .count = 1 };
    const double sd = sqrt(fmax(var, floor));
    s.value = ll_anchor_crps(y, mean, sd, &s.d_first, &s.d_second);
    s.d_second = var > floor ? s.d_second / (2.0 * sd) : 0.0;
    return s;
}

static score score_observation(double e, double d)
{
    return (score){ .value = anchor_surprise(e, d),
                    .d_first = e / d,
                    .d_second = 0.5 * (1.0 - e * e / d) / d,
                    .count = 1 };
}

/* Its derivatives by e and d where z = min(e^2/d, 16) enters the scale of later queries. */
static void score_scale(double e, double d, double by_z, score *s)
{
    if (!(e * e / d < 16.0)) return;
    s->d_first += by_z * 2.0 * e / d;
    s->d_second -= by_z * e * e / (d * d);
}

static void backward(const anchor_system *sys, bool innovation, const ll_anchor_window *w, size_t n,
                     ll_anchor_loss_kind kind, double floor, const tape *tp, adjoint *ad,
                     ll_anchor_loss *out)
{
    const size_t J = (size_t)sys->J, size = J * (size_t)sys->ld;
    const bool   per_scale = innovation && kind == LL_ANCHOR_CRPS && w->scale > 0.0;
    const double share = per_scale ? 1.0 / w->scale : 1.0;
    double       readings = 0.0;
    for (size_t k = 0; k < n; k++) readings += tp->ev[k].query < 0;
    for (size_t k = n; k-- > 0;) {
        const double d = tp->d[k], e = tp->e[k];
        const bool   query = tp->ev[k].query >= 0;
        assert(d >= 0.0 && (!query || (size_t)tp->ev[k].query < w->n_query));
        score s = { 0 };
        if (kind == LL_ANCHOR_NLL && !query) s = score_observation(e, d);
        if (kind == LL_ANCHOR_CRPS && query && w->target != NULL)
            s = score_target(w->target[tp->ev[k].query], e, d * tp->by[k], floor * tp->by[k]);
        out->sum += s.value * share;
        out->count += s.count;
        if (query) {
            if (innovation) ad->z += s.d_second * share * d / (8.0 + readings);
            query_back(s.d_first * share, s.d_second * share * tp->by[k], ad);
        } else if (innovation) {
            score_scale(e, d, ad->z, &s);
            readings -= 1.0;
        }
        if (!query) observation_back(sys, tp->P + k * size, d, e, s.d_first, s.d_second, ad);
        if (tp->ev[k].gap > 0.0) gap_back(sys, tp->step[k], tp->x + k * J, tp->P + k * size, ad);
    }
}

/* One window's score and gradient, in the kernel's order of terms. */
static void window_gradient(const anchor_system *sys, bool innovation, const ll_anchor_window *w,
                            size_t n, ll_anchor_loss_kind kind, double floor, tape *tp,
                            ll_anchor_loss *out)
{
    adjoint ad = { 0 };
    *out = (ll_anchor_loss){ 0 };
    forward(sys, innovation, n, tp);
    backward(sys, innovation, w, n, kind, floor, tp, &ad, out);
    own_adjoint(sys, sys->ld, ad.P); /* the law of the first event */
    for (int i = 0; i < sys->n; i++) {
        const int term = sys->term[i], s = anchor_sine(sys, i);
        if (i == sys->level) continue;
        assert(term >= 0 && term < LL_ANCHOR_MAX_TERMS);
        double start = ad.P[i * sys->ld + i] + (i > 0 ? ad.P[i * sys->ld] : 0.0);
        if (s >= 0) start += ad.P[s * sys->ld + s];
        out->d_a[term] = ad.a[i] + start;
        out->d_rho[term] = ad.rho[i];
        out->d_omega[term] = ad.omega[i];
    }
    out->d_nu = ad.nu;
    out->d_q = ad.q;
    out->d_v = ad.v;
    if (sys->slope >= 0) out->d_v += ad.P[sys->slope * sys->ld + sys->slope] / (2.0 * sys->damping);
}

static void tapes_destroy(tape *all, int n)
{
    for (int i = 0; all != NULL && i < n; i++) {
        void *const arrays[] = { all[i].ev, all[i].order, all[i].step, all[i].x,
                                 all[i].P,  all[i].d,     all[i].e,    all[i].by };
        anchor_steps_deinit(&all[i].steps);
        for (size_t j = 0; j < sizeof arrays / sizeof *arrays; j++) ll_free(arrays[j]);
    }
    ll_free(all);
}

static llap_status tape_init(const anchor_system *sys, size_t n_events, size_t n_query, tape *tp)
{
    const size_t J = (size_t)sys->J;
    tp->ev = ll_new(n_events, sizeof *tp->ev);
    tp->order = ll_new(2 * n_query, sizeof *tp->order);
    tp->step = ll_new(n_events, sizeof *tp->step);
    tp->x = ll_new(n_events, J * sizeof *tp->x);
    tp->P = ll_new(n_events, J * (size_t)sys->ld * sizeof *tp->P);
    tp->d = ll_new(n_events, sizeof *tp->d);
    tp->e = ll_new(n_events, sizeof *tp->e);
    tp->by = ll_new(n_events, sizeof *tp->by);
    const bool ok = tp->ev != NULL && tp->order != NULL && tp->step != NULL && tp->x != NULL &&
                    tp->P != NULL && tp->d != NULL && tp->e != NULL && tp->by != NULL;
    return ok ? anchor_steps_init(&tp->steps, n_events + 1) : LLAP_ENOMEM;
}

static llap_status tapes_create(const anchor_system *sys, const anchor_load *load, tape **out)
{
    const int n = load->n_threads;
    assert(n >= 1 && load->n_query <= load->n_events);
    *out = ll_new((size_t)n, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    llap_status st = LLAP_OK;
    for (int i = 0; i < n && st == LLAP_OK; i++)
        st = tape_init(sys, load->n_events, load->n_query, &(*out)[i]);
    return st;
}

/* Adds the windows up in their order, so that the threads leave no trace in the sum. */
static void add_up(const ll_anchor_loss *part, size_t n_windows, ll_anchor_loss *out)
{
    *out = (ll_anchor_loss){ 0 };
    for (size_t i = 0; i < n_windows; i++) {
        out->sum += part[i].sum;
        out->count += part[i].count;
        out->d_nu += part[i].d_nu;
        out->d_q += part[i].d_q;
        out->d_v += part[i].d_v;
        for (int j = 0; j < LL_ANCHOR_MAX_TERMS; j++) {
            out->d_a[j] += part[i].d_a[j];
            out->d_rho[j] += part[i].d_rho[j];
            out->d_omega[j] += part[i].d_omega[j];
        }
    }
}

llap_status ll_anchor_loss_gradient(const ll_anchor_kernel *k, const ll_anchor_window *w,
                                    size_t n_windows, ll_anchor_loss_kind kind, double var_floor,
                                    ll_anchor_loss *out)
{
    llap_status st = ll_anchor_kernel_check(k);
    if (st == LLAP_OK) st = anchor_check(w, n_windows);
    if (st != LLAP_OK) return st;
    anchor_system sys;
    anchor_system_init(&sys, k, false);
    const anchor_load load = anchor_load_of(w, n_windows);
    tape             *all = NULL;
    ll_anchor_loss   *part = ll_new(n_windows, sizeof *part);
    if (part == NULL) return LLAP_ENOMEM;
    st = tapes_create(&sys, &load, &all);
    if (st == LLAP_OK) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(load.n_threads)
        for (int64_t i = 0; i < (int64_t)n_windows; i++) {
            tape        *tp = &all[omp_get_thread_num()];
            const size_t n = anchor_events(&w[i], tp->ev, tp->order);
            assert(n <= load.n_events);
            window_gradient(&sys, k->innovation, &w[i], n, kind, var_floor, tp, &part[i]);
        }
        add_up(part, n_windows, out);
    }
    tapes_destroy(all, load.n_threads);
    ll_free(part);
    return st;
}
