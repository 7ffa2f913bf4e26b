/* Messages to batches, every offset checked on the way. */
#include "base/alloc.h"
#include "base/error.h"
#include "data/arrow_ipc/arrow_ipc.h"
#include "data/arrow_ipc/schema.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { HEAD = 8, NODE = 16, BUFFER = 16, VIEW = 16 };
enum { WORDS_FREE = 1 << 24, WORDS_EACH = 4 };

typedef struct batch {
    struct ArrowArray array;
    struct batch     *next;
} batch;

typedef struct reader {
    ll_arena           arena;
    const uint8_t     *bytes;
    size_t             n, at; /* at: of the message that is read */
    bool               has_schema;
    ll_ipc_schema      schema;
    size_t            *slot;    /* [n] of a column: the first one with the same dictionary */
    struct ArrowArray *words;   /* [n] by slot; release NULL: has not come yet */
    uint64_t           n_words; /* of all batches: whoever reads a batch looks at all of them */
    batch             *first, *last, *given;
} reader;

/* ---- a message ---- */

typedef struct message {
    ll_flat        f;
    int            kind; /* HEADER_... */
    size_t         header;
    const uint8_t *body;
    size_t         n_body;
} message;

/* Sets *more to false at the end. */
static llap_status next_message(reader *r, message *m, bool *more)
{
    const size_t left = r->n - r->at;
    *more = false;
    if (left == 0 && r->has_schema) return LLAP_OK;
    if (left < HEAD) return ll_fail(LLAP_EFORMAT, "ends within a message");
    if (ll_flat_at(r->bytes + r->at, 4) != -1)
        return ll_fail(LLAP_EFORMAT, "expected a message, ff ff ff ff");
    const int64_t n = ll_flat_at(r->bytes + r->at + 4, 4);
    if (n == 0 && left > HEAD) return ll_fail(LLAP_EFORMAT, "goes on behind its end");
    if (n == 0) return LLAP_OK;
    if (n < 0 || n % 8 != 0 || (uint64_t)n > left - HEAD)
        return ll_fail(LLAP_EFORMAT, "metadata of %" PRId64 " bytes cannot be", n);
    *m = (message){ .f = { r->bytes + r->at + HEAD, (size_t)n, false } };
    const size_t  root = ll_flat_root(&m->f);
    const int64_t version = ll_flat_int(&m->f, root, MESSAGE_VERSION, 2, 0);
    const int64_t n_body = ll_flat_int(&m->f, root, MESSAGE_BODY, 8, 0);
    m->kind = (int)ll_flat_int(&m->f, root, MESSAGE_HEADER_TYPE, 1, 0);
    m->header = ll_flat_table(&m->f, root, MESSAGE_HEADER);
    if (m->f.bad || m->header == 0) return ll_fail(LLAP_EFORMAT, "metadata that cannot be read");
    if (version != VERSION_4 && version != VERSION_5)
        return ll_fail(LLAP_EFORMAT, "metadata of version %" PRId64 ", expected 4 or 5",
                       version + 1);
    if (n_body < 0 || n_body % 8 != 0 || (uint64_t)n_body > left - HEAD - (uint64_t)n)
        return ll_fail(LLAP_EFORMAT, "a body of %" PRId64 " bytes cannot be", n_body);
    m->body = m->f.bytes + n;
    m->n_body = (size_t)n_body;
    r->at += HEAD + (size_t)n + m->n_body;
    *more = true;
    return LLAP_OK;
}

/* ---- the buffers of a batch ---- */

typedef struct cursor { /* through the columns of a batch */
    reader  *r;
    message *m;
    size_t   nodes, n_nodes, buffers, n_buffers, counts, n_counts;
    size_t   node, buffer, count; /* that come next */
    int64_t  length;
} cursor;

static int64_t vector_at(const cursor *c, size_t place)
{
    return ll_flat_at(c->m->f.bytes + place, 8);
}

/* *at is NULL where it is empty. */
static llap_status next_buffer(cursor *c, const void **at, size_t *n)
{
    if (c->buffer == c->n_buffers) return ll_fail(LLAP_EFORMAT, "lacks a buffer");
    const size_t  place = c->buffers + BUFFER * c->buffer++;
    const int64_t from = vector_at(c, place), length = vector_at(c, place + 8);
    if (from < 0 || length < 0 || from % 8 != 0 || (uint64_t)from > c->m->n_body ||
        (uint64_t)length > c->m->n_body - (uint64_t)from)
        return ll_fail(LLAP_EFORMAT,
                       "a buffer of %" PRId64 " bytes at %" PRId64 " of a body of %zu cannot be",
                       length, from, c->m->n_body);
    *at = length == 0 ? NULL : c->m->body + from;
    *n = (size_t)length;
    return LLAP_OK;
}

/* Bytes of n cells of a kind, without those of text. */
static uint64_t bytes_of(ll_arrow_kind kind, uint64_t n)
{
    switch (kind) {
    case LL_ARROW_BOOL:
        return (n + 7) / 8;
    case LL_ARROW_I8:
    case LL_ARROW_U8:
        return n;
    case LL_ARROW_I16:
    case LL_ARROW_U16:
    case LL_ARROW_F16:
        return 2 * n;
    case LL_ARROW_I32:
    case LL_ARROW_U32:
    case LL_ARROW_F32:
    case LL_ARROW_DATE_DAYS:
    case LL_ARROW_CLOCK32:
        return 4 * n;
    case LL_ARROW_TEXT:
        return n == 0 ? 0 : 4 * (n + 1);
    case LL_ARROW_LARGE_TEXT:
        return n == 0 ? 0 : 8 * (n + 1);
    case LL_ARROW_TEXT_VIEW:
        return VIEW * n;
    default:
        return 8 * n;
    }
}

static llap_status need_bytes(uint64_t found, uint64_t needed)
{
    return found >= needed
               ? LLAP_OK
               : ll_fail(LLAP_EFORMAT, "expected a buffer of %" PRIu64 " bytes, found %" PRIu64,
                         needed, found);
}

/* Offsets go up, and end within the text. */
static llap_status check_offsets(const void *offsets, int width, int64_t n, size_t n_text)
{
    const int32_t *narrow = offsets;
    const int64_t *wide = offsets;
    int64_t        before = 0;
    for (int64_t i = 0; i <= n && n > 0; i++) {
        const int64_t here = width == 4 ? narrow[i] : wide[i];
        if (here < before || (uint64_t)here > n_text)
            return ll_fail(LLAP_EFORMAT, "row %" PRId64 ": text at byte %" PRId64 " of %zu", i,
                           here, n_text);
        before = here;
    }
    return LLAP_OK;
}

/* The further buffers of views, and behind them how long each is. */
static llap_status read_views(cursor *c, const void *const first[2], struct ArrowArray *a)
{
    const int64_t n = c->count < c->n_counts ? vector_at(c, c->counts + 8 * c->count++) : -1;
    if (n < 0 || (uint64_t)n > c->n_buffers - c->buffer)
        return ll_fail(LLAP_EFORMAT, "a number of buffers that cannot be");
    const void **buffer = ll_arena_new(&c->r->arena, (size_t)n + 3, sizeof *buffer);
    int64_t     *length = ll_arena_new(&c->r->arena, (size_t)n + 1, sizeof *length);
    llap_status  st = buffer == NULL || length == NULL ? LLAP_ENOMEM : LLAP_OK;
    for (int64_t i = 0; st == LLAP_OK && i < n; i++) {
        size_t bytes = 0;
        st = next_buffer(c, &buffer[i + 2], &bytes);
        length[i] = (int64_t)bytes;
    }
    if (st != LLAP_OK) return st;
    memcpy((void *)buffer, (const void *)first, 2 * sizeof *buffer);
    buffer[n + 2] = length;
    a->buffers = buffer;
    a->n_buffers = n + 3;
    return LLAP_OK;
}

static llap_status read_node(cursor *c, struct ArrowArray *a)
{
    if (c->node == c->n_nodes) return ll_fail(LLAP_EFORMAT, "lacks a column");
    const size_t  place = c->nodes + NODE * c->node++;
    const int64_t length = vector_at(c, place), nulls = vector_at(c, place + 8);
    if (length != c->length)
        return ll_fail(LLAP_EFORMAT, "expected %" PRId64 " rows, found %" PRId64, c->length,
                       length);
    if (nulls < 0 || nulls > length)
        return ll_fail(LLAP_EFORMAT, "%" PRId64 " nulls in %" PRId64 " rows", nulls, length);
    a->length = length;
    a->null_count = nulls;
    return LLAP_OK;
}

static void release_array(struct ArrowArray *a) { a->release = NULL; }

static llap_status read_cells(cursor *c, ll_arrow_kind kind, struct ArrowArray *a)
{
    const void *buffer[3] = { NULL };
    size_t      n_bits = 0, n_cells = 0, n_text = 0;
    const bool  text = kind == LL_ARROW_TEXT || kind == LL_ARROW_LARGE_TEXT;
    llap_status st = read_node(c, a);
    a->release = release_array;
    if (st != LLAP_OK || kind == LL_ARROW_NULL) return st;
    st = next_buffer(c, &buffer[0], &n_bits);
    if (st == LLAP_OK && (n_bits > 0 || a->null_count > 0))
        st = need_bytes(n_bits, bytes_of(LL_ARROW_BOOL, (uint64_t)a->length));
    if (st == LLAP_OK) st = next_buffer(c, &buffer[1], &n_cells);
    if (st == LLAP_OK) st = need_bytes(n_cells, bytes_of(kind, (uint64_t)a->length));
    if (st == LLAP_OK && text) st = next_buffer(c, &buffer[2], &n_text);
    if (st == LLAP_OK && text)
        st = check_offsets(buffer[1], kind == LL_ARROW_TEXT ? 4 : 8, a->length, n_text);
    if (st == LLAP_OK && kind == LL_ARROW_TEXT_VIEW) return read_views(c, buffer, a);
    if (st != LLAP_OK) return st;
    const void **kept = ll_arena_new(&c->r->arena, 3, sizeof *kept);
    if (kept == NULL) return LLAP_ENOMEM;
    memcpy((void *)kept, (const void *)buffer, sizeof buffer);
    a->buffers = kept;
    a->n_buffers = text ? 3 : 2;
    return LLAP_OK;
}

static llap_status cursor_init(cursor *c, reader *r, message *m, size_t table)
{
    ll_flat *f = &m->f;
    *c = (cursor){ .r = r, .m = m };
    c->length = ll_flat_int(f, table, BATCH_LENGTH, 8, 0);
    c->nodes = ll_flat_vector(f, table, BATCH_NODES, NODE, &c->n_nodes);
    c->buffers = ll_flat_vector(f, table, BATCH_BUFFERS, BUFFER, &c->n_buffers);
    c->counts = ll_flat_vector(f, table, BATCH_VARIADIC, 8, &c->n_counts);
    const bool packed = ll_flat_table(f, table, BATCH_PACKED) != 0;
    if (f->bad || table == 0) return ll_fail(LLAP_EFORMAT, "cannot be read");
    if (packed)
        return ll_fail(LLAP_EFORMAT, "its buffers are compressed: send them as they are, the whole "
                                     "stream by gzip if need be");
    /* no more than one for each bit that came: columns of nulls have no bytes */
    if (c->length < 0 || (uint64_t)c->length > 8 * (uint64_t)r->n)
        return ll_fail(LLAP_EFORMAT, "%" PRId64 " rows cannot be", c->length);
    return LLAP_OK;
}

static llap_status cursor_end(const cursor *c)
{
    return c->node == c->n_nodes && c->buffer == c->n_buffers && c->count == c->n_counts
               ? LLAP_OK
               : ll_fail(LLAP_EFORMAT, "has more columns or buffers than the schema");
}

/* ---- messages of each kind ---- */

static llap_status read_words(reader *r, message *m)
{
    cursor        c;
    size_t        slot = 0;
    const int64_t id = ll_flat_int(&m->f, m->header, WORDS_ID, 8, 0);
    const size_t  n = r->schema.n;
    const size_t  data = ll_flat_table(&m->f, m->header, WORDS_DATA);
    if (ll_flat_int(&m->f, m->header, WORDS_IS_DELTA, 1, 0) != 0)
        return ll_fail(LLAP_EFORMAT, "dictionary %" PRId64 ": additions to one cannot be read", id);
    while (slot < n && (r->schema.field[slot].type.index == LL_ARROW_NULL ||
                        r->schema.field[slot].dictionary != id))
        slot++;
    if (slot == n) return ll_fail(LLAP_EFORMAT, "dictionary %" PRId64 ": of no column", id);
    llap_status st = cursor_init(&c, r, m, data);
    r->words[slot] = (struct ArrowArray){ 0 };
    if (st == LLAP_OK) st = read_cells(&c, r->schema.field[slot].type.kind, &r->words[slot]);
    if (st == LLAP_OK) st = cursor_end(&c);
    return st == LLAP_OK ? st : ll_fail_in(st, "dictionary %" PRId64, id);
}

static llap_status read_column(cursor *c, size_t i, struct ArrowArray *a)
{
    reader             *r = c->r;
    const ll_ipc_field *k = &r->schema.field[i];
    const bool          coded = k->type.index != LL_ARROW_NULL;
    llap_status         st = read_cells(c, coded ? k->type.index : k->type.kind, a);
    if (st != LLAP_OK || !coded) return st;
    if (r->words[r->slot[i]].release == NULL)
        return ll_fail(LLAP_EFORMAT, "its dictionary has not come");
    struct ArrowArray *words = ll_arena_new(&r->arena, 1, sizeof *words);
    if (words == NULL) return LLAP_ENOMEM;
    *words = r->words[r->slot[i]];
    a->dictionary = words;
    r->n_words += (uint64_t)words->length;
    return r->n_words <= WORDS_EACH * (uint64_t)r->n + WORDS_FREE
               ? LLAP_OK
               : ll_fail(LLAP_EFORMAT, "a large dictionary and many small batches: send fewer");
}

static llap_status read_batch(reader *r, message *m)
{
    cursor              c;
    const size_t        n = r->schema.n;
    batch              *b = ll_arena_new(&r->arena, 1, sizeof *b);
    struct ArrowArray  *column = ll_arena_new(&r->arena, n, sizeof *column);
    struct ArrowArray **child = ll_arena_new(&r->arena, n, sizeof *child);
    llap_status         st = b == NULL || column == NULL || child == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK) st = cursor_init(&c, r, m, m->header);
    for (size_t i = 0; st == LLAP_OK && i < n; i++) {
        child[i] = &column[i];
        st = read_column(&c, i, &column[i]);
        if (st != LLAP_OK) st = ll_fail_in(st, "column %zu", i + 1);
    }
    if (st == LLAP_OK) st = cursor_end(&c);
    if (st != LLAP_OK) return ll_fail_in(st, "a batch");
    b->array = (struct ArrowArray){
        .length = c.length, .n_children = (int64_t)n, .children = child, .release = release_array
    };
    if (r->last != NULL) r->last->next = b;
    else r->first = b;
    r->last = b;
    return LLAP_OK;
}

/* Columns may share a dictionary, of one type. */
static llap_status read_schema(reader *r, message *m)
{
    llap_status st = ll_ipc_schema_read(&m->f, m->header, &r->arena, &r->schema);
    if (st != LLAP_OK) return st;
    r->slot = ll_arena_new(&r->arena, r->schema.n, sizeof *r->slot);
    r->words = ll_arena_new(&r->arena, r->schema.n, sizeof *r->words);
    if (r->slot == NULL || r->words == NULL) return LLAP_ENOMEM;
    for (size_t i = 0; i < r->schema.n; i++) {
        const ll_ipc_field *k = &r->schema.field[i], *first = r->schema.field;
        if (k->type.index == LL_ARROW_NULL) continue;
        while (first->type.index == LL_ARROW_NULL || first->dictionary != k->dictionary) first++;
        r->slot[i] = (size_t)(first - r->schema.field);
        if (strcmp(first->values.format, k->values.format) != 0)
            return ll_fail(LLAP_EFORMAT, "dictionary %" PRId64 ": of two types", k->dictionary);
    }
    r->has_schema = true;
    return LLAP_OK;
}

static llap_status read_message(reader *r, message *m)
{
    if ((m->kind == HEADER_SCHEMA) == r->has_schema)
        return ll_fail(LLAP_EFORMAT, r->has_schema ? "a second schema" : "expected a schema");
    switch (m->kind) {
    case HEADER_SCHEMA:
        return read_schema(r, m);
    case HEADER_DICTIONARY:
        return read_words(r, m);
    case HEADER_BATCH:
        return read_batch(r, m);
    default:
        return ll_fail(LLAP_EFORMAT, "a message of an unknown kind");
    }
}

static llap_status read_all(reader *r)
{
    message m;
    bool    more = true;
    while (more) {
        const size_t from = r->at;
        llap_status  st = next_message(r, &m, &more);
        if (st == LLAP_OK && more) st = read_message(r, &m);
        if (st != LLAP_OK) return ll_fail_in(st, "arrow: byte %zu", from);
    }
    return r->has_schema ? LLAP_OK : ll_fail(LLAP_EFORMAT, "arrow: has no schema");
}

/* ---- shown as a stream of the C data interface ---- */

static int get_schema(struct ArrowArrayStream *s, struct ArrowSchema *out)
{
    reader *r = s->private_data;
    *out = r->schema.whole;
    return 0;
}

static int get_next(struct ArrowArrayStream *s, struct ArrowArray *out)
{
    reader *r = s->private_data;
    *out = r->given == NULL ? (struct ArrowArray){ 0 } : r->given->array;
    if (r->given != NULL) r->given = r->given->next;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *s)
{
    (void)s;
    return NULL;
}

static void release_reader(reader *r)
{
    ll_arena_deinit(&r->arena);
    ll_free(r);
}

static void release_stream(struct ArrowArrayStream *s)
{
    release_reader(s->private_data);
    s->release = NULL;
}

bool ll_ipc_detect(const void *bytes, size_t n)
{
    static const unsigned char stream[] = { 0xff, 0xff, 0xff, 0xff };
    return n >= sizeof stream && (memcmp(bytes, stream, sizeof stream) == 0 ||
                                  (n >= 6 && memcmp(bytes, "ARROW1", 6) == 0));
}

llap_status ll_ipc_open(const void *bytes, size_t n, struct ArrowArrayStream *out)
{
    *out = (struct ArrowArrayStream){ 0 };
    if (n >= 6 && memcmp(bytes, "ARROW1", 6) == 0)
        return ll_fail(LLAP_EFORMAT, "arrow: is a file (Feather): expected a stream");
    reader *r = ll_new(1, sizeof *r);
    if (r == NULL) return LLAP_ENOMEM;
    r->bytes = bytes;
    r->n = n;
    llap_status st = LLAP_OK;
    if ((uintptr_t)bytes % 8 != 0) { /* numbers are read as they lie */
        void *copy = ll_arena_new(&r->arena, n, 1);
        if (copy == NULL) st = LLAP_ENOMEM;
        else r->bytes = memcpy(copy, bytes, n);
    }
    if (st == LLAP_OK) st = read_all(r);
    if (st != LLAP_OK) {
        release_reader(r);
        return st;
    }
    r->given = r->first;
    *out = (struct ArrowArrayStream){ .get_schema = get_schema,
                                      .get_next = get_next,
                                      .get_last_error = get_last_error,
                                      .release = release_stream,
                                      .private_data = r };
    return LLAP_OK;
}
