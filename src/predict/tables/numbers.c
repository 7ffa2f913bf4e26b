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

/* Halley's method on the distribution function, from a start that is right in the tails. */
double ll_normal_score(double p)
{
    assert(p > 0 && p < 1);
    const double tail = fmin(p, 1 - p);
    double       x = -sqrt(-2 * log(2 * tail)); /* of the lower tail */
    for (int i = 0; i < 12; i++) {
        const double error = 0.5 * erfc(-x / sqrt(2.0)) - tail;
        const double u = error * sqrt(2 * acos(-1.0)) * exp(0.5 * x * x);
        x -= u / (1 + 0.5 * x * u);
    }
    return p < 0.5 ? x : -x;
}

void ll_normal_scores_init(ll_normal_scores *s, const double *quantile, int n_quantiles)
{
    s->n_quantiles = n_quantiles;
    for (int i = 0; i < n_quantiles; i++) s->quantile[i] = ll_normal_score(quantile[i]);
    for (int i = 0; i < LL_POINTS; i++) s->point[i] = ll_normal_score((i + 0.5) / LL_POINTS);
}

void ll_law_numbers(const ll_anchor_model *a, size_t series, const ll_law *law,
                    const ll_normal_scores *s, double *number)
{
    double sum = 0;
    for (int i = 0; i < LL_POINTS; i++) sum += ll_anchor_quantile(a, series, law, s->point[i]);
    number[0] = sum / LL_POINTS;
    for (int i = 0; i < s->n_quantiles; i++)
        number[1 + i] = ll_anchor_quantile(a, series, law, s->quantile[i]);
}

void ll_sample_numbers(double *x, int64_t n, const llap_answer *a, double *number)
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
        const double at = fmax(0, fmin((double)n - 1, a->quantile[k] * ((double)n + 1) - 1));
        const size_t i = (size_t)at, next = i + 1 < (size_t)n ? i + 1 : i;
        number[1 + k] =
            whole ? x[at - (double)i < 0.5 ? i : next] : x[i] + (at - (double)i) * (x[next] - x[i]);
    }
}
