#include "diffusion/prepared_denoiser_parts.h"

#include "base/error.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* -------- plans -------- */

llap_status ll_ready_init(ll_ready *r, const ll_graph *g, const ll_plan_opts *o)
{
    llap_status st = ll_graph_status(g);
    if (st == LLAP_OK) st = ll_plan_create(g, o, &r->plan);
    return st == LLAP_OK ? ll_run_create(r->plan, &r->run) : st;
}

void ll_ready_deinit(ll_ready *r)
{
    ll_run_destroy(r->run);
    ll_plan_release(r->plan);
    *r = (ll_ready){ 0 };
}

/* -------- weights -------- */

ll_prepared_denoiser_weights ll_prepared_denoiser_weights_of(const ll_params *params,
                                                             const ll_prepared_denoiser_opts *o)
{
    return (ll_prepared_denoiser_weights){ .params = params,
                                           .part = o->part,
                                           .prefix = o->prefix == NULL ? "" : o->prefix,
                                           .backend = o->backend };
}

void ll_prepared_denoiser_weights_deinit(ll_prepared_denoiser_weights *w)
{
    ll_weight_copies_release(w->brought, w->backend);
    ll_params_destroy(w->folds);
    w->brought = NULL;
    w->folds = NULL;
}

static int add_folds(const ll_graph *from, ll_graph *to)
{
    int n = 0;
    for (int i = 0; i < ll_graph_n_leaves(from); i++) {
        const ll_leaf_info l = ll_graph_leaf(from, i);
        if (l.leaf != LL_LEAF_STATE || strstr(l.name, "fold.") == NULL) continue;
        ll_state(to, l.name, l.shape, l.init);
        n++;
    }
    return n;
}

llap_status ll_prepared_denoiser_fold(ll_prepared_denoiser_weights *w, const ll_graph *g)
{
    ll_graph *own = NULL;
    if (w->folds != NULL) return LLAP_OK;
    llap_status st = ll_graph_create(&own);
    if (st != LLAP_OK) return st;
    if (add_folds(g, own) > 0) {
        const ll_fold_opts o = { .prefix = w->prefix, .part = w->part };
        st = ll_params_create(own, w->backend, &w->folds);
        if (st == LLAP_OK) st = ll_denoiser_fold(w->params, &o, w->folds);
        if (st == LLAP_OK) st = ll_params_push(w->folds);
    }
    ll_graph_destroy(own);
    return st;
}

/* The array of a parameter or state, and the store that it is of. */
static const ll_param_info *find(const ll_prepared_denoiser_weights *w, const char *name,
                                 const ll_params **home)
{
    char                 full[512];
    const ll_param_info *p = w->folds == NULL ? NULL : ll_params_find(w->folds, name);
    *home = p != NULL ? w->folds : w->params;
    if (p == NULL && w->part == LL_PARAMS_EMA) {
        snprintf(full, sizeof full, "ema.%s%s", w->prefix, name);
        p = ll_params_find(w->params, full);
    }
    snprintf(full, sizeof full, "%s%s", w->prefix, name);
    return p != NULL ? p : ll_params_find(w->params, full);
}

static llap_status bind_one(ll_prepared_denoiser_weights *w, ll_run *run, const ll_slot *s)
{
    const ll_params     *home;
    const ll_param_info *p = find(w, s->name, &home);
    char                 wanted[LL_SHAPE_TEXT], found[LL_SHAPE_TEXT];
    const bool           half = s->elem == LL_HALF;
    if (p == NULL) return ll_fail(LLAP_ENOTFOUND, "denoiser: no parameter '%s'", s->name);
    if (!ll_shape_equal(&p->shape, &s->shape) || (!half && p->elem != s->elem))
        return ll_fail(LLAP_EINVAL, "denoiser: '%s': expected %s, found %s", s->name,
                       ll_shape_text(&s->shape, wanted), ll_shape_text(&p->shape, found));
    void       *device_data = p->device_data;
    llap_status st = LLAP_OK;
    if (half || ll_params_backend(home)->memory != w->backend->memory)
        st = ll_weight_copies_get(&w->brought, w->backend, home, p, half, &device_data);
    return st == LLAP_OK ? ll_run_bind_device(run, s->name, device_data, p->count) : st;
}

static bool is_among(const char *const *names, const char *name)
{
    while (names != NULL && *names != NULL)
        if (strcmp(*names++, name) == 0) return true;
    return false;
}

llap_status ll_prepared_denoiser_bind(ll_prepared_denoiser_weights *w, ll_ready *r,
                                      const char *const *except)
{
    llap_status st = LLAP_OK;
    if (r->plan == NULL) return LLAP_OK;
    assert(r->run != NULL);
    for (int i = 0; i < ll_plan_n_slots(r->plan) && st == LLAP_OK; i++) {
        const ll_slot *s = ll_plan_slot(r->plan, i);
        const bool     weight = s->leaf == LL_LEAF_PARAM || s->leaf == LL_LEAF_STATE;
        if (weight && !is_among(except, s->name)) st = bind_one(w, r->run, s);
    }
    return st;
}

/* -------- options -------- */

llap_status ll_prepared_denoiser_check(const ll_denoiser_config        *c,
                                       const ll_prepared_denoiser_opts *o)
{
    const llap_status st = ll_denoiser_config_check(c);
    if (st != LLAP_OK) return st;
    if (o->backend->real_bytes != sizeof(float))
        return ll_fail(LLAP_EUNSUPPORTED, "denoiser: backend '%s' does not compute in floats",
                       o->backend->name);
    if (o->extent.Z != c->data_dim)
        return ll_fail(LLAP_EINVAL, "denoiser: data_dim: expected %lld, found %lld",
                       (long long)o->extent.Z, (long long)c->data_dim);
    return LLAP_OK;
}
