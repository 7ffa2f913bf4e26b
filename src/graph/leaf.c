/* Leaves: parameters, states, inputs and constants. */
#include "graph/node.h"

#include <string.h>

static llap_tensor *find_leaf(const llap_graph *g, const char *name)
{
    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensor[i]->name != NULL && strcmp(g->tensor[i]->name, name) == 0)
            return g->tensor[i];
    return NULL;
}

static llap_tensor *known_leaf(llap_graph *g, llap_tensor *t, llap_leaf leaf, llap_elem elem,
                               const llap_shape *shape)
{
    char e[LLAP_SHAPE_TEXT], f[LLAP_SHAPE_TEXT];
    if (t->leaf == leaf && t->elem == elem && llap_shape_equal(&t->shape, shape)) return t;
    llap_graph_fail(g, LLAP_EINVAL, "'%s' is declared twice: first %s, then %s%s", t->name,
                    llap_shape_text(&t->shape, e), llap_shape_text(shape, f),
                    t->leaf == leaf && t->elem == elem ? "" : " of another kind");
    return NULL;
}

static llap_tensor *leaf_add(llap_graph *g, const char *name, llap_leaf leaf, llap_elem elem,
                             const llap_shape *shape, llap_init init)
{
    if (g->status != LLAP_OK) return NULL;
    const char *full = llap_scoped(g, name);
    if (full == NULL) return NULL;
    llap_tensor *known = find_leaf(g, full);
    if (known != NULL) return known_leaf(g, known, leaf, elem, shape);
    llap_tensor *t = llap_tensor_add(g, elem, shape);
    if (t == NULL) return NULL;
    t->leaf = leaf;
    t->name = full;
    t->init = init;
    return t;
}

llap_tensor *llap_param(llap_graph *g, const char *name, llap_shape shape, llap_init init)
{
    return leaf_add(g, name, LLAP_LEAF_PARAM, LLAP_REAL, &shape, init);
}

llap_tensor *llap_state(llap_graph *g, const char *name, llap_shape shape, llap_init init)
{
    return leaf_add(g, name, LLAP_LEAF_STATE, LLAP_REAL, &shape, init);
}

llap_tensor *llap_input(llap_graph *g, const char *name, llap_shape shape)
{
    return leaf_add(g, name, LLAP_LEAF_INPUT, LLAP_REAL, &shape, LLAP_INIT_ZERO);
}

llap_tensor *llap_input_half(llap_graph *g, const char *name, llap_shape shape)
{
    llap_tensor *t = llap_input(g, name, shape);
    if (t != NULL) t->half = true;
    return t;
}

llap_tensor *llap_input_int(llap_graph *g, const char *name, llap_shape shape)
{
    return leaf_add(g, name, LLAP_LEAF_INPUT, LLAP_INT, &shape, LLAP_INIT_ZERO);
}

llap_tensor *llap_random(llap_graph *g)
{
    const int depth = g->depth;
    g->depth = 0; /* one for the whole graph */
    llap_tensor *t = leaf_add(g, "rng", LLAP_LEAF_STATE, LLAP_INT, &LLAP_SHAPE(4), LLAP_INIT_ZERO);
    g->depth = depth;
    return t;
}

llap_tensor *llap_constant(llap_graph *g, llap_shape shape, const double *values)
{
    llap_tensor *t = llap_tensor_add(g, LLAP_REAL, &shape);
    if (t == NULL) return NULL;
    const size_t n = (size_t)llap_shape_count(&shape);
    double      *kept = llap_arena_new(&g->arena, n, sizeof *kept);
    if (kept == NULL) {
        llap_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    if (n > 0) memcpy(kept, values, n * sizeof *kept);
    t->leaf = LLAP_LEAF_CONSTANT;
    t->values = kept;
    return t;
}

llap_tensor *llap_full(llap_graph *g, llap_shape shape, double value)
{
    return llap_expand(g, llap_constant(g, LLAP_SCALAR, &value), shape);
}

llap_tensor *llap_graph_param(const llap_graph *g, int i)
{
    for (int id = 0; id < g->n_tensors; id++)
        if (g->tensor[id]->leaf == LLAP_LEAF_PARAM && i-- == 0) return g->tensor[id];
    return NULL;
}

int llap_graph_n_params(const llap_graph *g)
{
    int n = 0;
    for (int id = 0; id < g->n_tensors; id++) n += g->tensor[id]->leaf == LLAP_LEAF_PARAM;
    return n;
}

int llap_graph_n_leaves(const llap_graph *g)
{
    int n = 0;
    for (int id = 0; id < g->n_tensors; id++) n += g->tensor[id]->name != NULL;
    return n;
}

llap_leaf_info llap_graph_leaf(const llap_graph *g, int i)
{
    int id = 0;
    while (g->tensor[id]->name == NULL || i-- > 0) id++;
    const llap_tensor *t = g->tensor[id];
    return (llap_leaf_info){ t->name, t->leaf, t->elem, t->shape, t->init };
}

llap_tensor *llap_updated(llap_graph *g, llap_tensor *leaf)
{
    if (g->status != LLAP_OK || leaf == NULL) return NULL;
    return leaf->update != NULL ? leaf->update : leaf;
}
