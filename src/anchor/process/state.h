/* The state-space form of a kernel, shared by the files of the anchor; not for others.
 *
 * Over a gap g each term moves a pair (c, s), or c alone where omega = 0:
 *
 *     c' = exp(-rho g) (cos(omega g) c - sin(omega g) s) + noise    variance a (1 - exp(-2 rho g))
 *     s' = exp(-rho g) (sin(omega g) c + cos(omega g) s) + noise    the same, independent
 *
 * with stationary variance a, and f = sum of all c is what is observed. We keep f itself as the
 * first state, in the place of the c of one term (the lead; its c is f minus the others):
 *
 *     x = [f, c_1 .. c_{n-1}, s of the oscillating terms]
 *
 * An observation then scales one row of the covariance instead of cancelling in a sum of all, and
 * tiny noise loses no digits. The lead oscillates only if every term does. Terms are reordered:
 * lead, oscillating, others, so that the oscillating places are o .. o + m - 1 and the s of place
 * p is state n + p - o. A level is one more place, the last, which does not decay; a slope is the
 * last state and no part of f. Matrices are [J,ld] row-major, symmetric, both halves kept; the
 * padding of a row is zero. */
#ifndef LL_ANCHOR_PROCESS_STATE_H
#define LL_ANCHOR_PROCESS_STATE_H

#include "anchor/process/process.h"

#define ANCHOR_MAX_J LL_ANCHOR_MAX_STATES
enum { ANCHOR_PLACES = LL_ANCHOR_MAX_TERMS + 1 };

typedef struct anchor_system {
    int    n, m, o, J, ld;       /* places, oscillating ones, the first of them; states */
    int    level, slope;         /* place and state; -1: none */
    int    term[ANCHOR_PLACES];  /* place -> index in the kernel; -1: the level */
    double a[ANCHOR_PLACES];     /* [n] by place, as the next two; 1 of the level */
    double rho[ANCHOR_PLACES];   /* [n] */
    double omega[ANCHOR_PLACES]; /* [n] */
    double start[ANCHOR_PLACES]; /* [n] variance at the first event, over a */
    double nu, r;                /* noise; noise where it is conditioned on */
    double q, v, damping;
    bool   drifts;   /* else the level, where there is a place for one, is dormant */
    double term_sum; /* variance of all terms */
} anchor_system;

/* Transition over one gap; kept while the gap stays the same, as it does on a grid. */
typedef struct anchor_step {
    double gap;                  /* < 0: nothing computed yet */
    double c[ANCHOR_PLACES];     /* [n] exp(-rho gap) cos(omega gap) */
    double s[ANCHOR_PLACES];     /* [n] exp(-rho gap) sin(omega gap) */
    double lag[ANCHOR_PLACES];   /* [n] c - c of the lead, without cancellation */
    double grown[ANCHOR_PLACES]; /* [n] 1 - exp(-2 rho gap); of the level its noise */
    double h, g;                 /* of the slope: what it adds to the level, what stays of it */
    double q_ll, q_lb, q_bb;     /* noise of level (the part by the slope) and slope */
} anchor_step;

/* awake: the level has a place even where there is no drift. */
void anchor_system_init(anchor_system *sys, const ll_anchor_kernel *k, bool awake);
void anchor_step_set(anchor_step *st, const anchor_system *sys, double gap);

/* Transitions of one system that are known already: the gaps of a grid, or of windows thinned on
 * one, come again and again, some of them in two or three roundings. */
enum { ANCHOR_STEP_PLACES = 256 };
typedef struct anchor_steps {
    anchor_step *step; /* [room], n of them made; owned */
    size_t       n, room;
    uint32_t     place[ANCHOR_STEP_PLACES]; /* by a hash of the gap: 1 + which step; 0: none */
} anchor_steps;

llap_status anchor_steps_init(anchor_steps *all, size_t room); /* LLAP_ENOMEM; deinit either way */
void        anchor_steps_deinit(anchor_steps *all);
/* Room for n more; steps found before may be gone. */
void anchor_steps_reserve(anchor_steps *all, size_t n);
/* gap > 0. Stays until the next reserve. */
const anchor_step *anchor_steps_find(anchor_steps *all, const anchor_system *sys, double gap);

static inline int anchor_sine(const anchor_system *sys, int place) /* its s; -1: none */
{
    return place >= sys->o && place < sys->o + sys->m ? sys->n + place - sys->o : -1;
}

void anchor_start(const anchor_system *sys, double *x, double *P); /* stationary law */
/* x <- F x; x <- F^T x */
void anchor_push(const anchor_system *sys, const anchor_step *st, double *x);
void anchor_pull(const anchor_system *sys, const anchor_step *st, double *x);
/* M [J,w] <- F M, rows at stride ld */
void anchor_push_rows(const anchor_system *sys, const anchor_step *st, int w, int ld, double *M);
/* P [J,J], rows at stride ld, += the covariance of independent c and s of variances v [n] * by [n]
 */
void anchor_add_independent(const anchor_system *sys, const double *v, const double *by, int ld,
                            double *P);
/* The slope's part of the noise of a gap; st NULL: of the start. */
void anchor_add_slope(const anchor_system *sys, const anchor_step *st, int ld, double *P);
/* P += what the monitor gives the level. */
void anchor_add_level(const anchor_system *sys, double var, int ld, double *P);
/* Noise of the slope over a gap as two independent parts: what goes with the noise of the level (in
 * its deviations) is returned, the rest has deviation *own. */
double anchor_slope_noise(const anchor_system *sys, const anchor_step *st, double *own);
/* P <- F P F^T + Q; N <- F^T N F */
void anchor_push_cov(const anchor_system *sys, const anchor_step *st, double *P);
void anchor_pull_cov(const anchor_system *sys, const anchor_step *st, double *N);

/* Conditions on a reading e away from its mean, whose variance is d: b [J], the first row of P
 * before, is copied out. P may be NULL. */
void anchor_update(const anchor_system *sys, double e, double d, double *b, double *x, double *P);
/* y = M x for a symmetric M */
void anchor_apply(const anchor_system *sys, const double *M, const double *x, double *y);

/* A window without a reading. The level of a drift, which nothing has placed, then has as much
 * variance as the terms leave of 1, the variance that u has over training, and does not move. That
 * kernel, and the level's variance: */
ll_anchor_kernel anchor_kernel_unread(const ll_anchor_kernel *k, double *start);
/* The same from the P [.,ld] of a series that no reading has touched: variance of f; more is the
 * start of its window. */
double anchor_unread(const anchor_system *sys, const double *P, size_t ld, double more);
/* The terms of k alone: no drift, no monitor, scale of the window. */
ll_anchor_kernel anchor_kernel_still(ll_anchor_kernel k);

static inline double anchor_dot(int n, const double *x, const double *y)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* Minus the log density of a reading e away from its mean, whose variance is d. */
double anchor_surprise(double e, double d);

/* What the readings of a window have shown so far (anchor.h). */
typedef struct anchor_monitor {
    double n, sum;          /* readings, sum of z */
    int    doubt;           /* sign of the last reading where it was far off, else 0 */
    double since, mean, m2; /* readings since the monitor struck: number, mean, squares about it */
    bool   struck;
} anchor_monitor;

double anchor_far_off(const anchor_monitor *mo, double e, double d); /* a */
/* e away from its mean in u: what the filter has times anchor_unit. */
static inline double anchor_unit(bool innovation, double scale)
{
    return innovation || scale == 0.0 ? 1.0 : scale;
}
/* Takes a reading y in, e (in u) away from its mean, whose variance is d. Returns what the variance
 * of the level is to be raised by first: 0, or e^2. */
double anchor_monitor_read(anchor_monitor *mo, double threshold, double y, double e, double d);
/* What the variance of a query is multiplied by. */
double anchor_monitor_scale(const anchor_monitor *mo, bool innovation, double scale);

/* Observations and queries of one window in order of time, an observation before a query of the
 * same time. */
typedef struct anchor_event {
    double  gap;   /* since the event before; 0 for the first */
    int64_t query; /* index of the query, or -1: an observation */
    double  y;     /* the observation */
    double  raise; /* variance that the level is given just before it */
} anchor_event;

/* LLAP_EINVAL: times or values not finite, or observations not in order; the window is named where
 * there are several. Done before threads start, so that their work cannot fail. */
llap_status anchor_check(const ll_anchor_window *w, size_t n_windows);

/* Sorts indices from [n] by t of each, equal ones in their order; to [n] is room. */
void anchor_sort(const double *t, size_t *from, size_t *to, size_t n);

/* Writes the events of w (missing observations left out) into ev [n_obs + n_query] and returns
 * their number; order [2 * n_query] is scratch. */
size_t anchor_events(const ll_anchor_window *w, anchor_event *ev, size_t *order);
bool   anchor_is_unread(const anchor_event *ev, size_t n); /* no event is an observation */

/* root.c: the variances [n_query] from both sides, and u [n_query,J] = h - N b, of the
 * n_want queries that are wanted [n_query]; the others stay. n events; step [n]: the transition
 * into each that has a gap. */
llap_status anchor_root(const anchor_system *sys, const anchor_event *ev, const anchor_step *step,
                        size_t n, const bool *want, size_t n_want, double *var, double *u);

/* The most events and queries that one of the windows can have, and how many threads their work is
 * worth: waking others for less than a millisecond costs more than it brings. */
typedef struct anchor_load {
    size_t n_events, n_query;
    int    n_threads;
} anchor_load;

anchor_load anchor_load_of(const ll_anchor_window *w, size_t n_windows);

#endif
