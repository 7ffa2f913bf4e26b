#include "score/gaps/listed.h"

#include "base/error.h"
#include "base/text.h"
#include "data/csv/sample.h"
#include "predict/tables/table.h"
#include "predict/tables/times.h"

#include <assert.h>
#include <string.h>

enum { ENTITY, TIME, VARIABLE, COLUMNS };
static const char *const column_name[COLUMNS] = { "entity", "time", "variable" };

typedef struct reader {
    const llap_model *m;
    const llap_panel *p;
    ll_table          table;
    ll_axis_reader    clock;
    int               column[COLUMNS]; /* -1: none */
    uint8_t          *hidden;
    int64_t           n, n_absent;
} reader;

static llap_status read_header(reader *r)
{
    llap_status st = ll_table_next(&r->table);
    for (int k = 0; k < COLUMNS; k++) r->column[k] = -1;
    for (size_t i = 0; st == LLAP_OK && i < r->table.tokens.n_fields; i++)
        for (int k = 0; k < COLUMNS; k++)
            if (ll_field_is(&r->table.tokens.field[i], column_name[k])) r->column[k] = (int)i;
    for (int k = 0; st == LLAP_OK && k < COLUMNS; k++)
        if (r->column[k] < 0 && !(k == ENTITY && r->p->n_entities == 1))
            st = ll_fail(LLAP_EFORMAT, "no column '%s': expected entity, time, variable",
                         column_name[k]);
    return st;
}

/* Columns that are given beforehand are never hidden. */
static llap_status check_variable(const reader *r, int64_t var)
{
    const ll_model_frame *f = &r->m->frame;
    bool                  given = false;
    for (int64_t i = 0; i < f->n_known; i++) given |= strcmp(r->p->var[var], f->known[i]) == 0;
    for (int64_t i = 0; i < f->n_statics; i++) given |= strcmp(r->p->var[var], f->statics[i]) == 0;
    if (!given) return LLAP_OK;
    return ll_fail(LLAP_EINVAL, "column 'variable': '%s' is given beforehand and never hidden",
                   ll_text_show(r->p->var[var]).text);
}

static llap_status read_variable(const reader *r, const ll_csv_field *f, int64_t *var)
{
    for (*var = 0; *var < r->p->n_vars; ++*var)
        if (ll_field_is(f, r->p->var[*var])) return check_variable(r, *var);
    return ll_fail(LLAP_EINVAL, "column 'variable': the data has no '%s'", ll_csv_show(*f).text);
}

static llap_status read_row(reader *r)
{
    const ll_csv_field *field[COLUMNS] = { NULL };
    int64_t             entity = 0, time = 0, var = 0;
    llap_status         st = LLAP_OK;
    for (int k = 0; k < COLUMNS; k++) {
        if (r->column[k] < 0) continue;
        if ((size_t)r->column[k] >= r->table.tokens.n_fields)
            return ll_fail(LLAP_EFORMAT, "%zu fields, fewer than the header has",
                           r->table.tokens.n_fields);
        field[k] = &r->table.tokens.field[r->column[k]];
    }
    if (field[ENTITY] != NULL) {
        st = ll_panel_need_entity(r->p, field[ENTITY]->text, field[ENTITY]->len, &entity);
        if (st != LLAP_OK) return ll_fail_in(st, "column 'entity'");
    }
    st = ll_axis_reader_read(&r->clock, field[TIME]->text, field[TIME]->len, &time);
    if (st != LLAP_OK) return ll_fail_in(st, "column 'time'");
    st = read_variable(r, field[VARIABLE], &var);
    if (st != LLAP_OK) return st;
    const int64_t row = ll_panel_find_row(r->p, entity, time);
    if (row < 0 || !ll_panel_observed(r->p, row, var)) r->n_absent++;
    else r->hidden[row * r->p->n_vars + var] = 1, r->n++;
    return LLAP_OK;
}

static llap_status read_rows(reader *r, const char *path)
{
    llap_status st = read_header(r);
    if (st == LLAP_OK) st = ll_table_next(&r->table);
    while (st == LLAP_OK && r->table.tokens.n_fields > 0) {
        st = read_row(r);
        if (st == LLAP_OK) st = ll_table_next(&r->table);
    }
    st = ll_table_fail(&r->table, path, st);
    if (st == LLAP_OK && r->n == 0)
        st = ll_fail(LLAP_EINVAL, "%s: lists no reading of the data", ll_text_show(path).text);
    return st;
}

llap_status ll_hide_listed(const char *path, const llap_model *m, const llap_panel *p,
                           uint8_t *hidden, int64_t *n_absent)
{
    reader r = { .m = m, .p = p, .hidden = hidden };
    memset(hidden, 0, (size_t)(p->n_rows * p->n_vars));
    llap_status st = ll_axis_reader_init(&r.clock, &p->axis);
    if (st == LLAP_OK) st = ll_table_open(&r.table, path);
    if (st == LLAP_OK) st = read_rows(&r, path);
    ll_table_close(&r.table);
    ll_axis_reader_deinit(&r.clock);
    *n_absent = r.n_absent;
    return st == LLAP_OK || st == LLAP_ENOMEM ? st : ll_fail_in(st, "hidden");
}
