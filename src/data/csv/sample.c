#include "data/csv/sample.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/csv/marks.h"

#include <strings.h>

enum { MANY_CELLS = 1 << 18 };

bool ll_csv_is_missing_word(ll_csv_field f)
{
    static const char *const words[] = { "na",   "n/a", "nan",  "null", "none", "nil",
                                         "-",    "--",  "---",  ".",    "?",    "#n/a",
                                         "<na>", "nd",  "n.a.", "*",    "****", "missing",
                                         "_",    "NaT", "-nan", "k.a.", "s/d" };
    if (f.len == 0) return true;
    if (f.len > 7) return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == f.len && strncasecmp(words[i], f.text, f.len) == 0) return true;
    return false;
}

ll_csv_field ll_csv_cell(const ll_csv_sample *s, size_t record, size_t column)
{
    static char        nothing[] = "";
    const ll_csv_field none = { nothing, 0, false };
    if (column >= s->record[record].n) return none;
    return ll_csv_trim(s->record[record].field[column]);
}

/* ---- separator ------------------------------------------------------------------------------ */

typedef struct tally {
    size_t usual;    /* fields of most records */
    double agreeing; /* share of the records that have that many */
} tally;

/* Cuts the text in a dialect and looks how well the records agree. Text that breaks off inside a
 * quote just ends there. */
static llap_status tally_fields(const char *text, size_t n, ll_csv_dialect dialect, tally *out)
{
    enum { MOST = 4096 };
    static const tally nothing = { 0 };
    size_t             count[64] = { 0 }, n_records = 0;
    ll_csv_tokens      t = { 0 };
    ll_source         *source = NULL;
    *out = nothing;
    llap_status st = ll_source_open_memory("sample", text, n, &source);
    if (st == LLAP_OK) st = ll_csv_tokens_init(&t, source, n + 1);
    t.dialect = dialect;
    while (st == LLAP_OK && n_records < MOST) {
        st = ll_csv_tokens_next(&t);
        if (st != LLAP_OK || t.n_fields == 0) break;
        count[t.n_fields < 63 ? t.n_fields : 63]++;
        n_records++;
    }
    ll_csv_tokens_deinit(&t);
    ll_source_close(source);
    for (size_t k = 1; k < 64; k++)
        if (count[k] > count[out->usual]) out->usual = k;
    if (n_records > 0) out->agreeing = (double)count[out->usual] / (double)n_records;
    return st == LLAP_ENOMEM ? st : LLAP_OK;
}

/* The first separator in order that cuts nearly all records into the same number of fields, more
 * than one; else the one that does so for most. */
static llap_status find_separator(const char *text, size_t n, ll_csv_dialect *d)
{
    static const char candidates[] = { '\t', ';', '|', ',', ' ' };
    double            best = 0;
    d->separator = ',';
    if (n > 65536) n = 65536;
    for (size_t i = 0; i < sizeof candidates; i++) {
        tally             found;
        const llap_status st =
            tally_fields(text, n, (ll_csv_dialect){ candidates[i], d->quote, d->line_end }, &found);
        if (st != LLAP_OK) return st;
        if (found.usual < 2 || found.agreeing <= best) continue;
        best = found.agreeing;
        d->separator = candidates[i];
        if (best > 0.95) break;
    }
    return LLAP_OK;
}

/* ---- cells ---------------------------------------------------------------------------------- */

static llap_status keep_record(ll_csv_sample *s, const ll_csv_tokens *t, size_t *capacity)
{
    if (s->n_records == *capacity) {
        void *larger = ll_grow(s->record, *capacity * 2 + 16, sizeof *s->record);
        if (larger == NULL) return LLAP_ENOMEM;
        s->record = larger;
        *capacity = *capacity * 2 + 16;
    }
    ll_csv_field *field = ll_arena_new(&s->text, t->n_fields, sizeof *field);
    if (field == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < t->n_fields; i++) {
        field[i] = t->field[i];
        field[i].text = ll_arena_strndup(&s->text, t->field[i].text, t->field[i].len);
        if (field[i].text == NULL) return LLAP_ENOMEM;
    }
    s->record[s->n_records++] = (ll_csv_record){ field, t->n_fields, t->line };
    if (t->n_fields > s->n_columns) s->n_columns = t->n_fields;
    return LLAP_OK;
}

/* A last record that breaks off is left out, and so is what comes behind a mistake: the reader
 * will meet it and say where it is. */
static llap_status cut_sample(ll_csv_sample *s, const char *text, size_t n, int64_t skip_lines)
{
    ll_csv_tokens t = { 0 };
    ll_source    *source = NULL;
    size_t        capacity = 0, n_cells = 0;
    llap_status   st = ll_source_open_memory("sample", text, n, &source);
    if (st == LLAP_OK) st = ll_csv_tokens_init(&t, source, n + 1);
    t.dialect = s->dialect;
    while (st == LLAP_OK && n_cells < MANY_CELLS) {
        st = ll_csv_tokens_next(&t);
        if (st == LLAP_EFORMAT || st == LLAP_ELIMIT) {
            s->broken = true;
            st = LLAP_OK;
            break;
        }
        if (st != LLAP_OK || t.n_fields == 0) break;
        n_cells += t.n_fields;
        if (t.line > skip_lines) st = keep_record(s, &t, &capacity);
    }
    ll_csv_tokens_deinit(&t);
    ll_source_close(source);
    return st;
}

/* Control characters do not occur in tables. */
static llap_status check_text(const char *name, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c >= ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v') continue;
        return ll_fail(LLAP_EFORMAT, "%s: byte 0x%02x at offset %zu: not a text file", name, c, i);
    }
    return LLAP_OK;
}

llap_status ll_csv_sample_init(ll_csv_sample *s, const char *name, const char *text, size_t n,
                               bool all, const ll_csv_opts *o)
{
    *s = (ll_csv_sample){ .dialect = { o->separator, o->quote == '\0' ? '"' : o->quote, '\n' } };
    llap_status st = check_text(name, text, n);
    if (st != LLAP_OK) return st;
    if (memchr(text, '\n', n) == NULL && memchr(text, '\r', n) != NULL) s->dialect.line_end = '\r';
    s->broken = !all && memchr(text + n / 2, s->dialect.line_end, n - n / 2) == NULL;
    if (!all)
        while (n > 0 && text[n - 1] != s->dialect.line_end) n--;
    const char *table = text;
    for (int64_t k = 0; k < o->skip_lines && table < text + n; k++) {
        const char *end = memchr(table, s->dialect.line_end, (size_t)(text + n - table));
        table = end == NULL ? text + n : end + 1;
    }
    if (o->separator == '\0') st = find_separator(table, (size_t)(text + n - table), &s->dialect);
    if (st == LLAP_OK) st = cut_sample(s, text, n, o->skip_lines);
    if (st == LLAP_OK && n == 0 && !all)
        st = ll_fail(LLAP_ELIMIT, "%s:1: the first line is longer than %zu bytes", name,
                     o->max_line);
    if (st == LLAP_OK && s->n_records == 0) st = ll_fail(LLAP_EFORMAT, "%s: is empty", name);
    if (st == LLAP_OK) s->decimal = o->decimal == '\0' ? ll_csv_find_decimal(s) : o->decimal;
    return st;
}

void ll_csv_sample_deinit(ll_csv_sample *s)
{
    ll_free(s->record);
    ll_arena_deinit(&s->text);
    *s = (ll_csv_sample){ 0 };
}
