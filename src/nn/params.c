#include "nn/params.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/rng.h"

#include <string.h>

struct llap_params {
    llap_arena       arena;
    llap_param_info *info;
    llap_init       *init;
    int              n;
};

static llap_status add(llap_params *p, const llap_leaf_info *l)
{
    llap_param_info *i = &p->info[p->n];
    *i = (llap_param_info){ .name = llap_arena_strndup(&p->arena, l->name, strlen(l->name)),
                            .leaf = l->leaf,
                            .elem = l->elem,
                            .shape = l->shape,
                            .count = llap_shape_count(&l->shape) };
    if (i->name == NULL) return LLAP_ENOMEM;
    i->data = llap_new_aligned((size_t)i->count, sizeof(float));
    if (i->data == NULL) return LLAP_ENOMEM;
    p->init[p->n++] = l->init;
    return LLAP_OK;
}

llap_status llap_params_create(const llap_graph *g, llap_params **out)
{
    *out = NULL;
    llap_status st = llap_graph_status(g);
    if (st != LLAP_OK) return st;
    llap_params *p = llap_new(1, sizeof *p);
    if (p == NULL) return LLAP_ENOMEM;
    const int n = llap_graph_n_leaves(g);
    p->info = llap_arena_new(&p->arena, (size_t)n, sizeof *p->info);
    p->init = llap_arena_new(&p->arena, (size_t)n, sizeof *p->init);
    if (p->info == NULL || p->init == NULL) st = LLAP_ENOMEM;
    for (int i = 0; i < n && st == LLAP_OK; i++) {
        const llap_leaf_info l = llap_graph_leaf(g, i);
        if (l.leaf == LLAP_LEAF_PARAM || l.leaf == LLAP_LEAF_STATE) st = add(p, &l);
    }
    if (st == LLAP_OK) *out = p;
    else llap_params_destroy(p);
    return st;
}

void llap_params_destroy(llap_params *p)
{
    if (p == NULL) return;
    for (int i = 0; i < p->n; i++) llap_free(p->info[i].data);
    llap_arena_deinit(&p->arena);
    llap_free(p);
}

static void draw(const llap_param_info *i, const llap_init *init, uint64_t seed)
{
    const llap_rng r =
        llap_rng_make(seed, LLAP_STREAM_INIT, llap_hash(0, i->name, strlen(i->name)), 0, 0);
    float      *x = i->data;
    const float a = (float)init->a;
    switch (init->kind) {
    case LLAP_INIT_KIND_FILL:
        for (int64_t k = 0; k < i->count; k++) x[k] = a;
        break;
    case LLAP_INIT_KIND_UNIFORM:
        llap_rng_fill_uniform(&r, 0, (size_t)i->count, x);
        for (int64_t k = 0; k < i->count; k++) x[k] = a * (2.0f * x[k] - 1.0f);
        break;
    case LLAP_INIT_KIND_NORMAL:
        llap_rng_fill_normal(&r, 0, (size_t)i->count, x);
        for (int64_t k = 0; k < i->count; k++) x[k] *= a;
        break;
    }
}

void llap_params_init(llap_params *p, uint64_t seed)
{
    for (int i = 0; i < p->n; i++) {
        if (p->info[i].elem == LLAP_REAL) draw(&p->info[i], &p->init[i], seed);
        else memset(p->info[i].data, 0, (size_t)p->info[i].count * sizeof(int32_t));
        if (strcmp(p->info[i].name, "rng") == 0) {
            ((int32_t *)p->info[i].data)[0] = (int32_t)(uint32_t)seed;
            ((int32_t *)p->info[i].data)[1] = (int32_t)(uint32_t)(seed >> 32);
        }
    }
}

int                    llap_params_count(const llap_params *p) { return p->n; }
const llap_param_info *llap_params_at(const llap_params *p, int i) { return &p->info[i]; }

const llap_param_info *llap_params_find(const llap_params *p, const char *name)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->info[i].name, name) == 0) return &p->info[i];
    return NULL;
}

llap_status llap_params_bind(const llap_params *p, const llap_plan *plan, llap_run *run)
{
    for (int i = 0; i < llap_plan_n_slots(plan); i++) {
        const llap_slot *s = llap_plan_slot(plan, i);
        if (s->leaf != LLAP_LEAF_PARAM && s->leaf != LLAP_LEAF_STATE) continue;
        const llap_param_info *found = llap_params_find(p, s->name);
        if (found == NULL)
            return llap_fail(LLAP_ENOTFOUND, "parameter '%s': not in the model", s->name);
        if (!llap_shape_equal(&found->shape, &s->shape) || found->elem != s->elem) {
            char e[LLAP_SHAPE_TEXT], f[LLAP_SHAPE_TEXT];
            return llap_fail(LLAP_EINVAL, "parameter '%s': expected %s, found %s", s->name,
                             llap_shape_text(&s->shape, e), llap_shape_text(&found->shape, f));
        }
        const llap_status st = llap_run_bind(run, s->name, found->data, found->count);
        if (st != LLAP_OK) return st;
    }
    return LLAP_OK;
}
