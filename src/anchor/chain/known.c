#include "anchor/chain/known.h"

#include "anchor/chain/chain.h"
#include "base/alloc.h"
#include "base/bisect.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const double HOURS_DAY = 24.0, TWO_PI = 6.283185307179586476925286766559;
enum { DAILY = 5 }; /* 1, and sin and cos of the day, k = 1, 2 */

const char *ll_weighting_name(ll_weighting w)
{
    return w == LL_WEIGHTING_WHITENED ? "whitened" : "plain";
}

bool ll_known_slow(const ll_known *k)
{
    for (int32_t i = 0; i < k->n; i++)
        if (k->input[i].slow) return true;
    return false;
}

void ll_known_destroy(ll_known *k)
{
    if (k == NULL) return;
    ll_free(k->input);
    ll_free(k->beta);
    ll_free(k);
}

llap_status ll_known_copy(const ll_known *k, ll_known **out)
{
    ll_known *c = ll_new(1, sizeof *c);
    *out = NULL;
    if (c == NULL) return LLAP_ENOMEM;
    *c = *k;
    c->input = ll_new((size_t)k->n, sizeof *c->input);
    c->beta = k->beta == NULL ? NULL : ll_new((size_t)k->n_terms, sizeof *c->beta);
    if (c->input == NULL || (k->beta != NULL && c->beta == NULL)) {
        ll_known_destroy(c);
        return LLAP_ENOMEM;
    }
    memcpy(c->input, k->input, (size_t)k->n * sizeof *c->input);
    if (k->beta != NULL) memcpy(c->beta, k->beta, (size_t)k->n_terms * sizeof *c->beta);
    *out = c;
    return LLAP_OK;
}

/* ---- columns ---- */

static double cube_above(double x) { return x > 0.0 ? x * x * x : 0.0; }

void ll_spline_columns(const double *knot, int32_t n_knots, double x, double *out)
{
    assert(n_knots >= 2 && n_knots <= LL_KNOWN_KNOTS);
    const int    last = n_knots - 1;
    const double span = knot[last] - knot[0], z = (x - knot[0]) / span, beyond = cube_above(z - 1);
    double       d[LL_KNOWN_KNOTS];
    for (int j = 0; j < last; j++) {
        const double at = (knot[j] - knot[0]) / span;
        d[j] = (cube_above(z - at) - beyond) / (1.0 - at);
    }
    out[0] = z;
    for (int j = 0; j + 1 < last; j++) out[1 + j] = d[j] - d[last - 1];
}

/* 1, sin, cos, sin, cos; the first alone where there is no day. Returns their number. */
static int day_terms(const ll_known *k, double t, double *out)
{
    out[0] = 1.0;
    if (!k->daily) return 1;
    const double phase = TWO_PI * (fmod(t, HOURS_DAY) / HOURS_DAY);
    for (int i = 0; i < 2; i++) {
        out[1 + 2 * i] = sin((i + 1) * phase);
        out[2 + 2 * i] = cos((i + 1) * phase);
    }
    return DAILY;
}

static int32_t count_of(const ll_known *k, const ll_known_input *in)
{
    if (in->kind == LL_KNOWN_FLAG) return 1;
    return (in->n_knots - 1) * (k->daily ? DAILY : 1) * (in->slow ? 2 : 1);
}

int32_t ll_known_count(const ll_known *k)
{
    int32_t n = k->constant;
    for (int32_t i = 0; i < k->n; i++) n += count_of(k, &k->input[i]);
    return n;
}

double ll_known_penalty(const ll_known *k, int32_t term)
{
    const double alone = 5.0, by_day = 20.0, level = 1e-2;
    if (k->constant && term-- == 0) return level;
    for (int32_t i = 0; i < k->n; i++) {
        const int32_t n = count_of(k, &k->input[i]), width = k->input[i].n_knots - 1;
        if (term >= n) {
            term -= n;
            continue;
        }
        if (k->input[i].kind == LL_KNOWN_FLAG) return alone;
        return term / width % (k->daily ? DAILY : 1) == 0 ? alone : by_day;
    }
    assert(false);
    return alone;
}

/* Terms of one input whose value is x, and whose mean over a day is slow. Returns their number. */
static int32_t input_terms(const ll_known *k, const ll_known_input *in, const double *day, double x,
                           double slow, double *out)
{
    double        column[LL_KNOWN_KNOTS];
    const int     n_day = k->daily ? DAILY : 1;
    const int32_t width = in->n_knots - 1;
    int32_t       n = 0;
    if (in->kind == LL_KNOWN_FLAG) {
        out[0] = x;
        return 1;
    }
    for (int part = 0; part < (in->slow ? 2 : 1); part++) {
        ll_spline_columns(in->knot, in->n_knots, part == 0 ? x : slow, column);
        for (int d = 0; d < n_day; d++)
            for (int32_t j = 0; j < width; j++) out[n++] = column[j] * day[d];
    }
    return n;
}

/* ---- values at any time ---- */

static double usual_at(const ll_known_input *in, double t)
{
    double term[LL_CLIMATE_MAX], sum = 0.0;
    if (in->n_usual == 1) return in->usual[0];
    ll_climate_terms(t, in->n_usual, term);
    for (int32_t i = 0; i < in->n_usual; i++) sum += in->usual[i] * term[i];
    return sum;
}

typedef struct value {
    double x, var;
} value;

/* From a value at t_0 to t, which is not earlier. */
static value carried(const ll_known_input *in, value from, double t_0, double t)
{
    const double keep = pow(in->phi, t - t_0);
    return (value){ .x = usual_at(in, t) + (from.x - usual_at(in, t_0)) * keep,
                    .var = in->var * (1.0 - keep * keep) + from.var * keep * keep };
}

static value unknown(const ll_known_input *in, double t)
{
    return (value){ .x = usual_at(in, t), .var = in->var };
}

/* Rows at or before t. */
static size_t rows_until(const ll_inputs *in, double t)
{
    return in == NULL ? 0 : ll_count_upto(in->t, in->rows, t);
}

typedef struct moment { /* input number i at a time: itself and its mean over the day before */
    value now, slow;
} moment;

static moment moment_at(const ll_known *k, const ll_inputs *in, size_t until, int32_t i, double t)
{
    const ll_known_input *of = &k->input[i];
    if (until == 0) {
        const value none = unknown(of, t);
        return (moment){ none, none };
    }
    const size_t first = (size_t)i * in->rows, last = first + until - 1;
    moment       m = { .now = { in->x[last], in->var[last] } };
    if (in->t[until - 1] == t) {
        m.slow = (value){ in->slow[last], in->slow_var[last] };
        return m;
    }
    m.now = carried(of, m.now, in->t[until - 1], t);
    double sum = m.now.x, var = m.now.var, n = 1.0;
    for (size_t r = until; of->slow && r-- > 0 && in->t[r] > t - HOURS_DAY;) {
        sum += in->x[first + r];
        var += in->var[first + r];
        n += 1.0;
    }
    m.slow = (value){ sum / n, var / n };
    return m;
}

void ll_known_terms(const ll_known *k, const ll_inputs *in, double t, double *out)
{
    double       day[DAILY];
    const size_t until = rows_until(in, t);
    int32_t      n = k->constant;
    day_terms(k, t, day);
    if (k->constant) out[0] = 1.0;
    for (int32_t i = 0; i < k->n; i++) {
        const moment m = moment_at(k, in, until, i, t);
        n += input_terms(k, &k->input[i], day, m.now.x, m.slow.x, out + n);
    }
}

static double product(const double *beta, const double *term, int32_t n)
{
    double sum = 0.0;
    for (int32_t j = 0; j < n; j++) sum += beta[j] * term[j];
    return sum;
}

double ll_known_effect(const ll_known *k, const ll_inputs *in, double t, int one)
{
    double       day[DAILY], term[LL_KNOWN_TERMS];
    const size_t until = rows_until(in, t);
    int32_t      at = k->constant;
    double       sum = k->constant && one < 0 ? k->beta[0] : 0.0;
    day_terms(k, t, day);
    for (int32_t i = 0; i < k->n; i++) {
        const moment  m = moment_at(k, in, until, i, t);
        const int32_t n = input_terms(k, &k->input[i], day, m.now.x, m.slow.x, term);
        if (one < 0 || one == i) sum += product(k->beta + at, term, n);
        at += n;
    }
    return sum;
}

double ll_known_at_mean(const ll_known *k, int32_t i, double t, double *flat)
{
    const ll_known_input *in = &k->input[i];
    double                day[DAILY], at_once[DAILY] = { 1.0 }, term[LL_KNOWN_TERMS];
    int32_t               at = k->constant;
    assert(i >= 0 && i < k->n);
    *flat = 0.0;
    if (in->kind == LL_KNOWN_FLAG) return 0.0;
    for (int32_t j = 0; j < i; j++) at += count_of(k, &k->input[j]);
    const double x = in->usual[0];
    int32_t      n = input_terms(k, in, at_once, x, x, term);
    *flat = product(k->beta + at, term, n);
    day_terms(k, t, day);
    n = input_terms(k, in, day, x, x, term);
    return product(k->beta + at, term, n);
}

/* The slope is taken over one deviation to either side: effects bend. */
double ll_known_doubt(const ll_known *k, const ll_inputs *in, double t)
{
    double       day[DAILY], term[2][LL_KNOWN_TERMS], sum = 0.0;
    const size_t until = rows_until(in, t);
    int32_t      at = k->constant;
    day_terms(k, t, day);
    for (int32_t i = 0; i < k->n; i++) {
        const moment m = moment_at(k, in, until, i, t);
        const double s = sqrt(m.now.var), slow = sqrt(m.slow.var);
        int32_t      n = count_of(k, &k->input[i]);
        if (s > 0.0 || slow > 0.0) {
            input_terms(k, &k->input[i], day, m.now.x - s, m.slow.x - slow, term[0]);
            n = input_terms(k, &k->input[i], day, m.now.x + s, m.slow.x + slow, term[1]);
            const double half =
                0.5 * (product(k->beta + at, term[1], n) - product(k->beta + at, term[0], n));
            sum += half * half;
        }
        at += n;
    }
    return sum;
}

/* ---- series without gaps ---- */

void ll_inputs_destroy(ll_inputs *in)
{
    if (in == NULL) return;
    ll_free(in->t);
    ll_free(in->x);
    ll_free(in);
}

/* The value of a column as an input; NaN: missing, none of the values of training, or a number far
 * outside their range: a glitch, most likely. */
static double input_of(const ll_known *k, const ll_known_input *in, double raw)
{
    if (isnan(raw)) return raw;
    if (in->kind == LL_KNOWN_NUMBER) {
        const double low = in->knot[0], high = in->knot[in->n_knots - 1], far = 3.0 * (high - low);
        assert(in->n_knots >= 2 && far > 0.0);
        return raw < low - far || raw > high + far ? NAN : raw; /* no line goes on for ever */
    }
    bool seen = false;
    int  levels = 0;
    for (int32_t i = 0; i < k->n; i++) {
        if (k->input[i].column != in->column) continue;
        seen = seen || k->input[i].level == raw;
        levels++;
    }
    seen = seen || (levels == 1 && raw == 0.0); /* of a 0/1 column 0 has no input */
    return seen ? (double)(raw == in->level) : NAN;
}

bool ll_known_takes(const ll_known *k, int32_t column, double raw)
{
    for (int32_t i = 0; i < k->n; i++)
        if (k->input[i].column == column) return !isnan(input_of(k, &k->input[i], raw));
    return !isnan(raw);
}

/* Sums over a day by whole hours of the clock, so that they do not depend on where a series begins,
 * as a running sum would by its rounding: what a stream keeps gives the bytes of a whole history.
 */
enum { HOURS = 32 }; /* more than a day has */
typedef struct hour_sums {
    double hour[HOURS], x[HOURS], var[HOURS]; /* which hour it is, and its rows so far */
} hour_sums;

static int place_of(double hour)
{
    const double at = fmod(hour, HOURS);
    return (int)(at < 0.0 ? at + HOURS : at);
}

/* Takes row r in. Its mean over the day, whose first row is `first`. */
static value day_mean(hour_sums *s, const double *t, const double *x, const double *var, size_t r,
                      size_t first)
{
    const double now = floor(t[r]), oldest = floor(t[r] - HOURS_DAY), n = (double)(r + 1 - first);
    const int    at = place_of(now);
    value        sum = { 0 };
    if (s->hour[at] != now) s->hour[at] = now, s->x[at] = s->var[at] = 0.0;
    s->x[at] += x[r];
    s->var[at] += var[r];
    for (size_t q = first; q < r && floor(t[q]) == oldest; q++) { /* the rest of that hour */
        sum.x += x[q];
        sum.var += var[q];
    }
    for (double hour = oldest + 1.0; hour <= now; hour += 1.0) {
        const int h = place_of(hour);
        if (s->hour[h] != hour) continue;
        sum.x += s->x[h];
        sum.var += s->var[h];
    }
    return (value){ sum.x / n, sum.var / n };
}

static void fill_input(const ll_known *k, int32_t i, const double *raw, ll_inputs *out)
{
    const ll_known_input *in = &k->input[i];
    const size_t          at = (size_t)i * out->rows;
    const double         *column = raw + (size_t)in->column * out->rows;
    value                 last = { 0 };
    size_t                back = 0;
    hour_sums             sums;
    for (int h = 0; h < HOURS; h++) sums.hour[h] = NAN;
    for (size_t r = 0; r < out->rows; r++) {
        const double x = input_of(k, in, column[r]);
        last = !isnan(x) ? (value){ .x = x }
               : r == 0  ? unknown(in, out->t[0])
                         : carried(in, last, out->t[r - 1], out->t[r]);
        out->x[at + r] = last.x;
        out->var[at + r] = last.var;
        while (back < r && out->t[back] <= out->t[r] - HOURS_DAY) back++;
        const value day = day_mean(&sums, out->t, out->x + at, out->var + at, r, back);
        out->slow[at + r] = day.x;
        out->slow_var[at + r] = day.var;
    }
}

llap_status ll_inputs_create(const ll_known *k, const double *t, const double *raw, size_t rows,
                             ll_inputs **out)
{
    const size_t n = (size_t)k->n * rows;
    ll_inputs   *in = ll_new(1, sizeof *in);
    *out = NULL;
    if (in == NULL) return LLAP_ENOMEM;
    *in = (ll_inputs){ .n = (size_t)k->n, .rows = rows };
    in->t = ll_new(rows, sizeof *in->t);
    in->x = ll_new(4 * n, sizeof *in->x);
    if (in->t == NULL || in->x == NULL) {
        ll_inputs_destroy(in);
        return LLAP_ENOMEM;
    }
    if (rows > 0) memcpy(in->t, t, rows * sizeof *t);
    in->var = in->x + n;
    in->slow = in->x + 2 * n;
    in->slow_var = in->x + 3 * n;
    for (int32_t i = 0; i < k->n; i++) fill_input(k, i, raw, in);
    *out = in;
    return LLAP_OK;
}
