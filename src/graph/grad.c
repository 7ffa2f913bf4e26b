/* Reverse-mode differentiation: walks the nodes backwards and appends, for each, the nodes of its
 * gradient. The result is planned and run like everything else. */
#include "base/alloc.h"
#include "graph/node.h"

#include <assert.h>
#include <string.h>

typedef struct sweep {
    ll_tensor **grad;  /* by tensor id: what has arrived so far */
    bool       *reach; /* by tensor id: depends on one of wrt */
    int         n_tensors, n_nodes;
} sweep;

static void mark_reached(const ll_graph *g, sweep *s)
{
    for (int i = 0; i < s->n_nodes; i++) {
        const ll_node *n = g->node[i];
        bool           reached = false;
        for (int k = 0; k < n->n_in; k++) {
            assert(n->in[k] == NULL || n->in[k]->id < n->out[0]->id); /* made before */
            if (n->in[k] != NULL && s->reach[n->in[k]->id]) reached = true;
        }
        if (n->op == LL_OP_DETACH) reached = false;
        for (int k = 0; k < n->n_out; k++)
            if (reached) s->reach[n->out[k]->id] = true;
    }
}

static void arrive(ll_graph *g, sweep *s, ll_tensor *x, ll_tensor *dx)
{
    if (dx == NULL) return;
    assert(ll_shape_equal(&x->shape, &dx->shape));
    assert(x->id < s->n_tensors);
    s->grad[x->id] = s->grad[x->id] == NULL ? dx : ll_add(g, s->grad[x->id], dx);
}

/* Gradient of one node; dy and dx have room for its outputs and inputs. */
static void step_back(ll_graph *g, sweep *s, const ll_node *n, ll_tensor **dy, ll_tensor **dx)
{
    bool any = false;
    assert(n->id < s->n_nodes); /* not one of those that the sweep adds */
    for (int k = 0; k < n->n_out; k++) {
        dy[k] = s->reach[n->out[k]->id] ? s->grad[n->out[k]->id] : NULL;
        if (dy[k] != NULL) any = true;
    }
    if (!any) return;
    const ll_op_desc *d = ll_op_desc_of(n->op);
    if (d->vjp == NULL) {
        (void)ll_node_fail(g, n, "has no gradient");
        return;
    }
    for (int k = 0; k < n->n_in; k++) dx[k] = NULL;
    d->vjp(g, n, dy, dx);
    for (int k = 0; k < n->n_in && g->status == LLAP_OK; k++)
        if (n->in[k] != NULL && s->reach[n->in[k]->id]) arrive(g, s, n->in[k], dx[k]);
}

static void widest(const ll_graph *g, int *n_in, int *n_out)
{
    *n_in = *n_out = 1;
    for (int i = 0; i < g->n_nodes; i++) {
        if (g->node[i]->n_in > *n_in) *n_in = g->node[i]->n_in;
        if (g->node[i]->n_out > *n_out) *n_out = g->node[i]->n_out;
    }
}

void ll_gradients(ll_graph *g, ll_tensor *loss, ll_tensor *const *wrt, int n, ll_tensor **grad)
{
    for (int i = 0; i < n; i++) grad[i] = NULL;
    if (g->status != LLAP_OK || loss == NULL) return;
    if (ll_shape_count(&loss->shape) != 1) {
        char f[LL_SHAPE_TEXT];
        ll_graph_fail(g, LLAP_EINVAL, "gradient: loss expected one element, found %s",
                      ll_shape_text(&loss->shape, f));
        return;
    }
    assert(loss->graph == g);
    int most_in, most_out;
    widest(g, &most_in, &most_out);
    sweep        s = { .n_tensors = g->n_tensors, .n_nodes = g->n_nodes };
    const size_t n_tensors = (size_t)s.n_tensors;
    ll_tensor  **room = ll_new((size_t)(most_in + most_out), sizeof *room);
    s.grad = ll_new(n_tensors, sizeof *s.grad);
    s.reach = ll_new(n_tensors, sizeof *s.reach);
    if (room == NULL || s.grad == NULL || s.reach == NULL)
        ll_graph_fail(g, LLAP_ENOMEM, "out of memory");
    else {
        for (int i = 0; i < n; i++)
            if (wrt[i] != NULL) s.reach[wrt[i]->id] = true;
        mark_reached(g, &s);
        s.grad[loss->id] = ll_full(g, loss->shape, 1.0);
        for (int i = s.n_nodes - 1; i >= 0 && g->status == LLAP_OK; i--)
            step_back(g, &s, g->node[i], room, room + most_out);
        for (int i = 0; i < n && g->status == LLAP_OK; i++)
            if (wrt[i] != NULL) grad[i] = s.grad[wrt[i]->id];
    }
    ll_free(s.reach);
    ll_free(s.grad);
    ll_free(room);
}
