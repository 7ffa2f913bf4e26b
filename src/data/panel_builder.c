#include "data/panel_building.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/panel_runs.h"

#include <assert.h>
#include <string.h>

llap_status ll_panel_builder_create(const ll_builder_opts *o, ll_panel_builder **out)
{
    ll_panel_builder *b = *out = ll_new(1, sizeof *b);
    if (b == NULL) return LLAP_ENOMEM;
    b->opts = *o;
    b->counts.first_unordered = b->counts.first_duplicate = b->counts.first_not_finite = -1;
    return LLAP_OK;
}

void ll_panel_builder_destroy(ll_panel_builder *b)
{
    if (b == NULL) return;
    ll_names_deinit(&b->entities);
    ll_names_deinit(&b->vars);
    ll_free(b->var_order);
    ll_free(b->newest);
    ll_events_deinit(&b->rows);
    ll_events_deinit(&b->cells);
    ll_free(b->value);
    ll_free(b->cell_var);
    ll_free(b->cell_value);
    ll_row_runs_destroy(b->runs);
    ll_free(b);
}

const ll_builder_counts *ll_panel_builder_counts(const ll_panel_builder *b) { return &b->counts; }

uint32_t ll_panel_builder_n_vars(const ll_panel_builder *b) { return b->vars.n; }

/* Resizes one array of the builder in place; false when out of memory. */
bool ll_building_resize(void *array, int64_t n, size_t size)
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
        if (!ll_building_resize(&b->newest, capacity, sizeof *b->newest)) return LLAP_ENOMEM;
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
llap_status ll_building_widen(ll_panel_builder *b)
{
    const int64_t old = b->stride, now = b->vars.n;
    if (b->rows.capacity > 0 &&
        !ll_building_resize(&b->value, b->rows.capacity * now, sizeof *b->value))
        return LLAP_ENOMEM;
    b->stride = now;
    for (int64_t r = b->rows.n - 1; r >= 0; r--) {
        memmove(b->value + r * now, b->value + r * old, (size_t)old * sizeof *b->value);
        for (int64_t v = old; v < now; v++) b->value[r * now + v] = NAN;
    }
    return LLAP_OK;
}

static int64_t grown(int64_t capacity) { return capacity < 64 ? 64 : capacity + capacity / 2; }

llap_status ll_building_reserve(ll_panel_builder *b, int64_t capacity, uint32_t entity)
{
    if (capacity > INT64_MAX / 8 / (b->stride + 1))
        return ll_fail(LLAP_ELIMIT, "too many rows: %lld", (long long)capacity);
    if (ll_events_reserve(&b->rows, capacity, entity) != LLAP_OK ||
        !ll_building_resize(&b->value, capacity * b->stride, sizeof *b->value))
        return LLAP_ENOMEM;
    b->rows.capacity = capacity;
    return LLAP_OK;
}

/* With sorting on disk: more than its share of memory would hold. Twice what rows take, for their
 * order and for blocks that grow; cells become rows besides. */
static bool too_many(const ll_panel_builder *b, int64_t rows, int64_t cells)
{
    if (b->opts.pack == NULL) return false;
    const double bytes = (double)rows * (12 + 4 * (double)b->vars.n) + 40.0 * (double)cells;
    return 2 * bytes > (double)b->opts.memory;
}

llap_status ll_building_room(ll_panel_builder *b, int64_t n, uint32_t entity)
{
    const bool room = b->rows.capacity - b->rows.n >= n;
    int64_t    more = room ? b->rows.capacity : grown(b->rows.capacity);
    if (!room && b->rows.n > 0 && too_many(b, more, b->cells.n)) {
        const llap_status st = ll_row_runs_spill(b);
        if (st != LLAP_OK) return st;
        more = b->rows.capacity;
    }
    if (more - b->rows.n < n) more = b->rows.n + n;
    return ll_building_reserve(b, more, entity);
}

llap_status ll_building_cell_room(ll_panel_builder *b, uint32_t entity)
{
    ll_events *e = &b->cells;
    int64_t    capacity = e->n == e->capacity ? grown(e->capacity) : e->capacity;
    if (e->n == e->capacity && e->n > 0 && too_many(b, b->rows.n, capacity)) {
        const llap_status st = ll_row_runs_spill(b);
        if (st != LLAP_OK) return st;
        capacity = grown(e->capacity); /* the spill has given the cells' memory back */
    }
    if (ll_events_reserve(e, capacity, entity) != LLAP_OK ||
        !ll_building_resize(&b->cell_var, capacity, sizeof *b->cell_var) ||
        !ll_building_resize(&b->cell_value, capacity, sizeof *b->cell_value))
        return LLAP_ENOMEM;
    e->capacity = capacity;
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
    if (b->stride != b->vars.n) st = ll_building_widen(b);
    if (st == LLAP_OK && (b->rows.n == b->rows.capacity || !ll_events_holds(&b->rows, entity)))
        st = ll_building_room(b, 1, entity);
    if (st != LLAP_OK) return st;
    const int64_t r = b->rows.n++;
    ll_events_put(&b->rows, r, entity);
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
    llap_status   st = b->stride != b->vars.n ? ll_building_widen(b) : LLAP_OK;
    const int64_t n_cells = n * b->stride;
    int64_t       infinite = 0;
    for (int64_t i = 0; i < n_cells; i++) infinite += isinf(values[i]) != 0;
    if (infinite > 0) {
        for (int64_t i = 0; i < n && st == LLAP_OK; i++)
            st = ll_panel_builder_row(b, entity, time[i], values + i * b->stride);
        return st;
    }
    if (st == LLAP_OK && (b->rows.capacity - b->rows.n < n || !ll_events_holds(&b->rows, entity)))
        st = ll_building_room(b, n, entity);
    if (st != LLAP_OK) return st;
    for (int64_t i = 0; i < n; i++) {
        ll_events_put(&b->rows, b->rows.n + i, entity);
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
    if (e->n == e->capacity || !ll_events_holds(e, entity)) {
        const llap_status st = ll_building_cell_room(b, entity);
        if (st != LLAP_OK) return st;
    }
    const int64_t c = e->n++;
    ll_events_put(e, c, entity);
    e->time[c] = time;
    b->cell_var[c] = var;
    b->cell_value[c] = finite_or_nan(b, value, b->counts.cells);
    note_order(b, entity, time, b->counts.cells++);
    return LLAP_OK;
}

static void visit_memory(ll_panel_builder *b, void (*see)(void *user, uint32_t var, float *x),
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

llap_status ll_panel_builder_visit(ll_panel_builder *b,
                                   void (*see)(void *user, uint32_t var, float *x), void *user)
{
    visit_memory(b, see, user);
    return b->runs == NULL ? LLAP_OK : ll_row_runs_visit(b->runs, see, user);
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
            ll_builder_span *s = &out[ll_events_entity(kinds[k], i)];
            const int64_t    t = kinds[k]->time[i];
            s->first = t < s->first ? t : s->first;
            s->last = t > s->last ? t : s->last;
            s->rows++;
        }
    ll_row_runs_spans(b->runs, out, b->entities.n);
}

static llap_status join_events(ll_events *e, const uint32_t *to, uint32_t most)
{
    llap_status st = LLAP_OK;
    if (e->n > 0 && !ll_events_holds(e, most)) st = ll_events_reserve(e, e->capacity, most);
    for (int64_t i = 0; i < e->n && st == LLAP_OK; i++)
        ll_events_put(e, i, to[ll_events_entity(e, i)]);
    return st;
}

llap_status ll_panel_builder_join(ll_panel_builder *b, const uint32_t *to)
{
    if (b->runs != NULL) return ll_row_runs_join(b, to);
    const llap_status st = join_events(&b->rows, to, b->entities.n);
    return st == LLAP_OK ? join_events(&b->cells, to, b->entities.n) : st;
}
