/* Refinement block: residues -> modal tokens, attention to the summary and among themselves, MLP,
 * and a step of the residues; spec 4.6. Only the residues flow from block to block. */
#include "model/modal.h"

static llap_nn_block_opts block_opts(const llap_denoiser_config *c, bool training)
{
    return (llap_nn_block_opts){ .n_heads = (int)c->num_heads,
                                 .mlp_ratio = c->mlp_ratio,
                                 .dropout = training ? c->dropout : 0.0,
                                 .attn_dropout = training ? c->attn_dropout : 0.0 };
}

static llap_tensor *centred(llap_graph *g, llap_tensor *x, int axis)
{
    return llap_sub(g, x, llap_mean(g, x, LLAP_AXIS(axis)));
}

/* The entry of the layer of that name and width behind AdaLN ada [1,1,H]; place [1,1,M,H] */
static llap_modal_entry entry_of(llap_graph *g, const llap_denoiser_config *c, const char *name,
                                 int64_t width, llap_nn_ada ada, llap_tensor *place)
{
    const int64_t h = c->hidden_dim;
    llap_tensor  *w, *b, *in, *in_bias;
    llap_nn_linear_params(g, name, width, h, &w, &b);
    llap_nn_linear_params(g, "coef2hid", h, c->data_dim, &in, &in_bias);
    place = llap_add(g, llap_reshape(g, place, LLAP_SHAPE(2 * c->laplace_k, h)), in_bias);
    llap_tensor *scale = llap_reshape(g, llap_affine(g, ada.scale, 1.0, 1.0), LLAP_SHAPE(1, h));
    llap_tensor *scaled = llap_mul(g, w, scale);
    llap_tensor *bias = llap_linear(g, llap_reshape(g, ada.shift, LLAP_SHAPE(1, h)), w, b);
    return (llap_modal_entry){
        .weight = llap_matmul(g, scaled, false, centred(g, in, 0), false),
        .table = llap_matmul(g, centred(g, place, 1), false, scaled, true),
        .bias = llap_reshape(g, bias, LLAP_SHAPE(width)),
    };
}

/* AdaLN that gives rows of zeros where the row is unconditional: then nothing is multiplied. */
static llap_nn_ada only_conditional(llap_graph *g, llap_nn_ada ada, llap_tensor *conditional)
{
    if (conditional == NULL) return ada;
    llap_tensor *flag = llap_squeeze(g, conditional, LLAP_AXIS(3));
    llap_tensor *gain = llap_mul(g, llap_affine(g, ada.scale, 1.0, 1.0), flag);
    return (llap_nn_ada){ llap_affine(g, gain, 1.0, -1.0), llap_mul(g, ada.shift, flag) };
}

void llap_block_shared(llap_graph *g, const llap_denoiser_config *c, const llap_block_in *in,
                       llap_modal_block *b)
{
    const int64_t m = 2 * c->laplace_k, h = c->hidden_dim;
    *b = (llap_modal_block){ 0 };
    llap_tensor *pos = llap_param(g, "mode_pos", LLAP_SHAPE(1, m, h), LLAP_INIT_NORMAL(0.02));
    b->place = llap_add(g, pos, llap_unsqueeze(g, in->tau, -2));
    if (in->E != NULL) {
        llap_scope_push(g, "cross_blk");
        if (in->normed == NULL) b->cross = llap_nn_cross_keys(g, in->E, in->cond);
        else b->cross = llap_nn_cross_row_keys(g, in->normed, in->cond, in->conditional);
        b->cross.ada = only_conditional(g, b->cross.ada, in->conditional);
        llap_scope_pop(g);
    }
    llap_scope_push(g, "self_blk");
    b->self = llap_nn_ada_of(g, "norm1", in->cond, h);
    b->mlp = llap_nn_ada_of(g, "norm2", in->cond, h);
    llap_scope_pop(g);
    if (!in->entries || c->block_summary_adaln) return; /* AdaLN is another one for each row */
    const bool cross = c->cross_first && in->E != NULL;
    b->entry = cross ? entry_of(g, c, "cross_blk.q", h, b->cross.ada, b->place)
                     : entry_of(g, c, "self_blk.qkv", 3 * h, b->self, b->place);
}

/* x + conditional cross(x, E); rows without summary stay as they are, spec 4.8. q, where it is
 * known already. */
static llap_tensor *attend_summary(llap_graph *g, llap_tensor *x, llap_tensor *q,
                                   const llap_modal_block *b, llap_tensor *conditional,
                                   const llap_nn_block_opts *o)
{
    if (b->cross.k == NULL) return x;
    llap_scope_push(g, "cross_blk");
    llap_tensor *y = q != NULL ? llap_nn_cross_answer(g, q, &b->cross, o)
                               : llap_nn_cross_branch(g, x, &b->cross, o);
    if (conditional != NULL) y = llap_mul(g, y, conditional);
    x = llap_note(g, NULL, llap_add(g, x, y));
    llap_scope_pop(g);
    return x;
}

/* x + self(x), and the MLP's inner layer GELU(mlp.0(.)) in *up; qkv, where it is known already */
static llap_tensor *attend_modes(llap_graph *g, llap_tensor *x, llap_tensor *qkv,
                                 const llap_modal_block *b, const llap_nn_block_opts *o,
                                 llap_tensor **up)
{
    llap_scope_push(g, "self_blk");
    x = llap_add(
        g, x, qkv != NULL ? llap_nn_self_answer(g, qkv, o) : llap_nn_self_branch(g, x, b->self, o));
    *up = llap_nn_mlp_up(g, x, b->mlp, o);
    llap_scope_pop(g);
    return x;
}

/* x + mlp.3(up) */
static llap_tensor *mlp_down(llap_graph *g, llap_tensor *x, llap_tensor *up,
                             const llap_nn_block_opts *o)
{
    llap_scope_push(g, "self_blk");
    llap_tensor *y = llap_dropout(g, llap_nn_linear(g, "mlp.3", up, llap_dim(x, -1)), o->dropout);
    x = llap_note(g, NULL, llap_add(g, x, y));
    llap_scope_pop(g);
    return x;
}

static llap_tensor *hid2coef(llap_graph *g, const llap_denoiser_config *c, llap_tensor *x)
{
    return llap_nn_linear_from(g, "hid2coef", x, c->data_dim, LLAP_INIT_NORMAL(0.01),
                               LLAP_INIT_ZERO);
}

/* hid2coef(mlp.3(up)) by the product of the two, which is made here: in training too the MLP's wide
 * layer then meets Z columns instead of H, forward and in both gradients. */
static llap_tensor *multiplied_down(llap_graph *g, const llap_denoiser_config *c, llap_tensor *up)
{
    const int64_t h = c->hidden_dim, z = c->data_dim;
    llap_tensor  *down, *bias, *out, *none;
    llap_scope_push(g, "self_blk");
    llap_nn_linear_params(g, "mlp.3", h, llap_dim(up, -1), &down, &bias);
    llap_scope_pop(g);
    llap_nn_linear_params(g, "hid2coef", z, h, &out,
                          &none); /* declared before, its own beginning */
    bias = llap_linear(g, llap_reshape(g, bias, LLAP_SHAPE(1, h)), out, NULL);
    return llap_linear(g, up, llap_matmul(g, out, false, down, false),
                       llap_reshape(g, bias, LLAP_SHAPE(z)));
}

/* x = coef2hid(theta) + mode_pos + tau; x = cross(x), self(x), MLP(x); theta + hid2coef(x).
 * Folded, hid2coef is applied to x before the MLP and, times mlp.3, to its inner layer. */
llap_tensor *llap_block_refine(llap_graph *g, const llap_denoiser_config *c, llap_tensor *theta,
                               const llap_modal_block *b, llap_tensor *conditional,
                               const llap_sample_opts *opts)
{
    const llap_nn_block_opts o = block_opts(c, opts->training);
    const bool               folded = opts->folded && c->cross_first;
    const bool   multiplied = opts->training && c->cross_first && o.dropout == 0.0 && !folded;
    llap_tensor *up, *step, *first = NULL;
    llap_tensor *x = llap_add(g, llap_nn_linear(g, "coef2hid", theta, c->hidden_dim), b->place);
    if (opts->folded && b->entry.weight != NULL)
        first =
            llap_normed(g, theta, b->entry.weight, b->entry.table, b->entry.bias, x, LLAP_NORM_EPS);
    const bool cross = c->cross_first && b->cross.k != NULL; /* what comes first */
    if (c->cross_first) x = attend_summary(g, x, cross ? first : NULL, b, conditional, &o);
    x = attend_modes(g, x, cross ? NULL : first, b, &o, &up);
    if (folded) { /* one sum after the other, each behind a product */
        theta = llap_add(g, hid2coef(g, c, x), theta);
        return llap_add(g, llap_folded_linear(g, up, c->data_dim), theta);
    } else if (multiplied) {
        step = hid2coef(g, c, x);
        step = llap_add(g, multiplied_down(g, c, up), step);
    } else {
        x = mlp_down(g, x, up, &o);
        if (!c->cross_first) x = attend_summary(g, x, NULL, b, conditional, &o);
        step = hid2coef(g, c, x);
    }
    return llap_add(g, theta, step);
}
