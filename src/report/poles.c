#include "report/poles.h"

#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "predict/view/frame.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { GAPS_MOST = 1 << 16 }; /* that event poles are averaged over */

/* Room for a set of n. */
static llap_status add_set(ll_pole_report *p, int64_t n, const char *name, const char *energy_is,
                           ll_pole_set **out)
{
    ll_pole_set *s = *out = &p->set[p->n++];
    *s = (ll_pole_set){ .n = n, .energy_is = energy_is };
    s->name = ll_arena_strndup(&p->arena, name, strlen(name));
    s->mode = ll_arena_new(&p->arena, (size_t)n, sizeof *s->mode);
    s->energy = ll_arena_new(&p->arena, (size_t)n, sizeof *s->energy);
    return s->name == NULL || s->mode == NULL || s->energy == NULL ? LLAP_ENOMEM : LLAP_OK;
}

/* ---- anchors: k(t) = sum a e^(-rho t) cos(omega t), its terms are modes ---- */

static llap_status add_anchor(ll_pole_report *p, const llap_model *m, int64_t target)
{
    const ll_anchor_kernel *k = &m->anchor[target]->kernel;
    ll_pole_set            *s;
    const llap_status       st = add_set(p, k->n_terms, m->frame.target[target], "variance", &s);
    for (int32_t i = 0; st == LLAP_OK && i < k->n_terms; i++) {
        s->mode[i] = (ll_mode){ .rho = k->rho[i], .omega = k->omega[i], .c = k->a[i] };
        s->energy[i] = k->a[i];
    }
    return st;
}

/* ---- networks ---- */

/* Queries at every step of the horizon. */
static llap_status query_steps(ll_pole_report *p, const llap_model *m, ll_poles_opts *o)
{
    enum { MOST = 1000 };
    const ll_model_frame *f = &m->frame;
    const int64_t         n = f->horizon / f->step < 1 ? 1 : f->horizon / f->step;
    o->h = n < MOST ? n : MOST;
    float *tq = ll_arena_new(&p->arena, (size_t)o->h, sizeof *tq);
    if (tq == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < o->h; i++)
        tq[i] = (float)((double)(i + 1) * (double)f->step / (double)f->unit);
    ll_network_origin(&m->network->config, tq, 1, o->h);
    o->tq = tq;
    return LLAP_OK;
}

/* view NULL: the unconditional poles, or with base those of the parameters. */
static llap_status add_network(ll_pole_report *p, const llap_model *m, int64_t member,
                               const llap_pole_opts *ask, const ll_window_view *view)
{
    const ll_network_config *c = &m->network->config;
    const ll_network_prefix  prefix = ll_network_prefix_of(c, member);
    ll_poles_opts            o = { .backend = &ll_backend_cpu,
                                   .part = ll_network_part(c),
                                   .prefix = prefix.denoiser,
                                   .time = ask->noise,
                                   .base = ask->base != 0 };
    char                     name[256];
    ll_pole_set             *s;
    assert(view == NULL || (!o.base && (view->E != NULL) != (view->h > 0)));
    if (c->denoiser.stream == LL_STREAM_RESIDUES)
        o.t = llround(ask->noise * (double)(c->denoiser.timesteps - 1));
    snprintf(name, sizeof name, "network %lld, %s", (long long)member + 1,
             o.base         ? "its parameters alone"
             : view != NULL ? view->name
                            : "without a history");
    llap_status st = add_set(p, c->denoiser.laplace_k, name, "residues squared", &s);
    if (st == LLAP_OK && !o.base) st = query_steps(p, m, &o);
    if (st == LLAP_OK && view != NULL) {
        o.S = view->S, o.E = view->E, o.E_raw = view->E_raw;
        if (view->h > 0) {
            o.h = view->h, o.tq = view->tq, o.f = view->f, o.E_pad = view->E_pad;
            st = ll_window_view_summary(view, m, member, &p->arena, &o.E);
        }
    }
    if (st == LLAP_OK)
        st = ll_denoiser_poles(&c->denoiser, m->network->params, &o, ask->channel - 1, s->mode,
                               s->energy);
    return st;
}

static llap_status add_networks(ll_pole_report *p, const llap_model *m, const llap_panel *panel,
                                const llap_pole_opts *o)
{
    const int64_t members = m->network == NULL ? 0 : m->network->config.options.members;
    const bool    look =
        members > 0 && panel != NULL && !o->base && m->network->config.options.conditioning;
    ll_window_view view;
    llap_status    st = look ? ll_window_view_init(&view, m, panel, o, &p->arena) : LLAP_OK;
    for (int64_t i = 0; i < members && st == LLAP_OK; i++) {
        st = add_network(p, m, i, o, NULL);
        if (st == LLAP_OK && look) st = add_network(p, m, i, o, &view);
    }
    return st;
}

/* ---- the renewal view ---- */

/* Gaps between the observed rows of the targets, in the model's unit, evenly chosen if many. */
static llap_status gaps_of(ll_pole_report *p, const llap_model *m, const llap_panel *panel,
                           const int64_t *var, int64_t n_var, double **out, int64_t *n)
{
    double *gap = ll_arena_new(&p->arena, (size_t)panel->n_rows * (size_t)n_var + 1, sizeof *gap);
    *n = 0;
    if (gap == NULL) return LLAP_ENOMEM;
    for (int64_t v = 0; v < n_var; v++)
        for (int64_t e = 0; e < panel->n_entities; e++)
            for (int64_t r = panel->start[e], last = -1; r < panel->start[e + 1]; r++) {
                if (!ll_panel_observed(panel, r, var[v])) continue;
                assert(last < 0 || panel->time[last] < panel->time[r]);
                if (last >= 0)
                    gap[(*n)++] =
                        (double)(panel->time[r] - panel->time[last]) / (double)m->frame.unit;
                last = r;
            }
    if (*n > GAPS_MOST) {
        for (int64_t i = 0; i < GAPS_MOST; i++) gap[i] = gap[i * *n / GAPS_MOST];
        *n = GAPS_MOST;
    }
    *out = gap;
    return *n > 0 ? LLAP_OK : ll_fail(LLAP_EINVAL, "no two readings of a target follow each other");
}

static llap_status add_events(ll_pole_report *p, const llap_model *m, const llap_panel *panel)
{
    int64_t    *var = ll_arena_new(&p->arena, (size_t)m->frame.n_targets, sizeof *var);
    llap_status st = var == NULL ? LLAP_ENOMEM : ll_target_columns(m, panel, var);
    for (int i = 0; i < p->n && st == LLAP_OK; i++) {
        ll_pole_set  *s = &p->set[i];
        double       *gap = NULL;
        const int64_t target = ll_model_target(m, s->name);
        const bool    own = m->anchor != NULL && target >= 0;
        st = gaps_of(p, m, panel, own ? var + target : var, own ? 1 : m->frame.n_targets, &gap,
                     &s->n_gaps);
        s->event = st == LLAP_OK ? ll_arena_new(&p->arena, (size_t)s->n, sizeof *s->event) : NULL;
        if (st == LLAP_OK && s->event == NULL) st = LLAP_ENOMEM;
        for (int64_t k = 0; st == LLAP_OK && k < s->n_gaps; k++)
            s->gap += gap[k] / (double)s->n_gaps;
        for (int64_t k = 0; st == LLAP_OK && k < s->n; k++)
            st = ll_event_pole_of(s->mode[k], gap, s->n_gaps, &s->event[k]);
    }
    return st;
}

/* ---- all ---- */

static llap_status no_target(const llap_model *m, const char *name)
{
    char   list[400] = "";
    size_t at = 0;
    for (int64_t i = 0; i < m->frame.n_targets && at < sizeof list; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s'%s'", i == 0 ? "" : ", ",
                               ll_text_show(m->frame.target[i]).text);
    return ll_fail(LLAP_EINVAL, "target: the model has no '%s', but %s", ll_text_show(name).text,
                   list);
}

static llap_status check_ask(const llap_model *m, const llap_pole_opts *o)
{
    if (o->target != NULL && ll_model_target(m, o->target) < 0) return no_target(m, o->target);
    if (m->rival != NULL)
        return ll_fail(LLAP_EUNSUPPORTED, "a model of %s has no poles", m->rival->task.kind->title);
    if (m->network == NULL && (o->entity != NULL || o->at != NULL))
        return ll_fail(LLAP_EINVAL,
                       "%s: a history moves the poles of networks, which this model "
                       "does not have",
                       o->entity != NULL ? "entity" : "at");
    return LLAP_OK;
}

llap_status ll_pole_report_init(ll_pole_report *out, const llap_model *m, const llap_panel *panel,
                                const llap_pole_opts *o)
{
    *out = (ll_pole_report){ 0 };
    const int64_t members = m->network == NULL ? 0 : m->network->config.options.members;
    llap_status   st = check_ask(m, o);
    if (st == LLAP_OK && panel != NULL) st = ll_check_axis(m, panel);
    if (st != LLAP_OK) return st;
    out->set =
        ll_arena_new(&out->arena, (size_t)(m->frame.n_targets + 2 * members), sizeof *out->set);
    if (out->set == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; m->anchor != NULL && i < m->frame.n_targets && st == LLAP_OK; i++)
        if (o->target == NULL || strcmp(o->target, m->frame.target[i]) == 0)
            st = add_anchor(out, m, i);
    if (st == LLAP_OK) st = add_networks(out, m, panel, o);
    assert(out->n <= m->frame.n_targets + 2 * members);
    if (st == LLAP_OK && panel != NULL) st = add_events(out, m, panel);
    return st;
}

void ll_pole_report_deinit(ll_pole_report *p)
{
    ll_arena_deinit(&p->arena);
    *p = (ll_pole_report){ 0 };
}
