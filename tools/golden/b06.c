/* T-PatchGNN. */
#include "rivals.h"

void golden_tpatchgnn(golden *c)
{
    const ll_tpatchgnn_config cfg = { .width = golden_int(c, "hid"),
                                      .time_width = golden_int(c, "te"),
                                      .node_width = golden_int(c, "node"),
                                      .ff = golden_int(c, "ff"),
                                      .n_heads = (int)golden_int(c, "heads"),
                                      .n_layers = (int)golden_int(c, "layers"),
                                      .transformer_layers = (int)golden_int(c, "tf_layers"),
                                      .hops = (int)golden_int(c, "hop"),
                                      .convolution = golden_is(c, "outlayer", "CNN"),
                                      .head = golden_head(c) };
    const ll_tpatchgnn_in     in = { .x = golden_input(c, "x"),
                                     .t = golden_input(c, "times"),
                                     .m = golden_input(c, "obs"),
                                     .query = golden_input(c, "query") };
    golden_answer(c, cfg.head, ll_tpatchgnn(c->graph, &cfg, &in));
}
