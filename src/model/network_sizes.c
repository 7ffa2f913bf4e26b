/* The named sizes of the networks, design.md: all options of each. */
#include "base/error.h"
#include "model/network.h"

/* clang-format off */
static const struct named {
    llap_profile profile;
    llap_size    size;
    int64_t      H, K, L, heads, members, layers; /* layers of the summarizer */
    int64_t      S, mix, Z;                       /* `reference`; S 0: as many tokens as context rows */
    int64_t      width, ff; int stack;            /* `reference`: VAE */
} table[] = {
    { LLAP_PROFILE_DEFAULT,   LLAP_SIZE_TINY,   32,   8, 1, 4, 1, 1,  0,  0,  0,   0,   0, 0 },
    { LLAP_PROFILE_DEFAULT,   LLAP_SIZE_SMALL, 128,  32, 2, 4, 3, 2,  0,  0,  0,   0,   0, 0 },
    { LLAP_PROFILE_REFERENCE, LLAP_SIZE_TINY,   32,  16, 2, 4, 1, 1, 16, 16,  8,  32,  64, 1 },
    { LLAP_PROFILE_REFERENCE, LLAP_SIZE_PAPER, 256, 256, 5, 4, 1, 2,  0, 64, 24, 128, 256, 3 },
};
/* clang-format on */

static void name_reference(const struct named *n, const llap_network_dims *d,
                           llap_network_config *c)
{
    const int64_t Z = d->latent > 0 ? d->latent : n->Z;
    c->options = (llap_network_options){ .members = 1,
                                         .latent = LLAP_LATENT_SET_VAE,
                                         .conditioning = true,
                                         .ema = true,
                                         .latent_rows = 1 };
    c->vae = LLAP_VAE_PAPER;
    c->vae.width = n->width;
    c->vae.latent = Z;
    c->vae.channels = d->targets;
    c->vae.n_entities = d->entities;
    c->vae.encoder = c->vae.decoder = (llap_vae_stack){ n->stack, (int)n->heads, n->ff };
    c->vae.dropout = 0.1;
    c->summarizer = LLAP_SUMMARIZER_PAPER;
    c->summarizer.n_entities = d->entities;
    c->summarizer.features = d->inputs;
    c->summarizer.context = d->context;
    c->summarizer.tokens = n->S > 0 ? n->S : d->context;
    c->summarizer.width = n->H;
    c->summarizer.mix = n->mix;
    c->summarizer.n_layers = (int)n->layers;
    c->summarizer.n_heads = (int)n->heads;
    c->summarizer.dropout = 0.1;
    if (d->irregular) {
        c->summarizer.position = LLAP_POSITION_ROTARY;
        c->summarizer.t_token = LLAP_T_TOKEN_BOTH;
        c->summarizer.irregular_pooling = true;
    }
    c->adapter = LLAP_ADAPTER_PAPER;
    c->denoiser = LLAP_DENOISER_PAPER(Z);
    c->noise = (llap_noise_config){ .schedule = LLAP_SCHEDULE_COSINE,
                                    .prediction = LLAP_PREDICT_V,
                                    .min_snr = true,
                                    .gamma = 5.0,
                                    .normalize = LLAP_WEIGHT_AUTO,
                                    .unconditional = 0.18 };
    c->sampling = (llap_sampling){ .list = LLAP_LIST_REFERENCE,
                                   .steps = 64,
                                   .rho = LLAP_KARRAS_RHO,
                                   .first = 1.0,
                                   .samples = 25,
                                   .solver = LLAP_SAMPLER_REFERENCE };
}

static void name_default(const struct named *n, const llap_network_dims *d, llap_network_config *c)
{
    c->options = (llap_network_options){ .members = n->members,
                                         .latent = LLAP_LATENT_IDENTITY,
                                         .conditioning = true,
                                         .joint_summarizer = true,
                                         .cond_norm = LLAP_COND_NORM_NONE,
                                         .latent_rows = 1 };
    c->patches = LLAP_PATCH_DEFAULT(d->token_dim, d->tokens);
    c->patches.hidden_dim = n->H;
    c->patches.num_layers = n->layers;
    c->patches.num_heads = n->heads;
    c->patches.entities = d->embeddings;
    c->denoiser = LLAP_DENOISER_DEFAULT(d->latent, d->query_features);
    c->noise = (llap_noise_config){ .prediction = LLAP_PREDICT_V, .normalize = LLAP_WEIGHT_NONE };
    c->sampling = (llap_sampling){ .list = LLAP_LIST_CONTINUOUS,
                                   .steps = 12,
                                   .rho = LLAP_KARRAS_RHO,
                                   .first = 0.996,
                                   .last = 0.012,
                                   .samples = 25,
                                   .solver = LLAP_SAMPLER_DEFAULT };
    c->features = (llap_feature_config){ .view = LLAP_FEATURE_JOINT,
                                         .patch = 6,
                                         .patch_rows = 6,
                                         .ages = true,
                                         .residual = LLAP_RESIDUAL_ANCHOR,
                                         .clip = 6,
                                         .covariates = d->inputs > 0 };
}

static llap_status fill(llap_profile profile, llap_size size, const llap_network_dims *dims,
                        llap_network_config *out)
{
    const struct named *n = table, *end = table + sizeof table / sizeof *table;
    while (n < end && !(n->profile == profile && n->size == size)) n++;
    if (n == end)
        return llap_fail(LLAP_EINVAL, "the %s profile has no size '%s'",
                         llap_profile_names[profile], llap_size_names[size]);
    *out = (llap_network_config){ .profile = profile,
                                  .size = size,
                                  .n_entities = dims->entities,
                                  .n_inputs = dims->inputs,
                                  .n_targets = dims->targets };
    if (profile == LLAP_PROFILE_REFERENCE) name_reference(n, dims, out);
    else name_default(n, dims, out);
    out->denoiser.hidden_dim = n->H;
    out->denoiser.laplace_k = n->K;
    out->denoiser.num_layers = n->L;
    out->denoiser.num_heads = n->heads;
    return LLAP_OK;
}

llap_status llap_network_config_named(llap_profile profile, llap_size size,
                                      const llap_network_dims *dims, llap_network_config *out)
{
    const llap_status st = fill(profile, size, dims, out);
    return st == LLAP_OK ? llap_network_config_check(out) : st;
}

void llap_network_config_base(llap_profile profile, llap_network_config *out)
{
    (void)fill(profile, LLAP_SIZE_TINY, &(llap_network_dims){ 0 }, out); /* both have that size */
    out->size = LLAP_SIZE_CUSTOM;
}

llap_vae_config llap_network_vae(const llap_network_config *c, bool training)
{
    llap_vae_config v = c->vae;
    if (!training) v.dropout = 0.0;
    return v;
}

llap_summarizer_config llap_network_summarizer(const llap_network_config *c, bool training)
{
    llap_summarizer_config s = c->summarizer;
    if (!training) s.dropout = 0.0;
    return s;
}
