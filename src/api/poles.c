/* The picture of a model's poles: what report/ gathers, plot/ draws. */
#include "report/poles.h"
#include "base/arena.h"
#include "plot/poles_plot.h"

static llap_status marks_of(const llap_pole_sets *p, ll_arena *a, ll_pole_marks *out)
{
    const double unit = (double)p->info.unit_ns;
    for (int64_t i = 0; i < p->info.n_sets; i++) {
        const llap_pole_set *s = &p->set[i];
        double              *life = ll_arena_new(a, (size_t)s->n, sizeof *life);
        double              *period = ll_arena_new(a, (size_t)s->n, sizeof *period);
        if (life == NULL || period == NULL) return LLAP_ENOMEM;
        for (int64_t k = 0; k < s->n; k++) {
            life[k] = s->half_life[k] * unit;
            period[k] = s->period[k] * unit;
        }
        out[i] = (ll_pole_marks){ s->name, s->n, life, period, s->energy };
    }
    return LLAP_OK;
}

llap_status llap_model_poles_plot(const llap_model *m, const llap_panel *panel,
                                  const llap_pole_opts *given, const char *path)
{
    llap_pole_sets *p = NULL;
    ll_arena        a = { 0 };
    const ll_axis   axis = { .kind = m->frame.axis, .unit_ns = m->frame.axis_unit, .unit = "" };
    ll_pole_marks  *marks = NULL;
    llap_status     st = llap_pole_sets_create(m, panel, given, &p);
    if (st == LLAP_OK && (marks = ll_arena_new(&a, (size_t)p->info.n_sets, sizeof *marks)) == NULL)
        st = LLAP_ENOMEM;
    if (st == LLAP_OK) st = marks_of(p, &a, marks);
    if (st == LLAP_OK) st = ll_plot_poles(marks, (int)p->info.n_sets, &axis, path);
    ll_arena_deinit(&a);
    llap_pole_sets_destroy(p);
    return st;
}
