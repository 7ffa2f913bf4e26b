#include "base/json/fields.h"
#include "check.h"

typedef enum colour { RED, GREEN } colour;
typedef struct thing {
    int64_t  count;
    int      small;
    double   rate;
    bool     on;
    colour   colour;
    ll_reals numbers;
} thing;

static const char *const colours[] = { "red", "green", NULL };
static const ll_field    fields[] = {
       { "count", LL_FIELD_INT, offsetof(thing, count), .low = 1, .high = 100 },
       { "small", LL_FIELD_SMALL, offsetof(thing, small), .low = -5, .high = 5 },
       { "rate", LL_FIELD_REAL, offsetof(thing, rate), .high = 1 },
       { "on", LL_FIELD_BOOL, offsetof(thing, on), .low = 0 },
       { "colour", LL_FIELD_CHOICE, offsetof(thing, colour), .names = colours },
       { "numbers", LL_FIELD_REALS, offsetof(thing, numbers), .low = 0, .high = 9 },
};
enum { N = sizeof fields / sizeof *fields };

static llap_status read_text(const char *text, thing *t)
{
    ll_json    *j = NULL;
    llap_status st = ll_json_parse(text, strlen(text), "x.json", NULL, &j);
    if (st == LLAP_OK) st = ll_fields_only(j, "", fields, N, (const char *const[]){ "note", NULL });
    if (st == LLAP_OK) st = ll_fields_read(j, "", fields, N, t);
    ll_json_destroy(j);
    return st;
}

static const thing start = { .count = 7, .small = -1, .rate = 0.5, .colour = GREEN };

static void reads_and_writes(void **state)
{
    (void)state;
    thing t = start, again = start;
    CHECK_OK(read_text("{\"note\": 1}", &t));
    assert_memory_equal(&t, &start, sizeof t); /* nothing there, nothing changed */
    CHECK_OK(
        read_text("{\"count\": 9, \"small\": 3, \"on\": true, \"colour\": \"red\", \"rate\": 0.1,"
                  "\"numbers\": [1, 2.5]}",
                  &t));
    assert_true(t.count == 9 && t.small == 3 && t.on && t.colour == RED && t.rate == 0.1);
    assert_true(t.numbers.n == 2 && t.numbers.v[0] == 1 && t.numbers.v[1] == 2.5);
    CHECK_OK(ll_fields_check("thing", fields, N, &t));

    ll_json_writer w = { .indent = 0 };
    char          *text = NULL;
    size_t         n = 0;
    ll_json_open(&w, NULL, '{');
    ll_fields_write(&w, fields, N, &t);
    ll_json_close(&w, '}');
    CHECK_OK(ll_json_finish(&w, &text, &n));
    CHECK_OK(read_text(text, &again));
    assert_memory_equal(&t, &again, sizeof t);
    ll_free(text);
}

static void refuses(void **state)
{
    (void)state;
    thing t = start;
    CHECK_FAIL(read_text("{\"cuont\": 9}", &t), LLAP_EFORMAT, "did you mean 'count'");
    CHECK_FAIL(read_text("{\"count\": 0}", &t), LLAP_EFORMAT,
               "'count': expected an integer in 1..100");
    CHECK_FAIL(read_text("{\"small\": 6}", &t), LLAP_EFORMAT, "'small'");
    CHECK_FAIL(read_text("{\"rate\": 2}", &t), LLAP_EFORMAT, "'rate'");
    CHECK_FAIL(read_text("{\"colour\": \"blue\"}", &t), LLAP_EFORMAT, "'colour'");
    CHECK_FAIL(read_text("{\"numbers\": [1, 10]}", &t), LLAP_EFORMAT, "numbers");
    assert_memory_equal(&t, &start, sizeof t);
    t.rate = NAN;
    CHECK_FAIL(ll_fields_check("thing", fields, N, &t), LLAP_EINVAL,
               "thing: rate: expected 0..1, found nan");
    t = start;
    t.colour = (colour)2;
    CHECK_FAIL(ll_fields_check("thing", fields, N, &t), LLAP_EINVAL, "thing: colour");
    t = start;
    t.numbers = (ll_reals){ 2, { 1, -1 } };
    CHECK_FAIL(ll_fields_check("thing", fields, N, &t), LLAP_EINVAL, "thing: numbers");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(reads_and_writes),
                                        cmocka_unit_test(refuses) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
