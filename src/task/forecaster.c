#include "task/forecaster.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "task/networks.h"
#include "task/reference.h"

#include <string.h>

uint64_t task_window_id(const llap_panel *p, int64_t entity, int64_t origin)
{
    const char *name = p->entity[entity];
    return llap_hash(llap_hash(0, &origin, sizeof origin), name, strlen(name));
}

task_window task_window_of(const llap_windows *w, int64_t i)
{
    const llap_window *v = &w->at[i];
    const int64_t      end = llap_window_query(v), origin = llap_window_end(w, v);
    return (task_window){ .entity = v->entity,
                          .first = v->first,
                          .end = end,
                          .origin = origin,
                          .n_query = v->n_query,
                          .time = w->panel->time + end,
                          .id = task_window_id(w->panel, v->entity, origin) };
}

static void merge_by_time(task_window *from, task_window *to, int64_t n)
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

llap_status task_windows_sort(task_window *w, int64_t n)
{
    task_window *room = llap_new((size_t)n, sizeof *room);
    if (room == NULL) return LLAP_ENOMEM;
    merge_by_time(w, room, n);
    llap_free(room);
    return LLAP_OK;
}

task_leads task_leads_of(const llap_model_frame *f)
{
    const int64_t step = f->step < f->horizon ? f->step : f->horizon;
    const int64_t n = f->horizon / step < TASK_LEADS ? f->horizon / step : TASK_LEADS;
    return (task_leads){ .n = n, .width = (f->horizon + n - 1) / n };
}

int32_t task_lead(const task_leads *l, int64_t ahead)
{
    const int64_t bin = (ahead - 1) / l->width;
    return (int32_t)(bin < 0 ? 0 : bin < l->n ? bin : l->n - 1);
}

llap_status task_model_forecaster(const llap_model *m, const llap_panel *p, const int64_t *var,
                                  const llap_backend *backend, task_drawer *kept,
                                  task_forecaster *out)
{
    const llap_status st = m->network == NULL ? task_anchor_forecaster(m, p, var, out)
                           : m->anchor == NULL
                               ? task_reference_forecaster(m, p, var, backend, out)
                               : task_networks_forecaster(m, p, var, backend, kept, out);
    if (st == LLAP_OK) out->name = "model";
    return st;
}

void task_forecaster_deinit(task_forecaster *f)
{
    if (f->destroy != NULL) f->destroy(f->self);
    *f = (task_forecaster){ 0 };
}
