/* Cases that are one layer: c04. */
#include "golden.h"

#include "backend/cpu/cpu.h"
#include "nn/nn.h"

static llap_status refuse(llap_graph *g, llap_status st)
{
    llap_graph_destroy(g);
    return st;
}

llap_status golden_adaln(golden *c)
{
    llap_graph *g;
    llap_status st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    llap_tensor *in[] = { golden_input(c, g, "x"), NULL };
    if (golden_has(c, "in.c")) in[1] = golden_input(c, g, "c");
    llap_tensor *y = llap_nn_ada_norm(g, "", in[0], in[1]);
    llap_note(g, "norm", llap_layer_norm(g, in[0], NULL, NULL, LLAP_NORM_EPS));
    st = golden_run_layer(c, g, y, in, in[1] == NULL ? 1 : 2);
    return refuse(g, st);
}

llap_status golden_transformer(golden *c)
{
    llap_graph        *g;
    int64_t            n_heads = 0;
    llap_nn_block_opts opts = { 0 };
    llap_status        st = golden_int(c, "num_heads", &n_heads);
    if (st == LLAP_OK) st = golden_real(c, "mlp_ratio", &opts.mlp_ratio);
    if (st == LLAP_OK) st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    llap_tensor *in[3] = { golden_input(c, g, "x") }, *cond = NULL;
    int          n = 1;
    opts.n_heads = (int)n_heads;
    if (golden_has(c, "in.cond_vec")) in[n++] = cond = golden_input(c, g, "cond_vec");
    if (golden_has(c, "in.attn_bias")) in[n++] = opts.attn_bias = golden_input(c, g, "attn_bias");
    st = golden_run_layer(c, g, llap_nn_transformer_block(g, "", in[0], cond, &opts), in, n);
    return refuse(g, st);
}

llap_status golden_cross(golden *c)
{
    llap_graph *g;
    int64_t     n_heads = 0;
    llap_status st = golden_int(c, "num_heads", &n_heads);
    if (st == LLAP_OK) st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    llap_tensor *in[] = { golden_input(c, g, "x_q"), golden_input(c, g, "x_kv"), NULL };
    if (golden_has(c, "in.cond_vec")) in[2] = golden_input(c, g, "cond_vec");
    llap_tensor *y = llap_nn_cross_block(g, "", in[0], in[1], in[2],
                                         &(llap_nn_block_opts){ .n_heads = (int)n_heads });
    st = golden_run_layer(c, g, y, in, in[2] == NULL ? 2 : 3);
    return refuse(g, st);
}

llap_status golden_summary_pool(golden *c)
{
    llap_graph *g;
    llap_status st = llap_graph_create(&g);
    if (st != LLAP_OK) return st;
    llap_tensor *in[] = { golden_input(c, g, "summary_tokens"), golden_input(c, g, "query_vec") };
    st = golden_run_layer(c, g, llap_nn_summary_pool(g, "", in[0], in[1]), in, 2);
    return refuse(g, st);
}
