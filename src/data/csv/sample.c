#include "data/csv/sample.h"

#include "base/alloc.h"
#include "base/error.h"
#include "data/csv/marks.h"

#include <ctype.h>
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

bool ll_csv_means_missing(const ll_csv_opts *o, ll_csv_field f)
{
    if (ll_csv_is_missing_word(f)) return true;
    const char *const *word = o->missing;
    for (; word != NULL && *word != NULL; word++)
        if (strlen(*word) == f.len && strncasecmp(*word, f.text, f.len) == 0) return true;
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

static ll_csv_dialect with_separator(ll_csv_dialect d, char separator)
{
    d.separator = separator;
    return d;
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
        const llap_status st = tally_fields(text, n, with_separator(*d, candidates[i]), &found);
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
    size_t        capacity = s->n_records, n_cells = 0;
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

/* ---- what does not belong to the table ------------------------------------------------------ */

static const char *line_behind(const ll_csv_sample *s, const char *p, const char *end)
{
    const char *line_end = memchr(p, s->dialect.line_end, (size_t)(end - p));
    return line_end == NULL ? end : line_end + 1;
}

/* Whether lines that begin with the word are comments: the first line is one, or they are few and
 * what follows the word is no name or number. */
static bool marks_comments(const ll_csv_sample *s, const char *text, const char *end,
                           const char *word)
{
    size_t       lines = 0, marked = 0;
    const size_t len = strlen(word);
    for (const char *p = text, *next; p < end; p = next) {
        next = line_behind(s, p, end);
        if (*p == s->dialect.line_end || *p == '\r') continue;
        lines++;
        if ((size_t)(next - p) < len || memcmp(p, word, len) != 0) continue;
        marked++;
        if (lines == 1) return true;
        const char *rest = p + len;
        if (rest < next && strchr(" \t\r\n-=#%/", *rest) == NULL) return false;
    }
    return marked > 0 && marked * 4 < lines;
}

static void find_comment(ll_csv_sample *s, const char *text, const char *end, const ll_csv_opts *o)
{
    static const char *const words[] = { "#", "%", "//" };
    const char              *found = o->comment;
    for (size_t i = 0; i < 3 && found == NULL; i++)
        if (marks_comments(s, text, end, words[i])) found = words[i];
    if (found != NULL) snprintf(s->dialect.comment, sizeof s->dialect.comment, "%s", found);
}

/* The lines of comment right above the table that might be its header. */
static llap_status cut_above(ll_csv_sample *s, const char *text, const char *end)
{
    const size_t  len = strlen(s->dialect.comment), usual = ll_csv_usual_fields(s, 0);
    const char   *from[2] = { NULL, NULL };
    ll_csv_sample line = { .dialect = s->dialect };
    llap_status   st = LLAP_OK;
    for (const char *p = text; len > 0 && p < end; p = line_behind(s, p, end)) {
        if ((size_t)(end - p) >= len && memcmp(p, s->dialect.comment, len) == 0) {
            const char *q = p + len;
            while (q < end && (*q == ' ' || *q == '\t' || *q == '\r')) q++;
            if (q < end && *q != s->dialect.line_end) from[0] = from[1], from[1] = p + len;
        } else if (*p != s->dialect.line_end && *p != '\r') break;
    }
    line.dialect.comment[0] = '\0';
    for (int k = 0; k < 2 && st == LLAP_OK; k++) {
        if (from[k] == NULL) continue;
        const size_t before = line.n_records;
        st = cut_sample(&line, from[k], (size_t)(line_behind(s, from[k], end) - from[k]), 0);
        if (line.n_records == before || line.record[before].n != usual) s->n_above = 0;
        else s->above[s->n_above++] = line.record[before];
    }
    ll_free(line.record);
    s->above_text = line.text;
    return st;
}

size_t ll_csv_usual_fields(const ll_csv_sample *s, size_t first)
{
    size_t best = 0, count[64] = { 0 };
    for (size_t r = first; r < s->n_records; r++) {
        const size_t n = s->record[r].n;
        if (n >= 64) return n; /* a table that wide has no titles of that width */
        count[n]++;
    }
    for (size_t n = 1; n < 64; n++)
        if (count[n] >= count[best]) best = n;
    return best;
}

/* A title above the table: text in fewer fields, or in one of many. */
static bool is_title(const ll_csv_sample *s, size_t record, size_t usual)
{
    const ll_csv_record *r = &s->record[record];
    size_t               filled = 0, where = 0;
    for (size_t c = 0; c < r->n; c++)
        if (ll_csv_cell(s, record, c).len > 0) {
            if (filled++ == 0) where = c;
        }
    if (usual < 2) return false;
    if (r->n + 1 < usual || r->n == 1 || filled == 0) return true;
    const ll_csv_field cell = ll_csv_cell(s, record, where);
    return usual > 2 && filled == 1 && (cell.text[0] < '0' || cell.text[0] > '9');
}

static void pass_titles(ll_csv_sample *s)
{
    const size_t usual = ll_csv_usual_fields(s, 0);
    size_t       k = 0;
    while (k + 1 < s->n_records && k < 64 && is_title(s, k, usual)) k++;
    if (k + 1 == s->n_records || k == 64) return;
    memmove(s->record, s->record + k, (s->n_records - k) * sizeof *s->record);
    s->n_records -= k;
    s->n_front = k;
}

/* A header that comes again, where files were joined by hand, shows nothing new. */
static void pass_repeated(ll_csv_sample *s)
{
    size_t n = 1;
    for (size_t r = 1; r < s->n_records; r++) {
        bool same = s->record[r].n == s->record[0].n;
        for (size_t c = 0; c < s->record[r].n && same; c++) {
            const ll_csv_field a = s->record[0].field[c], b = s->record[r].field[c];
            same = a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
        }
        if (!same) s->record[n++] = s->record[r];
    }
    s->n_records = n;
}

/* The end of the file is not looked at where it sums up. */
static void pass_summary(ll_csv_sample *s)
{
    const size_t usual = ll_csv_usual_fields(s, 0);
    for (int k = 0; k < LL_CSV_SUMMARY_MAX && s->all && s->n_records > 2; k++) {
        const ll_csv_record *last = &s->record[s->n_records - 1];
        if (!ll_csv_is_summary(last->field, last->n, usual)) return;
        s->n_records--;
    }
}

bool ll_csv_is_summary(const ll_csv_field *field, size_t n_fields, size_t n_columns)
{
    static const char *const words[] = {
        "total",  "totals", "totale",     "sum",     "summe",  "gesamt",   "insgesamt",
        "suma",   "somma",  "somme",      "soma",    "som",    "mean",     "average",
        "avg",    "mittel", "mittelwert", "moyenne", "media",  "promedio", "gemiddelde",
        "min",    "max",    "minimum",    "maximum", "median", "std",      "count",
        "anzahl", "totaal", "saldo",      "eof",     "end",    "ende",     "fin",
        "fine",   NULL
    };
    for (size_t i = 0; i < n_fields; i++) {
        const ll_csv_field f = ll_csv_trim(field[i]);
        char               word[16];
        size_t             n = 0;
        while (n < f.len && n < sizeof word - 1 && isalpha((unsigned char)f.text[n])) n++;
        snprintf(word, sizeof word, "%.*s", (int)n, f.text);
        for (const char *const *w = words; n > 0 && *w != NULL; w++)
            if (strcasecmp(word, *w) == 0) return true;
    }
    if (n_fields >= n_columns || n_fields == 0) return false;
    const ll_csv_field first = ll_csv_trim(field[0]);
    return n_fields == 1 && n_columns > 1 && first.len > 0 &&
           !isdigit((unsigned char)first.text[0]);
}

llap_status ll_csv_sample_init(ll_csv_sample *s, const char *name, const char *text, size_t n,
                               bool all, const ll_csv_opts *o)
{
    *s =
        (ll_csv_sample){ .dialect = { o->separator, o->quote == '\0' ? '"' : o->quote, '\n', "" } };
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
    find_comment(s, table, text + n, o);
    if (o->separator == '\0') st = find_separator(table, (size_t)(text + n - table), &s->dialect);
    if (st == LLAP_OK) st = cut_sample(s, text, n, o->skip_lines);
    if (st == LLAP_OK && n == 0 && !all)
        st = ll_fail(LLAP_ELIMIT, "%s:1: the first line is longer than %zu bytes", name,
                     o->max_line);
    if (st == LLAP_OK && s->n_records == 0)
        st = o->skip_lines > 0
                 ? ll_fail(LLAP_EFORMAT,
                           "%s: has nothing behind its first %lld lines (`skip_lines`)", name,
                           (long long)o->skip_lines)
                 : ll_fail(LLAP_EFORMAT, "%s: is empty", name);
    s->all = all && !s->broken;
    /* in a lone column of values, what looks like a title may be a header, and its comma a point */
    const bool lone = o->start != NULL && s->dialect.separator == ',';
    if (st == LLAP_OK && o->skip_lines == 0 && !lone) pass_titles(s);
    if (st == LLAP_OK) pass_repeated(s);
    if (st == LLAP_OK) pass_summary(s);
    if (st == LLAP_OK) st = cut_above(s, table, text + n);
    if (st == LLAP_OK) s->decimal = o->decimal == '\0' ? ll_csv_find_decimal(s) : o->decimal;
    return st;
}

void ll_csv_sample_deinit(ll_csv_sample *s)
{
    ll_free(s->record);
    ll_arena_deinit(&s->text);
    ll_arena_deinit(&s->above_text);
    *s = (ll_csv_sample){ 0 };
}
