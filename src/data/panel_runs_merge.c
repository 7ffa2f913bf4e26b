#include "base/alloc.h"
#include "base/error.h"
#include "data/pack.h"
#include "data/panel_runs_file.h"

#include <string.h>

/* One run, read in pieces. */
typedef struct cursor {
    const ll_row_run *run;
    int64_t           row, first, end; /* the row at hand; those in the piece */
    uint32_t         *entity, *arrival;
    int64_t          *time;
    float            *value;
} cursor;

typedef struct merging {
    ll_panel_builder *b;
    const uint32_t   *rank, *order;
    cursor           *cursor; /* [n_runs] */
    uint32_t         *heap;   /* [n] runs that have rows, the next one first */
    size_t            n;
    int64_t           piece;       /* rows */
    float            *row, *shown; /* [n_vars] being put together; in the order of the columns */
    int64_t          *rows_of;     /* [entities] by rank */
} merging;

static llap_status next_piece(const merging *m, cursor *c)
{
    const ll_row_runs *r = m->b->runs;
    const ll_row_run  *run = c->run;
    const int64_t      n = run->n - c->end < m->piece ? run->n - c->end : m->piece;
    c->first = c->end;
    c->end += n;
    llap_status st = ll_row_runs_read(r, c->entity, (size_t)n * 4, run->at + 4 * c->first);
    if (st == LLAP_OK)
        st = ll_row_runs_read(r, c->arrival, (size_t)n * 4, run->at + 4 * (run->n + c->first));
    if (st == LLAP_OK)
        st = ll_row_runs_read(r, c->time, (size_t)n * 8, ll_row_run_times(run, c->first));
    if (st == LLAP_OK)
        st = ll_row_runs_read(r, c->value, (size_t)(n * run->stride) * 4,
                              ll_row_run_values(run, c->first));
    return st;
}

static bool comes_before(const merging *m, uint32_t i, uint32_t j)
{
    const cursor  *a = &m->cursor[i], *b = &m->cursor[j];
    const uint32_t x = m->rank[a->entity[a->row - a->first]],
                   y = m->rank[b->entity[b->row - b->first]];
    const int64_t s = a->time[a->row - a->first], t = b->time[b->row - b->first];
    if (x != y) return x < y;
    return s != t ? s < t : i < j;
}

static void sink(merging *m, size_t at)
{
    for (size_t least = at;; at = least) {
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < m->n; child++)
            if (comes_before(m, m->heap[child], m->heap[least])) least = child;
        if (least == at) return;
        const uint32_t run = m->heap[at];
        m->heap[at] = m->heap[least];
        m->heap[least] = run;
    }
}

/* The first of the heap goes on to its next row. */
static llap_status advance(merging *m)
{
    cursor     *c = &m->cursor[m->heap[0]];
    llap_status st = LLAP_OK;
    c->row++;
    if (c->row == c->end && c->end < c->run->n) st = next_piece(m, c);
    if (c->row == c->run->n) m->heap[0] = m->heap[--m->n];
    if (st == LLAP_OK && m->n > 0) sink(m, 0);
    return st;
}

/* Lays the row at hand over what came for its entity and time before; missing erases nothing. */
static llap_status lay_over(merging *m, bool again)
{
    const cursor *c = &m->cursor[m->heap[0]];
    const int64_t k = c->row - c->first, stride = c->run->stride;
    llap_status   st = LLAP_OK;
    m->b->counts.merged_rows += again && !c->run->of_cells;
    for (int64_t v = 0; v < stride && st == LLAP_OK; v++) {
        const float x = c->value[k * stride + v];
        if (isnan(x)) continue;
        if (again && !isnan(m->row[v]))
            st = ll_building_twice(m->b, c->entity[k], (uint32_t)v, c->time[k],
                                   c->run->arrivals + (c->run->of_cells ? 0 : c->arrival[k]));
        m->row[v] = x;
    }
    return st;
}

static llap_status merge_rows(merging *m)
{
    ll_panel_builder *b = m->b;
    llap_status       st = LLAP_OK;
    while (m->n > 0 && st == LLAP_OK) {
        const cursor  *c = &m->cursor[m->heap[0]];
        const uint32_t entity = c->entity[c->row - c->first];
        const int64_t  time = c->time[c->row - c->first];
        bool           again = false, more = true;
        for (uint32_t v = 0; v < b->vars.n; v++) m->row[v] = NAN;
        while (more && st == LLAP_OK) {
            st = lay_over(m, again);
            if (st == LLAP_OK) st = advance(m);
            again = true;
            c = &m->cursor[m->heap[0]];
            more = st == LLAP_OK && m->n > 0 && c->time[c->row - c->first] == time &&
                   c->entity[c->row - c->first] == entity;
        }
        const float *row = m->row;
        if (m->order != NULL) {
            for (uint32_t v = 0; v < b->vars.n; v++) m->shown[v] = m->row[m->order[v]];
            row = m->shown;
        }
        if (st == LLAP_OK) st = ll_pack_writer_row(b->opts.pack, time, row);
        m->rows_of[m->rank[entity]]++;
    }
    return st;
}

static llap_status make_panel(merging *m, const uint32_t *sorted, llap_panel **out)
{
    ll_panel_builder *b = m->b;
    const char      **entity = ll_new(b->entities.n, sizeof *entity);
    const char      **var = ll_new(b->vars.n, sizeof *var);
    int64_t          *start = ll_new((size_t)b->entities.n + 1, sizeof *start), n = 0;
    llap_status       st = entity == NULL || var == NULL || start == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (uint32_t k = 0; k < b->entities.n && st == LLAP_OK; k++) {
        if (m->rows_of[k] == 0) continue;
        entity[n] = b->entities.name[sorted[k]];
        start[n + 1] = start[n] + m->rows_of[k];
        n++;
    }
    b->counts.empty_entities = (int64_t)b->entities.n - n;
    for (uint32_t v = 0; v < b->vars.n && st == LLAP_OK; v++)
        var[v] = b->vars.name[m->order == NULL ? v : m->order[v]];
    ll_panel_draft d = { .axis = *b->axis,
                         .n_entities = n,
                         .n_vars = b->vars.n,
                         .entity = entity,
                         .var = var,
                         .start = start };
    if (st == LLAP_OK) st = ll_pack_writer_panel(b->opts.pack, &d, out);
    ll_free(entity);
    ll_free(var);
    ll_free(start);
    return st;
}

static llap_status open_cursors(merging *m)
{
    const ll_row_runs *r = m->b->runs;
    const int64_t      row_bytes = 16 + 4 * (int64_t)m->b->vars.n;
    m->piece = m->b->opts.memory / 2 / ((int64_t)r->n + 1) / row_bytes;
    if (m->piece < 64) m->piece = 64;
    if (m->piece > 1 << 16) m->piece = 1 << 16;
    m->cursor = ll_new(r->n, sizeof *m->cursor);
    m->heap = ll_new(r->n, sizeof *m->heap);
    if (m->cursor == NULL || m->heap == NULL) return LLAP_ENOMEM;
    llap_status st = LLAP_OK;
    for (size_t k = 0; k < r->n && st == LLAP_OK; k++) {
        cursor *c = &m->cursor[k];
        c->run = &r->run[k];
        c->entity = ll_new((size_t)m->piece, sizeof *c->entity);
        c->arrival = ll_new((size_t)m->piece, sizeof *c->arrival);
        c->time = ll_new((size_t)m->piece, sizeof *c->time);
        c->value = ll_new((size_t)(m->piece * c->run->stride), sizeof *c->value);
        if (c->entity == NULL || c->arrival == NULL || c->time == NULL || c->value == NULL)
            return LLAP_ENOMEM;
        if (c->run->n == 0) continue;
        st = next_piece(m, c);
        m->heap[m->n++] = (uint32_t)k;
    }
    for (size_t at = m->n; at-- > 0 && st == LLAP_OK;) sink(m, at);
    return st;
}

llap_status ll_row_runs_merge(ll_panel_builder *b, const uint32_t *rank, const uint32_t *sorted,
                              const uint32_t *order, llap_panel **out)
{
    merging     m = { .b = b, .rank = rank, .order = order };
    llap_status st = ll_row_runs_spill(b);
    ll_events_deinit(&b->rows); /* their memory goes to the pieces */
    ll_free(b->value);
    b->value = NULL;
    m.row = ll_new(b->vars.n, sizeof *m.row);
    m.shown = ll_new(b->vars.n, sizeof *m.shown);
    m.rows_of = ll_new(b->entities.n, sizeof *m.rows_of);
    if (m.row == NULL || m.shown == NULL || m.rows_of == NULL)
        st = st == LLAP_OK ? LLAP_ENOMEM : st;
    if (st == LLAP_OK) st = open_cursors(&m);
    if (st == LLAP_OK) st = ll_pack_writer_begin(b->opts.pack, b->vars.n);
    if (st == LLAP_OK) st = merge_rows(&m);
    if (st == LLAP_OK) st = make_panel(&m, sorted, out);
    for (size_t k = 0; m.cursor != NULL && k < b->runs->n; k++) {
        ll_free(m.cursor[k].entity);
        ll_free(m.cursor[k].arrival);
        ll_free(m.cursor[k].time);
        ll_free(m.cursor[k].value);
    }
    ll_free(m.cursor);
    ll_free(m.heap);
    ll_free(m.row);
    ll_free(m.shown);
    ll_free(m.rows_of);
    return st;
}
