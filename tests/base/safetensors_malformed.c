/* Every way a safetensors file can be wrong, and what the reader says about it. */
#include "check.h"

#include "base/safetensors.h"

#include <time.h>

typedef struct image {
    uint8_t *bytes;
    size_t   n;
} image;

/* A file of this header (length in front) and n_data bytes of data. */
static image file_of(const char *header, size_t n_header, size_t n_data)
{
    image f = { .n = 8 + n_header + n_data };
    f.bytes = ll_new_aligned(f.n, 1);
    for (int i = 0; i < 8; i++) f.bytes[i] = (uint8_t)((uint64_t)n_header >> 8 * i);
    memcpy(f.bytes + 8, header, n_header);
    return f;
}

/* The handle's fixed part: what a file of no tensors costs. */
static int64_t fixed_bytes(void)
{
    static int64_t fixed;
    if (fixed == 0) {
        image       f = file_of("{}", 2, 0);
        ll_tensors *t;
        fixed = -ll_alloc_bytes();
        CHECK_OK(ll_tensors_view(f.bytes, f.n, "f", &t));
        fixed += ll_alloc_bytes();
        ll_tensors_close(t);
        ll_free(f.bytes);
        assert_true(fixed <= 256);
    }
    return fixed;
}

/* Reads it, expects this in the message (NULL: it is fine), and bounds the memory it took. */
static void expect(const image *f, const char *message)
{
    ll_tensors   *t = (ll_tensors *)(uintptr_t)1;
    const int64_t fixed = fixed_bytes(), live = ll_alloc_live(), before = ll_alloc_bytes();
    if (message == NULL) CHECK_OK(ll_tensors_view(f->bytes, f->n, "f", &t));
    else CHECK_FAIL(ll_tensors_view(f->bytes, f->n, "f", &t), LLAP_EFORMAT, message);
    assert_true(ll_alloc_bytes() - before <= fixed + (int64_t)f->n);
    assert_true((t == NULL) == (message != NULL));
    ll_tensors_close(t);
    assert_int_equal(ll_alloc_live(), live);
}

static void expect_header(const char *header, size_t n_data, const char *message)
{
    image f = file_of(header, strlen(header), n_data);
    expect(&f, message);
    ll_free(f.bytes);
}

static void lengths_are_checked_first(void **state)
{
    (void)state;
    for (size_t n = 0; n < 8; n++) {
        char message[64];
        snprintf(message, sizeof message, "f: %zu bytes, too short for a safetensors file", n);
        image f = { (uint8_t[8]){ 0 }, n };
        expect(&f, message);
    }
    image f = { NULL, 0 };
    expect(&f, "f: 0 bytes, too short");
    f = file_of("{}", 2, 6);
    f.bytes[0] = 9;
    expect(&f, "f: header of 9 bytes, but only 8 follow");
    f.bytes[0] = 0;
    expect(&f, "f: header byte 0: expected '{'");
    memset(f.bytes, 0xff, 8);
    expect(&f, "f: header of 18446744073709551615 bytes, the limit is 100000000");
    memcpy(f.bytes, "\x01\xe1\xf5\x05\0\0\0\0", 8);
    expect(&f, "f: header of 100000001 bytes, the limit is 100000000");
    f.bytes[0] = 0;
    expect(&f, "f: header of 100000000 bytes, but only 8 follow");
    ll_free(f.bytes);
}

#define T "{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]}"
#define U8(begin, end) \
    "{\"dtype\":\"U8\",\"shape\":[" #end "],\"data_offsets\":[" #begin "," #end "]}"

static const struct {
    const char *header;
    size_t      n_data;
    const char *message; /* NULL: accepted */
} header_cases[] = {
    /* the object */
    { "{}", 0, NULL },
    { "{}      ", 0, NULL },
    { " {}", 0, "f: header byte 0: expected '{'" },
    { "[]", 0, "f: header byte 0: expected '{'" },
    { "{}\n", 0, "f: header byte 2: expected only spaces behind the closing '}', found byte 0x0a" },
    { "{}  x", 0, "f: header byte 4: expected only spaces behind the closing '}', found 'x'" },
    { "{", 0, "f: header byte 1: expected '\"', found the end of the header" },
    { "{a:1}", 0, "f: header byte 1: expected '\"', found 'a'" },
    { "{\"a\"", 0, "f: header byte 4: expected ':', found the end of the header" },
    { "{\"a\" 1}", 0, "f: header byte 5: expected ':', found '1'" },
    { "{\"a\":1}", 0, "f: header byte 5: expected '{', found '1'" },
    { "{\"a\":" T ",}", 8, "expected '\"', found '}'" },
    { "{\"a\":" T " \"b\":" T "}", 8, "expected ',' or '}', found '\"'" },
    { "{\"a\":" T, 8, "expected ',' or '}', found the end of the header" },
    { "{\r\n\t \"a\" : " T "\t}     ", 8, NULL },

    /* strings */
    { "{\"a", 0,
      "f: header byte 3: expected a string without control characters, closed by '\"', "
      "found the end of the header" },
    { "{\"a\nb\":1}", 0,
      "f: header byte 3: expected a string without control characters, closed "
      "by '\"', found byte 0x0a" },
    { "{\"a\xff\":1}", 0, "f: header byte 3: invalid UTF-8" },
    { "{\"\xed\xa0\x80\":1}", 0, "f: header byte 2: invalid UTF-8" },
    { "{}  \xff", 0, "f: header byte 4: invalid UTF-8" },
    { "{\"\\x\":1}", 0,
      "f: header byte 3: expected one of \" \\ / b f n r t u behind a backslash, "
      "found 'x'" },
    { "{\"\\", 0,
      "f: header byte 3: expected one of \" \\ / b f n r t u behind a backslash, found "
      "the end" },
    { "{\"\\u12g4\":1}", 0, "f: header byte 6: expected a hexadecimal digit, found 'g'" },
    { "{\"\\u12", 0, "f: header byte 6: expected a hexadecimal digit, found the end" },
    { "{\"\\u0000\":1}", 0, "f: header byte 2: NUL character in a string" },
    { "{\"\\ud800\":1}", 0, "f: header byte 2: surrogate without its other half" },
    { "{\"\\ud800\\n\":1}", 0, "f: header byte 2: surrogate without its other half" },
    { "{\"\\ud800\\u0041\":1}", 0, "f: header byte 2: surrogate without its other half" },
    { "{\"\\ud800\\ue000\":1}", 0, "f: header byte 2: surrogate without its other half" },
    { "{\"\\ud800\\uzzzz\":1}", 0, "f: header byte 10: expected a hexadecimal digit, found 'z'" },
    { "{\"\\udc00\":1}", 0, "f: header byte 2: surrogate without its other half" },
    { "{\"\\ue000 \\ud83d\\uDE00 \\\"\\\\\\/\\b\\f\\n\\r\\t\":" U8(0, 0) "}", 0, NULL },

    /* the three keys */
    { "{\"a\":{}}", 0, "f: tensor 'a': no 'dtype'" },
    { "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "f: tensor 'a': no 'shape'" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", 4, "f: tensor 'a': no 'data_offsets'" },
    { "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0, "f: tensor 'a': 'dtype' given twice" },
    { "{\"a\":{\"shape\":[],\"\\u0073hape\":[]}}", 0, "f: tensor 'a': 'shape' given twice" },
    { "{\"a\":{\"dtyp\":\"F32\"}}", 0, "f: tensor 'a': unknown key 'dtyp'" },
    { "{\"a\":{\"dtype\\u0020\":\"F32\"}}", 0, "f: tensor 'a': unknown key 'dtype '" },
    { "{\"a\":{\"data_offsets_and_more\":[]}}", 0, "f: tensor 'a': unknown key 'data_offsets_an'" },
    { "{\"a\\u001b\":{\"x\":1}}", 0, "f: tensor 'a\\x1b': unknown key 'x'" },
    { "{\"a\":{\"dtype\" \"F32\"}}", 0, "f: header byte 14: expected ':', found '\"'" },
    { "{\"a\":{\"dtype\":32}}", 0, "f: header byte 14: expected '\"', found '3'" },
    { "{\"a\":{\"dtype\":\"f32\"}}", 0, "f: tensor 'a': unknown dtype 'f32'" },
    { "{\"a\":{\"dtype\":\"F4\"}}", 0, "f: tensor 'a': unknown dtype 'F4'" },
    { "{\"a\":{\"dtype\":\"\"}}", 0, "f: tensor 'a': unknown dtype ''" },

    /* numbers */
    { "{\"a\":{\"shape\":2}}", 0, "f: header byte 14: expected '[', found '2'" },
    { "{\"a\":{\"shape\":[2", 0, "f: header byte 16: expected ',' or ']', found the end" },
    { "{\"a\":{\"shape\":[2,]}}", 0, "f: header byte 17: expected a whole number, found ']'" },
    { "{\"a\":{\"shape\":[,2]}}", 0, "f: header byte 15: expected a whole number, found ','" },
    { "{\"a\":{\"shape\":[-1]}}", 0, "f: header byte 15: expected a whole number, found '-'" },
    { "{\"a\":{\"shape\":[1.0]}}", 0, "f: header byte 16: expected ',' or ']', found '.'" },
    { "{\"a\":{\"shape\":[1e3]}}", 0, "f: header byte 16: expected ',' or ']', found 'e'" },
    { "{\"a\":{\"shape\":[\"1\"]}}", 0, "f: header byte 15: expected a whole number, found '\"'" },
    { "{\"a\":{\"shape\":[[1]]}}", 0, "f: header byte 15: expected a whole number, found '['" },
    { "{\"a\":{\"shape\":[01]}}", 0, "f: header byte 15: number with a leading zero" },
    { "{\"a\":{\"shape\":[00]}}", 0, "f: header byte 15: number with a leading zero" },
    { "{\"a\":{\"shape\":[9223372036854775808]}}", 0,
      "f: header byte 15: number larger than 9223372036854775807" },
    { "{\"a\":{\"shape\":[1,99999999999999999999]}}", 0,
      "f: header byte 17: number larger than 9223372036854775807" },
    { "{\"a\":{\"shape\":[1,1,1,1,1,1,1,1,1]}}", 0, "f: header byte 31: more than 8 dimensions" },
    { "{\"a\":{\"data_offsets\":[]}}", 0, "f: header byte 22: expected a whole number, found ']'" },
    { "{\"a\":{\"data_offsets\":[0]}}", 0, "f: header byte 23: expected ',', found ']'" },
    { "{\"a\":{\"data_offsets\":[0,4,8]}}", 0, "f: header byte 25: expected ']', found ','" },
    { "{\"a\":{\"data_offsets\":{}}}", 0, "f: header byte 21: expected '[', found '{'" },

    /* sizes and places */
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[64,32],\"data_offsets\":[0,4096]}}", 4096,
      "f: tensor 'a': shape [64,32] of F32 needs 8192 bytes, data_offsets give 4096" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,0]}}", 0,
      "f: tensor 'a': shape [] of F32 needs 4 bytes, data_offsets give 0" },
    { "{\"a\":{\"dtype\":\"F64\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
      "f: tensor 'a': shape [4294967296,4294967296] of F64 does not fit in memory" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", 0,
      "f: tensor 'a': shape [4611686018427387904] of F32 does not fit in memory" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[9223372036854775807,9223372036854775807", 0,
      "expected ',' or ']', found the end of the header" },
    { "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,0]}}", 4,
      "f: tensor 'a': data_offsets [4,0] are not within 4 bytes of data" },
    { "{\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]}}", 4,
      "f: tensor 'a': data_offsets [0,5] are not within 4 bytes of data" },
    { "{\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[9,9]}}", 4,
      "f: tensor 'a': data_offsets [9,9] are not within 4 bytes of data" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}   ", 4,
      "f: tensor 'a': data of F32 at byte 65 of the file, not a multiple of 4" },
    { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}  ", 4, NULL },
    { "{\"a\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}    ", 8,
      "f: tensor 'a': data of F64 at byte 66 of the file, not a multiple of 8" },

    /* tensors beside each other */
    { "{\"a\":" U8(0, 4) "}", 5, "f: 1 bytes of no tensor at the end" },
    { "{}", 3, "f: 3 bytes of no tensor at the end" },
    { "{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[1,4]}}", 4,
      "f: tensor 'a': 1 bytes of no tensor in front of it" },
    { "{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[5,6]},\"a\":" U8(0, 4) "}", 6,
      "f: tensor 'b': 1 bytes of no tensor in front of it" },
    { "{\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[3,6]},\"a\":" U8(0, 4) "}", 6,
      "f: tensor 'b': its data [3,6) overlaps tensor 'a'" },
    { "{\"b\":" U8(0, 4) ",\"a\":" U8(0, 4) "}", 4,
      "f: tensor 'b': its data [0,4) overlaps tensor 'a'" },
    { "{\"a\":" U8(0, 4) ",\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]}}", 4,
      "f: tensor 'b': its data [2,2) overlaps tensor 'a'" },
    { "{\"a\":" U8(0, 4) ",\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[4,4]}}", 4,
      NULL },
    { "{\"a\":" U8(0, 4) ",\"b\":{\"dtype\":\"U8\",\"shape\":[0,7],\"data_offsets\":[0,0]}}", 4,
      NULL },
    { "{\"a\":" U8(0, 4) ",\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[4,5]}}", 5,
      "f: tensor 'a' given twice" },
    { "{\"a\":" U8(0, 4) ",\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[4,5]}}", 5,
      "f: tensor 'a' given twice" },

    /* metadata */
    { "{\"__metadata__\":{}}", 0, NULL },
    { "{\"__metadata__\":{\"\":\"\"}}", 0, NULL },
    { "{\"\\u005f_metadata__\":{\"k\":\"v\"}}", 0, NULL },
    { "{\"__metadata__\":{},\"__metadata__\":{}}", 0, "f: '__metadata__' given twice" },
    { "{\"__metadata__\":null}", 0, "f: header byte 16: expected '{', found 'n'" },
    { "{\"__metadata__\":[]}", 0, "f: header byte 16: expected '{', found '['" },
    { "{\"__metadata__\":{\"k\":1}}", 0, "f: header byte 21: expected '\"', found '1'" },
    { "{\"__metadata__\":{\"k\":null}}", 0, "f: header byte 21: expected '\"', found 'n'" },
    { "{\"__metadata__\":{\"k\" \"v\"}}", 0, "f: header byte 21: expected ':', found '\"'" },
    { "{\"__metadata__\":{\"k\":\"v\"", 0, "expected ',' or '}', found the end of the header" },
    { "{\"__metadata__\":{\"k\":\"v\",\"j\":\"\",\"\\u006b\":\"w\"}}", 0,
      "f: metadata 'k' given twice" },
    { "{\"__metadata__\":" T "}", 0, "expected '\"', found '['" },
    { "{\"__metadata___\":" U8(0, 4) "}", 4, NULL },
    { "{\"__metadata__ and more\":" U8(0, 4) "}", 4, NULL },
};

static void headers_are_checked_to_the_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof header_cases / sizeof *header_cases; i++)
        expect_header(header_cases[i].header, header_cases[i].n_data, header_cases[i].message);
}

/* A cut or a changed byte anywhere is an error or another valid file, never more than that. */
static void every_cut_and_every_changed_byte_is_survived(void **state)
{
    (void)state;
    const char header[] = "{\"__metadata__\":{\"k\":\"\\ud83d\\ude00\"},\"a\":{\"dtype\":\"F32\","
                          "\"shape\":[2],\"data_offsets\":[0,8]},\"b\":"
                          "{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[8,9]}}   ";
    image      f = file_of(header, sizeof header - 1, 9);
    expect(&f, NULL);
    for (size_t n = 0; n < f.n; n++) {
        ll_tensors *t;
        assert_int_equal(ll_tensors_view(f.bytes, n, "f", &t), LLAP_EFORMAT);
        assert_null(t);
    }
    for (size_t i = 0; i < f.n; i++) {
        const uint8_t kept = f.bytes[i];
        for (int c = 0; c < 256; c++) {
            ll_tensors *t;
            f.bytes[i] = (uint8_t)c;
            if (ll_tensors_view(f.bytes, f.n, "f", &t) == LLAP_OK) ll_tensors_close(t);
        }
        f.bytes[i] = kept;
    }
    ll_free(f.bytes);
}

/* ---- headers made to cost the most ---- */

typedef struct builder {
    char  *text;
    size_t n;
} builder;

static void put(builder *b, const char *s)
{
    const size_t n = strlen(s);
    memcpy(b->text + b->n, s, n);
    b->n += n;
}

static builder new_builder(void) { return (builder){ ll_new(LL_TENSORS_HEADER_MAX, 1), 0 }; }

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Reads the header made, within bounds of memory and of time a hundred times what it takes. */
static void expect_soon(builder *b, size_t n_data, const char *message, const char *what)
{
    image        f = file_of(b->text, b->n, n_data);
    const double start = seconds();
    ll_free(b->text);
    expect(&f, message);
    const double spent = seconds() - start;
    print_message("             %s: %zu bytes of header in %.2f s\n", what, b->n, spent);
    assert_true(spent < 120);
    ll_free(f.bytes);
}

/* The size of these headers: all of the limit when the machine is given time for it. */
static size_t hostile_size(void)
{
    return getenv("LLAP_LONG_TESTS") != NULL ? LL_TENSORS_HEADER_MAX - 200 : 4000000;
}

/* Many tensors, each as short as can be. */
static void hostile_tensors(size_t size)
{
    char    piece[128];
    builder b = new_builder();
    put(&b, "{");
    for (uint32_t i = 0; b.n < size; i++) { /* names in no order, none of them data */
        snprintf(piece, sizeof piece, "%s\"%x\":" U8(0, 0), i > 0 ? "," : "", i * 2654435761u);
        put(&b, piece);
    }
    put(&b, "}");
    expect_soon(&b, 0, NULL, "the most tensors");

    b = new_builder();
    put(&b, "{");
    const size_t n = size / 70; /* from the last place to the first */
    for (size_t i = 0; i < n; i++) {
        snprintf(piece, sizeof piece,
                 "%s\"%zx\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[%zu,%zu]}",
                 i > 0 ? "," : "", i * 7919 % n, n - 1 - i, n - i);
        if (b.n + strlen(piece) < LL_TENSORS_HEADER_MAX) put(&b, piece);
    }
    put(&b, "}");
    expect_soon(&b, n, NULL, "tensors in backward order");
}

/* Many keys, long keys, keys that differ late. */
static void hostile_metadata(size_t size)
{
    char    piece[128];
    builder b = new_builder();
    put(&b, "{\"__metadata__\":{");
    for (uint32_t i = 0; b.n < size; i++) {
        snprintf(piece, sizeof piece, "%s\"%x\":\"\"", i > 0 ? "," : "", i * 2654435761u);
        put(&b, piece);
    }
    put(&b, "}}");
    expect_soon(&b, 0, NULL, "the most metadata");

    static const uint32_t n_keys[] = { 2, 12, 13, 1000, 30000 };
    for (size_t k = 0; k < sizeof n_keys / sizeof *n_keys;
         k++) { /* long keys, alike but for the end */
        b = new_builder();
        put(&b, "{\"__metadata__\":{");
        for (uint32_t i = 0; i < n_keys[k]; i++) {
            put(&b, i > 0 ? ",\"" : "\"");
            const size_t same = size / n_keys[k] > 20 ? size / n_keys[k] - 20 : 0;
            memset(b.text + b.n, 'a', same);
            b.n += same;
            snprintf(piece, sizeof piece, "%08x\":\"\"", i * 2654435761u);
            put(&b, piece);
        }
        put(&b, "}}");
        expect_soon(&b, 0, NULL, "long keys");
    }

    b = new_builder();
    put(&b, "{\"__metadata__\":{");
    for (size_t i = 0; b.n + i < size;
         i++) { /* b, ab, aab, ...: one leaves the rest at each byte */
        put(&b, i > 0 ? ",\"" : "\"");
        memset(b.text + b.n, 'a', i);
        b.n += i;
        put(&b, "b\":\"\"");
    }
    put(&b, "}}");
    expect_soon(&b, 0, NULL, "keys of all lengths");
}

static void hostile_headers_cost_little(void **state)
{
    (void)state;
    const size_t size = hostile_size();
    hostile_tensors(size);
    hostile_metadata(size);
    builder b = new_builder();
    while (b.n < size) put(&b, "{\"a\":");
    expect_soon(&b, 0, "tensor 'a': unknown key 'a'", "nesting");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_checked_first),
        cmocka_unit_test(headers_are_checked_to_the_byte),
        cmocka_unit_test(every_cut_and_every_changed_byte_is_survived),
        cmocka_unit_test(hostile_headers_cost_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
