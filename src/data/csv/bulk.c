#include "data/csv/bulk.h"

#include "base/account.h"
#include "base/alloc.h"
#include "base/error.h"
#include "data/csv/marks.h"

#include <pthread.h>
#include <unistd.h>

enum {
    ROUND_BYTES = 4 << 20,  /* of text, shared by the threads */
    PART_BYTES = 256 << 10, /* less is not worth a thread */
    MOST_THREADS = 8,
    FIELDS = 256,
};

/* One thread's share of a round: lines in, rows out. */
typedef struct part {
    const ll_csv_reader *r;
    ll_clock             clock; /* a copy; its zone is shared, and immutable */
    char                *text;
    size_t               n;     /* bytes */
    size_t               taken; /* bytes of the usual rows, which come first */
    int64_t              n_rows, capacity;
    int64_t             *time;
    ll_csv_field        *entity;
    float               *value; /* [n_rows,r->n_row] */
    int64_t              suspects, grouped;
    bool                 no_memory;
    ll_alloc_account    *account; /* of the reader's thread */
    ll_csv_field         field[FIELDS];
    ll_number_memory     memory;
} part;

static bool reserve(part *q)
{
    if (q->n_rows < q->capacity) return true;
    const size_t capacity = (size_t)q->capacity * 2 + 1024;
    void        *time = ll_grow(q->time, capacity, sizeof *q->time);
    if (time != NULL) q->time = time;
    void *entity = time == NULL ? NULL : ll_grow(q->entity, capacity, sizeof *q->entity);
    if (entity != NULL) q->entity = entity;
    void *value =
        entity == NULL ? NULL : ll_grow(q->value, capacity * q->r->n_row, sizeof *q->value);
    if (value != NULL) q->value = value;
    q->no_memory = value == NULL;
    if (value != NULL) q->capacity = (int64_t)capacity;
    return value != NULL;
}

static bool read_cell(part *q, const ll_csv_field *f, char decimal, float *x)
{
    if (f->len == 0) {
        *x = NAN;
        return true;
    }
    if (ll_number_recall(&q->memory, f->text, f->len, decimal, x) != LL_NUMBER_FINITE) {
        *x = NAN;
        if (ll_csv_is_missing_word(*f)) return true;
        if (ll_csv_number(*f, decimal, x) != LL_NUMBER_FINITE) return false;
        q->grouped++;
    }
    q->suspects += *x <= -99 || *x >= 1e20f;
    return true;
}

/* The fields of a line to a row; false: it is not a usual one. */
static bool read_line(part *q, size_t n_fields)
{
    const ll_csv_reader *r = q->r;
    const ll_csv_field  *time = &q->field[r->time_column[0]];
    if (n_fields != r->schema.n_columns || time->len == 0 || !reserve(q)) return false;
    if (ll_clock_read(&q->clock, time->text, time->len, r->schema.decimal, &q->time[q->n_rows]) !=
        LLAP_OK)
        return false;
    float *row = q->value + q->n_rows * r->n_row;
    for (uint32_t v = 0; v < r->n_row; v++) row[v] = NAN;
    for (const ll_csv_use *use = r->use; use < r->use + r->n_use; use++) {
        const ll_csv_field *f = &q->field[use->column];
        if (use->plain ? !read_cell(q, f, r->schema.decimal, &row[use->var]) : f->len > 0)
            return false;
    }
    if (r->entity_column < r->schema.n_columns) {
        q->entity[q->n_rows] = q->field[r->entity_column];
        if (q->entity[q->n_rows].len == 0) return false;
    }
    q->n_rows++;
    return true;
}

static void *read_part(void *user)
{
    part       *q = user;
    char *const end = q->text + q->n;
    const char  comment = q->r->schema.dialect.comment[0];
    for (char *p = q->text; p < end;) {
        if (comment != '\0' && *p == comment) break;
        size_t        n_fields;
        const int64_t grouped = q->grouped;
        const char   *line_end =
            ll_csv_cut_line(p, end, &q->r->schema.dialect, q->field, FIELDS, &n_fields);
        if (line_end == NULL || !read_line(q, n_fields)) {
            q->grouped = grouped; /* the reader counts them again */
            break;
        }
        p += line_end + 1 - p;
        q->taken = (size_t)(p - q->text);
    }
    return NULL;
}

/* What the copies of the clock saw, back to the reader's. */
static void merge_clock(ll_clock *c, const ll_clock *from)
{
    if (from->zoned && c->zoned && memcmp(c->suffix, from->suffix, sizeof c->suffix) != 0)
        c->mixed = true;
    if (from->zoned && !c->zoned) memcpy(c->suffix, from->suffix, sizeof c->suffix);
    c->zoned = c->zoned || from->zoned;
    c->unzoned = c->unzoned || from->unzoned;
    c->mixed = c->mixed || from->mixed;
}

static void *help(void *user)
{
    ll_alloc_account_join(((part *)user)->account);
    return read_part(user);
}

/* The rows of a part into the builder, then what it left over, one by one. */
static llap_status take_part(ll_csv_reader *r, part *q)
{
    llap_status   st = LLAP_OK;
    const int64_t line = r->tokens.next_line;
    merge_clock(&r->clock, &q->clock);
    r->variables.suspects += q->suspects;
    r->variables.grouped_cells += q->grouped;
    for (int64_t i = 0; i < q->n_rows && st == LLAP_OK; i++) {
        r->tokens.line = line + i;
        st = ll_csv_reader_row(r, q->entity[i], q->time[i], q->value + i * r->n_row);
    }
    r->report->lines += q->n_rows;
    ll_csv_tokens_take(&r->tokens, q->taken, q->n_rows);
    const size_t end = r->tokens.at + q->n - q->taken;
    while (st == LLAP_OK && r->tokens.at < end) {
        st = ll_csv_tokens_next(&r->tokens);
        if (st != LLAP_OK || r->tokens.n_fields == 0) break;
        r->report->lines++;
        st = ll_csv_reader_record(r);
    }
    return st;
}

/* Divides the text between the parts, at line ends. */
static int divide(const ll_csv_reader *r, part *parts, int n_parts, char *text, size_t n)
{
    int    k = 0;
    size_t from = 0;
    while (from < n) {
        size_t to = n * (size_t)(k + 1) / (size_t)n_parts;
        if (k + 1 == n_parts || to <= from) to = n;
        while (to < n && text[to - 1] != r->schema.dialect.line_end) to++;
        part *q = &parts[k++];
        q->text = text + from;
        q->n = to - from;
        q->taken = 0;
        q->n_rows = q->suspects = q->grouped = 0;
        q->clock = r->clock;
        from = to;
    }
    return k;
}

static llap_status read_round(ll_csv_reader *r, part *parts, int n_threads, char *text, size_t n)
{
    int n_parts = (int)(n / PART_BYTES) + 1;
    if (n_parts > n_threads) n_parts = n_threads;
    n_parts = divide(r, parts, n_parts, text, n);
    pthread_t thread[MOST_THREADS];
    bool      started[MOST_THREADS] = { false };
    for (int k = 1; k < n_parts; k++) {
        parts[k].account = ll_alloc_account_of();
        started[k] = pthread_create(&thread[k], NULL, help, &parts[k]) == 0;
    }
    (void)read_part(&parts[0]);
    bool no_memory = parts[0].no_memory;
    for (int k = 1; k < n_parts; k++) {
        if (started[k]) (void)pthread_join(thread[k], NULL);
        else (void)read_part(&parts[k]);
        no_memory = no_memory || parts[k].no_memory;
    }
    if (no_memory) return ll_fail(LLAP_ENOMEM, "out of memory for %zu bytes of text", n);
    llap_status st = LLAP_OK;
    for (int k = 0; k < n_parts && st == LLAP_OK; k++) st = take_part(r, &parts[k]);
    return st;
}

/* Whether the file can have usual rows at all. */
static bool suits(const ll_csv_reader *r)
{
    if (r->schema.is_long || r->schema.n_time != 1 || r->schema.n_columns > FIELDS - 64)
        return false;
    for (size_t i = 0; i < r->n_use; i++)
        if (!r->use[i].plain && !r->use[i].nothing) return false;
    return true;
}

static int count_threads(const ll_csv_reader *r)
{
    const long n = r->o->threads > 0 ? r->o->threads : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MOST_THREADS ? MOST_THREADS : (int)n;
}

llap_status ll_csv_bulk_read(ll_csv_reader *r)
{
    if (!suits(r)) return LLAP_OK;
    const int n_threads = count_threads(r);
    part     *parts = ll_new((size_t)n_threads, sizeof *parts);
    if (parts == NULL) return LLAP_ENOMEM;
    for (int k = 0; k < n_threads; k++) parts[k].r = r;
    llap_status st = LLAP_OK;
    size_t      n = 1;
    while (st == LLAP_OK && n > 0) {
        char *text;
        st = ll_csv_tokens_lines(&r->tokens, ROUND_BYTES, &text, &n);
        if (st == LLAP_OK && n > 0) st = read_round(r, parts, n_threads, text, n);
    }
    for (int k = 0; k < n_threads; k++) {
        ll_free(parts[k].time);
        ll_free(parts[k].entity);
        ll_free(parts[k].value);
    }
    ll_free(parts);
    return st;
}
