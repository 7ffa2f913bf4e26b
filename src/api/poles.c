/* The picture of a model's poles: what task/ gathers, plot/ draws. */
#include "task/poles.h"
#include "base/arena.h"
#include "plot/poles_plot.h"

static llap_status marks_of(const llap_model *m, const task_poles *p, llap_arena *a,
                            llap_pole_marks *out)
{
    for (int i = 0; i < p->n; i++) {
        const task_pole_set *s = &p->set[i];
        double              *life = llap_arena_new(a, (size_t)s->n, sizeof *life);
        double              *period = llap_arena_new(a, (size_t)s->n, sizeof *period);
        if (life == NULL || period == NULL) return LLAP_ENOMEM;
        for (int64_t k = 0; k < s->n; k++) {
            life[k] = llap_mode_half_life(s->mode[k]) * (double)m->frame.unit;
            period[k] = llap_mode_period(s->mode[k]) * (double)m->frame.unit;
        }
        out[i] = (llap_pole_marks){ s->name, s->n, life, period, s->energy };
    }
    return LLAP_OK;
}

llap_status llap_model_poles_plot(const llap_model *m, const llap_panel *panel,
                                  const llap_pole_opts *o, const char *path)
{
    task_poles       p;
    llap_arena       a = { 0 };
    const llap_axis  axis = { .kind = m->frame.axis, .unit_ns = m->frame.axis_unit, .unit = "" };
    llap_pole_marks *marks = NULL;
    llap_status      st = task_poles_init(&p, m, panel, o);
    if (st == LLAP_OK && (marks = llap_arena_new(&a, (size_t)p.n, sizeof *marks)) == NULL)
        st = LLAP_ENOMEM;
    if (st == LLAP_OK) st = marks_of(m, &p, &a, marks);
    if (st == LLAP_OK) st = llap_plot_poles(marks, p.n, &axis, path);
    llap_arena_deinit(&a);
    task_poles_deinit(&p);
    return st;
}
