/* Finding periods that no calendar names, docs/spec/anchor.md 2.11: peaks of the power of a series
 * over frequencies (Lomb and Scargle), each taken as one of the harmonics of a period, refined by
 * least squares and taken off before the next is looked for. */
#include "anchor/chain/periods.h"

#include "anchor/chain/chain_climate.h"
#include "anchor/chain/quantile.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double TWO_PI = 6.283185307179586476925286766559;
enum {
    SERIES_MOST = 8,   /* looked at, evenly spread over all */
    ROWS_MOST = 16384, /* of all of them together, the latest ones */
    LEAST_ROWS = 50,   /* to say anything */
    AROUND = 200,      /* steps to either side, for the background */
    NEAR = 8,
    FAR = 24, /* and closer by, for red ones */
    HARMONICS = LL_PERIOD_HARMONICS,
    TERMS = 2 * HARMONICS,
};
static const double CYCLES_LEAST = 4, STEP = .25;  /* of frequencies, in 1/T */
static const double SCORE_LEAST = 24, SHARE = .02; /* of a peak; of the variance */
static const double BIC_GAIN = 10;

/* The readings that are looked at, series after series. */
typedef struct sample {
    size_t  n, n_series;
    size_t  ends[SERIES_MOST];
    double *t, *r;      /* [n]; r about the mean of its series */
    double  T, fastest; /* span; 1/(2g) */
} sample;

static void sample_deinit(sample *x)
{
    ll_free(x->t);
    ll_free(x->r);
}

/* The last `most` readings of a series, about their mean, and the largest span so far. */
static void take_series(sample *x, const ll_series *s, size_t most)
{
    const size_t first = x->n;
    double       mean = 0.0;
    size_t       from = s->n, count = 0;
    while (from > 0 && count < most)
        if (!isnan(s->y[--from])) count++;
    for (size_t i = from; i < s->n; i++) {
        if (isnan(s->y[i])) continue;
        x->t[x->n] = s->t[i];
        x->r[x->n++] = s->y[i];
        mean += s->y[i] / (double)count;
    }
    for (size_t i = first; i < x->n; i++) x->r[i] -= mean;
    if (x->n > first) x->T = fmax(x->T, x->t[x->n - 1] - x->t[first]);
    x->ends[x->n_series++] = x->n;
}

/* The highest frequency that the gaps resolve; 0: nothing can be found. */
static llap_status set_fastest(sample *x)
{
    double *gap = ll_new(x->n, sizeof *gap);
    size_t  n = 0, longest = 0;
    if (gap == NULL) return LLAP_ENOMEM;
    for (size_t e = 0, i = 0; e < x->n_series; i = x->ends[e++]) {
        if (x->ends[e] - i > longest) longest = x->ends[e] - i;
        for (size_t k = i + 1; k < x->ends[e]; k++)
            if (x->t[k] > x->t[k - 1]) gap[n++] = x->t[k] - x->t[k - 1];
    }
    if (n > 0 && longest >= LEAST_ROWS) {
        ll_sort_doubles(gap, n);
        x->fastest = 1.0 / (2.0 * fmax(ll_quantile(gap, n, .1), x->T / (2.0 * (double)longest)));
    }
    ll_free(gap);
    return LLAP_OK;
}

static llap_status sample_init(sample *x, const ll_series *s, size_t n)
{
    const size_t take = n < SERIES_MOST ? n : SERIES_MOST;
    *x = (sample){ .t = ll_new(ROWS_MOST, sizeof *x->t), .r = ll_new(ROWS_MOST, sizeof *x->r) };
    if (x->t == NULL || x->r == NULL) return LLAP_ENOMEM;
    for (size_t k = 0; k < take; k++) take_series(x, &s[k * n / take], ROWS_MOST / take);
    return set_fastest(x);
}

/* ---- power ---- */

typedef struct wave {
    double s, c, ds, dc; /* of a reading's phase, and of what a step of frequency adds to it */
} wave;

/* Squares that a cycle of the waves' frequency explains, a phase for each series. */
static double power_of(const sample *x, const wave *w)
{
    double power = 0.0;
    for (size_t e = 0, i = 0; e < x->n_series; e++) {
        double ss = 0.0, sc = 0.0, rs = 0.0, rc = 0.0, n = (double)(x->ends[e] - i);
        for (; i < x->ends[e]; i++) {
            ss += w[i].s * w[i].s;
            sc += w[i].s * w[i].c;
            rs += x->r[i] * w[i].s;
            rc += x->r[i] * w[i].c;
        }
        const double cc = n - ss, det = ss * cc - sc * sc;
        if (det > 1e-9 * n * n) power += (cc * rs * rs - 2.0 * sc * rs * rc + ss * rc * rc) / det;
    }
    return power;
}

/* P [n] at frequencies first + k step. */
static llap_status find_power(const sample *x, double first, double step, size_t n, double *P)
{
    enum { BLOCK = 256 };
    int worst = LLAP_OK;
#pragma omp parallel for schedule(dynamic, 1) reduction(max : worst)
    for (size_t from = 0; from < n; from += BLOCK) {
        wave *w = ll_new(x->n, sizeof *w);
        if (w == NULL) {
            worst = LLAP_ENOMEM;
            continue;
        }
        for (size_t i = 0; i < x->n; i++) {
            const double phase = TWO_PI * (first + (double)from * step) * (x->t[i] - x->t[0]);
            const double turn = TWO_PI * step * (x->t[i] - x->t[0]);
            w[i] = (wave){ sin(phase), cos(phase), sin(turn), cos(turn) };
        }
        for (size_t k = from; k < n && k < from + BLOCK; k++) {
            P[k] = power_of(x, w);
            for (size_t i = 0; i < x->n; i++) {
                const double s = w[i].s * w[i].dc + w[i].c * w[i].ds;
                w[i].c = w[i].c * w[i].dc - w[i].s * w[i].ds;
                w[i].s = s;
            }
        }
        ll_free(w);
    }
    return (llap_status)worst;
}

/* Median of P over the places first .. last around k that there are, those nearer than `near` left
 * out. */
static double background(const double *P, size_t n, size_t k, size_t near, size_t far)
{
    double x[2 * AROUND + 1];
    size_t count = 0;
    for (size_t i = k > far ? k - far : 0; i < n && i <= k + far; i++)
        if ((i > k ? i - k : k - i) >= near) x[count++] = P[i];
    ll_sort_doubles(x, count);
    return ll_quantile(x, count, .5);
}

/* The place of the highest peak over its background; n: none stands out. Only where P is largest
 * among its neighbours can be one, and only where it is large. */
static size_t find_peak(const double *P, size_t n)
{
    double best = SCORE_LEAST;
    size_t at = n;
    for (size_t k = 0; k < n; k++) {
        if ((k > 0 && P[k - 1] > P[k]) || (k + 1 < n && P[k + 1] > P[k])) continue;
        const double wide = background(P, n, k, 0, AROUND), red = background(P, n, k, NEAR, FAR);
        if (!(P[k] > best * fmax(wide, red))) continue;
        best = P[k] / fmax(wide, red);
        at = k;
    }
    return at;
}

/* ---- a period and its harmonics ---- */

static int harmonics_below(double f, double fastest)
{
    int n = 0;
    while (n < HARMONICS && (double)(n + 1) * f <= fastest * (1.0 + 1e-9)) n++;
    return n;
}

static void terms_of(double f, int harmonics, double t, double *out)
{
    const ll_periods one = { .n = 1, .span = { 1.0 / f }, .harmonics = { harmonics } };
    double           all[1 + TERMS];
    ll_periods_terms(&one, t, all);
    memcpy(out, all + 1, (size_t)(2 * harmonics) * sizeof *out);
}

/* Squares that the harmonics of f leave; take: r becomes what is left. */
static double rest_of(sample *x, double f, int harmonics, bool take)
{
    const int n = 2 * harmonics;
    double    left = 0.0;
    for (size_t e = 0, first = 0; e < x->n_series; first = x->ends[e++]) {
        double A[TERMS * TERMS] = { 0 }, b[TERMS] = { 0 }, g[TERMS] = { 0 }, term[TERMS];
        double square = 0.0, told = 0.0;
        for (size_t i = first; i < x->ends[e]; i++) {
            terms_of(f, harmonics, x->t[i], term);
            square += x->r[i] * x->r[i];
            for (int j = 0; j < n; j++) {
                b[j] += term[j] * x->r[i];
                for (int k = 0; k <= j; k++) A[j * n + k] += term[j] * term[k];
            }
        }
        memcpy(g, b, sizeof g);
        for (int j = 0; j < n; j++) A[j * n + j] += 1e-6 * (double)(x->ends[e] - first) + 1e-300;
        chain_solve(A, b, n);
        for (int j = 0; j < n; j++) told += b[j] * g[j];
        left += square - told;
        for (size_t i = first; take && i < x->ends[e]; i++) {
            terms_of(f, harmonics, x->t[i], term);
            for (int j = 0; j < n; j++) x->r[i] -= b[j] * term[j];
        }
    }
    return left;
}

typedef struct period {
    double f, rest;
    int    harmonics;
} period;

/* The best frequency near f/j with all its harmonics; rest infinite: there is none. */
static period refine(sample *x, double f, int j)
{
    static const double fine[] = { .5, .1, .02 };
    period              best = { .f = f / j, .rest = INFINITY };
    if (best.f < CYCLES_LEAST / x->T) return best;
    for (int pass = 0; pass < 3; pass++) {
        const double middle = best.f;
        for (int k = -5; k <= 5; k++) {
            const double at = middle + k * fine[pass] / (j * x->T);
            const int    n = harmonics_below(at, x->fastest);
            if (n == 0 || !(at > 0.0)) continue;
            const double rest = rest_of(x, at, n, false);
            if (rest < best.rest) best = (period){ at, rest, n };
        }
    }
    return best;
}

static double bic(const sample *x, const period *p)
{
    const double n = (double)x->n, k = 1.0 + 2.0 * p->harmonics * (double)x->n_series;
    return n * log(fmax(p->rest, 1e-300) / n) + k * log(n);
}

/* The period that has this frequency among its harmonics. */
static period best_period(sample *x, double f)
{
    period best = refine(x, f, 1);
    for (int j = 2; j <= HARMONICS; j++) {
        const period p = refine(x, f, j);
        if (isfinite(p.rest) && bic(x, &p) < bic(x, &best) - BIC_GAIN) best = p;
    }
    return best;
}

static double squares(const sample *x)
{
    double sum = 0.0;
    for (size_t i = 0; i < x->n; i++) sum += x->r[i] * x->r[i];
    return sum;
}

static llap_status find_in(sample *x, ll_periods *out)
{
    const double first = CYCLES_LEAST / x->T, step = STEP / x->T, all = squares(x);
    llap_status  st = LLAP_OK;
    if (!(x->fastest > first) || !(all > 0.0)) return LLAP_OK;
    const size_t n = 1 + (size_t)floor((x->fastest - first) / step);
    double      *P = ll_new(n, sizeof *P);
    if (P == NULL) return LLAP_ENOMEM;
    while (out->n < LL_PERIODS_MAX) {
        st = find_power(x, first, step, n, P);
        const size_t peak = st == LLAP_OK ? find_peak(P, n) : n;
        if (peak == n) break;
        const double before = squares(x);
        const period p = best_period(x, first + (double)peak * step);
        if (!(before - p.rest >= SHARE * all)) break;
        (void)rest_of(x, p.f, p.harmonics, true);
        out->span[out->n] = 1.0 / p.f;
        out->harmonics[out->n++] = p.harmonics;
    }
    ll_free(P);
    return st;
}

llap_status ll_periods_find(const ll_series *s, size_t n, ll_periods *out)
{
    sample x;
    *out = (ll_periods){ 0 };
    llap_status st = n > 0 ? sample_init(&x, s, n) : LLAP_OK;
    if (n == 0) return st;
    if (st == LLAP_OK && x.fastest > 0.0) st = find_in(&x, out);
    sample_deinit(&x);
    return st;
}

ll_periods ll_periods_given(const double *span, int32_t n, double gap)
{
    ll_periods p = { 0 };
    for (int32_t i = 0; i < n && p.n < LL_PERIODS_MAX; i++) {
        assert(span[i] > 0.0 && gap > 0.0);
        const int harmonics = harmonics_below(1.0 / span[i], 0.5 / gap);
        p.span[p.n] = span[i];
        p.harmonics[p.n++] = harmonics > 0 ? harmonics : 1;
    }
    return p;
}

int32_t ll_periods_count(const ll_periods *p)
{
    int32_t n = 1;
    for (int32_t i = 0; i < p->n; i++) n += 2 * p->harmonics[i];
    return n;
}

void ll_periods_terms(const ll_periods *p, double t, double *out)
{
    *out++ = 1.0;
    for (int32_t i = 0; i < p->n; i++) out += ll_cycle_terms(t, p->span[i], p->harmonics[i], out);
}
