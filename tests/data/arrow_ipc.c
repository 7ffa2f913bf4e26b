/* Streams of Arrow: what is written reads back as it was, any cut and any changed byte is refused
 * or harmless, and what pyarrow wrote (corpus/arrow_ipc) becomes the panel of its CSV. */
#include "arrow_frame.h"
#include "check.h"
#include "csv_text.h"
#include "panel_equal.h"

#include "base/alloc.h"
#include "base/file.h"
#include "data/arrow/arrow.h"
#include "data/arrow_ipc/arrow_ipc.h"

#include <stdio.h>

static const char *const places[] = { "Rome", "Z\xc3\xbcrich", "" };
static const int32_t     place[] = { 1, 0, 1, 0 };
static const int64_t     hour[] = { 0, 0, 3600000000000, 3600000000000 };
static const double      number[] = { 1.5, -1, NAN, 0.25, 1e300, 7, -0.0, 3 };
static const uint8_t     flag[] = { 1, 0, 2, 1 };
static const int32_t     small[] = { -5, 6, 7, 8 };

static const ll_ipc_column table[] = {
    { .name = "id", .kind = LL_IPC_WORD, .cell = place, .stride = 1, .text = places, .n_texts = 3 },
    { .name = "time", .kind = LL_IPC_INSTANT, .zone = "Europe/Rome", .cell = hour, .stride = 1 },
    { .name = "x", .kind = LL_IPC_NUMBER, .cell = number, .stride = 2 },
    { .name = "y", .kind = LL_IPC_NUMBER, .cell = number + 1, .stride = 2 },
    { .name = "flag", .kind = LL_IPC_FLAG, .cell = flag, .stride = 1 },
    { .name = "small", .kind = LL_IPC_SMALL, .cell = small, .stride = 1 },
    { .name = "large", .kind = LL_IPC_INTEGER, .cell = hour, .stride = 1 },
};
enum { COLUMNS = sizeof table / sizeof *table, ROWS = 4 };

static void what_is_written_reads_back(void **state)
{
    (void)state;
    struct ArrowArrayStream s;
    struct ArrowSchema      schema;
    struct ArrowArray       a;
    char                   *bytes;
    size_t                  n;
    CHECK_OK(ll_ipc_write(table, COLUMNS, ROWS, &bytes, &n));
    assert_true(n % 8 == 0 && ll_ipc_detect(bytes, n));
    CHECK_OK(ll_ipc_open(bytes, n, &s));
    assert_int_equal(s.get_schema(&s, &schema), 0);
    static const char *const format[] = { "i", "tsn:Europe/Rome", "g", "g", "b", "i", "l" };
    assert_int_equal(schema.n_children, COLUMNS);
    for (int i = 0; i < COLUMNS; i++) {
        assert_string_equal(schema.children[i]->format, format[i]);
        assert_string_equal(schema.children[i]->name, table[i].name);
    }
    assert_string_equal(schema.children[0]->dictionary->format, "u");
    assert_int_equal(s.get_next(&s, &a), 0);
    assert_int_equal(a.length, ROWS);
    assert_memory_equal(a.children[0]->buffers[1], place, sizeof place);
    assert_memory_equal(a.children[0]->dictionary->buffers[2], "RomeZ\xc3\xbcrich", 11);
    assert_memory_equal(a.children[1]->buffers[1], hour, sizeof hour);
    for (int r = 0; r < ROWS; r++) {
        const double *x = a.children[2]->buffers[1], *y = a.children[3]->buffers[1];
        assert_true(isnan(number[2 * r]) ? isnan(x[r]) : x[r] == number[2 * r]);
        assert_true(y[r] == number[2 * r + 1]);
    }
    assert_int_equal(a.children[2]->null_count, 1);
    assert_int_equal(*(const uint8_t *)a.children[2]->buffers[0], 13);
    assert_null(a.children[3]->buffers[0]);
    assert_int_equal(*(const uint8_t *)a.children[4]->buffers[1], 9);
    assert_int_equal(*(const uint8_t *)a.children[4]->buffers[0], 11);
    assert_memory_equal(a.children[5]->buffers[1], small, sizeof small);
    a.release(&a);
    assert_int_equal(s.get_next(&s, &a), 0);
    assert_null(a.release);
    schema.release(&schema);
    s.release(&s);
    ll_free(bytes);
}

static llap_status read_bytes(const void *bytes, size_t n, llap_panel **p)
{
    struct ArrowArrayStream s;
    *p = NULL;
    const llap_status st = ll_ipc_open(bytes, n, &s);
    return st == LLAP_OK ? ll_arrow_read(&s, &LL_CSV_DEFAULT, p, NULL) : st;
}

/* Every length but the whole (and what lies in front of the end of the stream) is too short. */
static void cut_anywhere(void **state)
{
    (void)state;
    char  *bytes;
    size_t n, whole = 0;
    CHECK_OK(ll_ipc_write(table, COLUMNS, ROWS, &bytes, &n));
    for (size_t k = 0; k <= n; k++) {
        struct ArrowArrayStream s;
        char                   *part = malloc(k + 1); /* of that length for the sanitizers */
        memcpy(part, bytes, k);
        char *exact = realloc(part, k == 0 ? 1 : k);
        if (ll_ipc_open(exact, k, &s) == LLAP_OK) {
            s.release(&s);
            whole++;
        }
        free(exact);
    }
    assert_int_equal(whole, 4); /* behind the schema, the dictionary, the batch, and the end */
    ll_free(bytes);
}

/* A changed byte gives a table or a message, and reads nothing outside. */
static void any_byte_changed(void **state)
{
    (void)state;
    static const unsigned char values[] = { 0, 1, 4, 0x7f, 0x80, 0xff };
    char                      *bytes;
    size_t                     n, refused = 0;
    CHECK_OK(ll_ipc_write(table, COLUMNS, ROWS, &bytes, &n));
    for (size_t k = 0; k < n; k++)
        for (size_t v = 0; v < sizeof values; v++) {
            const char  before = bytes[k];
            llap_panel *p;
            bytes[k] = (char)values[v];
            refused += read_bytes(bytes, n, &p) != LLAP_OK;
            llap_panel_destroy(p);
            bytes[k] = before;
        }
    assert_true(refused > n / 4);
    ll_free(bytes);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    llap_panel *p;
    char       *bytes;
    size_t      n;
    CHECK_OK(ll_ipc_write(table, COLUMNS, ROWS, &bytes, &n));
    CHECK_FAIL(read_bytes("ARROW1\0\0", 8, &p), LLAP_EFORMAT, "expected a stream");
    CHECK_FAIL(read_bytes(bytes, n - 4, &p), LLAP_EFORMAT, "ends within a message");
    CHECK_FAIL(read_bytes(bytes, 0, &p), LLAP_EFORMAT, "ends within a message");
    char *twice = malloc(2 * n);
    memcpy(twice, bytes, n);
    memcpy(twice + n, bytes, n);
    CHECK_FAIL(read_bytes(twice, 2 * n, &p), LLAP_EFORMAT, "goes on behind its end");
    memmove(twice + n - 8, bytes, n);
    CHECK_FAIL(read_bytes(twice, 2 * n - 8, &p), LLAP_EFORMAT, "a second schema");
    memcpy(twice + 1, bytes, n); /* wherever it lies */
    CHECK_OK(read_bytes(twice + 1, n, &p));
    llap_panel_destroy(p);
    free(twice);
    ll_free(bytes);
}

/* What pyarrow wrote (tests/fuzz/seeds_arrow_ipc.py), and the CSV of the same content; or what is
 * said of it. */
static void streams_of_pyarrow(void **state)
{
    (void)state;
    static const struct {
        const char *name, *csv, *says;
    } cases[] = {
        { "wide",
          "id,time,x\na,2024-01-01T00:00:00Z,1.5\na,2024-01-01T01:00:00Z,\n"
          "b,2024-01-01T00:00:00Z,-3\n",
          NULL },
        { "batches",
          "id,time,x\na,2024-01-01T00:00:00Z,1.5\na,2024-01-01T01:00:00Z,\n"
          "b,2024-01-01T00:00:00Z,-3\n",
          NULL },
        { "coded",
          "id,time,x\na,2024-01-01T00:00:00Z,1.5\na,2024-01-01T01:00:00Z,\n"
          "b,2024-01-01T00:00:00Z,-3\n",
          NULL },
        { "replaced", "id,time,x\na,2024-01-01T00:00:00Z,1\nb,2024-01-01T00:00:00Z,2\n", NULL },
        { "views",
          "id,time,x\na,2024-01-01T00:00:00Z,1.5\na,2024-01-01T01:00:00Z,\n"
          "a name of many bytes,2024-01-01T00:00:00Z,-3\n",
          NULL },
        { "large",
          "id,time,x\na,2024-01-01T00:00:00Z,1.5\na,2024-01-01T01:00:00Z,\n"
          "b,2024-01-01T00:00:00Z,-3\n",
          NULL },
        { "numbers",
          "time,b,i8,u16,f16,f32,u64\n2024-01-01,1,-1,65535,1,0.1,5\n"
          "2024-01-02,0,,2,-2,,6\n2024-01-03,1,3,3,0.5,2,7\n",
          NULL },
        { "lz4", NULL, "compressed" },
        { "decimals", NULL, "column 2 'x': decimals cannot be read" },
        { "lists", NULL, "column 2 'x': lists cannot be read" },
        { "delta", NULL, "additions to one cannot be read" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char        path[512], *bytes, found[600], wanted[600];
        size_t      n;
        llap_panel *p, *expected = NULL;
        snprintf(path, sizeof path, "%s/%s.seed", LLAP_CORPUS, cases[i].name);
        CHECK_OK(ll_file_read(path, 1 << 20, &bytes, &n));
        if (cases[i].csv == NULL) {
            CHECK_FAIL(read_bytes(bytes, n, &p), LLAP_EFORMAT, cases[i].says);
        } else {
            CHECK_OK(read_bytes(bytes, n, &p));
            CHECK_OK(ll_csv_read_memory("series.csv", cases[i].csv, strlen(cases[i].csv),
                                        &LL_CSV_DEFAULT, &expected, NULL));
            show(p, found, sizeof found);
            show(expected, wanted, sizeof wanted);
            assert_string_equal(found, wanted);
            llap_panel_destroy(p);
            llap_panel_destroy(expected);
        }
        ll_free(bytes);
    }
}

static llap_status there_and_back(void *user)
{
    char       *bytes = NULL;
    size_t      n = 0;
    llap_panel *p = NULL;
    llap_status st = ll_ipc_write(user, COLUMNS, ROWS, &bytes, &n);
    if (st == LLAP_OK) st = read_bytes(bytes, n, &p);
    llap_panel_destroy(p);
    ll_free(bytes);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    check_every_failed_allocation(there_and_back, (void *)table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back), cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(any_byte_changed),           cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(streams_of_pyarrow),         cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
