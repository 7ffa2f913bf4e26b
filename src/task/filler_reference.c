/* Gaps filled by a model of the reference profile: its forecaster, with what was read kept. */
#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/progress.h"
#include "task/filler.h"
#include "task/reference.h"
#include "task/spots.h"

typedef struct filling {
    const task_gaps      *g;
    const task_fill_opts *o;
    task_spots            spots;
    task_forecaster       f;
    task_put_cell         put;
    void                 *user;
} filling;

/* The windows of one spot: of its entity, or of all. */
static int64_t windows_of(const filling *f, const task_spot *s, task_window *w)
{
    const llap_panel *p = f->g->p;
    const task_lane  *l = &f->spots.lane[s->lane];
    int64_t           n = 0;
    for (int64_t e = 0; e < p->n_entities; e++) {
        if (l->entity >= 0 && l->entity != e) continue;
        w[n++] = (task_window){ .entity = e,
                                .origin = s->origin,
                                .n_query = s->end - s->first,
                                .time = l->time + s->first,
                                .id = task_window_id(p, e, s->origin),
                                .keep = true };
    }
    return n;
}

static void put_window(const filling *f, int64_t spot, const task_window *w,
                       const task_forecast *from, double *y)
{
    const task_spot *s = &f->spots.spot[spot];
    const int64_t    C = f->g->m->frame.n_targets, h = w->n_query;
    for (int64_t q = s->from - s->first; q < s->to - s->first; q++) {
        const int64_t row = task_row_at(f->g->p, w->entity, w->time[q]);
        for (int64_t c = 0; c < C && row >= 0; c++) {
            if (!f->g->asked[row * C + c]) continue;
            for (int64_t k = 0; k < from[c].n; k++) y[k] = from[c].value[k * h + q];
            const task_filled cell = {
                .window = spot, .row = row, .target = c, .y = y, .n = from[c].n
            };
            f->put(f->user, &cell);
        }
    }
}

/* Several spots a call, so that rows go through the networks together. */
static llap_status fill_some(filling *f, size_t first, size_t n)
{
    const int64_t  C = f->g->m->frame.n_targets, E = f->g->p->n_entities;
    const task_ask ask = { .n_samples = f->o->n_samples,
                           .seed = f->o->seed,
                           .progress = f->o->progress,
                           .log = f->o->log,
                           .at = { "filling", (int64_t)first, (int64_t)f->spots.n, "windows",
                                   NULL } };
    llap_arena     a = { 0 };
    task_window   *w = llap_arena_new(&a, n * (size_t)E, sizeof *w);
    int64_t       *count = llap_arena_new(&a, n, sizeof *count), total = 0;
    double        *y = llap_arena_new(&a, (size_t)f->o->n_samples, sizeof *y);
    llap_status    st = w == NULL || count == NULL || y == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; i < n && st == LLAP_OK; i++)
        total += count[i] = windows_of(f, &f->spots.spot[first + i], w + total);
    task_forecast *out = llap_arena_new(&a, (size_t)(total * C), sizeof *out);
    if (st == LLAP_OK && out == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK && total > 0) st = f->f.forecast(&f->f, &ask, w, total, &a, out);
    total = 0;
    for (size_t i = 0; i < n && st == LLAP_OK; i++)
        for (int64_t k = 0; k < count[i]; k++, total++)
            put_window(f, (int64_t)(first + i), &w[total], out + total * C, y);
    llap_arena_deinit(&a);
    return st;
}

llap_status task_reference_fill(const task_gaps *g, const task_fill_opts *o, task_put_cell put,
                                void *user, size_t *n_windows)
{
    enum { AT_ONCE = 16 };
    filling               f = { .g = g, .o = o, .put = put, .user = user };
    const bool            joint = task_reference_joint(&g->m->network->config);
    const task_spots_opts where = { .lanes = joint ? TASK_LANE_ALL : TASK_LANE_ENTITY,
                                    .from = o->from,
                                    .most = o->most };
    int64_t              *var = llap_new((size_t)g->m->frame.n_targets, sizeof *var);
    llap_status           st = var == NULL ? LLAP_ENOMEM : task_columns(g->m, g->p, var);
    if (st == LLAP_OK) st = task_spots_init(&f.spots, g->m, g->p, g->asked, &where);
    if (n_windows != NULL) *n_windows = f.spots.n_all;
    if (st == LLAP_OK)
        st = task_reference_forecaster(g->m, g->p, var,
                                       o->backend != NULL ? o->backend : &llap_backend_cpu, &f.f);
    for (size_t i = 0; i < f.spots.n && st == LLAP_OK; i += AT_ONCE)
        st = fill_some(&f, i, f.spots.n - i < AT_ONCE ? f.spots.n - i : AT_ONCE);
    task_forecaster_deinit(&f.f);
    task_spots_deinit(&f.spots);
    llap_free(var);
    return st;
}
