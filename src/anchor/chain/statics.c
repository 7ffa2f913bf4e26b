#include "anchor/chain/statics.h"

#include "anchor/chain/chain_climate.h"
#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void input_deinit(ll_static_input *in)
{
    for (int32_t k = 0; in->level != NULL && k < in->n_levels; k++) ll_free(in->level[k]);
    ll_free(in->level);
    ll_free(in->share);
}

void ll_statics_destroy(ll_statics *s)
{
    if (s == NULL) return;
    for (int32_t i = 0; s->input != NULL && i < s->n; i++) input_deinit(&s->input[i]);
    ll_free(s->input);
    ll_free(s->level.beta);
    ll_free(s->spread.beta);
    ll_free(s);
}

int32_t ll_static_terms(const ll_static_input *in)
{
    return in->words ? in->n_levels : in->sd > 0.0;
}

/* ---- what the columns are like ---- */

static void describe_number(ll_static_input *in, const double *x, const bool *use, size_t n)
{
    double count = 0.0, square = 0.0;
    in->low = INFINITY;
    in->high = -INFINITY;
    for (size_t e = 0; e < n; e++) {
        if (!use[e] || isnan(x[e])) continue;
        count += 1.0;
        in->mean += (x[e] - in->mean) / count;
        in->low = fmin(in->low, x[e]);
        in->high = fmax(in->high, x[e]);
    }
    for (size_t e = 0; e < n; e++)
        if (use[e] && !isnan(x[e])) square += (x[e] - in->mean) * (x[e] - in->mean);
    if (in->low < in->high) in->sd = sqrt(square / count);
    else in->low = in->high = in->mean;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* words [count], sorted: each different one is a level. */
static llap_status take_levels(ll_static_input *in, const char *const *words, size_t count)
{
    int32_t n = 0;
    for (size_t i = 0; i < count; i++) n += i == 0 || strcmp(words[i - 1], words[i]) != 0;
    if (n < 2 || n > LL_STATIC_LEVELS) return LLAP_OK; /* tells nothing, or everybody apart */
    in->level = ll_new((size_t)n, sizeof *in->level);
    in->share = ll_new((size_t)n, sizeof *in->share);
    if (in->level == NULL || in->share == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(words[i - 1], words[i]) != 0) {
            char *copy = ll_strndup(words[i], strlen(words[i]));
            if (copy == NULL) return LLAP_ENOMEM;
            in->level[in->n_levels++] = copy;
        }
        in->share[in->n_levels - 1] += 1.0 / (double)count;
    }
    assert(in->n_levels == n);
    return LLAP_OK;
}

static llap_status describe_words(ll_static_input *in, const char *const *word, const bool *use,
                                  size_t n)
{
    size_t       count = 0;
    const char **list = ll_new(n, sizeof *list);
    if (list == NULL) return LLAP_ENOMEM;
    for (size_t e = 0; e < n; e++)
        if (use[e] && word[e] != NULL) list[count++] = word[e];
    qsort(list, count, sizeof *list, by_bytes);
    const llap_status st = take_levels(in, (const char *const *)list, count);
    ll_free((void *)list);
    return st;
}

llap_status ll_statics_describe(const ll_static_column *c, int32_t n_columns,
                                const bool *in_training, size_t n, ll_statics **out)
{
    *out = NULL;
    if (n_columns < 1 || n_columns > LL_STATIC_COLUMNS)
        return ll_fail(LLAP_EINVAL, "static: expected 1 to %d columns, found %d", LL_STATIC_COLUMNS,
                       (int)n_columns);
    ll_statics *s = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    s->input = ll_new((size_t)n_columns, sizeof *s->input);
    llap_status st = s->input == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int32_t i = 0; st == LLAP_OK && i < n_columns; i++) {
        s->n = i + 1;
        s->input[i].words = c[i].words;
        if (c[i].words) st = describe_words(&s->input[i], c[i].word, in_training, n);
        else describe_number(&s->input[i], c[i].number, in_training, n);
        s->n_terms += ll_static_terms(&s->input[i]);
    }
    if (st == LLAP_OK && s->n_terms > LL_STATIC_TERMS)
        st = ll_fail(LLAP_EINVAL, "static: %d categories and numbers, more than %d",
                     (int)s->n_terms, LL_STATIC_TERMS);
    if (st == LLAP_OK) *out = s;
    else ll_statics_destroy(s);
    return st;
}

/* ---- one entity ---- */

/* The terms of one column; false: there is no value, or none that training knows. */
static bool input_terms(const ll_static_input *in, const ll_static_column *c, size_t e, double *x)
{
    if (!in->words) {
        const bool known = c->number != NULL && !isnan(c->number[e]);
        if (known) x[0] = (fmin(fmax(c->number[e], in->low), in->high) - in->mean) / in->sd;
        return known;
    }
    if (c->word == NULL || c->word[e] == NULL) return false;
    const char *const *found =
        bsearch(&c->word[e], in->level, (size_t)in->n_levels, sizeof *in->level, by_bytes);
    if (found == NULL) return false;
    const int32_t at = (int32_t)(found - (const char *const *)in->level);
    for (int32_t k = 0; k < in->n_levels; k++) x[k] = (k == at ? 1.0 : 0.0) - in->share[k];
    return true;
}

double ll_statics_row(const ll_statics *s, const ll_static_column *c, size_t e, double *x)
{
    double used = 0.0, missing = 0.0;
    memset(x, 0, (size_t)s->n_terms * sizeof *x);
    for (int32_t i = 0; i < s->n; i++) {
        const int32_t n = ll_static_terms(&s->input[i]);
        if (n == 0) continue;
        used += 1.0;
        if (!input_terms(&s->input[i], &c[i], e, x)) missing += 1.0;
        x += n;
    }
    return used > 0.0 ? missing / used : 1.0;
}

static double apply(const ll_static_ridge *r, const double *x, int32_t p)
{
    double y = r->beta[0];
    for (int32_t j = 0; j < p; j++) y += r->beta[1 + j] * x[j];
    return y;
}

ll_static_guess ll_statics_guess(const ll_statics *s, const ll_static_column *c, size_t e)
{
    double x[LL_STATIC_TERMS];
    assert(s->n_terms <= LL_STATIC_TERMS && s->level.beta != NULL && s->spread.beta != NULL);
    const double missing = ll_statics_row(s, c, e, x);
    return (ll_static_guess){ .level = apply(&s->level, x, s->n_terms),
                              .spread = apply(&s->spread, x, s->n_terms),
                              .var = s->level.error +
                                     missing * fmax(0.0, s->level.apart - s->level.error) };
}

/* ---- ridges ---- */

/* L^-1 b, L [p,p] the lower half that chain_solve leaves. */
static void solve_lower(const double *L, int32_t p, double *b)
{
    for (int32_t i = 0; i < p; i++) {
        for (int32_t k = 0; k < i; k++) b[i] -= L[i * p + k] * b[k];
        b[i] /= L[i * p + i];
    }
}

/* X^T X + penalty into A, X^T y into b. */
static void normal_equations(const double *x, const double *y, size_t n, int32_t p, double penalty,
                             double *A, double *b)
{
    memset(A, 0, (size_t)p * (size_t)p * sizeof *A);
    memset(b, 0, (size_t)p * sizeof *b);
    for (size_t i = 0; i < n; i++, x += p)
        for (int32_t j = 0; j < p; j++) {
            if (x[j] == 0.0) continue;
            b[j] += x[j] * y[i];
            for (int32_t k = 0; k <= j; k++) A[j * p + k] += x[j] * x[k];
        }
    for (int32_t j = 0; j < p; j++) A[j * p + j] += penalty;
}

double ll_ridge(const double *x, const double *y, size_t n, int32_t p, double penalty, double *beta,
                double *loo)
{
    double  mean = 0.0, square = 0.0;
    double *A = ll_new((size_t)p, ((size_t)p + 1) * sizeof *A);
    double *h = A + (size_t)p * (size_t)p;
    if (A == NULL) return NAN;
    assert(n >= 2 && p >= 0 && penalty > 0.0);
    for (size_t i = 0; i < n; i++) mean += y[i] / (double)n;
    memset(beta, 0, ((size_t)p + 1) * sizeof *beta);
    beta[0] = mean;
    const bool slopes = isfinite(penalty);
    if (slopes) {
        normal_equations(x, y, n, p, penalty, A, beta + 1);
        chain_solve(A, beta + 1, p);
    }
    for (size_t i = 0; i < n; i++, x += p) {
        double fit = mean, own = 1.0 / (double)n; /* what y_i has to say about its own fit */
        for (int32_t j = 0; slopes && j < p; j++) fit += beta[1 + j] * x[j], h[j] = x[j];
        if (slopes) solve_lower(A, p, h);
        for (int32_t j = 0; slopes && j < p; j++) own += h[j] * h[j];
        const double off = (y[i] - fit) / fmax(1.0 - own, 1e-9);
        loo[i] = y[i] - off;
        square += off * off / (double)n;
    }
    ll_free(A);
    return square;
}

/* Is the error of the ridge less than that of the mean alone by more than its standard error over
 * the rows? Of several penalties one is always best, also of columns that tell nothing. */
static bool clearly_better(const double *y, const double *by_mean, const double *loo, size_t n)
{
    double sum = 0.0, square = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double before = y[i] - by_mean[i], now = y[i] - loo[i];
        const double gain = before * before - now * now;
        sum += gain;
        square += gain * gain;
    }
    const double mean = sum / (double)n, var = fmax(square / (double)n - mean * mean, 0.0);
    return mean > sqrt(var / (double)(n - 1));
}

/* Takes the ridge with this penalty into r and loo where its error is less than r's. */
static llap_status try_ridge(ll_static_ridge *r, const double *x, const double *y, size_t n,
                             int32_t p, double penalty, double *beta, double *out, double *loo)
{
    const double error = ll_ridge(x, y, n, p, penalty, beta, out);
    if (isnan(error)) return ll_fail(LLAP_ENUMERIC, "static: the ridge is not finite");
    if (isinf(penalty)) r->apart = error;
    else if (!(error < r->error)) return LLAP_OK;
    r->error = error;
    r->penalty = penalty;
    memcpy(r->beta, beta, ((size_t)p + 1) * sizeof *beta);
    memcpy(loo, out, n * sizeof *loo);
    return LLAP_OK;
}

/* The penalty with the least error, unless the mean alone is as good. */
static llap_status fit_ridge(ll_static_ridge *r, const double *x, const double *y, size_t n,
                             int32_t p, double *loo)
{
    static const double penalties[] = { 100.0, 10.0, 1.0, .1, .01 };
    double *beta = ll_new((size_t)p + 1, sizeof *beta), *out = ll_new(2 * n, sizeof *out);
    double *by_mean = out + n;
    r->beta = ll_new((size_t)p + 1, sizeof *r->beta);
    llap_status st = beta == NULL || out == NULL || r->beta == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = try_ridge(r, x, y, n, p, INFINITY, beta, out, loo);
    if (st == LLAP_OK) memcpy(by_mean, loo, n * sizeof *loo);
    for (size_t k = 0; st == LLAP_OK && k < sizeof penalties / sizeof *penalties; k++)
        st = try_ridge(r, x, y, n, p, penalties[k], beta, out, loo);
    if (st == LLAP_OK && isfinite(r->penalty) && !clearly_better(y, by_mean, loo, n))
        st = try_ridge(r, x, y, n, p, INFINITY, beta, out, loo);
    ll_free(beta);
    ll_free(out);
    return st;
}

llap_status ll_statics_fit(ll_statics *s, const ll_static_column *c, const size_t *which, size_t m,
                           const double *level, const double *spread, double *loo)
{
    const int32_t p = s->n_terms;
    double       *x = ll_new(m, (size_t)p * sizeof *x);
    if (x == NULL) return LLAP_ENOMEM;
    assert(m >= 2 && s->level.beta == NULL);
    for (size_t i = 0; i < m; i++) (void)ll_statics_row(s, c, which[i], x + i * (size_t)p);
    llap_status st = fit_ridge(&s->level, x, level, m, p, loo);
    if (st == LLAP_OK) st = fit_ridge(&s->spread, x, spread, m, p, loo + m);
    ll_free(x);
    return st;
}

bool ll_statics_help(const ll_statics *s)
{
    return isfinite(s->level.penalty) || isfinite(s->spread.penalty);
}
