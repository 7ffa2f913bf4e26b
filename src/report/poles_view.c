/* Poles as columns: what callers outside see, and what the text and the JSON are printed from. */
#include "base/alloc.h"
#include "base/options.h"
#include "report/poles.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define TWO_PI 6.283185307179586

/* Frequency number i of n: from one turn in four horizons to half a turn in a step, evenly in the
 * logarithm; per unit of the model's time. */
static double frequency(const llap_model *m, int64_t i, int64_t n)
{
    assert(i >= 0 && i < n);
    const double unit = (double)m->frame.unit;
    const double low = TWO_PI / (4.0 * (double)m->frame.horizon / unit);
    const double high = 0.5 * TWO_PI / ((double)m->frame.step / unit);
    return n < 2 ? low : low * pow(high / low, (double)i / (double)(n - 1));
}

/* Time number i of n, from 0 to the horizon, in the model's unit. */
static double moment(const llap_model *m, int64_t i, int64_t n)
{
    const double horizon = (double)m->frame.horizon / (double)m->frame.unit;
    return n < 2 ? 0.0 : horizon * (double)i / (double)(n - 1);
}

static double *numbers(ll_arena *a, int64_t n, int64_t width)
{
    return ll_arena_new(a, (size_t)n, (size_t)width * sizeof(double));
}

static llap_status put_columns(ll_arena *a, const ll_pole_set *s, llap_pole_set *out)
{
    enum { COLUMNS = 7 };
    const int64_t n = s->n;
    double       *x = numbers(a, n, COLUMNS);
    out->name = ll_arena_strndup(a, s->name, strlen(s->name));
    if (x == NULL || out->name == NULL) return LLAP_ENOMEM;
    for (int64_t k = 0; k < n; k++) {
        const double row[COLUMNS] = { s->mode[k].rho,
                                      s->mode[k].omega,
                                      ll_mode_half_life(s->mode[k]),
                                      ll_mode_period(s->mode[k]),
                                      s->mode[k].c,
                                      s->mode[k].b,
                                      s->energy[k] };
        for (int64_t c = 0; c < COLUMNS; c++) x[c * n + k] = row[c];
    }
    out->n = n;
    out->rho = x;
    out->omega = x + n;
    out->half_life = x + 2 * n;
    out->period = x + 3 * n;
    out->cosine = x + 4 * n;
    out->sine = x + 5 * n;
    out->energy = x + 6 * n;
    out->energy_is = s->energy_is;
    out->stable = ll_modes_stable(s->mode, n);
    return LLAP_OK;
}

static void put_complex(double *to, ll_complex z) { to[0] = z.re, to[1] = z.im; }

static llap_status put_events(ll_arena *a, const ll_pole_set *s, llap_pole_set *out)
{
    const int64_t n = s->n;
    double       *x = numbers(a, n, 6);
    int          *stable = ll_arena_new(a, (size_t)n, sizeof *stable);
    if (x == NULL || stable == NULL) return LLAP_ENOMEM;
    for (int64_t k = 0; k < n; k++) {
        put_complex(x + 2 * k, s->event[k].multiplier);
        put_complex(x + 2 * (n + k), s->event[k].log_pole);
        put_complex(x + 2 * (2 * n + k), s->event[k].second);
        stable[k] = s->event[k].stable;
    }
    out->n_gaps = s->n_gaps;
    out->mean_gap = s->gap;
    out->multiplier = x;
    out->log_pole = x + 2 * n;
    out->second_order = x + 4 * n;
    out->event_stable = stable;
    return LLAP_OK;
}

/* What is asked for beside the poles. */
static llap_status put_asked(ll_arena *a, const llap_model *m, const llap_pole_opts *o,
                             const ll_pole_set *s, llap_pole_set *out)
{
    const int64_t n_transfer = o->transfer > 0 ? o->transfer : 0;
    const int64_t n_impulse = o->impulse > 0 ? o->impulse : 0, width = 2 * s->n;
    double       *g = numbers(a, n_transfer, 3), *y = numbers(a, n_impulse, 2);
    double       *A = o->realisation ? numbers(a, width + 2, width) : NULL;
    if (g == NULL || y == NULL || (o->realisation && A == NULL)) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n_transfer; i++) {
        const double omega = frequency(m, i, n_transfer);
        g[3 * i] = omega;
        put_complex(g + 3 * i + 1, ll_modes_transfer(s->mode, s->n, (ll_complex){ 0, omega }));
    }
    for (int64_t i = 0; i < n_impulse; i++) {
        y[2 * i] = moment(m, i, n_impulse);
        y[2 * i + 1] = ll_modes_response(s->mode, s->n, y[2 * i]);
    }
    out->n_transfer = n_transfer;
    out->transfer = n_transfer > 0 ? g : NULL;
    out->n_impulse = n_impulse;
    out->impulse = n_impulse > 0 ? y : NULL;
    if (A == NULL) return LLAP_OK;
    ll_modes_realise(s->mode, s->n, A, A + width * width, A + width * (width + 1));
    out->A = A;
    out->B = A + width * width;
    out->C = A + width * (width + 1);
    return LLAP_OK;
}

static llap_status put_sets(llap_pole_sets *p, const ll_pole_report *from, const llap_pole_opts *o)
{
    llap_status st = LLAP_OK;
    p->set = ll_arena_new(&p->arena, (size_t)from->n, sizeof *p->set);
    if (p->set == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < from->n && st == LLAP_OK; i++) {
        const ll_pole_set *s = &from->set[i];
        assert((s->event == NULL) == (s->n_gaps == 0));
        st = put_columns(&p->arena, s, &p->set[i]);
        if (st == LLAP_OK && s->event != NULL) st = put_events(&p->arena, s, &p->set[i]);
        if (st == LLAP_OK) st = put_asked(&p->arena, p->m, o, s, &p->set[i]);
    }
    p->info.n_sets = from->n;
    return st;
}

llap_status llap_pole_sets_create(const llap_model *m, const llap_panel *panel,
                                  const llap_pole_opts *given, llap_pole_sets **out)
{
    *out = NULL;
    llap_pole_opts o;
    llap_status    st = llap_options_resolve(llap_pole_options(), given, &o, sizeof o);
    if (st != LLAP_OK) return st;
    ll_pole_report  from = { 0 };
    llap_pole_sets *p = ll_new(1, sizeof *p);
    if (p == NULL) return LLAP_ENOMEM;
    *p = (llap_pole_sets){ .m = m };
    p->info.unit_ns = m->frame.unit;
    p->info.noise = m->network != NULL && !o.base ? o.noise : (double)NAN;
    st = ll_pole_report_init(&from, m, panel, &o);
    if (st == LLAP_OK) st = put_sets(p, &from, &o);
    ll_pole_report_deinit(&from);
    if (st == LLAP_OK) *out = p;
    else llap_pole_sets_destroy(p);
    return st;
}

void llap_pole_sets_destroy(llap_pole_sets *p)
{
    if (p == NULL) return;
    ll_arena_deinit(&p->arena);
    ll_free(p);
}

const llap_pole_sets_info *llap_pole_sets_about(const llap_pole_sets *p) { return &p->info; }

const llap_pole_set *llap_pole_sets_at(const llap_pole_sets *p, int64_t set)
{
    return set < 0 || set >= p->info.n_sets ? NULL : &p->set[set];
}
