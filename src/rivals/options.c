#include "rivals/options.h"

#include "base/error.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
#define WHOLE(record, key, name, low, high)  { key, LL_FIELD_INT, offsetof(record, name), low, high, NULL }
#define SMALL(record, key, name, low, high)  { key, LL_FIELD_SMALL, offsetof(record, name), low, high, NULL }
#define REAL(record, key, name, low, high)   { key, LL_FIELD_REAL, offsetof(record, name), low, high, NULL }
#define REALS(record, key, name, low, high)  { key, LL_FIELD_REALS, offsetof(record, name), low, high, NULL }
#define FLAG(record, key, name)              { key, LL_FIELD_BOOL, offsetof(record, name), 0, 0, NULL }
#define CHOICE(record, key, name, names)     { key, LL_FIELD_CHOICE, offsetof(record, name), 0, 0, names }
#define HEAD(record)                         WHOLE(record, "numbers", head.p, 1, 64), WHOLE(record, "quantiles", head.q, 0, 1000)
#define STEPS(record)                        WHOLE(record, "noise_steps", steps.n, 1, 10000), \
                                             REAL(record, "beta_start", steps.beta_start, 1e-9, 0.999), \
                                             REAL(record, "beta_end", steps.beta_end, 1e-9, 0.999), \
                                             CHOICE(record, "beta", steps.kind, ll_beta_kinds)
#define WIDTH 1 << 16
#define ROWS  1e9

static const ll_field dlinear[] = {
    WHOLE(ll_dlinear_config, "horizon", horizon, 1, ROWS),
    WHOLE(ll_dlinear_config, "kernel", kernel, 1, ROWS),
    FLAG(ll_dlinear_config, "individual", individual),
    FLAG(ll_dlinear_config, "revin", revin),
    FLAG(ll_dlinear_config, "mix", mix),
    WHOLE(ll_dlinear_config, "target", target, 0, WIDTH),
    HEAD(ll_dlinear_config),
};

static const ll_field patchtst[] = {
    WHOLE(ll_patchtst_config, "horizon", horizon, 1, ROWS),
    WHOLE(ll_patchtst_config, "patch", patch, 1, ROWS),
    WHOLE(ll_patchtst_config, "stride", stride, 1, ROWS),
    WHOLE(ll_patchtst_config, "width", width, 1, WIDTH),
    WHOLE(ll_patchtst_config, "ff", ff, 1, WIDTH),
    SMALL(ll_patchtst_config, "heads", n_heads, 1, 1024),
    SMALL(ll_patchtst_config, "layers", n_layers, 1, 64),
    CHOICE(ll_patchtst_config, "norm", norm, ll_patchtst_norms),
    REAL(ll_patchtst_config, "dropout", dropout, 0, 0.99),
    FLAG(ll_patchtst_config, "revin", revin),
    FLAG(ll_patchtst_config, "affine", affine),
    FLAG(ll_patchtst_config, "mix", mix),
    WHOLE(ll_patchtst_config, "target", target, 0, WIDTH),
    HEAD(ll_patchtst_config),
};

static const ll_field mrdiff[] = {
    WHOLE(ll_mrdiff_config, "horizon", horizon, 1, ROWS),
    REALS(ll_mrdiff_config, "kernels", kernels, 1, ROWS),
    WHOLE(ll_mrdiff_config, "step_width", step_width, 4, WIDTH),
    WHOLE(ll_mrdiff_config, "width", width, 1, WIDTH),
    WHOLE(ll_mrdiff_config, "width_in", width_in, 1, WIDTH),
    WHOLE(ll_mrdiff_config, "width_enc", width_enc, 1, WIDTH),
    SMALL(ll_mrdiff_config, "layers_in", layers_in, 1, 64),
    SMALL(ll_mrdiff_config, "layers_enc", layers_enc, 1, 64),
    SMALL(ll_mrdiff_config, "layers_dec", layers_dec, 1, 64),
    REAL(ll_mrdiff_config, "clip", clip, 1e-3, 1e6),
    REAL(ll_mrdiff_config, "dropout", dropout, 0, 0.99),
    REAL(ll_mrdiff_config, "mixed", mixed, 0, 1),
    STEPS(ll_mrdiff_config),
};

static const ll_field timegrad[] = {
    REALS(ll_timegrad_config, "lags", lags, 1, ROWS),
    WHOLE(ll_timegrad_config, "cells", cells, 1, WIDTH),
    WHOLE(ll_timegrad_config, "cond", cond, 1, WIDTH),
    SMALL(ll_timegrad_config, "layers", n_layers, 1, LL_TIMEGRAD_LAYERS),
    REAL(ll_timegrad_config, "dropout", dropout, 0, 0.99),
    WHOLE(ll_timegrad_config, "channels", channels, 1, WIDTH),
    WHOLE(ll_timegrad_config, "step_width", step_width, 1, WIDTH),
    WHOLE(ll_timegrad_config, "step_hidden", step_hidden, 1, WIDTH),
    SMALL(ll_timegrad_config, "blocks", n_blocks, 1, 64),
    SMALL(ll_timegrad_config, "dilation_cycle", dilation_cycle, 1, 2),
    REAL(ll_timegrad_config, "min_scale", min_scale, 1e-12, 1e6),
    STEPS(ll_timegrad_config),
};

static const ll_field mtan[] = {
    WHOLE(ll_mtan_config, "n_ref", n_ref, 1, WIDTH),
    WHOLE(ll_mtan_config, "embed", embed, 2, WIDTH),
    SMALL(ll_mtan_config, "enc_heads", enc_heads, 1, 1024),
    SMALL(ll_mtan_config, "dec_heads", dec_heads, 1, 1024),
    WHOLE(ll_mtan_config, "rec", rec, 1, WIDTH),
    WHOLE(ll_mtan_config, "gen", gen, 1, WIDTH),
    WHOLE(ll_mtan_config, "latent", latent, 1, WIDTH),
    WHOLE(ll_mtan_config, "mlp", mlp, 1, WIDTH),
    WHOLE(ll_mtan_config, "n_out", n_out, 1, WIDTH),
    FLAG(ll_mtan_config, "learned", learned),
    REAL(ll_mtan_config, "units", units, 0, 1e9), /* 0: the steps of a window */
    CHOICE(ll_mtan_config, "spread", spread, ll_mtan_spreads),
    REAL(ll_mtan_config, "sd", sd, 1e-9, 1e9),
};

static const ll_field tpatchgnn[] = {
    WHOLE(ll_tpatchgnn_config, "width", width, 2, WIDTH),
    WHOLE(ll_tpatchgnn_config, "time_width", time_width, 2, WIDTH),
    WHOLE(ll_tpatchgnn_config, "node_width", node_width, 1, WIDTH),
    WHOLE(ll_tpatchgnn_config, "ff", ff, 1, WIDTH),
    SMALL(ll_tpatchgnn_config, "heads", n_heads, 1, 1024),
    SMALL(ll_tpatchgnn_config, "layers", n_layers, 1, 64),
    SMALL(ll_tpatchgnn_config, "transformer_layers", transformer_layers, 1, 64),
    SMALL(ll_tpatchgnn_config, "hops", hops, 1, 64),
    FLAG(ll_tpatchgnn_config, "convolution", convolution),
    WHOLE(ll_tpatchgnn_config, "patches", patches, 1, WIDTH),
    WHOLE(ll_tpatchgnn_config, "slots", slots, 0, WIDTH),
    REAL(ll_tpatchgnn_config, "dropout", dropout, 0, 0.99),
    HEAD(ll_tpatchgnn_config),
};

static const ll_field contiformer[] = {
    WHOLE(ll_contiformer_config, "width", width, 1, WIDTH),
    WHOLE(ll_contiformer_config, "inner", inner, 1, WIDTH),
    SMALL(ll_contiformer_config, "heads", n_heads, 1, 1024),
    SMALL(ll_contiformer_config, "layers", n_layers, 1, 64),
    CHOICE(ll_contiformer_config, "rule", rule, ll_contiformer_rules),
    SMALL(ll_contiformer_config, "nodes", n_nodes, 2, 3),
    SMALL(ll_contiformer_config, "steps", n_sub, 1, 1024),
    FLAG(ll_contiformer_config, "twice", twice),
    WHOLE(ll_contiformer_config, "rows", rows, 1, 1024),
    REAL(ll_contiformer_config, "dropout", dropout, 0, 0.99),
    HEAD(ll_contiformer_config),
};

static const ll_field neuralcde[] = {
    WHOLE(ll_neuralcde_config, "hidden", hidden, 1, WIDTH),
    WHOLE(ll_neuralcde_config, "field", field, 1, WIDTH),
    SMALL(ll_neuralcde_config, "layers", n_layers, 1, 64),
    CHOICE(ll_neuralcde_config, "spline", spline, ll_cde_splines),
    SMALL(ll_neuralcde_config, "steps", n_sub, 1, 1024),
    FLAG(ll_neuralcde_config, "query", query),
    WHOLE(ll_neuralcde_config, "horizon", horizon, 1, ROWS),
    WHOLE(ll_neuralcde_config, "read", read, 1, WIDTH),
    HEAD(ll_neuralcde_config),
};

static const ll_field csdi[] = {
    WHOLE(ll_csdi_config, "channels", channels, 1, WIDTH),
    WHOLE(ll_csdi_config, "step_width", step_width, 4, WIDTH),
    WHOLE(ll_csdi_config, "time_width", time_width, 1, WIDTH),
    WHOLE(ll_csdi_config, "feature_width", feature_width, 1, WIDTH),
    WHOLE(ll_csdi_config, "ff", ff, 1, WIDTH),
    SMALL(ll_csdi_config, "heads", n_heads, 1, 1024),
    SMALL(ll_csdi_config, "blocks", n_blocks, 1, 64),
    REAL(ll_csdi_config, "dropout", dropout, 0, 0.99),
    STEPS(ll_csdi_config),
};
/* clang-format on */

/* -------- configurations, docs/spec/rivals.md 12 -------- */

static const ll_rival_head quantiles = { 4, 25 }, point = { 1, 0 };

static void dlinear_native(const ll_rival_data *d, ll_rival_config *c)
{
    c->dlinear = (ll_dlinear_config){
        .horizon = d->horizon, .kernel = 25, .revin = true, .head = quantiles
    };
}

static void dlinear_adapter(const ll_rival_data *d, ll_rival_config *c)
{
    c->dlinear = (ll_dlinear_config){ .horizon = d->horizon, .kernel = 25, .head = point };
}

static void patchtst_native(const ll_rival_data *d, ll_rival_config *c)
{
    const bool    small = d->small || d->rhythm != LL_RIVAL_HOURLY;
    const bool    stays = d->rhythm == LL_RIVAL_STAYS || d->context < 32; /* two long patches */
    const int64_t patch = !stays ? 16 : d->context < 4 ? d->context : 4;
    c->patchtst = (ll_patchtst_config){ .horizon = d->horizon,
                                        .patch = patch,
                                        .stride = patch > 1 ? patch / 2 : 1,
                                        .width = small ? 16 : 128,
                                        .ff = small ? 128 : 256,
                                        .n_heads = small ? 4 : 16,
                                        .n_layers = 3,
                                        .norm = LL_PATCHTST_BATCH,
                                        .dropout = small ? 0.3 : 0.2,
                                        .revin = true,
                                        .head = quantiles };
}

static void patchtst_adapter(const ll_rival_data *d, ll_rival_config *c)
{
    const int64_t quarter = d->context / 4 < 4 ? 4 : d->context / 4;
    const int64_t fits = quarter < d->context ? quarter : d->context;
    const int64_t patch = fits < 16 ? fits : 16;
    c->patchtst = (ll_patchtst_config){ .horizon = d->horizon,
                                        .patch = patch,
                                        .stride = patch > 1 ? patch / 2 : 1,
                                        .width = 16,
                                        .ff = 32,
                                        .n_heads = 2,
                                        .n_layers = 1,
                                        .norm = LL_PATCHTST_BATCH,
                                        .head = point };
}

static void mrdiff_native(const ll_rival_data *d, ll_rival_config *c)
{
    static const ll_reals far = { 4, { 5, 25, 51, 201 } }, middle = { 3, { 5, 25, 51 } },
                          close = { 2, { 3, 5 } };
    c->mrdiff = (ll_mrdiff_config){ .horizon = d->horizon,
                                    .kernels = d->horizon >= 96   ? far
                                               : d->horizon >= 24 ? middle
                                                                  : close,
                                    .step_width = 128,
                                    .width = 256,
                                    .width_in = 64,
                                    .width_enc = 256,
                                    .layers_in = 3,
                                    .layers_enc = 3,
                                    .layers_dec = 3,
                                    .clip = 10.0,
                                    .dropout = 0.1,
                                    .steps = { 100, 1e-4, 0.1, LL_BETA_LINEAR } };
}

static void timegrad_native(const ll_rival_data *d, ll_rival_config *c)
{
    static const ll_reals lags[] = { [LL_RIVAL_HOURLY] = { 4, { 1, 2, 24, 168 } },
                                     [LL_RIVAL_DAILY] = { 4, { 1, 2, 5, 20 } },
                                     [LL_RIVAL_STAYS] = { 2, { 1, 2 } } };
    c->timegrad = (ll_timegrad_config){ .lags = lags[d->rhythm],
                                        .cells = 40,
                                        .cond = 100,
                                        .n_layers = 2,
                                        .dropout = 0.1,
                                        .channels = 8,
                                        .step_width = 16,
                                        .step_hidden = 64,
                                        .n_blocks = 8,
                                        .dilation_cycle = 2,
                                        .min_scale = 0.1,
                                        .steps = { 100, 1e-4, 0.1, LL_BETA_LINEAR } };
    /* Lags that leave half of the context to read. */
    ll_reals *l = &c->timegrad.lags;
    while (l->n > 1 && 2.0 * l->v[l->n - 1] > (double)d->context) l->n--;
}

static void mtan_native(const ll_rival_data *d, ll_rival_config *c)
{
    static const int64_t places[] = {
        [LL_RIVAL_HOURLY] = 128, [LL_RIVAL_DAILY] = 64, [LL_RIVAL_STAYS] = 24
    };
    c->mtan = (ll_mtan_config){ .n_ref = places[d->rhythm],
                                .embed = 128,
                                .enc_heads = 1,
                                .dec_heads = 1,
                                .rec = 64,
                                .gen = 50,
                                .latent = 16,
                                .mlp = 50,
                                .n_out = 1,
                                .spread = LL_MTAN_HEAD,
                                .sd = 1.0 };
}

static void tpatchgnn_native(const ll_rival_data *d, ll_rival_config *c)
{
    static const int64_t rows[] = {
        [LL_RIVAL_HOURLY] = 24, [LL_RIVAL_DAILY] = 20, [LL_RIVAL_STAYS] = 4
    };
    const int64_t each = rows[d->rhythm];
    c->tpatchgnn = (ll_tpatchgnn_config){ .width = 64,
                                          .time_width = 10,
                                          .node_width = 10,
                                          .ff = 2048,
                                          .n_heads = 1,
                                          .n_layers = 1,
                                          .transformer_layers = 1,
                                          .hops = 1,
                                          .dropout = 0.1,
                                          .patches = (d->context + each - 1) / each,
                                          .head = quantiles };
}

static void tpatchgnn_adapter(const ll_rival_data *d, ll_rival_config *c)
{
    tpatchgnn_native(d, c);
    c->tpatchgnn.width = 8;
    c->tpatchgnn.time_width = c->tpatchgnn.node_width = 4;
    c->tpatchgnn.head = point;
}

static void contiformer_native(const ll_rival_data *d, ll_rival_config *c)
{
    c->contiformer = (ll_contiformer_config){ .width = 64,
                                              .inner = 256,
                                              .n_heads = 4,
                                              .n_layers = 2,
                                              .rule = LL_CONTIFORMER_BILINEAR,
                                              .n_nodes = 2,
                                              .n_sub = 2,
                                              .dropout = 0.1,
                                              .rows = d->context > 96 ? 4 : 1,
                                              .head = quantiles };
}

static void neuralcde_native(const ll_rival_data *d, ll_rival_config *c)
{
    c->neuralcde = (ll_neuralcde_config){ .hidden = 64,
                                          .field = 128,
                                          .n_layers = 3,
                                          .spline = LL_CDE_HERMITE,
                                          .n_sub = 1,
                                          .query = true,
                                          .horizon = d->horizon,
                                          .read = 128,
                                          .head = quantiles };
}

static void neuralcde_adapter(const ll_rival_data *d, ll_rival_config *c)
{
    c->neuralcde = (ll_neuralcde_config){ .hidden = 8,
                                          .field = 16,
                                          .n_layers = 1,
                                          .spline = LL_CDE_NATURAL,
                                          .n_sub = 1,
                                          .horizon = d->horizon,
                                          .read = 8,
                                          .head = point };
}

static void csdi_native(const ll_rival_data *d, ll_rival_config *c)
{
    (void)d;
    c->csdi = (ll_csdi_config){ .channels = 64,
                                .step_width = 128,
                                .time_width = 128,
                                .feature_width = 16,
                                .ff = 64,
                                .n_heads = 8,
                                .n_blocks = 4,
                                .dropout = 0.1,
                                .steps = { 50, 1e-4, 0.5, LL_BETA_QUAD } };
}

static void csdi_adapter(const ll_rival_data *d, ll_rival_config *c)
{
    csdi_native(d, c);
    c->csdi.channels = 8;
    c->csdi.n_heads = c->csdi.n_blocks = 1;
    c->csdi.steps = (ll_noise_steps){ 4, 1e-4, 0.1, LL_BETA_LINEAR };
}

/* -------- what goes with what -------- */

static llap_status divides(const char *model, const char *what, int64_t heads, int64_t width)
{
    if (width % heads == 0) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "%s: %s: %lld does not divide the width %lld", model, what,
                   (long long)heads, (long long)width);
}

static llap_status check_head(const char *model, ll_rival_head h)
{
    if (h.q > 0 || h.p == 1) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "%s: numbers: expected 1 where there are no quantiles, found %lld",
                   model, (long long)h.p);
}

static llap_status check_odd(const char *model, const char *what, int64_t kernel)
{
    if (kernel % 2 == 1) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "%s: %s: expected odd numbers, found %lld", model, what,
                   (long long)kernel);
}

static llap_status dlinear_check(const ll_rival_data *d, const ll_rival_config *c)
{
    (void)d;
    const llap_status st = check_odd("dlinear", "kernel", c->dlinear.kernel);
    return st == LLAP_OK ? check_head("dlinear", c->dlinear.head) : st;
}

static llap_status patchtst_check(const ll_rival_data *d, const ll_rival_config *c)
{
    const ll_patchtst_config *p = &c->patchtst;
    if (p->patch > d->context)
        return ll_fail(LLAP_EINVAL, "patchtst: patch: %lld rows do not fit into a context of %lld",
                       (long long)p->patch, (long long)d->context);
    const llap_status st = divides("patchtst", "heads", p->n_heads, p->width);
    return st == LLAP_OK ? check_head("patchtst", p->head) : st;
}

static llap_status mrdiff_check(const ll_rival_data *d, const ll_rival_config *c)
{
    const ll_reals *k = &c->mrdiff.kernels;
    llap_status     st = LLAP_OK;
    (void)d;
    if (k->n >= LL_MRDIFF_STAGES)
        return ll_fail(LLAP_EINVAL, "mrdiff: kernels: expected at most %d, found %d",
                       LL_MRDIFF_STAGES - 1, k->n);
    for (int i = 0; i < k->n && st == LLAP_OK; i++)
        st = check_odd("mrdiff", "kernels", (int64_t)k->v[i]);
    return st;
}

static llap_status timegrad_check(const ll_rival_data *d, const ll_rival_config *c)
{
    const ll_reals *l = &c->timegrad.lags;
    if (l->n < 1 || l->n > LL_TIMEGRAD_LAGS)
        return ll_fail(LLAP_EINVAL, "timegrad: lags: expected 1 to %d, found %d", LL_TIMEGRAD_LAGS,
                       l->n);
    for (int i = 1; i < l->n; i++)
        if (!(l->v[i] > l->v[i - 1]))
            return ll_fail(LLAP_EINVAL,
                           "timegrad: lags: expected rising numbers, found %g behind %g", l->v[i],
                           l->v[i - 1]);
    if (l->v[l->n - 1] < (double)d->context) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "timegrad: lags: %g does not fit into a context of %lld rows",
                   l->v[l->n - 1], (long long)d->context);
}

static llap_status mtan_check(const ll_rival_data *d, const ll_rival_config *c)
{
    (void)d;
    const llap_status st = divides("mtan", "enc_heads", c->mtan.enc_heads, c->mtan.embed);
    return st == LLAP_OK ? divides("mtan", "dec_heads", c->mtan.dec_heads, c->mtan.embed) : st;
}

static llap_status tpatchgnn_check(const ll_rival_data *d, const ll_rival_config *c)
{
    (void)d;
    const llap_status st = divides("tpatchgnn", "heads", c->tpatchgnn.n_heads, c->tpatchgnn.width);
    return st == LLAP_OK ? check_head("tpatchgnn", c->tpatchgnn.head) : st;
}

static llap_status contiformer_check(const ll_rival_data *d, const ll_rival_config *c)
{
    (void)d;
    const llap_status st =
        divides("contiformer", "heads", c->contiformer.n_heads, c->contiformer.width);
    return st == LLAP_OK ? check_head("contiformer", c->contiformer.head) : st;
}

static llap_status neuralcde_check(const ll_rival_data *d, const ll_rival_config *c)
{
    (void)d;
    return check_head("neuralcde", c->neuralcde.head);
}

static llap_status csdi_check(const ll_rival_data *d, const ll_rival_config *c)
{
    (void)d;
    return divides("csdi", "heads", c->csdi.n_heads, c->csdi.channels);
}

/* clang-format off */
#define MODEL(id, title, adapter) { #id, title, id, (int)(sizeof id / sizeof *id), id##_native, adapter, id##_check }
const ll_rival ll_rivals[LL_RIVALS] = {
    MODEL(dlinear, "DLinear", dlinear_adapter),
    MODEL(patchtst, "PatchTST", patchtst_adapter),
    MODEL(mrdiff, "mr-Diff", NULL),
    MODEL(timegrad, "TimeGrad", NULL),
    MODEL(mtan, "mTAN", NULL),
    MODEL(tpatchgnn, "T-PatchGNN", tpatchgnn_adapter),
    MODEL(contiformer, "ContiFormer", NULL),
    MODEL(neuralcde, "Neural CDE", neuralcde_adapter),
    MODEL(csdi, "CSDI", csdi_adapter),
};
/* clang-format on */

const ll_rival *ll_rival_named(const char *name)
{
    for (int i = 0; i < LL_RIVALS; i++)
        if (strcmp(ll_rivals[i].name, name) == 0) return &ll_rivals[i];
    return NULL;
}

llap_status ll_rival_check(const ll_rival *r, const ll_rival_data *d, const ll_rival_config *c)
{
    const llap_status st = ll_fields_check(r->name, r->field, r->n_fields, c);
    return st == LLAP_OK ? r->check(d, c) : st;
}
