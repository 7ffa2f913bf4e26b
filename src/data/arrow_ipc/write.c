/* A table as a stream: its schema, a dictionary for each column of words, one batch. */
#include "base/alloc.h"
#include "base/error.h"
#include "data/arrow_ipc/arrow_ipc.h"
#include "data/arrow_ipc/schema.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { UNIT_NS = 3, DOUBLE = 2, STREAM_MAX = 1 << 30 };

typedef struct writer {
    ll_flat_out          stream, meta;
    const ll_ipc_column *column;
    size_t               n_columns;
    int64_t              n_rows;
} writer;

/* ---- messages ---- */

/* The table Message in an empty flatbuffer, whose header is linked to *header. */
static void begin(writer *w, int kind, int64_t n_body, size_t *header)
{
    ll_flat_field f[MESSAGE_SLOTS] = {
        [MESSAGE_VERSION] = { .width = 2, .value = VERSION_5 },
        [MESSAGE_HEADER_TYPE] = { .width = 1, .value = kind },
        [MESSAGE_HEADER] = { .width = 4 },
        [MESSAGE_BODY] = { .width = 8, .value = n_body },
    };
    w->meta.n = 0;
    const size_t root = ll_flat_put(&w->meta, 4, 8);
    ll_flat_link(&w->meta, root, ll_flat_put_table(&w->meta, f, MESSAGE_SLOTS));
    *header = f[MESSAGE_HEADER].place;
}

/* Its metadata to the stream; the body follows. */
static void end(writer *w)
{
    (void)ll_flat_put(&w->meta, 0, 8);
    const size_t head = ll_flat_put(&w->stream, 8, 8);
    const size_t at = ll_flat_put(&w->stream, w->meta.n, 8);
    ll_flat_put_int(&w->stream, head, 4, -1);
    ll_flat_put_int(&w->stream, head + 4, 4, (int64_t)w->meta.n);
    if (!w->stream.failed && !w->meta.failed)
        memcpy(w->stream.bytes + at, w->meta.bytes, w->meta.n);
}

/* ---- the schema ---- */

static size_t put_int_type(writer *w, int bits)
{
    ll_flat_field f[] = { { .width = 4, .value = bits }, { .width = 1, .value = 1 } };
    return ll_flat_put_table(&w->meta, f, 2);
}

static size_t put_type(writer *w, const ll_ipc_column *c, int *which)
{
    static const int types[] = {
        [LL_IPC_WORD] = TYPE_TEXT, [LL_IPC_INSTANT] = TYPE_TIMESTAMP, [LL_IPC_INTEGER] = TYPE_INT,
        [LL_IPC_SMALL] = TYPE_INT, [LL_IPC_NUMBER] = TYPE_FLOAT,      [LL_IPC_FLAG] = TYPE_BOOL
    };
    const bool    zoned = c->zone != NULL && *c->zone != '\0';
    ll_flat_field unit[] = { { .width = 2, .value = UNIT_NS }, { .width = zoned ? 4 : 0 } };
    ll_flat_field precision[] = { { .width = 2, .value = DOUBLE } };
    *which = types[c->kind];
    if (*which == TYPE_INT) return put_int_type(w, c->kind == LL_IPC_SMALL ? 32 : 64);
    if (*which == TYPE_FLOAT) return ll_flat_put_table(&w->meta, precision, 1);
    if (*which != TYPE_TIMESTAMP) return ll_flat_put_table(&w->meta, NULL, 0);
    const size_t at = ll_flat_put_table(&w->meta, unit, 2);
    if (zoned) ll_flat_link(&w->meta, unit[1].place, ll_flat_put_string(&w->meta, c->zone));
    return at;
}

static size_t put_coded(writer *w, int64_t id)
{
    ll_flat_field f[CODED_SLOTS] = {
        [CODED_ID] = { .width = 8, .value = id }, [CODED_INDEX] = { .width = 4 }
    };
    const size_t at = ll_flat_put_table(&w->meta, f, CODED_SLOTS);
    ll_flat_link(&w->meta, f[CODED_INDEX].place, put_int_type(w, 32));
    return at;
}

static size_t put_field(writer *w, size_t i)
{
    const ll_ipc_column *c = &w->column[i];
    const bool           coded = c->kind == LL_IPC_WORD;
    int                  which = 0;
    ll_flat_field        f[FIELD_SLOTS] = {
               [FIELD_NAME] = { .width = 4 },
               [FIELD_NULLABLE] = { .width = 1,
                                    .value = c->kind == LL_IPC_NUMBER || c->kind == LL_IPC_FLAG },
               [FIELD_TYPE_TYPE] = { .width = 1 },
               [FIELD_TYPE] = { .width = 4 },
               [FIELD_CODED] = { .width = coded ? 4 : 0 },
               [FIELD_CHILDREN] = { .width = 4 }, /* pyarrow wants it to be there */
    };
    const size_t at = ll_flat_put_table(&w->meta, f, FIELD_SLOTS);
    ll_flat_link(&w->meta, f[FIELD_NAME].place, ll_flat_put_string(&w->meta, c->name));
    ll_flat_link(&w->meta, f[FIELD_TYPE].place, put_type(w, c, &which));
    ll_flat_put_int(&w->meta, f[FIELD_TYPE_TYPE].place, 1, which);
    if (coded) ll_flat_link(&w->meta, f[FIELD_CODED].place, put_coded(w, (int64_t)i));
    ll_flat_link(&w->meta, f[FIELD_CHILDREN].place, ll_flat_put_vector(&w->meta, 0, 4));
    return at;
}

static void put_schema(writer *w)
{
    size_t        header;
    ll_flat_field f[SCHEMA_SLOTS] = {
        [SCHEMA_ENDIAN] = { .width = 2 }, [SCHEMA_FIELDS] = { .width = 4 }
    };
    begin(w, HEADER_SCHEMA, 0, &header);
    ll_flat_link(&w->meta, header, ll_flat_put_table(&w->meta, f, SCHEMA_SLOTS));
    const size_t fields = ll_flat_put_vector(&w->meta, w->n_columns, 4);
    ll_flat_link(&w->meta, f[SCHEMA_FIELDS].place, fields);
    for (size_t i = 0; i < w->n_columns; i++)
        ll_flat_link(&w->meta, fields + 4 + 4 * i, put_field(w, i));
    end(w);
}

/* ---- bodies ---- */

typedef struct layout {     /* of a body: where the next buffer begins, and what was said of them */
    size_t  buffers, nodes; /* vectors in the metadata; 0: it is only measured */
    size_t  n_buffers, n_nodes;
    int64_t at;
} layout;

static int64_t padded(int64_t n) { return (n + 7) / 8 * 8; }

static void note_buffer(writer *w, layout *l, int64_t n)
{
    const size_t place = l->buffers + 4 + 16 * l->n_buffers++;
    if (l->buffers != 0) {
        ll_flat_put_int(&w->meta, place, 8, l->at);
        ll_flat_put_int(&w->meta, place + 8, 8, n);
    }
    l->at += padded(n);
}

static void note_node(writer *w, layout *l, int64_t rows, int64_t nulls)
{
    const size_t place = l->nodes + 4 + 16 * l->n_nodes++;
    if (l->nodes == 0) return;
    ll_flat_put_int(&w->meta, place, 8, rows);
    ll_flat_put_int(&w->meta, place + 8, 8, nulls);
}

static bool is_null(const ll_ipc_column *c, int64_t i)
{
    const size_t k = (size_t)i * c->stride;
    return c->kind == LL_IPC_NUMBER ? isnan(((const double *)c->cell)[k])
           : c->kind == LL_IPC_FLAG ? ((const uint8_t *)c->cell)[k] == 2
                                    : false;
}

static int64_t count_nulls(const writer *w, const ll_ipc_column *c)
{
    int64_t n = 0;
    for (int64_t i = 0; i < w->n_rows; i++) n += is_null(c, i);
    return n;
}

static int64_t cell_bytes(const writer *w, ll_ipc_kind kind)
{
    if (kind == LL_IPC_FLAG) return (w->n_rows + 7) / 8;
    return w->n_rows * (kind == LL_IPC_WORD || kind == LL_IPC_SMALL ? 4 : 8);
}

static void note_columns(writer *w, layout *l)
{
    for (size_t i = 0; i < w->n_columns; i++) {
        const int64_t nulls = count_nulls(w, &w->column[i]);
        note_node(w, l, w->n_rows, nulls);
        note_buffer(w, l, nulls > 0 ? (w->n_rows + 7) / 8 : 0);
        note_buffer(w, l, cell_bytes(w, w->column[i].kind));
    }
}

static int64_t text_bytes(const ll_ipc_column *c)
{
    int64_t n = 0;
    for (int64_t i = 0; i < c->n_texts; i++) n += (int64_t)strlen(c->text[i]);
    return n;
}

static void note_words(writer *w, const ll_ipc_column *c, layout *l)
{
    note_node(w, l, c->n_texts, 0);
    note_buffer(w, l, 0);
    note_buffer(w, l, 4 * (c->n_texts + 1));
    note_buffer(w, l, text_bytes(c));
}

/* The table RecordBatch; l has been measured. */
static size_t put_batch(writer *w, layout *l, int64_t rows)
{
    ll_flat_field f[BATCH_SLOTS] = { [BATCH_LENGTH] = { .width = 8, .value = rows },
                                     [BATCH_NODES] = { .width = 4 },
                                     [BATCH_BUFFERS] = { .width = 4 } };
    const size_t  at = ll_flat_put_table(&w->meta, f, BATCH_SLOTS);
    const size_t  nodes = ll_flat_put_vector(&w->meta, l->n_nodes, 16);
    const size_t  buffers = ll_flat_put_vector(&w->meta, l->n_buffers, 16);
    ll_flat_link(&w->meta, f[BATCH_NODES].place, nodes);
    ll_flat_link(&w->meta, f[BATCH_BUFFERS].place, buffers);
    *l = (layout){ .nodes = nodes, .buffers = buffers };
    return at;
}

static void put_bit(writer *w, size_t at, int64_t i)
{
    w->stream.bytes[at + (size_t)(i >> 3)] |= (uint8_t)(1 << (i & 7));
}

static void put_valid(writer *w, const ll_ipc_column *c)
{
    if (count_nulls(w, c) == 0) return;
    const size_t at = ll_flat_put(&w->stream, (size_t)padded((w->n_rows + 7) / 8), 8);
    for (int64_t i = 0; i < w->n_rows && !w->stream.failed; i++)
        if (!is_null(c, i)) put_bit(w, at, i);
}

static void put_cells(writer *w, const ll_ipc_column *c)
{
    const size_t at = ll_flat_put(&w->stream, (size_t)padded(cell_bytes(w, c->kind)), 8);
    for (int64_t i = 0; i < w->n_rows && !w->stream.failed; i++) {
        const size_t  k = (size_t)i * c->stride;
        const int32_t small =
            c->kind == LL_IPC_WORD || c->kind == LL_IPC_SMALL ? ((const int32_t *)c->cell)[k] : 0;
        int64_t bits = small;
        assert(c->kind != LL_IPC_WORD || (small >= 0 && small < c->n_texts));
        if (c->kind == LL_IPC_FLAG) {
            if (((const uint8_t *)c->cell)[k] == 1) put_bit(w, at, i);
        } else if (c->kind == LL_IPC_WORD || c->kind == LL_IPC_SMALL) {
            ll_flat_put_int(&w->stream, at + 4 * (size_t)i, 4, bits);
        } else {
            memcpy(&bits, (const char *)c->cell + 8 * k, 8); /* a double as it lies, too */
            ll_flat_put_int(&w->stream, at + 8 * (size_t)i, 8, bits);
        }
    }
}

static void put_words(writer *w, size_t i)
{
    const ll_ipc_column *c = &w->column[i];
    layout               l = { 0 };
    size_t               header;
    ll_flat_field        f[WORDS_SLOTS] = {
               [WORDS_ID] = { .width = 8, .value = (int64_t)i }, [WORDS_DATA] = { .width = 4 }
    };
    note_words(w, c, &l);
    begin(w, HEADER_DICTIONARY, l.at, &header);
    ll_flat_link(&w->meta, header, ll_flat_put_table(&w->meta, f, WORDS_SLOTS));
    ll_flat_link(&w->meta, f[WORDS_DATA].place, put_batch(w, &l, c->n_texts));
    note_words(w, c, &l);
    end(w);
    const size_t offsets = ll_flat_put(&w->stream, (size_t)padded(4 * (c->n_texts + 1)), 8);
    const size_t text = ll_flat_put(&w->stream, (size_t)padded(text_bytes(c)), 8);
    size_t       at = 0;
    for (int64_t k = 0; k < c->n_texts && !w->stream.failed; k++) {
        const size_t n = strlen(c->text[k]);
        memcpy(w->stream.bytes + text + at, c->text[k], n);
        at += n;
        ll_flat_put_int(&w->stream, offsets + 4 * (size_t)(k + 1), 4, (int64_t)at);
    }
}

static void put_rows(writer *w)
{
    layout l = { 0 };
    size_t header;
    note_columns(w, &l);
    begin(w, HEADER_BATCH, l.at, &header);
    ll_flat_link(&w->meta, header, put_batch(w, &l, w->n_rows));
    note_columns(w, &l);
    end(w);
    for (size_t i = 0; i < w->n_columns; i++) {
        put_valid(w, &w->column[i]);
        put_cells(w, &w->column[i]);
    }
}

llap_status ll_ipc_write(const ll_ipc_column *column, size_t n_columns, int64_t n_rows, char **out,
                         size_t *n)
{
    writer w = { .column = column, .n_columns = n_columns, .n_rows = n_rows };
    *out = NULL;
    *n = 0;
    for (size_t i = 0; i < n_columns; i++) /* offsets of text have 32 bits */
        if (column[i].kind == LL_IPC_WORD && text_bytes(&column[i]) > STREAM_MAX)
            return ll_fail(LLAP_ELIMIT, "arrow: more than %d bytes of names", STREAM_MAX);
    put_schema(&w);
    for (size_t i = 0; i < n_columns; i++)
        if (column[i].kind == LL_IPC_WORD) put_words(&w, i);
    put_rows(&w);
    const size_t end_at = ll_flat_put(&w.stream, 8, 8);
    ll_flat_put_int(&w.stream, end_at, 4, -1);
    ll_free(w.meta.bytes);
    if (w.meta.failed || w.stream.failed) {
        ll_free(w.stream.bytes);
        return LLAP_ENOMEM;
    }
    *out = (char *)w.stream.bytes;
    *n = w.stream.n;
    return LLAP_OK;
}
