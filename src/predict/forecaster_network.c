/* The networks as a forecaster: windows become examples, examples of one length go through the
 * sampler together, residuals come back in data units. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/rng/rng.h"
#include "predict/forecaster.h"
#include "predict/joint_draws.h"
#include "predict/network_members.h"
#include "predict/view/panel_view.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SAMPLES_AT_ONCE = 64, PATHS_AT_ONCE = 256, PATHS_ON_GPU = 8192, QUERIES_MAX = 16384 };
enum { RUNS_AT_ONCE = 16 }; /* of so many paths: a chunk of examples, between two reports */
static const size_t VALUES_AT_ONCE = (size_t)1 << 24; /* residuals of a chunk, at most */

typedef struct network_self {
    const llap_model    *m;
    const llap_panel    *p;
    const ll_backend    *backend;
    ll_network_members   n;
    ll_panel_view        view;
    ll_forecaster        anchor;
    ll_residual_sampler *own, **sampler; /* the networks made ready: its own, or the caller's */
    int64_t              h;              /* queries of the examples it draws */
} network_self;

static void destroy(void *self)
{
    network_self *s = self;
    ll_residual_sampler_destroy(s->own);
    ll_forecaster_deinit(&s->anchor);
    ll_panel_view_deinit(&s->view);
    ll_free(s);
}

static int64_t paths_at_once(const network_self *s)
{
    return s->backend->memory == NULL ? PATHS_AT_ONCE : PATHS_ON_GPU;
}

/* Rows of a run that has n to draw: a single one should not drag empty ones along. Powers of two,
 * so that plans are seldom made anew. */
static int64_t rows_for(int64_t n, int64_t most)
{
    int64_t rows = 1;
    while (rows < n) rows *= 2;
    return rows < most ? rows : most < 1 ? 1 : most;
}

/* Samples of a run where a member has so many to draw: runs of one size, with no place in the last
 * one to spare. */
static int64_t samples_for(int64_t mine)
{
    const int64_t runs = (mine + SAMPLES_AT_ONCE - 1) / SAMPLES_AT_ONCE;
    assert(mine > 0);
    return (mine + runs - 1) / runs;
}

/* A sampler for n examples of h queries, kept until another is needed. */
static llap_status sampler_for(network_self *s, const ll_forecast_request *ask, int64_t n,
                               int64_t h, int64_t n_samples)
{
    assert(n > 0 && h > 0 && n_samples > 0);
    const int64_t M = s->n.n_members, mine = (n_samples + M - 1) / M;
    const int64_t R = samples_for(mine);
    const int64_t paths = paths_at_once(s);
    const int64_t rows = rows_for(n, paths * 64 / (R * (h > 64 ? h : 64)));
    ll_draw_plan  o = ll_networks_plan(&s->n, s->backend);
    o.rows = rows;
    o.samples = R;
    o.h = s->h = h;
    o.spread = ask->laws;
    if (*s->sampler != NULL && ll_residual_sampler_serves(*s->sampler, &o)) return LLAP_OK;
    ll_residual_sampler_destroy(*s->sampler);
    *s->sampler = NULL;
    return ll_networks_sampler(&s->n, &o, ask->log, s->sampler);
}

/* ---- examples of windows ---- */

typedef struct group { /* the windows that one example answers: first .. first + n - 1 */
    int64_t first, n, target;
    int64_t h; /* queries of the sampler */
} group;

typedef struct work {
    group              *group;   /* [n] */
    ll_feature_example *example; /* [n] */
    int64_t             n;
    bool over; /* examples of more queries than networks take were left to the anchor */
} work;

/* Queries of a window that lie within the trained horizon. */
static int64_t within(const network_self *s, const ll_forecast_window *w)
{
    int64_t n = 0;
    while (n < w->n_query && ll_elapsed(w->origin, w->time[n]) <= (uint64_t)s->m->frame.horizon)
        n++;
    return n;
}

/* Examples of a few lengths share a sampler; what an example is asked alone decides its length. */
static int64_t rounded(int64_t n)
{
    const int64_t step = n <= 32 ? 8 : n <= 256 ? 32 : 128;
    return (n + step - 1) / step * step;
}

static llap_status add_example(network_self *s, work *k, const ll_forecast_window *w, group g,
                               const int64_t *time, int64_t n_query, size_t entity, uint64_t id,
                               ll_arena *arena)
{
    assert(n_query > 0 && n_query <= QUERIES_MAX);
    double *t = ll_arena_new(arena, (size_t)n_query, sizeof *t);
    if (t == NULL) return LLAP_ENOMEM;
    for (int64_t q = 0; q < n_query; q++) t[q] = ll_model_time(s->m, time[q]);
    g.h = rounded(n_query);
    k->group[k->n] = g;
    k->example[k->n++] = (ll_feature_example){ .origin = ll_model_time(s->m, w->origin),
                                               .entity = entity,
                                               .target = (size_t)g.target,
                                               .n_query = (size_t)n_query,
                                               .t_query = t,
                                               .id = id };
    return LLAP_OK;
}

/* Do the networks draw an example of so many queries? */
static bool is_drawn(int64_t n_query, work *k)
{
    k->over |= n_query > QUERIES_MAX;
    return n_query > 0 && n_query <= QUERIES_MAX;
}

/* The times asked about by any of the windows, within the horizon, in order. */
static llap_status union_of(const network_self *s, const ll_forecast_window *w, int64_t n,
                            ll_arena *arena, int64_t **time, int64_t *n_time)
{
    int64_t  most = 0, *at = ll_arena_new(arena, (size_t)n, sizeof *at);
    int64_t *end = ll_arena_new(arena, (size_t)n, sizeof *end);
    if (at == NULL || end == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++) most += end[i] = within(s, &w[i]);
    *time = ll_arena_new(arena, (size_t)most, sizeof **time);
    *n_time = 0;
    if (*time == NULL) return LLAP_ENOMEM;
    for (;;) {
        int64_t next = INT64_MAX;
        for (int64_t i = 0; i < n; i++)
            if (at[i] < end[i] && w[i].time[at[i]] < next) next = w[i].time[at[i]];
        if (next == INT64_MAX) return LLAP_OK;
        for (int64_t i = 0; i < n; i++)
            while (at[i] < end[i] && w[i].time[at[i]] == next) at[i]++;
        assert(*n_time < most);
        (*time)[(*n_time)++] = next;
    }
}

static llap_status joint_work(network_self *s, const ll_forecast_window *w, int64_t n,
                              ll_arena *arena, work *k)
{
    llap_status st = LLAP_OK;
    for (int64_t i = 0, end; i < n && st == LLAP_OK; i = end) {
        int64_t *time, n_time;
        for (end = i + 1; end < n && w[end].origin == w[i].origin; end++) continue;
        st = union_of(s, w + i, end - i, arena, &time, &n_time);
        if (st == LLAP_OK && is_drawn(n_time, k))
            st = add_example(s, k, &w[i], (group){ .first = i, .n = end - i }, time, n_time, 0,
                             ll_example_id(w[i].origin, NULL, -1), arena);
    }
    return st;
}

static llap_status own_work(network_self *s, const ll_forecast_window *w, int64_t n,
                            ll_arena *arena, work *k)
{
    const ll_layout *l = &s->view.layout;
    const int64_t    each = l->view == LL_FEATURE_SINGLE ? l->targets : 1;
    llap_status      st = LLAP_OK;
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < each && st == LLAP_OK; c++) {
            const int64_t n_query = within(s, &w[i]);
            if (!is_drawn(n_query, k)) continue;
            const uint64_t id =
                ll_hash(w[i].id, s->m->frame.target[c], strlen(s->m->frame.target[c]));
            st = add_example(s, k, &w[i], (group){ .first = i, .n = 1, .target = c }, w[i].time,
                             n_query, (size_t)w[i].entity, id, arena);
        }
    return st;
}

/* ---- residuals to values ---- */

/* With a pool every other sample is the anchor's, the first one too. */
static int64_t drawn(const network_self *s, int64_t n_samples)
{
    return s->n.answer_source == LL_ANSWER_BY_BOTH ? n_samples / 2 : n_samples;
}

/* Samples for laws alone: a quarter of the networks', which lie evenly, are nearer to the law than
 * all of them drawn one by one; a few are needed in any case. The anchor has as many as they. */
static int64_t samples_of(const network_self *s, const ll_forecast_request *ask)
{
    enum { LEAST = 24 };
    const int64_t mine = drawn(s, ask->n_samples), few = (mine + 3) / 4;
    const int64_t kept = few > LEAST ? few : LEAST;
    if (!ask->laws || mine <= kept) return ask->n_samples;
    return s->n.answer_source == LL_ANSWER_BY_BOTH ? 2 * kept : kept;
}

/* What is asked of it as it is asked of the parts: as many samples as are needed. */
static ll_forecast_request own_request(const network_self *s, const ll_forecast_request *ask)
{
    ll_forecast_request own = *ask;
    own.laws = ask->laws && s->n.answer_source != LL_ANSWER_BY_ANCHOR;
    own.n_samples = samples_of(s, &own);
    own.parts = !own.laws ? 0 : s->n.answer_source == LL_ANSWER_BY_BOTH ? 2 : 1;
    return own;
}

/* Members of a query are its law: [the most queries] of them. */
static llap_status all_laws(const ll_forecast_window *w, int64_t n, ll_arena *arena, bool **out)
{
    int64_t most = 1;
    for (int64_t i = 0; i < n; i++) most = w[i].n_query > most ? w[i].n_query : most;
    *out = ll_arena_new(arena, (size_t)most, sizeof **out);
    if (*out == NULL) return LLAP_ENOMEM;
    memset(*out, true, (size_t)most * sizeof **out);
    return LLAP_OK;
}

/* Channel z of example i: x [n_samples,h,Z] of residuals become values of the window's queries. */
static void put_values(const network_self *s, const ll_feature_set *set, size_t i, int64_t z,
                       int64_t c, const ll_forecast_window *w, const float *x, int64_t n_samples,
                       double *out)
{
    const ll_feature_example *r = &set->example[i];
    const ll_anchor_model    *a = s->m->anchor[c];
    const int64_t             Z = ll_feature_channels(&set->c);
    const size_t              at_source = ll_feature_entity(&set->c, r, z);
    const size_t              e = s->view.known[at_source];
    const ll_inputs          *in = s->view.source.series[c][at_source].in;
    const int64_t             every = s->n.answer_source == LL_ANSWER_BY_BOTH ? 2 : 1;
    int64_t                   q = 0;
    for (int64_t k = 0; k < w->n_query; k++) {
        const double t = ll_model_time(s->m, w->time[k]);
        while (q < (int64_t)r->n_query && r->t_query[q] < t) q++;
        if (q == (int64_t)r->n_query || r->t_query[q] > t) continue; /* beyond: the anchor's */
        double       mean, sd, middle = 0;
        const double climate = ll_chain_mean(a->chain, e, in, t);
        const double factor = ll_network_members_factor(&s->n, c, t - r->origin);
        const float *at = x + q * Z + z;
        ll_feature_law(set, i, q, z, &mean, &sd);
        for (int64_t j = 0; j < n_samples; j++)
            middle += (double)at[j * s->h * Z] / (double)n_samples;
        for (int64_t j = 0; j < n_samples; j++) {
            const double own = (double)at[j * s->h * Z];
            const double res = factor == 1.0 ? own : middle + factor * (own - middle);
            const double v = ll_chain_z_back_given(a->chain, e, climate, mean + sd * res);
            out[(j * every + every - 1) * w->n_query + k] = ll_chain_y_back(a->chain, e, v);
        }
    }
}

/* Rows number list[0 .. n-1] of the work, all of h queries. */
static llap_status draw_examples(network_self *s, const ll_forecast_request *ask,
                                 const ll_forecast_window *w, const work *k, const int64_t *list,
                                 int64_t n, double **out)
{
    const int64_t         C = s->view.layout.targets, Z = ll_feature_channels(&s->view.layout);
    const int64_t         n_samples = drawn(s, ask->n_samples);
    const ll_feature_view view = s->view.layout.view;
    ll_feature_example   *row = ll_new((size_t)n, sizeof *row);
    uint32_t             *index = ll_new((size_t)n, sizeof *index);
    float                *x = ll_new((size_t)(n * n_samples), (size_t)(s->h * Z) * sizeof *x);
    ll_feature_set       *set = NULL;
    llap_status           st = row == NULL || index == NULL || x == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        row[i] = k->example[list[i]];
        index[i] = (uint32_t)i;
    }
    if (st == LLAP_OK)
        st = ll_feature_set_create(&s->view.layout, &s->view.source, row, (size_t)n, &set);
    if (st == LLAP_OK) st = ll_residual_draw(*s->sampler, set, index, n, ask->seed, n_samples, x);
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) {
        const group *g = &k->group[list[i]];
        const float *at = x + i * n_samples * s->h * Z;
        assert(g->h == s->h && (int64_t)row[i].n_query <= s->h);
        for (int64_t j = g->first; j < g->first + g->n; j++)
            for (int64_t c = 0; c < C; c++) {
                int64_t z = view == LL_FEATURE_ENTITY ? c : 0;
                if (view == LL_FEATURE_JOINT) {
                    const int64_t e = ll_model_entity_of(s->m, s->p, w[j].entity);
                    if (e < 0) continue; /* new to the model: the anchor's */
                    z = e * C + c;
                } else if (view == LL_FEATURE_SINGLE && c != g->target) {
                    continue;
                }
                put_values(s, set, (size_t)i, z, c, &w[j], at, n_samples, out[j * C + c]);
            }
    }
    ll_feature_set_destroy(set);
    ll_free(row);
    ll_free(index);
    ll_free(x);
    return st;
}

/* All examples, those of equally many queries together, a chunk at a time. */
static llap_status draw_work(network_self *s, const ll_forecast_request *ask,
                             const ll_forecast_window *w, const work *k, double **out)
{
    const int64_t Z = ll_feature_channels(&s->view.layout);
    int64_t      *list = ll_new((size_t)k->n, sizeof *list);
    bool         *done = ll_new((size_t)k->n, sizeof *done);
    llap_status   st = list == NULL || done == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; i < k->n && st == LLAP_OK; i++) {
        if (done[i]) continue;
        const int64_t h = k->group[i].h, mine = drawn(s, ask->n_samples);
        const size_t  each = (size_t)(mine * h * Z);
        const int64_t room = each < VALUES_AT_ONCE ? (int64_t)(VALUES_AT_ONCE / each) : 1;
        const int64_t few = RUNS_AT_ONCE * paths_at_once(s) / mine + 1;
        const int64_t most = room < few ? room : few;
        int64_t       n = 0;
        for (int64_t j = i; j < k->n && n < most; j++) {
            if (done[j] || k->group[j].h != h) continue;
            done[j] = true;
            list[n++] = j;
        }
        st = ll_report(ask->progress, &ask->at);
        if (st == LLAP_OK) st = sampler_for(s, ask, n, h, mine);
        if (st == LLAP_OK) st = draw_examples(s, ask, w, k, list, n, out);
    }
    ll_free(list);
    ll_free(done);
    return st;
}

/* Networks that draw every entity (and target) by itself: their values follow the ranks of the
 * anchor's paths, which move together. Those of the joint view have an order of their own. */
static bool by_ranks(const network_self *s)
{
    return s->m->joint != NULL && s->view.layout.view != LL_FEATURE_JOINT;
}

static llap_status reorder(const network_self *s, const ll_forecast_request *ask,
                           const ll_forecast_window *w, int64_t n, double *const *by,
                           double *const *path)
{
    const int64_t C = s->view.layout.targets, mine = drawn(s, ask->n_samples);
    const int64_t every = s->n.answer_source == LL_ANSWER_BY_BOTH ? 2 : 1;
    int           worst = LLAP_OK;
#pragma omp parallel for schedule(dynamic, 1) reduction(max : worst)
    for (int64_t i = 0; i < n * C; i++) {
        const int64_t entity = w[i / C].entity;
        if (!ll_joint_holds(s->m, s->view.known[entity])) continue;
        const llap_status st =
            ll_joint_reorder(path[i], by[i], mine, w[i / C].n_query, every - 1, every);
        if ((int)st > worst) worst = (int)st;
    }
    return (llap_status)worst;
}

/* Does the anchor answer any of it? */
static bool anchor_needed(const network_self *s, const ll_forecast_window *w, int64_t n,
                          const work *k)
{
    if (s->n.answer_source != LL_ANSWER_BY_NETWORKS || k->over || by_ranks(s)) return true;
    for (int64_t i = 0; i < n; i++) {
        const bool known = ll_model_entity_of(s->m, s->p, w[i].entity) >= 0;
        if (within(s, &w[i]) < w[i].n_query) return true;
        if (s->view.layout.view == LL_FEATURE_JOINT && !known) return true;
    }
    return false;
}

/* out [n,C] of [n_samples,n_query]: the anchor's paths, or room for those to come; by: where they
 * stay as they are. */
static llap_status start_paths(network_self *s, const ll_forecast_request *ask,
                               const ll_forecast_window *w, int64_t n, const work *k,
                               ll_arena *arena, double **out, double **by)
{
    const int64_t        C = s->view.layout.targets;
    const bool           needed = anchor_needed(s, w, n, k);
    ll_forecast_members *from = ll_arena_new(arena, (size_t)(n * C), sizeof *from);
    llap_status          st = from == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && needed) st = s->anchor.forecast(&s->anchor, ask, w, n, arena, from);
    for (int64_t i = 0; i < n * C && st == LLAP_OK; i++) {
        const size_t values = (size_t)(ask->n_samples * w[i / C].n_query);
        out[i] = ll_arena_new(arena, values, sizeof **out);
        by[i] = needed ? (double *)from[i].value : NULL;
        if (out[i] == NULL) st = LLAP_ENOMEM;
        else if (needed) memcpy(out[i], by[i], values * sizeof **out);
    }
    return st;
}

static llap_status forecast(const ll_forecaster *f, const ll_forecast_request *asked,
                            const ll_forecast_window *w, int64_t n, ll_arena *arena,
                            ll_forecast_members *out)
{
    network_self             *s = f->self;
    const int64_t             C = s->view.layout.targets;
    const ll_forecast_request own = own_request(s, asked), *ask = &own;
    bool                     *law = NULL;
    work                      k = { .group = ll_arena_new(arena, (size_t)(n * C), sizeof *k.group),
                                    .example = ll_arena_new(arena, (size_t)(n * C), sizeof *k.example) };
    double                  **path = ll_arena_new(arena, 2 * (size_t)(n * C), sizeof *path);
    double                  **by = path + n * C; /* the anchor's */
    llap_status st = k.group == NULL || k.example == NULL || path == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK)
        st = s->view.layout.view == LL_FEATURE_JOINT ? joint_work(s, w, n, arena, &k)
                                                     : own_work(s, w, n, arena, &k);
    if (st == LLAP_OK) st = start_paths(s, ask, w, n, &k, arena, path, by);
    const bool draws = s->n.answer_source != LL_ANSWER_BY_ANCHOR && drawn(s, ask->n_samples) > 0;
    if (st == LLAP_OK && draws && k.over)
        ll_logf(ask->log, LLAP_LOG_WARNING,
                "more than %d times at once: there the anchor answers, not the networks",
                QUERIES_MAX);
    if (st == LLAP_OK && draws) st = draw_work(s, ask, w, &k, path);
    if (st == LLAP_OK && draws && by_ranks(s)) st = reorder(s, ask, w, n, by, path);
    if (st == LLAP_OK && ask->laws) st = all_laws(w, n, arena, &law);
    for (int64_t i = 0; i < n * C && st == LLAP_OK; i++)
        out[i] = (ll_forecast_members){
            .n = ask->n_samples, .value = path[i], .drawn = true, .law = law, .joint = true
        };
    return st;
}

llap_status ll_network_forecaster(const llap_model *m, const llap_panel *p,
                                  const ll_backend *backend, ll_residual_sampler **kept,
                                  ll_forecaster *out)
{
    *out = (ll_forecaster){ 0 };
    network_self *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    s->m = m;
    s->p = p;
    s->backend = backend;
    s->sampler = kept != NULL ? kept : &s->own;
    ll_network_members_init(&s->n, m);
    llap_status st = ll_panel_view_init(&s->view, m, p, &s->n.config.layout, &s->n.inputs);
    if (st == LLAP_OK) st = ll_anchor_forecaster_of(m, p, &s->view.targets, &s->anchor);
    *out = (ll_forecaster){ .name = "network",
                            .n_targets = m->frame.n_targets,
                            .self = s,
                            .forecast = forecast,
                            .destroy = destroy };
    if (st != LLAP_OK) ll_forecaster_deinit(out);
    return st;
}
