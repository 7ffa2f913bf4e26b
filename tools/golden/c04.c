/* Cases that are one layer of the denoiser: c04. */
#include "golden.h"

#include "nn/nn.h"
#include "oracles/plain_layers.h"

/* out.y, out.loss = mean((y - target)^2), and all gradients. */
static void run_layer(golden *c, ll_tensor *y)
{
    ll_tensor *loss = plain_mse(c->graph, y, golden_input(c, "target"));
    ll_output(c->graph, "out.y", y);
    ll_output(c->graph, "out.loss", loss);
    golden_run(c, loss);
}

void golden_adaln(golden *c)
{
    ll_tensor *x = golden_input(c, "x");
    ll_tensor *y = ll_nn_ada_norm(c->graph, "", x, golden_input(c, "c"));
    ll_note(c->graph, "norm", ll_nn_norm0(c->graph, x));
    run_layer(c, y);
}

void golden_transformer(golden *c)
{
    const ll_nn_block_opts opts = { .n_heads = (int)golden_int(c, "num_heads"),
                                    .mlp_ratio = golden_real(c, "mlp_ratio"),
                                    .attn_bias = golden_input(c, "attn_bias") };
    ll_tensor             *x = golden_input(c, "x"), *cond = golden_input(c, "cond_vec");
    run_layer(c, transformer_block(c->graph, "", x, cond, &opts));
}

void golden_cross(golden *c)
{
    const ll_nn_block_opts opts = { .n_heads = (int)golden_int(c, "num_heads") };
    ll_tensor             *q = golden_input(c, "x_q"), *kv = golden_input(c, "x_kv");
    run_layer(c, cross_block(c->graph, "", q, kv, golden_input(c, "cond_vec"), &opts));
}

void golden_summary_pool(golden *c)
{
    ll_tensor *tokens = golden_input(c, "summary_tokens"), *query = golden_input(c, "query_vec");
    run_layer(c, ll_nn_summary_pool(c->graph, "", tokens, query));
}
