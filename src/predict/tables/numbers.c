#include "predict/tables/numbers.h"

#include "base/error.h"
#include "base/options.h"
#include "base/sort.h"
#include "base/text.h"
#include "predict/tables/answer.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

llap_status ll_quantiles_parse(const char *text, double out[LL_QUANTILES], int *n)
{
    *n = 0;
    if (text == NULL) text = llap_option_find(llap_forecast_options(), "quantiles")->usual;
    for (const char *p = text;;) {
        char        *end;
        const double q = strtod(p, &end);
        if (end == p || (*end != ',' && *end != '\0'))
            return ll_fail(LLAP_EOPTION,
                           "quantiles: expected numbers separated by commas, found '%s'",
                           ll_text_show(text).text);
        if (!(q > 0 && q < 1))
            return ll_fail(LLAP_EOPTION, "quantiles: expected numbers between 0 and 1, found %g",
                           q);
        if (*n > 0 && q <= out[*n - 1])
            return ll_fail(LLAP_EOPTION, "quantiles: %g does not come after %g in order", q,
                           out[*n - 1]);
        if (*n == LL_QUANTILES)
            return ll_fail(LLAP_EOPTION, "quantiles: more than %d", LL_QUANTILES);
        out[(*n)++] = q;
        if (*end == '\0') return LLAP_OK;
        p = end + 1;
    }
}

void ll_normal_scores_init(ll_normal_scores *s, const double *quantile, int n_quantiles)
{
    s->n_quantiles = n_quantiles;
    for (int i = 0; i < n_quantiles; i++) s->quantile[i] = ll_normal_score(quantile[i]);
    for (int i = 0; i < LL_POINTS; i++) s->point[i] = ll_normal_score((i + 0.5) / LL_POINTS);
}

/* ---- the mean of counts ---- */

typedef struct count_law {
    const ll_anchor_model *a;
    const ll_law          *law;
    size_t                 series;
    double                 near; /* the error that a part may have */
} count_law;

/* A score, the part of the law below it, and the count there. */
typedef struct count_at {
    double x, below, y;
} count_at;

static count_at at_score(const count_law *c, double x)
{
    return (count_at){ x, 0.5 * erfc(-x / sqrt(2.0)),
                       ll_anchor_quantile(c->a, c->series, c->law, x) };
}

/* What the law between two scores adds to the mean. Counts grow with the score: where both ends
 * have the same one, so has all between. */
static double between(const count_law *c, count_at lo, count_at hi)
{
    const double narrow = 1e-9, part = hi.below - lo.below;
    if ((hi.y - lo.y) * part <= c->near || hi.x - lo.x < narrow)
        return part * (lo.y + 0.5 * (hi.y - lo.y));
    const count_at middle = at_score(c, 0.5 * (lo.x + hi.x));
    return between(c, lo, middle) + between(c, middle, hi);
}

/* Rare counts lie between the points of the other laws: a step of their quantiles is looked for. */
static double count_mean(const ll_anchor_model *a, size_t series, const ll_law *law)
{
    const double far = 6;
    count_law    c = { a, law, series, INFINITY };
    c.near = 1e-6 * (1e-3 + at_score(&c, 1).y);
    const count_at lo = at_score(&c, -far), middle = at_score(&c, 0), hi = at_score(&c, far);
    if (!isfinite(lo.y + middle.y + hi.y)) return NAN; /* a law without counts: nothing to add */
    return lo.below * lo.y + between(&c, lo, middle) + between(&c, middle, hi) +
           (1 - hi.below) * hi.y;
}

void ll_law_numbers(const ll_anchor_model *a, size_t series, const ll_law *law,
                    const ll_normal_scores *s, double *number)
{
    double sum = 0;
    if (a->chain->curve == LL_CURVE_COUNTS) number[0] = count_mean(a, series, law);
    else {
        for (int i = 0; i < LL_POINTS; i++) sum += ll_anchor_quantile(a, series, law, s->point[i]);
        number[0] = sum / LL_POINTS;
    }
    for (int i = 0; i < s->n_quantiles; i++)
        number[1 + i] = ll_anchor_quantile(a, series, law, s->quantile[i]);
}

void ll_sample_numbers(double *x, int64_t n, bool law, const llap_answer *a, double *number)
{
    double sum = 0;
    bool   whole = true; /* counts: a quantile is one of the draws, not between two */
    assert(n >= 1 && a->n_numbers == 1 + a->n_quantiles);
    ll_sort_doubles(x, (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        sum += x[i];
        whole = whole && x[i] == floor(x[i]);
    }
    number[0] = sum / (double)n;
    for (int k = 0; k < a->n_quantiles; k++) {
        const double p = a->quantile[k],
                     place = law ? p * (double)n - 0.5 : p * ((double)n + 1) - 1;
        const double at = fmax(0, fmin((double)n - 1, place));
        const size_t i = (size_t)at, next = i + 1 < (size_t)n ? i + 1 : i;
        number[1 + k] =
            whole ? x[at - (double)i < 0.5 ? i : next] : x[i] + (at - (double)i) * (x[next] - x[i]);
    }
}
