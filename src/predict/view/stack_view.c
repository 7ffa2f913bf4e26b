#include "predict/view/stack_view.h"

#include "anchor/chain/glitch.h"
#include "anchor/chain/holidays.h"
#include "backend/cpu/cpu.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { AT_ONCE = 8192 }; /* queries */
static_assert((int)LL_LAW_LEVELS == (int)LL_STACK_LEVELS, "moves of one length");

void ll_stack_view_deinit(ll_stack_view *v)
{
    for (int64_t i = 0; v->series != NULL && i < v->n_series; i++) ll_trace_deinit(&v->series[i]);
    ll_free(v->series);
    ll_free(v->start);
    ll_free(v->known);
    ll_free(v->place);
    ll_free(v->statics);
    ll_stack_answerer_destroy(v->answerer);
    *v = (ll_stack_view){ 0 };
}

ll_stack_place ll_stack_find(const llap_model *m, const ll_stack *s, int64_t c, const llap_panel *p)
{
    const int64_t targets = s->layout.targets;
    if (c < targets) return (ll_stack_place){ .var = ll_panel_find_var(p, m->frame.target[c]) };
    const ll_stack_input *in = &s->input[c - targets];
    ll_stack_place at = { .var = ll_panel_find_var(p, in->name), .turn = in->turn, .by = -1 };
    at.vector = in->by != NULL;
    if (at.vector) at.by = ll_panel_find_var(p, in->by);
    if (at.vector && at.by < 0) at.var = -1;
    return at;
}

void ll_stack_readings(const ll_stack_place *at, const llap_panel *p, int64_t e, double *out)
{
    static const double degree = 3.14159265358979323846 / 180;
    for (int64_t r = p->start[e]; r < p->start[e + 1]; r++) {
        double y = NAN;
        if (at->var >= 0 && ll_panel_observed(p, r, at->var))
            y = (double)p->value[r * p->n_vars + at->var];
        if (at->turn == LL_STACK_SINE) y = sin(y * degree);
        if (at->turn == LL_STACK_COSINE) y = cos(y * degree);
        if (at->vector && !isnan(y))
            y *= ll_panel_observed(p, r, at->by) ? (double)p->value[r * p->n_vars + at->by] : NAN;
        out[r - p->start[e]] = y;
    }
}

double ll_stack_value(const llap_model *m, const ll_stack *s, int64_t target, size_t series,
                      double y)
{
    if (s->chained[target]) return ll_chain_z(m->anchor[target]->chain, series, y);
    return (y - s->mean[target]) / s->sd[target];
}

double ll_stack_value_score(const llap_model *m, const ll_stack *s, int64_t target,
                            const ll_law *law, double value)
{
    const ll_anchor_model *a = m->anchor[target];
    if (s->chained[target]) return ll_anchor_score_z(a, law, value);
    return ll_anchor_score(a, law, s->mean[target] + s->sd[target] * value);
}

/* Glitches of y [n], each reading judged as the last one. */
static void mark(const ll_stack_view *v, const llap_panel *p, int64_t e, int64_t c, const double *y,
                 size_t n, bool *drop)
{
    const ll_stack *s = v->stack;
    if (c < s->layout.targets && s->chained[c])
        ll_chain_mark_past(v->m->anchor[c]->chain, ll_model_series_of(v->m, p, e), y, n, drop);
    else ll_glitch_mark_past(y, n, (ll_glitch_rule){ .limit = s->limit[c] }, drop);
}

/* The readings of one variable of one entity, without glitches, standardised. */
static llap_status read_series(const ll_stack_view *v, const llap_panel *p, int64_t e, int64_t c,
                               const ll_stack_place *at, double *y, bool *drop, ll_trace *out)
{
    const ll_stack *s = v->stack;
    const size_t    rows = (size_t)(p->start[e + 1] - p->start[e]);
    size_t          n = 0;
    ll_stack_readings(at, p, e, y);
    mark(v, p, e, c, y, rows, drop);
    for (size_t i = 0; i < rows; i++) n += !isnan(y[i]) && !drop[i];
    const llap_status st = ll_trace_init(out, n);
    const bool        target = c < s->layout.targets;
    const size_t      series = target ? ll_model_series_of(v->m, p, e) : 0;
    for (size_t i = 0; st == LLAP_OK && i < rows; i++)
        if (!isnan(y[i]) && !drop[i])
            ll_trace_add(out, ll_model_time(v->m, p->time[p->start[e] + (int64_t)i]),
                         target ? ll_stack_value(v->m, s, c, series, y[i])
                                : (y[i] - s->mean[c]) / s->sd[c]);
    return st;
}

static llap_status read_panel(ll_stack_view *v, const llap_panel *p)
{
    const int64_t V = ll_stack_variables(&v->stack->layout);
    size_t        most = 0;
    for (int64_t e = 0; e < p->n_entities; e++)
        most = most > (size_t)(p->start[e + 1] - p->start[e])
                   ? most
                   : (size_t)(p->start[e + 1] - p->start[e]);
    double     *y = ll_new(most, sizeof *y);
    bool       *drop = ll_new(most, sizeof *drop);
    llap_status st = y == NULL || drop == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t c = 0; c < V && st == LLAP_OK; c++) {
        const ll_stack_place at = ll_stack_find(v->m, v->stack, c, p);
        for (int64_t e = 0; e < p->n_entities && st == LLAP_OK; e++)
            st = read_series(v, p, e, c, &at, y, drop, &v->series[e * V + c]);
    }
    ll_free(y);
    ll_free(drop);
    return st;
}

/* Static inputs of the entities: of training, or told beside the model, or what is usual, 0. */
static llap_status read_statics(ll_stack_view *v, const llap_panel *p)
{
    const llap_model *m = v->m;
    const size_t      n = (size_t)v->stack->layout.statics, known = (size_t)m->frame.n_entities;
    if (n == 0) return LLAP_OK;
    v->statics = ll_new((size_t)p->n_entities, n * sizeof *v->statics);
    if (v->statics == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++) {
        const size_t s = ll_model_series_of(m, p, e);
        const float *x = NULL;
        if (s < known) x = v->stack->statics + s * n;
        else if (s != SIZE_MAX && m->more_statics != NULL)
            x = m->more_statics + (s - known - 1) * n;
        if (x != NULL) memcpy(v->statics + (size_t)e * n, x, n * sizeof *x);
    }
    return LLAP_OK;
}

llap_status ll_stack_view_init(ll_stack_view *v, const llap_model *m, const ll_stack *stack,
                               const llap_panel *p)
{
    const ll_stack_layout *l = &stack->layout;
    const size_t           n = (size_t)p->n_entities, E = (size_t)l->entities;
    *v = (ll_stack_view){ .m = m, .stack = stack };
    v->n_series = p->n_entities * ll_stack_variables(l);
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
    if (st == LLAP_OK) st = read_statics(v, p);
    v->source =
        (ll_stack_source){ v->series, v->start, v->known, v->place, stack->neighbour, v->statics };
    if (st != LLAP_OK) ll_stack_view_deinit(v);
    return st;
}

ll_stack_query ll_stack_view_query(const ll_stack_view *v, int64_t target, int64_t entity,
                                   double origin, double t, const ll_law *law)
{
    const ll_anchor_model *a = v->m->anchor[target];
    const double           score = ll_stack_normal[LL_STACK_LEVELS - 2]; /* of 90 % */
    double                 q[3];
    for (int i = 0; i < 3; i++)
        q[i] = ll_stack_value(v->m, v->stack, target, law->series,
                              ll_anchor_quantile(a, law->series, law, (i - 1) * score));
    const double spread = fmax(1e-3, (q[2] - q[0]) / (2 * score));
    return (ll_stack_query){ .entity = entity,
                             .target = target,
                             .origin = origin,
                             .t = t,
                             .median = q[1],
                             .spread = spread,
                             .skew = (q[2] + q[0] - 2 * q[1]) / spread,
                             .holiday = v->stack->layout.holidays && a->chain->holidays != NULL &&
                                        ll_holiday_at(a->chain->holidays, t, &(double){ 0 }) };
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
    const batch *b = user;
    return ll_stack_value_score(b->v->m, b->v->stack, b->raw[i].query.target, b->law[i], value);
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
    if (v->stack->weight[0] >= 1 && v->stack->diffusion.weight == 0)
        return LLAP_OK; /* the anchor answers */
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
