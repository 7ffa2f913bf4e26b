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

/* tau [B,1,H], E [B,1,S,H] or NULL, cond of AdaLN [B,1,H or 2H] */
void llap_block_shared(llap_graph *g, const llap_denoiser_config *c, llap_tensor *tau,
                       llap_tensor *E, llap_tensor *cond, llap_modal_block *b)
{
    const int64_t m = 2 * c->laplace_k, h = c->hidden_dim;
    *b = (llap_modal_block){ 0 };
    llap_tensor *pos = llap_param(g, "mode_pos", LLAP_SHAPE(1, m, h), LLAP_INIT_NORMAL(0.02));
    b->place = llap_add(g, pos, llap_unsqueeze(g, tau, -2));
    if (E != NULL) {
        llap_scope_push(g, "cross_blk");
        b->cross = llap_nn_cross_keys(g, E, cond);
        llap_scope_pop(g);
    }
    llap_scope_push(g, "self_blk");
    b->self = llap_nn_ada_of(g, "norm1", cond, h);
    b->mlp = llap_nn_ada_of(g, "norm2", cond, h);
    llap_scope_pop(g);
}

/* x + conditional cross(x, E); rows without summary stay as they are, spec 4.8 */
static llap_tensor *attend_summary(llap_graph *g, llap_tensor *x, const llap_modal_block *b,
                                   llap_tensor *conditional, const llap_nn_block_opts *o)
{
    if (b->cross.k == NULL) return x;
    llap_scope_push(g, "cross_blk");
    llap_tensor *y = llap_nn_cross_branch(g, x, &b->cross, o);
    if (conditional != NULL) y = llap_mul(g, y, conditional);
    x = llap_note(g, NULL, llap_add(g, x, y));
    llap_scope_pop(g);
    return x;
}

/* x + self(x), and the MLP's inner layer GELU(mlp.0(.)) in *up */
static llap_tensor *attend_modes(llap_graph *g, llap_tensor *x, const llap_modal_block *b,
                                 const llap_nn_block_opts *o, llap_tensor **up)
{
    llap_scope_push(g, "self_blk");
    x = llap_add(g, x, llap_nn_self_branch(g, x, b->self, o));
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

/* x = coef2hid(theta) + mode_pos + tau; x = cross(x), self(x), MLP(x); theta + hid2coef(x).
 * Folded, hid2coef is applied to x before the MLP and, times mlp.3, to its inner layer. */
llap_tensor *llap_block_refine(llap_graph *g, const llap_denoiser_config *c, llap_tensor *theta,
                               const llap_modal_block *b, llap_tensor *conditional,
                               const llap_sample_opts *opts)
{
    const llap_nn_block_opts o = block_opts(c, opts->training);
    const bool               folded = opts->folded && c->cross_first;
    llap_tensor             *up, *step;
    llap_tensor *x = llap_add(g, llap_nn_linear(g, "coef2hid", theta, c->hidden_dim), b->place);
    if (c->cross_first) x = attend_summary(g, x, b, conditional, &o);
    x = attend_modes(g, x, b, &o, &up);
    if (folded) {
        step = llap_add(g, llap_folded_linear(g, up, c->data_dim), hid2coef(g, c, x));
    } else {
        x = mlp_down(g, x, up, &o);
        if (!c->cross_first) x = attend_summary(g, x, b, conditional, &o);
        step = hid2coef(g, c, x);
    }
    return llap_add(g, theta, step);
}
