/* Rows that arrive: a panel grows in place, from its end backwards. */
#include "data/panel_append.h"

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/error.h"
#include "data/pack.h"
#include "data/panel_blocks.h"
#include "data/panel_words.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- where the rows go ---- */

typedef struct place {
    int64_t entity; /* of the panel as it was: this one, or a new one in front of it */
    int64_t rows;   /* that the entity gets more */
    bool    is_new;
} place;

typedef struct growth {
    llap_panel       *p;
    ll_panel_blocks  *b;
    const llap_panel *rows;
    place            *at;   /* [rows->n_entities] */
    const char      **name; /* [rows->n_entities] of new entities, in the arena of p */
    int64_t           n_rows, n_entities; /* more */
    int64_t           moved;
} growth;

static int64_t entity_place(const llap_panel *p, const char *name, bool *found)
{
    int64_t low = 0, high = p->n_entities;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (strcmp(p->entity[mid], name) < 0) low = mid + 1;
        else high = mid;
    }
    *found = low < p->n_entities && strcmp(p->entity[low], name) == 0;
    return low;
}

static void find_places(growth *g)
{
    const llap_panel *rows = g->rows;
    for (int64_t e = 0; e < rows->n_entities; e++) {
        bool   found;
        place *at = &g->at[e];
        at->entity = entity_place(g->p, rows->entity[e], &found);
        at->is_new = !found;
        at->rows = rows->start[e + 1] - rows->start[e];
        for (int64_t r = rows->start[e]; found && r < rows->start[e + 1]; r++)
            at->rows -= ll_panel_find_row(g->p, at->entity, rows->time[r]) >= 0;
        g->n_rows += at->rows;
        g->n_entities += at->is_new;
    }
}

/* ---- room, before anything is changed ---- */

static bool grow_block(void *block, int64_t n, size_t size)
{
    void *old, *larger;
    memcpy(&old, block, sizeof old);
    larger = ll_grow(old, (size_t)n, size);
    if (larger != NULL) memcpy(block, &larger, sizeof larger);
    return larger != NULL;
}

static llap_status reserve_rows(growth *g)
{
    ll_panel_blocks *b = g->b;
    const int64_t    vars = g->p->n_vars;
    int64_t          need, cells;
    if (__builtin_add_overflow(g->p->n_rows, g->n_rows, &need) ||
        __builtin_mul_overflow(need, vars, &cells) || cells > INT64_MAX / 16)
        return ll_fail(LLAP_ELIMIT, "panel: %lld more rows of %lld variables are too many cells",
                       (long long)g->n_rows, (long long)vars);
    if (need <= b->room_rows) return LLAP_OK;
    const int64_t room = need + need / 2 + 16;
    const size_t  was = ll_panel_bit_words(b->room_rows * vars),
                 words = ll_panel_bit_words(room * vars);
    if (!grow_block(&b->time, room, sizeof *b->time)) return LLAP_ENOMEM;
    if (!grow_block(&b->value, room * vars, sizeof *b->value)) return LLAP_ENOMEM;
    if (!grow_block(&b->observed, (int64_t)words, sizeof *b->observed)) return LLAP_ENOMEM;
    memset(b->observed + was, 0, (words - was) * sizeof *b->observed);
    b->room_rows = room;
    return LLAP_OK;
}

static llap_status reserve_entities(growth *g)
{
    ll_panel_blocks *b = g->b;
    const int64_t    n = g->p->n_entities, need = n + g->n_entities;
    if (g->n_entities == 0) return LLAP_OK;
    if (need > b->room_entities) {
        const int64_t room = 2 * need;
        const char  **entity = ll_arena_new(&b->text, (size_t)room, sizeof *entity);
        int64_t      *start = ll_arena_new(&b->text, (size_t)room + 1, sizeof *start);
        if (entity == NULL || start == NULL) return LLAP_ENOMEM;
        memcpy(entity, b->entity, (size_t)n * sizeof *entity);
        memcpy(start, b->start, ((size_t)n + 1) * sizeof *start);
        b->entity = entity;
        b->start = start;
        b->room_entities = room;
    }
    for (int64_t e = 0; e < g->rows->n_entities; e++) {
        const char *name = g->rows->entity[e];
        if (!g->at[e].is_new) continue;
        g->name[e] = ll_arena_strndup(&b->text, name, strlen(name));
        if (g->name[e] == NULL) return LLAP_ENOMEM;
    }
    return ll_panel_words_reserve(g->p, b->room_entities);
}

/* ---- bits ---- */

/* Bits at .. at + n - 1, n at most 64. */
static uint64_t read_bits(const uint64_t *bits, int64_t at, int64_t n)
{
    const int64_t  w = at / 64, shift = at % 64;
    const uint64_t mask = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    uint64_t       x = bits[w] >> shift;
    if (shift + n > 64) x |= bits[w + 1] << (64 - shift);
    return x & mask;
}

static void write_bits(uint64_t *bits, int64_t at, int64_t n, uint64_t x)
{
    const int64_t  w = at / 64, shift = at % 64;
    const uint64_t mask = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    bits[w] = (bits[w] & ~(mask << shift)) | x << shift;
    if (shift + n > 64) bits[w + 1] = (bits[w + 1] & ~(mask >> (64 - shift))) | x >> (64 - shift);
}

/* Moves n bits to a later place, from their end on: the two may overlap. */
static void move_bits(uint64_t *bits, int64_t from, int64_t to, int64_t n)
{
    assert(to > from);
    while (n > 0) {
        const int64_t k = n < 64 ? n : 64;
        n -= k;
        write_bits(bits, to + n, k, read_bits(bits, from + n, k));
    }
}

/* ---- rows ---- */

static void move_rows(growth *g, int64_t first, int64_t end, int64_t by)
{
    const ll_panel_blocks *b = g->b;
    const int64_t          n = end - first, vars = g->p->n_vars;
    if (n == 0 || by == 0) return;
    memmove(b->time + first + by, b->time + first, (size_t)n * sizeof *b->time);
    memmove(b->value + (first + by) * vars, b->value + first * vars,
            (size_t)(n * vars) * sizeof *b->value);
    if (vars > 0) move_bits(b->observed, first * vars, (first + by) * vars, n * vars);
    g->moved += n;
}

/* Row r of those that arrive: to row `to`, in the place of what is there or over it. */
static void put_row(growth *g, int64_t r, int64_t to, bool over)
{
    const int64_t vars = g->p->n_vars;
    g->b->time[to] = g->rows->time[r];
    for (int64_t v = 0; v < vars; v++) {
        const float   x = g->rows->value[r * vars + v];
        const int64_t cell = to * vars + v;
        if (over && isnan(x)) continue;
        g->b->value[cell] = x;
        write_bits(g->b->observed, cell, 1, ll_panel_observed(g->rows, r, v));
    }
}

/* From the end backwards, so that every row moves once. */
static void put_rows(growth *g)
{
    const int64_t *start = g->b->start;
    int64_t left = g->n_rows, end = g->p->n_rows; /* rows from end on are where they belong */
    for (int64_t e = g->rows->n_entities - 1; e >= 0; e--) {
        const place  *at = &g->at[e];
        const int64_t first = start[at->entity], last = at->is_new ? first : start[at->entity + 1];
        for (int64_t r = g->rows->start[e + 1] - 1; r >= g->rows->start[e]; r--) {
            const int64_t t = g->rows->time[r], stop = last < end ? last : end,
                          row = ll_first_from(g->b->time, first, stop, t);
            const bool over = row < stop && g->b->time[row] == t;
            move_rows(g, row + over, end, left);
            end = row + over;
            if (over) {
                put_row(g, r, row, true);
                continue;
            }
            left--;
            put_row(g, r, row + left, false);
        }
    }
    assert(left == 0);
}

/* Names and first rows, from the end backwards too. */
static void put_entities(growth *g)
{
    ll_panel_blocks *b = g->b;
    int64_t          e = g->rows->n_entities - 1, added = g->n_entities, rows = g->n_rows;
    for (int64_t old = g->p->n_entities; rows > 0 || added > 0; old--) {
        assert(old >= 0);
        if (e >= 0 && !g->at[e].is_new && g->at[e].entity == old) rows -= g->at[e--].rows;
        b->start[old + added] = b->start[old] + rows;
        if (old < g->p->n_entities) b->entity[old + added] = b->entity[old];
        /* those that come new in front of it */
        for (; e >= 0 && g->at[e].is_new && g->at[e].entity == old; e--) {
            rows -= g->at[e].rows;
            added--;
            b->entity[old + added] = g->name[e];
            b->start[old + added] = b->start[old] + rows;
        }
    }
    int64_t n = g->p->n_entities;
    for (int64_t k = g->rows->n_entities - 1; k >= 0; k--)
        if (g->at[k].is_new) ll_panel_words_insert(g->p->words, n++, g->at[k].entity);
}

llap_status ll_panel_append(llap_panel *p, const llap_panel *rows, int64_t *moved)
{
    assert(rows->n_vars == p->n_vars);
    growth g = { .p = p, .b = p->owned, .rows = rows };
    g.at = ll_new((size_t)rows->n_entities, sizeof *g.at);
    g.name = ll_new((size_t)rows->n_entities, sizeof *g.name);
    llap_status st = g.at == NULL || g.name == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = ll_panel_blocks_own(p);
    if (st == LLAP_OK) find_places(&g);
    if (st == LLAP_OK) st = reserve_rows(&g);
    if (st == LLAP_OK) st = reserve_entities(&g);
    /* blocks may have moved although there was not room for all of them */
    p->entity = g.b->entity;
    p->start = g.b->start;
    if (st == LLAP_OK) {
        put_rows(&g);
        put_entities(&g);
        p->n_rows += g.n_rows;
        p->n_entities += g.n_entities;
        ll_free(p->reading); /* it tells of the files alone */
        p->reading = NULL;
    }
    ll_panel_show_blocks(p);
    if (moved != NULL) *moved = g.moved;
    ll_free(g.at);
    ll_free(g.name);
    return st;
}

llap_status ll_panel_copy(const llap_panel *p, llap_panel **out)
{
    ll_panel_draft d = ll_panel_draft_of(p);
    *out = NULL;
    llap_status st = ll_panel_verify_all(p);
    if (st == LLAP_OK) st = ll_panel_create(&d, out);
    if (st != LLAP_OK) return st;
    const size_t rows = (size_t)p->n_rows, cells = rows * (size_t)p->n_vars;
    memcpy(d.time, p->time, rows * sizeof *d.time);
    memcpy(d.value, p->value, cells * sizeof *d.value);
    memcpy(d.observed, p->observed, ll_panel_bit_words((int64_t)cells) * sizeof *d.observed);
    st = ll_panel_words_carry(p, *out);
    if (st == LLAP_OK) return st;
    llap_panel_destroy(*out);
    *out = NULL;
    return st;
}
