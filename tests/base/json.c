#include "check.h"

#include "base/json/json.h"

#include <errno.h>
#include <jansson.h>
#include <unistd.h>

/* The whole document as the writer writes it. */
static llap_status dump(const ll_json *j, int indent, char **text, size_t *n)
{
    ll_json_writer w = { .indent = indent };
    ll_json_put(&w, NULL, j);
    return ll_json_finish(&w, text, n);
}

static ll_json *parsed(const char *text)
{
    ll_json *j;
    CHECK_OK(ll_json_parse(text, strlen(text), "config.json", NULL, &j));
    return j;
}

/* ---- getters ---- */

static const char sample[] =
    "{\"train\":{\"batch\":10,\"rate\":0.5,\"ema\":true,\"loss\":\"huber\",\"note\":null},"
    " \"ints\":[1,2,3],\"doubles\":[1,2.5],\"strings\":[\"a\",\"b\"],\"mixed\":[1,\"x\"],"
    " \"layers\":[{\"width\":7},{\"width\":\"ten\"}],\"empty\":[],\"big\":9223372036854775807}";

static const char *const losses[] = { "mse", "huber", "pinball", NULL };

/* A document of a file's part and of text: each tells of its own, with its own code. */
static void parts_keep_their_origin(void **state)
{
    (void)state;
    static const char *const keys[] = { "steps", NULL };
    static const char        file[] = "{\"x\": 1,\n \"train\": {\"stps\": 3}}";
    static const char        text[] = "{\"net\": {\"steps\": \"ten\"}}";
    char                     path[] = "/tmp/llap_json_XXXXXX", place[128], got[160];
    ll_json                 *j, *part;
    int64_t                  steps = 7;
    const int                fd = mkstemp(path);
    assert_int_equal(write(fd, file, sizeof file - 1), sizeof file - 1);
    close(fd);
    CHECK_OK(ll_json_parse("{}", 2, "all", NULL, &j));
    CHECK_OK(ll_json_read(path, NULL, &part));
    unlink(path);
    CHECK_OK(ll_json_add(j, "train", part));
    CHECK_OK(ll_json_parse(text, sizeof text - 1, "net", NULL, &part));
    ll_json_fail_at(part, LLAP_EOPTION);
    CHECK_OK(ll_json_add(j, "net", part));
    assert_true(ll_json_has(j, "train.stps") && !ll_json_has(j, "x"));
    ll_json_place(j, "train", place, sizeof place);
    snprintf(got, sizeof got, "%s:2:11", path);
    assert_string_equal(place, got);
    CHECK_FAIL(ll_json_keys(j, "train", keys), LLAP_EFORMAT, "unknown key 'stps'");
    assert_non_null(strstr(llap_error_detail(), ":2:12: 'train'"));
    CHECK_FAIL(ll_json_int(j, "net.steps", 1, 9, &steps), LLAP_EOPTION,
               "net: 'net.steps': expected an integer in 1..9, found \"ten\"");
    CHECK_FAIL(ll_json_fail(j, "net", "no %s", "use"), LLAP_EOPTION, "net: no use");
    CHECK_FAIL(ll_json_fail(j, "other", "no %s", "use"), LLAP_EFORMAT, "all: 'other': no use");
    assert_int_equal(steps, 7);
    ll_json_destroy(j);
}

static void values_are_read_by_path(void **state)
{
    (void)state;
    ll_json    *j = parsed(sample);
    int64_t     i = -1;
    double      d = -1;
    bool        b = false;
    int         e = 0;
    const char *s = "default";
    CHECK_OK(ll_json_int(j, "train.batch", 1, 10, &i));
    assert_int_equal(i, 10);
    CHECK_OK(ll_json_int(j, "layers[0].width", 7, 7, &i));
    assert_int_equal(i, 7);
    CHECK_OK(ll_json_int(j, "ints[2]", INT64_MIN, INT64_MAX, &i));
    assert_int_equal(i, 3);
    CHECK_OK(ll_json_int(j, "big", INT64_MIN, INT64_MAX, &i));
    assert_true(i == INT64_MAX);
    CHECK_OK(ll_json_double(j, "train.rate", 0, 0.5, &d));
    assert_true(d == 0.5);
    CHECK_OK(ll_json_double(j, "train.batch", -INFINITY, INFINITY, &d)); /* 10 is a number too */
    assert_true(d == 10);
    CHECK_OK(ll_json_bool(j, "train.ema", &b));
    assert_true(b);
    CHECK_OK(ll_json_enum(j, "train.loss", losses, &e));
    assert_int_equal(e, 1);
    CHECK_OK(ll_json_string(j, "train.loss", &s));
    assert_string_equal(s, "huber");

    static const char *const absent[] = { "x",       "x.y",     "x[1].y",         "train.x",
                                          "ints[3]", "ints[9]", "layers[2].width" };
    for (size_t k = 0; k < sizeof absent / sizeof *absent; k++) {
        assert_false(ll_json_has(j, absent[k]));
        CHECK_OK(ll_json_int(j, absent[k], 0, 1, &i));
        CHECK_OK(ll_json_string(j, absent[k], &s));
        assert_true(i == INT64_MAX);
        assert_string_equal(s, "huber");
    }
    assert_true(ll_json_has(j, ""));
    assert_true(ll_json_has(j, "train.note"));
    assert_false(ll_json_has(j, "train.batch.x"));
    assert_int_equal(ll_json_length(j, "ints"), 3);
    assert_int_equal(ll_json_length(j, "train"), 0);
    assert_int_equal(ll_json_length(j, "x"), 0);
    assert_int_equal(ll_json_length(j, "ints.x"), 0);
    CHECK_OK(ll_json_need(j, "train.note"));
    CHECK_FAIL(ll_json_need(j, "train.steps"), LLAP_EFORMAT, "config.json: 'train.steps': missing");
    CHECK_FAIL(ll_json_need(j, "ints.x"), LLAP_EFORMAT,
               "config.json: 'ints': expected an object, found an array");
    ll_json_destroy(j);
    ll_json_destroy(NULL);
}

static void wrong_values_are_named(void **state)
{
    (void)state;
    ll_json    *j = parsed(sample);
    int64_t     i = -1;
    double      d = -1;
    bool        b = false;
    int         e = -1;
    const char *s = "default";
    CHECK_FAIL(ll_json_int(j, "layers[1].width", 1, 4096, &i), LLAP_EFORMAT,
               "config.json: 'layers[1].width': expected an integer in 1..4096, found \"ten\"");
    CHECK_FAIL(ll_json_int(j, "train.batch", 1, 9, &i), LLAP_EFORMAT, "in 1..9, found 10");
    CHECK_FAIL(ll_json_int(j, "train.batch", 11, INT64_MAX, &i), LLAP_EFORMAT,
               "expected an integer >= 11, found 10");
    CHECK_FAIL(ll_json_int(j, "train.batch", INT64_MIN, 9, &i), LLAP_EFORMAT,
               "expected an integer <= 9, found 10");
    CHECK_FAIL(ll_json_int(j, "train.rate", INT64_MIN, INT64_MAX, &i), LLAP_EFORMAT,
               "expected an integer, found 0.5");
    CHECK_FAIL(ll_json_double(j, "train.rate", 0.6, 1, &d), LLAP_EFORMAT,
               "'train.rate': expected a number in 0.6..1, found 0.5");
    CHECK_FAIL(ll_json_double(j, "train.rate", -INFINITY, 0.1, &d), LLAP_EFORMAT,
               "expected a number <= 0.1, found 0.5");
    CHECK_FAIL(ll_json_double(j, "train.rate", 1, INFINITY, &d), LLAP_EFORMAT,
               "expected a number >= 1, found 0.5");
    CHECK_FAIL(ll_json_double(j, "train.note", -INFINITY, INFINITY, &d), LLAP_EFORMAT,
               "expected a number, found null");
    CHECK_FAIL(ll_json_bool(j, "train.batch", &b), LLAP_EFORMAT,
               "expected true or false, found 10");
    CHECK_FAIL(ll_json_string(j, "train", &s), LLAP_EFORMAT,
               "config.json: 'train': expected a string, found an object");
    CHECK_FAIL(ll_json_string(j, "train.ema", &s), LLAP_EFORMAT, "a string, found true");
    CHECK_FAIL(ll_json_enum(j, "layers[1].width", losses, &e), LLAP_EFORMAT,
               "expected one of \"mse\", \"huber\", \"pinball\", found \"ten\"");
    CHECK_FAIL(ll_json_enum(j, "train.ema", losses, &e), LLAP_EFORMAT,
               "expected one of \"mse\", \"huber\", \"pinball\", found true");
    CHECK_FAIL(ll_json_int(j, "train.batch.x", 0, 1, &i), LLAP_EFORMAT,
               "config.json: 'train.batch': expected an object, found 10");
    CHECK_FAIL(ll_json_int(j, "train[0]", 0, 1, &i), LLAP_EFORMAT,
               "config.json: 'train': expected an array, found an object");
    CHECK_FAIL(ll_json_int(j, "[0]", 0, 1, &i), LLAP_EFORMAT,
               "config.json: expected an array, found an object");
    assert_true(i == -1 && d == -1 && !b && e == -1);
    assert_string_equal(s, "default");
    ll_json_destroy(j);
    j = parsed("{\"loss\":\"hubber\",\"off\":false}");
    CHECK_FAIL(ll_json_enum(j, "loss", losses, &e), LLAP_EFORMAT,
               "found \"hubber\", did you mean \"huber\"?");
    CHECK_FAIL(ll_json_string(j, "off", &s), LLAP_EFORMAT, "a string, found false");
    CHECK_OK(ll_json_bool(j, "off", &b));
    ll_json_destroy(j);
}

static void unknown_keys_are_named(void **state)
{
    (void)state;
    static const char *const top[] = { "train",  "ints",  "doubles", "strings", "mixed",
                                       "layers", "empty", "big",     NULL };
    static const char *const train[] = { "batchs", "rate", "ema", "loss", "note", NULL };
    ll_json                 *j = parsed(sample);
    CHECK_OK(ll_json_keys(j, "", top));
    CHECK_OK(ll_json_keys(j, "absent", top));
    CHECK_FAIL(ll_json_keys(j, "train", train), LLAP_EFORMAT,
               "config.json: 'train': unknown key 'batch', did you mean 'batchs'?");
    CHECK_FAIL(ll_json_keys(j, "", train), LLAP_EFORMAT, "config.json: unknown key 'train'");
    assert_null(strstr(llap_error_detail(), "did you mean"));
    CHECK_FAIL(ll_json_keys(j, "ints", train), LLAP_EFORMAT, "expected an object, found an array");
    CHECK_FAIL(ll_json_keys(j, "ints.x", train), LLAP_EFORMAT, "expected an object");
    ll_json_destroy(j);
}

static void arrays_of_one_kind(void **state)
{
    (void)state;
    ll_json     *j = parsed(sample);
    int64_t     *i = NULL;
    double      *d = NULL;
    const char **s = NULL;
    size_t       n = 99;
    CHECK_OK(ll_json_ints(j, "absent", 0, 9, &i, &n));
    assert_null(i);
    assert_int_equal(n, 99);
    CHECK_OK(ll_json_ints(j, "ints", 1, 3, &i, &n));
    assert_int_equal(n, 3);
    assert_true(i[0] == 1 && i[1] == 2 && i[2] == 3);
    ll_free(i);
    CHECK_OK(ll_json_doubles(j, "doubles", 0, 9, &d, &n));
    assert_int_equal(n, 2);
    assert_true(d[0] == 1 && d[1] == 2.5);
    ll_free(d);
    CHECK_OK(ll_json_strings(j, "strings", &s, &n));
    assert_int_equal(n, 2);
    assert_string_equal(s[1], "b");
    ll_free(s);
    CHECK_OK(ll_json_ints(j, "empty", 1, 3, &i, &n));
    assert_int_equal(n, 0);
    ll_free(i);
    i = NULL;
    CHECK_FAIL(ll_json_ints(j, "mixed", 0, 9, &i, &n), LLAP_EFORMAT,
               "config.json: 'mixed[1]': expected an integer in 0..9, found \"x\"");
    CHECK_FAIL(ll_json_ints(j, "train", 0, 9, &i, &n), LLAP_EFORMAT,
               "config.json: 'train': expected an array, found an object");
    CHECK_FAIL(ll_json_ints(j, "ints.x", 0, 9, &i, &n), LLAP_EFORMAT, "expected an object");
    assert_null(i);
    ll_json_destroy(j);
}

/* ---- writing ---- */

static void put_sample(ll_json_writer *w)
{
    ll_json_open(w, NULL, '{');
    ll_json_put_int(w, "z", INT64_MIN);
    ll_json_put_double(w, "a", 0.1);
    ll_json_open(w, "o", '{');
    ll_json_close(w, '}');
    ll_json_open(w, "l", '(');
    ll_json_put_double(w, NULL, 1);
    ll_json_put_double(w, NULL, NAN);
    ll_json_put_double(w, NULL, -INFINITY);
    ll_json_close(w, ']');
    ll_json_open(w, "n", '[');
    ll_json_put_bool(w, NULL, true);
    ll_json_open(w, NULL, '{');
    ll_json_put_bool(w, "f", false);
    ll_json_close(w, '}');
    ll_json_put_null(w, NULL);
    ll_json_close(w, ']');
    ll_json_put_string(w, "s\"", "\\ \n \x01 \xc3\xbc");
    ll_json_close(w, '}');
}

static void the_written_text_is_this(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "{\"z\":-9223372036854775808,\"a\":0.1,\"o\":{},\"l\":[1.0,null,null],"
        "\"n\":[true,{\"f\":false},null],\"s\\\"\":\"\\\\ \\n \\u0001 \xc3\xbc\"}",
        "{\n"
        "  \"z\": -9223372036854775808,\n"
        "  \"a\": 0.1,\n"
        "  \"o\": {},\n"
        "  \"l\": [1.0, null, null],\n"
        "  \"n\": [\n"
        "    true,\n"
        "    {\n"
        "      \"f\": false\n"
        "    },\n"
        "    null\n"
        "  ],\n"
        "  \"s\\\"\": \"\\\\ \\n \\u0001 \xc3\xbc\"\n"
        "}\n",
    };
    for (int k = 0; k < 2; k++) {
        ll_json_writer w = { .indent = 2 * k };
        char          *text, *again;
        size_t         n, n_again;
        put_sample(&w);
        CHECK_OK(ll_json_finish(&w, &text, &n));
        assert_string_equal(text, expected[k]);
        assert_int_equal(n, strlen(text));
        ll_json *j = parsed(text);
        CHECK_OK(dump(j, 2 * k, &again, &n_again));
        assert_string_equal(again, text);
        ll_free(again);
        ll_json_writer outer = { .indent = 0 };
        ll_json_open(&outer, NULL, '[');
        ll_json_put(&outer, NULL, j);
        ll_json_close(&outer, ']');
        CHECK_OK(ll_json_finish(&outer, &again, &n_again));
        assert_int_equal(again[0], '[');
        assert_memory_equal(again + 1, expected[0], strlen(expected[0]));
        ll_json_destroy(j);
        ll_free(again);
        ll_free(text);
    }
}

static void a_part_is_text_of_its_own(void **state)
{
    (void)state;
    ll_json                 *j = parsed("{ \"a\": { \"b\": [1, { \"c\": null }] }, \"d\": \"x\" }");
    static const char *const cases[][2] = { { "a", "{\"b\":[1,{\"c\":null}]}" },
                                            { "a.b[1]", "{\"c\":null}" },
                                            { "d", "\"x\"" },
                                            { "e", NULL } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char  *text;
        size_t n;
        CHECK_OK(ll_json_part(j, cases[i][0], &text, &n));
        if (cases[i][1] == NULL) assert_null(text);
        else assert_string_equal(text, cases[i][1]);
        assert_int_equal(n, cases[i][1] == NULL ? 0 : strlen(cases[i][1]));
        ll_free(text);
    }
    ll_json_destroy(j);
}

static void nested_lists_on_one_line(void **state)
{
    (void)state;
    ll_json_writer w = { .indent = 2 };
    char          *text;
    size_t         n;
    ll_json_open(&w, NULL, '(');
    ll_json_open(&w, NULL, '(');
    ll_json_put_int(&w, NULL, 1);
    ll_json_close(&w, ']');
    ll_json_put_int(&w, NULL, 2);
    ll_json_close(&w, ']');
    CHECK_OK(ll_json_finish(&w, &text, &n));
    assert_string_equal(text, "[[1], 2]\n");
    ll_free(text);
}

static void invalid_utf8_is_not_written(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        ll_json_writer w = { 0 };
        char          *text;
        size_t         n;
        ll_json_open(&w, NULL, '{');
        ll_json_put_string(&w, k == 0 ? "\xff" : "key", k == 0 ? "\xfe" : "ab\xc3");
        ll_json_close(&w, '}');
        CHECK_FAIL(ll_json_finish(&w, &text, &n), LLAP_EINVAL,
                   k == 0 ? "string '\\xff': invalid UTF-8 at byte 0"
                          : "string 'ab\\xc3': invalid UTF-8 at byte 2");
        assert_null(text);
    }
}

/* ---- memory ---- */

static void *counted_malloc(size_t n)
{
    void *p = ll_new(n, 1);
    if (p == NULL) errno = ENOMEM; /* as malloc does */
    return p;
}

static llap_status parse_and_dump(void *user)
{
    (void)user;
    ll_json     *j = NULL, *part = NULL;
    char        *text = NULL;
    size_t       n;
    int64_t     *i = NULL;
    const char **s = NULL;
    /* Tokens of fewer than 16 bytes: jansson has no way out of failing to grow for longer ones. */
    static const char short_tokens[] =
        "{\"train\":{\"batch\":10,\"rate\":0.5,\"ema\":true,\"loss\":\"huber\",\"note\":null},"
        " \"ints\":[1,2,3],\"strings\":[\"a\",\"b\"],\"layers\":[{\"width\":7},{\"x\":\"ten\"}],"
        " \"i\":1,\"j\":1,\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":[0,1,2,3,4,5,6,7,8,9,0]}";
    llap_status st = ll_json_parse(short_tokens, sizeof short_tokens - 1, "config.json", NULL, &j);
    if (st == LLAP_OK) st = ll_json_ints(j, "ints", 0, 9, &i, &n);
    if (st == LLAP_OK) st = ll_json_strings(j, "strings", &s, &n);
    if (st == LLAP_OK) st = ll_json_parse("{\"q\":[1]}", 9, "part", NULL, &part);
    if (st == LLAP_OK) st = ll_json_add(j, "q", part);
    if (st == LLAP_OK) st = dump(j, 2, &text, &n);
    ll_free(text);
    ll_free(i);
    ll_free(s);
    ll_json_destroy(j);
    return st;
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    ll_json_destroy(parsed("{\"seeds\":1}")); /* jansson's once-only hash seed */
    json_malloc_t old_malloc;
    json_free_t   old_free;
    json_get_alloc_funcs(&old_malloc, &old_free);
    json_set_alloc_funcs(counted_malloc, ll_free);
    check_every_failed_allocation(parse_and_dump, NULL);
    json_set_alloc_funcs(old_malloc, old_free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_keep_their_origin),
        cmocka_unit_test(values_are_read_by_path),
        cmocka_unit_test(wrong_values_are_named),
        cmocka_unit_test(unknown_keys_are_named),
        cmocka_unit_test(arrays_of_one_kind),
        cmocka_unit_test(the_written_text_is_this),
        cmocka_unit_test(a_part_is_text_of_its_own),
        cmocka_unit_test(nested_lists_on_one_line),
        cmocka_unit_test(invalid_utf8_is_not_written),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
