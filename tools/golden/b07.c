/* ContiFormer: encoder and decoder. */
#include "rivals.h"

#include <stdio.h>

void golden_contiformer(golden *c)
{
    ll_graph                   *g = c->graph;
    const ll_contiformer_config cfg = {
        .width = golden_int(c, "d_model"),
        .inner = golden_int(c, "d_inner"),
        .n_heads = (int)golden_int(c, "heads"),
        .n_layers = (int)golden_int(c, "layers"),
        .rule = (ll_contiformer_rule)golden_choice(c, "approx", ll_contiformer_rules),
        .n_nodes = (int)golden_int(c, "P"),
        .n_sub = (int)golden_int(c, "n_sub"),
        .twice = golden_is(c, "twice", "1"),
        .head = golden_head(c),
    };
    const ll_contiformer_in in = { .x = golden_input(c, "x"),
                                   .times = golden_input(c, "times"),
                                   .usable = golden_input(c, "obs"),
                                   .query = golden_input(c, "query"),
                                   .feature = golden_input(c, "query_feat") };
    ll_tensor              *encoded = ll_contiformer_encode(g, &cfg, &in);
    for (int i = 0; i < cfg.n_layers; i++) {
        char name[2][48];
        snprintf(name[0], sizeof name[0], "mid.layer%d", i);
        snprintf(name[1], sizeof name[1], "encoder.layer_stack.%d", i);
        golden_mid(c, name[0], name[1]);
        snprintf(name[0], sizeof name[0], "mid.att%d", i);
        snprintf(name[1], sizeof name[1], "encoder.layer_stack.%d.attention", i);
        golden_mid(c, name[0], name[1]);
    }
    if (golden_is(c, "decoder", "1")) {
        ll_tensor *answer = ll_contiformer_decode(g, &cfg, &in, encoded);
        golden_mid(c, "mid.dec", "decoder");
        golden_mid(c, "mid.dec_att", "decoder.attention");
        golden_answer(c, cfg.head, answer);
        return;
    }
    ll_tensor *square = ll_square(g, ll_sub(g, encoded, golden_input(c, "y")));
    ll_tensor *loss = ll_reshape(g, ll_mean(g, square, LL_ALL_AXES), LL_SCALAR);
    golden_output(c, "out.y", encoded);
    golden_output(c, "out.loss", loss);
    golden_run(c, loss);
}
