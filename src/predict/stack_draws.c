#include "predict/stack_draws.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "predict/joint_draws.h"
#include "predict/network_members.h"

#include <assert.h>
#include <math.h>

#define FAR 12.0 /* no quantile lies further out in the anchor's scores */

llap_status ll_stack_draws_init(ll_stack_draws *d, const llap_model *m, const llap_panel *p,
                                const ll_backend *backend, struct ll_residual_sampler **kept)
{
    assert(m->stack != NULL && m->network != NULL);
    *d = (ll_stack_draws){ .m = m };
    return ll_network_forecaster(m, p, backend, kept, &d->networks);
}

void ll_stack_draws_deinit(ll_stack_draws *d)
{
    ll_forecaster_deinit(&d->networks);
    *d = (ll_stack_draws){ 0 };
}

llap_status ll_stack_draws_ask(ll_stack_draws *d, const ll_forecast_request *ask,
                               const ll_forecast_window *w, int64_t n, ll_arena *arena)
{
    const ll_stack_diffusion *how = &d->m->stack->diffusion;
    ll_forecast_request       own = *ask;
    assert(how->samples >= 2);
    own.n_samples = how->ranks && ask->n_samples > how->samples ? ask->n_samples : how->samples;
    own.laws = false;
    d->n = n;
    d->n_samples = own.n_samples;
    d->of = ll_arena_new(arena, (size_t)(n * d->networks.n_targets), sizeof *d->of);
    if (d->of == NULL) return LLAP_ENOMEM;
    return d->networks.forecast(&d->networks, &own, w, n, arena, d->of);
}

/* The quantile of so many sorted draws at level p, between the two that it lies between. */
static double quantile_of(const double *x, int64_t n, double p)
{
    const double  at = fmin(fmax(p * (double)(n + 1) - 1, 0), (double)(n - 1));
    const int64_t k = (int64_t)at < n - 1 ? (int64_t)at : n - 2;
    return x[k] + (at - (double)k) * (x[k + 1] - x[k]);
}

void ll_stack_draws_moves(const ll_stack_draws *d, int64_t target, int64_t i, int64_t q,
                          int64_t n_query, const ll_law *law, double *move)
{
    const int64_t              n = d->m->stack->diffusion.samples;
    const ll_forecast_members *a = &d->of[i * d->networks.n_targets + target];
    double                     x[LL_STACK_DRAWS_MAX];
    assert(i < d->n && q < n_query && n <= LL_STACK_DRAWS_MAX && n <= a->n && !a->constant);
    for (int64_t k = 0; k < n; k++) x[k] = a->value[k * n_query + q];
    ll_sort_doubles(x, (size_t)n);
    for (int l = 0; l < LL_STACK_LEVELS; l++) {
        const double y = quantile_of(x, n, ll_stack_level[l]);
        const double z = ll_anchor_score(d->m->anchor[target], law, y);
        move[l] = fmin(fmax(z, -FAR), FAR) - ll_stack_normal[l];
    }
}

llap_status ll_stack_draws_blend(const ll_stack_draws *d, int64_t target,
                                 const ll_anchor_request *r, int64_t n, ll_arena *arena)
{
    const double weight = d->m->stack->diffusion.weight;
    size_t       queries = 0;
    if (weight == 0) return LLAP_OK;
    for (int64_t i = 0; i < n; i++) queries += r[i].n_query;
    double *move = ll_arena_new(arena, queries, LL_STACK_LEVELS * sizeof *move);
    if (move == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        for (size_t q = 0; q < r[i].n_query; q++, move += LL_STACK_LEVELS) {
            ll_law *law = &r[i].law[q];
            double  x[LL_STACK_LEVELS];
            if (law->move == NULL) continue; /* beyond the horizon, or nobody it knows */
            ll_stack_draws_moves(d, target, i, (int64_t)q, (int64_t)r[i].n_query, law, x);
            for (int l = 0; l < LL_STACK_LEVELS; l++)
                x[l] = ll_stack_normal[l] + (1 - weight) * law->move[l] + weight * x[l];
            ll_stack_sort(x);
            for (int l = 0; l < LL_STACK_LEVELS; l++) move[l] = x[l] - ll_stack_normal[l];
            law->move = move;
        }
    return LLAP_OK;
}

llap_status ll_stack_draws_order(const ll_stack_draws *d, int64_t target, int64_t i,
                                 int64_t n_paths, int64_t n_query, double *path)
{
    const ll_forecast_members *by = &d->of[i * d->networks.n_targets + target];
    if (!d->m->stack->diffusion.ranks) return LLAP_OK;
    assert(i < d->n && n_paths <= by->n);
    return ll_joint_reorder(path, by->value, n_paths, n_query, 0, 1);
}
