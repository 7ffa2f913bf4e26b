#include "check.h"

#include "data/csv/token.h"

#include <zlib.h>

/* Cuts text and joins what came out: fields by '|', records by '\n', quoted ones in <>. */
static llap_status cut_text(const char *text, size_t n, ll_csv_dialect dialect, size_t max,
                            char *out, size_t room, int64_t *last_line)
{
    ll_source    *s = NULL;
    ll_csv_tokens t = { 0 };
    llap_status   st = ll_source_open_memory("m.csv", text, n, &s);
    if (st == LLAP_OK) st = ll_csv_tokens_init(&t, s, max);
    t.dialect = dialect;
    const char *peek;
    size_t      n_peek;
    bool        all;
    if (st == LLAP_OK) st = ll_csv_tokens_peek(&t, &peek, &n_peek, &all);
    out[0] = '\0';
    size_t at = 0;
    while (st == LLAP_OK && (st = ll_csv_tokens_next(&t)) == LLAP_OK && t.n_fields > 0) {
        for (size_t i = 0; i < t.n_fields && at < room; i++)
            at += (size_t)snprintf(out + at, room - at, t.field[i].quoted ? "%s<%.*s>" : "%s%.*s",
                                   i == 0 ? "" : "|", (int)t.field[i].len, t.field[i].text);
        if (at < room) at += (size_t)snprintf(out + at, room - at, "\n");
        if (last_line != NULL) *last_line = t.line;
    }
    ll_csv_tokens_deinit(&t);
    ll_source_close(s);
    return st;
}

static const ll_csv_dialect comma = { ',', '"', '\n', "" }, blank = { ' ', '"', '\n', "" },
                            mac = { ';', '"', '\r', "" };

static void fields_are_cut(void **state)
{
    (void)state;
    static const struct {
        const char           *in, *out;
        const ll_csv_dialect *d;
    } cases[] = {
        { "", "", &comma },
        { "\n\n\r\n", "", &comma },
        { "a", "a\n", &comma },
        { "a,b\nc,d\n", "a|b\nc|d\n", &comma },
        { "a,b\r\nc,\r\n", "a|b\nc|\n", &comma },
        { ",", "|\n", &comma },
        { ",\n", "|\n", &comma },
        { "a,,\n\n\nb", "a||\nb\n", &comma },
        { "\xef\xbb\xbf"
          "a,b",
          "a|b\n", &comma },
        { "\"a,b\",c", "<a,b>|c\n", &comma },
        { "\"a\"\"b\",\"\"", "<a\"b>|<>\n", &comma },
        { "\"\"\r\n\"x\ny\",z\r\n", "<>\n<x\ny>|z\n", &comma },
        { "a\"b,c\"", "a\"b|c\"\n", &comma },
        { "a\rb,c", "a\rb|c\n", &comma },
        { "a;b\rc;d\r", "a|b\nc|d\n", &mac },
        { "  a  b\tc \n\t\n d\r\n", "a|b|c\nd\n", &blank },
        { "\"a b\" c", "<a b>|c\n", &blank },
        { "x,\"\"\"\"", "x|<\">\n", &comma },
    };
    char out[256];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_OK(
            cut_text(cases[i].in, strlen(cases[i].in), *cases[i].d, 1000, out, sizeof out, NULL));
        assert_string_equal(out, cases[i].out);
    }
}

static void lines_are_counted_and_named(void **state)
{
    (void)state;
    char    out[256];
    int64_t line;
    CHECK_OK(cut_text("a\n\n\"b\nc\"\nd\n", 11, comma, 1000, out, sizeof out, &line));
    assert_int_equal(line, 5);
    CHECK_FAIL(cut_text("a\nb,\"c", 6, comma, 1000, out, sizeof out, NULL), LLAP_EFORMAT,
               "m.csv:2: the quote of field 2 is never closed");
    CHECK_FAIL(cut_text("\"a\"b", 4, comma, 1000, out, sizeof out, NULL), LLAP_EFORMAT,
               "m.csv:1: text behind the closing quote of field 1");
    CHECK_FAIL(cut_text("a\nb\0c", 5, comma, 1000, out, sizeof out, NULL), LLAP_EFORMAT,
               "m.csv:2: holds a NUL byte");
}

/* Longer than the buffer at first, so that records are tried again after a refill. */
static char *long_text(size_t n)
{
    char *text = malloc(n);
    for (size_t i = 0; i < n; i++) {
        const size_t k = i % 7001;
        text[i] = k == 7000 ? '\n' : k % 11 == 10 ? ',' : (char)('a' + k % 3);
    }
    return text;
}

static void buffer_borders_do_not_show(void **state)
{
    (void)state;
    const size_t n = 3 * LL_CSV_PEEK + 1234, room = 4 * n;
    char        *text = long_text(n), *out = malloc(room);
    CHECK_OK(cut_text(text, n, comma, 10000, out, room, NULL));
    size_t differ = 0;
    for (size_t i = 0; i < n; i++) differ += out[i] != (text[i] == ',' ? '|' : text[i]);
    assert_int_equal(differ, 0);
    memset(text, '"', n);
    text[n / 2 * 2 - 1] = 'x';
    CHECK_FAIL(cut_text(text, n, comma, 10000, out, room, NULL), LLAP_ELIMIT,
               "m.csv:1: line is longer than 10000 bytes");
    free(text);
    free(out);
}

/* Latin-1 bytes and UTF-8 characters across the borders of reads, against the definition. */
static void other_bytes_become_characters(void **state)
{
    (void)state;
    static char text[20000], want[40000], found[40000];
    srand(11);
    for (int trial = 0; trial < 300; trial++) {
        size_t n = 0, m = 0;
        while (n < sizeof text - 8) {
            const int kind = rand() % (trial % 2 ? 4 : 40);
            if (kind == 0) { /* a byte that begins or continues nothing here */
                text[n++] = (char)0xe9;
                text[n++] = 'x';
                memcpy(want + m, "\xc3\xa9x", 3);
                m += 3;
            } else {
                const char *valid = kind == 1   ? "\xe2\x82\xac"
                                    : kind == 2 ? "\xf0\x9f\x98\x80"
                                                : "a";
                memcpy(text + n, valid, strlen(valid));
                memcpy(want + m, valid, strlen(valid));
                n += strlen(valid);
                m += strlen(valid);
            }
        }
        ll_source *s;
        CHECK_OK(ll_source_open_memory("m", text, n, &s));
        ll_utf8_reader u = { .source = s };
        size_t         at = 0, got;
        do {
            CHECK_OK(ll_utf8_read(&u, found + at, 8 + (size_t)rand() % 300, &got));
            at += got;
        } while (got > 0);
        assert_int_equal(at, m);
        assert_memory_equal(found, want, m);
        ll_utf8_deinit(&u);
        ll_source_close(s);
    }
}

static size_t pack(const void *text, size_t n, unsigned char *out, size_t room)
{
    z_stream z = { .next_in = (unsigned char *)(uintptr_t)text,
                   .avail_in = (uInt)n,
                   .next_out = out,
                   .avail_out = (uInt)room };
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return room - z.avail_out;
}

static void gzip_is_unpacked(void **state)
{
    (void)state;
    unsigned char packed[400];
    char          out[256];
    size_t        n = pack("a,b\n", 4, packed, 200);
    n += pack("c,d\n", 4, packed + n, 200); /* two members in a row */
    CHECK_OK(cut_text((char *)packed, n, comma, 100, out, sizeof out, NULL));
    assert_string_equal(out, "a|b\nc|d\n");
    CHECK_FAIL(cut_text((char *)packed, n - 3, comma, 100, out, sizeof out, NULL), LLAP_EFORMAT,
               "m.csv: gzip data ends too early");
    packed[12] ^= 0x55;
    CHECK_FAIL(cut_text((char *)packed, n, comma, 100, out, sizeof out, NULL), LLAP_EFORMAT,
               "m.csv: damaged gzip data");
}

static llap_status cut_packed(void *user)
{
    unsigned char *packed = user;
    char           out[64];
    return cut_text((char *)packed, pack("a,\"b\"\"\"\n", 8, packed, 200), comma, 100, out,
                    sizeof out, NULL);
}

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    unsigned char packed[200];
    check_every_failed_allocation(cut_packed, packed);
}

static void sources_that_are_none_are_named(void **state)
{
    (void)state;
    ll_source *s;
    CHECK_FAIL(ll_source_open("/no/such/file", &s), LLAP_ENOTFOUND, "/no/such/file");
    assert_null(s);
    CHECK_FAIL(ll_source_open("/tmp", &s), LLAP_EINVAL, "/tmp: is a directory");
    ll_source_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_cut),
        cmocka_unit_test(lines_are_counted_and_named),
        cmocka_unit_test(buffer_borders_do_not_show),
        cmocka_unit_test(other_bytes_become_characters),
        cmocka_unit_test(gzip_is_unpacked),
        cmocka_unit_test(failing_allocations_lose_nothing),
        cmocka_unit_test(sources_that_are_none_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
