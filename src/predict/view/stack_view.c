#include "predict/view/stack_view.h"

#include "backend/cpu/cpu.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>

enum { AT_ONCE = 8192 }; /* queries */
static_assert((int)LL_LAW_LEVELS == (int)LL_STACK_LEVELS, "moves of one length");

void ll_stack_view_deinit(ll_stack_view *v)
{
    for (int64_t i = 0; v->series != NULL && i < v->n_series; i++) ll_trace_deinit(&v->series[i]);
    ll_free(v->series);
    ll_free(v->start);
    ll_free(v->known);
    ll_free(v->place);
    ll_stack_answerer_destroy(v->answerer);
    *v = (ll_stack_view){ 0 };
}

/* The readings of one variable of one entity, standardised. */
static llap_status read_series(const ll_stack_view *v, const llap_panel *p, int64_t e, int64_t var,
                               double mean, double sd, ll_trace *out)
{
    size_t n = 0;
    for (int64_t r = p->start[e]; var >= 0 && r < p->start[e + 1]; r++)
        n += ll_panel_observed(p, r, var);
    const llap_status st = ll_trace_init(out, n);
    for (int64_t r = p->start[e]; st == LLAP_OK && n > 0 && r < p->start[e + 1]; r++)
        if (ll_panel_observed(p, r, var))
            ll_trace_add(out, ll_model_time(v->m, p->time[r]),
                         ((double)p->value[r * p->n_vars + var] - mean) / sd);
    return st;
}

static llap_status read_panel(ll_stack_view *v, const llap_panel *p)
{
    const ll_stack_layout *l = &v->stack->layout;
    const int64_t          V = l->targets + l->inputs;
    llap_status            st = LLAP_OK;
    for (int64_t c = 0; c < V; c++) {
        const char *name = c < l->targets ? v->m->frame.target[c] : v->stack->input[c - l->targets];
        const int64_t var = ll_panel_find_var(p, name);
        for (int64_t e = 0; e < p->n_entities && st == LLAP_OK; e++)
            st = read_series(v, p, e, var, v->stack->mean[c], v->stack->sd[c],
                             &v->series[e * V + c]);
    }
    return st;
}

llap_status ll_stack_view_init(ll_stack_view *v, const llap_model *m, const ll_stack *stack,
                               const llap_panel *p)
{
    const ll_stack_layout *l = &stack->layout;
    const size_t           n = (size_t)p->n_entities, E = (size_t)l->entities;
    *v = (ll_stack_view){ .m = m, .stack = stack };
    v->n_series = p->n_entities * (l->targets + l->inputs);
    v->columns = ll_stack_describe(l, NULL);
    v->series = ll_new((size_t)v->n_series, sizeof *v->series);
    v->start = ll_new(n, sizeof *v->start);
    v->known = ll_new(n, sizeof *v->known);
    v->place = ll_new(E + 1, sizeof *v->place);
    llap_status st = v->series == NULL || v->start == NULL || v->known == NULL || v->place == NULL
                         ? LLAP_ENOMEM
                         : LLAP_OK;
    for (int64_t e = 0; e < p->n_entities && st == LLAP_OK; e++) {
        const bool rows = p->start[e] < p->start[e + 1];
        v->start[e] = rows ? ll_model_time(m, p->time[p->start[e]]) : 0;
        v->known[e] = E == 0 ? -1 : ll_model_entity_of(m, p, e);
    }
    for (size_t e = 0; e < E && st == LLAP_OK; e++)
        v->place[e] = ll_panel_find_entity(p, m->frame.entity[e]);
    if (st == LLAP_OK) st = read_panel(v, p);
    v->source = (ll_stack_source){ v->series, v->start, v->known, v->place, stack->neighbour };
    if (st != LLAP_OK) ll_stack_view_deinit(v);
    return st;
}

ll_stack_query ll_stack_view_query(const ll_stack_view *v, int64_t target, int64_t entity,
                                   double origin, double t, const ll_law *law)
{
    const ll_anchor_model *a = v->m->anchor[target];
    const double           mean = v->stack->mean[target], sd = v->stack->sd[target];
    const double           score = ll_stack_normal[LL_STACK_LEVELS - 2]; /* of 90 % */
    double                 q[3];
    for (int i = 0; i < 3; i++)
        q[i] = (ll_anchor_quantile(a, law->series, law, (i - 1) * score) - mean) / sd;
    const double spread = fmax(1e-3, (q[2] - q[0]) / (2 * score));
    return (ll_stack_query){ .entity = entity,
                             .target = target,
                             .origin = origin,
                             .t = t,
                             .median = q[1],
                             .spread = spread,
                             .skew = (q[2] + q[0] - 2 * q[1]) / spread };
}

/* A batch of queries that the stack answers. */
typedef struct batch {
    const ll_stack_view *v;
    ll_stack_raw        *raw;
    float               *x;
    ll_law             **law;
    double              *move;
    int64_t              n;
} batch;

static double score_of(const void *user, int64_t i, double value)
{
    const batch    *b = user;
    const int64_t   c = b->raw[i].query.target;
    const ll_stack *s = b->v->stack;
    return ll_anchor_score(b->v->m->anchor[c], b->law[i], s->mean[c] + s->sd[c] * value);
}

static llap_status answer(ll_stack_view *v, batch *b)
{
    const int64_t n = b->n;
    b->n = 0;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        const ll_stack_query q = b->raw[i].query;
        const ll_stack_query whole =
            ll_stack_view_query(v, q.target, q.entity, q.origin, q.t, b->law[i]);
        b->raw[i].x = b->x + i * v->columns;
        ll_stack_look(&v->stack->layout, &v->source, &whole, &b->raw[i]);
    }
    const llap_status st = ll_stack_answer(v->answerer, b->raw, n, score_of, b, b->move);
    for (int64_t i = 0; i < n && st == LLAP_OK; i++) b->law[i]->move = b->move + i * LL_LAW_LEVELS;
    b->move += n * LL_LAW_LEVELS;
    return st;
}

llap_status ll_stack_view_move(ll_stack_view *v, int64_t target, const ll_anchor_request *r,
                               const int64_t *entity, size_t n, double *move)
{
    const ll_stack_layout *l = &v->stack->layout;
    batch                  b = { .v = v, .move = move };
    llap_status            st = LLAP_OK;
    if (v->stack->weight[0] >= 1) return LLAP_OK; /* the anchor answers */
    if (v->answerer == NULL) st = ll_stack_answerer_create(v->stack, &ll_backend_cpu, &v->answerer);
    if (st != LLAP_OK) return st;
    b.raw = ll_new(AT_ONCE, sizeof *b.raw);
    b.law = ll_new(AT_ONCE, sizeof *b.law);
    b.x = ll_new(AT_ONCE, (size_t)v->columns * sizeof *b.x);
    st = b.raw == NULL || b.law == NULL || b.x == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; i < n && st == LLAP_OK; i++) {
        if (l->entities > 0 && v->known[entity[i]] < 0) continue;
        for (size_t q = 0; q < r[i].n_query && st == LLAP_OK; q++) {
            const double t = r[i].t_query[q];
            if (t <= r[i].origin || t - r[i].origin > l->horizon * (1 + 1e-9)) continue;
            b.raw[b.n].query = (ll_stack_query){
                .entity = entity[i], .target = target, .origin = r[i].origin, .t = t
            };
            b.law[b.n++] = &r[i].law[q];
            if (b.n == AT_ONCE) st = answer(v, &b);
        }
    }
    if (st == LLAP_OK && b.n > 0) st = answer(v, &b);
    ll_free(b.raw);
    ll_free(b.law);
    ll_free(b.x);
    return st;
}
