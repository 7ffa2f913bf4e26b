/* The whole denoiser: c05. */
#include "golden.h"

#include "base/json/json.h"
#include "oracles/plain_layers.h"

#include <stdio.h>
#include <string.h>

ll_denoiser_config golden_denoiser_config(golden *c)
{
    ll_denoiser_config cfg = { .data_dim = 1,
                               .num_layers = 1,
                               .laplace_k = 1,
                               .timesteps = 2,
                               .mlp_ratio = 4.0,
                               .cross_first = true,
                               .use_mlp_residual = true };
    const char        *text = ll_tensors_metadata(c->file, "config");
    ll_json           *j = NULL;
    if (c->status != LLAP_OK) return cfg;
    if (text == NULL) {
        golden_fail(c, LLAP_EFORMAT, "no configuration");
        return cfg;
    }
    llap_status st = ll_json_parse(text, strlen(text), c->path, NULL, &j);
    /* Modules on their own name some of the options otherwise. */
    if (st == LLAP_OK) st = ll_json_int(j, "input_dim", 1, 1 << 16, &cfg.data_dim);
    if (st == LLAP_OK) st = ll_json_int(j, "feat_dim", 1, 1 << 16, &cfg.data_dim);
    if (st == LLAP_OK) st = ll_json_int(j, "k", 1, 1 << 16, &cfg.laplace_k);
    if (st == LLAP_OK) st = ll_denoiser_config_read(j, "", &cfg);
    ll_json_destroy(j);
    c->status = st;
    return cfg;
}

void golden_denoiser_notes(golden *c, const ll_denoiser_config *cfg, const char *prefix)
{
    static const char *const names[][2] = {
        { "rho", "rho" },
        { "omega", "omega" },
        { "pole_cond", "pole_cond" },
        { "block_cond", "block_cond" },
        { "attn_cond", "attn_cond" },
        { "theta_analysis", "analysis.z.theta" },
        { "theta_analysis.0", "analysis.z.theta" },
        { "theta_analysis.1", "analysis.sc.theta" },
        { "attention", "analysis.z.attention" },
        { "attention.0", "analysis.z.attention" },
        { "attention.1", "analysis.sc.attention" },
        { "summary_pool", "pooled" },
        { "summary_pool.0", "pooled" },
        { "summary_pool.1", "pooled" },
        { "summary_pool.2", "attn_cond" },
        { "y_time", "y_time" },
        { "head_norm", "head_norm" },
    };
    static const char *const parts[][3] = { { "theta_block", "", "theta" },
                                            { "block", "_cross", "cross_blk" },
                                            { "block", "_self", "self_blk" } };
    char                     noted[64], mid[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(noted, sizeof noted, "%s%s", prefix, names[i][1]);
        snprintf(mid, sizeof mid, "mid.%s", names[i][0]);
        if (strcmp(noted, names[i][0]) != 0) golden_mid(c, mid, noted); /* else golden_noted does */
    }
    for (int i = 0; i < 3 * cfg->num_layers; i++) {
        const char *const *p = parts[i % 3];
        snprintf(mid, sizeof mid, "mid.%s%d%s", p[0], i / 3, p[1]);
        snprintf(noted, sizeof noted, "%sblocks.%d.%s", prefix, i / 3, p[2]);
        golden_mid(c, mid, noted);
    }
}

ll_denoiser_in golden_denoiser_in(golden *c)
{
    return (ll_denoiser_in){ .z = golden_input(c, "x_t"),
                             .t = golden_input_int(c, "t"),
                             .tq = golden_input(c, "dt"),
                             .E = golden_input(c, "cond_summary"),
                             .E_raw = golden_input(c, "cond_summary_raw"),
                             .sc = golden_input(c, "sc_feat") };
}

static void finish(golden *c, const ll_denoiser_config *cfg, ll_tensor *y, const char *prefix)
{
    ll_tensor *loss = plain_mse(c->graph, y, golden_input(c, "target"));
    golden_output(c, "out.pred", y);
    golden_output(c, "out.loss", loss);
    golden_denoiser_notes(c, cfg, prefix);
    golden_run(c, loss);
}

void golden_denoiser(golden *c)
{
    const ll_denoiser_config cfg = golden_denoiser_config(c);
    const ll_denoiser_in     in = golden_denoiser_in(c);
    if (c->status == LLAP_OK) finish(c, &cfg, ll_denoiser(c->graph, &cfg, &in), "model.");
}

/* The network behind the step embedding; its times count from the first. */
void golden_lapformer(golden *c)
{
    const ll_denoiser_config cfg = golden_denoiser_config(c);
    ll_graph                *g = c->graph;
    ll_tensor               *t = golden_input(c, "t");
    const ll_denoiser_in     in = { .z = golden_input(c, "x_tokens"),
                                    .tau = golden_input(c, "t_vec"),
                                    .tq = ll_sub(g, t, ll_slice(g, t, -1, 0, 1)),
                                    .E = golden_input(c, "cond_summary") };
    if (c->status == LLAP_OK) finish(c, &cfg, ll_lapformer(g, &cfg, &in), "");
}
