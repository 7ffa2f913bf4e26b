/* Lists of steps. */
#include "base/alloc.h"
#include "base/error.h"
#include "model/sampler.h"

#include <math.h>

void llap_points_deinit(llap_points *p)
{
    llap_free(p->at);
    *p = (llap_points){ 0 };
}

static llap_status start(int n, int64_t room, llap_points *out)
{
    *out = (llap_points){ 0 };
    if (n < 1) return llap_fail(LLAP_EINVAL, "sampler: %d steps, expected at least 1", n);
    out->at = llap_new((size_t)room, sizeof *out->at);
    return out->at == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static void put(llap_points *out, const llap_schedule *s, int64_t t)
{
    out->at[out->n++] = (llap_point){ t, (double)t, llap_schedule_level(s, t) };
}

llap_status llap_points_reference(const llap_schedule *s, int n, double rho, llap_points *out)
{
    const bool  all = n >= s->T;
    llap_status st = start(n, all ? s->T : n, out);
    if (st != LLAP_OK) return st;
    for (int64_t t = s->T - 1; all && t >= 0; t--) put(out, s, t);
    /* Targets fall, and so do the steps nearest to them: equal ones are neighbours. */
    for (int j = 0; !all && j < n; j++) {
        const int64_t t = llap_karras_step(s, n == 1 ? 0.0 : (double)j / (double)(n - 1), rho);
        if (out->n == 0 || out->at[out->n - 1].t != t) put(out, s, t);
    }
    return LLAP_OK;
}

/* log(a / s) */
static double half_log_snr(const llap_schedule *s, int64_t t)
{
    return -log((double)llap_schedule_sigma(s, t));
}

llap_status llap_points_honest(const llap_schedule *s, int n, llap_points *out)
{
    const int64_t top = s->T > 2 ? s->T - 2 : 1;
    if (n > top) n = (int)top;
    llap_status st = start(n, n < 1 ? 1 : n, out);
    if (st != LLAP_OK) return st;
    const double low = half_log_snr(s, top), high = half_log_snr(s, 1);
    int64_t      t = top;
    for (int j = 0; j < n; j++) {
        const double wanted = n == 1 ? low : low + (high - low) * (double)j / (double)(n - 1);
        while (t > 1 && fabs(half_log_snr(s, t - 1) - wanted) < fabs(half_log_snr(s, t) - wanted))
            t--;
        if (j > 0 && t >= out->at[j - 1].t) t = out->at[j - 1].t - 1; /* never the same twice */
        if (t < n - j) t = n - j; /* room for those that follow, down to 1 */
        put(out, s, t);
    }
    return LLAP_OK;
}

llap_status llap_points_continuous(int n, double first, double last, llap_points *out)
{
    llap_status st = start(n, n < 1 ? 1 : n, out);
    if (st != LLAP_OK) return st;
    if (!(last > 0.0 && last < first && first < 1.0)) {
        llap_points_deinit(out);
        return llap_fail(LLAP_EINVAL, "sampler: times from %g to %g, expected 1 > first > last > 0",
                         first, last);
    }
    const double quarter = 1.57079632679489661923; /* pi / 2 */
    const double high = log(tan(quarter * first)), low = log(tan(quarter * last));
    for (int j = 0; j < n; j++) {
        const double angle = atan(exp(high + (low - high) * (double)j / (double)n));
        const double a = cos(angle), s = sin(angle);
        out->at[out->n++] = (llap_point){ .t = -1,
                                          .time = angle / quarter,
                                          .level = { (float)a, (float)s, (float)(a * a) } };
    }
    return LLAP_OK;
}
