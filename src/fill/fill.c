#include "fill/fill.h"

#include "anchor/chain/chain.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>

double ll_fill_scale_u(const ll_fill_scale *s, double y)
{
    const double u = (ll_yeo_johnson((y - s->mean) / s->sd, s->lambda) - s->middle) / s->spread;
    return isnan(u) ? NAN : fmin(fmax(u, -10), 10);
}

double ll_fill_scale_y(const ll_fill_scale *s, double u)
{
    return s->mean + s->sd * ll_yeo_johnson_back(s->middle + s->spread * u, s->lambda);
}

void ll_filling_destroy(ll_filling *f)
{
    if (f == NULL) return;
    for (int64_t v = 0; f->name != NULL && v < f->n_vars; v++) ll_free(f->name[v]);
    void *const arrays[] = { f->name,   f->target, f->used,   f->scale,  f->kernel,  f->far,
                             f->unrest, f->near,   f->cov[0], f->cov[1], f->quantile };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
    ll_trees_deinit(&f->trees[0]);
    ll_trees_deinit(&f->trees[1]);
    ll_free(f);
}

llap_status ll_filling_create(int64_t n_vars, int64_t n_entities, int64_t n_near, ll_filling **out)
{
    assert(n_vars >= 1 && n_vars <= LL_FILL_VARS && n_near >= 0 && n_near <= LL_FILL_NEAR);
    const size_t V = (size_t)n_vars;
    ll_filling  *f = *out = ll_new(1, sizeof *f);
    if (f == NULL) return LLAP_ENOMEM;
    *f = (ll_filling){ .n_vars = n_vars, .n_entities = n_entities, .n_near = n_near };
    f->n_groups = n_entities <= LL_FILL_GROUPS ? n_entities + 1 : 1;
    const size_t S = (size_t)ll_fill_slots(f), cov = (size_t)f->n_groups * LL_FILL_LENGTHS * S * S;
    f->name = ll_new(V, sizeof *f->name);
    f->target = ll_new(V, sizeof *f->target);
    f->used = ll_new(V, sizeof *f->used);
    f->scale = ll_new(V, sizeof *f->scale);
    f->kernel = ll_new(V, sizeof *f->kernel);
    f->far = ll_new(V, sizeof *f->far);
    f->unrest = ll_new(V, sizeof *f->unrest);
    f->near = ll_new((size_t)(n_entities * n_near) + 1, sizeof *f->near);
    f->cov[0] = ll_new(V * cov, sizeof **f->cov);
    f->cov[1] = ll_new(V * cov, sizeof **f->cov);
    f->quantile = ll_new(V * LL_FILL_KINDS * LL_FILL_LEVELS, sizeof *f->quantile);
    if (f->name && f->target && f->used && f->scale && f->kernel && f->far && f->unrest &&
        f->near && f->cov[0] && f->cov[1] && f->quantile)
        return LLAP_OK;
    ll_filling_destroy(f);
    *out = NULL;
    return LLAP_ENOMEM;
}

void ll_fill_quantiles(const ll_filling *f, int64_t v, const ll_fill_answer *a, double *u)
{
    const double *q = f->quantile + (v * LL_FILL_KINDS + a->kind) * LL_FILL_LEVELS;
    for (int i = 0; i < LL_FILL_LEVELS; i++) u[i] = a->mean + a->sd * q[i];
}
