/* Lists of steps. */
#include "base/alloc.h"
#include "base/error.h"
#include "diffusion/sampler.h"

#include <assert.h>
#include <math.h>

void ll_points_deinit(ll_points *p)
{
    ll_free(p->at);
    *p = (ll_points){ 0 };
}

static llap_status start(int n, int64_t room, ll_points *out)
{
    *out = (ll_points){ 0 };
    if (n < 1) return ll_fail(LLAP_EINVAL, "sampler: %d steps, expected at least 1", n);
    out->at = ll_new((size_t)room, sizeof *out->at);
    return out->at == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static void put(ll_points *out, const ll_schedule *s, int64_t t)
{
    out->at[out->n++] = (ll_point){ t, (double)t, ll_schedule_level(s, t) };
}

llap_status ll_points_reference(const ll_schedule *s, int n, double rho, ll_points *out)
{
    const bool  all = n >= s->T;
    llap_status st = start(n, all ? s->T : n, out);
    if (st != LLAP_OK) return st;
    for (int64_t t = s->T - 1; all && t >= 0; t--) put(out, s, t);
    /* Targets fall, and so do the steps nearest to them: equal ones are neighbours. */
    for (int j = 0; !all && j < n; j++) {
        const int64_t t = ll_karras_step(s, n == 1 ? 0.0 : (double)j / (double)(n - 1), rho);
        if (out->n == 0 || out->at[out->n - 1].t != t) put(out, s, t);
    }
    return LLAP_OK;
}

/* The outlier T-1 is left out. */
static int64_t highest(const ll_schedule *s) { return s->T > 2 ? s->T - 2 : 1; }

/* log(a / s); a schedule of somebody else may have steps without noise. */
static double half_log_snr(const ll_schedule *s, int64_t t)
{
    return -log(fmax((double)ll_schedule_sigma(s, t), 1e-12));
}

/* The step nearest to a log-SNR of those below the last one put, with room for `left` different
 * ones, this one counted, down to 1. Of equals the lowest: sigma ends at a million. */
static void put_nearest(ll_points *out, const ll_schedule *s, double wanted, int left)
{
    int64_t t = out->n > 0 ? out->at[out->n - 1].t - 1 : highest(s);
    assert(left >= 1 && t >= left);
    while (t > 1 && fabs(half_log_snr(s, t - 1) - wanted) <= fabs(half_log_snr(s, t) - wanted)) t--;
    put(out, s, t < left ? left : t);
}

llap_status ll_points_honest(const ll_schedule *s, int n, ll_points *out)
{
    if (n > highest(s)) n = (int)highest(s);
    llap_status st = start(n, n < 1 ? 1 : n, out);
    if (st != LLAP_OK) return st;
    const double low = half_log_snr(s, highest(s)), high = half_log_snr(s, 1);
    for (int j = 0; j < n; j++)
        put_nearest(out, s, n == 1 ? low : low + (high - low) * (double)j / (double)(n - 1), n - j);
    return LLAP_OK;
}

/* Places that are uniform in this are dense where signal and noise are alike, log(a / s) = 0. */
static double gather(double log_snr) { return asinh(0.5 * log_snr); }
static double scatter(double place) { return 2.0 * sinh(place); }

llap_status ll_points_gathered(const ll_schedule *s, int n, ll_points *out)
{
    if (n > highest(s)) n = (int)highest(s);
    llap_status st = start(n, n < 1 ? 1 : n, out);
    if (st != LLAP_OK) return st;
    const double top = half_log_snr(s, highest(s)), bottom = half_log_snr(s, 1);
    const bool   inside =
        top < log((double)n); /* of a schedule with little noise nothing is left out */
    const double low = gather(fmax(-log(12.0 * n), top));
    const double high = gather(inside ? fmin(log((double)n), bottom) : bottom);
    for (int j = 0; j < n; j++) {
        const double place = n == 1 ? low : low + (high - low) * (double)j / (double)(n - 1);
        put_nearest(out, s, scatter(place), n - j);
    }
    return LLAP_OK;
}

llap_status ll_points_continuous(int n, double first, double last, bool gathered, ll_points *out)
{
    llap_status st = start(n, n < 1 ? 1 : n, out);
    if (st != LLAP_OK) return st;
    if (!(last > 0.0 && last < first && first < 1.0)) {
        ll_points_deinit(out);
        return ll_fail(LLAP_EINVAL, "sampler: times from %g to %g, expected 1 > first > last > 0",
                       first, last);
    }
    const double quarter = 1.57079632679489661923; /* pi / 2 */
    double       high = log(tan(quarter * first)), low = log(tan(quarter * last));
    if (gathered) high = gather(high), low = gather(low);
    for (int j = 0; j < n; j++) {
        const double place = high + (low - high) * (double)j / (double)n;
        const double angle = atan(exp(gathered ? scatter(place) : place));
        const double a = cos(angle), s = sin(angle);
        out->at[out->n++] = (ll_point){ .t = -1,
                                        .time = angle / quarter,
                                        .level = { (float)a, (float)s, (float)(a * a) } };
    }
    return LLAP_OK;
}
