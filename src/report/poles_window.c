/* A window of a panel as the networks see it, and what they make of it. */
#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "base/time/time.h"
#include "predict/forecaster.h"
#include "predict/network_members.h"
#include "predict/reference.h"
#include "predict/tables/times.h"
#include "predict/view/panel_view.h"
#include "report/poles.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef struct window {
    int64_t entity; /* of the panel */
    int64_t origin; /* ticks */
    int64_t target;
} window;

static llap_status find_window(const llap_model *m, const llap_panel *p, const llap_pole_opts *o,
                               window *w)
{
    *w = (window){ .entity = -1 };
    for (int64_t e = 0; e < p->n_entities && w->entity < 0; e++)
        if (p->start[e] < p->start[e + 1] &&
            (o->entity == NULL || strcmp(p->entity[e], o->entity) == 0))
            w->entity = e;
    if (w->entity < 0 && o->entity != NULL)
        return ll_fail(LLAP_EINVAL, "entity: the data has no rows of '%s'",
                       ll_text_show(o->entity).text);
    if (w->entity < 0) return ll_fail(LLAP_EINVAL, "the data has no rows");
    if (o->target != NULL) w->target = ll_model_target(m, o->target);
    assert(w->target >= 0); /* ll_pole_report_init has looked */
    w->origin = p->time[p->start[w->entity + 1] - 1];
    return o->at == NULL ? LLAP_OK : ll_panel_time_parse(p, "at", o->at, &w->origin);
}

static void name_view(const llap_panel *p, const window *w, bool joint, char *out, size_t room)
{
    char when[LL_TIME_TEXT_MAX];
    if (p->axis.kind == LL_AXIS_CALENDAR) ll_time_format(w->origin, NULL, 0, when);
    else snprintf(when, sizeof when, "%.10g", (double)w->origin / (double)p->axis.unit_ns);
    snprintf(out, room, "given %s up to %s",
             joint ? "all entities" : ll_text_show(p->entity[w->entity]).text, when);
}

/* The number of a panel's entity among the networks' records. */
static llap_status record_of(const ll_panel_view *s, int64_t entity, size_t *out)
{
    for (*out = 0; *out < s->source.n; ++*out)
        if (s->entity[*out] == entity) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "entity: the networks do not see it");
}

static const void *keep(ll_arena *a, const void *from, size_t n, size_t size)
{
    void *copy = ll_arena_new(a, n + 1, size);
    if (copy != NULL && n > 0) memcpy(copy, from, n * size);
    return copy;
}

/* Copies what the batch of one row holds. */
static llap_status keep_batch(ll_window_view *v, const ll_layout *c, const ll_feature_batch *b,
                              ll_arena *a)
{
    v->S = c->tokens;
    v->h = b->h;
    v->tokens = keep(a, b->tokens, (size_t)(v->S * ll_feature_token_dim(c)), sizeof *v->tokens);
    v->E_pad = keep(a, b->token_pad, (size_t)v->S, sizeof *v->E_pad);
    v->entity = keep(a, b->entity, 1, sizeof *v->entity);
    v->tq = keep(a, b->tq, (size_t)v->h, sizeof *v->tq);
    v->f = keep(a, b->f, (size_t)(v->h * ll_feature_query_dim(c)), sizeof *v->f);
    return v->tokens == NULL || v->E_pad == NULL || v->entity == NULL || v->tq == NULL ||
                   v->f == NULL
               ? LLAP_ENOMEM
               : LLAP_OK;
}

static llap_status see(ll_window_view *v, const llap_model *m, const ll_panel_view *s,
                       const window *w, ll_arena *a)
{
    const ll_layout   *c = &s->layout;
    ll_feature_set    *set = NULL;
    ll_feature_batch  *batch = NULL;
    const int64_t      most = m->frame.horizon / m->frame.step, h = most < 1 ? 1 : most;
    double            *t = ll_arena_new(a, (size_t)h, sizeof *t);
    ll_feature_example row = { .origin = ll_model_time(m, w->origin),
                               .target = (size_t)w->target,
                               .n_query = (size_t)h,
                               .t_query = t };
    llap_status        st = t == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; st == LLAP_OK && i < h; i++)
        t[i] = ll_model_time(m, w->origin + (i + 1) * m->frame.step);
    if (st == LLAP_OK && c->view != LL_FEATURE_JOINT) st = record_of(s, w->entity, &row.entity);
    if (st == LLAP_OK) st = ll_feature_set_create(c, &s->source, &row, 1, &set);
    if (st == LLAP_OK) st = ll_feature_batch_create(c, 1, set->h, &batch);
    if (st == LLAP_OK) {
        ll_feature_fill(set, &(uint32_t){ 0 }, 1, NULL, batch);
        st = keep_batch(v, c, batch, a);
    }
    ll_feature_batch_destroy(batch);
    ll_feature_set_destroy(set);
    return st;
}

static llap_status see_default(ll_window_view *v, const llap_model *m, const llap_panel *p,
                               const window *w, ll_arena *a)
{
    ll_network_members n;
    ll_panel_view      view = { 0 };
    ll_network_members_init(&n, m);
    name_view(p, w, n.config.layout.view == LL_FEATURE_JOINT, v->name, sizeof v->name);
    llap_status st = ll_panel_view_init(&view, m, p, &n.config.layout, &n.inputs);
    if (st == LLAP_OK) st = see(v, m, &view, w, a);
    ll_panel_view_deinit(&view);
    return st;
}

static llap_status see_reference(ll_window_view *v, const llap_model *m, const llap_panel *p,
                                 const window *w, ll_arena *a)
{
    const ll_network_config *c = &m->network->config;
    const size_t             n = (size_t)(c->summarizer.tokens * c->summarizer.width);
    float                   *E = ll_arena_new(a, 2 * n, sizeof *E);
    ll_forecaster            f = { 0 };
    name_view(p, w, c->vae.n_entities > 0, v->name, sizeof v->name);
    llap_status st =
        E == NULL ? LLAP_ENOMEM : ll_reference_forecaster(m, p, NULL, &ll_backend_cpu, &f);
    if (st == LLAP_OK) st = ll_reference_summarise(&f, w->entity, w->origin, E, E + n);
    ll_forecaster_deinit(&f);
    v->S = c->summarizer.tokens;
    v->E = E;
    v->E_raw = E + n;
    return st;
}

llap_status ll_window_view_init(ll_window_view *v, const llap_model *m, const llap_panel *p,
                                const llap_pole_opts *o, ll_arena *a)
{
    window w;
    *v = (ll_window_view){ 0 };
    assert(m->network != NULL);
    const llap_status st = find_window(m, p, o, &w);
    if (st != LLAP_OK) return st;
    return m->network->config.profile == LL_PROFILE_DEFAULT ? see_default(v, m, p, &w, a)
                                                            : see_reference(v, m, p, &w, a);
}

llap_status ll_window_view_summary(const ll_window_view *v, const llap_model *m, int64_t member,
                                   ll_arena *a, const float **E)
{
    const ll_network_config *c = &m->network->config;
    const ll_patch_config   *p = &c->patches;
    const ll_network_prefix  prefix = ll_network_prefix_of(c, member);
    const int64_t            n = p->tokens * p->hidden_dim;
    ll_graph                *g = NULL;
    ll_plan                 *plan = NULL;
    ll_run                  *run = NULL;
    llap_status              st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    assert(v->tokens != NULL && v->S == p->tokens);
    const ll_patch_in in = { .tokens = ll_input(g, "tokens", LL_SHAPE(1, p->tokens, p->token_dim)),
                             .pad = ll_input(g, "pad", LL_SHAPE(1, p->tokens)),
                             .entity = p->entities > 0
                                           ? ll_input_int(g, "entity.index", LL_SHAPE(1))
                                           : NULL };
    ll_output(g, "E", ll_patch_summary(g, p, &in));
    st = ll_graph_status(g);
    if (st == LLAP_OK)
        st =
            ll_plan_create(g, &(ll_plan_opts){ .backend = &ll_backend_cpu, .n_threads = 1 }, &plan);
    if (st == LLAP_OK) st = ll_run_create(plan, &run);
    if (st == LLAP_OK)
        st =
            ll_params_bind_scope(m->network->params, LL_PARAMS_MODEL, prefix.summarizer, plan, run);
    if (st == LLAP_OK)
        st = ll_run_bind(run, "tokens", (void *)(uintptr_t)v->tokens, p->tokens * p->token_dim);
    if (st == LLAP_OK) st = ll_run_bind(run, "pad", (void *)(uintptr_t)v->E_pad, p->tokens);
    if (st == LLAP_OK && p->entities > 0)
        st = ll_run_bind(run, "entity.index", (void *)(uintptr_t)v->entity, 1);
    if (st == LLAP_OK) st = ll_run_exec(run);
    *E = st == LLAP_OK ? keep(a, ll_run_output(run, "E", NULL), (size_t)n, sizeof **E) : NULL;
    if (st == LLAP_OK && *E == NULL) st = LLAP_ENOMEM;
    ll_run_destroy(run);
    ll_plan_release(plan);
    ll_graph_destroy(g);
    return st;
}
