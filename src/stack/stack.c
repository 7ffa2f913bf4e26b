#include "stack/stack.h"

#include "base/alloc.h"
#include "base/error.h"
#include "nn/session.h"
#include "stack/trainer.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#define FAR 12.0 /* no quantile lies further out in the anchor's scores */

const char *const ll_stack_kind_names[] = { "s", "r", "u", "v", NULL };

double ll_stack_scale_at(const ll_stack_scale *s, double lead)
{
    int i = 0;
    while (i < LL_STACK_BUCKETS - 1 && lead > s->edge[i]) i++;
    return s->sd[i];
}

llap_status ll_stack_create(const ll_stack_layout *l, ll_stack **out)
{
    *out = NULL;
    ll_stack *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    const size_t V = (size_t)ll_stack_variables(l), C = (size_t)l->targets;
    const size_t near = C * (size_t)l->entities * LL_STACK_NEIGHBOURS;
    s->layout = *l;
    s->mean = ll_new(3 * V, sizeof *s->mean);
    s->scale = ll_new(C, sizeof *s->scale);
    s->chained = ll_new(C, sizeof *s->chained);
    s->input = ll_new(V - C + 1, sizeof *s->input);
    if (near > 0) s->neighbour = ll_new(near, sizeof *s->neighbour);
    if (s->mean == NULL || s->scale == NULL || s->chained == NULL || s->input == NULL ||
        (near > 0 && s->neighbour == NULL)) {
        ll_stack_destroy(s);
        return LLAP_ENOMEM;
    }
    s->sd = s->mean + V;
    s->limit = s->sd + V;
    for (size_t i = 0; i < V - C; i++) s->input[i].cost = (double)NAN;
    for (size_t i = 0; i < near; i++) s->neighbour[i] = -1;
    s->weight[0] = 1;
    s->fold = -1;
    *out = s;
    return LLAP_OK;
}

void ll_stack_destroy(ll_stack *s)
{
    if (s == NULL) return;
    for (int k = 0; k < LL_STACK_KINDS; k++) {
        ll_stack_columns_deinit(&s->member[k].columns);
        ll_params_destroy(s->member[k].params);
    }
    for (int64_t i = 0; s->input != NULL && i < s->layout.inputs + s->layout.known; i++) {
        ll_free(s->input[i].name);
        ll_free(s->input[i].by);
    }
    ll_free(s->input);
    ll_free(s->neighbour);
    ll_free(s->mean);
    ll_free(s->scale);
    ll_free(s->chained);
    ll_free(s->statics);
    ll_free(s);
}

/* New seasons lie nearer, a level that has fallen far beyond. */
#define NEAR 1.0

double ll_stack_trust(double away)
{
    const double far = fmax(0, away - NEAR);
    return 1 / (1 + far * far);
}

/* ---- answers ---- */

enum { ROWS = 256 };

struct ll_stack_answerer {
    const ll_stack *s;
    ll_session     *net[LL_STACK_KINDS];
};

static llap_status make_net(const ll_stack_member *m, const ll_backend *backend, ll_session **out)
{
    ll_graph   *g = NULL;
    llap_status st = ll_graph_create(&g);
    if (st != LLAP_OK) return st;
    ll_tensor *x = ll_input(g, "x", LL_SHAPE(1, ROWS, m->shape.width));
    ll_output(g, "z", ll_stack_forward(g, x, &m->shape, &LL_STACK_STILL));
    st = ll_session_create(g, m->params, backend, omp_get_max_threads(), out);
    ll_graph_destroy(g);
    return st;
}

llap_status ll_stack_answerer_create(const ll_stack *s, const ll_backend *backend,
                                     ll_stack_answerer **out)
{
    *out = NULL;
    ll_stack_answerer *a = ll_new(1, sizeof *a);
    llap_status        st = a == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (a != NULL) a->s = s;
    for (int k = 0; k < LL_STACK_KINDS && st == LLAP_OK; k++)
        if (s->member[k].used) st = make_net(&s->member[k], backend, &a->net[k]);
    if (st == LLAP_OK) *out = a;
    else ll_stack_answerer_destroy(a);
    return st;
}

void ll_stack_answerer_destroy(ll_stack_answerer *a)
{
    if (a == NULL) return;
    for (int k = 0; k < LL_STACK_KINDS; k++) ll_session_destroy(a->net[k]);
    ll_free(a);
}

void ll_stack_moves_of(const ll_stack *s, ll_stack_kind kind, const ll_stack_raw *raw, int64_t i,
                       const double *quantile, ll_stack_score score, const void *user, double *move)
{
    const ll_stack_member *m = &s->member[kind];
    const ll_stack_query  *q = &raw->query;
    if (ll_stack_anchored(kind)) {
        memcpy(move, quantile, LL_STACK_LEVELS * sizeof *move);
        return;
    }
    const double sd = ll_stack_scale_at(&s->scale[q->target], q->t - q->origin);
    for (int l = 0; l < LL_STACK_LEVELS; l++) {
        const double z = score(user, i, raw->base + sd * (m->start[l] + quantile[l]));
        move[l] = fmin(fmax(z, -FAR), FAR) - ll_stack_normal[l];
    }
}

/* Adds the weighted moves of one member to those of n <= ROWS rows, number first and on. */
static llap_status add_member(ll_stack_answerer *a, ll_stack_kind kind, const ll_stack_raw *raw,
                              int64_t first, int64_t n, ll_stack_score score, const void *user,
                              double *move)
{
    const ll_stack_member *m = &a->s->member[kind];
    const int64_t          L = LL_STACK_LEVELS, each = m->shape.networks / LL_STACK_FOLDS;
    const bool             some = a->s->fold >= 0;
    const int64_t          begin = some ? a->s->fold * each : 0;
    const int64_t          N = some ? each : m->shape.networks;
    double                 weight[ROWS];
    float                 *x = ll_session_real(a->net[kind], "x");
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        const double away =
            ll_stack_columns_put(&m->columns, &raw[first + i], x + i * m->shape.width);
        weight[i] = a->s->weight[1 + kind] * ll_stack_trust(away);
    }
    const llap_status st = ll_session_run(a->net[kind]);
    if (st != LLAP_OK) return st;
    const float *z = ll_session_output(a->net[kind], "z");
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < n; i++) {
        double quantile[LL_STACK_LEVELS] = { 0 }, own[LL_STACK_LEVELS];
        for (int64_t k = begin; k < begin + N; k++)
            ll_stack_add_sorted(m->start, z + (k * ROWS + i) * L, quantile);
        for (int l = 0; l < L; l++) quantile[l] /= (double)N;
        ll_stack_moves_of(a->s, kind, &raw[first + i], first + i, quantile, score, user, own);
        for (int l = 0; l < L; l++) move[(first + i) * L + l] += weight[i] * own[l];
    }
    return LLAP_OK;
}

llap_status ll_stack_answer(ll_stack_answerer *a, const ll_stack_raw *raw, int64_t n,
                            ll_stack_score score, const void *user, double *move)
{
    const int64_t L = LL_STACK_LEVELS;
    memset(move, 0, (size_t)(n * L) * sizeof *move);
    for (int64_t first = 0; first < n; first += ROWS) {
        const int64_t rows = n - first < ROWS ? n - first : ROWS;
        for (int k = 0; k < LL_STACK_KINDS; k++) {
            if (a->net[k] == NULL) continue;
            const llap_status st =
                add_member(a, (ll_stack_kind)k, raw, first, rows, score, user, move);
            if (st != LLAP_OK) return st;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        double q[LL_STACK_LEVELS];
        for (int l = 0; l < L; l++) {
            if (!isfinite(move[i * L + l]))
                return ll_fail(LLAP_ENUMERIC, "stack: the networks' answer is not finite");
            q[l] = ll_stack_normal[l] + move[i * L + l];
        }
        ll_stack_sort(q);
        for (int l = 0; l < L; l++) move[i * L + l] = q[l] - ll_stack_normal[l];
    }
    return LLAP_OK;
}
