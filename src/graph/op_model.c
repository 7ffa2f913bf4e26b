/* Ops of this model: embedding lookup, modal basis, dropout, draws, whole numbers, the optimiser's
 * step; and the chain that the planner makes. */
#include "graph/node.h"

/* -------- embedding -------- */

static bool infer_embedding(llap_graph *g, const llap_node *n, llap_shape *out)
{
    if (n->in[0]->shape.rank != 2)
        return llap_node_expect(g, n, 0, LLAP_SHAPE(llap_dim(n->in[0], 0), llap_dim(n->in[0], -1)));
    *out = n->in[1]->shape;
    if (out->rank == LLAP_MAX_RANK) return llap_node_fail(g, n, "index has too many axes");
    out->dim[out->rank++] = n->in[0]->shape.dim[1];
    return true;
}

static void vjp_embedding(llap_graph *g, const llap_node *n, llap_tensor *const *dy,
                          llap_tensor **dx)
{
    dx[0] = llap_node_add1(g, LLAP_OP_EMBEDDING_GRAD, NULL,
                           (llap_tensor *[]){ n->in[0], n->in[1], dy[0] }, 3);
}

const llap_op_desc llap_desc_embedding = {
    "table index",  .n_required = 2,          .n_out = 1,
    .layout = "di", .infer = infer_embedding, .vjp = vjp_embedding
};

static bool infer_embedding_grad(llap_graph *g, const llap_node *n, llap_shape *out)
{
    (void)g;
    *out = n->in[0]->shape;
    return true;
}

const llap_op_desc llap_desc_embedding_grad = { "table index dy", .n_required = 3, .n_out = 1,
                                                .layout = "aid", .infer = infer_embedding_grad };

llap_tensor *llap_embedding(llap_graph *g, llap_tensor *table, llap_tensor *index)
{
    return llap_node_add1(g, LLAP_OP_EMBEDDING, NULL, (llap_tensor *[]){ table, index }, 2);
}

/* -------- modal basis -------- */

static bool infer_basis(llap_graph *g, const llap_node *n, llap_shape *out)
{
    if (!llap_node_rank(g, n, 0, 1) || !llap_node_rank(g, n, 1, 1)) return false;
    llap_shape poles = n->in[0]->shape;
    poles.dim[poles.rank - 1] = llap_dim(n->in[1], -1);
    if (!llap_node_expect(g, n, 1, poles) || !llap_node_expect(g, n, 2, poles)) return false;
    *out = n->in[0]->shape;
    if (out->rank == LLAP_MAX_RANK) return llap_node_fail(g, n, "t has too many axes");
    out->dim[out->rank++] = 2 * poles.dim[poles.rank - 1];
    return true;
}

static void vjp_basis(llap_graph *g, const llap_node *n, llap_tensor *const *dy, llap_tensor **dx)
{
    llap_node *back =
        llap_node_add(g, LLAP_OP_BASIS_GRAD, NULL,
                      (llap_tensor *[]){ n->in[0], n->in[1], n->in[2], dy[0], n->out[0] }, 5);
    if (back == NULL) return;
    dx[1] = back->out[0];
    dx[2] = back->out[1];
}

const llap_op_desc llap_desc_basis = { "t rho omega", .n_required = 3,      .n_out = 1,
                                       .layout = "r", .infer = infer_basis, .vjp = vjp_basis };

static bool infer_basis_grad(llap_graph *g, const llap_node *n, llap_shape *out)
{
    (void)g;
    out[0] = out[1] = n->in[1]->shape;
    return true;
}

const llap_op_desc llap_desc_basis_grad = { "t rho omega dy", .n_required = 4, .n_out = 2,
                                            .layout = "rrrd", .infer = infer_basis_grad };

llap_tensor *llap_modal_basis(llap_graph *g, llap_tensor *t, llap_tensor *rho, llap_tensor *omega)
{
    if (g->status != LLAP_OK || t == NULL || rho == NULL || omega == NULL) return NULL;
    llap_tensor *in[] = { t, rho, omega };
    llap_shape   lead;
    if (!llap_broadcast_lead(g, LLAP_OP_BASIS, in, (int[]){ 1, 1, 1 }, 3, &lead)) return NULL;
    for (int i = 0; i < 3; i++) in[i] = llap_expand_lead(g, in[i], &lead, 1);
    return llap_node_add1(g, LLAP_OP_BASIS, NULL, in, 3);
}

/* -------- dropout -------- */

static bool infer_dropout(llap_graph *g, const llap_node *n, llap_shape *out)
{
    const double p = n->attr.dropout.p;
    if (!(p >= 0.0 && p < 1.0)) return llap_node_fail(g, n, "p expected in [0,1), found %g", p);
    *out = n->in[0]->shape;
    return llap_node_expect(g, n, 1, LLAP_SHAPE(4));
}

static void vjp_dropout(llap_graph *g, const llap_node *n, llap_tensor *const *dy, llap_tensor **dx)
{
    dx[0] = llap_node_add1(g, LLAP_OP_DROPOUT, &n->attr, (llap_tensor *[]){ dy[0], n->in[1] }, 2);
}

const llap_op_desc llap_desc_dropout = { "x rng",           .n_required = 2,
                                         .n_out = 1,        .layout = "di",
                                         .in_place = { 1 }, .infer = infer_dropout,
                                         .vjp = vjp_dropout };

llap_tensor *llap_dropout(llap_graph *g, llap_tensor *x, double p)
{
    if (g->status != LLAP_OK || p == 0.0) return x;
    const llap_attr attr = { .dropout = { p, g->n_random++ } };
    return llap_node_add1(g, LLAP_OP_DROPOUT, &attr, (llap_tensor *[]){ x, llap_random(g) }, 2);
}

/* -------- random numbers by name -------- */

static bool infer_draw(llap_graph *g, const llap_node *n, llap_shape *out)
{
    *out = LLAP_SHAPE(llap_dim(n->in[2], 0), n->attr.draw.width);
    return llap_node_expect(g, n, 0, LLAP_SHAPE(4)) &&
           llap_node_expect(g, n, 1, LLAP_SHAPE(llap_dim(n->in[1], 0), 2)) &&
           llap_node_expect(g, n, 2, LLAP_SHAPE(out->dim[0]));
}

const llap_op_desc llap_desc_draw = { "key ids index", .n_required = 3, .n_out = 1, .layout = "iii",
                                      .infer = infer_draw };

llap_tensor *llap_draw(llap_graph *g, llap_tensor *key, llap_tensor *ids, llap_tensor *index,
                       const llap_draw_attr *a)
{
    const llap_attr attr = { .draw = { a->width, a->stream, a->sample, a->normal, a->below } };
    return llap_node_add1(g, LLAP_OP_DRAW, &attr, (llap_tensor *[]){ key, ids, index }, 3);
}

static bool infer_whole(llap_graph *g, const llap_node *n, llap_shape *out)
{
    (void)g;
    *out = n->in[0]->shape;
    return true;
}

const llap_op_desc llap_desc_whole = { "x",           .n_required = 1, .n_out = 1,
                                       .layout = "d", .whole = true,   .infer = infer_whole };

llap_tensor *llap_whole(llap_graph *g, llap_tensor *x)
{
    return llap_node_add1(g, LLAP_OP_WHOLE, NULL, &x, 1);
}

/* -------- AdamW -------- */

static bool infer_adamw(llap_graph *g, const llap_node *n, llap_shape *out)
{
    for (int i = 0; i < 3; i++) out[i] = n->in[0]->shape;
    for (int i = 1; i < 4; i++)
        if (!llap_node_expect(g, n, i, out[0])) return false;
    for (int i = 4; i < 7; i++)
        if (llap_shape_count(&n->in[i]->shape) != 1 && !llap_node_expect(g, n, i, LLAP_SCALAR))
            return false;
    return true;
}

const llap_op_desc llap_desc_adamw = { "p m v grad scale lr step",
                                       .n_required = 7,
                                       .n_out = 3,
                                       .layout = "ddddddi",
                                       .in_place = { 1u << 0, 1u << 1, 1u << 2 },
                                       .infer = infer_adamw };

void llap_adamw_step(llap_graph *g, llap_tensor *p, llap_tensor *m, llap_tensor *v,
                     llap_tensor *grad, llap_tensor *scale, llap_tensor *lr, llap_tensor *step,
                     const llap_adamw_attr *attr, llap_tensor *out[3])
{
    const llap_attr a = { .adamw = { attr->beta1, attr->beta2, attr->eps, attr->weight_decay } };
    llap_node      *n =
        llap_node_add(g, LLAP_OP_ADAMW, &a, (llap_tensor *[]){ p, m, v, grad, scale, lr, step }, 7);
    for (int i = 0; i < 3; i++) out[i] = n == NULL ? NULL : n->out[i];
}

/* -------- chain -------- */

static bool infer_chain(llap_graph *g, const llap_node *n, llap_shape *out)
{
    (void)g;
    *out = n->in[0]->shape;
    return true;
}

const llap_op_desc llap_desc_chain = { "x",           .n_required = 1,     .n_out = 1,
                                       .layout = "a", .in_place = { ~0u }, .infer = infer_chain };
