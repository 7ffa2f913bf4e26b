#include "fill/smooth.h"

#include "base/alloc.h"

#include <assert.h>
#include <math.h>

void ll_fill_table_deinit(ll_fill_table *t)
{
    ll_free(t->before);
    ll_free(t->read);
    ll_free(t->same);
    ll_free(t->unrest);
    t->before = t->read = t->same = NULL;
    t->unrest = NULL;
}

int64_t ll_fill_row_at(const ll_fill_table *t, int64_t e, double time, double step)
{
    int64_t low = t->start[e], high = t->start[e + 1];
    while (low < high) { /* the first row not before time */
        const int64_t mid = low + (high - low) / 2;
        if (t->t[mid] < time) low = mid + 1;
        else high = mid;
    }
    int64_t best = -1;
    double  far = step / 2;
    for (int64_t r = low - 1; r <= low; r++)
        if (r >= t->start[e] && r < t->start[e + 1] && fabs(t->t[r] - time) < far) {
            far = fabs(t->t[r] - time);
            best = r;
        }
    return best;
}

/* The largest unit, a part of the step, that rows of an entity are whole multiples of apart; the
 * step itself, where there is none that a table of lags would gain by. */
static double find_unit(const ll_filling *f, const ll_fill_table *t)
{
    const double nothing = 1e-6 * f->step, least = f->step / 64;
    double       unit = f->step;
    for (int64_t r = 1; r < t->n_rows; r++) {
        double d = t->entity[r] == t->entity[r - 1] ? t->t[r] - t->t[r - 1] : 0;
        while (d > nothing) { /* Euclid */
            const double left = fmod(unit, d);
            unit = d;
            d = left < d - nothing ? left : 0;
        }
        if (unit < least) return f->step;
    }
    return unit;
}

/* place [n_entities of f]: where each is in the table; -1: nowhere. */
static void find_same(const ll_filling *f, ll_fill_table *t, const int64_t *place)
{
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < t->n_rows; r++) {
        const int64_t e = t->known[t->entity[r]];
        for (int64_t k = 0; k < f->n_near; k++) {
            const int32_t j = e < 0 ? -1 : f->near[e * f->n_near + k];
            const int64_t at = j < 0 ? -1 : place[j];
            t->same[r * f->n_near + k] =
                (int32_t)(at < 0 ? -1 : ll_fill_row_at(t, at, t->t[r], f->step));
        }
    }
}

llap_status ll_fill_table_index(const ll_filling *f, ll_fill_table *t)
{
    const size_t n = (size_t)t->n_rows, V = (size_t)t->n_vars;
    const bool   first = t->before == NULL;
    assert(t->n_vars == f->n_vars);
    if (first) {
        t->before = ll_new(n * V, sizeof *t->before);
        t->read = ll_new(n * V, sizeof *t->read);
        t->same = ll_new(n * (size_t)f->n_near + 1, sizeof *t->same);
        if (t->before == NULL || t->read == NULL || t->same == NULL) return LLAP_ENOMEM;
        int64_t *place = ll_new((size_t)f->n_entities + 1, sizeof *place);
        if (place == NULL) return LLAP_ENOMEM;
        for (int64_t j = 0; j < f->n_entities; j++) place[j] = -1;
        for (int64_t e = 0; e < t->n_entities; e++)
            if (t->known[e] >= 0 && t->known[e] < f->n_entities) place[t->known[e]] = e;
        find_same(f, t, place);
        t->unit = find_unit(f, t);
        ll_free(place);
    }
    for (int64_t v = 0; v < t->n_vars; v++) {
        int32_t count = 0;
        for (int64_t r = v * t->n_rows; r < (v + 1) * t->n_rows; r++) {
            t->before[r] = count;
            if (!isnan(t->u[r])) t->read[v * t->n_rows + count++] = (int32_t)(r - v * t->n_rows);
        }
    }
    return LLAP_OK;
}

int ll_fill_around(const ll_filling *f, const ll_fill_table *t, int64_t v, int64_t row,
                   int32_t *out)
{
    const int64_t  e = t->entity[row], first = t->start[e], end = t->start[e + 1];
    const int32_t *read = t->read + v * t->n_rows;
    const int64_t  at = t->before[v * t->n_rows + row];
    const bool     own = !isnan(t->u[v * t->n_rows + row]);
    const int64_t  last = t->n_rows - 1;
    const int64_t  all = t->before[v * t->n_rows + last] + !isnan(t->u[v * t->n_rows + last]);
    int            n = 0;
    int64_t        low = row, high = row;
    for (int64_t i = at - 1; i >= 0 && n < LL_FILL_AROUND && read[i] >= first; i--)
        out[n++] = (int32_t)(low = read[i]);
    const int before = n;
    for (int64_t i = at + own; i < all && n < before + LL_FILL_AROUND && read[i] < end; i++)
        out[n++] = (int32_t)(high = read[i]);
    for (int k = -2; f->day && k <= 2; k++) {
        const int64_t r = k == 0 ? -1 : ll_fill_row_at(t, e, t->t[row] + 24.0 * k, f->step);
        if (r >= 0 && (r < low || r > high) && !isnan(t->u[v * t->n_rows + r]))
            out[n++] = (int32_t)r;
    }
    return n;
}

void ll_fill_smoother_init(ll_fill_smoother *s, const ll_filling *f, const ll_fill_lags *l,
                           const ll_fill_table *t, int64_t v)
{
    s->f = f;
    s->l = l;
    s->t = t;
    s->v = v;
    s->n = 0;
    s->n_w = -1;
}

/* U becomes the factor of readings at d [n]: what it already is of stays. False: not positive
 * definite. */
static bool factor(ll_fill_smoother *s, int n, const double *d)
{
    int same = 0;
    while (same < n && same < s->n && d[same] == s->d[same]) same++;
    if (same < n || n < s->n) s->n_w = -1;
    for (int i = same; i < n; i++) s->d[i] = d[i];
    s->n = ll_fill_grow(s->l, s->f->kernel[s->v].nu, s->d, same, n, &s->U);
    return s->n == n;
}

/* Weights of the readings that U is of, for a cell that the first of them is so far from. */
static void weigh(ll_fill_smoother *s, double first)
{
    double at[LL_FILL_LOOK];
    if (s->n_w == s->n && s->first == first) return;
    for (int i = 0; i < s->n; i++) at[i] = first + s->d[i];
    ll_fill_weights(s->l, s->f->kernel[s->v].nu, s->n, at, &s->U, s->w, &s->var);
    s->n_w = s->n;
    s->first = first;
}

void ll_fill_smooth(ll_fill_smoother *s, int64_t row, ll_fill_look *out)
{
    const ll_fill_table *t = s->t;
    const double        *u = t->u + s->v * t->n_rows;
    double               d[LL_FILL_LOOK];
    out->n = ll_fill_around(s->f, t, s->v, row, out->row);
    assert(out->n <= LL_FILL_LOOK);
    for (int i = 0; i < out->n; i++) d[i] = t->t[out->row[i]] - t->t[out->row[0]];
    if (!factor(s, out->n, d)) { /* as if nothing were read */
        s->n_w = -1;
        out->n = s->n = 0;
    }
    weigh(s, out->n > 0 ? t->t[out->row[0]] - t->t[row] : 0);
    out->mean = 0;
    for (int i = 0; i < out->n; i++) {
        out->w[i] = s->w[i];
        out->mean += s->w[i] * u[out->row[i]];
    }
    out->b = sqrt(fmax(s->var, 1e-5));
}
