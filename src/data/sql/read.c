#include "base/alloc.h"
#include "base/error.h"
#include "base/sql/sql.h"
#include "base/time/time.h"
#include "data/csv/table.h"
#include "data/sql/sql.h"
#include "data/text/number.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum { SAMPLE_ROWS = 1000, SAMPLE_BYTES = 1 << 20, WAIT_MS = 10000, STREAM_TIME = 1 };
enum { ROOM = 40, SPARE = 8 }; /* of a cell that is no text; behind a row, for ll_number_recall */

static_assert(ROOM >= LL_DOUBLE_TEXT && ROOM >= LL_TIME_TEXT_MAX &&
                  (int)ROOM >= (int)LL_NUMBER_PRINT,
              "numbers and times fit");

typedef struct result {
    const ll_csv_opts *o;
    const char        *name;
    bool               is_stream;
    int64_t            unit_ns; /* of a stream whose times are numbers; 0: they are instants */
    ll_sql            *db;
    size_t             n_columns;
    char              *bytes; /* [room] of the row read last */
    size_t             room;
    ll_csv_field      *field; /* [n_columns] of it, in bytes */
    ll_arena           text;  /* of the first rows, which are read before the columns are known */
    ll_csv_record     *first; /* [n_first] */
    size_t             n_first;
    bool               ended;
    int64_t            row;
} result;

/* ---- a row as fields of text ---------------------------------------------------------------- */

static llap_status fail_cell(const result *f, size_t c, llap_status st)
{
    return ll_fail_in(st, "%s:%lld: column %zu '%s'", f->name, (long long)f->row, c + 1,
                      ll_text_show(ll_sql_column(f->db, c)).text);
}

static llap_status make_room(result *f, const ll_sql_value *v)
{
    size_t n = SPARE;
    for (size_t c = 0; c < f->n_columns; c++) n += v[c].kind == LL_SQL_TEXT ? v[c].n : ROOM;
    if (n > f->o->max_line + f->n_columns * ROOM)
        return ll_fail(LLAP_ELIMIT, "%s:%lld: a row of %zu bytes, at most %zu are read", f->name,
                       (long long)f->row, n, f->o->max_line);
    if (n <= f->room) return LLAP_OK;
    char *larger = ll_grow(f->bytes, 2 * n, 1);
    if (larger == NULL) return LLAP_ENOMEM;
    f->bytes = larger;
    f->room = 2 * n;
    return LLAP_OK;
}

static size_t put_integer(const result *f, size_t c, int64_t x, char *to)
{
    if (!f->is_stream || c != STREAM_TIME) return (size_t)snprintf(to, ROOM, "%" PRId64, x);
    return f->unit_ns > 0 ? ll_number_print_ticks(x, f->unit_ns, '.', to)
                          : ll_time_format(x, NULL, LL_DIGITS_EXACT, to);
}

/* Writes the cell to `to`, which has room. */
static llap_status put_cell(result *f, size_t c, const ll_sql_value *v, char *to)
{
    ll_csv_field *out = &f->field[c];
    *out = (ll_csv_field){ .text = to };
    switch (v->kind) {
    case LL_SQL_NULL:
        break;
    case LL_SQL_INTEGER:
        out->len = (uint32_t)put_integer(f, c, v->integer, to);
        break;
    case LL_SQL_REAL:
        out->len = (uint32_t)ll_text_double(v->real, to);
        break;
    case LL_SQL_BYTES: /* a word: its column is left out where it is not asked for */
        out->len = (uint32_t)snprintf(to, ROOM, "(bytes)");
        break;
    case LL_SQL_TEXT:
        if (memchr(v->text, '\0', v->n) != NULL || ll_utf8_prefix(v->text, v->n) < v->n)
            return fail_cell(f, c,
                             ll_fail(LLAP_EFORMAT, "expected text in UTF-8 without NUL, found "
                                                   "other bytes"));
        memcpy(to, v->text, v->n);
        out->len = (uint32_t)v->n;
        out->quoted = v->n == 0; /* "" is a name, as in CSV; NULL is none */
    }
    return LLAP_OK;
}

/* The next row into f->field, or, when *end, none. */
static llap_status next_row(result *f, bool *end)
{
    const ll_sql_value *v = NULL;
    llap_status         st = f->ended ? LLAP_OK : ll_sql_next(f->db, &v);
    *end = f->ended = v == NULL;
    if (st != LLAP_OK || f->ended) return st;
    f->row++;
    st = make_room(f, v);
    char *to = f->bytes;
    for (size_t c = 0; c < f->n_columns && st == LLAP_OK; c++) {
        st = put_cell(f, c, &v[c], to);
        to += v[c].kind == LL_SQL_TEXT ? v[c].n : ROOM;
    }
    return st;
}

/* ---- the first rows ------------------------------------------------------------------------- */

static ll_csv_field *keep_fields(result *f, const ll_csv_field *field, size_t *n_bytes)
{
    ll_csv_field *kept = ll_arena_new(&f->text, f->n_columns, sizeof *kept);
    for (size_t c = 0; kept != NULL && c < f->n_columns; c++) {
        char *to = ll_arena_new(&f->text, field[c].len + SPARE, 1);
        if (to == NULL) return NULL;
        memcpy(to, field[c].text, field[c].len);
        kept[c] = (ll_csv_field){ to, field[c].len, field[c].quoted };
        *n_bytes += field[c].len + sizeof *kept;
    }
    return kept;
}

static llap_status sample_names(result *f, ll_csv_sample *s)
{
    ll_csv_field *field = ll_arena_new(&f->text, f->n_columns, sizeof *field);
    for (size_t c = 0; field != NULL && c < f->n_columns; c++) {
        const char  *name = ll_sql_column(f->db, c);
        const size_t n = strlen(name);
        if (ll_utf8_prefix(name, n) < n)
            return ll_fail(LLAP_EFORMAT, "%s: column %zu '%s': its name is not UTF-8", f->name,
                           c + 1, ll_text_show(name).text);
        field[c] = (ll_csv_field){ ll_arena_strndup(&f->text, name, n), (uint32_t)n, true };
        if (field[c].text == NULL) return LLAP_ENOMEM;
    }
    s->record[s->n_records++] = (ll_csv_record){ field, f->n_columns, 0 };
    return field == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static llap_status sample(void *user, ll_csv_sample *out)
{
    result *f = user;
    size_t  n_bytes = 0;
    bool    end = false;
    out->n_columns = f->n_columns;
    out->record = ll_new(SAMPLE_ROWS + 1, sizeof *out->record);
    f->first = ll_new(SAMPLE_ROWS, sizeof *f->first);
    if (out->record == NULL || f->first == NULL) return LLAP_ENOMEM;
    llap_status st = sample_names(f, out);
    while (st == LLAP_OK && f->n_first < SAMPLE_ROWS && n_bytes < SAMPLE_BYTES) {
        st = next_row(f, &end);
        if (st != LLAP_OK || end) break;
        const ll_csv_field *kept = keep_fields(f, f->field, &n_bytes);
        if (kept == NULL) return LLAP_ENOMEM;
        f->first[f->n_first++] = (ll_csv_record){ kept, f->n_columns, f->row };
    }
    for (size_t i = 0; i < f->n_first; i++) out->record[out->n_records++] = f->first[i];
    out->all = end;
    return st;
}

/* ---- all rows ------------------------------------------------------------------------------- */

static llap_status take(result *f, ll_csv_reader *r, const ll_csv_field *field, int64_t row)
{
    memcpy(r->tokens.field, field, f->n_columns * sizeof *field);
    r->tokens.line = row;
    r->report->lines++;
    return ll_csv_reader_record(r);
}

static llap_status rows(void *user, ll_csv_reader *r)
{
    result     *f = user;
    bool        end = false;
    llap_status st = LLAP_OK;
    r->tokens.field = ll_new(f->n_columns, sizeof *r->tokens.field);
    if (r->tokens.field == NULL) return LLAP_ENOMEM;
    r->tokens.n_fields = f->n_columns;
    for (size_t i = 0; i < f->n_first && st == LLAP_OK; i++)
        st = take(f, r, f->first[i].field, f->first[i].line);
    while (st == LLAP_OK) {
        st = next_row(f, &end);
        if (st != LLAP_OK || end) break;
        st = take(f, r, f->field, f->row);
    }
    ll_csv_reader_end_records(r);
    return st;
}

/* ---- a query -------------------------------------------------------------------------------- */

/* The columns of a stream are known. */
static llap_status stream_opts(result *f, ll_csv_opts *o)
{
    const bool number = o->time_format != NULL && strcmp(o->time_format, "number") == 0;
    ll_clock   c = { 0 };
    if (o->entity != NULL || o->time != NULL || o->variable != NULL || o->value != NULL ||
        o->form != LL_CSV_AUTO)
        return ll_fail(LLAP_EOPTION,
                       "%s: its columns are known: `entity`, `time`, `variable`, "
                       "`value` and `form` are for others",
                       f->name);
    if (o->time_format != NULL && !number && strcmp(o->time_format, "rfc3339") != 0)
        return ll_fail(LLAP_EOPTION, "time_format: of a stream expected rfc3339 or number");
    llap_status st = ll_clock_init(&c, number ? "number" : "rfc3339", o->time_unit, NULL);
    if (number) f->unit_ns = c.unit_ns;
    ll_clock_deinit(&c);
    o->form = LL_CSV_LONG;
    o->entity = "entity";
    o->time = "time";
    o->variable = "variable";
    o->value = "value";
    o->time_format = number ? "number" : "rfc3339";
    return st;
}

static llap_status open_query(result *f, const ll_sql_source *from)
{
    const ll_sql_opts opts = { .reading = true, .wait_ms = WAIT_MS };
    const char       *query = from->query != NULL ? from->query : from->at->query;
    llap_status       st = ll_sql_open(from->at, &opts, &f->db);
    if (st == LLAP_OK) st = ll_sql_start(f->db, query, NULL, 0);
    if (st != LLAP_OK) return st;
    f->n_columns = ll_sql_n_columns(f->db);
    if (f->n_columns == 0) return ll_fail(LLAP_EINVAL, "%s: gives no columns", f->name);
    f->field = ll_new(f->n_columns, sizeof *f->field);
    return f->field == NULL ? LLAP_ENOMEM : LLAP_OK;
}

llap_status ll_sql_read(const ll_sql_source *from, const ll_csv_opts *o, llap_panel **out,
                        ll_csv_report *report)
{
    *out = NULL;
    ll_csv_opts with_names = *o;
    result      f = { .o = o, .name = from->at->asked, .is_stream = from->is_stream };
    with_names.header = LL_YES;
    llap_status st = from->is_stream ? stream_opts(&f, &with_names) : LLAP_OK;
    if (st == LLAP_OK && from->query == NULL && from->at->query == NULL)
        st = ll_fail(LLAP_EINVAL,
                     "%s: expected ?query=SELECT..., ?table=NAME or ?stream=NAME "
                     "behind it",
                     from->at->name);
    if (st == LLAP_OK) st = open_query(&f, from);
    const ll_csv_table table = { f.name, sample, rows, &f };
    if (st == LLAP_OK) st = ll_csv_read_table(&table, &with_names, out, report);
    ll_sql_close(f.db);
    ll_arena_deinit(&f.text);
    ll_free(f.bytes);
    ll_free(f.field);
    ll_free(f.first);
    return st;
}
