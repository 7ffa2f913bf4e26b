/* The weekly profile: a ridge on many harmonics of day and week. Rows of one time of the week have
 * the same harmonics, so that only sums over them are needed, whatever the number of years. */
#include "anchor/chain/chain_climate.h"
#include "base/alloc.h"

#include <math.h>
#include <string.h>

static const double HOURS_DAY = 24.0, HOURS_WEEK = 168.0, HOURS_YEAR = 8766.0;
static const double TWO_PI = 6.283185307179586476925286766559, RIDGE = 20.0;
enum { BINS = 2016, ANNUAL = 4, BY = 1 + ANNUAL, PRODUCTS = 8 }; /* bins of five minutes */

ll_weekly ll_weekly_of(double gap, bool annual)
{
    const double daily = floor(12.0 / gap), weekly = floor(84.0 / gap);
    return (ll_weekly){ .daily = (int32_t)fmin(12.0, fmax(daily, 2.0)),
                        .weekly = (int32_t)fmin(84.0, fmax(weekly, 1.0)),
                        .annual = annual };
}

int32_t ll_weekly_count(ll_weekly p)
{
    return 1 + 2 * p.daily + 2 * (p.weekly - p.weekly / 7) + (p.annual ? ANNUAL + PRODUCTS : 0);
}

/* sin and cos of k times the phase of t, k = 1 .. n, by turning; those whose k is a multiple of
 * skip are left out. */
static int harmonics(double t, double period, int n, int skip, double *out)
{
    const double phase = TWO_PI * (fmod(t, period) / period), s1 = sin(phase), c1 = cos(phase);
    double       s = 0.0, c = 1.0;
    int          at = 0;
    for (int k = 1; k <= n; k++) {
        const double turned = s * c1 + c * s1;
        c = c * c1 - s * s1;
        s = turned;
        if (skip > 0 && k % skip == 0) continue;
        out[at++] = s;
        out[at++] = c;
    }
    return at;
}

/* Terms of day and week alone; returns their number. */
static int weekly_terms(ll_weekly p, double t, double *out)
{
    out[0] = 1.0;
    int n = 1 + harmonics(t, HOURS_DAY, p.daily, 0, out + 1);
    return n + harmonics(t, HOURS_WEEK, p.weekly, 7, out + n);
}

void ll_weekly_terms(ll_weekly p, double t, double *out)
{
    int n = weekly_terms(p, t, out);
    if (!p.annual) return;
    const double *annual = out + n;
    n += harmonics(t, HOURS_YEAR, 2, 0, out + n);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) out[n++] = annual[i] * out[1 + j];
}

/* Every term is one of day and week times one of the year: which, by term. */
typedef struct factors {
    int n, of_week[LL_WEEKLY_MAX], of_year[LL_WEEKLY_MAX]; /* of_year 0: 1 */
} factors;

static factors factors_of(ll_weekly p)
{
    factors   f = { .n = ll_weekly_count(p) };
    const int first = f.n - (p.annual ? ANNUAL + PRODUCTS : 0);
    for (int i = 0; i < first; i++) f.of_week[i] = i;
    for (int i = first; i < f.n; i++) {
        const int k = i - first;
        f.of_year[i] = k < ANNUAL ? 1 + k : 1 + (k - ANNUAL) / 4;
        f.of_week[i] = k < ANNUAL ? 0 : 1 + (k - ANNUAL) % 4;
    }
    return f;
}

double chain_weekly_penalty(ll_weekly p, int term)
{
    const int first = 1 + 2 * p.daily, last = first + 2 * (p.weekly - p.weekly / 7);
    if (term < first || term >= last) return RIDGE;
    const int place = (term - first) / 2, k = 1 + place + place / 6; /* six of every seven */
    return RIDGE * (1.0 + (k / 14.0) * (k / 14.0));
}

/* Sums over the rows of one time of the week. */
typedef struct bin {
    double n, t, gg[BY][BY], gx[BY];
} bin;

static void add_row(ll_weekly p, double t, double x, bin *bins)
{
    double g[BY] = { 1.0 };
    if (p.annual) harmonics(t, HOURS_YEAR, 2, 0, g + 1);
    double phase = fmod(t, HOURS_WEEK);
    if (phase < 0.0) phase += HOURS_WEEK;
    const int at = (int)fmin(phase * (BINS / HOURS_WEEK), BINS - 1);
    bin      *b = &bins[at];
    b->n += 1.0;
    b->t += (phase - b->t) / b->n; /* their mean */
    for (int i = 0; i < BY; i++) {
        b->gx[i] += g[i] * x;
        for (int j = 0; j < BY; j++) b->gg[i][j] += g[i] * g[j];
    }
}

/* A [n,n] (its lower half) and b [n] += those of the rows in the bins. */
static void add_bins(ll_weekly p, const factors *f, const bin *bins, double *A, double *b)
{
    double w[LL_WEEKLY_MAX];
    for (int k = 0; k < BINS; k++) {
        const bin *at = &bins[k];
        if (at->n == 0.0) continue;
        weekly_terms(p, at->t, w);
        for (int i = 0; i < f->n; i++) {
            b[i] += w[f->of_week[i]] * at->gx[f->of_year[i]];
            for (int j = 0; j <= i; j++)
                A[i * f->n + j] +=
                    w[f->of_week[i]] * w[f->of_week[j]] * at->gg[f->of_year[i]][f->of_year[j]];
        }
    }
}

static void ridge(ll_weekly p, int n, double *A, double *b, double *coef)
{
    for (int i = 0; i < n; i++) A[i * n + i] += chain_weekly_penalty(p, i);
    chain_solve(A, b, n);
    memcpy(coef, b, (size_t)n * sizeof *coef);
}

llap_status chain_fit_profile(ll_chain *c, const chain_values *v, bool pooled)
{
    const size_t  n = (size_t)c->n_climate, size = n * n + n;
    const factors f = factors_of(c->profile);
    bin          *bins = ll_new(BINS, sizeof *bins);
    double       *own = ll_new(2 * size, sizeof *own), *all = own + size;
    const bool    ok = bins != NULL && own != NULL;
    size_t        i = 0;
    for (size_t e = 0; ok && e < c->n_series; e++) {
        memset(bins, 0, BINS * sizeof *bins);
        memset(own, 0, size * sizeof *own);
        for (; i < v->ends[e]; i++) add_row(c->profile, v->t[i], v->x[i], bins);
        add_bins(c->profile, &f, bins, own, own + n * n);
        for (size_t k = 0; k < size; k++) all[k] += own[k];
        if (!pooled) ridge(c->profile, f.n, own, own + n * n, c->climate + e * n);
    }
    double *together = c->climate + c->n_series * n;
    if (ok) ridge(c->profile, f.n, all, all + n * n, together);
    for (size_t e = 0; ok && e < c->n_series; e++)
        if (pooled || v->ends[e] == (e > 0 ? v->ends[e - 1] : 0))
            memcpy(c->climate + e * n, together, n * sizeof *together);
    ll_free(bins);
    ll_free(own);
    return ok ? LLAP_OK : LLAP_ENOMEM;
}
