/* The picture of a model's poles: what report/ gathers, plot/ draws. */
#include "report/poles.h"
#include "base/arena.h"
#include "plot/poles_plot.h"

static llap_status marks_of(const llap_model *m, const ll_pole_report *p, ll_arena *a,
                            ll_pole_marks *out)
{
    for (int i = 0; i < p->n; i++) {
        const ll_pole_set *s = &p->set[i];
        double            *life = ll_arena_new(a, (size_t)s->n, sizeof *life);
        double            *period = ll_arena_new(a, (size_t)s->n, sizeof *period);
        if (life == NULL || period == NULL) return LLAP_ENOMEM;
        for (int64_t k = 0; k < s->n; k++) {
            life[k] = ll_mode_half_life(s->mode[k]) * (double)m->frame.unit;
            period[k] = ll_mode_period(s->mode[k]) * (double)m->frame.unit;
        }
        out[i] = (ll_pole_marks){ s->name, s->n, life, period, s->energy };
    }
    return LLAP_OK;
}

llap_status llap_model_poles_plot(const llap_model *m, const llap_panel *panel,
                                  const llap_pole_opts *o, const char *path)
{
    ll_pole_report p;
    ll_arena       a = { 0 };
    const ll_axis  axis = { .kind = m->frame.axis, .unit_ns = m->frame.axis_unit, .unit = "" };
    ll_pole_marks *marks = NULL;
    llap_status    st = ll_pole_report_init(&p, m, panel, o);
    if (st == LLAP_OK && (marks = ll_arena_new(&a, (size_t)p.n, sizeof *marks)) == NULL)
        st = LLAP_ENOMEM;
    if (st == LLAP_OK) st = marks_of(m, &p, &a, marks);
    if (st == LLAP_OK) st = ll_plot_poles(marks, p.n, &axis, path);
    ll_arena_deinit(&a);
    ll_pole_report_deinit(&p);
    return st;
}
