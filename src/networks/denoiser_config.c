/* The denoiser's configuration, its start and its folded weights. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"
#include "networks/modal.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* -------- configuration -------- */

static const char *const rho_modes[] = { "raw", "legacy_effective", NULL };
static const char *const pool_modes[] = { "mean", "attn", NULL };
static const char *const stream_modes[] = { "residues", "tokens", NULL };

const ll_field ll_denoiser_fields[LL_DENOISER_FIELDS] = {
/* clang-format off */
#define AT(name) #name, .offset = offsetof(ll_denoiser_config, name)
    { AT(data_dim),   .kind = LL_FIELD_INT, .low = 1, .high = 1 << 16 },
    { AT(hidden_dim), .kind = LL_FIELD_INT, .low = 1, .high = 1 << 16 },
    { AT(num_layers), .kind = LL_FIELD_INT, .low = 0, .high = LL_DENOISER_MAX_LAYERS },
    { AT(num_heads),  .kind = LL_FIELD_INT, .low = 1, .high = 1 << 10 },
    { AT(laplace_k),  .kind = LL_FIELD_INT, .low = 1, .high = 1 << 16 },
    { AT(timesteps),  .kind = LL_FIELD_INT, .low = 2, .high = 1 << 20 },
    { AT(mlp_ratio),  .kind = LL_FIELD_REAL, .low = 1.0 / 16, .high = 64 },
    { AT(dropout),      .kind = LL_FIELD_REAL, .low = 0, .high = 0.99 },
    { AT(attn_dropout), .kind = LL_FIELD_REAL, .low = 0, .high = 0.99 },
    { AT(rho_conditioning_mode), .kind = LL_FIELD_CHOICE, .names = rho_modes },
    { AT(summary_pool_mode),     .kind = LL_FIELD_CHOICE, .names = pool_modes },
    { AT(self_conditioning),           .kind = LL_FIELD_BOOL },
    { AT(pole_pool_use_raw_summary),   .kind = LL_FIELD_BOOL },
    { AT(block_summary_adaln),         .kind = LL_FIELD_BOOL },
    { AT(analysis_summary_qk),         .kind = LL_FIELD_BOOL },
    { AT(analysis_qk_use_raw_summary), .kind = LL_FIELD_BOOL },
    { AT(cross_first),      .kind = LL_FIELD_BOOL },
    { AT(use_mlp_residual), .kind = LL_FIELD_BOOL },
    { AT(fixed_poles),      .kind = LL_FIELD_BOOL },
    { AT(frozen_poles),     .kind = LL_FIELD_BOOL },
    { AT(stream),         .kind = LL_FIELD_CHOICE, .names = stream_modes },
    { AT(query_features), .kind = LL_FIELD_INT, .low = 0, .high = 1 << 16 },
    { AT(synthesis_dim),  .kind = LL_FIELD_INT, .low = 0, .high = 1 << 16 },
#undef AT
    /* clang-format on */
};

llap_status ll_denoiser_config_check(const ll_denoiser_config *c)
{
    const llap_status st = ll_fields_check("denoiser", ll_denoiser_fields, LL_DENOISER_FIELDS, c);
    if (st != LLAP_OK || c->hidden_dim % c->num_heads == 0) return st;
    return ll_fail(LLAP_EINVAL, "denoiser: num_heads: %lld does not divide hidden_dim %lld",
                   (long long)c->num_heads, (long long)c->hidden_dim);
}

llap_status ll_denoiser_config_read(const ll_json *j, const char *path, ll_denoiser_config *c)
{
    const llap_status st = ll_fields_read(j, path, ll_denoiser_fields, LL_DENOISER_FIELDS, c);
    return st == LLAP_OK ? ll_denoiser_config_check(c) : st;
}

void ll_denoiser_config_write(ll_json_writer *w, const ll_denoiser_config *c)
{
    ll_fields_write(w, ll_denoiser_fields, LL_DENOISER_FIELDS, c);
}

/* -------- start -------- */

static const ll_param_info *named(const ll_params *p, const char *prefix, const char *name)
{
    char full[256];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return ll_params_find(p, full);
}

typedef struct pole {
    double rho, omega; /* per time unit */
} pole;

static void put_pole(ll_params *p, const ll_param_info *rho, const ll_param_info *omega, int64_t k,
                     pole at)
{
    const double turn = fmin(fmax(at.omega / LL_PI, 1e-4), 0.95);
    ll_param_set(p, rho, k, log(expm1(fmax(at.rho - LL_RHO_MIN, 1e-8))));
    ll_param_set(p, omega, k, log(turn / (1.0 - turn)));
}

/* low (high / low)^u */
static double log_uniform(double low, double high, double u)
{
    assert(low > 0.0 && low < high && u >= 0.0 && u <= 1.0);
    return low * pow(high / low, u);
}

/* docs/spec/model.md 4.2: rho uniform on (0.01, 0.2), omega log-uniform on (0.01 pi, 0.95 pi). */
static pole reference_pole(double u, double v)
{
    return (pole){ 0.01 + 0.19 * u, log_uniform(0.01 * LL_PI, 0.95 * LL_PI, v) };
}

/* docs/spec/anchor.md 8.5; ten of the calendar, then two weeks to twice the time unit. */
static pole calendar_pole(int64_t k, double unit_hours, double u, double v)
{
    static const pole slow[] = { { 1.0 / 400, 1e-3 }, { 1.0 / 48, 1e-3 }, { 1.0 / 8, 1e-3 } };
    pole              hourly = { 1.0 / 300, 0.0 }; /* rates per hour */
    if (k < 4) hourly.omega = 2.0 * LL_PI * (double)(k + 1) / 24.0;
    else if (k < 7) hourly.omega = 2.0 * LL_PI * (double)(k - 3) / 168.0;
    else if (k < 10) hourly = slow[k - 7];
    const pole at = { hourly.rho * unit_hours, hourly.omega * unit_hours };
    if (k < 10 && at.omega <= 0.95 * LL_PI) return at;
    return (pole){ log_uniform(1.0 / 400, 0.5, u),
                   log_uniform(2.0 * LL_PI / 336.0, 0.95 * LL_PI, v) };
}

/* unit_hours 0: as the reference */
static void start_poles(ll_params *p, const char *prefix, uint64_t seed, double unit_hours)
{
    const ll_param_info *rho = named(p, prefix, "model.analysis._rho_raw");
    const ll_param_info *omega = named(p, prefix, "model.analysis._omega_raw");
    const ll_rng         r = ll_rng_make(seed, LL_STREAM_INIT, ll_hash(0, "poles", 5), 0, 0);
    assert(rho == NULL || omega == NULL || rho->count == omega->count);
    for (int64_t k = 0; rho != NULL && omega != NULL && k < rho->count; k++) {
        const double u = (double)ll_rng_uniform(&r, (uint64_t)(2 * k));
        const double v = (double)ll_rng_uniform(&r, (uint64_t)(2 * k + 1));
        put_pole(p, rho, omega, k,
                 unit_hours > 0.0 ? calendar_pole(k, unit_hours, u, v) : reference_pole(u, v));
    }
}

llap_status ll_denoiser_init(ll_params *p, const char *prefix, uint64_t seed)
{
    start_poles(p, prefix, seed, 0.0);
    return ll_params_power_iterate(p, 20);
}

llap_status ll_denoiser_init_calendar(ll_params *p, const char *prefix, uint64_t seed,
                                      double unit_hours)
{
    if (!(unit_hours > 0.0 && isfinite(unit_hours)))
        return ll_fail(LLAP_EINVAL, "denoiser: a time unit of %g hours", unit_hours);
    start_poles(p, prefix, seed, unit_hours);
    return ll_params_power_iterate(p, 20);
}

/* -------- folded weights, docs/spec/model.md 9.1 -------- */

void ll_fold_params(ll_graph *g, int64_t width, int64_t in, int64_t n_bias, ll_tensor **w,
                    ll_tensor **b)
{
    ll_scope_push(g, "fold");
    *w = ll_state(g, "weight", LL_SHAPE(width, in), LL_INIT_ZERO);
    *b = ll_state(g, "bias", LL_SHAPE(n_bias), LL_INIT_ZERO);
    ll_scope_pop(g);
}

ll_tensor *ll_folded_linear(ll_graph *g, ll_tensor *x, int64_t width)
{
    ll_tensor *w, *b;
    ll_fold_params(g, width, ll_dim(x, -1), width, &w, &b);
    return ll_linear(g, x, w, b);
}

typedef struct layer {
    const ll_param_info *w, *b; /* [out,in], [out] */
} layer;

static const ll_param_info *find_array(const ll_params *p, const ll_fold_opts *o, const char *scope,
                                       const char *name, const char *what)
{
    char                 full[512];
    const char          *prefix = o->prefix == NULL ? "" : o->prefix;
    const ll_param_info *found = NULL;
    snprintf(full, sizeof full, "ema.%s%s%s%s%s", prefix, scope, name, name[0] == 0 ? "" : ".",
             what);
    if (o->part == LL_PARAMS_EMA) found = ll_params_find(p, full);
    return found != NULL ? found : ll_params_find(p, full + 4);
}

static llap_status find_layer(const ll_params *p, const ll_fold_opts *o, const char *scope,
                              const char *name, layer *out)
{
    out->w = find_array(p, o, scope, name, "weight");
    out->b = find_array(p, o, scope, name, "bias");
    if (out->w != NULL && out->b != NULL) return LLAP_OK;
    return ll_fail(LLAP_ENOTFOUND, "fold: '%s%s' is not in the model", scope, name);
}

/* Columns of a product that are made together: they stay in registers, and their part of the inner
 * weights in the first cache. */
enum { TILE = 8 };

/* acc[j] += sum_k a[k] w[k,j], k in order, for the TILE columns of w [mid,TILE] */
static void add_products(const double *a, const double *w, int64_t mid, double *acc)
{
    typedef double pair __attribute__((vector_size(2 * sizeof(double)), aligned(8), may_alias));
    const pair    *x = (const pair *)(const void *)w;
    pair          *out = (pair *)(void *)acc, s0 = out[0], s1 = out[1], s2 = out[2], s3 = out[3];
    for (int64_t k = 0; k < mid; k++, x += TILE / 2) {
        s0 += a[k] * x[0];
        s1 += a[k] * x[1];
        s2 += a[k] * x[2];
        s3 += a[k] * x[3];
    }
    out[0] = s0, out[1] = s1, out[2] = s2, out[3] = s3;
}

typedef struct numbers { /* of a store of floats, or of doubles */
    const float  *f;
    const double *d;
} numbers;

static numbers numbers_of(const ll_params *p, const ll_param_info *i)
{
    const bool floats = ll_params_backend(p)->real_bytes == sizeof(float);
    assert(i->elem == LL_REAL);
    return (numbers){ .f = floats ? i->data : NULL, .d = floats ? NULL : i->data };
}

static inline double at(numbers x, int64_t k) { return x.f != NULL ? (double)x.f[k] : x.d[k]; }

/* hid2coef (mlp.3 x + b) as one layer; the bias of hid2coef is added where x reaches it by the
 * block's residual. */
static llap_status multiply(const ll_params *m, const layer *inner, const layer *outer,
                            ll_params *to, const layer *fold)
{
    const int64_t n = outer->w->shape.dim[0], mid = outer->w->shape.dim[1];
    const int64_t in = inner->w->shape.dim[1];
    if (inner->w->shape.dim[0] != mid || fold->w->count != n * in || fold->b->count != n)
        return ll_fail(LLAP_EINVAL, "fold: '%s' does not fit its layers", fold->w->name);
    double *a = ll_new((size_t)(n * mid + mid * TILE + 1), sizeof *a), *w = a + n * mid;
    if (a == NULL) return LLAP_ENOMEM;
    const numbers wo = numbers_of(m, outer->w), wi = numbers_of(m, inner->w);
    const numbers bi = numbers_of(m, inner->b);
    for (int64_t k = 0; k < n * mid; k++) a[k] = at(wo, k);
    /* The bias is one column more, behind the last. */
    for (int64_t first = 0; first <= in; first += TILE) {
        const int64_t last = in - first; /* the column of the bias */
        for (int64_t k = 0; k < mid; k++)
            for (int64_t j = 0; j < TILE; j++)
                w[k * TILE + j] = j < last    ? at(wi, k * in + first + j)
                                  : j == last ? at(bi, k)
                                              : 0.0;
        for (int64_t i = 0; i < n; i++) {
            double acc[TILE] = { 0.0 };
            add_products(a + i * mid, w, mid, acc);
            for (int64_t j = 0; j < TILE && j < last; j++)
                ll_param_set(to, fold->w, i * in + first + j, acc[j]);
            if (last < TILE) ll_param_set(to, fold->b, i, acc[last]);
        }
    }
    ll_free(a);
    return LLAP_OK;
}

/* F = out_proj attention.out_proj by heads, times the value projection: rows of the fold are (head,
 * z), its bias is what theta gets of all biases, because weights of a head sum to 1. */
static llap_status multiply_values(const ll_params *m, const layer *proj, const layer *outer,
                                   const layer *values, ll_params *to, const layer *fold)
{
    const int64_t Z = outer->w->shape.dim[0], H = outer->w->shape.dim[1];
    const int64_t heads = Z > 0 ? fold->w->shape.dim[0] / Z : 0, d = heads > 0 ? H / heads : 0;
    if (proj->w->count != H * H || values->w->count != 3 * H * H || fold->b->count != Z ||
        fold->w->count != heads * Z * H || heads * d != H)
        return ll_fail(LLAP_EINVAL, "fold: '%s' does not fit its layers", fold->w->name);
    double *f = ll_new((size_t)(2 * H + 1), sizeof *f), *row = f + H;
    if (f == NULL) return LLAP_ENOMEM;
    const numbers wo = numbers_of(m, outer->w), bo = numbers_of(m, outer->b);
    const numbers wp = numbers_of(m, proj->w), bp = numbers_of(m, proj->b);
    const numbers wv = numbers_of(m, values->w), bv = numbers_of(m, values->b);
    for (int64_t z = 0; z < Z; z++) {
        double bias = at(bo, z);
        memset(f, 0, (size_t)H * sizeof *f);
        for (int64_t k = 0; k < H; k++) { /* row z of F */
            const double a = at(wo, z * H + k);
            for (int64_t j = 0; j < H; j++) f[j] += a * at(wp, k * H + j);
            bias += a * at(bp, k);
        }
        for (int64_t j = 0; j < H; j++) bias += f[j] * at(bv, 2 * H + j);
        for (int64_t n = 0; n < heads; n++) {
            memset(row, 0, (size_t)H * sizeof *row);
            for (int64_t j = n * d; j < (n + 1) * d; j++)
                for (int64_t i = 0; i < H; i++) row[i] += f[j] * at(wv, (2 * H + j) * H + i);
            for (int64_t i = 0; i < H; i++) ll_param_set(to, fold->w, (n * Z + z) * H + i, row[i]);
        }
        ll_param_set(to, fold->b, z, bias);
    }
    ll_free(f);
    return LLAP_OK;
}

/* A layer divided by its spectral norm u . W v. */
static llap_status divide(const ll_params *m, const ll_fold_opts *o, const char *scope,
                          ll_params *to, const layer *fold)
{
    const ll_param_info *w = find_array(m, o, scope, "", "weight_orig"),
                        *b = find_array(m, o, scope, "", "bias"),
                        *u = find_array(m, o, scope, "", "weight_u"),
                        *v = find_array(m, o, scope, "", "weight_v");
    double sigma = 0.0;
    if (w == NULL || b == NULL || u == NULL || v == NULL)
        return ll_fail(LLAP_ENOTFOUND, "fold: '%s' is not in the model", scope);
    if (w->count != fold->w->count || b->count != fold->b->count || u->count * v->count != w->count)
        return ll_fail(LLAP_EINVAL, "fold: '%s' does not fit its layer", fold->w->name);
    const numbers ws = numbers_of(m, w), us = numbers_of(m, u), vs = numbers_of(m, v);
    for (int64_t i = 0; i < u->count; i++)
        for (int64_t j = 0; j < v->count; j++)
            sigma += at(us, i) * at(ws, i * v->count + j) * at(vs, j);
    for (int64_t k = 0; k < w->count; k++) ll_param_set(to, fold->w, k, at(ws, k) / sigma);
    for (int64_t k = 0; k < b->count; k++) ll_param_set(to, fold->b, k, at(numbers_of(m, b), k));
    return LLAP_OK;
}

static bool ends_with(const char *x, const char *end)
{
    const size_t n = strlen(x), m = strlen(end);
    return n >= m && strcmp(x + n - m, end) == 0;
}

/* "SCOPEfold.weight": of the analysis, of the synthesis, or of a block */
static llap_status fold_one(const ll_params *model, const ll_fold_opts *o, ll_params *folds,
                            const char *name, size_t n_scope)
{
    char  scope[256];
    layer inner, outer, fold, values;
    assert(n_scope < sizeof scope);
    snprintf(scope, sizeof scope, "%.*s", (int)n_scope, name);
    const bool  analysis = ends_with(scope, "analysis.");
    llap_status st = find_layer(folds, &(ll_fold_opts){ 0 }, scope, "fold", &fold);
    if (ends_with(scope, "mlp_in.") || ends_with(scope, "mlp_out."))
        return st == LLAP_OK ? divide(model, o, scope, folds, &fold) : st;
    if (st == LLAP_OK)
        st =
            find_layer(model, o, scope, analysis ? "attention.out_proj" : "self_blk.mlp.3", &inner);
    if (st == LLAP_OK) st = find_layer(model, o, scope, analysis ? "out_proj" : "hid2coef", &outer);
    if (st != LLAP_OK || !analysis)
        return st == LLAP_OK ? multiply(model, &inner, &outer, folds, &fold) : st;
    values = (layer){ find_array(model, o, scope, "attention", "in_proj_weight"),
                      find_array(model, o, scope, "attention", "in_proj_bias") };
    if (values.w == NULL || values.b == NULL)
        return ll_fail(LLAP_ENOTFOUND, "fold: '%sattention' is not in the model", scope);
    return multiply_values(model, &inner, &outer, &values, folds, &fold);
}

llap_status ll_denoiser_fold(const ll_params *model, const ll_fold_opts *o, ll_params *folds)
{
    static const char end[] = "fold.weight";
    llap_status       st = LLAP_OK;
    for (int i = 0; i < ll_params_count(folds) && st == LLAP_OK; i++) {
        const char *name = ll_params_at(folds, i)->name;
        if (ends_with(name, end))
            st = fold_one(model, o, folds, name, strlen(name) - (sizeof end - 1));
    }
    return st;
}
