#include "anchor/process/linked.h"

#include "anchor/process/state.h"
#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* The states of all entities, entity after entity. P is [N,N]; between calls its upper half holds.
 * Entities after the last observation no longer need each other: see part_ways. */
typedef struct joint_system {
    anchor_system sys;
    size_t        n, N;
    double       *mix; /* [n,n,places] a_i C_i[e,g] */
    double        monitor;
    bool          innovation;
} joint_system;

typedef struct joint_event {
    double  t, y;
    size_t  entity;
    int64_t query; /* index in its window, or -1: an observation */
} joint_event;

/* Scratch of one thread. */
typedef struct worker {
    joint_event *ev;      /* [2 * n_events]: events, and room to sort them */
    double      *x, *row; /* [N] */
    double      *b;       /* [n + 3,N] of readings */
    double      *P;       /* [N,N] */
    double      *own;     /* [n,J,ld] the blocks of the diagonal, when entities part */
} worker;

llap_status ll_anchor_linked_check(const ll_anchor_linked *j, int32_t n_terms)
{
    if (j->n < 1 || j->n > LL_ANCHOR_LINKED_MAX || j->rank > LL_ANCHOR_RANK_MAX)
        return ll_fail(LLAP_EINVAL,
                       "joint anchor: expected 1 to %d entities and a rank of 0 to %d, found "
                       "%zu and %zu",
                       LL_ANCHOR_LINKED_MAX, LL_ANCHOR_RANK_MAX, j->n, j->rank);
    for (size_t e = 0; e < j->n; e++) {
        double sum = 0.0;
        for (size_t r = 0; r < j->rank; r++)
            sum += j->loading[e * j->rank + r] * j->loading[e * j->rank + r];
        if (!(sum <= 1.0 + 1e-12))
            return ll_fail(LLAP_EINVAL,
                           "joint anchor: entity %zu: squared loadings sum to %g, more than 1", e,
                           sum);
    }
    for (int32_t i = 0; i < n_terms; i++)
        if (!(j->share[i] >= 0.0 && j->share[i] <= 1.0))
            return ll_fail(LLAP_EINVAL, "joint anchor: share[%d]: expected 0 to 1, found %g",
                           (int)i, j->share[i]);
    return LLAP_OK;
}

static llap_status system_init(joint_system *s, const ll_anchor_kernel *k,
                               const ll_anchor_linked *j, bool awake)
{
    anchor_system_init(&s->sys, k, awake);
    s->n = j->n;
    s->monitor = k->monitor;
    s->innovation = k->innovation;
    s->N = j->n * (size_t)s->sys.J;
    assert(s->n >= 1 && s->n <= LL_ANCHOR_LINKED_MAX);
    const size_t terms = (size_t)s->sys.n;
    s->mix = ll_new(j->n * j->n * terms, sizeof *s->mix);
    if (s->mix == NULL) return LLAP_ENOMEM;
    for (size_t e = 0; e < j->n; e++)
        for (size_t g = 0; g < j->n; g++) {
            double c = 0.0;
            for (size_t r = 0; r < j->rank; r++)
                c += j->loading[e * j->rank + r] * j->loading[g * j->rank + r];
            for (size_t p = 0; p < terms; p++)
                s->mix[(e * j->n + g) * terms + p] =
                    s->sys.a[p] * (e == g                   ? 1.0
                                   : (int)p == s->sys.level ? 0.0 /* each has its own */
                                                            : j->share[s->sys.term[p]] * c);
        }
    return LLAP_OK;
}

/* Adds the noise that grew over a step (NULL: the law at the start) to the upper half. */
static void add_noise(const joint_system *s, const anchor_step *st, double *P)
{
    const size_t J = (size_t)s->sys.J, terms = (size_t)s->sys.n;
    for (size_t e = 0; e < s->n; e++) {
        for (size_t g = e; g < s->n; g++)
            anchor_add_independent(&s->sys, s->mix + (e * s->n + g) * terms,
                                   st == NULL ? s->sys.start : st->grown, (int)s->N,
                                   P + e * J * s->N + g * J);
        anchor_add_slope(&s->sys, st, (int)s->N, P + e * J * s->N + e * J);
    }
}

static void start(const joint_system *s, double *x, double *P)
{
    memset(x, 0, s->N * sizeof *x);
    memset(P, 0, s->N * s->N * sizeof *P);
    add_noise(s, NULL, P);
}

static void copy_lower_to_upper(size_t N, double *P)
{
    for (size_t i = 1; i < N; i++)
        for (size_t k = 0; k < i; k++) P[k * N + i] = P[i * N + k];
}

static void copy_upper_to_lower(size_t N, double *P)
{
    for (size_t i = 1; i < N; i++)
        for (size_t k = 0; k < i; k++) P[i * N + k] = P[k * N + i];
}

/* P <- F P F^T + Q with the same F for every entity: rows of its blocks on and above the diagonal,
 * then, transposed, those on and below it. */
static void push(const joint_system *s, const anchor_step *st, double *x, double *P)
{
    const size_t J = (size_t)s->sys.J, N = s->N;
    for (size_t e = 0; e < s->n; e++) {
        anchor_push(&s->sys, st, x + e * J);
        double *block = P + e * J * N + e * J;
        for (size_t i = 1; i < J; i++)
            for (size_t k = 0; k < i; k++) block[i * N + k] = block[k * N + i];
        anchor_push_rows(&s->sys, st, (int)(N - e * J), (int)N, block);
    }
    for (size_t e = 0; e < s->n; e++) { /* a block of the diagonal is no longer symmetric */
        double *block = P + e * J * N + e * J;
        for (size_t i = 1; i < J; i++)
            for (size_t k = 0; k < i; k++) {
                const double lower = block[i * N + k];
                block[i * N + k] = block[k * N + i];
                block[k * N + i] = lower;
            }
        for (size_t i = 0; i < J; i++)
            for (size_t k = 0; k < e * J; k++) P[(e * J + i) * N + k] = P[k * N + e * J + i];
    }
    for (size_t e = 0; e < s->n; e++)
        anchor_push_rows(&s->sys, st, (int)((e + 1) * J), (int)N, P + e * J * N);
    copy_lower_to_upper(N, P);
    add_noise(s, st, P);
}

/* Readings of different entities at one time. Each is taken in by itself, but P is gone through
 * only once for all of them: until then its rows are brought up to date where they are needed. */
typedef struct readings {
    size_t  n;
    size_t  k[LL_ANCHOR_LINKED_MAX]; /* the states read */
    double  d[LL_ANCHOR_LINKED_MAX]; /* their variances when they were read, with noise */
    double *b;                       /* [n + 3,N] row k of P then; three rows of zeros behind */
} readings;

static bool was_read(const readings *r, size_t k)
{
    for (size_t m = 0; m < r->n; m++)
        if (r->k[m] == k) return true;
    return false;
}

/* out [N] = row k[m] of P as reading m and the later ones leave it. What stays of the variance,
 * 1 - P_kk/d, is taken without cancellation, as in anchor_update. */
static void row_left(const joint_system *s, const readings *r, size_t m, double *restrict out)
{
    const size_t N = s->N;
    const double kept = s->sys.r / r->d[m];
    assert(m < r->n && r->d[m] > 0.0);
    for (size_t i = 0; i < N; i++) out[i] = r->b[m * N + i] * kept;
    for (size_t l = m + 1; l < r->n; l++) {
        const double c = r->b[l * N + r->k[m]] / r->d[l];
        for (size_t i = 0; i < N; i++) out[i] -= c * r->b[l * N + i];
    }
}

/* Row k of P as all readings leave it; k has not been read. */
static void row_now(const joint_system *s, const readings *r, const double *P, size_t k,
                    double *restrict out)
{
    const size_t N = s->N;
    for (size_t i = 0; i < k; i++) out[i] = P[i * N + k];
    memcpy(out + k, P + k * N + k, (N - k) * sizeof *out);
    for (size_t m = 0; m < r->n; m++) {
        const double c = r->b[m * N + k] / r->d[m];
        for (size_t i = 0; i < N; i++) out[i] -= c * r->b[m * N + i];
    }
    for (size_t m = 0; m < r->n; m++) { /* these entries by the way that does not cancel */
        double left = r->b[m * N + k] * (s->sys.r / r->d[m]);
        for (size_t l = m + 1; l < r->n; l++)
            left -= r->b[l * N + r->k[m]] / r->d[l] * r->b[l * N + k];
        out[r->k[m]] = left;
    }
}

/* Takes in a reading of state k, whose row as it now is stands in b, and returns minus its log
 * density. */
static double take_in(const joint_system *s, readings *r, size_t k, double y, double *restrict x)
{
    double *restrict b = r->b + r->n * s->N;
    assert(r->n < s->n && k < s->N && !was_read(r, k));
    const double d = fmax(b[k], 0.0) + s->sys.r, err = y - x[k];
    for (size_t i = 0; i < s->N; i++) x[i] += b[i] * (err / d);
    r->k[r->n] = k;
    r->d[r->n++] = d;
    return anchor_surprise(err, d);
}

/* Brings P up to date. out [N] is room. */
static void settle(const joint_system *s, readings *r, double *restrict out, double *restrict P)
{
    const size_t N = s->N;
    if (r->n == 0) return;
    memset(r->b + r->n * N, 0, 3 * N * sizeof *r->b);
    for (size_t i = 0; i < N; i++)
        for (size_t m = 0; m < r->n; m += 4) {
            const double *restrict b = r->b + m * N;
            double c[4];
            for (size_t l = 0; l < 4; l++) c[l] = m + l < r->n ? b[l * N + i] / r->d[m + l] : 0.0;
            for (size_t g = i; g < N; g++)
                P[i * N + g] -=
                    c[0] * b[g] + c[1] * b[N + g] + c[2] * b[2 * N + g] + c[3] * b[3 * N + g];
        }
    for (size_t m = 0; m < r->n; m++) { /* where two were read, the later one's way holds */
        const size_t k = r->k[m];
        row_left(s, r, m, out);
        for (size_t i = 0; i < k; i++) P[i * N + k] = out[i];
        memcpy(P + k * N + k, out + k, (N - k) * sizeof *out);
    }
    r->n = 0;
}

/* What an entity's monitor says about a reading of its state k. False: it strikes, and there is no
 * level to raise. */
static bool look_at(const joint_system *s, anchor_monitor *mo, double unit, readings *r, size_t k,
                    double y, const double *x, double *row, double *P)
{
    row_now(s, r, P, k, r->b + r->n * s->N);
    assert(r->n < s->n && k % (size_t)s->sys.J == 0);
    const double d = fmax(r->b[r->n * s->N + k], 0.0) + s->sys.r;
    const double raise = anchor_monitor_read(mo, s->monitor, y, (y - x[k]) * unit, d);
    if (!(raise > 0.0)) return true;
    if (s->sys.level < 0) return false;
    settle(s, r, row, P);
    anchor_add_level(&s->sys, raise, (int)s->N, P + k * s->N + k);
    row_now(s, r, P, k, r->b);
    return true;
}

/* After the last observation each entity's law moves by itself: its block, in the layout of one
 * series. */
static void part_ways(joint_system const *s, double *P, double *own)
{
    const size_t J = (size_t)s->sys.J, ld = (size_t)s->sys.ld;
    copy_upper_to_lower(s->N, P);
    for (size_t e = 0; e < s->n; e++)
        for (size_t i = 0; i < J; i++)
            memcpy(own + (e * J + i) * ld, P + (e * J + i) * s->N + e * J, J * sizeof *own);
}

/* The entity's own law at a query after the last observation; *now is the time it stands at. An
 * answer does not depend, to the last bit, on what else is asked. */
static void move_alone(const joint_system *s, anchor_step *st, size_t e, double t, double *now,
                       double *x, double *own)
{
    const size_t J = (size_t)s->sys.J, ld = (size_t)s->sys.ld;
    if (!(t > *now)) return;
    anchor_step_set(st, &s->sys, t - *now);
    anchor_push(&s->sys, st, x + e * J);
    anchor_push_cov(&s->sys, st, own + e * J * ld);
    *now = t;
}

/* ---- events ---- */

static bool comes_first(const joint_event *a, const joint_event *b)
{
    if (a->t != b->t) return a->t < b->t;
    return a->query < 0 || b->query >= 0; /* observations before queries; else as they stand */
}

static void sort_events(joint_event *from, joint_event *to, size_t n)
{
    if (n < 2) return;
    const size_t half = n / 2;
    sort_events(from, to, half);
    sort_events(from + half, to + half, n - half);
    if (comes_first(&from[half - 1], &from[half])) return;
    memcpy(to, from, n * sizeof *to);
    size_t i = 0, k = half;
    for (size_t at = 0; at < n; at++) {
        const bool left = k == n || (i < half && comes_first(&to[i], &to[k]));
        from[at] = left ? to[i++] : to[k++];
    }
}

/* Events of one group in order of time; *seen is the number up to the last observation. */
static size_t events_of(const ll_anchor_window *w, size_t n, joint_event *ev, joint_event *room,
                        size_t *seen)
{
    size_t at = 0;
    for (size_t e = 0; e < n; e++) {
        for (size_t i = 0; i < w[e].n_obs; i++)
            if (!isnan(w[e].y[i]))
                ev[at++] =
                    (joint_event){ .t = w[e].t[i], .y = w[e].y[i], .entity = e, .query = -1 };
        for (size_t q = 0; q < w[e].n_query; q++)
            ev[at++] = (joint_event){ .t = w[e].t_query[q], .entity = e, .query = (int64_t)q };
    }
    sort_events(ev, room, at);
    *seen = at;
    while (*seen > 0 && ev[*seen - 1].query >= 0) --*seen;
    assert(at == 0 || ev[0].t <= ev[at - 1].t);
    return at;
}

/* Which entities have no reading. */
static void find_unread(const joint_event *ev, size_t n, size_t n_entities, bool *unread)
{
    for (size_t e = 0; e < n_entities; e++) unread[e] = true;
    for (size_t i = 0; i < n; i++)
        if (ev[i].query < 0) unread[ev[i].entity] = false;
}

/* Variance of the next reading of an entity whose P [.,ld] that is. */
static double reading_variance(const joint_system *s, const double *P, size_t ld, bool unread)
{
    return (unread ? anchor_unread(&s->sys, P, ld, 0.0) : fmax(P[0], 0.0)) + s->sys.nu;
}

/* The events after the last observation. */
static void answer_apart(const joint_system *s, worker *me, const double *scale, const bool *unread,
                         size_t seen, size_t n, double *const *mean, double *const *var)
{
    const size_t J = (size_t)s->sys.J, block = J * (size_t)s->sys.ld;
    anchor_step  step = { .gap = -1.0 };
    double       now[LL_ANCHOR_LINKED_MAX];
    /* Where nothing is observed, only a drift makes one time differ from another. */
    const double before = s->sys.level >= 0 && n > 0 ? me->ev[0].t : INFINITY;
    part_ways(s, me->P, me->own);
    for (size_t e = 0; e < s->n; e++) now[e] = seen > 0 ? me->ev[seen - 1].t : before;
    for (size_t i = seen; i < n; i++) {
        const joint_event *ev = &me->ev[i];
        move_alone(s, &step, ev->entity, ev->t, &now[ev->entity], me->x, me->own);
        mean[ev->entity][ev->query] = me->x[ev->entity * J];
        var[ev->entity][ev->query] = reading_variance(s, me->own + ev->entity * block,
                                                      (size_t)s->sys.ld, unread[ev->entity]) *
                                     scale[ev->entity];
    }
}

/* False: a level moves, and this system has none. */
static bool filter_group(const joint_system *s, worker *me, const ll_anchor_window *w,
                         size_t n_events, double *const *mean, double *const *var, double *loglik)
{
    const size_t   J = (size_t)s->sys.J, N = s->N;
    anchor_step    step = { .gap = -1.0 };
    anchor_monitor mo[LL_ANCHOR_LINKED_MAX] = { 0 };
    double         scale[LL_ANCHOR_LINKED_MAX];
    bool           unread[LL_ANCHOR_LINKED_MAX];
    readings       r = { .b = me->b };
    size_t         seen;
    const size_t   n = events_of(w, s->n, me->ev, me->ev + n_events, &seen);
    assert(n <= n_events && seen <= n);
    *loglik = 0.0;
    find_unread(me->ev, n, s->n, unread);
    start(s, me->x, me->P);
    for (size_t e = 0; e < s->n; e++) {
        if (!(w[e].start > 0.0)) continue;
        if (s->sys.level < 0) return false;
        anchor_add_level(&s->sys, w[e].start, (int)N, me->P + e * J * N + e * J);
    }
    for (size_t i = 0; i < seen; i++) {
        const joint_event *ev = &me->ev[i];
        const size_t       k = ev->entity * J;
        assert(ev->entity < s->n && k < N);
        const bool moves = i > 0 && ev->t > ev[-1].t;
        if (moves || ev->query >= 0 || was_read(&r, k)) settle(s, &r, me->row, me->P);
        if (moves) {
            anchor_step_set(&step, &s->sys, ev->t - ev[-1].t);
            push(s, &step, me->x, me->P);
        }
        if (ev->query >= 0) {
            mean[ev->entity][ev->query] = me->x[k];
            var[ev->entity][ev->query] =
                reading_variance(s, me->P + k * N + k, N, unread[ev->entity]) *
                anchor_monitor_scale(&mo[ev->entity], s->innovation, w[ev->entity].scale);
        } else {
            const double unit = anchor_unit(s->innovation, w[ev->entity].scale);
            if (!look_at(s, &mo[ev->entity], unit, &r, k, ev->y, me->x, me->row, me->P))
                return false;
            *loglik -= take_in(s, &r, k, ev->y, me->x);
        }
    }
    settle(s, &r, me->row, me->P);
    for (size_t e = 0; e < s->n; e++)
        scale[e] = anchor_monitor_scale(&mo[e], s->innovation, w[e].scale);
    answer_apart(s, me, scale, unread, seen, n, mean, var);
    return true;
}

/* ---- sharing out ---- */

static void workers_destroy(worker *all, int n)
{
    for (int i = 0; all != NULL && i < n; i++) {
        ll_free(all[i].ev);
        ll_free(all[i].x);
        ll_free(all[i].b);
        ll_free(all[i].row);
        ll_free(all[i].P);
        ll_free(all[i].own);
    }
    ll_free(all);
}

static llap_status workers_create(const joint_system *s, size_t n_events, int n, worker **out)
{
    *out = ll_new((size_t)n, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < n; i++) {
        worker *w = &(*out)[i];
        w->ev = ll_new(2 * n_events, sizeof *w->ev);
        w->x = ll_new(s->N, sizeof *w->x);
        w->row = ll_new(s->N, sizeof *w->row);
        w->b = ll_new((s->n + 3) * s->N, sizeof *w->b);
        w->P = ll_new(s->N * s->N, sizeof *w->P);
        w->own = ll_new(s->N * (size_t)s->sys.ld, sizeof *w->own);
        if (w->ev == NULL || w->x == NULL || w->row == NULL || w->b == NULL || w->P == NULL ||
            w->own == NULL)
            return LLAP_ENOMEM;
    }
    return LLAP_OK;
}

static size_t most_events(const ll_anchor_window *w, size_t n, size_t n_groups)
{
    size_t most = 0;
    for (size_t i = 0; i < n_groups; i++) {
        size_t sum = 0;
        for (size_t e = 0; e < n; e++) sum += w[i * n + e].n_obs + w[i * n + e].n_query;
        if (sum > most) most = sum;
    }
    return most;
}

llap_status ll_anchor_linked_filter(const ll_anchor_kernel *k, const ll_anchor_linked *j,
                                    const ll_anchor_window *w, size_t n_groups, double *const *mean,
                                    double *const *var, double *loglik)
{
    joint_system s[2] = { 0 }; /* the second with a level for each, where the first has none */
    worker      *all = NULL;
    llap_status  st = ll_anchor_kernel_check(k);
    if (st == LLAP_OK) st = ll_anchor_linked_check(j, k->n_terms);
    if (st == LLAP_OK) st = anchor_check(w, n_groups * j->n);
    for (int awake = 0; st == LLAP_OK && awake < 2; awake++)
        st = system_init(&s[awake], k, j, awake > 0);
    const size_t n_events = st == LLAP_OK ? most_events(w, j->n, n_groups) : 0;
    int          n_threads = omp_get_max_threads();
    if ((size_t)n_threads > n_groups) n_threads = n_groups > 0 ? (int)n_groups : 1;
    if (st == LLAP_OK) st = workers_create(&s[1], n_events, n_threads, &all);
    if (st == LLAP_OK) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(n_threads)
        for (int64_t i = 0; i < (int64_t)n_groups; i++) {
            const size_t first = (size_t)i * j->n;
            worker      *me = &all[omp_get_thread_num()];
            double       ll;
            bool         done =
                filter_group(&s[0], me, w + first, n_events, mean + first, var + first, &ll);
            if (!done)
                done = filter_group(&s[1], me, w + first, n_events, mean + first, var + first, &ll);
            assert(done); /* the second has a level for each */
            if (loglik != NULL) loglik[i] = ll;
        }
    }
    workers_destroy(all, n_threads);
    for (int awake = 0; awake < 2; awake++) ll_free(s[awake].mix);
    return st;
}
