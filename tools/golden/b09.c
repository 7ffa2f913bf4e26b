/* CSDI: a step of training, and the imputation. */
#include "rivals.h"

void golden_csdi(golden *c)
{
    ll_graph            *g = c->graph;
    const ll_csdi_config cfg = { .channels = golden_int(c, "channels"),
                                 .step_width = golden_int(c, "step_dim"),
                                 .time_width = golden_int(c, "time_emb"),
                                 .feature_width = golden_int(c, "feature_emb"),
                                 .ff = golden_int(c, "ff"),
                                 .n_heads = (int)golden_int(c, "heads"),
                                 .n_blocks = (int)golden_int(c, "layers"),
                                 .steps = golden_steps(c) };
    const ll_csdi_in     in = { .x = golden_input(c, "x"),
                                .visible = golden_input(c, "cond"),
                                .times = golden_input(c, "times") };
    if (golden_is(c, "mode", "sample")) {
        ll_tensor *sample = ll_csdi_sample(g, &cfg, &in, golden_input(c, "noise"));
        golden_output(c, "out.sample", sample);
        golden_output(c, "out.filled", ll_csdi_filled(g, &in, sample));
        golden_run(c, NULL);
        return;
    }
    ll_tensor *eps = NULL;
    ll_tensor *loss = ll_csdi_loss(g, &cfg, &in, golden_input(c, "obs"), golden_input_int(c, "t"),
                                   golden_input(c, "noise"), &eps);
    loss = ll_reshape(g, loss, LL_SCALAR);
    golden_output(c, "out.eps", eps);
    golden_output(c, "out.loss", loss);
    golden_run(c, loss);
}
