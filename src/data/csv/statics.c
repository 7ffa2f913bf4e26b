#include "data/csv/statics.h"

#include "base/error.h"
#include "base/text.h"
#include "data/csv/sample.h"
#include "data/csv/token.h"
#include "data/text/source.h"

#include <assert.h>
#include <string.h>

enum { RECORD_MAX = 1 << 20, COLUMNS_MAX = 4096 };

typedef struct reader {
    const llap_panel *panel;
    ll_csv_statics   *out;
    size_t            entity, n_fields; /* column of the entity, and all */
} reader;

void ll_csv_statics_deinit(ll_csv_statics *s)
{
    ll_arena_deinit(&s->text);
    *s = (ll_csv_statics){ 0 };
}

static llap_status read_header(const ll_csv_tokens *t, reader *r)
{
    ll_csv_statics *s = r->out;
    const size_t    rows = (size_t)r->panel->n_entities;
    r->n_fields = t->n_fields;
    if (t->n_fields < 2 || t->n_fields > COLUMNS_MAX)
        return ll_fail(LLAP_EFORMAT,
                       "expected a header with the entity and 1 to %d columns, found %zu fields",
                       COLUMNS_MAX - 1, t->n_fields);
    for (size_t i = t->n_fields; i-- > 0;)
        if (t->field[i].len == 6 && memcmp(t->field[i].text, "entity", 6) == 0) r->entity = i;
    s->name = ll_arena_new(&s->text, t->n_fields, sizeof *s->name);
    s->word = ll_arena_new(&s->text, t->n_fields, sizeof *s->word);
    s->line = ll_arena_new(&s->text, rows, sizeof *s->line);
    if (s->name == NULL || s->word == NULL || s->line == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < t->n_fields; i++) {
        const ll_csv_field f = ll_csv_trim(t->field[i]);
        if (i == r->entity) continue;
        if (f.len == 0) return ll_fail(LLAP_EFORMAT, "column %zu has no name", i + 1);
        s->name[s->n] = ll_arena_strndup(&s->text, f.text, f.len);
        s->word[s->n] = ll_arena_new(&s->text, rows, sizeof **s->word);
        if (s->name[s->n] == NULL || s->word[s->n] == NULL) return LLAP_ENOMEM;
        for (size_t k = 0; k < s->n; k++)
            if (strcmp(s->name[k], s->name[s->n]) == 0)
                return ll_fail(LLAP_EFORMAT, "column '%s' is there twice",
                               ll_text_show(s->name[k]).text);
        s->n++;
    }
    return LLAP_OK;
}

static llap_status read_line(const ll_csv_tokens *t, reader *r)
{
    ll_csv_statics *s = r->out;
    if (t->n_fields != r->n_fields)
        return ll_fail(LLAP_EFORMAT, "expected %zu fields, found %zu", r->n_fields, t->n_fields);
    const ll_csv_field who = ll_csv_trim(t->field[r->entity]);
    const int64_t      e = ll_panel_find_entity_n(r->panel, who.text, who.len);
    if (e < 0) {
        s->n_elsewhere++;
        return LLAP_OK;
    }
    if (s->line[e] > 0)
        return ll_fail(LLAP_EFORMAT, "entity '%s' is given twice, first in line %lld",
                       ll_text_show(r->panel->entity[e]).text, (long long)s->line[e]);
    s->line[e] = t->line;
    s->n_found++;
    for (size_t i = 0, c = 0; i < t->n_fields; i++) {
        const ll_csv_field f = ll_csv_trim(t->field[i]);
        if (i == r->entity) continue;
        assert(c < s->n);
        if (f.len > 0 && !ll_csv_is_missing_word(f) &&
            (s->word[c][e] = ll_arena_strndup(&s->text, f.text, f.len)) == NULL)
            return LLAP_ENOMEM;
        c++;
    }
    return LLAP_OK;
}

static llap_status read_lines(ll_csv_tokens *t, reader *r)
{
    bool       header = true;
    const bool tabs = strstr(ll_source_name(t->source), ".tsv") != NULL;
    t->dialect = (ll_csv_dialect){ tabs ? '\t' : ',', '"', '\n', "" };
    llap_status st = ll_csv_tokens_next(t);
    for (; st == LLAP_OK && t->n_fields > 0; header = false) {
        st = header ? read_header(t, r) : read_line(t, r);
        if (st != LLAP_OK)
            return ll_fail_in(st, "%s:%lld", ll_text_show(ll_source_name(t->source)).text,
                              (long long)t->line);
        st = ll_csv_tokens_next(t);
    }
    if (st == LLAP_OK && r->out->n_found == 0)
        st = ll_fail(LLAP_EINVAL, "%s: names no entity of the data, which has '%s'%s",
                     ll_text_show(ll_source_name(t->source)).text,
                     r->panel->n_entities > 0 ? ll_text_show(r->panel->entity[0]).text : "",
                     r->panel->n_entities > 1 ? " and others" : "");
    return st;
}

llap_status ll_csv_statics_read(const char *path, const llap_panel *p, ll_csv_statics *out)
{
    *out = (ll_csv_statics){ 0 };
    reader        r = { .panel = p, .out = out };
    ll_source    *source = NULL;
    ll_csv_tokens tokens = { 0 };
    llap_status   st = ll_source_open(path, &source);
    if (st == LLAP_OK) st = ll_csv_tokens_init(&tokens, source, RECORD_MAX);
    if (st == LLAP_OK) st = read_lines(&tokens, &r);
    ll_csv_tokens_deinit(&tokens);
    ll_source_close(source);
    return st;
}
