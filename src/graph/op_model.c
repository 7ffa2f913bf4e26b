/* Ops of this model: embedding lookup, modal basis, dropout, draws, whole numbers, the optimiser's
 * step; and the chain that the planner makes. */
#include "graph/node.h"

#include <assert.h>

/* -------- embedding -------- */

static bool infer_embedding(ll_graph *g, const ll_node *n, ll_shape *out)
{
    if (n->in[0]->shape.rank != 2)
        return ll_node_expect(g, n, 0, LL_SHAPE(ll_dim(n->in[0], 0), ll_dim(n->in[0], -1)));
    *out = n->in[1]->shape;
    if (out->rank == LL_MAX_RANK) return ll_node_fail(g, n, "index has too many axes");
    out->dim[out->rank++] = n->in[0]->shape.dim[1];
    return true;
}

static void vjp_embedding(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    dx[0] = ll_node_add1(g, LL_OP_EMBEDDING_GRAD, NULL,
                         (ll_tensor *[]){ n->in[0], n->in[1], dy[0] }, 3);
}

const ll_op_desc ll_desc_embedding = {
    "table index",  .n_required = 2,          .n_out = 1,
    .layout = "di", .infer = infer_embedding, .vjp = vjp_embedding
};

static bool infer_embedding_grad(ll_graph *g, const ll_node *n, ll_shape *out)
{
    (void)g;
    *out = n->in[0]->shape;
    return true;
}

const ll_op_desc ll_desc_embedding_grad = { "table index dy", .n_required = 3, .n_out = 1,
                                            .layout = "aid", .infer = infer_embedding_grad };

ll_tensor *ll_embedding(ll_graph *g, ll_tensor *table, ll_tensor *index)
{
    return ll_node_add1(g, LL_OP_EMBEDDING, NULL, (ll_tensor *[]){ table, index }, 2);
}

/* -------- modal basis -------- */

static bool infer_basis(ll_graph *g, const ll_node *n, ll_shape *out)
{
    if (!ll_node_rank(g, n, 0, 1) || !ll_node_rank(g, n, 1, 1)) return false;
    ll_shape poles = n->in[0]->shape;
    poles.dim[poles.rank - 1] = ll_dim(n->in[1], -1);
    if (!ll_node_expect(g, n, 1, poles) || !ll_node_expect(g, n, 2, poles)) return false;
    *out = n->in[0]->shape;
    if (out->rank == LL_MAX_RANK) return ll_node_fail(g, n, "t has too many axes");
    out->dim[out->rank++] = 2 * poles.dim[poles.rank - 1];
    return true;
}

static void vjp_basis(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    ll_node *back =
        ll_node_add(g, LL_OP_BASIS_GRAD, NULL,
                    (ll_tensor *[]){ n->in[0], n->in[1], n->in[2], dy[0], n->out[0] }, 5);
    if (back == NULL) return;
    dx[1] = back->out[0];
    dx[2] = back->out[1];
}

const ll_op_desc ll_desc_basis = { "t rho omega", .n_required = 3,      .n_out = 1,
                                   .layout = "r", .infer = infer_basis, .vjp = vjp_basis };

static bool infer_basis_grad(ll_graph *g, const ll_node *n, ll_shape *out)
{
    (void)g;
    assert(ll_shape_equal(&n->in[1]->shape, &n->in[2]->shape));
    out[0] = out[1] = n->in[1]->shape;
    return true;
}

const ll_op_desc ll_desc_basis_grad = { "t rho omega dy", .n_required = 4, .n_out = 2,
                                        .layout = "rrrd", .infer = infer_basis_grad };

ll_tensor *ll_modal_basis(ll_graph *g, ll_tensor *t, ll_tensor *rho, ll_tensor *omega)
{
    if (g->status != LLAP_OK || t == NULL || rho == NULL || omega == NULL) return NULL;
    ll_tensor *in[] = { t, rho, omega };
    ll_shape   lead;
    if (!ll_broadcast_lead(g, LL_OP_BASIS, in, (int[]){ 1, 1, 1 }, 3, &lead)) return NULL;
    for (int i = 0; i < 3; i++) in[i] = ll_expand_lead(g, in[i], &lead, 1);
    return ll_node_add1(g, LL_OP_BASIS, NULL, in, 3);
}

/* -------- dropout -------- */

static bool infer_dropout(ll_graph *g, const ll_node *n, ll_shape *out)
{
    const double p = n->attr.dropout.p;
    if (!(p >= 0.0 && p < 1.0)) return ll_node_fail(g, n, "p expected in [0,1), found %g", p);
    *out = n->in[0]->shape;
    return ll_node_expect(g, n, 1, LL_SHAPE(4));
}

static void vjp_dropout(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx)
{
    dx[0] = ll_node_add1(g, LL_OP_DROPOUT, &n->attr, (ll_tensor *[]){ dy[0], n->in[1] }, 2);
}

const ll_op_desc ll_desc_dropout = { "x rng",           .n_required = 2,   .n_out = 1,
                                     .layout = "di",    .in_place = { 1 }, .infer = infer_dropout,
                                     .vjp = vjp_dropout };

ll_tensor *ll_dropout(ll_graph *g, ll_tensor *x, double p)
{
    if (g->status != LLAP_OK || p == 0.0) return x;
    const ll_attr attr = { .dropout = { p, g->n_random++ } };
    return ll_node_add1(g, LL_OP_DROPOUT, &attr, (ll_tensor *[]){ x, ll_random(g) }, 2);
}

/* -------- random numbers by name -------- */

static bool infer_draw(ll_graph *g, const ll_node *n, ll_shape *out)
{
    *out = LL_SHAPE(ll_dim(n->in[2], 0), n->attr.draw.width);
    return ll_node_expect(g, n, 0, LL_SHAPE(4)) &&
           ll_node_expect(g, n, 1, LL_SHAPE(ll_dim(n->in[1], 0), 2)) &&
           ll_node_expect(g, n, 2, LL_SHAPE(out->dim[0]));
}

const ll_op_desc ll_desc_draw = { "key ids index", .n_required = 3, .n_out = 1, .layout = "iii",
                                  .infer = infer_draw };

ll_tensor *ll_draw(ll_graph *g, ll_tensor *key, ll_tensor *ids, ll_tensor *index,
                   const ll_draw_attr *a)
{
    assert(a->below <= 1u << 24 && !(a->normal && a->below != 0));
    const ll_attr attr = { .draw = { a->width, a->stream, a->sample, a->normal, a->below } };
    return ll_node_add1(g, LL_OP_DRAW, &attr, (ll_tensor *[]){ key, ids, index }, 3);
}

static bool infer_whole(ll_graph *g, const ll_node *n, ll_shape *out)
{
    (void)g;
    *out = n->in[0]->shape;
    return true;
}

const ll_op_desc ll_desc_whole = { "x",           .n_required = 1, .n_out = 1,
                                   .layout = "d", .whole = true,   .infer = infer_whole };

ll_tensor *ll_whole(ll_graph *g, ll_tensor *x) { return ll_node_add1(g, LL_OP_WHOLE, NULL, &x, 1); }

/* -------- AdamW -------- */

static bool infer_adamw(ll_graph *g, const ll_node *n, ll_shape *out)
{
    for (int i = 0; i < 3; i++) out[i] = n->in[0]->shape;
    for (int i = 1; i < 4; i++)
        if (!ll_node_expect(g, n, i, out[0])) return false;
    for (int i = 4; i < 7; i++)
        if (ll_shape_count(&n->in[i]->shape) != 1 && !ll_node_expect(g, n, i, LL_SCALAR))
            return false;
    return true;
}

const ll_op_desc ll_desc_adamw = { "p m v grad scale lr step",
                                   .n_required = 7,
                                   .n_out = 3,
                                   .layout = "ddddddi",
                                   .in_place = { 1u << 0, 1u << 1, 1u << 2 },
                                   .infer = infer_adamw };

void ll_adamw_step(ll_graph *g, ll_tensor *p, ll_tensor *m, ll_tensor *v, ll_tensor *grad,
                   ll_tensor *scale, ll_tensor *lr, ll_tensor *step, const ll_adamw_attr *attr,
                   ll_tensor *out[3])
{
    const ll_attr a = { .adamw = { attr->beta1, attr->beta2, attr->eps, attr->weight_decay } };
    ll_node      *n =
        ll_node_add(g, LL_OP_ADAMW, &a, (ll_tensor *[]){ p, m, v, grad, scale, lr, step }, 7);
    for (int i = 0; i < 3; i++) out[i] = n == NULL ? NULL : n->out[i];
}

/* -------- chain -------- */

static bool infer_chain(ll_graph *g, const ll_node *n, ll_shape *out)
{
    (void)g;
    *out = n->in[0]->shape;
    return true;
}

const ll_op_desc ll_desc_chain = { "x",           .n_required = 1,     .n_out = 1,
                                   .layout = "a", .in_place = { ~0u }, .infer = infer_chain };
