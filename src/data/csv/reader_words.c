/* The columns of words of a panel, once all rows were read. */
#include "base/error.h"
#include "data/csv/reader.h"

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

llap_status ll_csv_reader_words(const ll_csv_reader *r, llap_panel *p)
{
    const uint32_t n = r->words.n < r->variables.source.n ? r->words.n : r->variables.source.n;
    uint32_t       used = 0;
    for (uint32_t v = 0; v < n; v++) used += r->variables.variable[v].n_words > 0;
    if (used == 0) return LLAP_OK;
    llap_status st = ll_panel_words_create(p, used);
    for (uint32_t v = 0, to = 0; st == LLAP_OK && v < n; v++) {
        if (r->variables.variable[v].n_words == 0) continue;
        st = ll_panel_words_put(p->words, r->variables.source.name[v], &p->words->name[to]);
        if (st == LLAP_OK) st = put_words(r, &r->words.column[v], to++, p);
    }
    return st;
}
