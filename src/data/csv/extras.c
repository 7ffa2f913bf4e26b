/* Where rows come from, and what a panel keeps of its files beside numbers: words and units. */
#include "base/alloc.h"
#include "data/csv/codes.h"
#include "data/csv/reader.h"

#include <stdio.h>

llap_status ll_csv_reader_note_place(ll_csv_reader *r)
{
    const int64_t arrival = r->arrivals++, line = r->tokens.line;
    if (r->n_places > 0) {
        const ll_csv_place *last = &r->place[r->n_places - 1];
        if (last->file == r->path && line - last->line == arrival - last->arrival) return LLAP_OK;
    }
    if (r->n_places == r->place_capacity) {
        const size_t  capacity = r->place_capacity * 2 + 16;
        ll_csv_place *larger = ll_grow(r->place, capacity, sizeof *larger);
        if (larger == NULL) return LLAP_ENOMEM;
        r->place = larger;
        r->place_capacity = capacity;
    }
    r->place[r->n_places++] = (ll_csv_place){ arrival, line, r->path };
    return LLAP_OK;
}

void ll_csv_reader_place(const ll_csv_reader *r, int64_t arrival, char out[512])
{
    size_t i = r->n_places;
    while (i > 1 && r->place[i - 1].arrival > arrival) i--;
    if (i == 0) {
        out[0] = '\0';
        return;
    }
    const ll_csv_place *p = &r->place[i - 1];
    snprintf(out, 512, "%s:%lld", p->file, (long long)(p->line + arrival - p->arrival));
}

/* "entity 'a': 'x' in FILE:2, 'y' in FILE:7" */
static llap_status say_change(const ll_csv_reader *r, const ll_word_column *c, ll_panel_words *w,
                              uint32_t to)
{
    const ll_word_note first = c->entity[c->who];
    char               place[2][512];
    ll_csv_reader_place(r, first.arrival, place[0]);
    ll_csv_reader_place(r, c->other.arrival, place[1]);
    w->changes[to] = ll_arena_printf(
        &w->text, "entity '%s': '%s' in %s, '%s' in %s",
        ll_text_show(ll_panel_builder_entity_name(r->builder, c->who)).text,
        ll_text_show(first.word).text, place[0], ll_text_show(c->other.word).text, place[1]);
    return w->changes[to] == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static llap_status put_words(const ll_csv_reader *r, const ll_word_column *c, uint32_t to,
                             llap_panel *p)
{
    llap_status st = c->changes ? say_change(r, c, p->words, to) : LLAP_OK;
    for (uint32_t id = 0; st == LLAP_OK && !c->changes && id < c->n_entities; id++) {
        if (c->entity[id].word == NULL) continue;
        const int64_t e = ll_panel_find_entity(p, ll_panel_builder_entity_name(r->builder, id));
        if (e >= 0) st = ll_panel_words_put(p->words, c->entity[id].word, &p->words->word[to][e]);
    }
    return st;
}

/* The codes of each variable of words: those that were given, or the words in byte order. */
static llap_status put_levels(const ll_csv_reader *r, ll_panel_words *w)
{
    const ll_csv_variables *vs = &r->variables;
    const char *const      *given = r->o->levels;
    size_t                  n = 0;
    llap_status             st = LLAP_OK;
    while (given != NULL && given[n] != NULL) n++;
    for (uint32_t v = 0; v < vs->n_words; v++) n += vs->words[v].n;
    for (uint32_t v = 0; v < vs->n_words && st == LLAP_OK; v++) {
        const char *name = ll_panel_builder_var_name(r->builder, v);
        uint32_t   *order;
        bool        any = false;
        if (vs->words[v].n == 0) continue;
        for (size_t i = 0; given != NULL && given[i] != NULL && st == LLAP_OK; i++)
            if (ll_csv_level_word(given[i], name) != NULL) {
                st = ll_panel_words_level(w, n, given[i], NULL);
                any = true;
            }
        if (any || st != LLAP_OK) continue;
        st = ll_names_sorted(&vs->words[v], &order);
        for (uint32_t k = 0; k < vs->words[v].n && st == LLAP_OK; k++)
            st = ll_panel_words_level(w, n, name, vs->words[v].name[order[k]]);
        ll_free(order);
    }
    return st;
}

llap_status ll_csv_reader_words(const ll_csv_reader *r, llap_panel *p)
{
    const uint32_t n = r->words.n < r->variables.source.n ? r->words.n : r->variables.source.n;
    uint32_t       used = 0;
    for (uint32_t v = 0; v < n; v++) used += r->variables.variable[v].n_words > 0;
    if (used == 0) return LLAP_OK;
    llap_status st = ll_panel_words_create(p, used);
    if (st == LLAP_OK) st = put_levels(r, p->words);
    for (uint32_t v = 0, to = 0; st == LLAP_OK && v < n; v++) {
        if (r->variables.variable[v].n_words == 0) continue;
        const char *name = r->variables.variable[v].how == LL_CSV_CODE
                               ? ll_csv_variables_name(&r->variables, v)
                               : r->variables.source.name[v];
        st = ll_panel_words_put(p->words, name, &p->words->name[to]);
        if (st == LLAP_OK) st = put_words(r, &r->words.column[v], to++, p);
    }
    return st;
}

llap_status ll_csv_reader_units(const ll_csv_reader *r, llap_panel *p)
{
    const char **unit = NULL;
    llap_status  st = LLAP_OK;
    for (uint32_t i = 0; i < r->variables.source.n && st == LLAP_OK; i++) {
        const ll_csv_variable *v = &r->variables.variable[i];
        if (v->unit == NULL || v->how != LL_CSV_VALUES) continue;
        const int64_t at = ll_panel_find_var(p, ll_csv_variables_name(&r->variables, i));
        if (at < 0) continue;
        if (unit == NULL) {
            unit = ll_new((size_t)p->n_vars, sizeof *unit);
            if (unit == NULL) return LLAP_ENOMEM;
            for (int64_t k = 0; k < p->n_vars; k++) unit[k] = "";
        }
        unit[at] = v->unit;
    }
    if (unit != NULL) st = ll_panel_set_units(p, (const char *const *)unit);
    ll_free(unit);
    return st;
}
