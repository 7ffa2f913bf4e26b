/* What several of the published models are made of (docs/spec/rivals.md 2).
 *
 * Letters: B windows, K context rows, H query rows, C channels, d width. Masks hold 0 or 1. */
#ifndef LL_RIVALS_COMMON_H
#define LL_RIVALS_COMMON_H

#include "base/json/fields.h"
#include "nn/params.h"

/* -------- on the host -------- */

/* The last observed value; before the first one, the first; 0 where there is none. x, m, out
 * [rows,vars]; out may be x. */
void ll_fill_forward(const float *x, const float *m, int64_t rows, int64_t vars, float *out);

double ll_normal_quantile(double p); /* 0 < p < 1 */

/* How much noise a step t has, in double: beta[t], alpha_bar[t] = prod (1 - beta). */
typedef enum ll_beta_kind { LL_BETA_LINEAR, LL_BETA_QUAD } ll_beta_kind;
extern const char *const ll_beta_kinds[]; /* "linear", "quad", NULL */

typedef struct ll_noise_steps {
    int64_t      n; /* steps */
    double       beta_start, beta_end;
    ll_beta_kind kind;
} ll_noise_steps;
double ll_beta(const ll_noise_steps *s, int64_t t);
double ll_alpha_bar(const ll_noise_steps *s, int64_t t); /* 1 at t = -1 */

/* -------- activations, layers -------- */

ll_tensor *ll_relu(ll_graph *g, ll_tensor *x);
ll_tensor *ll_leaky_relu(ll_graph *g, ll_tensor *x, double a); /* 0 <= a < 1 */

/* A convolution of kernel 1: weight [width,in,1], over the last axis of x. */
ll_tensor *ll_pointwise(ll_graph *g, const char *name, ll_tensor *x, int64_t width, bool kaiming);
/* N(0, 2/fan_in), and the usual start. */
ll_init ll_kaiming(int64_t fan_in);
ll_init ll_init_usual(int64_t fan_in);

/* Batch norm over all axes but the last: eps 1e-5, weight, bias, states running_mean, running_var.
 * In training with the batch's own biased variance, and the states move on by 0.1. */
ll_tensor *ll_batch_norm(ll_graph *g, const char *name, ll_tensor *x, bool training);

/* The mean of kernel values of the last axis around each, the ends repeated; kernel odd. */
ll_tensor *ll_moving_average(ll_graph *g, ll_tensor *x, int64_t kernel);

/* x [...] at times -> [...,d]: sin, cos, sin, .. of scale x base^(-2i/d) */
ll_tensor *ll_time_waves(ll_graph *g, ll_tensor *x, int64_t d, double scale, double base);

/* GRU layers, PyTorch's names (weight_ih_l0 ..). x [B,n,in] -> [B,n,width], twice that where it
 * runs both ways. */
typedef struct ll_gru_opts {
    int64_t     width;
    int         n_layers;
    bool        both_ways;
    double      dropout; /* between layers */
    ll_tensor **state;   /* [n_layers]: in the state before the first row, NULL zeros; out behind
                            the last one. Or NULL */
} ll_gru_opts;
ll_tensor *ll_gru_layers(ll_graph *g, const char *name, ll_tensor *x, const ll_gru_opts *o);

/* -------- RevIN with masks -------- */

typedef struct ll_revin { /* of each channel, [B,1,C] each */
    ll_tensor *mean, *sd;
    ll_tensor *weight, *bias; /* affine; or NULL, [C] */
} ll_revin;

/* x, m [B,K,C]; parameters affine_weight and affine_bias in the current scope. */
ll_revin   ll_revin_of(ll_graph *g, ll_tensor *x, ll_tensor *m, bool affine);
ll_revin   ll_revin_channel(ll_graph *g, const ll_revin *r, int64_t channel); /* of one */
ll_tensor *ll_revin_apply(ll_graph *g, const ll_revin *r, ll_tensor *x);      /* x [B,rows,C] */
/* y [B,H,C], or [B,H,C,Q] */
ll_tensor *ll_revin_undo(ll_graph *g, const ll_revin *r, ll_tensor *y);

/* -------- the answer of a deterministic model -------- */

/* A model gives p numbers for each query; its forecast is that number where q is 0 (p is 1), else q
 * quantiles at the levels (k - 1/2)/q, a linear map of them. */
typedef struct ll_rival_head {
    int64_t p, q;
} ll_rival_head;

/* The numbers of each query x [..,d], of so many targets: [..,targets,p], or [..,p] where targets
 * is 0. */
ll_tensor *ll_head_numbers(ll_graph *g, ll_rival_head h, const char *name, ll_tensor *x,
                           int64_t targets);
ll_tensor *ll_head_answer(ll_graph *g, ll_rival_head h,
                          ll_tensor *a); /* [..,p] -> [..] or [..,q] */
/* Masked squared error, or twice the mean pinball loss. y, m [..] */
ll_tensor *ll_head_loss(ll_graph *g, ll_rival_head h, ll_tensor *answer, ll_tensor *y,
                        ll_tensor *m);
/* Adds to what ll_params_init drew for "quant.weight": location, and scale times the normal
 * quantile. Nothing happens where there is none. */
void ll_head_start(ll_params *p);

/* -------- diffusion -------- */

/* Row t of [sin(t f_i) | cos(t f_i)], f_i = 10^(4 i/over), i < half: over is half - 1 in CSDI and
 * mr-Diff, half in TimeGrad. t int [...] -> [...,2 half]; and for one step. */
ll_tensor *ll_step_waves(ll_graph *g, ll_tensor *t, int64_t n, int64_t half, int64_t over);
ll_tensor *ll_step_waves_at(ll_graph *g, int64_t t, int64_t half, int64_t over); /* [1,2 half] */

/* SiLU(projection2 SiLU(projection1 waves)) */
ll_tensor *ll_step_embedding(ll_graph *g, ll_tensor *waves, int64_t width);

/* sqrt(ab_t) x0 + sqrt(1 - ab_t) eps; t int [N], x0 and eps [N,...] */
ll_tensor *ll_with_noise(ll_graph *g, const ll_noise_steps *s, ll_tensor *t, ll_tensor *x0,
                         ll_tensor *eps);
/* One ancestral step from t to t - 1, given an estimate of x0. noise is not looked at for t = 0. */
ll_tensor *ll_ancestral(ll_graph *g, const ll_noise_steps *s, int64_t t, ll_tensor *x0,
                        ll_tensor *x, ll_tensor *noise);

/* -------- ordinary differential equations -------- */

/* dy/ds at s */
typedef ll_tensor *(*ll_slope)(ll_graph *g, void *user, double s, ll_tensor *y);

/* One step of length h by the 3/8 rule. */
ll_tensor *ll_three_eighths(ll_graph *g, ll_slope f, void *user, double s, double h, ll_tensor *y);

#endif
