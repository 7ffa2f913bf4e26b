/* Columns of words that a panel leaves out of its values, or has as codes in a variable of the same
 * name: one word an entity where it never changes, which is what static inputs need.
 *
 *     const int64_t c = ll_panel_find_words(p, "kind");
 *     if (c >= 0 && p->words->changes[c] == NULL) use(p->words->word[c][e]);
 *
 * While rows come, by the numbers of columns and entities:
 *
 *     ll_word_notes notes = { 0 };
 *     st = ll_word_notes_add(&notes, column, entity, text, len, arrival);
 *     ll_word_notes_deinit(&notes); */
#ifndef LL_DATA_PANEL_WORDS_H
#define LL_DATA_PANEL_WORDS_H

#include "base/arena.h"
#include "data/panel.h"

typedef struct ll_panel_words {
    uint32_t      n; /* columns */
    const char  **name;
    const char ***word;          /* [n][room_entities] NULL: none */
    int64_t       room_entities; /* at least those of the panel */
    const char  **changes;       /* [n] NULL, or which entity has which two words where */
    size_t        n_levels;
    const char  **level; /* [n_levels] "variable=word", in the order of each variable's codes */
    ll_arena      text;
} ll_panel_words;

void    ll_panel_words_destroy(ll_panel_words *w);                  /* NULL is fine */
int64_t ll_panel_find_words(const llap_panel *p, const char *name); /* -1: none */

/* Gives p n columns, without a word so far. */
llap_status ll_panel_words_create(llap_panel *p, uint32_t n);
llap_status ll_panel_words_put(ll_panel_words *w, const char *text, const char **to);

/* Room for so many entities; then, of n that are there, one more in front of number e, which has no
 * word. w may be NULL. */
llap_status ll_panel_words_reserve(llap_panel *p, int64_t room);
void        ll_panel_words_insert(ll_panel_words *w, int64_t n, int64_t e);

/* Adds a level; there is room for n of them in all. */
llap_status ll_panel_words_level(ll_panel_words *w, size_t n, const char *variable,
                                 const char *word);

/* What `from` has of the entities of `to`, which has none yet. */
llap_status ll_panel_words_carry(const llap_panel *from, llap_panel *to);

/* ---- while rows come ---- */

typedef struct ll_word_note {
    const char *word; /* NULL: none yet */
    int64_t     arrival;
} ll_word_note;

typedef struct ll_word_column {
    ll_word_note *entity; /* [n_entities] */
    uint32_t      n_entities;
    bool          changes;
    uint32_t      who;   /* changes: this entity, */
    ll_word_note  other; /* to this */
} ll_word_column;

typedef struct ll_word_notes {
    ll_word_column *column; /* [n] */
    uint32_t        n;
    ll_arena        text;
} ll_word_notes;

llap_status ll_word_notes_add(ll_word_notes *n, uint32_t column, uint32_t entity, const char *text,
                              size_t len, int64_t arrival);
/* Entities become one: e of n is now to[e]. In order of e, the first word stays. */
llap_status ll_word_notes_join(ll_word_notes *n, const uint32_t *to, uint32_t n_entities);
void        ll_word_notes_deinit(ll_word_notes *n); /* { 0 } is fine */

#endif
