#include "data/panel.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/bisect.h"
#include "base/error.h"
#include "data/pack_layout.h"
#include "data/panel_blocks.h"
#include "data/panel_words.h"

#include <string.h>

void llap_panel_destroy(llap_panel *p)
{
    if (p == NULL) return;
    ll_panel_blocks *b = p->owned;
    if (b != NULL) {
        ll_arena_deinit(&b->text);
        if (b->pack == NULL) {
            ll_free(b->time);
            ll_free(b->value);
            ll_free(b->observed);
        }
        ll_pack_close(b->pack);
    }
    ll_free(b);
    ll_free(p->reading);
    ll_panel_words_destroy(p->words);
    ll_free(p);
}

/* All names in one text block: an arena block each would cost 16 bytes a name. */
static const char **copy_names(ll_arena *a, const char *const *name, int64_t n)
{
    size_t n_bytes = 0;
    for (int64_t i = 0; i < n; i++) n_bytes += strlen(name[i]) + 1;
    const char **list = ll_arena_new(a, (size_t)n, sizeof *list);
    char        *text = ll_arena_new(a, n_bytes, 1);
    if (list == NULL || text == NULL) return NULL;
    for (int64_t i = 0; i < n; i++) {
        const size_t len = strlen(name[i]) + 1;
        list[i] = memcpy(text, name[i], len);
        text += len;
    }
    return list;
}

static llap_status copy_shape(const ll_panel_draft *d, ll_panel_blocks *b, llap_panel *p)
{
    ll_arena *a = &b->text;
    p->axis = d->axis;
    p->axis.zone = ll_arena_strndup(a, d->axis.zone, strlen(d->axis.zone));
    p->axis.format = ll_arena_strndup(a, d->axis.format, strlen(d->axis.format));
    p->axis.unit = ll_arena_strndup(a, d->axis.unit, strlen(d->axis.unit));
    p->entity = b->entity = copy_names(a, d->entity, d->n_entities);
    p->var = copy_names(a, d->var, d->n_vars);
    if (d->unit != NULL) p->unit = copy_names(a, d->unit, d->n_vars);
    int64_t *start = ll_arena_new(a, (size_t)d->n_entities + 1, sizeof *start);
    if (p->axis.zone == NULL || p->axis.format == NULL || p->axis.unit == NULL ||
        p->entity == NULL || p->var == NULL || start == NULL ||
        (d->unit != NULL && p->unit == NULL))
        return LLAP_ENOMEM;
    memcpy(start, d->start, ((size_t)d->n_entities + 1) * sizeof *start);
    p->start = b->start = start;
    b->room_entities = d->n_entities;
    p->n_entities = d->n_entities;
    p->n_vars = d->n_vars;
    p->n_rows = start[d->n_entities];
    return LLAP_OK;
}

static llap_status check_sizes(const ll_panel_draft *d)
{
    if (d->n_entities < 0 || d->n_vars < 0 || d->start[0] != 0)
        return ll_fail(LLAP_EINVAL, "panel: %lld entities, %lld variables, first row %lld",
                       (long long)d->n_entities, (long long)d->n_vars, (long long)d->start[0]);
    for (int64_t e = 0; e < d->n_entities; e++)
        if (d->start[e + 1] < d->start[e])
            return ll_fail(LLAP_EINVAL, "panel: entity '%s' has a negative number of rows",
                           d->entity[e]);
    int64_t n_cells;
    if (__builtin_mul_overflow(d->start[d->n_entities], d->n_vars, &n_cells) ||
        n_cells > INT64_MAX / 8)
        return ll_fail(LLAP_ELIMIT, "panel: %lld rows of %lld variables are too many cells",
                       (long long)d->start[d->n_entities], (long long)d->n_vars);
    return LLAP_OK;
}

/* The panel without its cells. */
static llap_status create_shape(const ll_panel_draft *d, llap_panel **out)
{
    llap_status st = check_sizes(d);
    if (st != LLAP_OK) return st;
    llap_panel *p = ll_new(1, sizeof *p);
    if (p == NULL) return LLAP_ENOMEM;
    p->owned = ll_new(1, sizeof(ll_panel_blocks));
    st = p->owned == NULL ? LLAP_ENOMEM : copy_shape(d, p->owned, p);
    if (st == LLAP_OK) *out = p;
    else llap_panel_destroy(p);
    return st;
}

void ll_panel_show_blocks(llap_panel *p)
{
    const ll_panel_blocks *b = p->owned;
    p->time = b->time;
    p->value = b->value;
    p->observed = b->observed;
    p->view = (llap_panel_columns){ .n_entities = p->n_entities,
                                    .n_variables = p->n_vars,
                                    .n_rows = p->n_rows,
                                    .entities = p->entity,
                                    .variables = p->var,
                                    .first = p->start,
                                    .time = p->time,
                                    .value = p->value,
                                    .observed = p->observed,
                                    .axis = ll_axis_show(&p->axis) };
}

static void show_blocks(llap_panel *p, ll_panel_draft *d)
{
    ll_panel_blocks *b = p->owned;
    b->room_rows = p->n_rows;
    ll_panel_show_blocks(p);
    d->time = b->time;
    d->value = b->value;
    d->observed = b->observed;
}

const llap_panel_columns *llap_panel_view(const llap_panel *p)
{
    return ll_panel_verify_all(p) == LLAP_OK ? &p->view : NULL;
}

llap_time_axis ll_axis_show(const ll_axis *a)
{
    return (llap_time_axis){ .kind =
                                 a->kind == LL_AXIS_NUMBER ? LLAP_TIME_NUMBER : LLAP_TIME_CALENDAR,
                             .zone = a->zone,
                             .format = a->format,
                             .unit = a->unit,
                             .unit_ns = a->unit_ns };
}

ll_panel_draft ll_panel_draft_of(const llap_panel *p)
{
    return (ll_panel_draft){ .axis = p->axis,
                             .n_entities = p->n_entities,
                             .n_vars = p->n_vars,
                             .entity = p->entity,
                             .var = p->var,
                             .unit = p->unit,
                             .start = p->start };
}

llap_status ll_panel_set_units(llap_panel *p, const char *const *unit)
{
    ll_panel_blocks *b = p->owned;
    p->unit = copy_names(&b->text, unit, p->n_vars);
    return p->unit == NULL ? LLAP_ENOMEM : LLAP_OK;
}

llap_status ll_panel_units_carry(const llap_panel *p, llap_panel *to)
{
    if (p->unit == NULL) return LLAP_OK;
    const char **unit = ll_new((size_t)to->n_vars, sizeof *unit);
    if (unit == NULL) return LLAP_ENOMEM;
    for (int64_t v = 0; v < to->n_vars; v++) {
        const int64_t from = ll_panel_find_var(p, to->var[v]);
        unit[v] = from < 0 ? "" : p->unit[from];
    }
    const llap_status st = ll_panel_set_units(to, (const char *const *)unit);
    ll_free(unit);
    return st;
}

llap_status ll_panel_create(ll_panel_draft *d, llap_panel **out)
{
    *out = NULL;
    llap_panel *p = NULL;
    llap_status st = create_shape(d, &p);
    if (st != LLAP_OK) return st;
    const int64_t    n_cells = p->n_rows * p->n_vars;
    ll_panel_blocks *b = p->owned;
    b->time = ll_new((size_t)p->n_rows, sizeof *b->time);
    b->value = ll_grow(NULL, (size_t)n_cells, sizeof *b->value);
    b->observed = ll_new(ll_panel_bit_words(n_cells), sizeof *b->observed);
    if (b->time == NULL || b->value == NULL || b->observed == NULL) {
        llap_panel_destroy(p);
        return LLAP_ENOMEM;
    }
    for (int64_t i = 0; i < n_cells; i++) b->value[i] = NAN;
    show_blocks(p, d);
    *out = p;
    return LLAP_OK;
}

llap_status ll_panel_adopt(ll_panel_draft *d, int64_t *time, float *value, llap_panel **out)
{
    *out = NULL;
    llap_panel *p = NULL;
    llap_status st = create_shape(d, &p);
    if (st != LLAP_OK) {
        ll_free(time);
        ll_free(value);
        return st;
    }
    const int64_t    n_cells = p->n_rows * p->n_vars;
    ll_panel_blocks *b = p->owned;
    b->time = time;
    b->value = value;
    b->observed = ll_new(ll_panel_bit_words(n_cells), sizeof *b->observed);
    if (b->observed == NULL) {
        llap_panel_destroy(p);
        return LLAP_ENOMEM;
    }
    for (int64_t w = 0; w < (int64_t)ll_panel_bit_words(n_cells); w++) {
        const int64_t first = w * 64, n = n_cells - first < 64 ? n_cells - first : 64;
        uint64_t      bits = 0;
        for (int64_t i = 0; i < n; i++) bits |= (uint64_t)!isnan(value[first + i]) << i;
        b->observed[w] = bits;
    }
    show_blocks(p, d);
    *out = p;
    return LLAP_OK;
}

/* Mapped blocks are for reading only: who writes to a panel brings them to the heap before. */
static void point_at(ll_panel_blocks *b, const ll_pack *k)
{
    b->time = (int64_t *)(uintptr_t)ll_pack_time(k);
    b->value = (float *)(uintptr_t)ll_pack_value(k);
    b->observed = (uint64_t *)(uintptr_t)ll_pack_observed(k);
}

llap_status ll_panel_of_pack(ll_panel_draft *d, ll_pack *k, llap_panel **out)
{
    *out = NULL;
    llap_panel *p = NULL;
    llap_status st = create_shape(d, &p);
    if (st != LLAP_OK) {
        ll_pack_close(k);
        return st;
    }
    ll_panel_blocks *b = p->owned;
    b->pack = k;
    point_at(b, k);
    ll_panel_show_blocks(p);
    *out = p;
    return LLAP_OK;
}

llap_status ll_panel_blocks_own(llap_panel *p)
{
    ll_panel_blocks *b = p->owned;
    if (b->pack == NULL) return LLAP_OK;
    const size_t      rows = (size_t)p->n_rows, cells = rows * (size_t)p->n_vars;
    const llap_status st = ll_panel_verify_all(p);
    if (st != LLAP_OK) return st;
    int64_t  *time = ll_new(rows, sizeof *time);
    float    *value = ll_new(cells, sizeof *value);
    uint64_t *observed = ll_new(ll_panel_bit_words((int64_t)cells), sizeof *observed);
    if (time == NULL || value == NULL || observed == NULL) {
        ll_free(time);
        ll_free(value);
        ll_free(observed);
        return LLAP_ENOMEM;
    }
    memcpy(time, b->time, rows * sizeof *time);
    memcpy(value, b->value, cells * sizeof *value);
    memcpy(observed, b->observed, ll_panel_bit_words((int64_t)cells) * sizeof *observed);
    ll_pack_close(b->pack);
    *b = (ll_panel_blocks){ .text = b->text,
                            .room_rows = p->n_rows,
                            .time = time,
                            .value = value,
                            .observed = observed,
                            .room_entities = b->room_entities,
                            .entity = b->entity,
                            .start = b->start };
    ll_panel_show_blocks(p);
    return LLAP_OK;
}

int64_t ll_panel_find_entity(const llap_panel *p, const char *name)
{
    return ll_panel_find_entity_n(p, name, strlen(name));
}

int64_t ll_panel_find_entity_n(const llap_panel *p, const char *name, size_t n)
{
    int64_t low = 0, high = p->n_entities;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        const int     start = strncmp(p->entity[mid], name, n);
        const int     order = start != 0 ? start : p->entity[mid][n] != '\0';
        if (order == 0) return mid;
        if (order < 0) low = mid + 1;
        else high = mid;
    }
    return -1;
}

int64_t ll_panel_find_var(const llap_panel *p, const char *name)
{
    for (int64_t v = 0; v < p->n_vars; v++)
        if (strcmp(p->var[v], name) == 0) return v;
    return -1;
}

int64_t ll_panel_find_row(const llap_panel *p, int64_t entity, int64_t time)
{
    const int64_t end = p->start[entity + 1];
    const int64_t row = ll_first_from(p->time, p->start[entity], end, time);
    return row < end && p->time[row] == time ? row : -1;
}

int64_t ll_panel_row_after(const llap_panel *p, int64_t entity, int64_t time)
{
    return ll_first_after(p->time, p->start[entity], p->start[entity + 1], time);
}

int64_t ll_panel_count_observed(const llap_panel *p)
{
    int64_t n = 0;
    for (size_t w = 0; w < ll_panel_bit_words(p->n_rows * p->n_vars); w++)
        n += __builtin_popcountll(p->observed[w]);
    return n;
}

bool ll_panel_is_static(const llap_panel *p, int64_t v)
{
    bool  differs = false, often = false, any = false;
    float one = 0;
    for (int64_t e = 0; e < p->n_entities; e++) {
        bool  first = true;
        float own = 0;
        for (int64_t r = p->start[e]; r < p->start[e + 1]; r++) {
            if (!ll_panel_observed(p, r, v)) continue;
            const float x = p->value[r * p->n_vars + v];
            if (!first && x != own) return false;
            often = often || !first;
            own = x;
            first = false;
        }
        if (first) continue;
        differs = differs || (any && own != one);
        one = own;
        any = true;
    }
    return differs && often;
}

size_t ll_panel_bytes(const llap_panel *p)
{
    const ll_panel_blocks *b = p->owned;
    const size_t           n_rows = (size_t)b->room_rows, n_cells = n_rows * (size_t)p->n_vars;
    return sizeof *p + sizeof *b + b->text.n_bytes + n_rows * sizeof *p->time +
           n_cells * sizeof *p->value + ll_panel_bit_words((int64_t)n_cells) * sizeof *p->observed;
}

static llap_status check_entity(const llap_panel *p, int64_t e)
{
    if (e > 0 && strcmp(p->entity[e - 1], p->entity[e]) >= 0)
        return ll_fail(LLAP_EINVAL, "panel: entity '%s' is not sorted behind '%s'", p->entity[e],
                       p->entity[e - 1]);
    for (int64_t r = p->start[e]; r < p->start[e + 1]; r++) {
        if (r > p->start[e] && p->time[r] <= p->time[r - 1])
            return ll_fail(LLAP_EINVAL,
                           "panel: entity '%s': row %lld is not later than the one before",
                           p->entity[e], (long long)(r - p->start[e]));
        for (int64_t v = 0; v < p->n_vars; v++) {
            const float x = p->value[r * p->n_vars + v];
            if (isinf(x) || (isnan(x) && ll_panel_observed(p, r, v)))
                return ll_fail(LLAP_EINVAL, "panel: entity '%s', row %lld: '%s' is not finite",
                               p->entity[e], (long long)(r - p->start[e]), p->var[v]);
        }
    }
    return LLAP_OK;
}

llap_status ll_panel_check(const llap_panel *p)
{
    for (int64_t e = 0; e < p->n_entities; e++) {
        const llap_status st = check_entity(p, e);
        if (st != LLAP_OK) return st;
    }
    for (int64_t v = 0; v < p->n_vars; v++)
        if (ll_panel_find_var(p, p->var[v]) != v)
            return ll_fail(LLAP_EINVAL, "panel: variable '%s' is there twice", p->var[v]);
    return LLAP_OK;
}
