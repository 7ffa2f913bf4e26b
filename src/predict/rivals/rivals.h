/* src/predict/rivals: published models and panels: what a window of a panel is to one, and answers
 * of many windows at once.
 *
 *   rivals.h  this file
 *   view.c    windows as examples
 *   asker.c   sessions, and rows that go through them together
 *
 * Training looks at windows by the same code as forecasts.
 * May touch: base, base/time, base/rng, backend, graph, nn, data, data/windows, rivals,
 * rivals/feed, model. */
#ifndef LL_PREDICT_RIVALS_RIVALS_H
#define LL_PREDICT_RIVALS_RIVALS_H

#include "data/windows/scaling.h"
#include "model/model.h"

/* -------- windows -------- */

/* A panel as a model sees it: scaled, its columns in the model's order. */
typedef struct ll_rival_view {
    const ll_rival_model *r;
    const ll_model_frame *f;
    const llap_panel     *p;
    int64_t              *var;     /* [vars] columns of the panel */
    ll_scaling           *scaling; /* of training, for the panel's entities; features are var */
} ll_rival_view;

/* Borrows all three. LLAP_EINVAL: the panel lacks a column that the model looks at. */
llap_status ll_rival_view_init(ll_rival_view *v, const ll_rival_model *r, const ll_model_frame *f,
                               const llap_panel *p);
void        ll_rival_view_deinit(ll_rival_view *v); /* { 0 } is fine */

typedef struct ll_rival_window {
    int64_t        entity;
    int64_t        first, end; /* rows of the panel that may be looked at, the last one at origin */
    int64_t        origin;     /* ticks */
    const int64_t *time;       /* [n] of the queries, after the origin, increasing */
    int64_t        n;
    bool           read; /* with what the panel holds at these times: to learn, to fill around */
    uint64_t       id;
} ll_rival_window;

/* On the grid of steps each query has its cell, ll_rival_cell; else query i has cell i, and n is at
 * most the task's horizon. */
void ll_rival_view_example(const ll_rival_view *v, const ll_rival_window *w, ll_rival_example *e);

/* The cell of a query on the grid: the nearest step ahead, 0 .. horizon - 1. */
int64_t ll_rival_cell(const ll_rival_view *v, int64_t origin, int64_t time);

static inline double ll_rival_unscale(const ll_rival_view *v, int64_t entity, int64_t target,
                                      double z)
{
    const int64_t at = entity * v->r->task.vars + target;
    return z * (double)v->scaling->x_std[at] + (double)v->scaling->x_mean[at];
}

/* -------- answers -------- */

/*     ll_rival_asker *a;
 *     st = ll_rival_asker_create(&task, params, backend, n_threads, most, &a);    most: rows to
 * come ll_rival_asker_put(a, &example, sample);             up to ll_rival_asker_room rows st =
 * ll_rival_asker_run(a, seed, &y);                [rows,H,C,members]; then anew
 *     ll_rival_asker_destroy(a);
 *
 * Borrows the task and the parameters, which may change between runs where they are of the backend;
 * those of a file are copied to a backend with memory of its own. */
typedef struct ll_rival_asker ll_rival_asker;

llap_status ll_rival_asker_create(const ll_rival_task *k, const ll_params *params,
                                  const ll_backend *backend, int n_threads, int64_t most,
                                  ll_rival_asker **out);
void        ll_rival_asker_destroy(ll_rival_asker *a); /* NULL is fine */
int64_t     ll_rival_asker_room(const ll_rival_asker *a);
llap_status ll_rival_asker_put(ll_rival_asker *a, const ll_rival_example *e, uint32_t sample);
llap_status ll_rival_asker_run(ll_rival_asker *a, uint64_t seed, const float **y);

#endif
