/* mTAN: the bound and its gradients, draws. */
#include "rivals.h"

void golden_mtan(golden *c)
{
    ll_graph            *g = c->graph;
    const ll_mtan_config cfg = { .n_ref = golden_int(c, "n_ref"),
                                 .embed = golden_int(c, "embed"),
                                 .enc_heads = (int)golden_int(c, "heads_enc"),
                                 .dec_heads = (int)golden_int(c, "heads_dec"),
                                 .rec = golden_int(c, "rec"),
                                 .gen = golden_int(c, "gen"),
                                 .latent = golden_int(c, "latent"),
                                 .mlp = golden_int(c, "mlp"),
                                 .n_out = golden_int(c, "D_out"),
                                 .learned = golden_is(c, "learn_emb", "1"),
                                 .units = 48.0,
                                 .spread = (ll_mtan_spread)golden_choice(c, "std", ll_mtan_spreads),
                                 .sd = golden_real(c, "std_fixed") };
    const ll_mtan_code code = ll_mtan_encode(g, &cfg, golden_input(c, "x"), golden_input(c, "obs"),
                                             golden_input(c, "times"));
    ll_tensor         *z = ll_mtan_latent(g, &code, golden_input(c, "eps"));
    const ll_mtan_answer answer = ll_mtan_decode(g, &cfg, z, golden_input(c, "query"));
    ll_tensor           *logp = NULL, *kl = NULL;
    ll_tensor           *loss =
        ll_mtan_loss(g, &code, &answer, golden_input(c, "y"), golden_input(c, "y_obs"),
                     ll_full(g, LL_SCALAR, golden_real(c, "kl_coef")), &logp, &kl);
    golden_output(c, "out.mu", code.mu);
    golden_output(c, "out.logvar", code.logvar);
    golden_output(c, "out.mean", answer.mean);
    golden_output(c, "out.logvar_x", answer.logvar);
    golden_output(c, "out.logp", logp);
    golden_output(c, "out.kl", kl);
    golden_output(c, "out.loss", loss);
    if (golden_has(c, "in.noise"))
        golden_output(c, "out.sample", ll_mtan_draw(g, &answer, golden_input(c, "noise")));
    golden_run(c, loss);
}
