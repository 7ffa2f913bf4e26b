#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "data/clock.h"
#include "data/netcdf/load.h"
#include "data/netcdf/rows.h"
#include "data/netcdf/value.h"

#include <math.h>
#include <string.h>

enum { BOX = 1 << 16, BOX_MAX = 1 << 22 }; /* elements read at once: wanted, allowed */

typedef struct reader {
    ll_nc_file     file;
    ll_nc_layout   layout;
    ll_nc_rows     rows;
    ll_nc_rule    *rule;   /* [n_columns] */
    ll_nc_rule    *filled; /* [n_columns], where there are flags */
    int64_t        box[2]; /* elements along i and j */
    void          *raw;    /* [box] of the widest type */
    float         *value, *flag;
    ll_panel_draft draft;
} reader;

/* ---- slabs ---------------------------------------------------------------------------------- */

/* The chunks in which a variable is stored; lines of the inner dimension when it has none. */
static llap_status chunk_of(reader *r, const ll_nc_var *v, int64_t chunk[2])
{
    const ll_nc_file *f = &r->file;
    size_t            len[LL_NC_VAR_DIMS] = { 0 };
    int               storage = 1;
    const int         rc = f->nc->inq_chunks(f->id, v->id, &storage, len);
    if (rc != 0) return ll_nc_fail(f->nc, f->path, v->name, rc);
    const bool j_inner = ll_nc_j_is_inner(&r->layout, v);
    chunk[0] = j_inner ? 1 : r->rows.n_i;
    chunk[1] = j_inner ? r->rows.n_j : 1;
    for (int d = 0; storage == 0 && d < v->n_dims; d++) {
        const int64_t n = len[d] > INT64_MAX ? INT64_MAX : (int64_t)len[d];
        if (v->dim[d] == r->layout.i_dim) chunk[0] = n;
        if (v->dim[d] == r->layout.j_dim) chunk[1] = n;
    }
    return LLAP_OK;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x > high ? high : x < low ? low : x;
}

/* A box that holds whole chunks of every column, so that none is unpacked twice, and many of them,
 * so that the calls do not count. */
static llap_status choose_box(reader *r)
{
    const int64_t most[2] = { r->rows.n_i > 0 ? r->rows.n_i : 1,
                              r->rows.n_j > 0 ? r->rows.n_j : 1 };
    int64_t box[2] = { 1, 1 };
    for (int c = 0; c < r->layout.n_columns; c++) {
        int64_t           chunk[2];
        const llap_status st = chunk_of(r, r->layout.column[c].var, chunk);
        if (st != LLAP_OK) return st;
        for (int k = 0; k < 2; k++)
            box[k] = clamp(chunk[k] > box[k] ? chunk[k] : box[k], 1, most[k]);
    }
    const int inner =
        r->layout.n_columns > 0 && ll_nc_j_is_inner(&r->layout, r->layout.column->var);
    box[inner] = clamp(box[inner], 1, BOX_MAX);
    box[!inner] = clamp(box[!inner], 1, BOX_MAX / box[inner]);
    for (int turn = 0; turn < 2; turn++) { /* the inner side first */
        const int     k = turn == 0 ? inner : !inner;
        const int64_t times = BOX / (box[0] * box[1]);
        if (times > 1) box[k] = clamp(box[k] * times, 1, most[k]);
    }
    r->box[0] = box[0];
    r->box[1] = box[1];
    const size_t n = (size_t)(box[0] * box[1]);
    r->raw = ll_new(n, 8);
    r->value = ll_new(n, sizeof *r->value);
    r->flag = ll_new(n, sizeof *r->flag);
    return r->raw == NULL || r->value == NULL || r->flag == NULL ? LLAP_ENOMEM : LLAP_OK;
}

/* HDF5 would keep 16 MiB of chunks for every variable; a box holds whole ones anyway. */
static llap_status limit_caches(reader *r)
{
    const ll_nc_file *f = &r->file;
    const size_t      n_bytes = ((size_t)64 << 20) / (size_t)(r->layout.n_columns + 1);
    for (int c = 0; c < r->layout.n_columns; c++) {
        const int v = r->layout.column[c].var->id;
        const int rc = f->nc->set_cache(f->id, v, n_bytes < 1 << 20 ? n_bytes : 1 << 20);
        if (rc != 0) return ll_nc_fail(f->nc, f->path, r->layout.column[c].var->name, rc);
    }
    return LLAP_OK;
}

static llap_status note_duplicate(reader *r, int c, int64_t row)
{
    const ll_nc_rows *p = &r->rows;
    r->file.counts->duplicate_cells++;
    if (r->file.opts->duplicates == LL_DUPLICATES_LAST) return LLAP_OK;
    int64_t k = 0;
    while (p->start[k + 1] <= row) k++;
    return ll_fail(LLAP_EFORMAT, "%s: entity '%.200s': '%s' is given twice for time %s",
                   r->file.path, p->entity[k], r->layout.column[c].name,
                   ll_clock_show(&r->draft.axis, r->draft.time[row]).text);
}

/* Where a box of column c goes: the cell of element (i, j), -1: nowhere; and its place in the box.
 */
typedef struct target {
    const ll_nc_rows *rows;
    int64_t           start[2], step[2], n_vars, column;
} target;

static inline int64_t cell_of(const target *t, int64_t i, int64_t j)
{
    const int64_t row = ll_nc_row(t->rows, t->start[0] + i, t->start[1] + j);
    return row < 0 ? -1 : row * t->n_vars + t->column;
}

/* Rows that fell together: a value replaces another, a missing one never does. */
static llap_status merge_box(reader *r, const target *t, const int64_t count[2])
{
    for (int64_t i = 0; i < count[0]; i++)
        for (int64_t j = 0; j < count[1]; j++) {
            const int64_t at = i * t->step[0] + j * t->step[1], cell = cell_of(t, i, j);
            if (cell < 0 || isnan(r->value[at])) continue;
            if (!isnan(r->draft.value[cell])) {
                const llap_status st = note_duplicate(r, (int)t->column, cell / t->n_vars);
                if (st != LLAP_OK) return st;
            }
            r->draft.value[cell] = r->value[at];
        }
    return LLAP_OK;
}

static void copy_box(reader *r, const target *t, const int64_t count[2])
{
    for (int64_t j = 0; j < count[1]; j++)
        for (int64_t i = 0; i < count[0]; i++) {
            const int64_t cell = cell_of(t, i, j);
            if (cell >= 0) r->draft.value[cell] = r->value[i * t->step[0] + j * t->step[1]];
        }
}

/* Notes in the observed bits which cells are filled: set_observed turns that round. */
static void mark_filled(reader *r, const target *t, const int64_t count[2])
{
    for (int64_t j = 0; j < count[1]; j++)
        for (int64_t i = 0; i < count[0]; i++) {
            const int64_t at = i * t->step[0] + j * t->step[1], cell = cell_of(t, i, j);
            if (cell < 0 || isnan(r->value[at])) continue;
            const uint64_t bit = UINT64_C(1) << (cell & 63);
            if (r->flag[at] == 1) r->draft.observed[cell >> 6] |= bit;
            else r->draft.observed[cell >> 6] &= ~bit; /* of a value that this one replaced */
        }
}

static void set_observed(reader *r)
{
    const int64_t n = r->rows.start[r->rows.n_stations] * r->draft.n_vars;
    for (int64_t first = 0; first < n; first += 64) {
        uint64_t bits = 0;
        for (int64_t i = first; i < n && i < first + 64; i++)
            bits |= (uint64_t)!isnan(r->draft.value[i]) << (i - first);
        r->draft.observed[first >> 6] = bits & ~r->draft.observed[first >> 6];
    }
}

/* Puts a box of column c, read into r->value (and r->flag), where it belongs. */
static llap_status scatter(reader *r, int c, const int64_t start[2], const int64_t count[2])
{
    const bool   j_inner = ll_nc_j_is_inner(&r->layout, r->layout.column[c].var);
    const target t = { &r->rows,
                       { start[0], start[1] },
                       { j_inner ? count[1] : 1, j_inner ? 1 : count[0] },
                       r->draft.n_vars,
                       c };
    llap_status  st = LLAP_OK;
    if (r->file.counts->merged_rows > 0) st = merge_box(r, &t, count);
    else copy_box(r, &t, count);
    if (st == LLAP_OK && r->layout.column[c].filled != NULL) mark_filled(r, &t, count);
    return st;
}

static llap_status read_box(reader *r, int c, const int64_t start[2], const int64_t count[2])
{
    const ll_nc_column *column = &r->layout.column[c];
    const size_t        n = (size_t)(count[0] * count[1]);
    ll_netcdf_counts    flags = { 0 }; /* what is odd about flags is not about values */
    llap_status st = ll_nc_read_box(&r->file, &r->layout, column->var, start, count, r->raw);
    if (st == LLAP_OK) ll_nc_rule_apply(&r->rule[c], r->raw, n, r->value, r->file.counts);
    if (st == LLAP_OK && column->filled != NULL) {
        st = ll_nc_read_box(&r->file, &r->layout, column->filled, start, count, r->raw);
        if (st == LLAP_OK) ll_nc_rule_apply(&r->filled[c], r->raw, n, r->flag, &flags);
    }
    return st == LLAP_OK ? scatter(r, c, start, count) : st;
}

static llap_status read_values(reader *r)
{
    const ll_nc_layout *l = &r->layout;
    r->rule = ll_new((size_t)l->n_columns, sizeof *r->rule);
    r->filled = ll_new((size_t)l->n_columns, sizeof *r->filled);
    if (r->rule == NULL || r->filled == NULL) return LLAP_ENOMEM;
    llap_status st = LLAP_OK;
    for (int c = 0; c < l->n_columns && st == LLAP_OK; c++) {
        st = ll_nc_rule_init(&r->rule[c], &r->file, l->column[c].var);
        if (st == LLAP_OK && l->column[c].filled != NULL)
            st = ll_nc_rule_init(&r->filled[c], &r->file, l->column[c].filled);
    }
    if (st == LLAP_OK) st = choose_box(r);
    if (st == LLAP_OK) st = limit_caches(r);
    if (st != LLAP_OK) return st;
    const int64_t n[2] = { r->rows.n_i, r->rows.n_j };
    int64_t       start[2];
    for (start[1] = 0; start[1] < n[1]; start[1] += r->box[1])
        for (start[0] = 0; start[0] < n[0]; start[0] += r->box[0])
            for (int c = 0; c < l->n_columns; c++) { /* a box of all columns stays in the cache */
                const int64_t count[2] = { clamp(n[0] - start[0], 1, r->box[0]),
                                           clamp(n[1] - start[1], 1, r->box[1]) };
                st = read_box(r, c, start, count);
                if (st != LLAP_OK) return st;
            }
    return st;
}

/* ---- the panel ------------------------------------------------------------------------------ */

static llap_status make_panel(reader *r, llap_panel **p)
{
    const ll_nc_rows   *rows = &r->rows;
    const ll_nc_layout *l = &r->layout;
    const char        **var = ll_new((size_t)l->n_columns, sizeof *var);
    if (var == NULL) return LLAP_ENOMEM;
    for (int c = 0; c < l->n_columns; c++) var[c] = l->column[c].name;
    r->draft = (ll_panel_draft){ .axis = rows->clock.axis,
                                 .n_entities = rows->n_stations,
                                 .n_vars = l->n_columns,
                                 .entity = rows->entity,
                                 .var = var,
                                 .start = rows->start };
    const llap_status st = ll_panel_create(&r->draft, p);
    ll_free(var);
    if (st != LLAP_OK) return st;
    const size_t n_bytes = (size_t)rows->n_times * sizeof *rows->time;
    if (l->kind != LL_NETCDF_GRID) {
        if (n_bytes > 0) memcpy(r->draft.time, rows->time, n_bytes);
        return LLAP_OK;
    }
    for (int64_t k = 0; k < rows->n_stations && n_bytes > 0; k++)
        memcpy(r->draft.time + rows->start[k], rows->time, n_bytes);
    return LLAP_OK;
}

/* What was decided in one line, what was odd in one more. */
static void tell(const reader *r, const llap_panel *p)
{
    static const char *const layouts[] = {
        [LL_NETCDF_GRID] = "time x station",
        [LL_NETCDF_SINGLE] = "one station",
        [LL_NETCDF_CONTIGUOUS] = "contiguous ragged array",
        [LL_NETCDF_INDEXED] = "indexed ragged array",
        [LL_NETCDF_INCOMPLETE] = "incomplete array",
    };
    const ll_netcdf_counts *n = r->file.counts;
    const llap_log         *log = r->file.opts->log;
    ll_logf(log, LLAP_LOG_INFO, "%s: %s, time '%s', names from %s: %lld %s, %lld %s, %lld %s",
            r->file.path, layouts[n->layout], r->layout.time->name,
            r->layout.name != NULL               ? r->layout.name->name
            : r->layout.kind == LL_NETCDF_SINGLE ? "the file"
                                                 : "the index",
            (long long)p->n_entities, p->n_entities == 1 ? "entity" : "entities",
            (long long)p->n_vars, p->n_vars == 1 ? "variable" : "variables", (long long)p->n_rows,
            p->n_rows == 1 ? "row" : "rows");
    const struct {
        int64_t     n;
        const char *what;
    } odd[] = {
        { n->without_time, "elements without a time left out" },
        { n->without_station, "elements without a station left out" },
        { n->unordered, "rows earlier than the one before, sorted" },
        { n->merged_rows, "rows at the time of another, merged" },
        { n->duplicate_cells, "values given again, the last kept" },
        { n->out_of_range, "values outside the valid range, taken as missing" },
        { n->not_finite, "values infinite or beyond float, taken as missing" },
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (odd[i].n > 0)
            ll_logf(log, LLAP_LOG_WARNING, "%s: %lld %s", r->file.path, (long long)odd[i].n,
                    odd[i].what);
}

llap_status ll_netcdf_read_with(const ll_nc_driver *nc, const char *real, const char *path,
                                const ll_netcdf_opts *o, llap_panel **out, ll_netcdf_counts *counts)
{
    ll_netcdf_counts own;
    if (counts == NULL) counts = &own;
    *counts = (ll_netcdf_counts){ 0 };
    *out = NULL;
    reader      r = { 0 };
    llap_panel *p = NULL;
    llap_status st = ll_nc_file_open(&r.file, nc, real, path, o, counts);
    if (st == LLAP_OK) st = ll_nc_layout_find(&r.layout, &r.file);
    if (st == LLAP_OK) st = ll_nc_rows_init(&r.rows, &r.file, &r.layout);
    if (st == LLAP_OK) st = make_panel(&r, &p);
    if (st == LLAP_OK) st = read_values(&r);
    if (st == LLAP_OK) set_observed(&r);
    if (st == LLAP_OK) tell(&r, p);
    ll_free(r.rule);
    ll_free(r.filled);
    ll_free(r.raw);
    ll_free(r.value);
    ll_free(r.flag);
    ll_nc_rows_deinit(&r.rows);
    ll_nc_file_close(&r.file);
    if (st == LLAP_OK) *out = p;
    else llap_panel_destroy(p);
    return st;
}
