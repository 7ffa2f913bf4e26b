#include "data/panel_words.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

#include <assert.h>
#include <string.h>

void ll_panel_words_destroy(ll_panel_words *w)
{
    if (w == NULL) return;
    ll_arena_deinit(&w->text);
    ll_free(w);
}

int64_t ll_panel_find_words(const llap_panel *p, const char *name)
{
    const uint32_t n = p->words == NULL ? 0 : p->words->n;
    for (uint32_t c = 0; c < n; c++)
        if (strcmp(p->words->name[c], name) == 0) return c;
    return -1;
}

llap_status ll_panel_words_create(llap_panel *p, uint32_t n)
{
    assert(p->words == NULL && n > 0);
    ll_panel_words *w = p->words = ll_new(1, sizeof *w);
    if (w == NULL) return LLAP_ENOMEM;
    w->name = ll_arena_new(&w->text, n, sizeof *w->name);
    w->word = ll_arena_new(&w->text, n, sizeof *w->word);
    w->changes = ll_arena_new(&w->text, n, sizeof *w->changes);
    if (w->name == NULL || w->word == NULL || w->changes == NULL) return LLAP_ENOMEM;
    for (uint32_t c = 0; c < n; c++) {
        w->word[c] = ll_arena_new(&w->text, (size_t)p->n_entities, sizeof **w->word);
        if (w->word[c] == NULL) return LLAP_ENOMEM;
    }
    w->n = n;
    w->room_entities = p->n_entities;
    return LLAP_OK;
}

llap_status ll_panel_words_reserve(llap_panel *p, int64_t room)
{
    ll_panel_words *w = p->words;
    if (w == NULL || room <= w->room_entities) return LLAP_OK;
    for (uint32_t c = 0; c < w->n; c++) {
        const char **word = ll_arena_new(&w->text, (size_t)room, sizeof *word);
        if (word == NULL) return LLAP_ENOMEM;
        memcpy(word, w->word[c], (size_t)p->n_entities * sizeof *word);
        w->word[c] = word;
    }
    w->room_entities = room;
    return LLAP_OK;
}

void ll_panel_words_insert(ll_panel_words *w, int64_t n, int64_t e)
{
    for (uint32_t c = 0; w != NULL && c < w->n; c++) {
        assert(e <= n && n < w->room_entities);
        memmove(w->word[c] + e + 1, w->word[c] + e, (size_t)(n - e) * sizeof *w->word[c]);
        w->word[c][e] = NULL;
    }
}

llap_status ll_panel_words_put(ll_panel_words *w, const char *text, const char **to)
{
    *to = text == NULL ? NULL : ll_arena_strndup(&w->text, text, strlen(text));
    return text != NULL && *to == NULL ? LLAP_ENOMEM : LLAP_OK;
}

llap_status ll_panel_words_level(ll_panel_words *w, size_t n, const char *variable,
                                 const char *word)
{
    if (w->level == NULL) w->level = ll_arena_new(&w->text, n, sizeof *w->level);
    if (w->level == NULL) return LLAP_ENOMEM;
    if (w->n_levels == n)
        return ll_fail(LLAP_EFORMAT, "levels: '%s' is that of several variables",
                       ll_text_show(variable).text);
    w->level[w->n_levels] = word == NULL ? ll_arena_strndup(&w->text, variable, strlen(variable))
                                         : ll_arena_printf(&w->text, "%s=%s", variable, word);
    return w->level[w->n_levels++] == NULL ? LLAP_ENOMEM : LLAP_OK;
}

llap_status ll_panel_words_carry(const llap_panel *from, llap_panel *to)
{
    const ll_panel_words *old = from->words;
    if (old == NULL) return LLAP_OK;
    llap_status st = ll_panel_words_create(to, old->n);
    for (uint32_t c = 0; st == LLAP_OK && c < old->n; c++) {
        ll_panel_words *w = to->words;
        st = ll_panel_words_put(w, old->name[c], &w->name[c]);
        if (st == LLAP_OK) st = ll_panel_words_put(w, old->changes[c], &w->changes[c]);
        for (int64_t e = 0; st == LLAP_OK && e < to->n_entities; e++) {
            const int64_t was = ll_panel_find_entity(from, to->entity[e]);
            if (was >= 0) st = ll_panel_words_put(w, old->word[c][was], &w->word[c][e]);
        }
    }
    for (size_t i = 0; st == LLAP_OK && i < old->n_levels; i++)
        st = ll_panel_words_level(to->words, old->n_levels, old->level[i], NULL);
    return st;
}

/* ---- while rows come ---- */

void ll_word_notes_deinit(ll_word_notes *n)
{
    for (uint32_t c = 0; c < n->n; c++) ll_free(n->column[c].entity);
    ll_free(n->column);
    ll_arena_deinit(&n->text);
    *n = (ll_word_notes){ 0 };
}

/* Room for this many of size bytes, new ones 0. */
static bool widen(void **v, uint32_t *n, uint32_t need, size_t size)
{
    if (need <= *n) return true;
    const uint32_t capacity = need * 2 + 16;
    char          *larger = ll_grow(*v, capacity, size);
    if (larger == NULL) return false;
    memset(larger + *n * size, 0, (capacity - *n) * size);
    *v = larger;
    *n = capacity;
    return true;
}

static bool widen_entities(ll_word_column *c, uint32_t entity)
{
    void      *entities = c->entity;
    const bool ok = widen(&entities, &c->n_entities, entity + 1, sizeof *c->entity);
    c->entity = entities;
    return ok;
}

llap_status ll_word_notes_add(ll_word_notes *n, uint32_t column, uint32_t entity, const char *text,
                              size_t len, int64_t arrival)
{
    void *columns = n->column;
    if (!widen(&columns, &n->n, column + 1, sizeof *n->column)) return LLAP_ENOMEM;
    n->column = columns;
    ll_word_column *c = &n->column[column];
    if (c->changes) return LLAP_OK;
    if (!widen_entities(c, entity)) return LLAP_ENOMEM;
    ll_word_note *was = &c->entity[entity];
    if (was->word != NULL && strlen(was->word) == len && memcmp(was->word, text, len) == 0)
        return LLAP_OK;
    const ll_word_note now = { ll_arena_strndup(&n->text, text, len), arrival };
    if (now.word == NULL) return LLAP_ENOMEM;
    if (was->word == NULL) {
        *was = now;
        return LLAP_OK;
    }
    c->changes = true;
    c->who = entity;
    c->other = now;
    return LLAP_OK;
}

static void join_note(ll_word_column *c, uint32_t from, uint32_t to)
{
    const ll_word_note note = c->entity[from];
    ll_word_note      *was = &c->entity[to];
    if (note.word == NULL || from == to) return;
    if (was->word == NULL) {
        *was = note;
    } else if (!c->changes && strcmp(was->word, note.word) != 0) {
        c->changes = true;
        c->who = to;
        c->other = note;
    }
    c->entity[from] = (ll_word_note){ 0 };
}

llap_status ll_word_notes_join(ll_word_notes *n, const uint32_t *to, uint32_t n_entities)
{
    for (ll_word_column *c = n->column; c < n->column + n->n; c++) {
        if (c->changes && c->who < n_entities) {
            const uint32_t who = to[c->who];
            if (!widen_entities(c, who)) return LLAP_ENOMEM;
            if (who != c->who) c->entity[who] = c->entity[c->who];
            c->who = who;
            continue; /* one change is all that is told */
        }
        for (uint32_t e = 0; e < n_entities && e < c->n_entities; e++) {
            if (!widen_entities(c, to[e])) return LLAP_ENOMEM;
            join_note(c, e, to[e]);
        }
    }
    return LLAP_OK;
}
