/* DLinear. */
#include "rivals.h"

void golden_dlinear(golden *c)
{
    const ll_dlinear_config cfg = { .horizon = golden_int(c, "H"),
                                    .kernel = golden_int(c, "kernel"),
                                    .individual = golden_int(c, "individual") != 0,
                                    .revin = golden_int(c, "revin") != 0,
                                    .mix = golden_int(c, "mix") != 0,
                                    .target = golden_int(c, "target"),
                                    .head = golden_head(c) };
    const ll_dlinear_in     in = { .x = golden_filled(c), .m = golden_input(c, "obs") };
    golden_answer(c, cfg.head, ll_dlinear(c->graph, &cfg, &in));
}
