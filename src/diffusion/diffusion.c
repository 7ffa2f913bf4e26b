/* Schedules, conversions and weights. */
#include "diffusion/diffusion.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/rng/rng.h"

#include <assert.h>
#include <math.h>

const char *const ll_schedule_names[] = { "cosine", "linear", NULL };
const char *const ll_prediction_names[] = { "v", "x0", "eps", NULL };
const char *const ll_weight_norm_names[] = { "auto", "batch", "global", "none", NULL };

static float clampf(float x, float low, float high) { return fminf(fmaxf(x, low), high); }

/* -------- tables, docs/spec/model.md 5.2: single precision, in the reference's order -------- */

/* i-th of n numbers from low to high, from both ends and with fused products, as PyTorch does. */
static float linspace(float low, float high, int64_t n, int64_t i)
{
    assert(n >= 2 && i >= 0 && i < n);
    const float step = (high - low) / (float)(n - 1);
    return i < n / 2 ? fmaf(step, (float)i, low) : fmaf(-step, (float)(n - 1 - i), high);
}

/* cos(((x + 0.008) / 1.008) pi / 2)^2, the cosine correctly rounded */
static float cosine_at(int64_t T, int64_t i)
{
    const float x = (linspace(0.0f, 1.0f, T, i) + 0.008f) / 1.008f;
    const float c = (float)cos((double)(x * 3.14159265358979323846f * 0.5f));
    return c * c;
}

static void cosine_betas(ll_schedule *s)
{
    const float first = cosine_at(s->T, 0);
    float       before = 1.0f;
    s->beta[0] = 0.0f;
    for (int64_t i = 1; i < s->T; i++) {
        const float f = cosine_at(s->T, i) / first;
        const float a = clampf(f / before, 1e-8f, 0.999999f);
        s->beta[i] = clampf(1.0f - a, 1e-8f, 0.999f);
        before = f;
    }
}

static void linear_betas(ll_schedule *s)
{
    for (int64_t i = 0; i < s->T; i++)
        s->beta[i] = clampf(linspace(1e-4f, 2e-2f, s->T, i), 1e-8f, 0.999f);
    s->beta[0] = 0.0f;
}

/* The cumulative product is a double, rounded where it is stored. */
static void accumulate(ll_schedule *s)
{
    double product = 1.0;
    for (int64_t i = 0; i < s->T; i++) {
        s->alpha[i] = clampf(1.0f - s->beta[i], 1e-12f, 1.0f);
        product *= (double)s->alpha[i];
        s->alpha_bar[i] = (float)product;
    }
}

static void take_roots(ll_schedule *s)
{
    for (int64_t i = 0; i < s->T; i++) {
        assert(s->alpha_bar[i] >= 0.0f && s->alpha_bar[i] <= 1.0f);
        s->sqrt_alpha[i] = sqrtf(s->alpha[i]);
        s->sqrt_alpha_bar[i] = sqrtf(s->alpha_bar[i]);
        s->sqrt_one_minus_alpha_bar[i] = sqrtf(1.0f - s->alpha_bar[i]);
    }
}

static llap_status new_schedule(int64_t T, ll_schedule **out)
{
    *out = NULL;
    if (T < 2 || T > 1 << 20)
        return ll_fail(LLAP_EINVAL, "diffusion: %lld steps, expected 2..1048576", (long long)T);
    ll_schedule *s = ll_new(1, sizeof *s);
    float       *all = ll_new((size_t)(6 * T), sizeof *all);
    if (s == NULL || all == NULL) {
        ll_free(s);
        ll_free(all);
        return LLAP_ENOMEM;
    }
    *s = (ll_schedule){ T, all, all + T, all + 2 * T, all + 3 * T, all + 4 * T, all + 5 * T };
    *out = s;
    return LLAP_OK;
}

llap_status ll_schedule_create(ll_schedule_kind kind, int64_t T, ll_schedule **out)
{
    const llap_status st = new_schedule(T, out);
    if (st != LLAP_OK) return st;
    if (kind == LL_SCHEDULE_COSINE) cosine_betas(*out);
    else linear_betas(*out);
    accumulate(*out);
    take_roots(*out);
    if ((*out)->alpha_bar[T - 1] > 0.0f) return LLAP_OK;
    ll_schedule_destroy(*out);
    *out = NULL;
    return ll_fail(LLAP_EINVAL,
                   "diffusion: %lld steps are too many for this schedule: nothing is left of "
                   "the signal",
                   (long long)T);
}

llap_status ll_schedule_from(const float *beta, const float *alpha_bar, int64_t T,
                             ll_schedule **out)
{
    llap_status st = new_schedule(T, out);
    for (int64_t i = 0; i < T && st == LLAP_OK; i++) {
        const float above = i == 0 ? 1.0f : alpha_bar[i - 1];
        if (!(beta[i] >= 0.0f && beta[i] < 1.0f))
            st = ll_fail(LLAP_EFORMAT, "betas[%lld]: expected 0..1, found %g", (long long)i,
                         (double)beta[i]);
        else if (!(alpha_bar[i] > 0.0f && alpha_bar[i] <= above))
            st =
                ll_fail(LLAP_EFORMAT, "alpha_bars[%lld]: expected above 0 and at most %g, found %g",
                        (long long)i, (double)above, (double)alpha_bar[i]);
        else {
            (*out)->beta[i] = beta[i];
            (*out)->alpha[i] = clampf(1.0f - beta[i], 1e-12f, 1.0f);
            (*out)->alpha_bar[i] = alpha_bar[i];
        }
    }
    if (st == LLAP_OK) take_roots(*out);
    else {
        ll_schedule_destroy(*out);
        *out = NULL;
    }
    return st;
}

void ll_schedule_destroy(ll_schedule *s)
{
    if (s == NULL) return;
    ll_free(s->beta);
    ll_free(s);
}

float ll_schedule_sigma(const ll_schedule *s, int64_t t)
{
    assert(t >= 0 && t < s->T);
    const float q = fmaxf(s->alpha_bar[t], 1e-12f);
    return sqrtf((1.0f - q) / q);
}

float ll_schedule_snr(const ll_schedule *s, int64_t t)
{
    assert(t >= 0 && t < s->T);
    const float q = clampf(s->alpha_bar[t], 1e-6f, 1.0f - 1e-6f);
    return q / (1.0f - q);
}

/* -------- conversions -------- */

ll_level ll_schedule_level(const ll_schedule *s, int64_t t)
{
    assert(t >= 0 && t < s->T);
    return (ll_level){ s->sqrt_alpha_bar[t], s->sqrt_one_minus_alpha_bar[t], s->alpha_bar[t] };
}

float ll_noised(ll_level l, float z0, float eps) { return l.a * z0 + l.s * eps; }

float ll_target(ll_prediction p, ll_level l, float z0, float eps)
{
    if (p == LL_PREDICT_X0) return z0;
    if (p == LL_PREDICT_EPS) return eps;
    return l.a * eps - l.s * z0;
}

float ll_to_x0(ll_prediction p, ll_level l, float z_t, float pred)
{
    if (p == LL_PREDICT_X0) return pred;
    if (p == LL_PREDICT_EPS) return (z_t - l.s * pred) / (l.a + 1e-12f);
    return l.a * z_t - l.s * pred;
}

float ll_to_eps(ll_prediction p, ll_level l, float z_t, float pred)
{
    if (p == LL_PREDICT_X0) return (z_t - l.a * pred) / (l.s + 1e-12f);
    if (p == LL_PREDICT_EPS) return pred;
    return l.s * z_t + l.a * pred;
}

/* -------- Karras spacing -------- */

/* First index whose sigma is not below x; T if there is none. */
static int64_t lower_bound(const ll_schedule *s, double x)
{
    int64_t low = 0, high = s->T;
    while (low < high) {
        const int64_t mid = (low + high) / 2;
        if ((double)ll_schedule_sigma(s, mid) < x) low = mid + 1;
        else high = mid;
    }
    return low;
}

int64_t ll_karras_step(const ll_schedule *s, double u, double rho)
{
    assert(u >= 0.0 && u <= 1.0);
    const double  low = pow((double)ll_schedule_sigma(s, 1), 1.0 / rho);
    const double  high = pow((double)ll_schedule_sigma(s, s->T - 1), 1.0 / rho);
    const double  sigma = pow(high + u * (low - high), rho);
    const int64_t found = lower_bound(s, sigma);
    const int64_t i = found < 1 ? 1 : found > s->T - 1 ? s->T - 1 : found;
    const int64_t below = i > 1 ? i - 1 : 1;
    const double  d_below = fabs((double)ll_schedule_sigma(s, below) - sigma);
    return d_below <= fabs((double)ll_schedule_sigma(s, i) - sigma) ? below : i;
}

/* -------- weights -------- */

float ll_min_snr(const ll_schedule *s, int64_t t, double gamma, ll_prediction p)
{
    const float snr = ll_schedule_snr(s, t), c = fminf(snr, fmaxf((float)gamma, 0.0f));
    if (p == LL_PREDICT_X0) return c;
    return p == LL_PREDICT_V ? c / (snr + 1.0f) : c / fmaxf(snr, 1e-8f);
}

double ll_min_snr_mean(const ll_schedule *s, double gamma, ll_prediction p)
{
    double sum = 0.0;
    for (int64_t t = 1; t < s->T; t++) sum += (double)ll_min_snr(s, t, gamma, p);
    return sum / (double)(s->T - 1);
}

/* What those of a part, the sum of whose n raw weights is given, are divided by. */
static float weight_divisor(const ll_schedule *s, const ll_loss_opts *o, double sum, double n)
{
    if (o->normalize == LL_WEIGHT_NONE) return 1.0f;
    const bool batch =
        o->normalize == LL_WEIGHT_BATCH || (o->normalize == LL_WEIGHT_AUTO && n > 1.5);
    const double by = batch ? sum / fmax(n, 1.0) : ll_min_snr_mean(s, o->gamma, o->predict);
    return (float)fmax(by, 1e-8);
}

void ll_diffusion_weights(const ll_schedule *s, const ll_loss_opts *o, const int32_t *t,
                          const float *conditional, int64_t n, float *weight)
{
    double sum[2] = { 0 }, count[2] = { 0 };
    assert(s != NULL || !o->min_snr);
    for (int64_t i = 0; i < n; i++) {
        const int part = conditional != NULL && conditional[i] == 0.0f;
        weight[i] = o->min_snr ? ll_min_snr(s, t[i], o->gamma, o->predict) : 1.0f;
        sum[part] += (double)weight[i];
        count[part] += 1.0;
    }
    for (int64_t i = 0; i < n && o->min_snr; i++) {
        const int part = conditional != NULL && conditional[i] == 0.0f;
        weight[i] /= weight_divisor(s, o, sum[part], count[part]);
    }
}

/* -------- draws -------- */

void ll_diffusion_draw(const ll_schedule *s, const ll_draw_opts *o, uint64_t window, uint32_t step,
                       int32_t *t, float *conditional, float *eps, size_t n)
{
    /* Sample 0 of the stream has the noise, sample 1 the row's choices. */
    const ll_rng noise = ll_rng_make(o->seed, LL_STREAM_DIFFUSE, window, 0, step);
    const ll_rng row = ll_rng_make(o->seed, LL_STREAM_DIFFUSE, window, 1, step);
    if (o->karras) *t = (int32_t)ll_karras_step(s, (double)ll_rng_uniform(&row, 8), LL_KARRAS_RHO);
    else *t = 1 + (int32_t)ll_rng_below(&row, 0, (uint64_t)(s->T - 1));
    assert(*t >= 1 && *t < s->T);
    *conditional = (double)ll_rng_uniform(&row, 9) >= o->drop ? 1.0f : 0.0f;
    ll_rng_fill_normal(&noise, 0, n, eps);
}
