#include "predict/forecaster.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"
#include "predict/network_members.h"
#include "predict/reference.h"

#include <assert.h>
#include <string.h>

uint64_t ll_forecast_window_id(const llap_panel *p, int64_t entity, int64_t origin)
{
    const char *name = p->entity[entity];
    return ll_hash(ll_hash(0, &origin, sizeof origin), name, strlen(name));
}

ll_forecast_window ll_forecast_window_of(const ll_windows *w, int64_t i)
{
    assert(i >= 0 && i < w->n);
    const ll_window *v = &w->at[i];
    const int64_t    end = ll_window_query(v), origin = ll_window_end(w, v);
    return (ll_forecast_window){ .entity = v->entity,
                                 .first = v->first,
                                 .end = end,
                                 .origin = origin,
                                 .n_query = v->n_query,
                                 .time = w->panel->time + end,
                                 .id = ll_forecast_window_id(w->panel, v->entity, origin),
                                 .draw = origin };
}

ll_forecast_window ll_forecast_window_at(const llap_panel *p, int64_t entity, int64_t origin)
{
    assert(entity >= 0 && entity < p->n_entities);
    int64_t end = p->start[entity];
    while (end < p->start[entity + 1] && p->time[end] <= origin) end++;
    return (ll_forecast_window){ .entity = entity,
                                 .first = p->start[entity],
                                 .end = end,
                                 .origin = origin,
                                 .id = ll_forecast_window_id(p, entity, origin) };
}

static void merge_by_time(ll_forecast_window *from, ll_forecast_window *to, int64_t n)
{
    if (n < 2) return;
    const int64_t half = n / 2;
    merge_by_time(from, to, half);
    merge_by_time(from + half, to + half, n - half);
    memcpy(to, from, (size_t)n * sizeof *to);
    int64_t i = 0, j = half;
    for (int64_t k = 0; k < n; k++) {
        const bool left = j == n || (i < half && to[i].origin <= to[j].origin);
        from[k] = left ? to[i++] : to[j++];
    }
}

llap_status ll_forecast_windows_sort(ll_forecast_window *w, int64_t n)
{
    ll_forecast_window *room = ll_new((size_t)n, sizeof *room);
    if (room == NULL) return LLAP_ENOMEM;
    merge_by_time(w, room, n);
    ll_free(room);
    return LLAP_OK;
}

ll_leads ll_leads_of_frame(const ll_model_frame *f)
{
    const int64_t step = f->step < f->horizon ? f->step : f->horizon;
    const int64_t n = f->horizon / step < LL_LEADS ? f->horizon / step : LL_LEADS;
    assert(n > 0);
    return (ll_leads){ .n = n, .width = (f->horizon + n - 1) / n };
}

int32_t ll_lead(const ll_leads *l, int64_t ahead)
{
    const int64_t bin = (ahead - 1) / l->width;
    return (int32_t)(bin < 0 ? 0 : bin < l->n ? bin : l->n - 1);
}

llap_status ll_model_forecaster(const llap_model *m, const llap_panel *p, const int64_t *var,
                                const ll_backend *backend, struct ll_residual_sampler **kept,
                                ll_forecaster *out)
{
    assert(m->rival != NULL || m->network != NULL || m->anchor != NULL);
    const llap_status st = m->rival != NULL     ? ll_rival_forecaster(m, p, backend, out)
                           : m->stack != NULL   ? ll_stack_forecaster(m, p, var, backend, kept, out)
                           : m->network == NULL ? ll_anchor_forecaster(m, p, var, out)
                           : m->anchor == NULL  ? ll_reference_forecaster(m, p, var, backend, out)
                                                : ll_network_forecaster(m, p, backend, kept, out);
    if (st == LLAP_OK) out->name = "model";
    return st;
}

void ll_forecaster_deinit(ll_forecaster *f)
{
    if (f->destroy != NULL) f->destroy(f->self);
    *f = (ll_forecaster){ 0 };
}
