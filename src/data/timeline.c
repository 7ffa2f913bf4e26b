#include "data/timeline.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/sort.h"
#include "data/gaps.h"
#include "data/pack.h"
#include "data/panel_words.h"

#include <string.h>

/* A grid of many rows for each one measured: a time that is wrong, or a step that is. */
enum { MANY_ROWS = 1 << 24, SPARSE = 1024 };

/* The rows of one entity on their way. Cells are observed, carried (finite) or missing (NaN). */
typedef struct rows {
    int64_t       *time;     /* [n] */
    float         *value;    /* [n,n_vars] */
    unsigned char *observed; /* [n,n_vars] */
    double        *sum;      /* [n,n_vars] of the values of each bin, for the mean */
    uint32_t      *count;    /* [n,n_vars] */
    int64_t        n, capacity;
} rows;

typedef struct work {
    const llap_panel       *p;
    const ll_timeline_opts *o;
    int64_t                 step;
    int64_t                 span_first, span_last; /* bins of the common span */
    rows                    rows;
    ll_timeline_counts      counts;
} work;

static int64_t floor_div(int64_t a, int64_t b)
{
    const int64_t q = a / b;
    return a % b < 0 ? q - 1 : q;
}

static void rows_deinit(rows *r)
{
    ll_free(r->time);
    ll_free(r->value);
    ll_free(r->observed);
    ll_free(r->sum);
    ll_free(r->count);
}

/* Room for n rows, nothing in them. */
static llap_status rows_reset(rows *r, int64_t n, int64_t n_vars, bool sums)
{
    if (n > r->capacity || r->time == NULL) {
        rows_deinit(r);
        const size_t n_rows = (size_t)n, cells = (size_t)(n * n_vars);
        *r = (rows){ .time = ll_new(n_rows, sizeof *r->time) };
        r->value = r->time == NULL ? NULL : ll_new(cells, sizeof *r->value);
        r->observed = r->value == NULL ? NULL : ll_new(cells, 1);
        if (r->observed == NULL) return LLAP_ENOMEM;
        if (sums) {
            r->sum = ll_new(cells, sizeof *r->sum);
            r->count = r->sum == NULL ? NULL : ll_new(cells, sizeof *r->count);
            if (r->count == NULL) return LLAP_ENOMEM;
        }
        r->capacity = n;
    }
    r->n = n;
    for (int64_t i = 0; i < n * n_vars; i++) r->value[i] = NAN;
    memset(r->observed, 0, (size_t)(n * n_vars));
    if (sums) {
        memset(r->sum, 0, (size_t)(n * n_vars) * sizeof *r->sum);
        memset(r->count, 0, (size_t)(n * n_vars) * sizeof *r->count);
    }
    return LLAP_OK;
}

/* ---- grid ----------------------------------------------------------------------------------- */

/* The bin of a time; exact: the nearest at or below, to be compared with the time itself. */
static bool bin_of(const work *w, int64_t time, int64_t *bin)
{
    int64_t       from;
    const int64_t shift = w->o->bin == LL_BIN_NEAREST ? w->step / 2 : 0;
    if (__builtin_sub_overflow(time, w->o->origin, &from) ||
        __builtin_add_overflow(from, shift, &from))
        return false;
    *bin = floor_div(from, w->step);
    return true;
}

static bool grid_point(const work *w, int64_t bin, int64_t *time)
{
    return !__builtin_mul_overflow(bin, w->step, time) &&
           !__builtin_add_overflow(*time, w->o->origin, time);
}

/* First and last grid point that the entity needs. An exact grid begins at or after its first time.
 */
static llap_status bins_of(const work *w, int64_t e, int64_t *first, int64_t *last)
{
    const int64_t from = w->p->time[w->p->start[e]], to = w->p->time[w->p->start[e + 1] - 1];
    int64_t       point, unused;
    if (!bin_of(w, from, first) || !bin_of(w, to, last) || !grid_point(w, *first, &point) ||
        !grid_point(w, *last, &unused))
        return ll_fail(LLAP_ELIMIT, "grid: entity '%s' reaches out of the range of times",
                       w->p->entity[e]);
    if (w->o->bin == LL_BIN_EXACT && point < from) ++*first;
    return LLAP_OK;
}

static llap_status find_span(work *w)
{
    w->span_first = INT64_MAX;
    w->span_last = INT64_MIN;
    for (int64_t e = 0; e < w->p->n_entities; e++) {
        int64_t first, last;
        if (w->p->start[e] == w->p->start[e + 1]) continue;
        const llap_status st = bins_of(w, e, &first, &last);
        if (st != LLAP_OK) return st;
        if (first < w->span_first) w->span_first = first;
        if (last > w->span_last) w->span_last = last;
    }
    return LLAP_OK;
}

static void put_observed(work *w, int64_t cell, float x)
{
    rows *r = &w->rows;
    w->counts.merged_cells += r->observed[cell];
    r->observed[cell] = 1;
    r->value[cell] = x;
    if (w->step == 0 || w->o->agg == LL_AGG_LAST) return;
    r->sum[cell] += (double)x;
    r->count[cell]++;
    r->value[cell] = (float)(r->sum[cell] / r->count[cell]);
}

/* One row of the panel into its bin. carried [n_vars]: values carried along the rows, or NULL. */
static void put_row(work *w, int64_t row, int64_t bin, const float *carried)
{
    const int64_t n_vars = w->p->n_vars;
    for (int64_t v = 0; v < n_vars; v++) {
        const int64_t cell = bin * n_vars + v;
        const float   x = w->p->value[row * n_vars + v];
        if (ll_panel_observed(w->p, row, v)) put_observed(w, cell, x);
        else if (w->rows.observed[cell]) continue;
        else if (!isnan(x)) w->rows.value[cell] = x;
        else if (carried != NULL) w->rows.value[cell] = carried[v];
    }
}

static void carry(const llap_panel *p, int64_t row, float *carried)
{
    for (int64_t v = 0; v < p->n_vars; v++)
        if (!isnan(p->value[row * p->n_vars + v])) carried[v] = p->value[row * p->n_vars + v];
}

static int64_t count_observed(const llap_panel *p, int64_t row)
{
    int64_t n = 0;
    for (int64_t v = 0; v < p->n_vars; v++) n += ll_panel_observed(p, row, v);
    return n;
}

/* The entity's rows, on the grid if there is one, into w->rows. carried [n_vars] is scratch. */
static llap_status lay_out(work *w, int64_t e, float *carried)
{
    const llap_panel *p = w->p;
    const int64_t     from = p->start[e], to = p->start[e + 1];
    int64_t           first = 0, last = to - from - 1;
    llap_status       st = LLAP_OK;
    if (w->step > 0) {
        st = bins_of(w, e, &first, &last);
        if (w->o->common_span) first = w->span_first, last = w->span_last;
    }
    if (st != LLAP_OK) return st;
    int64_t n;
    if (__builtin_sub_overflow(last, first, &n) || ++n > INT32_MAX)
        return ll_fail(LLAP_ELIMIT,
                       "grid: entity '%s' would have more than %d rows; take a longer step",
                       p->entity[e], INT32_MAX);
    if (n > MANY_ROWS && n / SPARSE > (w->o->common_span ? p->n_rows : to - from))
        return ll_fail(LLAP_ELIMIT,
                       "grid: entity '%s' has %lld rows and would have %lld; take a longer step, "
                       "or correct a first or last time that is far off",
                       p->entity[e], (long long)(to - from), (long long)n);
    if (n < 0) n = 0; /* an exact grid may have no point */
    st = rows_reset(&w->rows, n, p->n_vars, w->step > 0 && w->o->agg == LL_AGG_MEAN);
    if (st != LLAP_OK) return st;
    for (int64_t i = 0; i < n; i++)
        if (w->step == 0) w->rows.time[i] = p->time[from + i];
        else (void)grid_point(w, first + i, &w->rows.time[i]); /* in range, as its ends are */
    for (int64_t v = 0; v < p->n_vars; v++) carried[v] = NAN;
    const bool carries = w->o->fill == LL_FILL_BOTH;
    for (int64_t r = from; r < to; r++) {
        int64_t bin = r - from;
        if (carries) carry(p, r, carried);
        if (w->step > 0) {
            (void)bin_of(w, p->time[r], &bin); /* likewise */
            bin -= first;
            if (w->o->bin == LL_BIN_EXACT &&
                (bin < 0 || bin >= n || w->rows.time[bin] != p->time[r])) {
                w->counts.off_grid_cells += count_observed(p, r);
                continue;
            }
        }
        put_row(w, r, bin, carries ? carried : NULL);
    }
    return LLAP_OK;
}

static void fill_forward(rows *r, int64_t n_vars)
{
    for (int64_t i = n_vars; i < r->n * n_vars; i++)
        if (isnan(r->value[i])) r->value[i] = r->value[i - n_vars];
}

/* ---- choosing ------------------------------------------------------------------------------- */

static int64_t values_in_row(const rows *r, int64_t row, int64_t n_vars, bool filled)
{
    int64_t n = 0;
    for (int64_t c = row * n_vars; c < (row + 1) * n_vars; c++)
        n += filled ? !isnan(r->value[c]) : r->observed[c];
    return n;
}

static bool has_value(const rows *r, int64_t n_vars, int64_t v, bool observed)
{
    for (int64_t i = 0; i < r->n; i++)
        if (observed ? r->observed[i * n_vars + v] != 0 : !isnan(r->value[i * n_vars + v]))
            return true;
    return false;
}

/* Variables of which the entity has a value at all, on the grid or off it. */
static int64_t count_present(const llap_panel *p, int64_t e)
{
    int64_t n = 0;
    for (int64_t v = 0; v < p->n_vars; v++)
        for (int64_t r = p->start[e]; r < p->start[e + 1]; r++)
            if (!isnan(p->value[r * p->n_vars + v])) {
                n++;
                break;
            }
    return n;
}

/* Drops rows with too few values. */
static void filter_rows(work *w, int64_t e)
{
    rows         *r = &w->rows;
    const int64_t n_vars = w->p->n_vars;
    const int64_t of = w->o->row_min_present ? count_present(w->p, e) : n_vars;
    const int64_t enough = (int64_t)ceil(w->o->row_min * (double)of);
    int64_t       n = 0;
    for (int64_t i = 0; i < r->n; i++) {
        if (values_in_row(r, i, n_vars, w->o->row_min_filled) < enough) continue;
        r->time[n] = r->time[i];
        memmove(r->value + n * n_vars, r->value + i * n_vars, (size_t)n_vars * sizeof *r->value);
        memmove(r->observed + n * n_vars, r->observed + i * n_vars, (size_t)n_vars);
        n++;
    }
    w->counts.dropped_rows += r->n - n;
    r->n = n;
}

static double coverage(const rows *r, int64_t n_vars)
{
    int64_t n = 0;
    for (int64_t i = 0; i < r->n; i++) n += values_in_row(r, i, n_vars, true);
    return r->n * n_vars == 0 ? 0 : (double)n / (double)(r->n * n_vars);
}

/* Steps 1 to 6 for one entity; w->rows is then final but for columns and rounding. */
static llap_status prepare(work *w, int64_t e, int64_t need, float *carried, bool *keep)
{
    const llap_panel       *p = w->p;
    const ll_timeline_opts *o = w->o;
    int64_t                 span = 0;
    *keep = p->start[e + 1] > p->start[e];
    if (*keep && __builtin_sub_overflow(p->time[p->start[e + 1] - 1], p->time[p->start[e]], &span))
        span = INT64_MAX;
    *keep = *keep && span >= o->min_span;
    if (!*keep) return LLAP_OK;
    llap_status st = lay_out(w, e, carried);
    if (st != LLAP_OK) return st;
    if (o->fill != LL_FILL_NONE) fill_forward(&w->rows, p->n_vars);
    *keep = o->entity_min <= 0 || coverage(&w->rows, p->n_vars) >= o->entity_min;
    if (*keep && o->row_min > 0) filter_rows(w, e);
    *keep = *keep && w->rows.n > 0 && w->rows.n >= o->min_rows &&
            (need < 0 || has_value(&w->rows, p->n_vars, need, true));
    return LLAP_OK;
}

/* ---- result --------------------------------------------------------------------------------- */

float ll_half_round(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (fabsf(x) < 6.103515625e-5f) /* subnormal halves are multiples of 2^-24 */
        return copysignf(rintf(fabsf(x) * 16777216.0f) / 16777216.0f, x);
    if (isnan(x)) return x;
    if (fabsf(x) >= 65520.0f) return copysignf(INFINITY, x);
    bits += 0xfff + ((bits >> 13) & 1);
    bits &= ~UINT32_C(0x1fff);
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Writes w->rows to rows from `to` of the draft. column[k] is the variable of column k. */
static void write_rows(work *w, ll_panel_draft *d, int64_t to, const int64_t *column)
{
    const rows *r = &w->rows;
    for (int64_t i = 0; i < r->n; i++) {
        d->time[to + i] = r->time[i];
        for (int64_t k = 0; k < d->n_vars; k++) {
            const int64_t from = i * w->p->n_vars + column[k], cell = (to + i) * d->n_vars + k;
            float         x = r->value[from];
            if (w->o->half) x = ll_half_round(x);
            if (isinf(x)) {
                w->counts.half_overflows++;
                continue;
            }
            d->value[cell] = x;
            if (r->observed[from]) ll_bit_set(d->observed, cell);
            else w->counts.filled_cells += !isnan(x);
        }
    }
}

typedef struct plan {      /* what the first pass found out */
    bool          *keep;   /* [n_entities] */
    unsigned char *common; /* [n_vars] */
    int64_t       *start;  /* [n_entities + 1] of the kept ones */
    const char   **entity, **var;
    int64_t       *column;
    float         *carried;
    int64_t        n_entities, n_vars;
} plan;

static void plan_deinit(plan *q)
{
    ll_free(q->keep);
    ll_free(q->common);
    ll_free(q->start);
    ll_free(q->entity);
    ll_free(q->var);
    ll_free(q->column);
    ll_free(q->carried);
}

static llap_status plan_init(plan *q, const llap_panel *p)
{
    const size_t n_entities = (size_t)p->n_entities, n_vars = (size_t)p->n_vars;
    *q = (plan){ .keep = ll_new(n_entities, sizeof *q->keep),
                 .common = ll_new(n_vars, 1),
                 .start = ll_new(n_entities + 1, sizeof *q->start),
                 .entity = ll_new(n_entities, sizeof *q->entity),
                 .var = ll_new(n_vars, sizeof *q->var),
                 .column = ll_new(n_vars, sizeof *q->column),
                 .carried = ll_new(n_vars, sizeof *q->carried) };
    const bool ok = q->keep != NULL && q->common != NULL && q->start != NULL && q->entity != NULL &&
                    q->var != NULL && q->column != NULL && q->carried != NULL;
    if (ok) memset(q->common, 1, n_vars);
    return ok ? LLAP_OK : LLAP_ENOMEM;
}

/* The first pass: which entities and variables stay, and how many rows. */
static llap_status make_plan(work *w, plan *q, int64_t need, int64_t first)
{
    const llap_panel *p = w->p;
    for (int64_t e = 0; e < p->n_entities; e++) {
        const llap_status st = prepare(w, e, need, q->carried, &q->keep[e]);
        if (st != LLAP_OK) return st;
        if (!q->keep[e]) continue;
        q->entity[q->n_entities++] = p->entity[e];
        q->start[q->n_entities] = q->start[q->n_entities - 1] + w->rows.n;
        if (w->o->columns != LL_COLUMNS_COMMON) continue;
        for (int64_t v = 0; v < p->n_vars; v++)
            q->common[v] = q->common[v] && has_value(&w->rows, p->n_vars, v, false);
    }
    if (first >= 0 && q->common[first]) q->column[q->n_vars++] = first;
    for (int64_t v = 0; v < p->n_vars; v++)
        if (v != first && q->common[v]) q->column[q->n_vars++] = v;
    for (int64_t k = 0; k < q->n_vars; k++) q->var[k] = p->var[q->column[k]];
    w->counts.dropped_entities = p->n_entities - q->n_entities;
    w->counts.dropped_vars = p->n_vars - q->n_vars;
    return LLAP_OK;
}

/* The second pass: the same rows again, written to their place. Laying out twice needs no memory
 * beside the result but one entity's rows. */
static llap_status carry_out(work *w, plan *q, int64_t need, llap_panel **out)
{
    ll_panel_draft           d = { .axis = w->p->axis,
                                   .n_entities = q->n_entities,
                                   .n_vars = q->n_vars,
                                   .entity = q->entity,
                                   .var = q->var,
                                   .start = q->start };
    llap_status              st = ll_panel_create(&d, out);
    const ll_timeline_counts counts = w->counts; /* complete but for what writing counts */
    int64_t                  k = 0;
    for (int64_t e = 0; e < w->p->n_entities && st == LLAP_OK; e++) {
        bool keep;
        if (!q->keep[e]) continue;
        const int64_t filled = w->counts.filled_cells, overflows = w->counts.half_overflows;
        st = prepare(w, e, need, q->carried, &keep);
        w->counts = counts;
        w->counts.filled_cells = filled;
        w->counts.half_overflows = overflows;
        if (st == LLAP_OK) write_rows(w, &d, q->start[k++], q->column);
    }
    return st;
}

static llap_status find_var(const llap_panel *p, const char *name, int64_t *out)
{
    *out = name == NULL ? -1 : ll_panel_find_var(p, name);
    if (name != NULL && *out < 0) return ll_fail(LLAP_EINVAL, "timeline: no variable '%s'", name);
    return LLAP_OK;
}

static llap_status choose_step(work *w)
{
    if (w->o->grid == LL_GRID_NONE) return LLAP_OK;
    w->step = w->o->step;
    if (w->o->grid == LL_GRID_AUTO) {
        ll_gaps           gaps;
        const llap_status st = ll_gaps_measure(w->p, &gaps);
        if (st != LLAP_OK) return st;
        w->step = gaps.grid > 0 ? gaps.grid : 1;
    }
    if (w->step <= 0)
        return ll_fail(LLAP_EINVAL, "grid: expected a step above 0, found %lld",
                       (long long)w->step);
    return w->o->common_span ? find_span(w) : LLAP_OK;
}

llap_status ll_timeline_apply(const llap_panel *p, const ll_timeline_opts *o, llap_panel **out,
                              ll_timeline_counts *counts)
{
    *out = NULL;
    work        w = { .p = p, .o = o };
    plan        q = { 0 };
    int64_t     need, first;
    llap_status st = ll_panel_verify_all(p);
    if (st == LLAP_OK) st = find_var(p, o->need, &need);
    if (st == LLAP_OK) st = find_var(p, o->first, &first);
    if (st == LLAP_OK) st = choose_step(&w);
    if (st == LLAP_OK) st = plan_init(&q, p);
    if (st == LLAP_OK) st = make_plan(&w, &q, need, first);
    if (st == LLAP_OK) st = carry_out(&w, &q, need, out);
    if (st == LLAP_OK) st = ll_panel_words_carry(p, *out);
    if (st == LLAP_OK) st = ll_panel_units_carry(p, *out);
    w.counts.step = w.step;
    if (counts != NULL) *counts = w.counts;
    plan_deinit(&q);
    rows_deinit(&w.rows);
    if (st == LLAP_OK) return LLAP_OK;
    llap_panel_destroy(*out);
    *out = NULL;
    return st;
}
