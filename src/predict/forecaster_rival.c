/* A published model as a forecaster: windows become examples, rows of examples go through its
 * sessions together, answers come back in data units. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/rng/rng.h"
#include "predict/forecaster.h"
#include "predict/rivals/rivals.h"
#include "predict/tables/numbers.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>

typedef struct rival_self {
    const llap_model    *m;
    const ll_rival_task *k;
    const ll_backend    *backend;
    ll_rival_view        view;
    ll_rival_example     example;
    ll_rival_asker      *asker; /* NULL: none yet */
    int64_t              most;  /* rows that it was made for */
} rival_self;

/* What goes into one row of the sessions: queries first .. first + n - 1 of a window. */
typedef struct asked_row {
    int64_t  window, first, n;
    uint32_t sample;
} asked_row;

typedef struct asked_rows {
    const ll_forecast_window *w;
    asked_row                *row; /* [n], all samples of a part of a window one after another */
    int64_t                   n;
    int64_t                   samples; /* of a part of a window */
    int64_t                   paths;   /* that are asked for */
    double                  **path;    /* [windows,C] of [paths,n_query] */
    double                  **law;     /* the same of [n_query,members], of quantiles */
} asked_rows;

static void destroy(void *self)
{
    rival_self *s = self;
    ll_rival_asker_destroy(s->asker);
    ll_rival_example_deinit(&s->example);
    ll_rival_view_deinit(&s->view);
    ll_free(s);
}

static llap_status asker_for(rival_self *s, int64_t rows)
{
    if (s->asker != NULL && s->most >= rows) return LLAP_OK;
    ll_rival_asker_destroy(s->asker);
    s->asker = NULL;
    s->most = rows;
    return ll_rival_asker_create(s->k, s->m->rival->params, s->backend, omp_get_max_threads(), rows,
                                 &s->asker);
}

/* A grid has all steps of the horizon; else so many queries go at once. */
static int64_t queries_at_once(const rival_self *s, const ll_forecast_window *w)
{
    return ll_rival_on_grid(s->k) ? w->n_query : s->k->data.horizon;
}

/* None of these models says anything of later times than it was trained for. */
static llap_status check_horizon(const rival_self *s, const ll_forecast_window *w)
{
    const ll_model_frame *f = &s->m->frame;
    const int64_t         last = w->time[w->n_query - 1];
    if (ll_elapsed(w->origin, last) < (uint64_t)f->horizon + (uint64_t)(f->step / 2) + 1)
        return LLAP_OK;
    return ll_fail(LLAP_EOPTION, "horizon: %s answers within the horizon that it was trained for",
                   s->k->kind->title);
}

static llap_status list_rows(const rival_self *s, int64_t n, ll_arena *arena, asked_rows *a)
{
    int64_t     total = 0;
    llap_status st = LLAP_OK;
    a->samples = ll_rival_draws(s->k) ? a->paths : 1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t each = queries_at_once(s, &a->w[i]);
        total += a->w[i].n_query == 0 ? 0 : (a->w[i].n_query + each - 1) / each * a->samples;
    }
    a->row = ll_arena_new(arena, (size_t)total, sizeof *a->row);
    if (a->row == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        const int64_t h = a->w[i].n_query, each = queries_at_once(s, &a->w[i]);
        if (h > 0) st = check_horizon(s, &a->w[i]);
        for (int64_t q = 0; q < h; q += each)
            for (int64_t k = 0; k < a->samples; k++)
                a->row[a->n++] = (asked_row){ i, q, h - q < each ? h - q : each, (uint32_t)k };
    }
    return st;
}

/* Answers y [H,C,members] of one row, where they belong. */
static void take_row(const rival_self *s, asked_rows *a, const asked_row *r, const float *y)
{
    const ll_forecast_window *w = &a->w[r->window];
    const int64_t             C = s->k->targets, M = ll_rival_members(s->k);
    const bool                grid = ll_rival_on_grid(s->k);
    for (int64_t q = r->first; q < r->first + r->n; q++) {
        const int64_t cell = grid ? ll_rival_cell(&s->view, w->origin, w->time[q]) : q - r->first;
        for (int64_t c = 0; c < C; c++) {
            const float *from = y + (cell * C + c) * M;
            double      *path = a->path[r->window * C + c], *law = a->law[r->window * C + c];
            for (int64_t i = 0; i < M; i++) {
                const double v = ll_rival_unscale(&s->view, w->entity, c, (double)from[i]);
                if (law != NULL) law[q * M + i] = v;
                else path[(int64_t)r->sample * w->n_query + q] = v;
            }
        }
    }
}

/* Rows first .. first + n - 1. The rows of one part of a window look at one example. */
static llap_status ask_rows(rival_self *s, asked_rows *a, int64_t first, int64_t n, uint64_t seed)
{
    const int64_t each = s->k->data.horizon * s->k->targets * ll_rival_members(s->k);
    const float  *y = NULL;
    llap_status   st = LLAP_OK;
    for (int64_t i = first; i < first + n && st == LLAP_OK; i++) {
        const asked_row          *r = &a->row[i];
        const ll_forecast_window *w = &a->w[r->window];
        const ll_window           past =
            ll_window_before(s->view.p, w->entity, w->origin, s->m->frame.context, 0);
        const ll_rival_window of = { .entity = w->entity,
                                     .first = past.first,
                                     .end = past.first + past.n_context,
                                     .origin = w->origin,
                                     .time = w->time + r->first,
                                     .n = r->n,
                                     .read = w->keep && ll_rival_fills(s->k),
                                     .id = r->first == 0
                                               ? w->id
                                               : ll_hash(w->id, &r->first, sizeof r->first) };
        if (i == first || r->sample == 0) ll_rival_view_example(&s->view, &of, &s->example);
        st = ll_rival_asker_put(s->asker, &s->example, r->sample);
    }
    if (st == LLAP_OK) st = ll_rival_asker_run(s->asker, seed, &y);
    for (int64_t i = 0; i < n && st == LLAP_OK; i++)
        take_row(s, a, &a->row[first + i], y + i * each);
    return st;
}

/* -------- quantiles as paths -------- */

/* The value of normal score z on lines through quantiles at the levels (i + 1/2) / n, which go on
 * beyond the first and the last one. */
static double value_at(const double *quantile, const double *score, int64_t n, double z)
{
    int64_t i = 0;
    if (n == 1) return quantile[0];
    while (i < n - 2 && score[i + 1] < z) i++;
    const double part = (z - score[i]) / (score[i + 1] - score[i]);
    return quantile[i] + part * (quantile[i + 1] - quantile[i]);
}

typedef struct ranked {
    double  z;
    int64_t path;
} ranked;

static int by_score(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->z != y->z) return x->z < y->z ? -1 : 1;
    return (x->path > y->path) - (x->path < y->path);
}

/* Each query's paths are its law at levels (rank + 1/2) / paths. Ranks come from a normal of each
 * path that moves on from query to query; it forgets within a quarter of the horizon. */
static llap_status draw_paths(const rival_self *s, const asked_rows *a, int64_t window, int64_t c,
                              uint64_t seed, const double *score, ll_arena *arena)
{
    const ll_forecast_window *w = &a->w[window];
    const int64_t             n = a->paths, h = w->n_query, M = ll_rival_members(s->k);
    const double             *law = a->law[window * s->k->targets + c];
    double                   *path = a->path[window * s->k->targets + c];
    ranked                   *r = ll_arena_new(arena, (size_t)n, sizeof *r);
    double                   *z = ll_arena_new(arena, (size_t)n, sizeof *z);
    if (r == NULL || z == NULL) return LLAP_ENOMEM;
    const uint64_t id = ll_hash(w->id, &c, sizeof c);
    for (int64_t q = 0; q < h; q++) {
        const int64_t before = q == 0 ? w->origin : w->time[q - 1];
        const double  gap = (double)ll_elapsed(before, w->time[q]);
        const double  keep = q == 0 ? 0.0 : exp(-4.0 * gap / (double)s->m->frame.horizon);
        for (int64_t i = 0; i < n; i++) {
            const ll_rng rng = ll_rng_make(seed, LL_STREAM_NOISE, id, (uint32_t)i, 0);
            z[i] = keep * z[i] + sqrt(1.0 - keep * keep) * (double)ll_rng_normal(&rng, (uint64_t)q);
            r[i] = (ranked){ z[i], i };
        }
        qsort(r, (size_t)n, sizeof *r, by_score);
        for (int64_t i = 0; i < n; i++)
            path[r[i].path * h + q] = value_at(law + q * M, score, M, score[M + i]);
    }
    return LLAP_OK;
}

/* Normal scores of the levels (i + 1/2) / n. */
static void scores_of(double *score, int64_t n)
{
    for (int64_t i = 0; i < n; i++) score[i] = ll_normal_score(((double)i + 0.5) / (double)n);
}

static llap_status draw_all(const rival_self *s, const asked_rows *a, int64_t n, uint64_t seed,
                            ll_arena *arena)
{
    const int64_t M = ll_rival_members(s->k), C = s->k->targets;
    double       *score = ll_arena_new(arena, (size_t)(M + a->paths), sizeof *score);
    llap_status   st = score == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st != LLAP_OK) return st;
    scores_of(score, M);
    scores_of(score + M, a->paths);
    for (int64_t i = 0; i < n * C && st == LLAP_OK; i++)
        st = draw_paths(s, a, i / C, i % C, seed, score, arena);
    return st;
}

/* -------- the forecaster -------- */

/* Room for paths, and for the laws that they are made of; of these all queries are known. */
static llap_status make_room(const rival_self *s, asked_rows *a, int64_t n, ll_arena *arena,
                             ll_forecast_members *out)
{
    const int64_t C = s->k->targets, M = ll_rival_members(s->k);
    const bool    draws = ll_rival_draws(s->k);
    a->path = ll_arena_new(arena, (size_t)(n * C), sizeof *a->path);
    a->law = ll_arena_new(arena, (size_t)(n * C), sizeof *a->law);
    if (a->path == NULL || a->law == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n * C; i++) {
        const int64_t h = a->w[i / C].n_query;
        bool         *known = draws ? NULL : ll_arena_new(arena, (size_t)h, sizeof *known);
        a->path[i] = ll_arena_new(arena, (size_t)(a->paths * h), sizeof **a->path);
        if (!draws) a->law[i] = ll_arena_new(arena, (size_t)(h * M), sizeof **a->law);
        if (a->path[i] == NULL || (!draws && (a->law[i] == NULL || known == NULL)))
            return LLAP_ENOMEM;
        for (int64_t q = 0; !draws && q < h; q++) known[q] = true;
        out[i] = (ll_forecast_members){
            .n = a->paths, .value = a->path[i], .drawn = true, .law = known, .joint = true
        };
    }
    return LLAP_OK;
}

static llap_status forecast(const ll_forecaster *f, const ll_forecast_request *ask,
                            const ll_forecast_window *w, int64_t n, ll_arena *arena,
                            ll_forecast_members *out)
{
    rival_self *s = f->self;
    asked_rows  a = { .w = w, .paths = ask->n_samples };
    llap_status st = make_room(s, &a, n, arena, out);
    if (st == LLAP_OK) st = list_rows(s, n, arena, &a);
    if (st == LLAP_OK && a.n > 0) st = asker_for(s, a.n);
    const int64_t room = st == LLAP_OK && a.n > 0 ? ll_rival_asker_room(s->asker) : 1;
    for (int64_t i = 0; i < a.n && st == LLAP_OK; i += room) {
        st = ll_report(ask->progress, &ask->at);
        if (st == LLAP_OK) st = ask_rows(s, &a, i, a.n - i < room ? a.n - i : room, ask->seed);
    }
    return st == LLAP_OK && !ll_rival_draws(s->k) ? draw_all(s, &a, n, ask->seed, arena) : st;
}

llap_status ll_rival_forecaster(const llap_model *m, const llap_panel *p, const ll_backend *backend,
                                ll_forecaster *out)
{
    rival_self *s = ll_new(1, sizeof *s);
    *out = (ll_forecaster){ 0 };
    if (s == NULL) return LLAP_ENOMEM;
    assert(m->rival != NULL);
    *s = (rival_self){ .m = m, .k = &m->rival->task, .backend = backend };
    *out = (ll_forecaster){ .name = m->rival->task.kind->name,
                            .n_targets = m->frame.n_targets,
                            .self = s,
                            .forecast = forecast,
                            .destroy = destroy };
    llap_status st = ll_rival_view_init(&s->view, m->rival, &m->frame, p);
    if (st == LLAP_OK) st = ll_rival_example_init(&s->example, s->k);
    if (st != LLAP_OK) ll_forecaster_deinit(out);
    return st;
}
