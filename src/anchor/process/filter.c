#include "anchor/process/process.h"

#include "anchor/process/state.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <omp.h>

enum { STEPS = 48 }; /* that a thread remembers */

/* Scratch of one thread. */
typedef struct worker {
    anchor_event *ev;       /* [n_max] */
    size_t       *order;    /* [2 * n_query_max] */
    anchor_steps  steps[2]; /* of both systems */
} worker;

/* Where the laws of a window go. far [readings]: how far off each is; NULL: not wanted.
 * term [queries,n_terms + 1]: the mean term by term, the level last; NULL: not wanted. */
typedef struct answers {
    double *mean, *var, *far, *term;
} answers;

/* The mean of f term by term: the lead's is what the others leave. */
static void put_terms(const anchor_system *sys, int32_t n_terms, const double *x, double *out)
{
    double lead = x[0];
    out[n_terms] = 0.0;
    for (int p = 1; p < sys->n; p++) {
        out[sys->term[p] < 0 ? n_terms : sys->term[p]] = x[p];
        lead -= x[p];
    }
    assert(sys->term[0] >= 0); /* a level never leads */
    out[sys->term[0]] = lead;
}

/* One pass over the events: writes the law of each query as it is met, *loglik becomes the log
 * density of what was observed. False: the level moves and this system has none. */
static bool filter_events(const anchor_system *sys, anchor_steps *steps, const ll_anchor_kernel *k,
                          const ll_anchor_window *w, const anchor_event *ev, size_t n,
                          const answers *out, double *loglik)
{
    double         x[ANCHOR_MAX_J], b[ANCHOR_MAX_J], P[ANCHOR_MAX_J * ANCHOR_MAX_J];
    anchor_monitor mo = { 0 };
    const double   unit = anchor_unit(k->innovation, w->scale);
    size_t         read = 0;
    const bool     unread = anchor_is_unread(ev, n);
    *loglik = 0.0;
    if (w->start > 0.0 && sys->level < 0) return false;
    anchor_start(sys, x, P);
    if (w->start > 0.0) anchor_add_level(sys, w->start, sys->ld, P);
    for (size_t i = 0; i < n; i++) {
        if (ev[i].gap > 0.0) {
            anchor_steps_reserve(steps, 1);
            const anchor_step *step = anchor_steps_find(steps, sys, ev[i].gap);
            anchor_push(sys, step, x);
            anchor_push_cov(sys, step, P);
        }
        if (ev[i].query >= 0) {
            assert((size_t)ev[i].query < w->n_query);
            out->mean[ev[i].query] = x[0];
            if (out->term != NULL)
                put_terms(sys, k->n_terms, x, out->term + ev[i].query * (k->n_terms + 1));
            const double var =
                unread ? anchor_unread(sys, P, (size_t)sys->ld, w->start) : fmax(P[0], 0.0);
            out->var[ev[i].query] =
                (var + sys->nu) * anchor_monitor_scale(&mo, k->innovation, w->scale);
            continue;
        }
        const double e = ev[i].y - x[0];
        double       d = fmax(P[0], 0.0) + sys->r;
        if (out->far != NULL) out->far[read++] = anchor_far_off(&mo, e * unit, d);
        const double raise = anchor_monitor_read(&mo, k->monitor, ev[i].y, e * unit, d);
        if (raise > 0.0) {
            if (sys->level < 0) return false;
            anchor_add_level(sys, raise, sys->ld, P);
            d += raise;
        }
        *loglik -= anchor_surprise(e, d);
        anchor_update(sys, e, d, b, x, P);
    }
    return true;
}

/* The level has a place only where it is needed: most windows of a series without drift. */
static double filter_window(const anchor_system sys[2], worker *me, const ll_anchor_kernel *k,
                            const ll_anchor_window *w, size_t n, const answers *out)
{
    double loglik;
    bool   done = false;
    for (int awake = 0; awake < 2 && !done; awake++)
        done = filter_events(&sys[awake], &me->steps[awake], k, w, me->ev, n, out, &loglik);
    assert(done); /* the second has a level */
    (void)done;
    return loglik;
}

static llap_status workers_create(const anchor_load *load, worker **out)
{
    const int n = load->n_threads;
    assert(n >= 1);
    *out = ll_new((size_t)n, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < n; i++) {
        (*out)[i].ev = ll_new(load->n_events, sizeof *(*out)[i].ev);
        (*out)[i].order = ll_new(2 * load->n_query, sizeof *(*out)[i].order);
        if ((*out)[i].ev == NULL || (*out)[i].order == NULL) return LLAP_ENOMEM;
        for (int awake = 0; awake < 2; awake++)
            if (anchor_steps_init(&(*out)[i].steps[awake], STEPS) != LLAP_OK) return LLAP_ENOMEM;
    }
    return LLAP_OK;
}

static void workers_destroy(worker *all, int n)
{
    for (int i = 0; all != NULL && i < n; i++) {
        ll_free(all[i].ev);
        ll_free(all[i].order);
        for (int awake = 0; awake < 2; awake++) anchor_steps_deinit(&all[i].steps[awake]);
    }
    ll_free(all);
}

static void filter_windows(const anchor_system sys[2], const ll_anchor_kernel *k,
                           const ll_anchor_window *w, size_t n_windows, worker *all, int n_threads,
                           double *const *mean, double *const *var, double *loglik)
{
#pragma omp parallel for schedule(dynamic, 4) num_threads(n_threads)
    for (int64_t i = 0; i < (int64_t)n_windows; i++) {
        worker      *me = &all[omp_get_thread_num()];
        const size_t n = anchor_events(&w[i], me->ev, me->order);
        assert(omp_get_thread_num() < n_threads && n <= w[i].n_obs + w[i].n_query);
        const double ll =
            filter_window(sys, me, k, &w[i], n, &(answers){ .mean = mean[i], .var = var[i] });
        if (loglik != NULL) loglik[i] = ll;
    }
}

llap_status ll_anchor_filter(const ll_anchor_kernel *k, const ll_anchor_window *w, size_t n_windows,
                             double *const *mean, double *const *var, double *loglik)
{
    llap_status st = ll_anchor_kernel_check(k);
    if (st == LLAP_OK) st = anchor_check(w, n_windows);
    if (st != LLAP_OK) return st;
    anchor_system sys[2];
    for (int awake = 0; awake < 2; awake++) anchor_system_init(&sys[awake], k, awake > 0);
    const anchor_load load = anchor_load_of(w, n_windows);
    worker           *all = NULL;
    st = workers_create(&load, &all);
    if (st == LLAP_OK) filter_windows(sys, k, w, n_windows, all, load.n_threads, mean, var, loglik);
    workers_destroy(all, load.n_threads);
    return st;
}

/* One window, by one thread. *n_events: those that there are. */
static llap_status filter_one(const ll_anchor_kernel *k, const ll_anchor_window *w,
                              const answers *out, size_t *n_events)
{
    llap_status st = ll_anchor_kernel_check(k);
    if (st == LLAP_OK) st = anchor_check(w, 1);
    if (st != LLAP_OK) return st;
    anchor_system sys[2];
    for (int awake = 0; awake < 2; awake++) anchor_system_init(&sys[awake], k, awake > 0);
    const anchor_load load = { .n_events = w->n_obs + w->n_query,
                               .n_query = w->n_query,
                               .n_threads = 1 };
    worker           *me = NULL;
    st = workers_create(&load, &me);
    if (st == LLAP_OK) {
        *n_events = anchor_events(w, me->ev, me->order);
        filter_window(sys, me, k, w, *n_events, out);
    }
    workers_destroy(me, load.n_threads);
    return st;
}

llap_status ll_anchor_surprises(const ll_anchor_kernel *k, const ll_anchor_window *w, double *a)
{
    ll_anchor_window seen = *w;
    size_t           left = 0;
    seen.n_query = 0;
    const llap_status st = filter_one(k, &seen, &(answers){ .far = a }, &left);
    for (size_t i = w->n_obs; st == LLAP_OK && i-- > 0;) /* each to the place of its reading */
        a[i] = isnan(w->y[i]) ? NAN : a[--left];
    return st;
}

llap_status ll_anchor_filter_terms(const ll_anchor_kernel *k, const ll_anchor_window *w,
                                   double *mean, double *var, double *term)
{
    size_t n = 0;
    return filter_one(k, w, &(answers){ .mean = mean, .var = var, .term = term }, &n);
}
