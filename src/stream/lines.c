/* Rows as lines of CSV. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "data/text/number.h"
#include "predict/tables/times.h"
#include "stream/stream.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { LINE_MOST = 1 << 20, FIELDS_MOST = 4096 };

typedef struct field {
    const char *text;
    size_t      n;
} field;

struct llap_stream_lines {
    llap_stream   *s;
    char          *time, *entity; /* names of their columns */
    bool           wants_entity;  /* somebody named its column */
    char           separator, decimal;
    ll_axis_reader clock;
    int64_t        line; /* number of the last one */
    bool           headed;
    char          *header; /* the line, so that it is known when it comes again */
    size_t         n_header;
    int64_t        n_columns, time_at, entity_at; /* entity_at -1: there is none */
    int64_t       *variable_at;                   /* [n_vars] -1: missing */
    float         *value;                         /* [n_vars] */
    char          *copy;                          /* of a line, cut up */
    field         *field;
};

void llap_stream_lines_destroy(llap_stream_lines *l)
{
    if (l == NULL) return;
    ll_axis_reader_deinit(&l->clock);
    ll_free(l->time);
    ll_free(l->entity);
    ll_free(l->header);
    ll_free(l->variable_at);
    ll_free(l->value);
    ll_free(l->copy);
    ll_free(l->field);
    ll_free(l);
}

static char *copy_of(const char *text, const char *usual)
{
    if (text == NULL) text = usual;
    return ll_strndup(text, strlen(text));
}

llap_status llap_stream_lines_create(llap_stream *s, const llap_read_opts *o,
                                     llap_stream_lines **out)
{
    *out = NULL;
    llap_stream_lines *l = ll_new(1, sizeof *l);
    if (l == NULL) return LLAP_ENOMEM;
    *l = (llap_stream_lines){ .s = s,
                              .time = copy_of(o->time, "time"),
                              .entity = copy_of(o->entity, "entity"),
                              .wants_entity = o->entity != NULL && o->entity[0] != '\0',
                              .separator = o->separator,
                              .decimal = o->decimal != '\0' ? o->decimal : '.',
                              .variable_at = ll_new((size_t)s->shape.n_vars, sizeof(int64_t)),
                              .value = ll_new((size_t)s->shape.n_vars, sizeof(float)),
                              .field = ll_new(FIELDS_MOST, sizeof(field)) };
    llap_status st = LLAP_OK;
    if (l->time == NULL || l->entity == NULL || l->variable_at == NULL || l->value == NULL ||
        l->field == NULL)
        st = LLAP_ENOMEM;
    if (st == LLAP_OK) st = ll_axis_reader_init(&l->clock, &s->axis);
    if (st == LLAP_OK) *out = l;
    else llap_stream_lines_destroy(l);
    return st;
}

/* ---- cutting ---- */

/* The field that begins at p; *next is behind its separator, or NULL at the end. A field may be
 * quoted as a whole; a doubled quote in it is one. False: text behind a closing quote, or none. */
static bool cut_field(char *p, char *end, char separator, field *out, char **next)
{
    char *to = p, *from = p;
    out->text = p;
    *next = NULL;
    if (p < end && *p == '"') {
        for (from = p + 1; from < end; from++) {
            if (*from == '"' && (from + 1 == end || from[1] != '"')) break;
            if (*from == '"') from++;
            *to++ = *from;
        }
        if (from >= end) return false;
        out->n = (size_t)(to - p);
        from++;
        if (from < end && *from != separator) return false;
    } else {
        while (from < end && *from != separator) from++;
        out->n = (size_t)(from - p);
        while (out->n > 0 && (out->text[0] == ' ' || out->text[0] == '\t')) out->text++, out->n--;
        while (out->n > 0 && (out->text[out->n - 1] == ' ' || out->text[out->n - 1] == '\t'))
            out->n--;
    }
    if (from < end) *next = from + 1;
    return true;
}

static llap_status cut(llap_stream_lines *l, const char *text, size_t n, int64_t *count)
{
    char *grown = ll_grow(l->copy, n + 1, 1);
    if (grown == NULL) return LLAP_ENOMEM;
    l->copy = grown;
    memcpy(l->copy, text, n);
    *count = 0;
    for (char *p = l->copy, *end = l->copy + n; p != NULL; (*count)++) {
        if (*count == FIELDS_MOST)
            return ll_fail(LLAP_ELIMIT, "line %lld: more than %d fields", (long long)l->line,
                           FIELDS_MOST);
        if (!cut_field(p, end, l->separator, &l->field[*count], &p))
            return ll_fail(LLAP_EFORMAT,
                           "line %lld: field %lld: a quote is not closed, or text "
                           "follows it",
                           (long long)l->line, (long long)*count + 1);
    }
    return LLAP_OK;
}

/* ---- the header ---- */

static bool is(const field *f, const char *name)
{
    return strlen(name) == f->n && memcmp(f->text, name, f->n) == 0;
}

static int64_t find(const llap_stream_lines *l, int64_t n, const char *name)
{
    for (int64_t k = 0; k < n; k++)
        if (is(&l->field[k], name)) return k;
    return -1;
}

/* The one of , ; tab that the header has most of. */
static char guess_separator(const char *text, size_t n)
{
    const char *const all = ",;\t";
    char              best = ',';
    size_t            most = 0;
    for (const char *c = all; *c != '\0'; c++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++) count += text[i] == *c;
        if (count > most) most = count, best = *c;
    }
    return best;
}

static llap_status read_header(llap_stream_lines *l, const char *text, size_t n)
{
    const llap_stream *s = l->s;
    int64_t            targets = 0;
    if (l->separator == '\0') l->separator = guess_separator(text, n);
    llap_status st = cut(l, text, n, &l->n_columns);
    if (st != LLAP_OK) return st;
    l->time_at = find(l, l->n_columns, l->time);
    l->entity_at = find(l, l->n_columns, l->entity);
    for (int64_t v = 0; v < s->shape.n_vars; v++)
        l->variable_at[v] = find(l, l->n_columns, s->var[v]);
    for (int64_t c = 0; c < s->shape.n_targets; c++) targets += l->variable_at[s->target[c]] >= 0;
    if (l->time_at < 0)
        return ll_fail(LLAP_EFORMAT,
                       "line %lld: expected the names of columns, with '%s' for the time (`time`)",
                       (long long)l->line, ll_text_show(l->time).text);
    if (l->wants_entity && l->entity_at < 0)
        return ll_fail(LLAP_EFORMAT, "line %lld: no column is called '%s' (`entity`)",
                       (long long)l->line, ll_text_show(l->entity).text);
    if (targets == 0)
        return ll_fail(LLAP_EFORMAT, "line %lld: no column is a target of the model, such as '%s'",
                       (long long)l->line, ll_text_show(s->m->frame.target[0]).text);
    char *header = ll_strndup(text, n);
    if (header == NULL) return LLAP_ENOMEM;
    ll_free(l->header);
    l->header = header;
    l->n_header = n;
    l->headed = true;
    return LLAP_OK;
}

/* ---- rows ---- */

static bool is_missing(const field *f)
{
    static const char *const words[] = { "", "-", "na", "nan", "null", "none", "n/a" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == f->n && strncasecmp(f->text, words[i], f->n) == 0) return true;
    return false;
}

static ll_text_shown show(const field *f)
{
    char         text[96];
    const size_t n = f->n < sizeof text - 1 ? f->n : sizeof text - 1;
    memcpy(text, f->text, n);
    text[n] = '\0';
    return ll_text_show(text);
}

static llap_status read_values(llap_stream_lines *l)
{
    for (int64_t v = 0; v < l->s->shape.n_vars; v++) {
        const int64_t at = l->variable_at[v];
        l->value[v] = NAN;
        if (at < 0 || is_missing(&l->field[at])) continue;
        const field *f = &l->field[at];
        if (ll_number_float(f->text, f->n, l->decimal, &l->value[v]) != LL_NUMBER_FINITE)
            return ll_fail(LLAP_EFORMAT, "line %lld: column '%s': expected a number, found '%s'",
                           (long long)l->line, ll_text_show(l->s->var[v]).text, show(f).text);
    }
    return LLAP_OK;
}

/* Without a column of entities: the only one there is. */
static const char *only_entity(const llap_stream *s)
{
    if (s->n == 1) return s->name[0];
    return s->m->frame.n_entities == 1 ? s->m->frame.entity[0] : "series";
}

static llap_status read_row(llap_stream_lines *l, const char *text, size_t n)
{
    int64_t     count, time;
    llap_status st = cut(l, text, n, &count);
    if (st == LLAP_OK && count != l->n_columns)
        st = ll_fail(LLAP_EFORMAT, "line %lld: expected %lld fields, found %lld",
                     (long long)l->line, (long long)l->n_columns, (long long)count);
    if (st != LLAP_OK) return st;
    const field *t = &l->field[l->time_at];
    st = ll_axis_reader_read(&l->clock, t->text, t->n, &time);
    if (st != LLAP_OK) return ll_fail_in(st, "line %lld: column '%s'", (long long)l->line, l->time);
    st = read_values(l);
    if (st != LLAP_OK) return st;
    char *name = l->entity_at < 0
                     ? copy_of(only_entity(l->s), NULL)
                     : ll_strndup(l->field[l->entity_at].text, l->field[l->entity_at].n);
    if (name == NULL) return LLAP_ENOMEM;
    if (memchr(l->field[l->entity_at < 0 ? 0 : l->entity_at].text, '\0',
               l->field[l->entity_at < 0 ? 0 : l->entity_at].n) != NULL)
        st = ll_fail(LLAP_EFORMAT, "a NUL byte");
    if (st == LLAP_OK) st = llap_stream_take(l->s, name, time, l->value, l->s->shape.n_vars);
    ll_free(name);
    return st == LLAP_OK ? st : ll_fail_in(st, "line %lld", (long long)l->line);
}

llap_status llap_stream_line(llap_stream_lines *l, const char *text, size_t n)
{
    l->line++;
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r')) n--;
    if (l->line == 1 && n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) text += 3, n -= 3;
    if (n == 0) return LLAP_OK;
    if (n > LINE_MOST)
        return ll_fail(LLAP_ELIMIT, "line %lld: longer than %d bytes", (long long)l->line,
                       LINE_MOST);
    if (!l->headed) return read_header(l, text, n);
    if (n == l->n_header && memcmp(text, l->header, n) == 0) return LLAP_OK; /* a file begins */
    return read_row(l, text, n);
}
