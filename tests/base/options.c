/* Options by name: from text, to text, checked and resolved. */
#include "check.h"

#include "base/options.h"

typedef enum kind { KIND_DEFAULT, KIND_MEAN, KIND_LAST } kind;

typedef struct sample {
    const char *name, *list, *file;
    char        separator;
    kind        agg, form;
    int64_t     seed, skip, most;
    double      share, rate;
    int         loud;
} sample;

/* clang-format off */
static const char *const kinds[] = { "", [KIND_MEAN] = "mean", [KIND_LAST] = "last", NULL };

#define OPTIONS sample
static const llap_option table[] = {
    OPTION_TEXT(TEXT, name, NULL, "a name"),
    OPTION_TEXT(LIST, list, "a,b", "some names"),
    OPTION_TEXT(FILE, file, NULL, "a file"),
    OPTION_TEXT(CHAR, separator, NULL, "a character"),
    OPTION_WORD(agg, "mean", kinds, "a word"),
    OPTION_WORD(form, NULL, kinds, "a word that is found out"),
    OPTION_INTEGER(seed, "1", 0, 9e18, "a number whose 0 is not the default"),
    OPTION_INTEGER(skip, "0", 0, 10, "a number whose 0 is"),
    OPTION_INTEGER(most, NULL, 1, 64, "a number without a default"),
    OPTION_REAL(share, "0.5", 0, 1, "a real number"),
    OPTION_REAL(rate, NULL, 1e-9, 1, "one without a default"),
    OPTION_FLAG(loud, "a flag"),
    OPTION_END,
};
/* clang-format on */

/* What the option is as text after it was set to text. */
static const char *round_trip(const char *name, const char *text)
{
    static char out[64];
    sample      s = { 0 };
    CHECK_OK(llap_option_set(table, &s, name, text));
    const llap_option *o = llap_option_find(table, name);
    const size_t       n = llap_option_text(o, &s, out, sizeof out);
    assert_int_equal(n, strlen(out));
    return out;
}

static void text_comes_back(void **state)
{
    (void)state;
    assert_string_equal(round_trip("name", "air"), "air");
    assert_string_equal(round_trip("separator", ";"), ";");
    assert_string_equal(round_trip("separator", "tab"), "tab");
    assert_string_equal(round_trip("agg", "last"), "last");
    assert_string_equal(round_trip("seed", "0"), "0");
    assert_string_equal(round_trip("seed", "1"), "1");
    assert_string_equal(round_trip("seed", "8999999999999999999"), "8999999999999999999");
    assert_string_equal(round_trip("skip", "0"), "0");
    assert_string_equal(round_trip("share", "0"), "0");
    assert_string_equal(round_trip("share", "0.25"), "0.25");
    assert_string_equal(round_trip("loud", "true"), "true");
    assert_string_equal(round_trip("loud", "false"), "false");
}

static void defaults_come_without_a_value(void **state)
{
    (void)state;
    static const char *const expected[] = { "",  "a,b", "", "",    "mean", "",
                                            "1", "0",   "", "0.5", "",     "false" };
    const sample             s = { 0 };
    char                     out[64];
    int                      i = 0;
    for (const llap_option *o = table; o->name != NULL; o++, i++) {
        assert_false(llap_option_given(o, &s));
        llap_option_text(o, &s, out, sizeof out);
        assert_string_equal(out, expected[i]);
    }
    assert_int_equal(i, sizeof expected / sizeof *expected);
    sample given = { .list = "abcdef" }; /* cut as snprintf does */
    assert_int_equal(llap_option_text(&table[1], &given, out, 4), 6);
    assert_string_equal(out, "abc");
}

static void what_cannot_be_is_named(void **state)
{
    (void)state;
    static const char *const wrong[][3] = {
        { "seed", "many", "seed: expected a whole number, found 'many'" },
        { "seed", "1.5", "seed: expected a whole number, found '1.5'" },
        { "seed", "-1", "seed: expected a whole number in 0..9e+18, found -1" },
        { "seed", "99999999999999999999", "seed: expected a whole number, found '99999" },
        { "most", "0", "most: expected a whole number in 1..64, found 0" },
        { "share", "nan", "share: expected a number, found 'nan'" },
        { "share", "1.01", "share: expected a number in 0..1, found 1.01" },
        { "agg", "lst", "agg: expected one of mean, last, found 'lst' (did you mean 'last'?)" },
        { "agg", "", "agg: expected one of mean, last, found ''" },
        { "separator", "ab", "separator: expected one character, found 'ab'" },
        { "file", "", "file: expected FILE, found ''" },
        { "loud", "yes", "loud: expected true or false, found 'yes'" },
        { "sed", "1", "sed: no such option (did you mean 'seed'?)" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sample s = { 0 }, none = { 0 };
        CHECK_FAIL(llap_option_set(table, &s, wrong[i][0], wrong[i][1]), LLAP_EOPTION, wrong[i][2]);
        assert_memory_equal(&s, &none, sizeof s);
    }
}

static void structs_are_checked(void **state)
{
    (void)state;
    sample s = { .seed = LLAP_ZERO, .share = LLAP_ZERO, .most = 64, .agg = KIND_LAST };
    CHECK_OK(llap_options_check(table, &s));
    s.most = 65;
    CHECK_FAIL(llap_options_check(table, &s), LLAP_EOPTION,
               "most: expected a whole number in 1..64, found 65");
    s.most = LLAP_ZERO; /* 0 would be no value */
    CHECK_FAIL(llap_options_check(table, &s), LLAP_EOPTION, "most: ");
    s.most = 0;
    s.skip = LLAP_ZERO; /* 0 is the default */
    CHECK_FAIL(llap_options_check(table, &s), LLAP_EOPTION, "skip: ");
    s.skip = 0;
    s.share = NAN;
    CHECK_FAIL(llap_options_check(table, &s), LLAP_EOPTION,
               "share: expected a number in 0..1, found nan");
    s.share = 0;
    s.form = (kind)3;
    CHECK_FAIL(llap_options_check(table, &s), LLAP_EOPTION,
               "form: expected a value of its enum, 0..2, found 3");
}

static void what_holds_is_resolved(void **state)
{
    (void)state;
    const sample none = { 0 };
    sample       given = { .seed = LLAP_ZERO, .share = LLAP_ZERO, .form = KIND_LAST, .name = "x" };
    sample       s;
    CHECK_OK(llap_options_resolve(table, &none, &s, sizeof s));
    assert_true(s.seed == 1 && s.skip == 0 && s.most == 0 && s.share == 0.5 && s.rate == 0);
    assert_true(s.agg == KIND_MEAN && s.form == KIND_DEFAULT && s.list == NULL);
    CHECK_OK(llap_options_resolve(table, &given, &s, sizeof s));
    assert_true(s.seed == 0 && s.share == 0 && s.form == KIND_LAST);
    assert_string_equal(s.name, "x");
    given.most = -7;
    CHECK_FAIL(llap_options_resolve(table, &given, &s, sizeof s), LLAP_EOPTION, "most: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_comes_back),         cmocka_unit_test(defaults_come_without_a_value),
        cmocka_unit_test(what_cannot_be_is_named), cmocka_unit_test(structs_are_checked),
        cmocka_unit_test(what_holds_is_resolved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
