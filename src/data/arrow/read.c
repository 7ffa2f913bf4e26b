#include "base/alloc.h"
#include "base/error.h"
#include "data/arrow/arrow.h"
#include "data/arrow/column.h"
#include "data/csv/table.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

enum { SAMPLE_ROWS = 1000, SAMPLE_CELLS = 200000, SAMPLE_BATCHES = 1000, MOST_COLUMNS = 1 << 20 };
enum { BLOCK = 512 }; /* rows of usual tables that are put together at a time */

typedef struct frame {
    struct ArrowArrayStream *stream;
    struct ArrowSchema       schema;
    size_t                   n_columns;
    ll_arrow_type           *type;   /* [n_columns] */
    ll_arrow_column         *column; /* [n_columns] of the batch that is read */
    char (*room)[LL_ARROW_CELL];     /* [n_columns] */
    bool              *used;         /* [n_columns] */
    struct ArrowArray *batch;        /* [n_batches] the first ones, for the sample */
    size_t             n_batches, capacity;
    bool               ended;
    bool               instant; /* the time is one column of instants */
    bool               usual;   /* and not on a zone's clock; plain numbers in wide form */
    float             *block;   /* [BLOCK,n_row] of usual tables */
    int64_t            row;     /* read so far */
} frame;

static const char *name_of(const frame *f, size_t c)
{
    const char *name = f->schema.children[c]->name;
    return name == NULL ? "" : name;
}

static llap_status fail_column(const frame *f, size_t c, llap_status st)
{
    return ll_fail_in(st, "frame: column %zu '%s'", c + 1, ll_text_show(name_of(f, c)).text);
}

/* ---- the producer --------------------------------------------------------------------------- */

static llap_status fail_stream(const frame *f, int error)
{
    const char *words =
        f->stream->get_last_error == NULL ? NULL : f->stream->get_last_error(f->stream);
    char   line[512];
    size_t n = 0;
    for (const char *p = words == NULL ? "" : words; *p != '\0' && n + 1 < sizeof line; p++)
        line[n++] = *p == '\n' || *p == '\r' ? ' ' : *p;
    line[n] = '\0';
    return ll_fail(LLAP_EIO, "frame: its producer failed (%d)%s%s", error, n > 0 ? ": " : "", line);
}

static llap_status read_schema(frame *f)
{
    const int error = f->stream->get_schema(f->stream, &f->schema);
    if (error != 0) {
        f->schema.release = NULL;
        return fail_stream(f, error);
    }
    const struct ArrowSchema *s = &f->schema;
    if (s->release == NULL || s->format == NULL || strcmp(s->format, "+s") != 0)
        return ll_fail(LLAP_EFORMAT, "frame: expected a table, found %s",
                       s->format == NULL ? "nothing" : ll_arrow_show(s->format).text);
    if (s->n_children < 1 || s->n_children > MOST_COLUMNS || s->children == NULL)
        return ll_fail(LLAP_EFORMAT, "frame: expected columns, found %" PRId64, s->n_children);
    const size_t n = f->n_columns = (size_t)s->n_children;
    f->type = ll_new(n, sizeof *f->type);
    f->column = ll_new(n, sizeof *f->column);
    f->room = ll_new(n, sizeof *f->room);
    f->used = ll_new(n, sizeof *f->used);
    if (f->type == NULL || f->column == NULL || f->room == NULL || f->used == NULL)
        return LLAP_ENOMEM;
    for (size_t c = 0; c < n; c++) {
        if (s->children[c] == NULL)
            return ll_fail(LLAP_EFORMAT, "frame: column %zu is not there", c + 1);
        const llap_status st = ll_arrow_type_init(&f->type[c], s->children[c]);
        if (st != LLAP_OK) return fail_column(f, c, st);
        const char *name = name_of(f, c);
        if (ll_utf8_prefix(name, strlen(name)) < strlen(name))
            return ll_fail(LLAP_EFORMAT, "frame: column %zu '%s': its name is not UTF-8", c + 1,
                           ll_text_show(name).text);
    }
    return LLAP_OK;
}

static llap_status check_batch(const frame *f, const struct ArrowArray *a)
{
    if (a->length < 0 || a->offset < 0 || a->length > INT64_MAX - a->offset ||
        a->n_children != f->schema.n_children || a->children == NULL)
        return ll_fail(LLAP_EFORMAT,
                       "frame: expected a batch of %zu columns, found %" PRId64
                       " of length %" PRId64 " from offset %" PRId64,
                       f->n_columns, a->n_children, a->length, a->offset);
    return LLAP_OK;
}

/* The next batch, or, when *end, none. */
static llap_status next_batch(frame *f, struct ArrowArray *out, bool *end)
{
    *out = (struct ArrowArray){ 0 };
    *end = f->ended;
    if (f->ended) return LLAP_OK;
    const int error = f->stream->get_next(f->stream, out);
    if (error != 0) {
        out->release = NULL;
        return fail_stream(f, error);
    }
    *end = f->ended = out->release == NULL;
    return f->ended ? LLAP_OK : check_batch(f, out);
}

static void release(struct ArrowArray *a)
{
    if (a->release != NULL) a->release(a);
    a->release = NULL;
}

/* ---- the first rows as text ----------------------------------------------------------------- */

static llap_status keep_batches(frame *f, int64_t want)
{
    int64_t     rows = 0;
    bool        end = false;
    llap_status st = LLAP_OK;
    while (st == LLAP_OK && rows < want && f->n_batches < SAMPLE_BATCHES) {
        if (f->n_batches == f->capacity) {
            void *larger = ll_grow(f->batch, f->capacity * 2 + 4, sizeof *f->batch);
            if (larger == NULL) return LLAP_ENOMEM;
            f->batch = larger;
            f->capacity = f->capacity * 2 + 4;
        }
        struct ArrowArray *a = &f->batch[f->n_batches];
        st = next_batch(f, a, &end);
        if (end) break;
        f->n_batches += a->release != NULL;
        rows += st == LLAP_OK ? a->length : 0;
    }
    return st;
}

static llap_status open_columns(frame *f, const struct ArrowArray *a)
{
    llap_status st = LLAP_OK;
    for (size_t c = 0; c < f->n_columns && st == LLAP_OK; c++) {
        if (!f->used[c]) continue;
        st = ll_arrow_column_init(&f->column[c], &f->type[c], a->children[c], a->offset, a->length);
        if (st != LLAP_OK) st = fail_column(f, c, st);
    }
    return st;
}

static void close_columns(frame *f)
{
    for (size_t c = 0; c < f->n_columns; c++) ll_arrow_column_deinit(&f->column[c]);
}

static llap_status sample_row(frame *f, ll_csv_sample *s, int64_t i)
{
    ll_csv_field *field = ll_arena_new(&s->text, f->n_columns, sizeof *field);
    llap_status   st = field == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (size_t c = 0; c < f->n_columns && st == LLAP_OK; c++) {
        ll_csv_field cell;
        st = ll_arrow_text(&f->column[c], i, f->room[c], &cell);
        if (st != LLAP_OK) return fail_column(f, c, st);
        field[c] = cell;
        field[c].text = ll_arena_strndup(&s->text, cell.text, cell.len);
        if (field[c].text == NULL) st = LLAP_ENOMEM;
    }
    s->record[s->n_records] = (ll_csv_record){ field, f->n_columns, (int64_t)s->n_records };
    s->n_records += st == LLAP_OK;
    return st;
}

static llap_status sample_names(const frame *f, ll_csv_sample *s)
{
    ll_csv_field *field = ll_arena_new(&s->text, f->n_columns, sizeof *field);
    for (size_t c = 0; field != NULL && c < f->n_columns; c++) {
        const char *name = name_of(f, c);
        field[c].text = ll_arena_strndup(&s->text, name, strlen(name));
        field[c].len = (uint32_t)strlen(name);
        field[c].quoted = true; /* a name is a name, also "" */
        if (field[c].text == NULL) return LLAP_ENOMEM;
    }
    s->record[s->n_records++] = (ll_csv_record){ field, f->n_columns, 0 };
    return field == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static llap_status sample(void *user, ll_csv_sample *out)
{
    frame        *f = user;
    const int64_t few = (int64_t)(SAMPLE_CELLS / f->n_columns + 50);
    const int64_t want = few < SAMPLE_ROWS ? few : SAMPLE_ROWS;
    out->n_columns = f->n_columns;
    out->record = ll_new((size_t)want + 1, sizeof *out->record);
    llap_status st = out->record == NULL ? LLAP_ENOMEM : sample_names(f, out);
    if (st == LLAP_OK) st = keep_batches(f, want);
    for (size_t c = 0; c < f->n_columns; c++) f->used[c] = true;
    for (size_t b = 0; b < f->n_batches && st == LLAP_OK; b++) {
        st = open_columns(f, &f->batch[b]);
        for (int64_t i = 0; i < f->batch[b].length && st == LLAP_OK; i++)
            if ((int64_t)out->n_records <= want) st = sample_row(f, out, i);
            else break;
        close_columns(f);
    }
    return st;
}

/* ---- all rows ------------------------------------------------------------------------------- */

static llap_status show(frame *f, ll_csv_reader *r, size_t c, int64_t i)
{
    const llap_status st = ll_arrow_text(&f->column[c], i, f->room[c], &r->tokens.field[c]);
    return st == LLAP_OK ? st : ll_csv_reader_fail(r, c, st);
}

/* Whether the time is one column of instants. */
static bool is_instant(const frame *f, const ll_csv_reader *r)
{
    const ll_arrow_type *t = &f->type[r->time_column[0]];
    return r->schema.n_time == 1 && ll_arrow_is_instant(t->kind) && t->index == LL_ARROW_NULL;
}

/* A time without a zone is one on the clock of the zone of the options. */
static bool is_on_clock(const frame *f, const ll_csv_reader *r)
{
    return f->instant && *f->type[r->time_column[0]].zone == '\0' && r->clock.zone != NULL;
}

/* out[1] > out[0] where it may be either (ll_csv_reader_choose_time). */
static llap_status read_time(frame *f, ll_csv_reader *r, int64_t i, int64_t out[2])
{
    const size_t           c = r->time_column[0];
    const ll_arrow_column *column = &f->column[c];
    bool                   empty = false;
    llap_status            st = LLAP_OK;
    if (f->instant) {
        empty = !ll_arrow_present(column, i);
        if (!empty) st = ll_arrow_ticks(column, i, out);
        out[1] = out[0];
        if (!empty && st == LLAP_OK && is_on_clock(f, r)) st = ll_csv_reader_clock_time(r, out);
        if (st != LLAP_OK) return ll_csv_reader_fail(r, c, st);
    } else {
        for (int k = 0; k < r->schema.n_time && st == LLAP_OK; k++)
            st = show(f, r, r->time_column[k], i);
        if (st == LLAP_OK) st = ll_csv_reader_time(r, out, &empty);
    }
    if (st == LLAP_OK && empty)
        st = ll_csv_reader_fail(r, c, ll_fail(LLAP_EFORMAT, "expected a time, found nothing"));
    return st;
}

/* Numbers as they are; the rest as CSV has it. */
static llap_status read_cell(frame *f, ll_csv_reader *r, const ll_csv_use *use, int64_t i)
{
    const ll_arrow_column *c = &f->column[use->column];
    if (c->type.index == LL_ARROW_NULL && ll_arrow_is_number(c->type.kind)) {
        if (!ll_arrow_present(c, i)) return LLAP_OK;
        const double x = ll_arrow_number(c, i);
        const float  y = (float)x;
        if (!use->plain || !isfinite(y)) return ll_csv_reader_number(r, use, x);
        r->variables.suspects += y <= -99 || y >= 1e20f;
        r->row[use->var] = y;
        return LLAP_OK;
    }
    const llap_status st = show(f, r, use->column, i);
    return st == LLAP_OK ? ll_csv_reader_cell(r, use) : st;
}

static llap_status read_wide(frame *f, ll_csv_reader *r, int64_t i, int64_t time)
{
    llap_status st = LLAP_OK;
    for (uint32_t v = 0; v < r->n_row; v++) r->row[v] = NAN;
    for (const ll_csv_use *use = r->use; use < r->use + r->n_use && st == LLAP_OK; use++)
        if (!use->nothing) st = read_cell(f, r, use, i);
    return st == LLAP_OK ? ll_csv_reader_put(r, time) : st;
}

static llap_status read_long(frame *f, ll_csv_reader *r, int64_t i, int64_t time)
{
    const ll_arrow_column *value = &f->column[r->value_column];
    llap_status            st = show(f, r, r->variable_column, i);
    if (st != LLAP_OK) return st;
    if (value->type.index == LL_ARROW_NULL && ll_arrow_is_number(value->type.kind)) {
        const double x = ll_arrow_present(value, i) ? ll_arrow_number(value, i) : (double)NAN;
        return ll_csv_reader_long(r, time, &x);
    }
    st = show(f, r, r->value_column, i);
    return st == LLAP_OK ? ll_csv_reader_long(r, time, NULL) : st;
}

/* A column of numbers from cell i on into the block. Infinite ones are counted, with their place.
 */
static llap_status read_numbers(frame *f, ll_csv_reader *r, const ll_csv_use *use, int64_t i,
                                int64_t n)
{
    const ll_arrow_column *c = &f->column[use->column];
    const double          *plain = ll_arrow_doubles(c, i); /* most are: no call for each */
    float                 *to = f->block + use->var;
    int64_t                suspects = 0;
    for (int64_t k = 0; k < n; k++, to += r->n_row) {
        const double x = plain != NULL                ? plain[k]
                         : ll_arrow_present(c, i + k) ? ll_arrow_number(c, i + k)
                                                      : (double)NAN;
        *to = (float)x;
        suspects += *to <= -99 || *to >= 1e20f;
        if (!isinf(*to)) continue;
        r->tokens.line = f->row + k + 1;
        const llap_status st = ll_csv_reader_number(r, use, x);
        if (st != LLAP_OK) return st;
        suspects--;
        *to = NAN;
    }
    r->variables.suspects += suspects;
    return LLAP_OK;
}

/* The entity of cell i; a place in a dictionary that is that of the cell before needs no look. */
static llap_status read_entity(frame *f, ll_csv_reader *r, int64_t i, int64_t *before)
{
    const size_t  c = r->entity_column;
    const int64_t place = ll_arrow_plain_place(&f->column[c], i);
    if (place >= 0 && place == *before) return LLAP_OK;
    *before = place;
    const llap_status st = show(f, r, c, i);
    return st == LLAP_OK ? ll_csv_reader_entity(r, r->tokens.field[c]) : st;
}

/* A block of rows, column by column, then entity by entity. */
static llap_status read_block(frame *f, ll_csv_reader *r, int64_t i, int64_t n)
{
    const bool             entities = r->entity_column < r->schema.n_columns;
    const int64_t          row = f->row;
    const ll_arrow_column *when = &f->column[r->time_column[0]];
    const int64_t         *plain = ll_arrow_plain_ticks(when, i);
    int64_t                time[BLOCK + 1], begin = 0, place = INT64_MIN;
    llap_status            st = LLAP_OK;
    for (const ll_csv_use *use = r->use; use < r->use + r->n_use && st == LLAP_OK; use++)
        if (!use->nothing) st = read_numbers(f, r, use, i, n);
    for (int64_t k = 0; k < n && st == LLAP_OK; k++) {
        const uint32_t last = r->entity;
        r->tokens.line = ++f->row;
        if (plain == NULL || __builtin_mul_overflow(plain[k], when->type.unit_ns, &time[k]))
            st = read_time(f, r, i + k, &time[k]);
        if (st == LLAP_OK && entities) st = read_entity(f, r, i + k, &place);
        if (st != LLAP_OK || k == begin || r->entity == last) continue;
        const uint32_t now = r->entity;
        r->entity = last;
        r->tokens.line = row + begin + 1;
        st = ll_csv_reader_rows(r, k - begin, time + begin, f->block + begin * r->n_row);
        r->entity = now;
        begin = k;
    }
    r->tokens.line = row + begin + 1;
    return st == LLAP_OK
               ? ll_csv_reader_rows(r, n - begin, time + begin, f->block + begin * r->n_row)
               : st;
}

static llap_status read_usual_batch(frame *f, ll_csv_reader *r, const struct ArrowArray *a)
{
    llap_status st = open_columns(f, a);
    for (int64_t i = 0; i < a->length && st == LLAP_OK; i += BLOCK)
        st = read_block(f, r, i, a->length - i < BLOCK ? a->length - i : BLOCK);
    r->report->lines = f->row;
    close_columns(f);
    return st;
}

static llap_status read_batch(frame *f, ll_csv_reader *r, const struct ArrowArray *a)
{
    if (f->usual) return read_usual_batch(f, r, a);
    const bool  entities = r->entity_column < r->schema.n_columns;
    llap_status st = open_columns(f, a);
    for (int64_t i = 0; i < a->length && st == LLAP_OK; i++) {
        int64_t time[2] = { 0, 0 };
        r->tokens.line = ++f->row;
        st = read_time(f, r, i, time);
        if (st == LLAP_OK && entities) st = show(f, r, r->entity_column, i);
        if (st == LLAP_OK && entities)
            st = ll_csv_reader_entity(r, r->tokens.field[r->entity_column]);
        if (st == LLAP_OK && time[1] != time[0]) st = ll_csv_reader_choose_time(r, time);
        if (st == LLAP_OK)
            st = r->schema.is_long ? read_long(f, r, i, time[0]) : read_wide(f, r, i, time[0]);
    }
    r->report->lines = f->row;
    close_columns(f);
    return st;
}

/* Columns that are read, each of a type that can be. */
static llap_status use_columns(frame *f, const ll_csv_reader *r)
{
    for (size_t c = 0; c < f->n_columns; c++) {
        const ll_csv_role role = r->schema.column[c].role;
        f->used[c] = role == LL_CSV_TIME || role == LL_CSV_ENTITY || role == LL_CSV_VARIABLE ||
                     role == LL_CSV_VALUE;
    }
    for (size_t i = 0; i < r->n_use; i++) f->used[r->use[i].column] |= !r->use[i].nothing;
    for (size_t c = 0; c < f->n_columns; c++) {
        const struct ArrowSchema *s = f->schema.children[c];
        if (!f->used[c] || f->type[c].kind != LL_ARROW_OTHER) continue;
        const char *format = s->dictionary != NULL ? s->dictionary->format : s->format;
        return fail_column(f, c,
                           ll_fail(LLAP_EFORMAT,
                                   "expected numbers, text or times, found %s: convert it, or "
                                   "leave it out with `drop`",
                                   ll_arrow_show(format).text));
    }
    return LLAP_OK;
}

/* What the type of the time says about the axis. */
static llap_status set_clock(frame *f, ll_csv_reader *r)
{
    f->instant = is_instant(f, r);
    f->usual = f->instant && !is_on_clock(f, r) && !r->schema.is_long && !r->o->unordered_is_error;
    for (size_t i = 0; i < r->n_use && f->usual; i++) {
        const ll_arrow_type *t = &f->type[r->use[i].column];
        f->usual = r->use[i].nothing ||
                   (r->use[i].plain && t->index == LL_ARROW_NULL && ll_arrow_is_number(t->kind));
    }
    if (!f->instant) return LLAP_OK;
    const size_t c = r->time_column[0];
    const char  *zone = f->type[c].zone;
    if (r->o->time_format != NULL || r->o->time_unit != NULL)
        return ll_fail(LLAP_EOPTION, "%s: column '%s' is a time already",
                       r->o->time_format != NULL ? "time_format" : "time_unit",
                       ll_text_show(name_of(f, c)).text);
    r->clock.unzoned = *zone == '\0';
    if (*zone == '\0') return LLAP_OK;
    ll_zone_destroy(r->clock.zone);
    r->clock.zone = NULL;
    const llap_status st = ll_zone_create(zone, strlen(zone), NULL, &r->clock.zone);
    return st == LLAP_OK ? st : fail_column(f, c, st);
}

static llap_status rows(void *user, ll_csv_reader *r)
{
    frame *f = user;
    assert(r->schema.n_columns == f->n_columns);
    r->tokens.field = ll_new(f->n_columns, sizeof *r->tokens.field);
    if (r->tokens.field == NULL) return LLAP_ENOMEM;
    r->tokens.n_fields = f->n_columns;
    llap_status st = use_columns(f, r);
    if (st == LLAP_OK) st = set_clock(f, r);
    if (st == LLAP_OK && f->usual) {
        f->block = ll_new(BLOCK * (size_t)r->n_row, sizeof *f->block);
        if (f->block == NULL) return LLAP_ENOMEM;
    }
    for (size_t b = 0; b < f->n_batches && st == LLAP_OK; b++) {
        st = read_batch(f, r, &f->batch[b]);
        release(&f->batch[b]);
    }
    for (bool end = false; st == LLAP_OK;) {
        struct ArrowArray a;
        st = next_batch(f, &a, &end);
        if (end) break;
        if (st == LLAP_OK) st = read_batch(f, r, &a);
        release(&a);
    }
    return st;
}

llap_status ll_arrow_read(struct ArrowArrayStream *stream, const ll_csv_opts *o, llap_panel **out,
                          ll_csv_report *report)
{
    *out = NULL;
    frame              f = { .stream = stream };
    const ll_csv_table table = { "frame", sample, rows, &f };
    ll_csv_opts        with_names = *o;
    with_names.header = LL_YES;
    if (stream->release == NULL) return ll_fail(LLAP_EINVAL, "frame: its stream is used up");
    llap_status st = read_schema(&f);
    if (st == LLAP_OK) st = ll_csv_read_table(&table, &with_names, out, report);
    for (size_t b = 0; b < f.n_batches; b++) release(&f.batch[b]);
    if (f.schema.release != NULL) f.schema.release(&f.schema);
    if (stream->release != NULL) stream->release(stream);
    ll_free(f.batch);
    ll_free(f.block);
    ll_free(f.type);
    ll_free(f.column);
    ll_free(f.room);
    ll_free(f.used);
    return st;
}
