#include "model/stack_member_file.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const ll_backend floats = { .name = "floats", .real_bytes = sizeof(float) }; /* no kernels */

llap_status ll_stack_file_floats(const ll_tensors *t, const char *name, int rank,
                                 const int64_t *shape, size_t *n_tensors, const float **out)
{
    ll_tensor_info    info;
    const llap_status st = ll_tensors_require(t, name, LL_F32, rank, shape, &info);
    if (st != LLAP_OK) return st;
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= shape[i];
    *out = info.data;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite((*out)[i]))
            return ll_fail(LLAP_EFORMAT, "%s: element %lld is not finite", name, (long long)i);
    ++*n_tensors;
    return LLAP_OK;
}

llap_status ll_stack_file_doubles(const ll_json *j, const char *path, double low, double high,
                                  size_t n, double *out)
{
    double     *v = NULL;
    size_t      found = 0;
    llap_status st = ll_json_need(j, path);
    if (st == LLAP_OK) st = ll_json_doubles(j, path, low, high, &v, &found);
    if (st == LLAP_OK && found != n)
        st = ll_json_fail(j, path, "expected %zu numbers, found %zu", n, found);
    if (st == LLAP_OK) memcpy(out, v, n * sizeof *out);
    ll_free(v);
    return st;
}

typedef struct member_name {
    char columns[32], weights[32];
} member_name;

static member_name name_of(int kind)
{
    member_name n;
    snprintf(n.columns, sizeof n.columns, "stack.columns.%s", ll_stack_kind_names[kind]);
    snprintf(n.weights, sizeof n.weights, "stack.%s.", ll_stack_kind_names[kind]);
    return n;
}

llap_status ll_stack_member_save(const ll_stack_member *m, int kind, float **kept,
                                 ll_tensors_writer *w)
{
    const ll_stack_columns *c = &m->columns;
    const member_name       name = name_of(kind);
    const size_t            n = (size_t)c->n;
    *kept = ll_new(5 * n, sizeof **kept);
    if (*kept == NULL) return LLAP_ENOMEM;
    memcpy(*kept, c->mean, n * sizeof **kept);
    memcpy(*kept + n, c->sd, n * sizeof **kept);
    memcpy(*kept + 2 * n, c->missing, n * sizeof **kept);
    memcpy(*kept + 3 * n, c->low, n * sizeof **kept);
    memcpy(*kept + 4 * n, c->high, n * sizeof **kept);
    bool ranges = true; /* a model of 0.2 has none */
    for (size_t i = 0; i < n; i++) ranges = ranges && isfinite(c->low[i]) && isfinite(c->high[i]);
    const int64_t shape[] = { ranges ? 5 : 3, c->n };
    llap_status   st = ll_tensors_writer_add(w, name.columns, LL_F32, 2, shape, *kept);
    return st == LLAP_OK ? ll_params_save(m->params, LL_PARAMS_MODEL, name.weights, w) : st;
}

static llap_status get_columns(const ll_tensors *t, const char *name, ll_stack_columns *c,
                               size_t *n_tensors)
{
    ll_tensor_info info;
    const bool     ranges = ll_tensors_find(t, name, &info) && info.rank == 2 && info.shape[0] == 5;
    const int64_t  shape[] = { ranges ? 5 : 3, c->n };
    const float   *v = NULL;
    const llap_status st = ll_stack_file_floats(t, name, 2, shape, n_tensors, &v);
    for (int64_t i = 0; i < c->n && st == LLAP_OK; i++) {
        c->mean[i] = v[i];
        c->sd[i] = v[c->n + i];
        c->missing[i] = v[2 * c->n + i];
        if (!(c->sd[i] > 0) || (c->missing[i] != 0 && c->missing[i] != 1))
            return ll_fail(LLAP_EFORMAT,
                           "%s: column %lld: expected a positive deviation and 0 or 1", name,
                           (long long)i);
        if (!ranges) continue; /* of a version that had none */
        c->low[i] = v[3 * c->n + i];
        c->high[i] = v[4 * c->n + i];
        if (!(c->low[i] <= c->high[i]))
            return ll_fail(LLAP_EFORMAT, "%s: column %lld: expected a range, found %g to %g", name,
                           (long long)i, (double)c->low[i], (double)c->high[i]);
    }
    if (st == LLAP_OK) ll_stack_columns_count(c);
    return st;
}

llap_status ll_stack_member_load(const ll_tensors *t, const ll_json *j, int kind, ll_stack *s,
                                 size_t *n_tensors)
{
    static const char *const keys[] = { "networks", "hidden", "steps", "score", "start", NULL };
    ll_stack_member         *m = &s->member[kind];
    const member_name        name = name_of(kind);
    char                     at[48], path[80];
    snprintf(at, sizeof at, "stack.members.%s", ll_stack_kind_names[kind]);
    if (!ll_json_has(j, at)) return LLAP_OK;
    llap_status st = ll_json_keys(j, at, keys);
    for (int i = 0; keys[i] != NULL && st == LLAP_OK; i++) {
        snprintf(path, sizeof path, "%s.%s", at, keys[i]);
        st = ll_json_need(j, path);
        if (i == 0 && st == LLAP_OK)
            st = ll_json_int(j, path, 1, LL_STACK_NETWORKS_MAX, &m->shape.networks);
        if (i == 1 && st == LLAP_OK)
            st = ll_json_int(j, path, 1, LL_STACK_HIDDEN_MAX, &m->shape.hidden);
        if (i == 2 && st == LLAP_OK) st = ll_json_int(j, path, 0, INT64_MAX, &m->steps);
        if (i == 3 && st == LLAP_OK) st = ll_json_double(j, path, 0, 1e12, &m->score);
        if (i == 4 && st == LLAP_OK)
            st = ll_stack_file_doubles(j, path, -1e6, 1e6, LL_STACK_LEVELS, m->start);
    }
    if (st == LLAP_OK)
        st = ll_stack_columns_init(&m->columns, &s->layout, ll_stack_anchored((ll_stack_kind)kind),
                                   ll_stack_levels((ll_stack_kind)kind));
    if (st == LLAP_OK) st = get_columns(t, name.columns, &m->columns, n_tensors);
    if (st != LLAP_OK) return st;
    m->shape.width = m->columns.width;
    snprintf(path, sizeof path, "%sw0", name.weights); /* that large before room is made for it */
    st = ll_tensors_require(t, path, LL_F32, 3,
                            (int64_t[]){ m->shape.networks, m->shape.width, m->shape.hidden },
                            &(ll_tensor_info){ 0 });
    if (st == LLAP_OK) st = ll_stack_weights(&m->shape, &floats, &m->params);
    if (st == LLAP_OK)
        st = ll_params_load(m->params, LL_PARAMS_MODEL, t,
                            &(ll_load_opts){ .prefix = name.weights });
    if (st == LLAP_OK) *n_tensors += (size_t)ll_params_count(m->params);
    m->used = st == LLAP_OK;
    return st;
}
