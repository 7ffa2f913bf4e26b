/* Reading and writing safetensors: what goes in comes out, and our own bytes stay what they are. */
#include "check.h"

#include "base/file.h"
#include "base/safetensors.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct image {
    char  *bytes;
    size_t n;
} image;

static char folder[] = "/tmp/llap-tensors-XXXXXX";
static char path_a[64], path_b[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return 1;
    snprintf(path_a, sizeof path_a, "%s/a.safetensors", folder);
    snprintf(path_b, sizeof path_b, "%s/b.safetensors", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path_a);
    unlink(path_b);
    return rmdir(folder);
}

static llap_status written(ll_tensors_writer *w, image *out)
{
    *out = (image){ 0 };
    FILE *f = open_memstream(&out->bytes, &out->n);
    assert_non_null(f);
    const llap_status st = ll_tensors_writer_write(w, f);
    fclose(f);
    return st;
}

/* A writer with all that a file holds, the tensors in reverse. */
static llap_status copy_of(const ll_tensors *t, ll_tensors_writer **out)
{
    llap_status st = ll_tensors_writer_create(out);
    for (size_t i = ll_tensors_count(t); i > 0 && st == LLAP_OK; i--) {
        const ll_tensor_info x = ll_tensors_at(t, i - 1);
        st = ll_tensors_writer_add(*out, x.name, x.dtype, x.rank, x.shape, x.data);
    }
    for (size_t i = ll_tensors_metadata_count(t); i > 0 && st == LLAP_OK; i--) {
        const ll_metadata m = ll_tensors_metadata_at(t, i - 1);
        st = ll_tensors_writer_metadata(*out, m.key, m.value);
    }
    return st;
}

static void expect_same_tensor(const ll_tensor_info *x, const ll_tensor_info *y)
{
    assert_string_equal(x->name, y->name);
    assert_int_equal(x->dtype, y->dtype);
    assert_int_equal(x->rank, y->rank);
    assert_int_equal(x->n_bytes, y->n_bytes);
    assert_int_equal(x->n_elements, y->n_elements);
    for (int k = 0; k < x->rank; k++) assert_int_equal(x->shape[k], y->shape[k]);
    if (x->n_bytes > 0) assert_memory_equal(x->data, y->data, x->n_bytes);
    assert_int_equal((uintptr_t)y->data % ll_dtype_size(y->dtype), 0);
}

static void expect_same(const ll_tensors *a, const ll_tensors *b)
{
    assert_int_equal(ll_tensors_count(a), ll_tensors_count(b));
    for (size_t i = 0; i < ll_tensors_count(a); i++) {
        const ll_tensor_info x = ll_tensors_at(a, i);
        ll_tensor_info       y;
        assert_true(ll_tensors_find(b, x.name, &y));
        expect_same_tensor(&x, &y);
    }
    assert_int_equal(ll_tensors_metadata_count(a), ll_tensors_metadata_count(b));
    for (size_t i = 0; i < ll_tensors_metadata_count(a); i++) {
        const ll_metadata m = ll_tensors_metadata_at(a, i);
        assert_string_equal(ll_tensors_metadata_at(b, i).key, m.key);
        assert_string_equal(ll_tensors_metadata(b, m.key), m.value);
    }
}

/* Writes what t holds to path_a, reads that, writes it again to path_b: equal content, equal
 * bytes. */
static void expect_survives(const ll_tensors *t)
{
    ll_tensors_writer *w;
    ll_tensors        *again;
    ll_map             a, b;
    CHECK_OK(copy_of(t, &w));
    CHECK_OK(ll_tensors_writer_save(w, path_a));
    ll_tensors_writer_destroy(w);
    CHECK_OK(ll_tensors_open(path_a, &again));
    expect_same(t, again);
    expect_same(again, t);
    CHECK_OK(copy_of(again, &w));
    CHECK_OK(ll_tensors_writer_save(w, path_b));
    ll_tensors_writer_destroy(w);
    ll_tensors_close(again);
    CHECK_OK(ll_map_open(path_a, &a));
    CHECK_OK(ll_map_open(path_b, &b));
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    ll_map_close(&a);
    ll_map_close(&b);
}

static void expect_writer_survives(ll_tensors_writer *w)
{
    ll_tensors *t;
    CHECK_OK(ll_tensors_writer_save(w, path_a));
    CHECK_OK(ll_tensors_open(path_a, &t));
    expect_survives(t);
    ll_tensors_close(t);
}

/* ---- the canonical form ---- */

static void the_written_bytes_are_these(void **state)
{
    (void)state;
    static const char expected[] =
        "\xf8\0\0\0\0\0\0\0{\"__metadata__\":{\"a\":\"1\",\"b\":\"\\\"\\\\\\u000a\xc3\xbc\"},"
        "\"w\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]},"
        "\"e\":{\"dtype\":\"F32\",\"shape\":[2,0],\"data_offsets\":[8,8]},"
        "\"a\":{\"dtype\":\"I8\",\"shape\":[3],\"data_offsets\":[8,11]}}  ";
    const double       pi = 3.25;
    ll_tensors_writer *w;
    image              f;
    CHECK_OK(ll_tensors_writer_create(&w));
    CHECK_OK(ll_tensors_writer_add(w, "a", LL_I8, 1, (int64_t[]){ 3 }, "xyz"));
    CHECK_OK(ll_tensors_writer_metadata(w, "b", "\"\\\n\xc3\xbc"));
    CHECK_OK(ll_tensors_writer_add(w, "e", LL_F32, 2, (int64_t[]){ 2, 0 }, NULL));
    CHECK_OK(ll_tensors_writer_metadata(w, "a", "1"));
    CHECK_OK(ll_tensors_writer_add(w, "w", LL_F64, 0, NULL, &pi));
    CHECK_OK(written(w, &f));
    assert_int_equal(f.n, 256 + 11);
    assert_memory_equal(f.bytes, expected, sizeof expected - 1);
    for (size_t i = sizeof expected - 1; i < 256; i++) assert_int_equal(f.bytes[i], ' ');
    assert_memory_equal(f.bytes + 256, &pi, 8);
    assert_memory_equal(f.bytes + 264, "xyz", 3);

    ll_tensors    *t;
    ll_tensor_info x;
    CHECK_OK(ll_tensors_view(f.bytes, f.n, "f", &t));
    assert_int_equal(ll_tensors_count(t), 3);
    assert_string_equal(ll_tensors_at(t, 0).name, "w");
    assert_string_equal(ll_tensors_at(t, 1).name, "e");
    assert_string_equal(ll_tensors_at(t, 2).name, "a");
    assert_int_equal(ll_tensors_at(t, 0).n_elements, 1);
    assert_true(ll_tensors_find(t, "a", &x));
    assert_ptr_equal(x.data, f.bytes + 264);
    assert_false(ll_tensors_find(t, "b", &x));
    assert_string_equal(ll_tensors_metadata(t, "b"), "\"\\\n\xc3\xbc");
    assert_null(ll_tensors_metadata(t, "c"));
    assert_null(ll_tensors_metadata(t, ""));
    ll_tensors_close(t);
    free(f.bytes);
    ll_tensors_writer_destroy(w);
}

static void nothing_metadata_only_and_tensors_only(void **state)
{
    (void)state;
    static const char *const headers[] = { "{} ", "{\"\":{\"dtype\":\"U8\",\"shape\":[],",
                                           "{\"__metadata__\":{\"k\":\"v\"},\"\":{",
                                           "{\"__metadata__\":{\"k\":\"v\"}} " };
    for (int i = 0; i < 4; i++) {
        ll_tensors_writer *w;
        image              f;
        CHECK_OK(ll_tensors_writer_create(&w));
        if (i == 1 || i == 2) CHECK_OK(ll_tensors_writer_add(w, "", LL_U8, 0, NULL, "x"));
        if (i >= 2) CHECK_OK(ll_tensors_writer_metadata(w, "k", "v"));
        CHECK_OK(written(w, &f));
        assert_memory_equal(f.bytes + 8, headers[i], strlen(headers[i]));
        expect_writer_survives(w);
        free(f.bytes);
        ll_tensors_writer_destroy(w);
    }
}

#define LONG_NAME "a.name.of.many.parts.that.goes.on.longer.than.any.buffer.within.the.reader.of.it"

static void every_dtype_shape_and_name_survives(void **state)
{
    (void)state;
    static const char *const names[] = { "",
                                         " ",
                                         "\"",
                                         "\\",
                                         "\\u0041",
                                         "a/b",
                                         "\b\f\n\r",
                                         "\x01",
                                         "\x7f",
                                         "\xc2\x80",
                                         "T\xc3\xbcr",
                                         "\xe2\x82\xac",
                                         "\xf0\x9f\x98\x80",
                                         "__metadata",
                                         "__metadata___",
                                         LONG_NAME };
    static const int64_t     shapes[][8] = {
            { 1 }, { 0 }, { 3, 7 }, { 5, 0, 3 }, { 1, 2, 1, 2, 1, 2, 1, 2 }, { 33 }
    };
    static const int ranks[] = { 0, 1, 2, 3, 8, 1 };
    static uint64_t  data[64];
    uint8_t         *bytes = (uint8_t *)data;
    for (size_t i = 0; i < sizeof data; i++) bytes[i] = (uint8_t)(i * 151 + 7);
    ll_tensors_writer *w;
    CHECK_OK(ll_tensors_writer_create(&w));
    for (int d = 0; d < LL_DTYPE_COUNT; d++) {
        for (int k = 0; k < 6; k++) {
            char name[256];
            snprintf(name, sizeof name, "%s%s.%d", names[d], ll_dtype_name((ll_dtype)d), k);
            CHECK_OK(ll_tensors_writer_add(w, k == 0 ? names[d] : name, (ll_dtype)d, ranks[k],
                                           shapes[k], bytes + 8 * k));
        }
        CHECK_OK(ll_tensors_writer_metadata(w, names[d], names[LL_DTYPE_COUNT - 1 - d]));
    }
    expect_writer_survives(w);
    ll_tensors *t;
    CHECK_OK(ll_tensors_open(path_a, &t));
    assert_int_equal(ll_tensors_count(t), 6 * LL_DTYPE_COUNT);
    for (int d = 0; d < LL_DTYPE_COUNT; d++) {
        ll_tensor_info x;
        CHECK_OK(ll_tensors_require(t, names[d], (ll_dtype)d, 0, NULL, &x));
        assert_memory_equal(x.data, bytes, ll_dtype_size((ll_dtype)d));
    }
    ll_tensors_close(t);
    ll_tensors_writer_destroy(w);
}

static void ten_thousand_tensors_survive(void **state)
{
    (void)state;
    static uint64_t    data[8];
    ll_tensors_writer *w;
    CHECK_OK(ll_tensors_writer_create(&w));
    for (unsigned i = 0; i < 10000; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer.%u", i * 7919 % 10007);
        CHECK_OK(ll_tensors_writer_add(w, name, (ll_dtype)(i % LL_DTYPE_COUNT), 1,
                                       (int64_t[]){ i % 8 }, data));
    }
    expect_writer_survives(w);
    ll_tensors_writer_destroy(w);
}

/* ---- looking ---- */

static void a_required_tensor_is_compared(void **state)
{
    (void)state;
    static const float wq[64 * 32];
    ll_tensors_writer *w;
    ll_tensors        *t;
    ll_tensor_info     x;
    CHECK_OK(ll_tensors_writer_create(&w));
    CHECK_OK(ll_tensors_writer_add(w, "wq", LL_F32, 2, (int64_t[]){ 64, 32 }, wq));
    CHECK_OK(ll_tensors_writer_save(w, path_a));
    ll_tensors_writer_destroy(w);
    CHECK_OK(ll_tensors_open(path_a, &t));
    CHECK_OK(ll_tensors_require(t, "wq", LL_F32, 2, (int64_t[]){ 64, 32 }, &x));
    assert_int_equal(x.n_elements, 64 * 32);
    CHECK_OK(ll_tensors_require(t, "wq", LL_F32, 2, (int64_t[]){ -1, 32 }, &x));
    CHECK_FAIL(ll_tensors_require(t, "wq", LL_F32, 2, (int64_t[]){ 64, 64 }, &x), LLAP_EFORMAT,
               "wq: expected F32 [64,64], found F32 [64,32]");
    CHECK_FAIL(ll_tensors_require(t, "wq", LL_F32, 2, (int64_t[]){ 65, -1 }, &x), LLAP_EFORMAT,
               "wq: expected F32 [65,?], found F32 [64,32]");
    CHECK_FAIL(ll_tensors_require(t, "wq", LL_F32, 3, (int64_t[]){ 64, 32, 1 }, &x), LLAP_EFORMAT,
               "wq: expected F32 [64,32,1], found F32 [64,32]");
    CHECK_FAIL(ll_tensors_require(t, "wq", LL_BF16, 2, (int64_t[]){ 64, 32 }, &x), LLAP_EFORMAT,
               "wq: expected BF16 [64,32], found F32 [64,32]");
    CHECK_FAIL(ll_tensors_require(t, "wk", LL_F32, 0, NULL, &x), LLAP_EFORMAT,
               "wk: expected F32 [], found no such tensor");
    ll_tensors_close(t);
    ll_tensors_close(NULL);
}

static void empty_tensors_at_one_place_come_by_name(void **state)
{
    (void)state;
    static const char text[] = "\x9c\0\0\0\0\0\0\0"
                               "{\"c\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},"
                               "\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
                               "\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}x";
    ll_tensors       *t;
    CHECK_OK(ll_tensors_view(text, sizeof text - 1, "f", &t));
    for (size_t i = 0; i < 3; i++) assert_int_equal(ll_tensors_at(t, i).name[0], "abc"[i]);
    ll_tensors_close(t);
}

static void files_that_cannot_be_opened(void **state)
{
    (void)state;
    ll_tensors *t;
    CHECK_FAIL(ll_tensors_open("/nonexistent/x", &t), LLAP_ENOTFOUND, "/nonexistent/x: ");
    assert_null(t);
    CHECK_FAIL(ll_tensors_open("/dev/null", &t), LLAP_EINVAL, "/dev/null: ");
    FILE *f = fopen(path_a, "w");
    fclose(f);
    CHECK_FAIL(ll_tensors_open(path_a, &t), LLAP_EFORMAT, "a.safetensors: 0 bytes, too short");
    assert_null(t);
}

/* ---- what the writer refuses ---- */

static void the_writer_refuses_what_the_reader_would(void **state)
{
    (void)state;
    ll_tensors_writer *w;
    image              f;
    CHECK_OK(ll_tensors_writer_create(&w));
    CHECK_FAIL(ll_tensors_writer_add(w, "__metadata__", LL_U8, 0, NULL, "x"), LLAP_EINVAL,
               "tensor '__metadata__': the name is reserved");
    CHECK_FAIL(ll_tensors_writer_add(w, "a\xff", LL_U8, 0, NULL, "x"), LLAP_EINVAL,
               "tensor name 'a\\xff': invalid UTF-8 at byte 1");
    CHECK_FAIL(ll_tensors_writer_metadata(w, "\xc3", ""), LLAP_EINVAL,
               "metadata key '\\xc3': invalid UTF-8 at byte 0");
    CHECK_FAIL(ll_tensors_writer_metadata(w, "k", "ab\xc3"), LLAP_EINVAL,
               "metadata value 'ab\\xc3': invalid UTF-8 at byte 2");
    CHECK_FAIL(ll_tensors_writer_add(w, "a", LL_U8, -1, NULL, "x"), LLAP_EINVAL,
               "tensor 'a': rank -1, expected 0..8");
    CHECK_FAIL(ll_tensors_writer_add(w, "a", LL_U8, 9, NULL, "x"), LLAP_EINVAL,
               "tensor 'a': rank 9, expected 0..8");
    CHECK_FAIL(ll_tensors_writer_add(w, "a", LL_U8, 2, (int64_t[]){ 3, -1 }, "x"), LLAP_EINVAL,
               "tensor 'a': shape [3,?] of U8 does not fit in memory");
    CHECK_FAIL(ll_tensors_writer_add(w, "a", LL_U8, 1, (int64_t[]){ 3 }, NULL), LLAP_EINVAL,
               "tensor 'a': no data");
    CHECK_OK(written(w, &f)); /* nothing of that was kept */
    assert_int_equal(f.n, 64);
    free(f.bytes);

    CHECK_OK(ll_tensors_writer_add(w, "a", LL_U8, 0, NULL, "x"));
    CHECK_OK(ll_tensors_writer_add(w, "a", LL_F32, 1, (int64_t[]){ 0 }, NULL));
    CHECK_FAIL(written(w, &f), LLAP_EINVAL, "tensor 'a' added twice");
    free(f.bytes);
    ll_tensors_writer_destroy(w);

    CHECK_OK(ll_tensors_writer_create(&w));
    CHECK_OK(ll_tensors_writer_metadata(w, "k", "1"));
    CHECK_OK(ll_tensors_writer_metadata(w, "j", "1"));
    CHECK_OK(ll_tensors_writer_metadata(w, "k", "1"));
    CHECK_FAIL(ll_tensors_writer_save(w, path_a), LLAP_EINVAL, "metadata key 'k' added twice");
    ll_tensors_writer_destroy(w);
    ll_tensors_writer_destroy(NULL);
}

static void the_writer_keeps_the_limits(void **state)
{
    (void)state;
    ll_tensors_writer *w;
    image              f;
    CHECK_OK(ll_tensors_writer_create(&w));
    CHECK_OK(ll_tensors_writer_add(w, "a", LL_U8, 1, (int64_t[]){ INT64_MAX }, "x"));
    CHECK_FAIL(ll_tensors_writer_add(w, "b", LL_U8, 1, (int64_t[]){ 1 }, "x"), LLAP_ELIMIT,
               "tensor 'b': more than 9223372036854775807 bytes of data together");
    ll_tensors_writer_destroy(w);

    const size_t over = strlen("{\"__metadata__\":{\"\":\"\"}}");
    const size_t most = (LL_TENSORS_HEADER_MAX + 8) / 64 * 64 - 8 - over; /* that still fits */
    for (size_t extra = 0; extra < 2; extra++) {
        CHECK_OK(ll_tensors_writer_create(&w));
        char *large = ll_new(most + extra + 1, 1);
        memset(large, 'x', most + extra);
        CHECK_OK(ll_tensors_writer_metadata(w, "", large));
        if (extra == 0) CHECK_OK(written(w, &f));
        else CHECK_FAIL(written(w, &f), LLAP_ELIMIT, "bytes, the limit is 100000000");
        ll_tensors *t;
        if (extra == 0) CHECK_OK(ll_tensors_view(f.bytes, f.n, "f", &t));
        if (extra == 0) assert_string_equal(ll_tensors_metadata(t, ""), large);
        if (extra == 0) ll_tensors_close(t);
        free(f.bytes);
        ll_free(large);
        ll_tensors_writer_destroy(w);
    }
}

static void failed_writes_are_reported(void **state)
{
    (void)state;
    static uint8_t     data[1 << 20];
    ll_tensors_writer *w;
    CHECK_OK(ll_tensors_writer_create(&w));
    CHECK_FAIL(ll_tensors_writer_save(w, "/dev/full"), LLAP_EIO,
               "/dev/full: cannot write tensors: No space left on device");
    CHECK_OK(ll_tensors_writer_add(w, "a", LL_U8, 1, (int64_t[]){ sizeof data }, data));
    CHECK_FAIL(ll_tensors_writer_save(w, "/dev/full"), LLAP_EIO,
               "/dev/full: cannot write tensors: No space left on device");
    CHECK_FAIL(ll_tensors_writer_save(w, "/nonexistent/x"), LLAP_ENOTFOUND, "/nonexistent/x");
    ll_tensors_writer_destroy(w);
}

/* ---- memory ---- */

static llap_status write_and_read(void *user)
{
    (void)user;
    ll_tensors_writer *w = NULL;
    ll_tensors        *t = NULL;
    llap_status        st = ll_tensors_writer_create(&w);
    for (int i = 0; i < 40 && st == LLAP_OK; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        st = ll_tensors_writer_add(w, name, LL_U8, 1, (int64_t[]){ 4 }, "abcd");
        if (st == LLAP_OK) st = ll_tensors_writer_metadata(w, name, "value");
    }
    if (st == LLAP_OK) st = ll_tensors_writer_save(w, path_a);
    ll_tensors_writer_destroy(w);
    if (st == LLAP_OK) st = ll_tensors_open(path_a, &t);
    if (st == LLAP_OK) assert_int_equal(ll_tensors_count(t), 40);
    else assert_null(t);
    ll_tensors_close(t);
    return st;
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    check_every_failed_allocation(write_and_read, NULL);
}

/* ---- files made elsewhere ---- */

static void golden_files_survive(void **state)
{
    (void)state;
    const char *golden = getenv("LLAP_GOLDEN");
    DIR        *d = golden != NULL ? opendir(golden) : NULL;
    if (d == NULL) {
        print_message("             LLAP_GOLDEN is not set: skipped\n");
        skip();
    }
    int n = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot == NULL || strcmp(dot, ".safetensors") != 0) continue;
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", golden, e->d_name);
        struct stat file;
        ll_tensors *t;
        assert_int_equal(stat(path, &file), 0);
        const int64_t before = ll_alloc_bytes();
        CHECK_OK(ll_tensors_open(path, &t));
        assert_true(ll_alloc_bytes() - before <= 256 + file.st_size);
        expect_survives(t);
        ll_tensors_close(t);
        n++;
    }
    closedir(d);
    print_message("             %d files\n", n);
    assert_true(n > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_written_bytes_are_these),
        cmocka_unit_test(nothing_metadata_only_and_tensors_only),
        cmocka_unit_test(every_dtype_shape_and_name_survives),
        cmocka_unit_test(ten_thousand_tensors_survive),
        cmocka_unit_test(a_required_tensor_is_compared),
        cmocka_unit_test(empty_tensors_at_one_place_come_by_name),
        cmocka_unit_test(files_that_cannot_be_opened),
        cmocka_unit_test(the_writer_refuses_what_the_reader_would),
        cmocka_unit_test(the_writer_keeps_the_limits),
        cmocka_unit_test(failed_writes_are_reported),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(golden_files_survive),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
