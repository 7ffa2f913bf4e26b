/* The anchor as a forecaster: exact laws of a batch at once, then joint paths window by window. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/normal.h"
#include "base/progress.h"
#include "base/rng/rng.h"
#include "predict/forecaster.h"
#include "predict/joint_draws.h"
#include "predict/stack_draws.h"
#include "predict/view/series.h"
#include "predict/view/stack_view.h"
#include "predict/view/target_series.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOWS_AT_ONCE = 16 }; /* between two reports */

typedef struct anchor_self {
    const llap_model       *m;
    const llap_panel       *p;
    ll_target_series        own;    /* empty where they are borrowed */
    const ll_target_series *series; /* of the panel */
    ll_stack_view          *stack;  /* owned; NULL: none */
    ll_stack_draws         *draws;  /* owned; NULL: no diffusion networks beside it */
} anchor_self;

static void destroy(void *self)
{
    anchor_self *s = self;
    ll_target_series_deinit(&s->own);
    if (s->stack != NULL) ll_stack_view_deinit(s->stack);
    ll_free(s->stack);
    if (s->draws != NULL) ll_stack_draws_deinit(s->draws);
    ll_free(s->draws);
    ll_free(s);
}

/* Requests about one target, with queries, laws and paths in the arena. */
typedef struct anchor_work {
    ll_anchor_request *r;    /* [n] */
    double           **path; /* [n] of [n_samples,n_query] */
} anchor_work;

static llap_status make_requests(const anchor_self *s, int64_t target, const ll_forecast_window *w,
                                 int64_t n, int64_t n_samples, ll_arena *arena, anchor_work *out)
{
    out->r = ll_arena_new(arena, (size_t)n, sizeof *out->r);
    out->path = ll_arena_new(arena, (size_t)n, sizeof *out->path);
    if (out->r == NULL || out->path == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++) {
        const size_t n_query = (size_t)w[i].n_query;
        double      *t = ll_arena_new(arena, n_query, sizeof *t);
        ll_law      *law = ll_arena_new(arena, n_query, sizeof *law);
        out->path[i] = ll_arena_new(arena, (size_t)n_samples, n_query * sizeof **out->path);
        if (t == NULL || law == NULL || out->path[i] == NULL) return LLAP_ENOMEM;
        for (size_t q = 0; q < n_query; q++) t[q] = ll_model_time(s->m, w[i].time[q]);
        out->r[i] = (ll_anchor_request){ .history = s->series->target[target].series[w[i].entity],
                                         .series = s->series->known[w[i].entity],
                                         .origin = ll_model_time(s->m, w[i].origin),
                                         .n_query = n_query,
                                         .t_query = t,
                                         .law = law,
                                         .all = s->series->all[target] };
    }
    return LLAP_OK;
}

/* What the stack adds to the laws of one target. */
static llap_status move_laws(const anchor_self *s, int64_t target, const ll_forecast_window *w,
                             int64_t n, ll_arena *arena, const anchor_work *k)
{
    size_t   queries = 0;
    int64_t *entity = ll_arena_new(arena, (size_t)n, sizeof *entity);
    if (s->stack == NULL) return LLAP_OK;
    for (int64_t i = 0; entity != NULL && i < n; i++) {
        entity[i] = w[i].entity;
        queries += (size_t)w[i].n_query;
    }
    double *move = ll_arena_new(arena, queries * LL_LAW_LEVELS, sizeof *move);
    if (entity == NULL || move == NULL) return LLAP_ENOMEM;
    llap_status st = ll_stack_view_move(s->stack, target, k->r, entity, (size_t)n, move);
    if (st == LLAP_OK && s->draws != NULL)
        st = ll_stack_draws_blend(s->draws, target, k->r, n, arena);
    return st;
}

typedef struct member { /* at a query */
    double  value;
    int64_t path;
} member;

static int by_value(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->path > y->path) - (x->path < y->path);
}

/* Paths [n,its queries]: the members of a part keep their ranks, and get the law's own values. */
static llap_status even_out(const ll_anchor_model *a, const ll_anchor_request *r, int64_t n,
                            int64_t parts, double *path)
{
    const int64_t h = (int64_t)r->n_query;
    member       *all = ll_new((size_t)n, sizeof *all);
    if (all == NULL) return LLAP_ENOMEM;
    for (int64_t q = 0; q < h; q++)
        for (int64_t part = 0; part < parts; part++) {
            int64_t mine = 0;
            for (int64_t k = part; k < n; k += parts) all[mine++] = (member){ path[k * h + q], k };
            qsort(all, (size_t)mine, sizeof *all, by_value);
            for (int64_t i = 0; i < mine; i++) {
                const double level = ((double)i + 0.5) / (double)mine;
                path[all[i].path * h + q] =
                    ll_anchor_quantile(a, r->series, &r->law[q], ll_normal_score(level));
            }
        }
    ll_free(all);
    return LLAP_OK;
}

static llap_status draw_paths(const anchor_self *s, int64_t target, const ll_forecast_window *w,
                              int64_t n, const ll_forecast_request *ask, const anchor_work *k)
{
    const char *name = s->m->frame.target[target];
    int         worst = LLAP_OK;
    llap_status st = LLAP_OK;
    for (int64_t first = 0; first < n && st == LLAP_OK; first += WINDOWS_AT_ONCE) {
        const int64_t end = first + WINDOWS_AT_ONCE < n ? first + WINDOWS_AT_ONCE : n;
        st = ll_report(ask->progress, &ask->at);
        if (st != LLAP_OK) return st;
#pragma omp parallel for schedule(dynamic, 1) reduction(max : worst)
        for (int64_t i = first; i < end; i++) {
            const uint64_t         id = ll_hash(w[i].id, name, strlen(name));
            const ll_anchor_model *a = s->m->anchor[target];
            const size_t           n_paths = (size_t)ask->n_samples;
            llap_status            one =
                ll_joint_holds(s->m, s->series->known[w[i].entity]) /* its normals are there */
                               ? ll_anchor_model_paths_by(a, &k->r[i], k->path[i], n_paths, k->path[i])
                               : ll_anchor_model_paths(a, &k->r[i], ask->seed, id, n_paths, k->path[i]);
            if (one == LLAP_OK && ask->parts > 0)
                one = even_out(a, &k->r[i], ask->n_samples, ask->parts, k->path[i]);
            if (one == LLAP_OK && s->draws != NULL)
                one = ll_stack_draws_order(s->draws, target, i, ask->n_samples, w[i].n_query,
                                           k->path[i]);
            if ((int)one > worst) worst = (int)one;
        }
        st = (llap_status)worst; /* its detail may be another thread's */
        if (st != LLAP_OK) st = ll_fail(st, "%s: drawing paths failed", name);
    }
    return st;
}

static llap_status forecast(const ll_forecaster *f, const ll_forecast_request *ask,
                            const ll_forecast_window *w, int64_t n, ll_arena *arena,
                            ll_forecast_members *out)
{
    const anchor_self *s = f->self;
    llap_status        st = LLAP_OK;
    assert(s->series != NULL && s->series->n_targets == f->n_targets);
    if (s->draws != NULL) st = ll_stack_draws_ask(s->draws, ask, w, n, arena);
    for (int64_t k = 0; st == LLAP_OK && k < f->n_targets; k++) {
        anchor_work work = { 0 };
        st = make_requests(s, k, w, n, ask->n_samples, arena, &work);
        if (st == LLAP_OK) st = ll_anchor_model_forecast(s->m->anchor[k], work.r, (size_t)n);
        if (st == LLAP_OK) st = move_laws(s, k, w, n, arena, &work);
        if (st == LLAP_OK && s->m->joint != NULL)
            st = ll_joint_normals(s->m, s->p, s->series->known, k, w, n, ask, work.path);
        if (st == LLAP_OK) st = draw_paths(s, k, w, n, ask, &work);
        for (int64_t i = 0; st == LLAP_OK && i < n; i++)
            out[i * f->n_targets + k] = (ll_forecast_members){
                .n = ask->n_samples, .value = work.path[i], .drawn = true, .joint = true
            };
    }
    return st;
}

llap_status ll_anchor_forecaster_of(const llap_model *m, const llap_panel *p,
                                    const ll_target_series *series, ll_forecaster *out)
{
    *out = (ll_forecaster){ 0 };
    anchor_self *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    *s = (anchor_self){ .m = m, .p = p, .series = series };
    *out = (ll_forecaster){ .name = "anchor",
                            .n_targets = m->frame.n_targets,
                            .self = s,
                            .forecast = forecast,
                            .destroy = destroy };
    return LLAP_OK;
}

llap_status ll_anchor_forecaster(const llap_model *m, const llap_panel *p, const int64_t *var,
                                 ll_forecaster *out)
{
    assert(m->anchor != NULL);
    llap_status st = ll_anchor_forecaster_of(m, p, NULL, out);
    if (st != LLAP_OK) return st;
    anchor_self *s = out->self;
    s->series = &s->own;
    st = ll_target_series_init(&s->own, m, p, var, LL_SERIES_READINGS);
    if (st != LLAP_OK) ll_forecaster_deinit(out);
    return st;
}

llap_status ll_stack_forecaster(const llap_model *m, const llap_panel *p, const int64_t *var,
                                const ll_backend *backend, struct ll_residual_sampler **kept,
                                ll_forecaster *out)
{
    assert(m->stack != NULL);
    llap_status st = ll_anchor_forecaster(m, p, var, out);
    if (st != LLAP_OK) return st;
    anchor_self *s = out->self;
    s->stack = ll_new(1, sizeof *s->stack);
    st = s->stack == NULL ? LLAP_ENOMEM : ll_stack_view_init(s->stack, m, m->stack, p);
    if (st == LLAP_OK && ll_stack_diffuses(&m->stack->diffusion)) {
        s->draws = ll_new(1, sizeof *s->draws);
        st = s->draws == NULL ? LLAP_ENOMEM : ll_stack_draws_init(s->draws, m, p, backend, kept);
    }
    out->name = "stack";
    if (st != LLAP_OK) ll_forecaster_deinit(out);
    return st;
}
