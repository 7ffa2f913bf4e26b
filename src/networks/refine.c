/* Refinement block: residues -> modal tokens, attention to the summary and among themselves, MLP,
 * and a step of the residues; docs/spec/model.md 4.6. Only the residues flow from block to block.
 */
#include "networks/modal.h"

#include <assert.h>

static ll_nn_block_opts block_opts(const ll_denoiser_config *c, bool training)
{
    return (ll_nn_block_opts){ .n_heads = (int)c->num_heads,
                               .mlp_ratio = c->mlp_ratio,
                               .dropout = training ? c->dropout : 0.0,
                               .attn_dropout = training ? c->attn_dropout : 0.0 };
}

static ll_tensor *centred(ll_graph *g, ll_tensor *x, int axis)
{
    return ll_sub(g, x, ll_mean(g, x, LL_AXIS(axis)));
}

/* The entry of the layer of that name and width behind AdaLN ada [1,1,H]; place [1,1,M,H] */
static ll_modal_entry entry_of(ll_graph *g, const ll_denoiser_config *c, const char *name,
                               int64_t width, ll_nn_ada ada, ll_tensor *place)
{
    const int64_t h = c->hidden_dim;
    ll_tensor    *w, *b, *in, *in_bias;
    ll_nn_linear_params(g, name, width, h, &w, &b);
    ll_nn_linear_params(g, "coef2hid", h, c->data_dim, &in, &in_bias);
    place = ll_add(g, ll_reshape(g, place, LL_SHAPE(2 * c->laplace_k, h)), in_bias);
    ll_tensor *scale = ll_reshape(g, ll_affine(g, ada.scale, 1.0, 1.0), LL_SHAPE(1, h));
    ll_tensor *scaled = ll_mul(g, w, scale);
    ll_tensor *bias = ll_linear(g, ll_reshape(g, ada.shift, LL_SHAPE(1, h)), w, b);
    return (ll_modal_entry){
        .weight = ll_matmul(g, scaled, false, centred(g, in, 0), false),
        .table = ll_matmul(g, centred(g, place, 1), false, scaled, true),
        .bias = ll_reshape(g, bias, LL_SHAPE(width)),
    };
}

/* AdaLN that gives rows of zeros where the row is unconditional: then nothing is multiplied. */
static ll_nn_ada only_conditional(ll_graph *g, ll_nn_ada ada, ll_tensor *conditional)
{
    if (conditional == NULL) return ada;
    ll_tensor *flag = ll_squeeze(g, conditional, LL_AXIS(3));
    ll_tensor *gain = ll_mul(g, ll_affine(g, ada.scale, 1.0, 1.0), flag);
    return (ll_nn_ada){ ll_affine(g, gain, 1.0, -1.0), ll_mul(g, ada.shift, flag) };
}

void ll_block_shared(ll_graph *g, const ll_denoiser_config *c, const ll_block_in *in,
                     ll_modal_block *b)
{
    const int64_t m = 2 * c->laplace_k, h = c->hidden_dim;
    *b = (ll_modal_block){ 0 };
    assert(in->normed == NULL || in->E != NULL);
    ll_tensor *pos = ll_param(g, "mode_pos", LL_SHAPE(1, m, h), LL_INIT_NORMAL(0.02));
    b->place = ll_add(g, pos, ll_unsqueeze(g, in->tau, -2));
    if (in->E != NULL) {
        ll_scope_push(g, "cross_blk");
        if (in->normed == NULL) b->cross = ll_nn_cross_keys(g, in->E, in->cond);
        else b->cross = ll_nn_cross_row_keys(g, in->normed, in->cond, in->conditional);
        b->cross.ada = only_conditional(g, b->cross.ada, in->conditional);
        ll_scope_pop(g);
    }
    ll_scope_push(g, "self_blk");
    b->self = ll_nn_ada_of(g, "norm1", in->cond, h);
    b->mlp = ll_nn_ada_of(g, "norm2", in->cond, h);
    ll_scope_pop(g);
    if (!in->entries || c->block_summary_adaln) return; /* AdaLN is another one for each row */
    const bool cross = c->cross_first && in->E != NULL;
    b->entry = cross ? entry_of(g, c, "cross_blk.q", h, b->cross.ada, b->place)
                     : entry_of(g, c, "self_blk.qkv", 3 * h, b->self, b->place);
}

/* x + conditional cross(x, E); rows without summary stay as they are, docs/spec/model.md 4.8. q,
 * where it is known already. */
static ll_tensor *attend_summary(ll_graph *g, ll_tensor *x, ll_tensor *q, const ll_modal_block *b,
                                 ll_tensor *conditional, const ll_nn_block_opts *o)
{
    if (b->cross.k == NULL) return x;
    ll_scope_push(g, "cross_blk");
    ll_tensor *y =
        q != NULL ? ll_nn_cross_answer(g, q, &b->cross, o) : ll_nn_cross_branch(g, x, &b->cross, o);
    if (conditional != NULL) y = ll_mul(g, y, conditional);
    x = ll_note(g, NULL, ll_add(g, x, y));
    ll_scope_pop(g);
    return x;
}

/* x + self(x), and the MLP's inner layer GELU(mlp.0(.)) in *up; qkv, where it is known already */
static ll_tensor *attend_modes(ll_graph *g, ll_tensor *x, ll_tensor *qkv, const ll_modal_block *b,
                               const ll_nn_block_opts *o, ll_tensor **up)
{
    ll_scope_push(g, "self_blk");
    x = ll_add(g, x,
               qkv != NULL ? ll_nn_self_answer(g, qkv, o) : ll_nn_self_branch(g, x, b->self, o));
    *up = ll_nn_mlp_up(g, x, b->mlp, o);
    ll_scope_pop(g);
    return x;
}

/* x + mlp.3(up) */
static ll_tensor *mlp_down(ll_graph *g, ll_tensor *x, ll_tensor *up, const ll_nn_block_opts *o)
{
    ll_scope_push(g, "self_blk");
    ll_tensor *y = ll_dropout(g, ll_nn_linear(g, "mlp.3", up, ll_dim(x, -1)), o->dropout);
    x = ll_note(g, NULL, ll_add(g, x, y));
    ll_scope_pop(g);
    return x;
}

static ll_tensor *hid2coef(ll_graph *g, const ll_denoiser_config *c, ll_tensor *x)
{
    return ll_nn_linear_from(g, "hid2coef", x, c->data_dim, LL_INIT_NORMAL(0.01), LL_INIT_ZERO);
}

/* hid2coef(mlp.3(up)) by the product of the two, which is made here: in training too the MLP's wide
 * layer then meets Z columns instead of H, forward and in both gradients. */
static ll_tensor *multiplied_down(ll_graph *g, const ll_denoiser_config *c, ll_tensor *up)
{
    const int64_t h = c->hidden_dim, z = c->data_dim;
    ll_tensor    *down, *bias, *out, *none;
    ll_scope_push(g, "self_blk");
    ll_nn_linear_params(g, "mlp.3", h, ll_dim(up, -1), &down, &bias);
    ll_scope_pop(g);
    ll_nn_linear_params(g, "hid2coef", z, h, &out, &none); /* declared before, its own beginning */
    bias = ll_linear(g, ll_reshape(g, bias, LL_SHAPE(1, h)), out, NULL);
    return ll_linear(g, up, ll_matmul(g, out, false, down, false),
                     ll_reshape(g, bias, LL_SHAPE(z)));
}

/* x = coef2hid(theta) + mode_pos + tau; x = cross(x), self(x), MLP(x); theta + hid2coef(x).
 * Folded, hid2coef is applied to x before the MLP and, times mlp.3, to its inner layer. */
ll_tensor *ll_block_refine(ll_graph *g, const ll_denoiser_config *c, ll_tensor *theta,
                           const ll_modal_block *b, ll_tensor *conditional,
                           const ll_sample_opts *opts)
{
    const ll_nn_block_opts o = block_opts(c, opts->training);
    const bool             folded = opts->folded && c->cross_first;
    const bool multiplied = opts->training && c->cross_first && o.dropout == 0.0 && !folded;
    ll_tensor *up, *step, *first = NULL;
    ll_tensor *x = ll_add(g, ll_nn_linear(g, "coef2hid", theta, c->hidden_dim), b->place);
    if (opts->folded && b->entry.weight != NULL)
        first = ll_normed(g, theta, b->entry.weight, b->entry.table, b->entry.bias, x, LL_NORM_EPS);
    const bool cross = c->cross_first && b->cross.k != NULL; /* what comes first */
    if (c->cross_first) x = attend_summary(g, x, cross ? first : NULL, b, conditional, &o);
    x = attend_modes(g, x, cross ? NULL : first, b, &o, &up);
    if (folded) { /* one sum after the other, each behind a product */
        theta = ll_add(g, hid2coef(g, c, x), theta);
        return ll_add(g, ll_folded_linear(g, up, c->data_dim), theta);
    } else if (multiplied) {
        step = hid2coef(g, c, x);
        step = ll_add(g, multiplied_down(g, c, up), step);
    } else {
        x = mlp_down(g, x, up, &o);
        if (!c->cross_first) x = attend_summary(g, x, NULL, b, conditional, &o);
        step = hid2coef(g, c, x);
    }
    return ll_add(g, theta, step);
}
