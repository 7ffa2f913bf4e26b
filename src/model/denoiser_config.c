/* The denoiser's configuration, its start and its folded weights. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/rng.h"
#include "model/modal.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* -------- configuration -------- */

static const char *const rho_modes[] = { "raw", "legacy_effective", NULL };
static const char *const pool_modes[] = { "mean", "attn", NULL };
static const char *const stream_modes[] = { "residues", "tokens", NULL };

const llap_field llap_denoiser_fields[LLAP_DENOISER_FIELDS] = {
/* clang-format off */
#define AT(name) #name, .offset = offsetof(llap_denoiser_config, name)
    { AT(data_dim),   .kind = LLAP_FIELD_INT, .low = 1, .high = 1 << 16 },
    { AT(hidden_dim), .kind = LLAP_FIELD_INT, .low = 1, .high = 1 << 16 },
    { AT(num_layers), .kind = LLAP_FIELD_INT, .low = 0, .high = LLAP_DENOISER_MAX_LAYERS },
    { AT(num_heads),  .kind = LLAP_FIELD_INT, .low = 1, .high = 1 << 10 },
    { AT(laplace_k),  .kind = LLAP_FIELD_INT, .low = 1, .high = 1 << 16 },
    { AT(timesteps),  .kind = LLAP_FIELD_INT, .low = 2, .high = 1 << 20 },
    { AT(mlp_ratio),  .kind = LLAP_FIELD_REAL, .low = 1.0 / 16, .high = 64 },
    { AT(dropout),      .kind = LLAP_FIELD_REAL, .low = 0, .high = 0.99 },
    { AT(attn_dropout), .kind = LLAP_FIELD_REAL, .low = 0, .high = 0.99 },
    { AT(rho_conditioning_mode), .kind = LLAP_FIELD_CHOICE, .names = rho_modes },
    { AT(summary_pool_mode),     .kind = LLAP_FIELD_CHOICE, .names = pool_modes },
    { AT(self_conditioning),           .kind = LLAP_FIELD_BOOL },
    { AT(pole_pool_use_raw_summary),   .kind = LLAP_FIELD_BOOL },
    { AT(block_summary_adaln),         .kind = LLAP_FIELD_BOOL },
    { AT(analysis_summary_qk),         .kind = LLAP_FIELD_BOOL },
    { AT(analysis_qk_use_raw_summary), .kind = LLAP_FIELD_BOOL },
    { AT(cross_first),      .kind = LLAP_FIELD_BOOL },
    { AT(use_mlp_residual), .kind = LLAP_FIELD_BOOL },
    { AT(fixed_poles),      .kind = LLAP_FIELD_BOOL },
    { AT(frozen_poles),     .kind = LLAP_FIELD_BOOL },
    { AT(stream),         .kind = LLAP_FIELD_CHOICE, .names = stream_modes },
    { AT(query_features), .kind = LLAP_FIELD_INT, .low = 0, .high = 1 << 16 },
    { AT(synthesis_dim),  .kind = LLAP_FIELD_INT, .low = 0, .high = 1 << 16 },
#undef AT
    /* clang-format on */
};

llap_status llap_denoiser_config_check(const llap_denoiser_config *c)
{
    const llap_status st =
        llap_fields_check("denoiser", llap_denoiser_fields, LLAP_DENOISER_FIELDS, c);
    if (st != LLAP_OK || c->hidden_dim % c->num_heads == 0) return st;
    return llap_fail(LLAP_EINVAL, "denoiser: num_heads: %lld does not divide hidden_dim %lld",
                     (long long)c->num_heads, (long long)c->hidden_dim);
}

llap_status llap_denoiser_config_read(const llap_json *j, const char *path, llap_denoiser_config *c)
{
    const llap_status st = llap_fields_read(j, path, llap_denoiser_fields, LLAP_DENOISER_FIELDS, c);
    return st == LLAP_OK ? llap_denoiser_config_check(c) : st;
}

void llap_denoiser_config_write(llap_json_writer *w, const llap_denoiser_config *c)
{
    llap_fields_write(w, llap_denoiser_fields, LLAP_DENOISER_FIELDS, c);
}

/* -------- start -------- */

static const llap_param_info *named(const llap_params *p, const char *prefix, const char *name)
{
    char full[256];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return llap_params_find(p, full);
}

typedef struct pole {
    double rho, omega; /* per time unit */
} pole;

static void put_pole(llap_params *p, const llap_param_info *rho, const llap_param_info *omega,
                     int64_t k, pole at)
{
    const double turn = fmin(fmax(at.omega / LLAP_PI, 1e-4), 0.95);
    llap_param_set(p, rho, k, log(expm1(fmax(at.rho - LLAP_RHO_MIN, 1e-8))));
    llap_param_set(p, omega, k, log(turn / (1.0 - turn)));
}

/* low (high / low)^u */
static double log_uniform(double low, double high, double u) { return low * pow(high / low, u); }

/* Spec 4.2: rho uniform on (0.01, 0.2), omega log-uniform on (0.01 pi, 0.95 pi). */
static pole reference_pole(double u, double v)
{
    return (pole){ 0.01 + 0.19 * u, log_uniform(0.01 * LLAP_PI, 0.95 * LLAP_PI, v) };
}

/* Spec accuracy.md 4.7; ten of the calendar, then two weeks to twice the time unit. */
static pole calendar_pole(int64_t k, double unit_hours, double u, double v)
{
    static const pole slow[] = { { 1.0 / 400, 1e-3 }, { 1.0 / 48, 1e-3 }, { 1.0 / 8, 1e-3 } };
    pole              hourly = { 1.0 / 300, 0.0 }; /* rates per hour */
    if (k < 4) hourly.omega = 2.0 * LLAP_PI * (double)(k + 1) / 24.0;
    else if (k < 7) hourly.omega = 2.0 * LLAP_PI * (double)(k - 3) / 168.0;
    else if (k < 10) hourly = slow[k - 7];
    const pole at = { hourly.rho * unit_hours, hourly.omega * unit_hours };
    if (k < 10 && at.omega <= 0.95 * LLAP_PI) return at;
    return (pole){ log_uniform(1.0 / 400, 0.5, u),
                   log_uniform(2.0 * LLAP_PI / 336.0, 0.95 * LLAP_PI, v) };
}

/* unit_hours 0: as the reference */
static void start_poles(llap_params *p, const char *prefix, uint64_t seed, double unit_hours)
{
    const llap_param_info *rho = named(p, prefix, "model.analysis._rho_raw");
    const llap_param_info *omega = named(p, prefix, "model.analysis._omega_raw");
    const llap_rng r = llap_rng_make(seed, LLAP_STREAM_INIT, llap_hash(0, "poles", 5), 0, 0);
    for (int64_t k = 0; rho != NULL && omega != NULL && k < rho->count; k++) {
        const double u = (double)llap_rng_uniform(&r, (uint64_t)(2 * k));
        const double v = (double)llap_rng_uniform(&r, (uint64_t)(2 * k + 1));
        put_pole(p, rho, omega, k,
                 unit_hours > 0.0 ? calendar_pole(k, unit_hours, u, v) : reference_pole(u, v));
    }
}

llap_status llap_denoiser_init(llap_params *p, const char *prefix, uint64_t seed)
{
    start_poles(p, prefix, seed, 0.0);
    return llap_params_power_iterate(p, 20);
}

llap_status llap_denoiser_init_calendar(llap_params *p, const char *prefix, uint64_t seed,
                                        double unit_hours)
{
    if (!(unit_hours > 0.0 && isfinite(unit_hours)))
        return llap_fail(LLAP_EINVAL, "denoiser: a time unit of %g hours", unit_hours);
    start_poles(p, prefix, seed, unit_hours);
    return llap_params_power_iterate(p, 20);
}

/* -------- folded weights, spec 9.1 -------- */

void llap_fold_params(llap_graph *g, int64_t width, int64_t in, int64_t n_bias, llap_tensor **w,
                      llap_tensor **b)
{
    llap_scope_push(g, "fold");
    *w = llap_state(g, "weight", LLAP_SHAPE(width, in), LLAP_INIT_ZERO);
    *b = llap_state(g, "bias", LLAP_SHAPE(n_bias), LLAP_INIT_ZERO);
    llap_scope_pop(g);
}

llap_tensor *llap_folded_linear(llap_graph *g, llap_tensor *x, int64_t width)
{
    llap_tensor *w, *b;
    llap_fold_params(g, width, llap_dim(x, -1), width, &w, &b);
    return llap_linear(g, x, w, b);
}

typedef struct layer {
    const llap_param_info *w, *b; /* [out,in], [out] */
} layer;

static const llap_param_info *find_array(const llap_params *p, const llap_fold_opts *o,
                                         const char *scope, const char *name, const char *what)
{
    char                   full[512];
    const char            *prefix = o->prefix == NULL ? "" : o->prefix;
    const llap_param_info *found = NULL;
    snprintf(full, sizeof full, "ema.%s%s%s%s%s", prefix, scope, name, name[0] == 0 ? "" : ".",
             what);
    if (o->part == LLAP_PARAMS_EMA) found = llap_params_find(p, full);
    return found != NULL ? found : llap_params_find(p, full + 4);
}

static llap_status find_layer(const llap_params *p, const llap_fold_opts *o, const char *scope,
                              const char *name, layer *out)
{
    out->w = find_array(p, o, scope, name, "weight");
    out->b = find_array(p, o, scope, name, "bias");
    if (out->w != NULL && out->b != NULL) return LLAP_OK;
    return llap_fail(LLAP_ENOTFOUND, "fold: '%s%s' is not in the model", scope, name);
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

static numbers numbers_of(const llap_params *p, const llap_param_info *i)
{
    const bool floats = llap_params_backend(p)->real_bytes == sizeof(float);
    return (numbers){ .f = floats ? i->data : NULL, .d = floats ? NULL : i->data };
}

static inline double at(numbers x, int64_t k) { return x.f != NULL ? (double)x.f[k] : x.d[k]; }

/* hid2coef (mlp.3 x + b) as one layer; the bias of hid2coef is added where x reaches it by the
 * block's residual. */
static llap_status multiply(const llap_params *m, const layer *inner, const layer *outer,
                            llap_params *to, const layer *fold)
{
    const int64_t n = outer->w->shape.dim[0], mid = outer->w->shape.dim[1];
    const int64_t in = inner->w->shape.dim[1];
    if (inner->w->shape.dim[0] != mid || fold->w->count != n * in || fold->b->count != n)
        return llap_fail(LLAP_EINVAL, "fold: '%s' does not fit its layers", fold->w->name);
    double *a = llap_new((size_t)(n * mid + mid * TILE + 1), sizeof *a), *w = a + n * mid;
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
                llap_param_set(to, fold->w, i * in + first + j, acc[j]);
            if (last < TILE) llap_param_set(to, fold->b, i, acc[last]);
        }
    }
    llap_free(a);
    return LLAP_OK;
}

/* F = out_proj attention.out_proj by heads, times the value projection: rows of the fold are (head,
 * z), its bias is what theta gets of all biases, because weights of a head sum to 1. */
static llap_status multiply_values(const llap_params *m, const layer *proj, const layer *outer,
                                   const layer *values, llap_params *to, const layer *fold)
{
    const int64_t Z = outer->w->shape.dim[0], H = outer->w->shape.dim[1];
    const int64_t heads = Z > 0 ? fold->w->shape.dim[0] / Z : 0, d = heads > 0 ? H / heads : 0;
    if (proj->w->count != H * H || values->w->count != 3 * H * H || fold->b->count != Z ||
        fold->w->count != heads * Z * H || heads * d != H)
        return llap_fail(LLAP_EINVAL, "fold: '%s' does not fit its layers", fold->w->name);
    double *f = llap_new((size_t)(2 * H + 1), sizeof *f), *row = f + H;
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
            for (int64_t i = 0; i < H; i++)
                llap_param_set(to, fold->w, (n * Z + z) * H + i, row[i]);
        }
        llap_param_set(to, fold->b, z, bias);
    }
    llap_free(f);
    return LLAP_OK;
}

/* A layer divided by its spectral norm u . W v. */
static llap_status divide(const llap_params *m, const llap_fold_opts *o, const char *scope,
                          llap_params *to, const layer *fold)
{
    const llap_param_info *w = find_array(m, o, scope, "", "weight_orig"),
                          *b = find_array(m, o, scope, "", "bias"),
                          *u = find_array(m, o, scope, "", "weight_u"),
                          *v = find_array(m, o, scope, "", "weight_v");
    double sigma = 0.0;
    if (w == NULL || b == NULL || u == NULL || v == NULL)
        return llap_fail(LLAP_ENOTFOUND, "fold: '%s' is not in the model", scope);
    if (w->count != fold->w->count || b->count != fold->b->count || u->count * v->count != w->count)
        return llap_fail(LLAP_EINVAL, "fold: '%s' does not fit its layer", fold->w->name);
    const numbers ws = numbers_of(m, w), us = numbers_of(m, u), vs = numbers_of(m, v);
    for (int64_t i = 0; i < u->count; i++)
        for (int64_t j = 0; j < v->count; j++)
            sigma += at(us, i) * at(ws, i * v->count + j) * at(vs, j);
    for (int64_t k = 0; k < w->count; k++) llap_param_set(to, fold->w, k, at(ws, k) / sigma);
    for (int64_t k = 0; k < b->count; k++) llap_param_set(to, fold->b, k, at(numbers_of(m, b), k));
    return LLAP_OK;
}

static bool ends_with(const char *x, const char *end)
{
    const size_t n = strlen(x), m = strlen(end);
    return n >= m && strcmp(x + n - m, end) == 0;
}

/* "SCOPEfold.weight": of the analysis, of the synthesis, or of a block */
static llap_status fold_one(const llap_params *model, const llap_fold_opts *o, llap_params *folds,
                            const char *name, size_t n_scope)
{
    char  scope[256];
    layer inner, outer, fold, values;
    snprintf(scope, sizeof scope, "%.*s", (int)n_scope, name);
    const bool  analysis = ends_with(scope, "analysis.");
    llap_status st = find_layer(folds, &(llap_fold_opts){ 0 }, scope, "fold", &fold);
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
        return llap_fail(LLAP_ENOTFOUND, "fold: '%sattention' is not in the model", scope);
    return multiply_values(model, &inner, &outer, &values, folds, &fold);
}

llap_status llap_denoiser_fold(const llap_params *model, const llap_fold_opts *o,
                               llap_params *folds)
{
    static const char end[] = "fold.weight";
    llap_status       st = LLAP_OK;
    for (int i = 0; i < llap_params_count(folds) && st == LLAP_OK; i++) {
        const char *name = llap_params_at(folds, i)->name;
        if (ends_with(name, end))
            st = fold_one(model, o, folds, name, strlen(name) - (sizeof end - 1));
    }
    return st;
}
