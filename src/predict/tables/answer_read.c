/* Reading an answer's CSV back, for pictures of it. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "predict/tables/answer.h"
#include "predict/tables/numbers.h"
#include "predict/tables/table.h"
#include "predict/tables/times.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 6 };
enum { ENTITY, TIME, VARIABLE, ORIGIN, OBSERVED, SCENARIO };

typedef struct reader {
    ll_table          table;
    int               column[COLUMNS];          /* -1: none */
    int               number[LL_QUANTILES + 1]; /* columns of mean and quantiles */
    double            quantile[LL_QUANTILES];
    int               n_quantiles;
    llap_answer      *a; /* rows grow here */
    const llap_panel *panel;
    size_t            room;
    struct names { /* in the order of arrival; strings in the answer's arena */
        size_t       n;
        const char **name;
    } target, scenario;
} reader;

static llap_status read_header(reader *r)
{
    static const char *const word[COLUMNS] = { "entity", "time",     "variable",
                                               "origin", "observed", "scenario" };
    llap_status              st = ll_table_next(&r->table);
    for (int k = 0; k < COLUMNS; k++) r->column[k] = -1;
    r->number[0] = -1;
    for (size_t i = 0; st == LLAP_OK && i < r->table.tokens.n_fields; i++) {
        const ll_csv_field *f = &r->table.tokens.field[i];
        const double        q = ll_field_level(f);
        for (int k = 0; k < COLUMNS; k++)
            if (ll_field_is(f, word[k])) r->column[k] = (int)i;
        if (ll_field_is(f, "mean")) r->number[0] = (int)i;
        if (isnan(q) || r->n_quantiles == LL_QUANTILES) continue;
        r->quantile[r->n_quantiles++] = q;
        r->number[r->n_quantiles] = (int)i;
    }
    if (st == LLAP_OK && (r->column[ENTITY] < 0 || r->column[TIME] < 0 || r->column[VARIABLE] < 0 ||
                          r->number[0] < 0))
        st =
            ll_fail(LLAP_EFORMAT, "no table of forecasts: expected columns entity, time, variable, "
                                  "mean");
    return st;
}

/* Position of a name in the list, which grows. */
static llap_status find_name(reader *r, struct names *list, const ll_csv_field *f, int32_t *out)
{
    for (size_t i = 0; i < list->n; i++)
        if (strlen(list->name[i]) == f->len && memcmp(list->name[i], f->text, f->len) == 0) {
            *out = (int32_t)i;
            return LLAP_OK;
        }
    const char **grown = ll_grow((void *)list->name, list->n + 1, sizeof *grown);
    if (grown == NULL) return LLAP_ENOMEM;
    list->name = grown;
    grown[list->n] = ll_arena_strndup(&r->a->arena, f->text, f->len);
    if (grown[list->n] == NULL) return LLAP_ENOMEM;
    *out = (int32_t)list->n++;
    return LLAP_OK;
}

static llap_status grow(reader *r)
{
    llap_answer *a = r->a;
    if (a->n_rows < r->room) return LLAP_OK;
    const size_t      room = 2 * r->room + 1024;
    const llap_status st = ll_answer_grow(a, room);
    if (st == LLAP_OK) r->room = room;
    return st;
}

static llap_status read_row(reader *r)
{
    const ll_csv_field *f = r->table.tokens.field;
    llap_status         st = grow(r);
    if (st != LLAP_OK) return st;
    ll_answer_row row = { 0 };
    double       *number = r->a->number + r->a->n_rows * (size_t)r->a->n_numbers;
    for (int k = 0; k < COLUMNS; k++)
        if (r->column[k] >= (int)r->table.tokens.n_fields)
            return ll_fail(LLAP_EFORMAT, "%zu fields: too few", r->table.tokens.n_fields);
    const ll_csv_field *time = &f[r->column[TIME]];
    const ll_csv_field *entity = &f[r->column[ENTITY]];
    int64_t             e = -1;
    st = ll_panel_need_entity(r->panel, entity->text, entity->len, &e);
    row.entity = (int32_t)e;
    if (st == LLAP_OK) st = find_name(r, &r->target, &f[r->column[VARIABLE]], &row.target);
    if (st == LLAP_OK && r->column[SCENARIO] >= 0)
        st = find_name(r, &r->scenario, &f[r->column[SCENARIO]], &row.scenario);
    if (st == LLAP_OK) st = ll_axis_time_read(&r->panel->axis, time->text, time->len, &row.time);
    if (st == LLAP_OK && r->column[ORIGIN] >= 0) {
        const ll_csv_field *origin = &f[r->column[ORIGIN]];
        st = ll_axis_time_read(&r->panel->axis, origin->text, origin->len, &row.origin);
    }
    if (r->column[OBSERVED] >= 0) row.observed = ll_field_is(&f[r->column[OBSERVED]], "1");
    for (int k = 0; st == LLAP_OK && k <= r->n_quantiles; k++)
        st = r->number[k] >= (int)r->table.tokens.n_fields
                 ? ll_fail(LLAP_EFORMAT, "%zu fields: too few", r->table.tokens.n_fields)
                 : ll_field_number(&f[r->number[k]], &number[k]);
    assert(r->a->n_rows < r->room && r->a->n_numbers == 1 + r->n_quantiles);
    if (st == LLAP_OK) ll_answer_put(r->a, r->a->n_rows++, row);
    return st;
}

static llap_status read_rows(reader *r)
{
    llap_status st = read_header(r);
    if (st != LLAP_OK) return st;
    st = ll_answer_create_bare(r->column[OBSERVED] >= 0 ? LL_ANSWER_IMPUTATION : LL_ANSWER_FORECAST,
                               0, r->quantile, r->n_quantiles, &r->a);
    if (st != LLAP_OK) return st;
    r->a->has_origin = r->column[ORIGIN] >= 0;
    st = ll_table_next(&r->table);
    while (st == LLAP_OK && r->table.tokens.n_fields > 0) {
        st = read_row(r);
        if (st == LLAP_OK) st = ll_table_next(&r->table);
    }
    return st;
}

/* Without its own, a forecast was made at the last row before its first time. */
static void set_origins(const reader *r)
{
    const llap_panel     *p = r->panel;
    const ll_answer_rows *c = &r->a->rows;
    for (size_t i = 0; i < r->a->n_rows; i++) {
        if (i > 0 && c->entity[i - 1] == c->entity[i]) {
            c->origin[i] = c->origin[i - 1];
            continue;
        }
        c->origin[i] = c->time[i];
        for (int64_t k = p->start[c->entity[i]];
             k < p->start[c->entity[i] + 1] && p->time[k] < c->time[i]; k++)
            c->origin[i] = p->time[k];
    }
}

typedef struct numbered { /* a row, and where its numbers are */
    ll_answer_row row;
    size_t        at;
} numbered;

static int in_order(const void *x, const void *y)
{
    const numbered *a = x, *b = y;
    const int       order = ll_row_compare(&a->row, &b->row);
    return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

/* The rows in the order of answers, whatever that of the file is. */
static llap_status sort_rows(llap_answer *a)
{
    const size_t n = a->n_rows, width = (size_t)a->n_numbers;
    numbered    *list = ll_new(n, sizeof *list);
    double      *number = ll_new(n, width * sizeof *number);
    llap_status  st = list == NULL || number == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t i = 0; st == LLAP_OK && i < n; i++)
        list[i] = (numbered){ ll_answer_row_at(a, i), i };
    if (st == LLAP_OK) qsort(list, n, sizeof *list, in_order);
    for (size_t i = 0; st == LLAP_OK && i < n; i++) {
        ll_answer_put(a, i, list[i].row);
        memcpy(number + i * width, a->number + list[i].at * width, width * sizeof *number);
    }
    if (st == LLAP_OK) {
        ll_free(a->number);
        a->number = number;
    } else {
        ll_free(number);
    }
    ll_free(list);
    return st;
}

/* Names and axis are copied: the answer outlives the panel. */
static llap_status finish(reader *r)
{
    llap_status st = ll_answer_name(r->a, r->panel, r->target.name, (int64_t)r->target.n);
    if (st == LLAP_OK)
        st = ll_copy_names(&r->a->arena, r->scenario.name, (int64_t)r->scenario.n, &r->a->scenario);
    r->a->n_scenarios = (int64_t)r->scenario.n;
    if (st == LLAP_OK && !r->a->has_origin) set_origins(r);
    if (st == LLAP_OK) st = sort_rows(r->a);
    if (st == LLAP_OK) st = ll_answer_finish(r->a);
    return st;
}

llap_status llap_answer_read(const char *path, const llap_panel *panel, llap_answer **out)
{
    *out = NULL;
    reader      r = { .panel = panel };
    llap_status st = ll_table_open(&r.table, path);
    if (st == LLAP_OK) st = read_rows(&r);
    if (st == LLAP_OK && r.a->n_rows == 0) st = ll_fail(LLAP_EFORMAT, "no rows");
    st = ll_table_fail(&r.table, path, st);
    if (st == LLAP_OK) st = finish(&r);
    if (st == LLAP_OK) *out = r.a;
    else llap_answer_destroy(r.a);
    ll_free((void *)r.target.name);
    ll_free((void *)r.scenario.name);
    ll_table_close(&r.table);
    return st;
}
