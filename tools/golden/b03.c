/* mr-Diff: a step of training, and sampling. */
#include "rivals.h"

#include <stdio.h>

static ll_mrdiff_config config_of(golden *c)
{
    ll_mrdiff_config cfg = { .horizon = golden_int(c, "H"),
                             .step_width = golden_int(c, "step_dim"),
                             .width = golden_int(c, "width"),
                             .width_in = golden_int(c, "width_in"),
                             .width_enc = golden_int(c, "width_enc"),
                             .layers_in = (int)golden_int(c, "layers_in"),
                             .layers_enc = (int)golden_int(c, "layers_enc"),
                             .layers_dec = (int)golden_int(c, "layers_dec"),
                             .clip = golden_real(c, "clip"),
                             .steps = golden_steps(c) };
    golden_list(c, "kernels", &cfg.kernels);
    return cfg;
}

static void stages(golden *c, int n, const char *tensor, const char *noted)
{
    for (int i = 0; i < n; i++) {
        char full[32], name[32];
        snprintf(full, sizeof full, "%s%d", tensor, i);
        snprintf(name, sizeof name, "stages.%d.%s", i, noted);
        golden_mid(c, full, name);
    }
}

void golden_mrdiff(golden *c)
{
    const ll_mrdiff_config cfg = config_of(c);
    const ll_mrdiff_in     in = { .x = golden_filled(c),
                                  .m = golden_input(c, "obs"),
                                  .training = golden_int(c, "bn_train") != 0 };
    if (golden_is(c, "mode", "train")) {
        const ll_mrdiff_noise noise = { golden_input_int(c, "t"), golden_input(c, "noise"),
                                        golden_input(c, "mix") };
        ll_tensor            *loss = ll_mrdiff_loss(c->graph, &cfg, &in, golden_input(c, "y"),
                                                    golden_input(c, "y_obs"), &noise);
        stages(c, cfg.kernels.n + 1, "mid.z", "z");
        stages(c, cfg.kernels.n + 1, "out.pred", "pred");
        golden_mid(c, "out.losses", "losses");
        golden_output(c, "out.loss", loss);
        golden_run(c, loss);
        golden_after(c);
        return;
    }
    golden_output(c, "out.sample", ll_mrdiff_sample(c->graph, &cfg, &in, golden_input(c, "noise")));
    stages(c, cfg.kernels.n + 1, "mid.z", "z");
    stages(c, cfg.kernels.n + 1, "mid.stage", "drawn");
    golden_run(c, NULL);
}
