/* The named sizes of the networks, docs/spec/model.md 13.2: all options of each. */
#include "base/error.h"
#include "model/network.h"

#include <assert.h>

/* clang-format off */
static const struct named {
    ll_profile profile;
    ll_size    size;
    int64_t      H, K, L, heads, members, layers; /* layers of the summarizer */
    int64_t      S, mix, Z;                       /* `reference`; S 0: as many tokens as context rows */
    int64_t      width, ff; int stack;            /* `reference`: VAE */
} table[] = {
    { LL_PROFILE_DEFAULT,   LL_SIZE_TINY,   32,   8, 1, 4, 1, 1,  0,  0,  0,   0,   0, 0 },
    { LL_PROFILE_DEFAULT,   LL_SIZE_SMALL, 128,  32, 2, 4, 3, 2,  0,  0,  0,   0,   0, 0 },
    { LL_PROFILE_REFERENCE, LL_SIZE_TINY,   32,  16, 2, 4, 1, 1, 16, 16,  8,  32,  64, 1 },
    { LL_PROFILE_REFERENCE, LL_SIZE_PAPER, 256, 256, 5, 4, 1, 2,  0, 64, 24, 128, 256, 3 },
};
/* clang-format on */

static void name_reference(const struct named *n, const ll_network_dims *d, ll_network_config *c)
{
    const int64_t Z = d->latent > 0 ? d->latent : n->Z;
    c->options = (ll_network_options){ .members = 1,
                                       .latent = LL_LATENT_SET_VAE,
                                       .conditioning = true,
                                       .ema = true,
                                       .latent_rows = 1 };
    c->vae = LL_VAE_PAPER;
    c->vae.width = n->width;
    c->vae.latent = Z;
    c->vae.channels = d->targets;
    c->vae.n_entities = d->entities;
    c->vae.encoder = c->vae.decoder = (ll_vae_stack){ n->stack, (int)n->heads, n->ff };
    c->vae.dropout = 0.1;
    c->summarizer = LL_SUMMARIZER_PAPER;
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
        c->summarizer.position = LL_POSITION_ROTARY;
        c->summarizer.t_token = LL_T_TOKEN_BOTH;
        c->summarizer.irregular_pooling = true;
    }
    c->adapter = LL_ADAPTER_PAPER;
    c->denoiser = LL_DENOISER_PAPER(Z);
    c->noise = (ll_noise_config){ .schedule = LL_SCHEDULE_COSINE,
                                  .prediction = LL_PREDICT_V,
                                  .min_snr = true,
                                  .gamma = 5.0,
                                  .normalize = LL_WEIGHT_AUTO,
                                  .unconditional = 0.18 };
    c->sampling = (ll_sampling){ .list = LL_LIST_REFERENCE,
                                 .steps = 64,
                                 .rho = LL_KARRAS_RHO,
                                 .first = 1.0,
                                 .samples = 25,
                                 .solver = LL_SAMPLER_REFERENCE };
}

static void name_default(const struct named *n, const ll_network_dims *d, ll_network_config *c)
{
    c->options = (ll_network_options){ .members = n->members,
                                       .latent = LL_LATENT_IDENTITY,
                                       .conditioning = true,
                                       .joint_summarizer = true,
                                       .cond_norm = LL_COND_NORM_NONE,
                                       .latent_rows = 1 };
    c->patches = LL_PATCH_DEFAULT(d->token_dim, d->tokens);
    c->patches.hidden_dim = n->H;
    c->patches.num_layers = n->layers;
    c->patches.num_heads = n->heads;
    c->patches.entities = d->embeddings;
    c->denoiser = LL_DENOISER_DEFAULT(d->latent, d->query_features);
    c->noise = (ll_noise_config){ .prediction = LL_PREDICT_V, .normalize = LL_WEIGHT_NONE };
    c->sampling = (ll_sampling){ .list = LL_LIST_GATHERED,
                                 .steps = 8,
                                 .rho = LL_KARRAS_RHO,
                                 .first = 0.996,
                                 .last = 0.012,
                                 .samples = 25,
                                 .solver = LL_SAMPLER_DEFAULT };
    c->features = (ll_feature_config){ .view = LL_FEATURE_JOINT,
                                       .patch = 6,
                                       .patch_rows = 6,
                                       .ages = true,
                                       .residual = LL_RESIDUAL_ANCHOR,
                                       .clip = 6,
                                       .covariates = d->inputs > 0 };
}

static llap_status fill(ll_profile profile, ll_size size, const ll_network_dims *dims,
                        ll_network_config *out)
{
    const struct named *n = table, *end = table + sizeof table / sizeof *table;
    while (n < end && !(n->profile == profile && n->size == size)) n++;
    if (n == end)
        return ll_fail(LLAP_EINVAL, "the %s profile has no size '%s'", ll_profile_names[profile],
                       ll_size_names[size]);
    *out = (ll_network_config){ .profile = profile,
                                .size = size,
                                .n_entities = dims->entities,
                                .n_inputs = dims->inputs,
                                .n_targets = dims->targets };
    if (profile == LL_PROFILE_REFERENCE) name_reference(n, dims, out);
    else name_default(n, dims, out);
    out->denoiser.hidden_dim = n->H;
    out->denoiser.laplace_k = n->K;
    out->denoiser.num_layers = n->L;
    out->denoiser.num_heads = n->heads;
    return LLAP_OK;
}

llap_status ll_network_config_named(ll_profile profile, ll_size size, const ll_network_dims *dims,
                                    ll_network_config *out)
{
    const llap_status st = fill(profile, size, dims, out);
    return st == LLAP_OK ? ll_network_config_check(out) : st;
}

void ll_network_config_base(ll_profile profile, ll_network_config *out)
{
    const llap_status st = fill(profile, LL_SIZE_TINY, &(ll_network_dims){ 0 }, out);
    assert(st == LLAP_OK); /* both have that size */
    (void)st;
    out->size = LL_SIZE_CUSTOM;
}

ll_vae_config ll_network_vae(const ll_network_config *c, bool training)
{
    ll_vae_config v = c->vae;
    if (!training) v.dropout = 0.0;
    return v;
}

ll_summarizer_config ll_network_summarizer(const ll_network_config *c, bool training)
{
    ll_summarizer_config s = c->summarizer;
    if (!training) s.dropout = 0.0;
    return s;
}
