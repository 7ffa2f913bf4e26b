#include "anchor/anchor.h"

#include "anchor/state.h"
#include "base/alloc.h"

#include <math.h>
#include <omp.h>

/* Scratch of one thread. */
typedef struct worker {
    anchor_event *ev;    /* [n_max] */
    size_t       *order; /* [2 * n_query_max] */
} worker;

/* One pass over the events: writes the law of each query as it is met, returns the log density of
 * what was observed. */
static double filter_events(const anchor_system *sys, const anchor_event *ev, size_t n,
                            double *mean, double *var)
{
    double      x[ANCHOR_MAX_J], b[ANCHOR_MAX_J], P[ANCHOR_MAX_J * ANCHOR_MAX_J];
    anchor_step step = { .gap = -1.0 };
    double      loglik = 0.0;
    anchor_start(sys, x, P);
    for (size_t k = 0; k < n; k++) {
        if (ev[k].gap > 0.0) {
            anchor_step_set(&step, sys, ev[k].gap);
            anchor_push(sys, &step, x);
            anchor_push_cov(sys, &step, P);
        }
        if (ev[k].query >= 0) {
            mean[ev[k].query] = x[0];
            var[ev[k].query] = fmax(P[0], 0.0) + sys->nu;
            continue;
        }
        const double d = fmax(P[0], 0.0) + sys->r, e = ev[k].y - x[0];
        loglik -= anchor_surprise(e, d);
        anchor_update(sys, e, d, b, x, P);
    }
    return loglik;
}

static llap_status workers_create(const anchor_load *load, worker **out)
{
    const int n = load->n_threads;
    *out = ll_new((size_t)n, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < n; i++) {
        (*out)[i].ev = ll_new(load->n_events, sizeof *(*out)[i].ev);
        (*out)[i].order = ll_new(2 * load->n_query, sizeof *(*out)[i].order);
        if ((*out)[i].ev == NULL || (*out)[i].order == NULL) return LLAP_ENOMEM;
    }
    return LLAP_OK;
}

static void workers_destroy(worker *all, int n)
{
    for (int i = 0; all != NULL && i < n; i++) {
        ll_free(all[i].ev);
        ll_free(all[i].order);
    }
    ll_free(all);
}

static void filter_windows(const anchor_system *sys, const ll_anchor_window *w, size_t n_windows,
                           worker *all, int n_threads, double *const *mean, double *const *var,
                           double *loglik)
{
#pragma omp parallel for schedule(dynamic, 4) num_threads(n_threads)
    for (int64_t i = 0; i < (int64_t)n_windows; i++) {
        worker      *me = &all[omp_get_thread_num()];
        const size_t n = anchor_events(&w[i], me->ev, me->order);
        const double ll = filter_events(sys, me->ev, n, mean[i], var[i]);
        if (loglik != NULL) loglik[i] = ll;
    }
}

llap_status ll_anchor_filter(const ll_anchor_kernel *k, const ll_anchor_window *w, size_t n_windows,
                             double *const *mean, double *const *var, double *loglik)
{
    llap_status st = ll_anchor_kernel_check(k);
    if (st == LLAP_OK) st = anchor_check(w, n_windows);
    if (st != LLAP_OK) return st;
    anchor_system sys;
    anchor_system_init(&sys, k);
    const anchor_load load = anchor_load_of(w, n_windows);
    worker           *all = NULL;
    st = workers_create(&load, &all);
    if (st == LLAP_OK) filter_windows(&sys, w, n_windows, all, load.n_threads, mean, var, loglik);
    workers_destroy(all, load.n_threads);
    return st;
}
