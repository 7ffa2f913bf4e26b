/* The set-VAE: c01. The files have [B,N,h,C] where the model has [B,h,N,C]. */
#include "golden.h"

#include "networks/latent.h"
#include "networks/vae.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct sizes {
    int64_t B, N, h, C;
} sizes;

static sizes read_sizes(golden *c, const char *y)
{
    return (sizes){ golden_dim(c, y, 0), golden_dim(c, y, 1), golden_dim(c, y, 2),
                    golden_dim(c, y, 3) };
}

ll_vae_config golden_vae_config(golden *c)
{
    const ll_vae_config cfg = {
        .width = golden_int(c, "latent_dim"),
        .latent = golden_int(c, "latent_channel"),
        .channels = golden_int(c, "output_dim"),
        .n_entities = golden_is(c, "entity_conditioned", "1") ? golden_int(c, "num_entities") : 0,
        .encoder = { (int)golden_int(c, "enc_layers"), (int)golden_int(c, "enc_heads"),
                     golden_int(c, "enc_ff") },
        .decoder = { (int)golden_int(c, "dec_layers"), (int)golden_int(c, "dec_heads"),
                     golden_int(c, "dec_ff") },
    };
    return cfg;
}

/* docs/spec/model.md 1.2.2: observed, finite, and the entity is there. [B,N,h,C] */
static double *observed(golden *c, sizes s, const double *y, const double *mask, const double *ent)
{
    double *obs = golden_new(c, s.B * s.N * s.h * s.C);
    for (int64_t i = 0; c->status == LLAP_OK && i < s.B * s.N * s.h * s.C; i++)
        obs[i] = mask[i] != 0.0 && isfinite(y[i]) && ent[i / (s.h * s.C)] != 0.0;
    return obs;
}

static ll_tensor *time_first(ll_graph *g, ll_tensor *x) /* [B,N,h,C] -> [B,h,N,C] */
{
    return x == NULL ? NULL : ll_permute(g, x, (const int[]){ 0, 2, 1, 3 });
}

/* In [B,h,N,...] tensors, absent entities hold what nobody uses. */
static void keep_present(golden *c, const char *tensor, sizes s, const double *ent)
{
    if (c->status != LLAP_OK || !golden_has(c, tensor)) return;
    const ll_shape shape = golden_shape(c, tensor);
    const int64_t  count = ll_shape_count(&shape), rest = count / (s.B * s.h * s.N);
    double        *keep = golden_new(c, count);
    for (int64_t i = 0; keep != NULL && i < count; i++) {
        const int64_t n = i / rest % s.N, b = i / (rest * s.N * s.h);
        keep[i] = ent[b * s.N + n];
    }
    golden_keep(c, tensor, keep);
}

/* -------- c01_vae -------- */

/* What canonicalisation gives, compared as it is. */
static void compare_masks(golden *c, sizes s, const double *y, const double *obs, const double *ent)
{
    double *pad = golden_new(c, s.B * s.N), *any = golden_new(c, s.B * s.h), count = 0.0;
    double *clean = golden_new(c, s.B * s.N * s.h * s.C);
    for (int64_t i = 0; c->status == LLAP_OK && i < s.B * s.N; i++) pad[i] = ent[i] == 0.0;
    for (int64_t i = 0; c->status == LLAP_OK && i < s.B * s.N * s.h * s.C; i++) {
        const int64_t b = i / (s.N * s.h * s.C), r = i / s.C % s.h;
        any[b * s.h + r] = fmax(any[b * s.h + r], obs[i]);
        clean[i] = obs[i] != 0.0 ? y[i] : 0.0;
        count += obs[i];
    }
    golden_compare(c, "mid.obs", obs, s.B * s.N * s.h * s.C, NULL);
    golden_compare(c, "mid.y_clean", clean, s.B * s.N * s.h * s.C, NULL);
    golden_compare(c, "mid.entity_pad", pad, s.B * s.N, NULL);
    golden_compare(c, "mid.obs_any", any, s.B * s.h, NULL);
    golden_compare(c, "mid.recon_count", &count, 1, NULL);
}

/* Layer i of a stack is mid.<short>i. */
static void output_layers(golden *c, const char *stack, const char *name, int n)
{
    for (int i = 0; i < n; i++) {
        char tensor[64], noted[64];
        snprintf(tensor, sizeof tensor, "mid.%s%d", name, i);
        snprintf(noted, sizeof noted, "%s.layers.%d", stack, i);
        golden_mid(c, tensor, noted);
    }
}

static void keep_what_is_used(golden *c, sizes s, const double *ent)
{
    char name[32];
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "mid.enc%d", i);
        keep_present(c, name, s, ent);
        snprintf(name, sizeof name, "mid.dec%d", i);
        keep_present(c, name, s, ent);
    }
    keep_present(c, "out.x_hat", s, ent);
    keep_present(c, "out.decode_mu", s, ent);
    double *values = golden_new(c, s.B * s.h * s.N * 2 * s.C); /* not the mask channels */
    for (int64_t i = 0; values != NULL && i < s.B * s.h * s.N * 2 * s.C; i++)
        values[i] = i % (2 * s.C) < s.C;
    golden_keep(c, "gradin.x_tok", values);
}

static ll_vae_loss_config read_loss(golden *c)
{
    return (ll_vae_loss_config){ .beta = golden_real(c, "beta"),
                                 .p_drop = golden_real(c, "p_drop"),
                                 .noise = golden_real(c, "noise_std"),
                                 .consistency = golden_real(c, "cons_lambda"),
                                 .balance_coverage = golden_is(c, "balance", "coverage") };
}

static void output_results(golden *c, const ll_vae_config *cfg, const ll_vae_terms *terms,
                           ll_tensor *ent)
{
    static const char *const noted[] = { "mu", "logvar", "mu2", "x_hat", "kl_bt" };
    ll_graph                *g = c->graph;
    char                     name[32];
    for (size_t i = 0; i < sizeof noted / sizeof *noted; i++) {
        snprintf(name, sizeof name, "out.%s", noted[i]);
        golden_mid(c, name, noted[i]);
    }
    golden_noted(c);
    output_layers(c, "encoder", "enc", cfg->encoder.n_layers);
    output_layers(c, "decoder", "dec", cfg->decoder.n_layers);
    ll_output(g, "out.decode_mu", ll_vae_decode(g, cfg, ll_noted(g, "mu"), ent));
    ll_output(g, "out.loss", terms->loss);
    ll_output(g, "out.recon_loss", terms->recon);
    ll_output(g, "out.kl_loss", terms->kl);
    golden_output(c, "out.cons_loss", terms->consistency);
}

void golden_vae(golden *c)
{
    const sizes              s = read_sizes(c, "in.y");
    const ll_vae_config      cfg = golden_vae_config(c);
    const ll_vae_loss_config loss = read_loss(c);
    double *y = golden_values(c, "in.y"), *mask = golden_values(c, "in.y_obs_mask");
    double *ent = golden_values(c, "in.entity_mask"), *obs = observed(c, s, y, mask, ent);
    if (c->status != LLAP_OK) return;

    ll_graph          *g = c->graph;
    const ll_shape     all = LL_SHAPE(s.B, s.N, s.h, s.C);
    const ll_vae_batch batch = {
        .y = time_first(g, golden_give(c, "y", all, y)),
        .obs = time_first(g, golden_give(c, "obs", all, obs)),
        .ent = golden_give(c, "ent", LL_SHAPE(s.B, s.N), ent),
        .eps = golden_input(c, "noise"),
        .view = { { time_first(g, golden_input(c, "drop_u")),
                    time_first(g, golden_input(c, "corrupt_noise")) },
                  { time_first(g, golden_input(c, "drop_u2")),
                    time_first(g, golden_input(c, "corrupt_noise2")) } },
    };
    const ll_vae_terms terms = ll_vae_loss(g, &cfg, &loss, &batch);
    ll_tensor         *tok = ll_noted(g, "x_tok"), *dtok = NULL;
    ll_gradients(g, terms.loss, &tok, 1, &dtok);
    ll_output(g, "gradin.x_tok", dtok);
    output_results(c, &cfg, &terms, batch.ent);
    golden_gradients(c, terms.loss);
    keep_what_is_used(c, s, ent);
    golden_plan(c);
    golden_load(c);
    golden_bind(c);
    golden_exec(c);
    golden_compare_outputs(c);
    compare_masks(c, s, y, obs, ent);
}

/* -------- c01_latent_stats: two batches, statistics of both, the first one normalised -------- */

typedef struct encoded { /* one batch */
    double     *obs_any; /* [B,h] */
    double     *ent;
    ll_tensor  *in_ent, *in_any;
    ll_vae_code code;
} encoded;

static encoded encode_batch(golden *c, const ll_vae_config *cfg, int k)
{
    char name[4][32];
    snprintf(name[0], sizeof name[0], "in.y%d", k);
    snprintf(name[1], sizeof name[1], "in.y_obs_mask%d", k);
    snprintf(name[2], sizeof name[2], "in.entity_mask%d", k);
    encoded     e = { 0 };
    const sizes s = read_sizes(c, name[0]);
    double     *y = golden_values(c, name[0]), *mask = golden_values(c, name[1]);
    e.ent = golden_values(c, name[2]);
    double *obs = observed(c, s, y, mask, e.ent);
    e.obs_any = golden_new(c, s.B * s.h);
    for (int64_t i = 0; c->status == LLAP_OK && i < s.B * s.N * s.h * s.C; i++) {
        const int64_t at = i / (s.N * s.h * s.C) * s.h + i / s.C % s.h;
        e.obs_any[at] = fmax(e.obs_any[at], obs[i]);
    }
    static const char *const inputs[2][4] = { { "y0", "obs0", "ent0", "any0" },
                                              { "y1", "obs1", "ent1", "any1" } };
    ll_graph                *g = c->graph;
    const ll_shape           all = LL_SHAPE(s.B, s.N, s.h, s.C);
    ll_tensor               *in_y = time_first(g, golden_give(c, inputs[k][0], all, y));
    ll_tensor               *in_obs = time_first(g, golden_give(c, inputs[k][1], all, obs));
    e.in_ent = golden_give(c, inputs[k][2], LL_SHAPE(s.B, s.N), e.ent);
    e.in_any = golden_give(c, inputs[k][3], LL_SHAPE(s.B, s.h), e.obs_any);
    ll_tensor *tok = ll_vae_tokens(g, in_y, in_obs);
    if (k == 0) ll_output(g, "mid.x_tok", tok);
    e.code = ll_vae_encode(g, cfg, tok, e.in_ent);
    snprintf(name[3], sizeof name[3], "mu%d", k);
    ll_output(g, name[3], e.code.mu);
    return e;
}

static void add_batch(golden *c, ll_latent_stats *s, const char *mu, const encoded *e, int64_t B,
                      int64_t h)
{
    int64_t       n = 0;
    const double *wide = golden_result(c, mu, &n);
    float        *x = ll_arena_new(&c->arena, (size_t)(n + B * h), sizeof *x), *any = x + n;
    if (wide == NULL || x == NULL) return;
    for (int64_t i = 0; i < n; i++) x[i] = (float)wide[i];
    for (int64_t i = 0; i < B * h; i++) any[i] = (float)e->obs_any[i];
    ll_latent_stats_add(s, x, any, B, h);
}

/* The statistics of both batches, bound as inputs and compared. */
static void statistics(golden *c, const encoded *e, const char *kind, int64_t rows, sizes s,
                       int64_t Z)
{
    char             name[64];
    const int64_t    n = rows * Z;
    ll_latent_stats *stats;
    float           *x = ll_arena_new(&c->arena, 2 * (size_t)n, sizeof *x);
    double          *wide = golden_new(c, 2 * n);
    if (c->status != LLAP_OK || x == NULL) return;
    c->status = ll_latent_stats_create(rows, Z, &stats);
    if (c->status != LLAP_OK) return;
    add_batch(c, stats, "mu0", &e[0], s.B, s.h);
    add_batch(c, stats, "mu1", &e[1], s.B, s.h);
    ll_latent_stats_finish(stats, x, x + n);
    ll_latent_stats_destroy(stats);
    for (int64_t i = 0; i < 2 * n; i++) wide[i] = (double)x[i];
    for (int part = 0; part < 2; part++) {
        const char *which = part == 0 ? "mean" : "std";
        snprintf(name, sizeof name, "out.mu_%s_%s", which, kind);
        golden_compare(c, name, wide + part * n, n, NULL);
        snprintf(name, sizeof name, "%s_%s", which, kind);
        golden_bind_values(c, name, wide + part * n, n);
    }
}

static void normalised(golden *c, const ll_vae_config *cfg, const encoded *e, const char *kind,
                       ll_shape shape)
{
    char       name[64];
    ll_graph  *g = c->graph;
    ll_tensor *mean, *deviation;
    snprintf(name, sizeof name, "mean_%s", kind);
    mean = ll_input(g, name, shape);
    snprintf(name, sizeof name, "std_%s", kind);
    deviation = ll_input(g, name, shape);
    ll_tensor *z0 = ll_latent_normalise(g, e->code.mu, mean, deviation, e->in_any);
    snprintf(name, sizeof name, "out.mu_norm_%s", kind);
    ll_output(g, name, z0);
    snprintf(name, sizeof name, "out.decoded_%s", kind);
    ll_output(g, name, ll_vae_decode(g, cfg, ll_latent_restore(g, z0, mean, deviation), e->in_ent));
}

void golden_latent_stats(golden *c)
{
    const sizes         s = read_sizes(c, "in.y0");
    const ll_vae_config cfg = golden_vae_config(c);
    const int64_t       Z = cfg.latent;
    encoded             e[2];
    for (int k = 0; k < 2; k++) e[k] = encode_batch(c, &cfg, k);
    ll_output(c->graph, "logvar0", e[0].code.logvar); /* its head is in the file too */
    normalised(c, &cfg, &e[0], "global", LL_SHAPE(Z));
    normalised(c, &cfg, &e[0], "horizon", LL_SHAPE(s.h, Z));
    golden_plan(c);
    golden_load(c);
    golden_bind(c);
    double *one = golden_new(c, s.h * Z); /* for the first run, which gives mu only */
    for (int64_t i = 0; c->status == LLAP_OK && i < s.h * Z; i++) one[i] = 1.0;
    golden_bind_values(c, "mean_global", one, Z);
    golden_bind_values(c, "std_global", one, Z);
    golden_bind_values(c, "mean_horizon", one, s.h * Z);
    golden_bind_values(c, "std_horizon", one, s.h * Z);
    golden_exec(c);
    statistics(c, e, "global", 1, s, Z);
    statistics(c, e, "horizon", s.h, s, Z);
    golden_exec(c);
    keep_present(c, "out.decoded_global", s, e[0].ent);
    keep_present(c, "out.decoded_horizon", s, e[0].ent);
    golden_compare_outputs(c);
    golden_compare(c, "mid.obs_any", e[0].obs_any, s.B * s.h, NULL);
}
