/* Gaps filled by a model of the reference profile, or a published one: its forecaster, with what
 * was read kept. */
#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/progress.h"
#include "predict/filler.h"
#include "predict/forecaster.h"
#include "predict/reference.h"
#include "predict/view/frame.h"
#include "predict/view/gap_windows.h"

#include <assert.h>

typedef struct filling {
    const ll_gap_cells      *g;
    const ll_fill_gaps_opts *o;
    ll_gap_windows           gaps;
    ll_forecaster            f;
    ll_put_filled_cell       put;
    void                    *user;
} filling;

/* The windows of one gap window: of its entity, or of all. */
static int64_t windows_of(const filling *f, const ll_gap_window *s, ll_forecast_window *w)
{
    const llap_panel    *p = f->g->p;
    const ll_gap_series *l = &f->gaps.series[s->series];
    int64_t              n = 0;
    for (int64_t e = 0; e < p->n_entities; e++) {
        if (l->entity >= 0 && l->entity != e) continue;
        w[n++] = (ll_forecast_window){ .entity = e,
                                       .origin = s->origin,
                                       .n_query = s->end - s->first,
                                       .time = l->time + s->first,
                                       .id = ll_forecast_window_id(p, e, s->origin),
                                       .keep = true };
    }
    return n;
}

static void put_window(const filling *f, int64_t window, const ll_forecast_window *w,
                       const ll_forecast_members *from, double *y)
{
    const ll_gap_window *s = &f->gaps.window[window];
    const int64_t        C = f->g->m->frame.n_targets, h = w->n_query;
    for (int64_t q = s->from - s->first; q < s->to - s->first; q++) {
        const int64_t row = ll_panel_find_row(f->g->p, w->entity, w->time[q]);
        for (int64_t c = 0; c < C && row >= 0; c++) {
            if (!f->g->asked[row * C + c]) continue;
            assert(from[c].n <= f->o->n_samples && !from[c].constant);
            for (int64_t k = 0; k < from[c].n; k++) y[k] = from[c].value[k * h + q];
            const ll_filled_cell cell = {
                .window = window, .row = row, .target = c, .y = y, .n = from[c].n
            };
            f->put(f->user, &cell);
        }
    }
}

/* Several gap windows a call, so that rows go through the networks together. */
static llap_status fill_some(filling *f, size_t first, size_t n)
{
    const int64_t             C = f->g->m->frame.n_targets, E = f->g->p->n_entities;
    const ll_forecast_request ask = { .n_samples = f->o->n_samples,
                                      .seed = f->o->seed,
                                      .progress = f->o->progress,
                                      .log = f->o->log,
                                      .at = { "filling", (int64_t)first, (int64_t)f->gaps.n,
                                              "windows", NULL } };
    ll_arena                  a = { 0 };
    ll_forecast_window       *w = ll_arena_new(&a, n * (size_t)E, sizeof *w);
    int64_t                  *count = ll_arena_new(&a, n, sizeof *count), total = 0;
    double                   *y = ll_arena_new(&a, (size_t)f->o->n_samples, sizeof *y);
    llap_status               st = w == NULL || count == NULL || y == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; i < n && st == LLAP_OK; i++)
        total += count[i] = windows_of(f, &f->gaps.window[first + i], w + total);
    ll_forecast_members *out = ll_arena_new(&a, (size_t)(total * C), sizeof *out);
    if (st == LLAP_OK && out == NULL) st = LLAP_ENOMEM;
    if (st == LLAP_OK && total > 0) st = f->f.forecast(&f->f, &ask, w, total, &a, out);
    total = 0;
    for (size_t i = 0; i < n && st == LLAP_OK; i++)
        for (int64_t k = 0; k < count[i]; k++, total++)
            put_window(f, (int64_t)(first + i), &w[total], out + total * C, y);
    ll_arena_deinit(&a);
    return st;
}

llap_status ll_reference_fill(const ll_gap_cells *g, const ll_fill_gaps_opts *o,
                              ll_put_filled_cell put, void *user, size_t *n_windows)
{
    enum { AT_ONCE = 16 };
    filling                   f = { .g = g, .o = o, .put = put, .user = user };
    const bool                rival = g->m->rival != NULL;
    const bool                joint = !rival && ll_reference_joint(&g->m->network->config);
    const ll_backend         *backend = o->backend != NULL ? o->backend : &ll_backend_cpu;
    const ll_gap_windows_opts where = { .grouping = joint ? LL_GAPS_TOGETHER : LL_GAPS_BY_ENTITY,
                                        .from = o->from,
                                        .most = o->most };
    int64_t                  *var = ll_new((size_t)g->m->frame.n_targets, sizeof *var);
    llap_status               st = var == NULL ? LLAP_ENOMEM : ll_target_columns(g->m, g->p, var);
    if (st == LLAP_OK) st = ll_gap_windows_init(&f.gaps, g->m, g->p, g->asked, &where);
    if (n_windows != NULL) *n_windows = f.gaps.n_all;
    if (st == LLAP_OK)
        st = rival ? ll_rival_forecaster(g->m, g->p, backend, &f.f)
                   : ll_reference_forecaster(g->m, g->p, var, backend, &f.f);
    for (size_t i = 0; i < f.gaps.n && st == LLAP_OK; i += AT_ONCE)
        st = fill_some(&f, i, f.gaps.n - i < AT_ONCE ? f.gaps.n - i : AT_ONCE);
    ll_forecaster_deinit(&f.f);
    ll_gap_windows_deinit(&f.gaps);
    ll_free(var);
    return st;
}
