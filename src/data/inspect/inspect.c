#include "data/inspect/inspect.h"

#include "base/alloc.h"
#include "base/sort.h"
#include "base/time/civil.h"
#include "data/pack.h"
#include "data/timeline.h"
#include "data/windows/spans.h"

#include <stdlib.h>
#include <string.h>

/* ---- variables ------------------------------------------------------------------------------ */

/* Extremes, mean and, in a second pass, deviation. */
static void measure_values(const llap_panel *p, int64_t v, ll_inspect_var *out)
{
    double sum = 0;
    out->least = INFINITY;
    out->most = -INFINITY;
    for (int64_t r = 0; r < p->n_rows; r++) {
        if (!ll_panel_observed(p, r, v)) continue;
        const double x = (double)p->value[r * p->n_vars + v];
        out->observed++;
        out->least = fmin(out->least, x);
        out->most = fmax(out->most, x);
        sum += x;
    }
    out->coverage = p->n_rows == 0 ? 0 : (double)out->observed / (double)p->n_rows;
    if (out->observed == 0) {
        out->least = out->most = out->mean = out->std = NAN;
        return;
    }
    out->mean = sum / (double)out->observed;
    double squares = 0;
    for (int64_t r = 0; r < p->n_rows; r++)
        if (ll_panel_observed(p, r, v)) {
            const double d = (double)p->value[r * p->n_vars + v] - out->mean;
            squares += d * d;
        }
    out->std = sqrt(squares / (double)out->observed);
    out->constant = out->observed > 1 && out->least == out->most;
}

/* Every k-th observed value, so that quartiles of huge panels take no longer than a second. */
static llap_status measure_quartiles(const llap_panel *p, int64_t v, ll_inspect_var *out)
{
    enum { MOST = 1 << 20 };
    const int64_t every = out->observed / MOST + 1, room = out->observed / every + 1;
    float        *x = ll_new((size_t)room, sizeof *x);
    if (x == NULL) return LLAP_ENOMEM;
    int64_t seen = 0, n = 0;
    for (int64_t r = 0; r < p->n_rows; r++)
        if (ll_panel_observed(p, r, v) && seen++ % every == 0) x[n++] = p->value[r * p->n_vars + v];
    ll_sort_floats(x, (size_t)n);
    for (int q = 0; q < 3; q++) out->quartile[q] = n == 0 ? NAN : (double)x[(n - 1) * (q + 1) / 4];
    ll_free(x);
    const double far = LL_INSPECT_FAR * (out->quartile[2] - out->quartile[0]);
    const double low = out->quartile[0] - far, high = out->quartile[2] + far;
    for (int64_t r = 0; r < p->n_rows && far > 0; r++) {
        if (!ll_panel_observed(p, r, v)) continue;
        const double value = (double)p->value[r * p->n_vars + v];
        out->outliers += value < low || value > high;
    }
    return LLAP_OK;
}

static void measure_entities(const llap_panel *p, int64_t v, ll_inspect_var *out)
{
    ll_kind_look look = { 0 };
    for (int64_t e = 0; e < p->n_entities; e++) {
        int64_t n = 0;
        float   first = 0;
        bool    same = true;
        ll_kind_start(&look);
        for (int64_t r = p->start[e]; r < p->start[e + 1]; r++) {
            if (!ll_panel_observed(p, r, v)) continue;
            const float x = p->value[r * p->n_vars + v];
            if (n++ == 0) first = x;
            same = same && x == first;
            ll_kind_add(&look, (double)x);
        }
        out->entities += n > 0;
        out->constant_entities += n > 1 && same;
    }
    out->kind = ll_kind_found(&look);
    out->percentage = ll_kind_percentage(&look, out->kind);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static llap_status measure_lengths(const llap_panel *p, ll_inspect *i)
{
    if (p->n_entities == 0) return LLAP_OK;
    int64_t *n = ll_new((size_t)p->n_entities, sizeof *n);
    if (n == NULL) return LLAP_ENOMEM;
    i->first = INT64_MAX;
    i->last = INT64_MIN;
    for (int64_t e = 0; e < p->n_entities; e++) {
        n[e] = p->start[e + 1] - p->start[e];
        if (n[e] == 0) continue;
        if (p->time[p->start[e]] < i->first) i->first = p->time[p->start[e]];
        if (p->time[p->start[e + 1] - 1] > i->last) i->last = p->time[p->start[e + 1] - 1];
    }
    ll_sort_ints(n, (size_t)p->n_entities);
    i->rows_least = n[0];
    i->rows_median = n[p->n_entities / 2];
    i->rows_most = n[p->n_entities - 1];
    ll_free(n);
    if (p->n_rows == 0) i->first = i->last = 0;
    return LLAP_OK;
}

typedef struct moment { /* a row: its time and how many values it has */
    int64_t time, n;
} moment;

static int by_time(const void *a, const void *b)
{
    const moment *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

static int64_t count_row(const llap_panel *p, int64_t row)
{
    int64_t n = 0;
    for (int64_t v = 0; v < p->n_vars; v++) n += ll_panel_observed(p, row, v);
    return n;
}

/* Coverage of each timestamp over all entities. */
static llap_status measure_joint(const llap_panel *p, ll_inspect *i)
{
    moment *m = ll_new((size_t)p->n_rows, sizeof *m);
    if (m == NULL) return LLAP_ENOMEM;
    for (int64_t r = 0; r < p->n_rows; r++) {
        m[r] = (moment){ p->time[r], count_row(p, r) };
        i->empty_rows += m[r].n == 0;
    }
    if (p->n_entities > 1) qsort(m, (size_t)p->n_rows, sizeof *m, by_time);
    int64_t n = 0;
    for (int64_t r = 0; r < p->n_rows; r++) {
        if (n > 0 && m[n - 1].time == m[r].time) m[n - 1].n += m[r].n;
        else m[n++] = m[r];
    }
    i->timestamps = n;
    const double of = (double)p->n_entities * (double)p->n_vars;
    if (n > 0 && of > 0) {
        int64_t *count = (int64_t *)(void *)m; /* times are done with: reuse their room */
        double   sum = 0;
        for (int64_t k = 0; k < n; k++) count[k] = m[k].n, sum += (double)count[k];
        ll_sort_ints(count, (size_t)n);
        i->joint_least = (double)count[0] / of;
        i->joint_median = (double)count[n / 2] / of;
        i->joint_mean = sum / (double)n / of;
    }
    ll_free(m);
    return LLAP_OK;
}

/* ---- suggestions ---------------------------------------------------------------------------- */

static int64_t on_grid(const llap_panel *p, int64_t step)
{
    int64_t n = 0;
    for (int64_t r = 0; r < p->n_rows; r++) n += p->time[r] % step == 0;
    return n;
}

/* No two entities have a time in common. */
static llap_status are_apart(const llap_panel *p, bool *apart)
{
    moment *m = ll_new((size_t)p->n_entities, sizeof *m); /* begin and end of each */
    int64_t n = 0;
    if (m == NULL) return LLAP_ENOMEM;
    for (int64_t e = 0; e < p->n_entities; e++)
        if (p->start[e] < p->start[e + 1])
            m[n++] = (moment){ p->time[p->start[e]], p->time[p->start[e + 1] - 1] };
    qsort(m, (size_t)n, sizeof *m, by_time);
    *apart = n > 3; /* fewer do not make three parts */
    for (int64_t k = 1; k < n; k++) *apart = *apart && m[k - 1].n < m[k].time;
    ll_free(m);
    return LLAP_OK;
}

/* Two weeks and one of hourly data, 200 and 100 of daily: what the protocol's sets use; at most
 * half and a quarter of what the usual entity has. */
static llap_status suggest(const llap_panel *p, ll_inspect *i)
{
    const int64_t step = i->suggested.grid = i->gaps.grid;
    if (step <= 0) return LLAP_OK;
    i->suggested.regular = (double)on_grid(p, step) / (double)p->n_rows;
    int64_t span;
    if (__builtin_sub_overflow(i->last, i->first, &span)) span = INT64_MAX;
    i->suggested.points = span / step + (span < INT64_MAX);
    const int64_t day = LL_NS_PER_DAY;
    int64_t       context = step < day ? 336 : 200, longest = 0;
    for (int64_t e = 0; e < p->n_entities; e++) {
        if (p->start[e] == p->start[e + 1]) continue;
        int64_t own;
        if (__builtin_sub_overflow(p->time[p->start[e + 1] - 1], p->time[p->start[e]], &own))
            own = span;
        if (own / step > longest) longest = own / step;
    }
    if (context > longest / 2) context = longest / 2;
    if (context < 1) return LLAP_OK;
    ll_spans s = { .context = context * step, .horizon = (context + 1) / 2 * step };
    int64_t *var = ll_new((size_t)p->n_vars, sizeof *var);
    if (var == NULL) return LLAP_ENOMEM;
    for (int64_t v = 0; v < p->n_vars; v++) var[v] = v;
    const llap_status st = ll_spans_shorten(p, var, p->n_vars, step, &s);
    ll_free(var);
    i->suggested.context = s.context;
    i->suggested.horizon = s.horizon;
    i->suggested.even = s.even;
    return st == LLAP_OK ? are_apart(p, &i->suggested.apart) : st;
}

llap_status ll_inspect_create(const llap_panel *p, ll_inspect **out)
{
    *out = NULL;
    const llap_status whole = ll_panel_verify_all(p);
    if (whole != LLAP_OK) return whole;
    ll_inspect *i = *out = ll_new(1, sizeof *i);
    if (i == NULL) return LLAP_ENOMEM;
    i->entities = p->n_entities;
    i->vars = p->n_vars;
    i->rows = p->n_rows;
    i->observed = ll_panel_count_observed(p);
    const int64_t cells = p->n_rows * p->n_vars;
    for (int64_t c = 0; c < cells; c++) i->filled += !isnan(p->value[c]);
    i->filled -= i->observed;
    i->coverage = cells == 0 ? 0 : (double)i->observed / (double)cells;
    i->var = ll_new((size_t)p->n_vars, sizeof *i->var);
    llap_status st = i->var == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t v = 0; v < p->n_vars && st == LLAP_OK; v++) {
        measure_values(p, v, &i->var[v]);
        measure_entities(p, v, &i->var[v]);
        st = measure_quartiles(p, v, &i->var[v]);
    }
    if (st == LLAP_OK) st = measure_lengths(p, i);
    if (st == LLAP_OK) st = measure_joint(p, i);
    if (st == LLAP_OK) st = ll_gaps_measure(p, &i->gaps);
    if (st == LLAP_OK) st = suggest(p, i);
    if (st == LLAP_OK) return LLAP_OK;
    ll_inspect_destroy(i);
    *out = NULL;
    return st;
}

void ll_inspect_destroy(ll_inspect *i)
{
    if (i == NULL) return;
    ll_free(i->var);
    ll_free(i);
}
