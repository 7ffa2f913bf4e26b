/* JSON text that is read: malformed, too large, from files. */
#include "check.h"

#include "base/json/json.h"

#include <unistd.h>

static void malformed_text_is_placed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "", "config.json:1:0: '[' or '{' expected near end of file" },
        { "{\"a\":1,\n \"a\":2}", "config.json:2:4: duplicate object key near '\"a\"'" },
        { "{\"a\":\n\n1 2}", "config.json:3:3: '}' expected near '2'" },
        { "{\"a\":\"\\u0000\"}", "config.json:1:13: \\u0000 is not allowed" },
        { "{\"a\":\"\xff\"}", "config.json:1:6: unable to decode byte 0xff" },
        { "{\"a\":1e999}", "config.json:1:10: real number overflow near '1e999'" },
        { "{\"a\":9223372036854775808}", "config.json:1:24: too big integer" },
        { "{\"a\":nan}", "config.json:1:8: invalid token near 'nan'" },
        { "{\"a\":1}}", "config.json:1:8: end of file expected near '}'" },
        { "17", "config.json:1:2: '[' or '{' expected near '17'" },
        { "{\"a\x1b[0m", "config.json:1:3: control character 0x1b near '\"a'" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ll_json *j;
        CHECK_FAIL(ll_json_parse(cases[i].text, strlen(cases[i].text), "config.json", NULL, &j),
                   LLAP_EFORMAT, cases[i].message);
        assert_null(j);
    }
    ll_json *j;
    CHECK_FAIL(ll_json_parse("[1,\0]", 5, "f", NULL, &j), LLAP_EFORMAT, "f:1:4: ");
}

static void limits_are_checked_before_any_allocation(void **state)
{
    (void)state;
    const ll_json_limits limits = { .n_bytes = 40, .n_values = 5, .depth = 3 };
    static const struct {
        const char *text, *message; /* NULL: within the limits */
    } cases[] = {
        { "[[[1]],2]", NULL },
        { "[[\n[[1]]]]", "f:2:2: more than 3 levels of nesting" },
        { "[1,2,3,4]", NULL },
        { "[1,2,3,4,5]", "f:1:9: more than 5 keys and values" },
        { "{\"a\":1,\"b\":2}", NULL },
        { "{\"a\":1,\"b\":{}}", "f:1:12: more than 5 keys and values" },
        { "[\"\xc3\xbc[[[[{{{,,,:::\\\"[[[[\\\\\"]", NULL },
        { "[\"\xc3\xbc\",[[[", "f:1:8: more than 3 levels of nesting" },
        { "[                                      ]", NULL },
        { "[                                       ]", "f: 41 bytes of JSON, the limit is 40" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ll_json      *j;
        const char   *text = cases[i].text;
        const int64_t calls = ll_alloc_calls();
        if (cases[i].message != NULL) {
            CHECK_FAIL(ll_json_parse(text, strlen(text), "f", &limits, &j), LLAP_ELIMIT,
                       cases[i].message);
            assert_int_equal(ll_alloc_calls(), calls);
        } else {
            CHECK_OK(ll_json_parse(text, strlen(text), "f", &limits, &j));
        }
        ll_json_destroy(j);
    }
    /* 16 MiB of brackets end at the 65th, and closing ones do not open room. */
    ll_json     *j;
    const size_t n = LL_JSON_LIMITS.n_bytes;
    char        *deep = ll_new(n, 1);
    memset(deep, '[', n);
    CHECK_FAIL(ll_json_parse(deep, n, "f", NULL, &j), LLAP_ELIMIT, "f:1:65: more than 64 levels");
    memset(deep, ']', 64);
    CHECK_FAIL(ll_json_parse(deep, n, "f", NULL, &j), LLAP_ELIMIT, "f:1:129: more than 64");
    memset(deep, ',', n);
    CHECK_FAIL(ll_json_parse(deep, n, "f", NULL, &j), LLAP_ELIMIT, "more than 1048576 keys");
    ll_free(deep);
}

static void files_are_read(void **state)
{
    (void)state;
    ll_json  *j;
    char      path[] = "/tmp/llap-json-XXXXXX";
    const int fd = mkstemp(path);
    assert_int_equal(write(fd, "\xef\xbb\xbf{\"a\":[1]}", 12), 12); /* with a byte-order mark */
    close(fd);
    CHECK_OK(ll_json_read(path, NULL, &j));
    assert_int_equal(ll_json_length(j, "a"), 1);
    ll_json_destroy(j);
    CHECK_FAIL(ll_json_read(path, &(ll_json_limits){ 8, 8, 8 }, &j), LLAP_ELIMIT, path);
    assert_null(j);
    unlink(path);
    CHECK_FAIL(ll_json_read(path, NULL, &j), LLAP_ENOTFOUND, path);
    assert_null(j);
}

/* What is wrong in a file is told with its line and column. */
static void places_in_files_are_told(void **state)
{
    (void)state;
    static const char text[] =
        "{\n"
        "  \"name\": \"a, \\\"b\\\": {[\", \"list\": [{\"a\": [1, 2]}, {\"b\" :\n"
        "   true}, -1.5e3],\n"
        "  \"train\" : {\"\xc3\xbc\": 1, \"rate\": \"ten\", \"more\": {}}\n"
        "}\n";
    static const struct {
        const char *path, *place;
    } cases[] = { { "", "1:1" },           { "name", "2:11" },         { "list", "2:35" },
                  { "list[0].a", "2:42" }, { "list[0].a[1]", "2:46" }, { "list[1].b", "3:4" },
                  { "list[2]", "3:11" },   { "train", "4:13" },        { "train.rate", "4:30" },
                  { "train.none", "4:13" } };
    static const char *const keys[] = { "\xc3\xbc", "more", NULL };
    ll_json                 *j;
    char                     path[] = "/tmp/llap-json-XXXXXX", place[64], expected[64];
    const int                fd = mkstemp(path);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    CHECK_OK(ll_json_read(path, NULL, &j));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(expected, sizeof expected, "%s:%s", path, cases[i].place);
        ll_json_place(j, cases[i].path, place, sizeof place);
        assert_string_equal(place, expected);
    }
    double rate;
    snprintf(expected, sizeof expected, "%s:4:30: 'train.rate': expected", path);
    CHECK_FAIL(ll_json_double(j, "train.rate", 0, 1, &rate), LLAP_EFORMAT, expected);
    snprintf(expected, sizeof expected, "%s:4:22: 'train': unknown key 'rate'", path);
    CHECK_FAIL(ll_json_keys(j, "train", keys), LLAP_EFORMAT, expected);
    snprintf(expected, sizeof expected, "%s:4:13: 'train.loss': missing", path);
    CHECK_FAIL(ll_json_need(j, "train.loss"), LLAP_EFORMAT, expected);
    ll_json_destroy(j);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_text_is_placed),
        cmocka_unit_test(limits_are_checked_before_any_allocation),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(places_in_files_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
