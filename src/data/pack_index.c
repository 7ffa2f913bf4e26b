#include "data/pack_index.h"

#include "base/alloc.h"
#include "data/panel_words.h"

#include <string.h>

/* The same walk counts the bytes, with to == NULL, and writes them. */
typedef struct sheet {
    char  *to;
    size_t n;
} sheet;

static void put(sheet *s, const void *bytes, size_t n)
{
    if (s->to != NULL && n > 0) memcpy(s->to + s->n, bytes, n);
    s->n += n;
}

static void put_text(sheet *s, const char *text) { put(s, text, strlen(text) + 1); }

static void put_words(sheet *s, const llap_panel *p)
{
    const ll_panel_words *w = p->words;
    for (uint32_t c = 0; w != NULL && c < w->n; c++) {
        put_text(s, w->name[c]);
        put_text(s, w->changes[c] == NULL ? "" : w->changes[c]);
        for (int64_t e = 0; e < p->n_entities; e++) {
            const char *word = w->word[c][e];
            if (word != NULL) put(s, "=", 1);
            put_text(s, word == NULL ? "" : word);
        }
    }
    for (size_t i = 0; w != NULL && i < w->n_levels; i++) put_text(s, w->level[i]);
}

static void put_all(sheet *s, const llap_panel *p, const uint32_t *sum, int64_t n_blocks)
{
    put(s, p->start, ((size_t)p->n_entities + 1) * sizeof *p->start);
    put(s, sum, (size_t)n_blocks * LL_PACK_SECTIONS * sizeof *sum);
    put_text(s, p->axis.zone);
    put_text(s, p->axis.format);
    put_text(s, p->axis.unit);
    for (int64_t v = 0; v < p->n_vars; v++) put_text(s, p->var[v]);
    for (int64_t v = 0; p->unit != NULL && v < p->n_vars; v++) put_text(s, p->unit[v]);
    for (int64_t e = 0; e < p->n_entities; e++) put_text(s, p->entity[e]);
    put_words(s, p);
}

llap_status ll_pack_index_make(ll_pack_header *h, const llap_panel *p, const uint32_t *sum,
                               int64_t n_blocks, char **out)
{
    sheet s = { 0 };
    put_all(&s, p, sum, n_blocks);
    *out = s.to = ll_new(s.n, 1);
    if (s.to == NULL) return LLAP_ENOMEM;
    s.n = 0;
    put_all(&s, p, sum, n_blocks);
    h->n_entities = p->n_entities;
    h->n_words = p->words == NULL ? 0 : p->words->n;
    h->n_levels = p->words == NULL ? 0 : (int64_t)p->words->n_levels;
    h->index_bytes = (int64_t)s.n;
    h->axis_kind = p->axis.kind == LL_AXIS_NUMBER;
    h->unit_ns = p->axis.unit_ns;
    h->flags = p->unit != NULL ? LL_PACK_HAS_UNITS : 0;
    return LLAP_OK;
}
