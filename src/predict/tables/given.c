#include "predict/tables/given.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/sort.h"
#include "base/text.h"
#include "data/csv/sample.h"
#include "predict/tables/table.h"
#include "predict/tables/times.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 7 };
enum { ENTITY, ORIGIN, TIME, VARIABLE, SAMPLE, VALUE, MEAN };

static const char *const column_name[COLUMNS] = { "entity", "origin", "time", "variable",
                                                  "sample", "value",  "mean" };

typedef struct reader {
    const llap_model *m;
    const llap_panel *panel;
    int64_t           span; /* of fills; 0: forecasts */
    ll_table          table;
    ll_axis_reader    clock;
    int               column[COLUMNS];        /* -1: none */
    int               quantile[LL_QUANTILES]; /* columns */
    ll_given         *g;
    int64_t           room;
} reader;

/* ---- the header ---- */

/* Keeps levels in order, with their columns. */
static llap_status add_level(reader *r, double level, int column)
{
    ll_given *g = r->g;
    int       at = g->n_levels;
    if (at == LL_QUANTILES) return ll_fail(LLAP_EFORMAT, "more than %d quantiles", LL_QUANTILES);
    for (; at > 0 && g->level[at - 1] > level; at--) {
        g->level[at] = g->level[at - 1];
        r->quantile[at] = r->quantile[at - 1];
    }
    if (at > 0 && g->level[at - 1] == level)
        return ll_fail(LLAP_EFORMAT, "two columns of the quantile %g", level);
    g->level[at] = level;
    r->quantile[at] = column;
    g->n_levels++;
    return LLAP_OK;
}

static llap_status check_columns(const reader *r)
{
    const bool names = r->panel->n_entities > 1, variables = r->m->frame.n_targets > 1;
    for (int k = ENTITY; k <= VARIABLE; k++) {
        if (r->column[k] >= 0 || (k == ENTITY && !names) || (k == VARIABLE && !variables) ||
            (k == ORIGIN && r->span > 0))
            continue;
        return ll_fail(LLAP_EFORMAT,
                       "no column '%s': expected entity, %stime, variable, and "
                       "value, or sample and value, or quantiles q0.1,...",
                       column_name[k], r->span > 0 ? "" : "origin, ");
    }
    if (r->g->n_levels == 0 && r->column[VALUE] < 0 && r->column[MEAN] < 0)
        return ll_fail(LLAP_EFORMAT, "no forecasts: expected a column value, or sample and value, "
                                     "or quantiles q0.1,...");
    return LLAP_OK;
}

static llap_status read_header(reader *r)
{
    llap_status st = ll_table_next(&r->table);
    for (int k = 0; k < COLUMNS; k++) r->column[k] = -1;
    for (size_t i = 0; st == LLAP_OK && i < r->table.tokens.n_fields; i++) {
        const ll_csv_field *f = &r->table.tokens.field[i];
        for (int k = 0; k < COLUMNS; k++)
            if (ll_field_is(f, column_name[k])) r->column[k] = (int)i;
        if (!isnan(ll_field_level(f))) st = add_level(r, ll_field_level(f), (int)i);
    }
    if (st == LLAP_OK) st = check_columns(r);
    ll_given *g = r->g;
    g->kind = r->column[VALUE] >= 0 && r->column[SAMPLE] >= 0 ? LL_GIVEN_SAMPLES
              : g->n_levels > 0                               ? LL_GIVEN_QUANTILES
                                                              : LL_GIVEN_POINTS;
    g->has_mean = g->kind == LL_GIVEN_QUANTILES && r->column[MEAN] >= 0;
    g->n_numbers = g->kind == LL_GIVEN_QUANTILES ? g->n_levels + g->has_mean : 1;
    return st;
}

/* ---- rows ---- */

static llap_status field_at(const reader *r, int column, const ll_csv_field **out)
{
    assert(column >= 0);
    if ((size_t)column >= r->table.tokens.n_fields)
        return ll_fail(LLAP_EFORMAT, "%zu fields, fewer than the header has",
                       r->table.tokens.n_fields);
    *out = &r->table.tokens.field[column];
    return LLAP_OK;
}

static llap_status read_number(const reader *r, int column, double *out)
{
    const ll_csv_field *f = NULL;
    llap_status         st = field_at(r, column, &f);
    if (st == LLAP_OK) st = ll_field_number(f, out);
    if (st != LLAP_OK || isfinite(*out)) return st;
    return ll_fail(LLAP_EFORMAT, "expected a finite number, found '%s'", ll_csv_show(*f).text);
}

static llap_status read_time(reader *r, int which, int64_t *out)
{
    const ll_csv_field *f = NULL;
    llap_status         st = field_at(r, r->column[which], &f);
    if (st == LLAP_OK) st = ll_axis_reader_read(&r->clock, f->text, f->len, out);
    return st == LLAP_OK ? st : ll_fail_in(st, "column '%s'", column_name[which]);
}

/* -1: a column that is no target. */
static llap_status read_target(const reader *r, int32_t *out)
{
    const ll_csv_field *f = NULL;
    *out = 0;
    if (r->column[VARIABLE] < 0) return LLAP_OK;
    llap_status st = field_at(r, r->column[VARIABLE], &f);
    if (st != LLAP_OK) return st;
    for (int64_t k = 0; k < r->m->frame.n_targets; k++)
        if (ll_field_is(f, r->m->frame.target[k])) {
            *out = (int32_t)k;
            return LLAP_OK;
        }
    for (int64_t v = 0; r->span > 0 && v < r->panel->n_vars; v++)
        if (ll_field_is(f, r->panel->var[v])) {
            *out = -1;
            return LLAP_OK;
        }
    return ll_fail(LLAP_EINVAL, "column 'variable': the model does not forecast '%s'",
                   ll_csv_show(*f).text);
}

static llap_status read_entity(const reader *r, int32_t *out)
{
    const ll_csv_field *f = NULL;
    int64_t             e = 0;
    *out = 0;
    if (r->column[ENTITY] < 0) return LLAP_OK;
    llap_status st = field_at(r, r->column[ENTITY], &f);
    if (st == LLAP_OK) st = ll_panel_need_entity(r->panel, f->text, f->len, &e);
    *out = (int32_t)e;
    return st == LLAP_OK ? st : ll_fail_in(st, "column 'entity'");
}

/* Quantiles that cross are put in order: what they say together is not changed by it. */
static llap_status read_numbers(const reader *r, double *to)
{
    const ll_given *g = r->g;
    if (g->kind != LL_GIVEN_QUANTILES) {
        const int         which = r->column[VALUE] >= 0 ? VALUE : MEAN;
        const llap_status st = read_number(r, r->column[which], to);
        return st == LLAP_OK ? st : ll_fail_in(st, "column '%s'", column_name[which]);
    }
    for (int k = 0; k < g->n_levels; k++) {
        const llap_status st = read_number(r, r->quantile[k], &to[k]);
        if (st != LLAP_OK) return ll_fail_in(st, "column 'q%g'", g->level[k]);
    }
    ll_sort_doubles(to, (size_t)g->n_levels);
    if (!g->has_mean) return LLAP_OK;
    const llap_status st = read_number(r, r->column[MEAN], &to[g->n_levels]);
    return st == LLAP_OK ? st : ll_fail_in(st, "column 'mean'");
}

static llap_status grow(reader *r)
{
    ll_given *g = r->g;
    if (g->n < r->room) return LLAP_OK;
    const int64_t room = 2 * r->room + 1024;
    ll_given_row *row = ll_grow(g->row, (size_t)room, sizeof *row);
    if (row == NULL) return LLAP_ENOMEM;
    g->row = row;
    double *number = ll_grow(g->number, (size_t)room, (size_t)g->n_numbers * sizeof *number);
    if (number == NULL) return LLAP_ENOMEM;
    g->number = number;
    r->room = room;
    return LLAP_OK;
}

static llap_status read_row(reader *r)
{
    ll_given    *g = r->g;
    ll_given_row row = { .line = r->table.tokens.line, .at = g->n };
    double       sample = 0;
    llap_status  st = grow(r);
    if (st == LLAP_OK) st = read_entity(r, &row.entity);
    if (st == LLAP_OK && r->span == 0) st = read_time(r, ORIGIN, &row.origin);
    if (st == LLAP_OK) st = read_time(r, TIME, &row.time);
    if (st == LLAP_OK) st = read_target(r, &row.target);
    if (st == LLAP_OK && row.target < 0) return LLAP_OK;
    if (st == LLAP_OK && g->kind == LL_GIVEN_SAMPLES) {
        st = read_number(r, r->column[SAMPLE], &sample);
        if (st == LLAP_OK && (sample != floor(sample) || fabs(sample) > 1e9))
            st = ll_fail(LLAP_EFORMAT, "expected a whole number, found %g", sample);
        if (st != LLAP_OK) return ll_fail_in(st, "column 'sample'");
        row.sample = (int64_t)sample;
    }
    if (r->span > 0) row.origin = (row.time / r->span - (row.time % r->span < 0)) * r->span;
    else if (st == LLAP_OK && row.time <= row.origin)
        st = ll_fail(LLAP_EINVAL, "column 'time': not after the origin");
    if (st == LLAP_OK) st = read_numbers(r, g->number + g->n * g->n_numbers);
    if (st == LLAP_OK) g->row[g->n++] = row;
    return st;
}

/* ---- order ---- */

static int order(int64_t x, int64_t y) { return (x > y) - (x < y); }

static int compare_forecasts(const ll_given_row *x, const ll_given_row *y)
{
    int o = order(x->entity, y->entity);
    if (o == 0) o = order(x->origin, y->origin);
    return o != 0 ? o : order(x->target, y->target);
}

static int compare_rows(const ll_given_row *x, const ll_given_row *y)
{
    int o = compare_forecasts(x, y);
    if (o == 0) o = order(x->time, y->time);
    return o != 0 ? o : order(x->sample, y->sample);
}

static int in_order(const void *a, const void *b)
{
    const ll_given_row *x = a, *y = b;
    const int           o = compare_rows(x, y);
    return o != 0 ? o : order(x->line, y->line);
}

static llap_status sort_rows(ll_given *g, const char *path)
{
    if (g->n == 0) return ll_fail(LLAP_EFORMAT, "%s: no forecasts in it", ll_text_show(path).text);
    qsort(g->row, (size_t)g->n, sizeof *g->row, in_order);
    for (int64_t i = 1; i < g->n; i++)
        if (compare_rows(&g->row[i - 1], &g->row[i]) == 0)
            return ll_fail(LLAP_EINVAL, "%s:%lld: the forecast of line %lld again",
                           ll_text_show(path).text, (long long)g->row[i].line,
                           (long long)g->row[i - 1].line);
    return LLAP_OK;
}

/* The first row that does not come before key, or (after) the first behind it. */
static int64_t place_of(const ll_given *g, const ll_given_row *key, bool after)
{
    int64_t low = 0, high = g->n;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        const int     o = compare_forecasts(&g->row[mid], key);
        if (o < 0 || (after && o == 0)) low = mid + 1;
        else high = mid;
    }
    return low;
}

ll_given_range ll_given_find(const ll_given *g, int64_t entity, int64_t target, int64_t origin)
{
    const ll_given_row key = { .entity = (int32_t)entity,
                               .target = (int32_t)target,
                               .origin = origin };
    return (ll_given_range){ place_of(g, &key, false), place_of(g, &key, true) };
}

/* ---- the file ---- */

static llap_status read_rows(reader *r, const char *path)
{
    llap_status st = read_header(r);
    if (st == LLAP_OK) st = ll_table_next(&r->table);
    while (st == LLAP_OK && r->table.tokens.n_fields > 0) {
        st = read_row(r);
        if (st == LLAP_OK) st = ll_table_next(&r->table);
    }
    st = ll_table_fail(&r->table, path, st);
    return st == LLAP_OK ? sort_rows(r->g, path) : st;
}

llap_status ll_given_read(const char *path, const llap_model *m, const llap_panel *panel,
                          int64_t span, ll_given **out)
{
    *out = NULL;
    reader r = { .m = m, .panel = panel, .span = span, .g = ll_new(1, sizeof *r.g) };
    if (r.g == NULL) return LLAP_ENOMEM;
    llap_status st = ll_axis_reader_init(&r.clock, &panel->axis);
    if (st == LLAP_OK) st = ll_table_open(&r.table, path);
    if (st == LLAP_OK) st = read_rows(&r, path);
    ll_table_close(&r.table);
    ll_axis_reader_deinit(&r.clock);
    if (st == LLAP_OK) *out = r.g;
    else ll_given_destroy(r.g);
    return st;
}

void ll_given_destroy(ll_given *g)
{
    if (g == NULL) return;
    ll_free(g->row);
    ll_free(g->number);
    ll_free(g);
}
