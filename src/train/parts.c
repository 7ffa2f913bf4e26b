#include "train/parts.h"

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "data/csv/token.h"
#include "data/text/source.h"
#include "data/windows/split.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { RECORD_MAX = 1 << 16, UNSAID = LL_PART_COUNT };

typedef struct part_file {
    const llap_panel *panel;
    uint8_t          *part;                 /* [n_entities], UNSAID at first */
    int               entity, what;         /* columns */
    int64_t           n_found, n_elsewhere; /* lines about entities of the data, about others */
} part_file;

/* The field as text; what does not fit is cut, and so is not the name of anything. */
static const char *text_of(const ll_csv_field *f, char *room, size_t size)
{
    snprintf(room, size, "%.*s", (int)(f->len < size ? f->len : size), f->text);
    return room;
}

static llap_status read_header(const ll_csv_tokens *t, part_file *f)
{
    char name[256];
    f->entity = f->what = -1;
    for (int i = 0; i < (int)t->n_fields; i++) {
        text_of(&t->field[i], name, sizeof name);
        if (strcmp(name, "entity") == 0) f->entity = i;
        if (strcmp(name, "part") == 0) f->what = i;
    }
    if (f->entity >= 0 && f->what >= 0) return LLAP_OK;
    return ll_fail(LLAP_EFORMAT, "expected a header with the columns entity and part, found '%s'",
                   ll_text_show(text_of(&t->field[0], name, sizeof name)).text);
}

static llap_status parse_part(const ll_csv_field *field, uint8_t *out)
{
    char        room[64];
    const char *word = text_of(field, room, sizeof room);
    for (int k = 0; k <= LL_PART_TEST; k++)
        if (strcmp(word, ll_part_name((ll_part)k)) == 0) {
            *out = (uint8_t)k;
            return LLAP_OK;
        }
    *out = LL_PART_VAL;
    if (strcmp(word, "val") == 0) return LLAP_OK;
    return ll_fail(LLAP_EFORMAT, "part: expected train, validation or test, found '%s'",
                   ll_text_show(word).text);
}

static llap_status read_line(const ll_csv_tokens *t, part_file *f)
{
    const int last = f->entity > f->what ? f->entity : f->what;
    uint8_t   part;
    assert(f->entity >= 0 && f->what >= 0);
    if ((size_t)last >= t->n_fields)
        return ll_fail(LLAP_EFORMAT, "expected %d fields, found %zu", last + 1, t->n_fields);
    const llap_status st = parse_part(&t->field[f->what], &part);
    if (st != LLAP_OK) return st;
    const ll_csv_field *entity = &t->field[f->entity];
    const int64_t       e = ll_panel_find_entity_n(f->panel, entity->text, entity->len);
    if (e < 0) {
        f->n_elsewhere++;
        return LLAP_OK;
    }
    if (f->part[e] != UNSAID)
        return ll_fail(LLAP_EFORMAT, "entity '%s' is given twice",
                       ll_text_show(f->panel->entity[e]).text);
    f->part[e] = part;
    f->n_found++;
    return LLAP_OK;
}

static llap_status read_lines(ll_csv_tokens *t, part_file *f)
{
    bool header = true;
    t->dialect = (ll_csv_dialect){ ',', '"', '\n', "" };
    llap_status st = ll_csv_tokens_next(t);
    for (; st == LLAP_OK && t->n_fields > 0; header = false) {
        st = header ? read_header(t, f) : read_line(t, f);
        if (st != LLAP_OK)
            return ll_fail_in(st, "%s:%lld", ll_text_show(ll_source_name(t->source)).text,
                              (long long)t->line);
        st = ll_csv_tokens_next(t);
    }
    if (st == LLAP_OK && f->n_found == 0)
        st = ll_fail(LLAP_EINVAL, "%s: names no entity of the data, which has '%s'%s",
                     ll_text_show(ll_source_name(t->source)).text,
                     f->panel->n_entities > 0 ? ll_text_show(f->panel->entity[0]).text : "",
                     f->panel->n_entities > 1 ? " and others" : "");
    return st;
}

llap_status ll_parts_read(const char *path, const llap_panel *p, const llap_log *log, uint8_t *part)
{
    part_file     f = { .panel = p, .part = part };
    ll_source    *source = NULL;
    ll_csv_tokens tokens = { 0 };
    memset(part, UNSAID, (size_t)p->n_entities);
    llap_status st = ll_source_open(path, &source);
    if (st == LLAP_OK) st = ll_csv_tokens_init(&tokens, source, RECORD_MAX);
    if (st == LLAP_OK) st = read_lines(&tokens, &f);
    ll_csv_tokens_deinit(&tokens);
    ll_source_close(source);
    if (st != LLAP_OK) return ll_fail_in(st, "parts");
    for (int64_t e = 0; e < p->n_entities; e++)
        if (part[e] == UNSAID) part[e] = LL_PART_PURGED;
    assert(f.n_found <= p->n_entities);
    if (f.n_found < p->n_entities)
        ll_logf(log, LLAP_LOG_WARNING, "parts: %lld of %lld entities are not named: left out",
                (long long)(p->n_entities - f.n_found), (long long)p->n_entities);
    if (f.n_elsewhere > 0)
        ll_logf(log, LLAP_LOG_WARNING, "parts: %lld names are not in the data: ignored",
                (long long)f.n_elsewhere);
    return LLAP_OK;
}
