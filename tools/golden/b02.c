/* PatchTST. */
#include "rivals.h"

#include <stdio.h>

void golden_patchtst(golden *c)
{
    const ll_patchtst_config cfg = {
        .horizon = golden_int(c, "H"),
        .patch = golden_int(c, "patch"),
        .stride = golden_int(c, "stride"),
        .width = golden_int(c, "d_model"),
        .ff = golden_int(c, "d_ff"),
        .n_heads = (int)golden_int(c, "heads"),
        .n_layers = (int)golden_int(c, "layers"),
        .norm = (ll_patchtst_norm)golden_choice(c, "norm", ll_patchtst_norms),
        .revin = golden_int(c, "revin") != 0,
        .affine = golden_int(c, "affine") != 0,
        .mix = golden_int(c, "mix") != 0,
        .target = golden_int(c, "target"),
        .head = golden_head(c),
    };
    const ll_patchtst_in in = { .x = golden_filled(c),
                                .m = golden_input(c, "obs"),
                                .training = golden_int(c, "bn_train") != 0 };
    ll_tensor           *answer = ll_patchtst(c->graph, &cfg, &in);
    golden_mid(c, "mid.tokens", "backbone.tokens");
    for (int i = 0; i < cfg.n_layers; i++) {
        char tensor[32], noted[64];
        snprintf(tensor, sizeof tensor, "mid.layer%d", i);
        snprintf(noted, sizeof noted, "backbone.encoder.layers.%d", i);
        golden_mid(c, tensor, noted);
    }
    golden_answer(c, cfg.head, answer);
}
