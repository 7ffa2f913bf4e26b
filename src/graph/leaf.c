/* Leaves: parameters, states, inputs and constants. */
#include "graph/node.h"

#include <assert.h>
#include <string.h>

static ll_tensor *find_leaf(const ll_graph *g, const char *name)
{
    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensor[i]->name != NULL && strcmp(g->tensor[i]->name, name) == 0)
            return g->tensor[i];
    return NULL;
}

static ll_tensor *known_leaf(ll_graph *g, ll_tensor *t, ll_leaf leaf, ll_elem elem,
                             const ll_shape *shape)
{
    char e[LL_SHAPE_TEXT], f[LL_SHAPE_TEXT];
    if (t->leaf == leaf && t->elem == elem && ll_shape_equal(&t->shape, shape)) return t;
    ll_graph_fail(g, LLAP_EINVAL, "'%s' is declared twice: first %s, then %s%s", t->name,
                  ll_shape_text(&t->shape, e), ll_shape_text(shape, f),
                  t->leaf == leaf && t->elem == elem ? "" : " of another kind");
    return NULL;
}

static ll_tensor *leaf_add(ll_graph *g, const char *name, ll_leaf leaf, ll_elem elem,
                           const ll_shape *shape, ll_init init)
{
    if (g->status != LLAP_OK) return NULL;
    const char *full = ll_scoped(g, name);
    if (full == NULL) return NULL;
    ll_tensor *known = find_leaf(g, full);
    if (known != NULL) return known_leaf(g, known, leaf, elem, shape);
    ll_tensor *t = ll_tensor_add(g, elem, shape);
    if (t == NULL) return NULL;
    t->leaf = leaf;
    t->name = full;
    t->init = init;
    return t;
}

ll_tensor *ll_param(ll_graph *g, const char *name, ll_shape shape, ll_init init)
{
    return leaf_add(g, name, LL_LEAF_PARAM, LL_REAL, &shape, init);
}

ll_tensor *ll_state(ll_graph *g, const char *name, ll_shape shape, ll_init init)
{
    return leaf_add(g, name, LL_LEAF_STATE, LL_REAL, &shape, init);
}

ll_tensor *ll_input(ll_graph *g, const char *name, ll_shape shape)
{
    return leaf_add(g, name, LL_LEAF_INPUT, LL_REAL, &shape, LL_INIT_ZERO);
}

ll_tensor *ll_input_half(ll_graph *g, const char *name, ll_shape shape)
{
    ll_tensor *t = ll_input(g, name, shape);
    if (t != NULL) t->half = true;
    return t;
}

ll_tensor *ll_input_int(ll_graph *g, const char *name, ll_shape shape)
{
    return leaf_add(g, name, LL_LEAF_INPUT, LL_INT, &shape, LL_INIT_ZERO);
}

ll_tensor *ll_random(ll_graph *g)
{
    const int depth = g->depth;
    g->depth = 0; /* one for the whole graph */
    ll_tensor *t = leaf_add(g, "rng", LL_LEAF_STATE, LL_INT, &LL_SHAPE(4), LL_INIT_ZERO);
    g->depth = depth;
    return t;
}

ll_tensor *ll_constant(ll_graph *g, ll_shape shape, const double *values)
{
    ll_tensor *t = ll_tensor_add(g, LL_REAL, &shape);
    if (t == NULL) return NULL;
    const size_t n = (size_t)ll_shape_count(&shape);
    double      *kept = ll_arena_new(&g->arena, n, sizeof *kept);
    assert(values != NULL || n == 0);
    if (kept == NULL) {
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
        return NULL;
    }
    if (n > 0) memcpy(kept, values, n * sizeof *kept);
    t->leaf = LL_LEAF_CONSTANT;
    t->values = kept;
    return t;
}

ll_tensor *ll_full(ll_graph *g, ll_shape shape, double value)
{
    return ll_expand(g, ll_constant(g, LL_SCALAR, &value), shape);
}

ll_tensor *ll_graph_param(const ll_graph *g, int i)
{
    for (int id = 0; id < g->n_tensors; id++)
        if (g->tensor[id]->leaf == LL_LEAF_PARAM && i-- == 0) return g->tensor[id];
    return NULL;
}

int ll_graph_n_params(const ll_graph *g)
{
    int n = 0;
    for (int id = 0; id < g->n_tensors; id++) n += g->tensor[id]->leaf == LL_LEAF_PARAM;
    return n;
}

int ll_graph_n_leaves(const ll_graph *g)
{
    int n = 0;
    for (int id = 0; id < g->n_tensors; id++) n += g->tensor[id]->name != NULL;
    return n;
}

ll_leaf_info ll_graph_leaf(const ll_graph *g, int i)
{
    assert(i >= 0 && i < ll_graph_n_leaves(g));
    int id = 0;
    while (g->tensor[id]->name == NULL || i-- > 0) id++;
    const ll_tensor *t = g->tensor[id];
    return (ll_leaf_info){ t->name, t->leaf, t->elem, t->shape, t->init };
}

ll_tensor *ll_updated(ll_graph *g, ll_tensor *leaf)
{
    if (g->status != LLAP_OK || leaf == NULL) return NULL;
    assert(leaf->graph == g);
    return leaf->update != NULL ? leaf->update : leaf;
}
