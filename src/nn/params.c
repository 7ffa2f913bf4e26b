/* The store itself: its block, its names, its first draws, its binding to runs. */
#include "nn/params.h"

#include "backend/device_memory.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"
#include "nn/store.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t padded(size_t n_bytes) { return (n_bytes + LL_ALIGN - 1) / LL_ALIGN * LL_ALIGN; }

static size_t bytes_of(const ll_params *p, const ll_param_info *i)
{
    return (size_t)i->count * (i->elem == LL_INT ? sizeof(int32_t) : p->real_bytes);
}

static int by_name(const void *a, const void *b)
{
    const ll_param_info *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Copies the graph's parameters and states, without data. */
static llap_status list_leaves(ll_params *p, const ll_graph *g)
{
    const int n = ll_graph_n_leaves(g);
    p->info = ll_arena_new(&p->arena, (size_t)n, sizeof *p->info);
    p->init = ll_arena_new(&p->arena, (size_t)n, sizeof *p->init);
    p->sorted = ll_arena_new(&p->arena, (size_t)n, sizeof *p->sorted);
    if (p->info == NULL || p->init == NULL || p->sorted == NULL) return LLAP_ENOMEM;
    for (int k = 0; k < n; k++) {
        const ll_leaf_info l = ll_graph_leaf(g, k);
        if (l.leaf != LL_LEAF_PARAM && l.leaf != LL_LEAF_STATE) continue;
        ll_param_info *i = &p->info[p->n];
        *i = (ll_param_info){ .name = ll_arena_strndup(&p->arena, l.name, strlen(l.name)),
                              .leaf = l.leaf,
                              .elem = l.elem,
                              .shape = l.shape,
                              .count = ll_shape_count(&l.shape) };
        if (i->name == NULL) return LLAP_ENOMEM;
        p->sorted[p->n] = i;
        p->init[p->n++] = l.init;
    }
    qsort(p->sorted, (size_t)p->n, sizeof *p->sorted, by_name);
    return LLAP_OK;
}

static llap_status place_arrays(ll_params *p)
{
    size_t n_bytes = 0;
    for (int i = 0; i < p->n; i++) n_bytes += padded(bytes_of(p, &p->info[i]));
    p->n_bytes = n_bytes;
    p->block = ll_new_aligned(n_bytes, 1);
    if (p->block == NULL) return LLAP_ENOMEM;
    if (p->backend->memory != NULL) {
        const llap_status st = ll_device_alloc(p->backend, n_bytes, &p->device_data);
        if (st != LLAP_OK) return st;
    }
    unsigned char *device_data = p->device_data == NULL ? p->block : p->device_data;
    for (size_t at = 0, i = 0; i < (size_t)p->n; i++) {
        p->info[i].data = p->block + at;
        p->info[i].device_data = device_data + at;
        at += padded(bytes_of(p, &p->info[i]));
    }
    return LLAP_OK;
}

llap_status ll_params_create(const ll_graph *g, const ll_backend *backend, ll_params **out)
{
    *out = NULL;
    llap_status st = ll_graph_status(g);
    if (st != LLAP_OK) return st;
    ll_params *p = ll_new(1, sizeof *p);
    if (p == NULL) return LLAP_ENOMEM;
    p->backend = backend;
    p->real_bytes = backend->real_bytes;
    st = list_leaves(p, g);
    if (st == LLAP_OK) st = place_arrays(p);
    if (st == LLAP_OK) *out = p;
    else ll_params_destroy(p);
    return st;
}

void ll_params_destroy(ll_params *p)
{
    if (p == NULL) return;
    if (p->device_data != NULL) ll_device_release(p->backend, p->device_data);
    ll_params_drop(p);
    ll_free(p->block);
    ll_arena_deinit(&p->arena);
    ll_free(p);
}

llap_status ll_params_push(const ll_params *p)
{
    return p->device_data == NULL ? LLAP_OK
                                  : ll_device_put(p->backend, p->device_data, p->block, p->n_bytes);
}

llap_status ll_params_pull(ll_params *p)
{
    return p->device_data == NULL ? LLAP_OK
                                  : ll_device_get(p->backend, p->block, p->device_data, p->n_bytes);
}

llap_status ll_params_keep(ll_params *p)
{
    llap_status st = LLAP_OK;
    if (p->kept == NULL) st = ll_device_alloc(p->backend, p->n_bytes, &p->kept);
    if (st != LLAP_OK) return st;
    return ll_device_copy(p->backend, p->kept, p->device_data == NULL ? p->block : p->device_data,
                          p->n_bytes);
}

llap_status ll_params_back(ll_params *p)
{
    assert(p->kept != NULL);
    return ll_device_copy(p->backend, p->device_data == NULL ? p->block : p->device_data, p->kept,
                          p->n_bytes);
}

void ll_params_drop(ll_params *p)
{
    ll_device_release(p->backend, p->kept);
    p->kept = NULL;
}

const ll_backend *ll_params_backend(const ll_params *p) { return p->backend; }
int               ll_params_count(const ll_params *p) { return p->n; }
size_t            ll_params_real_bytes(const ll_params *p) { return p->real_bytes; }

const ll_param_info *ll_params_at(const ll_params *p, int i)
{
    assert(i >= 0 && i < p->n);
    return &p->info[i];
}

/* Order of HEADTAIL against name. */
static int compare_joined(const char *head, const char *tail, const char *name)
{
    const size_t n = strlen(head);
    const int    order = strncmp(head, name, n);
    return order != 0 ? order : strcmp(tail, name + n);
}

const ll_param_info *ll_store_beside(const ll_params *p, const char *head, const char *tail)
{
    int low = 0, high = p->n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const int order = compare_joined(head, tail, p->sorted[middle]->name);
        if (order == 0) return p->sorted[middle];
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return NULL;
}

const ll_param_info *ll_params_find(const ll_params *p, const char *name)
{
    return ll_store_beside(p, "", name);
}

double ll_param_get(const ll_params *p, const ll_param_info *i, int64_t k)
{
    assert(i->elem == LL_REAL && k >= 0 && k < i->count);
    return p->real_bytes == sizeof(double) ? ((const double *)i->data)[k]
                                           : (double)((const float *)i->data)[k];
}

void ll_param_set(ll_params *p, const ll_param_info *i, int64_t k, double v)
{
    assert(i->elem == LL_REAL && k >= 0 && k < i->count);
    if (p->real_bytes == sizeof(double)) ((double *)i->data)[k] = v;
    else ((float *)i->data)[k] = (float)v;
}

/* -------- first values -------- */

/* The same floats for every backend, drawn a micro-batch at a time. */
static void draw(ll_params *p, const ll_param_info *i, const ll_init *init, uint64_t seed)
{
    enum { PIECE = 256 };
    const uint64_t name = ll_hash(0, i->name, strlen(i->name));
    const ll_rng   r = ll_rng_make(seed, LL_STREAM_INIT, name, 0, 0);
    const float    a = (float)init->a;
    for (int64_t first = 0; first < i->count; first += PIECE) {
        const int64_t n = i->count - first < PIECE ? i->count - first : PIECE;
        float         x[PIECE];
        if (init->kind == LL_INIT_KIND_UNIFORM)
            ll_rng_fill_uniform(&r, (uint64_t)first, (size_t)n, x);
        if (init->kind == LL_INIT_KIND_NORMAL)
            ll_rng_fill_normal(&r, (uint64_t)first, (size_t)n, x);
        for (int64_t k = 0; k < n; k++) {
            switch (init->kind) {
            case LL_INIT_KIND_FILL:
                x[k] = a;
                break;
            case LL_INIT_KIND_UNIFORM:
                x[k] = a * (2.0f * x[k] - 1.0f);
                break;
            case LL_INIT_KIND_NORMAL:
                x[k] = a * x[k];
                break;
            }
            ll_param_set(p, i, first + k, (double)x[k]);
        }
    }
}

void ll_params_init(ll_params *p, uint64_t seed)
{
    for (int i = 0; i < p->n; i++) {
        if (p->info[i].elem == LL_REAL) draw(p, &p->info[i], &p->init[i], seed);
        else memset(p->info[i].data, 0, bytes_of(p, &p->info[i]));
    }
    const ll_param_info *rng = ll_params_find(p, "rng");
    if (rng == NULL || rng->elem != LL_INT || rng->count < 2) return;
    ((int32_t *)rng->data)[0] = (int32_t)(uint32_t)seed;
    ((int32_t *)rng->data)[1] = (int32_t)(uint32_t)(seed >> 32);
}

void ll_params_copy(ll_params *p, const char *from, const char *to)
{
    const size_t n = strlen(to);
    for (int i = 0; i < p->n; i++) {
        const ll_param_info *x = &p->info[i], *y;
        if (strncmp(x->name, to, n) != 0 || x->name[n] != '.') continue;
        y = ll_store_beside(p, from, x->name + n);
        if (y != NULL && y->elem == x->elem && ll_shape_equal(&y->shape, &x->shape))
            memcpy(x->data, y->data, bytes_of(p, x));
    }
}

void ll_params_start_ema(ll_params *p)
{
    for (int i = 0; i < p->n; i++) {
        const ll_param_info *x = &p->info[i];
        if (strncmp(x->name, "ema.", 4) != 0) continue;
        const ll_param_info *y = ll_params_find(p, x->name + 4);
        if (y != NULL && y->count == x->count) memcpy(x->data, y->data, bytes_of(p, x));
    }
}

/* What "TO_PREFIXX" is to become; NULL with a status: it cannot. */
static const ll_param_info *counterpart(const ll_params *to, const ll_param_info *x,
                                        size_t n_prefix, const ll_params *from,
                                        const char *from_prefix, llap_status *st)
{
    char                 a[LL_SHAPE_TEXT], b[LL_SHAPE_TEXT];
    const ll_param_info *y = ll_store_beside(from, from_prefix, x->name + n_prefix);
    if (y == NULL)
        *st = ll_fail(LLAP_ENOTFOUND, "parameter '%s': nothing called '%s%s' to take", x->name,
                      from_prefix, x->name + n_prefix);
    else if (y->elem != x->elem || !ll_shape_equal(&y->shape, &x->shape) ||
             to->real_bytes != from->real_bytes)
        *st = ll_fail(LLAP_EINVAL, "parameter '%s': expected %s, found %s called '%s'", x->name,
                      ll_shape_text(&x->shape, a), ll_shape_text(&y->shape, b), y->name);
    return *st == LLAP_OK ? y : NULL;
}

llap_status ll_params_take(ll_params *to, const char *to_prefix, const ll_params *from,
                           const char *from_prefix)
{
    const size_t n = strlen(to_prefix);
    llap_status  st = LLAP_OK;
    for (int copy = 0; copy < 2 && st == LLAP_OK; copy++) /* all is checked first */
        for (int i = 0; i < to->n && st == LLAP_OK; i++) {
            const ll_param_info *x = &to->info[i];
            if (strncmp(x->name, to_prefix, n) != 0) continue;
            const ll_param_info *y = counterpart(to, x, n, from, from_prefix, &st);
            if (copy && y != NULL && x->count > 0) memcpy(x->data, y->data, bytes_of(to, x));
        }
    return st;
}

/* to = W from, or W^T from, made a unit vector. W [rows,columns]. */
static void multiply(const ll_params *p, const ll_param_info *w, bool transpose, const double *from,
                     double *to)
{
    const int64_t rows = w->shape.dim[0], columns = w->shape.dim[1];
    const int64_t n = transpose ? columns : rows, sum_over = transpose ? rows : columns;
    double        norm = 0.0;
    for (int64_t i = 0; i < n; i++) {
        to[i] = 0.0;
        for (int64_t j = 0; j < sum_over; j++)
            to[i] += ll_param_get(p, w, transpose ? j * columns + i : i * columns + j) * from[j];
        norm += to[i] * to[i];
    }
    norm = fmax(sqrt(norm), 1e-12);
    for (int64_t i = 0; i < n; i++) to[i] /= norm;
}

static llap_status iterate_one(ll_params *p, const ll_param_info *w, const ll_param_info *u,
                               const ll_param_info *v, int n)
{
    double *a = ll_new((size_t)(u->count + v->count), sizeof *a), *b;
    assert(w->shape.rank == 2 && w->shape.dim[0] == u->count && w->shape.dim[1] == v->count);
    if (a == NULL) return LLAP_ENOMEM;
    b = a + u->count;
    for (int64_t k = 0; k < u->count; k++) a[k] = ll_param_get(p, u, k);
    for (int round = 0; round < n; round++) {
        multiply(p, w, true, a, b);
        multiply(p, w, false, b, a);
    }
    for (int64_t k = 0; k < u->count && n > 0; k++) ll_param_set(p, u, k, a[k]);
    for (int64_t k = 0; k < v->count && n > 0; k++) ll_param_set(p, v, k, b[k]);
    ll_free(a);
    return LLAP_OK;
}

llap_status ll_params_power_iterate(ll_params *p, int n)
{
    static const char orig[] = "weight_orig";
    llap_status       st = LLAP_OK;
    for (int i = 0; i < p->n && st == LLAP_OK; i++) {
        const ll_param_info *w = &p->info[i];
        const size_t         length = strlen(w->name), tail = sizeof orig - 1;
        if (length < tail || strcmp(w->name + length - tail, orig) != 0) continue;
        if (w->leaf != LL_LEAF_PARAM || ll_part_of(w->name) != LL_PARAMS_MODEL) continue;
        char *head = ll_strndup(w->name, length - tail);
        if (head == NULL) return LLAP_ENOMEM;
        const ll_param_info *u = ll_store_beside(p, head, "weight_u");
        const ll_param_info *v = ll_store_beside(p, head, "weight_v");
        ll_free(head);
        if (u != NULL && v != NULL) st = iterate_one(p, w, u, v, n);
    }
    return st;
}

/* -------- binding -------- */

static const ll_param_info *source_of(const ll_params *p, ll_params_part part, const char *scope,
                                      const ll_slot *s)
{
    const ll_param_info *averaged = NULL;
    char                 head[256];
    snprintf(head, sizeof head, "ema.%s", scope);
    if (part == LL_PARAMS_EMA && s->leaf == LL_LEAF_PARAM)
        averaged = ll_store_beside(p, head, s->name);
    return averaged != NULL ? averaged : ll_store_beside(p, scope, s->name);
}

llap_status ll_params_bind(const ll_params *p, ll_params_part part, const ll_plan *plan,
                           ll_run *run)
{
    return ll_params_bind_scope(p, part, "", plan, run);
}

llap_status ll_params_bind_scope(const ll_params *p, ll_params_part part, const char *scope,
                                 const ll_plan *plan, ll_run *run)
{
    for (int i = 0; i < ll_plan_n_slots(plan); i++) {
        const ll_slot *s = ll_plan_slot(plan, i);
        if (s->leaf != LL_LEAF_PARAM && s->leaf != LL_LEAF_STATE) continue;
        const ll_param_info *found = source_of(p, part, scope, s);
        if (found == NULL)
            return ll_fail(LLAP_ENOTFOUND, "parameter '%s': not in the model", s->name);
        if (!ll_shape_equal(&found->shape, &s->shape) || found->elem != s->elem) {
            char e[LL_SHAPE_TEXT], f[LL_SHAPE_TEXT];
            return ll_fail(LLAP_EINVAL, "parameter '%s': expected %s, found %s", s->name,
                           ll_shape_text(&s->shape, e), ll_shape_text(&found->shape, f));
        }
        const llap_status st = ll_run_bind_device(run, s->name, found->device_data, found->count);
        if (st != LLAP_OK) return st;
    }
    return LLAP_OK;
}
