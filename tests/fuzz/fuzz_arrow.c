/* Any bytes as a table by the Arrow C data interface, under options that the first byte picks: a
 * panel that keeps its promises, or a failure with a detail. The interface does not tell how long
 * buffers are, so they are as long as length and offsets say, on the heap, and a sanitizer sees
 * whoever reads beyond them. Everything that a reader can check is hostile: formats, names, counts,
 * offsets of texts, views, indices of dictionaries, batches.
 *
 *     options, rows, rows of a batch, columns
 *     for each column: name, what it is like (the second enum), perhaps a name of its own, format,
 *     buffers; of a dictionary what it is like, format, buffers; zeros where the bytes end */
#include "data/arrow/arrow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, COLUMNS = 7, TEXT = 24, VALUES = 5, NAME = 6 };
enum {
    HAS_NULLS = 1,
    CODED = 2,
    HAS_OFFSET = 4,
    BAD_COUNT = 8,
    BAD_LENGTH = 16,
    LACKS_BUFFER = 32,
    OWN_NAME = 64
};

static const char *const formats[] = {
    "g", "tss:", "u",   "l",    "f",         "i", "C",   "b",  "tsn:UTC", "tsu:Europe/Rome",
    "U", "vu",   "tdD", "tdm",  "tsm:",      "c", "S",   "I",  "L",       "e",
    "n", "tts",  "ttn", "tDs",  "tDn",       "s", "d:9", "+l", "z",       "tsn:nowhere",
    "",  "?",    "ts",  "tsx:", "tss:+25:00"
};
static const char *const names[] = { "time",     "id",    "x",  "y",    "ds",   "unique_id",
                                     "variable", "value", "wd", "Date", "Time", "" };

typedef struct input {
    const uint8_t *at;
    size_t         n;
} input;

static uint8_t take(input *in)
{
    if (in->n == 0) return 0;
    in->n--;
    return *in->at++;
}

static size_t pick(input *in, size_t n) { return take(in) % n; }

/* ---- a table -------------------------------------------------------------------------------- */

typedef struct cells { /* of a column or of its dictionary */
    struct ArrowSchema schema;
    struct ArrowArray  array;
    const void        *buffer[4];
} cells;

typedef struct column {
    cells own, values;
    char  name[NAME + 1];
} column;

typedef struct table {
    struct ArrowSchema *schema[COLUMNS];
    struct ArrowArray  *array[COLUMNS];
    column              column[COLUMNS];
    int64_t             n_columns, n_rows, batch, done, n_open;
} table;

static void check(bool ok)
{
    if (!ok) abort();
}

static void *take_bytes(input *in, size_t n)
{
    uint8_t *b = malloc(n == 0 ? 1 : n);
    check(b != NULL);
    for (size_t i = 0; i < n; i++) b[i] = take(in);
    return b;
}

/* Offsets may go back and below 0, not beyond the text. */
static void *take_offsets(input *in, size_t n, size_t width)
{
    uint8_t *b = malloc(n * width);
    check(b != NULL);
    for (size_t i = 0; i < n; i++) {
        const int8_t  x = (int8_t)take(in);
        const int64_t wide = x > TEXT ? x % (TEXT + 1) : x;
        const int32_t narrow = (int32_t)wide;
        memcpy(b + i * width, width == 8 ? (const void *)&wide : &narrow, width);
    }
    return b;
}

static size_t width_of(const char *format)
{
    static const char *const widths[] = { "cC", "seS", "", "iIf" };
    if (strcmp(format, "tdD") == 0 || strcmp(format, "tts") == 0) return 4;
    if (strcmp(format, "vu") == 0) return 16;
    for (size_t w = 0; w < 4 && strlen(format) == 1; w++)
        if (strchr(widths[w], *format) != NULL) return w + 1;
    return 8;
}

/* Buffers of n cells; how many there are. */
static int64_t fill(input *in, const char *format, int like, size_t n, const void **buffer)
{
    static const int64_t lengths[] = { TEXT };
    if (like & HAS_NULLS) buffer[0] = take_bytes(in, (n + 7) / 8);
    if (strcmp(format, "n") == 0) return 0;
    if (strcmp(format, "u") == 0 || strcmp(format, "U") == 0) {
        buffer[1] = take_offsets(in, n + 1, *format == 'u' ? 4 : 8);
        buffer[2] = take_bytes(in, TEXT);
        return 3;
    }
    buffer[1] = take_bytes(in, strcmp(format, "b") == 0 ? (n + 7) / 8 : n * width_of(format));
    if (strcmp(format, "vu") != 0) return 2;
    buffer[2] = take_bytes(in, TEXT);
    buffer[3] = malloc(sizeof lengths);
    check(buffer[3] != NULL);
    memcpy((void *)(uintptr_t)buffer[3], lengths, sizeof lengths);
    return 4;
}

static void release_nothing(struct ArrowArray *a) { (void)a; }

static void make_cells(input *in, cells *c, const char *name, int like, size_t n)
{
    const char  *format = formats[pick(in, sizeof formats / sizeof *formats)];
    const size_t from = like & HAS_OFFSET ? 3 : 0;
    const bool   bad = (like & BAD_COUNT) != 0, missing = (like & LACKS_BUFFER) != 0;
    c->schema = (struct ArrowSchema){ .format = format, .name = name };
    c->array = (struct ArrowArray){ .length = (int64_t)n,
                                    .offset = (int64_t)from,
                                    .null_count = like & HAS_NULLS ? -1 : 0,
                                    .n_buffers = fill(in, format, like, n + from, c->buffer),
                                    .buffers = c->buffer,
                                    .release = release_nothing };
    if (bad) c->array.n_buffers = (int8_t)take(in);
    if (bad && c->array.n_buffers > 2) c->array.n_buffers = 2; /* as many as are there, or fewer */
    if (like & BAD_LENGTH) c->array.length = (int64_t)(int8_t)take(in) % (int64_t)(n + 1);
    if (!missing) return;
    free((void *)(uintptr_t)c->buffer[1]);
    c->buffer[1] = NULL;
}

static void make_column(input *in, column *c, size_t n)
{
    const char *name = names[pick(in, sizeof names / sizeof *names)];
    const int   like = take(in);
    if (like & OWN_NAME) {
        for (int i = 0; i < NAME; i++) c->name[i] = (char)take(in);
        name = c->name;
    }
    make_cells(in, &c->own, name, like, n);
    if (!(like & CODED)) return;
    make_cells(in, &c->values, "", take(in) & ~CODED, VALUES);
    c->own.schema.dictionary = &c->values.schema;
    c->own.array.dictionary = &c->values.array;
}

static void make_table(input *in, table *t)
{
    t->n_rows = (int64_t)pick(in, ROWS);
    t->batch = (int64_t)pick(in, ROWS);
    t->n_columns = (int64_t)pick(in, COLUMNS + 1);
    for (int64_t c = 0; c < t->n_columns; c++) {
        make_column(in, &t->column[c], (size_t)t->n_rows);
        t->schema[c] = &t->column[c].own.schema;
        t->array[c] = &t->column[c].own.array;
    }
}

static void free_table(table *t)
{
    for (int64_t c = 0; c < t->n_columns; c++)
        for (int b = 0; b < 4; b++) {
            free((void *)(uintptr_t)t->column[c].own.buffer[b]);
            free((void *)(uintptr_t)t->column[c].values.buffer[b]);
        }
}

/* ---- its stream ----------------------------------------------------------------------------- */

static void release_schema(struct ArrowSchema *s)
{
    ((table *)s->private_data)->n_open--;
    s->release = NULL;
}

static void release_array(struct ArrowArray *a)
{
    ((table *)a->private_data)->n_open--;
    a->release = NULL;
}

static void release_stream(struct ArrowArrayStream *s) { s->release = NULL; }

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    table *t = s->private_data;
    *out = (struct ArrowSchema){ .format = "+s",
                                 .n_children = t->n_columns,
                                 .children = t->schema,
                                 .release = release_schema,
                                 .private_data = t };
    t->n_open++;
    return 0;
}

static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    table        *t = s->private_data;
    const int64_t left = t->n_rows - t->done;
    const int64_t n = t->batch > 0 && t->batch < left ? t->batch : left;
    *out = (struct ArrowArray){ 0 };
    if (n == 0) return 0;
    *out = (struct ArrowArray){ .length = n,
                                .offset = t->done,
                                .n_children = t->n_columns,
                                .children = t->array,
                                .release = release_array,
                                .private_data = t };
    t->done += n;
    t->n_open++;
    return 0;
}

/* ---- reading it ----------------------------------------------------------------------------- */

static ll_csv_opts pick_options(uint8_t byte)
{
    static const char *const x[] = { "x", NULL }, *const levels[] = { "x=1", "y=a", NULL };
    static const char *const columns[] = { "y=x", NULL };
    ll_csv_opts              o = LL_CSV_DEFAULT;
    o.max_entities = 100;
    o.infer_wall = true;
    if (byte & 1) o.text = LL_CSV_TEXT_CODE;
    if (byte & 2) o.bad_is_missing = true;
    if (byte & 4) o.zone = "Europe/Rome";
    if (byte & 8) o.form = LL_CSV_LONG;
    if (byte & 16) o.coded = x;
    if (byte & 32) o.columns = columns;
    if (byte & 64) o.circular = x;
    if (byte & 128) o.levels = levels;
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    input             in = { data, n };
    const ll_csv_opts o = pick_options(take(&in));
    table             t = { 0 };
    make_table(&in, &t);
    struct ArrowArrayStream s = { .get_schema = get_schema,
                                  .get_next = get_next,
                                  .release = release_stream,
                                  .private_data = &t };
    llap_panel             *p;
    const llap_status       st = ll_arrow_read(&s, &o, &p, NULL);
    check(s.release == NULL && t.n_open == 0);
    if (st == LLAP_OK) check(ll_panel_check(p) == LLAP_OK && p->n_rows > 0);
    else check(p == NULL && llap_error_detail()[0] != '\0');
    llap_panel_destroy(p);
    free_table(&t);
    return 0;
}
