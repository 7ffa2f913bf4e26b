#include "anchor/process/state.h"

#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void add_drift(anchor_system *sys, const ll_anchor_kernel *k)
{
    const bool drifts = sys->drifts = k->drift != LL_ANCHOR_STILL;
    assert(sys->n >= 1 && sys->n < ANCHOR_PLACES);
    sys->level = sys->n++;
    sys->term[sys->level] = -1;
    sys->a[sys->level] = 1.0;
    sys->start[sys->level] = drifts ? k->start : 0.0;
    sys->q = drifts ? k->q : 0.0;
    if (k->drift != LL_ANCHOR_SLOPE) return;
    sys->slope = sys->n + sys->m;
    sys->v = k->v;
    sys->damping = k->damping;
}

void anchor_system_init(anchor_system *sys, const ll_anchor_kernel *k, bool awake)
{
    *sys = (anchor_system){
        .n = k->n_terms, .level = -1, .slope = -1, .nu = k->nu, .r = k->nu + k->jitter
    };
    int lead = 0, place = 0;
    while (lead < k->n_terms && k->omega[lead] > 0.0) lead++;
    if (lead < k->n_terms) sys->term[place++] = lead;
    else lead = -1; /* all oscillate */
    sys->o = place;
    for (int i = 0; i < k->n_terms; i++)
        if (k->omega[i] > 0.0) sys->term[place++] = i;
    sys->m = place - sys->o;
    for (int i = 0; i < k->n_terms; i++)
        if (k->omega[i] == 0.0 && i != lead) sys->term[place++] = i;
    assert(place == sys->n && sys->o <= 1); /* every term has its place */
    for (int p = 0; p < sys->n; p++) {
        sys->a[p] = k->a[sys->term[p]];
        sys->rho[p] = k->rho[sys->term[p]];
        sys->omega[p] = k->omega[sys->term[p]];
        sys->start[p] = 1.0;
        sys->term_sum += sys->a[p];
    }
    if (k->drift != LL_ANCHOR_STILL || awake) add_drift(sys, k);
    sys->J = sys->n + sys->m + (sys->slope >= 0);
    sys->ld = (sys->J + 1) & ~1;
    assert(sys->n <= ANCHOR_PLACES && sys->J <= ANCHOR_MAX_J);
}

/* x - 2 (1 - e^-x) + (1 - e^-2x)/2: a series where that cancels. */
static double integrated(double x)
{
    if (x > 0.3) return x + 2.0 * expm1(-x) - 0.5 * expm1(-2.0 * x);
    double sum = 0.0, power = x * x; /* (-x)^k / k!, times 2 for k = 2 */
    power *= 0.5;
    for (int k = 3; k <= 16; k++) {
        power *= -x / k;
        sum += power * (2.0 - ldexp(1.0, k - 1));
    }
    return sum;
}

static void step_drift(anchor_step *st, const anchor_system *sys, double gap)
{
    assert(sys->slope < 0 || sys->damping > 0.0);
    st->grown[sys->level] = sys->q * gap;
    if (sys->slope < 0) return;
    const double c = sys->damping, x = c * gap, less = -expm1(-x);
    st->g = exp(-x);
    st->h = less / c;
    st->q_ll = sys->v * integrated(x) / (c * c * c);
    st->q_lb = sys->v * less * less / (2.0 * c * c);
    st->q_bb = -sys->v * expm1(-2.0 * x) / (2.0 * c);
    st->grown[sys->level] += st->q_ll;
}

void anchor_step_set(anchor_step *st, const anchor_system *sys, double gap)
{
    if (st->gap == gap) return;
    assert(gap > 0.0);
    st->gap = gap;
    double lost[ANCHOR_PLACES]; /* c - 1 */
    for (int i = 0; i < sys->n; i++) {
        const double less = expm1(-sys->rho[i] * gap), decay = exp(-sys->rho[i] * gap);
        st->grown[i] = -expm1(-2.0 * sys->rho[i] * gap);
        st->c[i] = decay;
        st->s[i] = 0.0;
        lost[i] = less;
        if (sys->omega[i] == 0.0 || decay == 0.0) continue; /* an endless gap has no phase */
        const double turn = sys->omega[i] * gap, half = sin(0.5 * turn);
        st->c[i] = decay * cos(turn);
        st->s[i] = decay * sin(turn);
        lost[i] = less - 2.0 * decay * half * half;
    }
    for (int i = 0; i < sys->n; i++) st->lag[i] = lost[i] - lost[0];
    if (sys->level >= 0) step_drift(st, sys, gap);
}

llap_status anchor_steps_init(anchor_steps *all, size_t room)
{
    *all = (anchor_steps){ .room = room, .step = ll_new(room, sizeof *all->step) };
    assert(room > 0);
    return all->step == NULL ? LLAP_ENOMEM : LLAP_OK;
}

void anchor_steps_deinit(anchor_steps *all) { ll_free(all->step); }

void anchor_steps_reserve(anchor_steps *all, size_t n)
{
    assert(n <= all->room);
    if (all->room - all->n >= n) return;
    all->n = 0;
    memset(all->place, 0, sizeof all->place);
}

const anchor_step *anchor_steps_find(anchor_steps *all, const anchor_system *sys, double gap)
{
    enum { N = ANCHOR_STEP_PLACES, TRIES = 8 };
    uint64_t bits;
    memcpy(&bits, &gap, sizeof bits);
    const size_t first = (size_t)((bits * UINT64_C(0x9E3779B97F4A7C15)) >> 56) % N;
    size_t       at = first;
    for (int i = 0; i < TRIES && all->place[at] > 0; i++, at = (at + 1) % N)
        if (all->step[all->place[at] - 1].gap == gap) return &all->step[all->place[at] - 1];
    assert(all->n < all->room); /* reserved */
    anchor_step *step = &all->step[all->n++];
    step->gap = -1.0;
    anchor_step_set(step, sys, gap);
    if (all->place[at] > 0) at = first; /* none of its places is free */
    all->place[at] = (uint32_t)all->n;
    return step;
}

void anchor_add_independent(const anchor_system *sys, const double *v, const double *by, int ld,
                            double *P)
{
    for (int i = 0; i < sys->n; i++) {
        const double own = v[i] * by[i];
        const int    s = anchor_sine(sys, i);
        P[0] += own;
        if (s >= 0) P[s * ld + s] += own;
        if (i == 0) continue;
        P[i] += own;
        P[i * ld] += own;
        P[i * ld + i] += own;
    }
}

void anchor_add_slope(const anchor_system *sys, const anchor_step *st, int ld, double *P)
{
    const int l = sys->level, b = sys->slope;
    if (b < 0) return;
    P[b * ld + b] += st == NULL ? sys->v / (2.0 * sys->damping) : st->q_bb;
    if (st == NULL) return;
    P[b] += st->q_lb;
    P[b * ld] += st->q_lb;
    P[l * ld + b] += st->q_lb;
    P[b * ld + l] += st->q_lb;
}

double anchor_slope_noise(const anchor_system *sys, const anchor_step *st, double *own)
{
    assert(sys->slope >= 0 && sys->level >= 0);
    const double both = st->q_lb / sqrt(st->grown[sys->level]);
    *own = sqrt(fmax(st->q_bb - both * both, 0.0));
    return both;
}

void anchor_add_level(const anchor_system *sys, double var, int ld, double *P)
{
    const int l = sys->level;
    assert(l > 0);
    P[0] += var;
    P[l] += var;
    P[l * ld] += var;
    P[l * ld + l] += var;
}

void anchor_start(const anchor_system *sys, double *x, double *P)
{
    memset(x, 0, (size_t)sys->J * sizeof *x);
    memset(P, 0, (size_t)(sys->J * sys->ld) * sizeof *P);
    anchor_add_independent(sys, sys->a, sys->start, sys->ld, P);
    anchor_add_slope(sys, NULL, sys->ld, P);
}

ll_anchor_kernel anchor_kernel_still(ll_anchor_kernel k)
{
    k.drift = LL_ANCHOR_STILL;
    k.start = k.q = k.v = k.damping = k.monitor = 0.0;
    k.innovation = false;
    return k;
}

static double left_of_one(double sum) { return fmax(1.0 - sum, 0.0); }

ll_anchor_kernel anchor_kernel_unread(const ll_anchor_kernel *k, double *start)
{
    double sum = 0.0;
    for (int32_t i = 0; i < k->n_terms; i++) sum += k->a[i];
    *start = k->drift == LL_ANCHOR_STILL ? 0.0 : left_of_one(sum);
    return anchor_kernel_still(*k);
}

double anchor_unread(const anchor_system *sys, const double *P, size_t ld, double more)
{
    if (!sys->drifts) return fmax(P[0], 0.0);
    assert(sys->level > 0 && (size_t)sys->J <= ld);
    const size_t l = (size_t)sys->level; /* independent of the terms, as long as nothing is read */
    return fmax(P[0] - P[l * ld + l], 0.0) + left_of_one(sys->term_sum) + more;
}

/* M [J,w] <- F M, rows of w numbers at stride ld; w = ld = 1 is a vector. */
static inline void push_rows(const anchor_system *sys, const anchor_step *st, int w, int ld,
                             double *restrict M)
{
    const int n = sys->n, o = sys->o;
    if (o == 0) { /* the lead's s takes up the lead's c, which is f minus the others */
        double *s0 = M + n * ld;
        for (int j = 0; j < w; j++) {
            double c0 = M[j];
            for (int i = 1; i < n; i++) c0 -= M[i * ld + j];
            const double turned = st->s[0] * c0 + st->c[0] * s0[j];
            M[j] = st->c[0] * M[j] - st->s[0] * s0[j];
            s0[j] = turned;
        }
    } else {
        for (int j = 0; j < w; j++) M[j] *= st->c[0];
    }
    for (int i = o > 0 ? o : 1; i < o + sys->m; i++) {
        double *restrict c = M + i * ld, *restrict s = M + (n + i - o) * ld;
        const double ci = st->c[i], si = st->s[i], lag = st->lag[i];
        for (int j = 0; j < w; j++) {
            const double cj = c[j], sj = s[j];
            M[j] += lag * cj - si * sj;
            c[j] = ci * cj - si * sj;
            s[j] = si * cj + ci * sj;
        }
    }
    for (int i = o + sys->m; i < n; i++)
        for (int j = 0; j < w; j++) {
            M[j] += st->lag[i] * M[i * ld + j];
            M[i * ld + j] *= st->c[i];
        }
    if (sys->slope < 0) return;
    double *restrict l = M + sys->level * ld, *restrict b = M + sys->slope * ld;
    for (int j = 0; j < w; j++) {
        M[j] += st->h * b[j];
        l[j] += st->h * b[j];
        b[j] *= st->g;
    }
}

/* M [J,w] <- F^T M */
static inline void pull_rows(const anchor_system *sys, const anchor_step *st, int w, int ld,
                             double *restrict M)
{
    const int n = sys->n, o = sys->o;
    if (sys->slope >= 0) {
        const double *l = M + sys->level * ld;
        double       *b = M + sys->slope * ld;
        for (int j = 0; j < w; j++) b[j] = st->h * (M[j] + l[j]) + st->g * b[j];
    }
    for (int i = o > 0 ? o : 1; i < o + sys->m; i++) {
        double *restrict c = M + i * ld, *restrict s = M + (n + i - o) * ld;
        const double ci = st->c[i], si = st->s[i], lag = st->lag[i];
        for (int j = 0; j < w; j++) {
            const double f = M[j], cj = c[j], sj = s[j];
            c[j] = lag * f + ci * cj + si * sj;
            s[j] = ci * sj - si * (f + cj);
        }
    }
    for (int i = o + sys->m; i < n; i++)
        for (int j = 0; j < w; j++) M[i * ld + j] = st->lag[i] * M[j] + st->c[i] * M[i * ld + j];
    if (o > 0) {
        for (int j = 0; j < w; j++) M[j] *= st->c[0];
        return;
    }
    double *s0 = M + n * ld;
    for (int j = 0; j < w; j++) {
        const double f = M[j], sj = s0[j];
        for (int i = 1; i < n; i++) M[i * ld + j] -= st->s[0] * sj;
        M[j] = st->c[0] * f + st->s[0] * sj;
        s0[j] = st->c[0] * sj - st->s[0] * f;
    }
}

void anchor_push(const anchor_system *sys, const anchor_step *st, double *x)
{
    push_rows(sys, st, 1, 1, x);
}

void anchor_push_rows(const anchor_system *sys, const anchor_step *st, int w, int ld, double *M)
{
    assert(w >= 1 && w <= ld && st->gap > 0.0);
    push_rows(sys, st, w, ld, M);
}

void anchor_pull(const anchor_system *sys, const anchor_step *st, double *x)
{
    pull_rows(sys, st, 1, 1, x);
}

static void transpose(const anchor_system *sys, double *M)
{
    assert(sys->J <= sys->ld);
    for (int i = 1; i < sys->J; i++)
        for (int j = 0; j < i; j++) {
            const double upper = M[j * sys->ld + i];
            M[j * sys->ld + i] = M[i * sys->ld + j];
            M[i * sys->ld + j] = upper;
        }
}

/* The two halves differ by rounding only; one of them is kept. */
static void mirror(const anchor_system *sys, double *M)
{
    for (int i = 1; i < sys->J; i++)
        for (int j = 0; j < i; j++) M[i * sys->ld + j] = M[j * sys->ld + i];
}

void anchor_push_cov(const anchor_system *sys, const anchor_step *st, double *P)
{
    push_rows(sys, st, sys->ld, sys->ld, P);
    transpose(sys, P);
    push_rows(sys, st, sys->ld, sys->ld, P);
    mirror(sys, P);
    anchor_add_independent(sys, sys->a, st->grown, sys->ld, P);
    anchor_add_slope(sys, st, sys->ld, P);
}

void anchor_pull_cov(const anchor_system *sys, const anchor_step *st, double *N)
{
    pull_rows(sys, st, sys->ld, sys->ld, N);
    transpose(sys, N);
    pull_rows(sys, st, sys->ld, sys->ld, N);
    mirror(sys, N);
}

void anchor_update(const anchor_system *sys, double e, double d, double *restrict b,
                   double *restrict x, double *restrict P)
{
    const int    J = sys->J, ld = sys->ld;
    const double kept = sys->r / d; /* of the variance of f: 1 - P_00/d, without cancellation */
    assert(d > 0.0 && sys->r > 0.0);
    memcpy(b, P, (size_t)J * sizeof *b);
    for (int i = 0; i < J; i++) x[i] += b[i] * (e / d);
    for (int i = 1; i < J; i++) {
        const double bi = b[i] / d;
        for (int j = 1; j < i; j++) P[i * ld + j] = P[j * ld + i];
        for (int j = i; j < J; j++) P[i * ld + j] -= bi * b[j];
        P[i * ld] = P[i] = b[i] * kept;
    }
    P[0] = b[0] * kept;
}

void anchor_apply(const anchor_system *sys, const double *restrict M, const double *restrict x,
                  double *restrict y)
{
    for (int j = 0; j < sys->J; j++) y[j] = M[j] * x[0];
    for (int i = 1; i < sys->J; i++)
        for (int j = 0; j < sys->J; j++) y[j] += M[i * sys->ld + j] * x[i];
}

double anchor_far_off(const anchor_monitor *mo, double e, double d)
{
    return fabs(e) / sqrt(d * ((8.0 + mo->sum) / (8.0 + mo->n)));
}

double anchor_monitor_read(anchor_monitor *mo, double threshold, double y, double e, double d)
{
    assert(d > 0.0 && mo->n >= 0.0);
    const bool far = threshold > 0.0 && anchor_far_off(mo, e, d) > threshold;
    const int  sign = e > 0.0 ? 1 : -1;
    const bool strikes = far && mo->doubt == sign;
    mo->doubt = far && !strikes ? sign : 0;
    mo->sum += strikes ? 1.0 : fmin(e * e / d, 16.0);
    mo->n += 1.0;
    if (strikes) {
        mo->struck = true;
        mo->since = mo->mean = mo->m2 = 0.0;
    }
    if (mo->struck) {
        const double off = y - mo->mean;
        mo->since += 1.0;
        mo->mean += off / mo->since;
        mo->m2 += off * (y - mo->mean);
    }
    return strikes ? e * e : 0.0;
}

double anchor_monitor_scale(const anchor_monitor *mo, bool innovation, double scale)
{
    if (innovation) return (8.0 + mo->sum) / (8.0 + mo->n);
    if (!mo->struck) return 1.0;
    if (scale == 0.0) scale = 1.0;
    return (mo->m2 + 8.0 / (scale * scale)) / (mo->since + 8.0);
}

double anchor_surprise(double e, double d)
{
    assert(d > 0.0);
    return 0.5 * (1.8378770664093454835606594728112 + log(d) + e * e / d);
}
