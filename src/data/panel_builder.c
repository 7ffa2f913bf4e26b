#include "data/panel_builder.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/clock.h"
#include "data/events.h"
#include "data/names.h"

#include <assert.h>
#include <string.h>

enum { SPARSE = 1024, MANY_CELLS = 1 << 26 }; /* fewer values than one in SPARSE cells: a mistake */

struct ll_panel_builder {
    ll_builder_opts   opts;
    ll_builder_counts counts;
    const ll_axis    *axis; /* while finishing, borrowed */
    ll_names          entities, vars;
    uint32_t         *var_order; /* asked for; NULL: none */
    int64_t          *newest;    /* [newest_capacity] latest time of each entity so far */
    uint32_t          newest_capacity, newest_n;

    ll_events rows;
    float    *value; /* [rows.capacity,stride] */
    int64_t   stride;

    ll_events cells;
    uint32_t *cell_var;
    float    *cell_value;
};

llap_status ll_panel_builder_create(const ll_builder_opts *o, ll_panel_builder **out)
{
    ll_panel_builder *b = *out = ll_new(1, sizeof *b);
    if (b == NULL) return LLAP_ENOMEM;
    b->opts = *o;
    b->counts.first_unordered = b->counts.first_duplicate = b->counts.first_not_finite = -1;
    return LLAP_OK;
}

static void events_deinit(ll_events *e)
{
    ll_free(e->entity);
    ll_free(e->time);
    *e = (ll_events){ 0 };
}

void ll_panel_builder_destroy(ll_panel_builder *b)
{
    if (b == NULL) return;
    ll_names_deinit(&b->entities);
    ll_names_deinit(&b->vars);
    ll_free(b->var_order);
    ll_free(b->newest);
    events_deinit(&b->rows);
    events_deinit(&b->cells);
    ll_free(b->value);
    ll_free(b->cell_var);
    ll_free(b->cell_value);
    ll_free(b);
}

const ll_builder_counts *ll_panel_builder_counts(const ll_panel_builder *b) { return &b->counts; }

uint32_t ll_panel_builder_n_vars(const ll_panel_builder *b) { return b->vars.n; }

/* Resizes one array of the builder in place; false when out of memory. */
static bool resize(void *array, int64_t n, size_t size)
{
    void *p;
    memcpy(&p, array, sizeof p); /* array is a T **, whatever T */
    p = ll_grow(p, (size_t)n, size);
    if (p != NULL) memcpy(array, &p, sizeof p);
    return p != NULL;
}

/* ---- taking in ------------------------------------------------------------------------------ */

const char *ll_panel_builder_var_name(const ll_panel_builder *b, uint32_t id)
{
    assert(id < b->vars.n);
    return b->vars.name[id];
}

const char *ll_panel_builder_entity_name(const ll_panel_builder *b, uint32_t id)
{
    assert(id < b->entities.n);
    return b->entities.name[id];
}

llap_status ll_panel_builder_entity(ll_panel_builder *b, const char *name, size_t len, uint32_t *id)
{
    if (b->opts.max_entities > 0 && b->entities.n >= b->opts.max_entities &&
        !ll_names_find(&b->entities, name, len, id))
        return ll_fail(LLAP_ELIMIT, "more than %lld different entities",
                       (long long)b->opts.max_entities);
    llap_status st = ll_names_add(&b->entities, name, len, id);
    if (st != LLAP_OK || *id < b->newest_n) return st;
    if (b->newest_n == b->newest_capacity) {
        const uint32_t capacity = b->newest_capacity == 0 ? 16 : b->newest_capacity * 2;
        if (!resize(&b->newest, capacity, sizeof *b->newest)) return LLAP_ENOMEM;
        b->newest_capacity = capacity;
    }
    while (b->newest_n < b->entities.n && b->newest_n < b->newest_capacity)
        b->newest[b->newest_n++] = INT64_MIN;
    return LLAP_OK;
}

llap_status ll_panel_builder_var(ll_panel_builder *b, const char *name, size_t len, uint32_t *id)
{
    return ll_names_add(&b->vars, name, len, id);
}

/* Spreads the rows already there to the present number of variables, from the last one down. */
static llap_status widen(ll_panel_builder *b)
{
    const int64_t old = b->stride, now = b->vars.n;
    if (b->rows.capacity > 0 && !resize(&b->value, b->rows.capacity * now, sizeof *b->value))
        return LLAP_ENOMEM;
    b->stride = now;
    for (int64_t r = b->rows.n - 1; r >= 0; r--) {
        memmove(b->value + r * now, b->value + r * old, (size_t)old * sizeof *b->value);
        for (int64_t v = old; v < now; v++) b->value[r * now + v] = NAN;
    }
    return LLAP_OK;
}

static llap_status events_reserve(ll_events *e, int64_t capacity)
{
    if (!resize(&e->entity, capacity, sizeof *e->entity) ||
        !resize(&e->time, capacity, sizeof *e->time))
        return LLAP_ENOMEM;
    return LLAP_OK;
}

static int64_t grown(int64_t capacity) { return capacity < 64 ? 64 : capacity + capacity / 2; }

static llap_status reserve_rows(ll_panel_builder *b, int64_t capacity)
{
    if (capacity > INT64_MAX / 8 / (b->stride + 1))
        return ll_fail(LLAP_ELIMIT, "too many rows: %lld", (long long)capacity);
    if (events_reserve(&b->rows, capacity) != LLAP_OK ||
        !resize(&b->value, capacity * b->stride, sizeof *b->value))
        return LLAP_ENOMEM;
    b->rows.capacity = capacity;
    return LLAP_OK;
}

/* Books the order of arrival of one row or cell, whose arrival number is given. */
static void note_order(ll_panel_builder *b, uint32_t entity, int64_t time, int64_t arrival)
{
    if (time >= b->newest[entity]) {
        b->newest[entity] = time;
        return;
    }
    if (b->counts.unordered++ == 0) b->counts.first_unordered = arrival;
}

static float finite_or_nan(ll_panel_builder *b, float x, int64_t arrival)
{
    if (!isinf(x)) return x;
    if (b->counts.not_finite++ == 0) b->counts.first_not_finite = arrival;
    return NAN;
}

llap_status ll_panel_builder_row(ll_panel_builder *b, uint32_t entity, int64_t time,
                                 const float *values)
{
    llap_status st = LLAP_OK;
    if (b->stride != b->vars.n) st = widen(b);
    if (st == LLAP_OK && b->rows.n == b->rows.capacity)
        st = reserve_rows(b, grown(b->rows.capacity));
    if (st != LLAP_OK) return st;
    const int64_t r = b->rows.n++;
    b->rows.entity[r] = entity;
    b->rows.time[r] = time;
    float *to = b->value + r * b->stride;
    bool   any_infinite = false; /* found without a branch per value */
    for (int64_t v = 0; v < b->stride; v++) {
        to[v] = values[v];
        any_infinite |= isinf(values[v]) != 0;
    }
    if (any_infinite)
        for (int64_t v = 0; v < b->stride; v++) to[v] = finite_or_nan(b, values[v], b->counts.rows);
    note_order(b, entity, time, b->counts.rows++);
    return LLAP_OK;
}

/* Many rows of usual values at once: as fast as memory is. */
llap_status ll_panel_builder_rows(ll_panel_builder *b, uint32_t entity, int64_t n,
                                  const int64_t *time, const float *values)
{
    llap_status   st = b->stride != b->vars.n ? widen(b) : LLAP_OK;
    const int64_t n_cells = n * b->stride;
    int64_t       more = grown(b->rows.capacity), infinite = 0;
    for (int64_t i = 0; i < n_cells; i++) infinite += isinf(values[i]) != 0;
    if (infinite > 0) {
        for (int64_t i = 0; i < n && st == LLAP_OK; i++)
            st = ll_panel_builder_row(b, entity, time[i], values + i * b->stride);
        return st;
    }
    if (more - b->rows.n < n) more = b->rows.n + n;
    if (st == LLAP_OK && b->rows.capacity - b->rows.n < n) st = reserve_rows(b, more);
    if (st != LLAP_OK) return st;
    for (int64_t i = 0; i < n; i++) {
        b->rows.entity[b->rows.n + i] = entity;
        b->rows.time[b->rows.n + i] = time[i];
        note_order(b, entity, time[i], b->counts.rows + i);
    }
    if (n_cells > 0)
        memcpy(b->value + b->rows.n * b->stride, values, (size_t)n_cells * sizeof *values);
    b->rows.n += n;
    b->counts.rows += n;
    return LLAP_OK;
}

llap_status ll_panel_builder_cell(ll_panel_builder *b, uint32_t entity, int64_t time, uint32_t var,
                                  float value)
{
    ll_events *e = &b->cells;
    if (e->n == e->capacity) {
        const int64_t capacity = grown(e->capacity);
        if (events_reserve(e, capacity) != LLAP_OK ||
            !resize(&b->cell_var, capacity, sizeof *b->cell_var) ||
            !resize(&b->cell_value, capacity, sizeof *b->cell_value))
            return LLAP_ENOMEM;
        e->capacity = capacity;
    }
    const int64_t c = e->n++;
    e->entity[c] = entity;
    e->time[c] = time;
    b->cell_var[c] = var;
    b->cell_value[c] = finite_or_nan(b, value, b->counts.cells);
    note_order(b, entity, time, b->counts.cells++);
    return LLAP_OK;
}

void ll_panel_builder_visit(ll_panel_builder *b, void (*see)(void *user, uint32_t var, float *x),
                            void             *user)
{
    for (int64_t r = 0; r < b->rows.n; r++)
        for (int64_t v = 0; v < b->stride; v++) {
            float *x = b->value + r * b->stride + v;
            if (!isnan(*x)) see(user, (uint32_t)v, x);
        }
    for (int64_t c = 0; c < b->cells.n; c++)
        if (!isnan(b->cell_value[c])) see(user, b->cell_var[c], &b->cell_value[c]);
}

int64_t ll_panel_builder_newest(const ll_panel_builder *b, uint32_t entity)
{
    return b->newest[entity];
}

uint32_t ll_panel_builder_n_entities(const ll_panel_builder *b) { return b->entities.n; }

void ll_panel_builder_spans(const ll_panel_builder *b, ll_builder_span *out)
{
    const ll_events *const kinds[] = { &b->rows, &b->cells };
    for (uint32_t e = 0; e < b->entities.n; e++)
        out[e] = (ll_builder_span){ .first = INT64_MAX, .last = INT64_MIN };
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < kinds[k]->n; i++) {
            ll_builder_span *s = &out[kinds[k]->entity[i]];
            const int64_t    t = kinds[k]->time[i];
            s->first = t < s->first ? t : s->first;
            s->last = t > s->last ? t : s->last;
            s->rows++;
        }
}

void ll_panel_builder_join(ll_panel_builder *b, const uint32_t *to)
{
    for (int64_t i = 0; i < b->rows.n; i++) b->rows.entity[i] = to[b->rows.entity[i]];
    for (int64_t i = 0; i < b->cells.n; i++) b->cells.entity[i] = to[b->cells.entity[i]];
}

/* ---- merging -------------------------------------------------------------------------------- */

static llap_status note_duplicate(ll_panel_builder *b, uint32_t entity, uint32_t var, int64_t time,
                                  int64_t arrival)
{
    ll_builder_counts *c = &b->counts;
    /* the earliest arrival of all, whichever entity sorts first */
    if (c->duplicate_cells++ == 0 || arrival < c->first_duplicate) c->first_duplicate = arrival;
    if (b->opts.duplicates == LL_DUPLICATES_LAST) return LLAP_OK;
    return ll_fail(LLAP_EFORMAT, "entity '%s': '%s' is given twice for time %s",
                   b->entities.name[entity], b->vars.name[var], ll_clock_show(b->axis, time).text);
}

/* Puts the k-th cell into the last row if it belongs there, else into a new one, for which there is
 * room. */
static llap_status place_cell(ll_panel_builder *b, int64_t c)
{
    const uint32_t entity = b->cells.entity[c], var = b->cell_var[c];
    const int64_t  time = b->cells.time[c];
    ll_events     *rows = &b->rows;
    if (rows->n == 0 || rows->entity[rows->n - 1] != entity || rows->time[rows->n - 1] != time) {
        rows->entity[rows->n] = entity;
        rows->time[rows->n++] = time;
        float *fresh = b->value + (rows->n - 1) * b->stride;
        for (int64_t v = 0; v < b->stride; v++) fresh[v] = NAN;
    }
    if (isnan(b->cell_value[c])) return LLAP_OK;
    float      *to = b->value + (rows->n - 1) * b->stride + var;
    llap_status st = isnan(*to) ? LLAP_OK : note_duplicate(b, entity, var, time, c);
    if (st == LLAP_OK) *to = b->cell_value[c];
    return st;
}

/* Room for the rows of the cells. A column taken wrongly for the variables' names makes a row and a
 * variable of every cell: a small file would take all memory there is. */
static llap_status reserve_for_cells(ll_panel_builder *b, const int64_t *order)
{
    const ll_events *e = &b->cells;
    int64_t          n = 0;
    for (int64_t k = 0; k < e->n; k++) n += k == 0 || !ll_events_same(e, order, k - 1, k);
    if (b->stride > SPARSE && n > MANY_CELLS / b->stride &&
        (double)n * (double)b->stride > SPARSE * (double)e->n)
        return ll_fail(LLAP_ELIMIT,
                       "%lld variables in %lld rows, but only %lld values: not even one cell in "
                       "%d; is this the column of the variables?",
                       (long long)b->stride, (long long)n, (long long)e->n, SPARSE);
    return reserve_rows(b, b->rows.n + n);
}

/* Turns the cells into rows in final order and gives their memory back. */
static llap_status cells_to_rows(ll_panel_builder *b, const uint32_t *rank)
{
    int64_t    *order;
    llap_status st = ll_events_sort(&b->cells, rank, b->entities.n, &order);
    if (st == LLAP_OK) st = reserve_for_cells(b, order);
    for (int64_t k = 0; k < b->cells.n && st == LLAP_OK; k++)
        st = place_cell(b, order == NULL ? k : order[k]);
    ll_free(order);
    if (st != LLAP_OK) return st;
    events_deinit(&b->cells);
    ll_free(b->cell_var);
    ll_free(b->cell_value);
    b->cell_var = NULL;
    b->cell_value = NULL;
    return LLAP_OK;
}

/* Counts the values that rows of one entity and time share, before any row moves. */
static llap_status find_duplicates(ll_panel_builder *b, const int64_t *order)
{
    bool *seen = ll_new((size_t)b->stride, sizeof *seen); /* in the rows of this entity and time */
    if (seen == NULL) return LLAP_ENOMEM;
    const ll_events *e = &b->rows;
    llap_status      st = LLAP_OK;
    for (int64_t k = 1; k < e->n && st == LLAP_OK; k++) {
        if (!ll_events_same(e, order, k - 1, k)) continue;
        const int64_t r = order == NULL ? k : order[k], s = order == NULL ? k - 1 : order[k - 1];
        const bool    first = k == 1 || !ll_events_same(e, order, k - 2, k - 1);
        const float  *old = b->value + s * b->stride, *new = b->value + r * b->stride;
        b->counts.merged_rows++;
        for (int64_t v = 0; v < b->stride && st == LLAP_OK; v++) {
            seen[v] = (!first && seen[v]) || !isnan(old[v]);
            if (seen[v] && !isnan(new[v]))
                st = note_duplicate(b, e->entity[r], (uint32_t)v, e->time[r], r);
        }
    }
    ll_free(seen);
    return st;
}

/* Moves row order[k] to place k for all k, in place, along the cycles; order is used up. */
static llap_status permute_rows(ll_panel_builder *b, int64_t *order)
{
    const size_t row_bytes = (size_t)b->stride * sizeof *b->value;
    float       *held = ll_new(1, row_bytes);
    if (held == NULL) return LLAP_ENOMEM;
    ll_events *e = &b->rows;
    for (int64_t i = 0; i < e->n; i++) {
        if (order[i] == i) continue;
        const uint32_t held_entity = e->entity[i];
        const int64_t  held_time = e->time[i];
        memcpy(held, b->value + i * b->stride, row_bytes);
        int64_t to = i;
        for (int64_t from = order[to]; from != i; to = from, from = order[to]) {
            e->entity[to] = e->entity[from];
            e->time[to] = e->time[from];
            memcpy(b->value + to * b->stride, b->value + from * b->stride, row_bytes);
            order[to] = to;
        }
        e->entity[to] = held_entity;
        e->time[to] = held_time;
        memcpy(b->value + to * b->stride, held, row_bytes);
        order[to] = to;
    }
    ll_free(held);
    return LLAP_OK;
}

/* Merges neighbours of one entity and time: what came later wins, missing erases nothing. */
static void merge_rows(ll_panel_builder *b)
{
    ll_events *e = &b->rows;
    int64_t    n = 0;
    for (int64_t r = 0; r < e->n; r++) {
        const float *from = b->value + r * b->stride;
        if (n > 0 && e->entity[n - 1] == e->entity[r] && e->time[n - 1] == e->time[r]) {
            float *to = b->value + (n - 1) * b->stride;
            for (int64_t v = 0; v < b->stride; v++)
                if (!isnan(from[v])) to[v] = from[v];
            continue;
        }
        if (n < r) {
            e->entity[n] = e->entity[r];
            e->time[n] = e->time[r];
            memcpy(b->value + n * b->stride, from, (size_t)b->stride * sizeof *from);
        }
        n++;
    }
    e->n = n;
}

static llap_status order_rows(ll_panel_builder *b, const uint32_t *rank)
{
    int64_t    *order;
    llap_status st = ll_events_sort(&b->rows, rank, b->entities.n, &order);
    if (st == LLAP_OK) st = find_duplicates(b, order);
    if (st == LLAP_OK && order != NULL) st = permute_rows(b, order);
    ll_free(order);
    if (st == LLAP_OK && b->counts.merged_rows > 0) merge_rows(b);
    return st;
}

llap_status ll_panel_builder_order(ll_panel_builder *b, const uint32_t *order)
{
    if (!resize(&b->var_order, b->vars.n, sizeof *order)) return LLAP_ENOMEM;
    memcpy(b->var_order, order, b->vars.n * sizeof *order);
    return LLAP_OK;
}

void ll_panel_builder_sort_vars(ll_panel_builder *b) { b->opts.sort_vars = true; }

/* ---- handing over --------------------------------------------------------------------------- */

/* Rewrites the columns so that variable order[v] becomes column v. */
static llap_status permute_columns(ll_panel_builder *b, const uint32_t *order)
{
    float *row = ll_new((size_t)b->stride, sizeof *row);
    if (row == NULL) return LLAP_ENOMEM;
    for (int64_t r = 0; r < b->rows.n; r++) {
        float *at = b->value + r * b->stride;
        for (int64_t v = 0; v < b->stride; v++) row[v] = at[order[v]];
        memcpy(at, row, (size_t)b->stride * sizeof *row);
    }
    ll_free(row);
    return LLAP_OK;
}

/* Gives the rows, now final, to a panel. sorted: entity ids in byte order of their names. */
static llap_status hand_over(ll_panel_builder *b, const ll_axis *axis, const uint32_t *sorted,
                             const uint32_t *var_order, llap_panel **out)
{
    const ll_events *e = &b->rows;
    const char     **entity = ll_new(b->entities.n, sizeof *entity);
    const char     **var = ll_new(b->vars.n, sizeof *var);
    int64_t         *start = ll_new((size_t)b->entities.n + 1, sizeof *start);
    llap_status      st = LLAP_ENOMEM;
    if (entity == NULL || var == NULL || start == NULL) goto done;
    int64_t row = 0, n = 0;
    for (uint32_t k = 0; k < b->entities.n; k++) {
        const int64_t first = row;
        while (row < e->n && e->entity[row] == sorted[k]) row++;
        if (row == first) continue;
        entity[n] = b->entities.name[sorted[k]];
        start[++n] = row;
    }
    b->counts.empty_entities = (int64_t)b->entities.n - n;
    for (uint32_t v = 0; v < b->vars.n; v++)
        var[v] = b->vars.name[var_order == NULL ? v : var_order[v]];
    ll_free(b->rows.entity);
    b->rows.entity = NULL;
    if (!resize(&b->rows.time, b->rows.n, sizeof *b->rows.time) ||
        !resize(&b->value, b->rows.n * b->stride, sizeof *b->value))
        goto done;
    ll_panel_draft d;
    d = (ll_panel_draft){ .axis = *axis,
                          .n_entities = n,
                          .n_vars = b->vars.n,
                          .entity = entity,
                          .var = var,
                          .start = start };
    st = ll_panel_adopt(&d, b->rows.time, b->value, out);
    b->rows.time = NULL;
    b->value = NULL;
    b->rows.n = b->rows.capacity = 0;
done:
    ll_free(entity);
    ll_free(var);
    ll_free(start);
    return st;
}

llap_status ll_panel_builder_finish(ll_panel_builder *b, const ll_axis *axis, llap_panel **out)
{
    *out = NULL;
    b->axis = axis;
    uint32_t   *sorted = NULL;
    uint32_t   *rank = ll_new(b->entities.n, sizeof *rank);
    llap_status st = rank == NULL ? LLAP_ENOMEM : ll_names_sorted(&b->entities, &sorted);
    if (st == LLAP_OK)
        for (uint32_t k = 0; k < b->entities.n; k++) rank[sorted[k]] = k;
    if (st == LLAP_OK && b->stride != b->vars.n) st = widen(b);
    if (st == LLAP_OK && b->cells.n > 0) st = cells_to_rows(b, rank);
    if (st == LLAP_OK) st = order_rows(b, rank);
    if (st == LLAP_OK && b->opts.sort_vars && b->var_order == NULL)
        st = ll_names_sorted(&b->vars, &b->var_order);
    if (st == LLAP_OK && b->var_order != NULL) st = permute_columns(b, b->var_order);
    if (st == LLAP_OK) st = hand_over(b, axis, sorted, b->var_order, out);
    ll_free(rank);
    ll_free(sorted);
    return st;
}
