#include "check.h"

#include "base/text.h"

#include <float.h>
#include <locale.h>

static void utf8_is_checked_to_the_byte(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        size_t      valid;
    } cases[] = {
        { "", 0 },
        { "plain", 5 },
        { "\x7f", 1 },
        { "a\x80", 1 },                            /* continuation without a start */
        { "\xc1\xbf", 0 },                         /* overlong */
        { "\xc2\x80\xdf\xbf", 4 },                 /* U+0080, U+07FF */
        { "\xc2", 0 },                             /* cut */
        { "\xc2\x7f", 0 },                         /* second byte too low */
        { "\xc2\xc0", 0 },                         /* and too high */
        { "\xe0\x9f\xbf", 0 },                     /* overlong */
        { "\xe0\xa0\x80\xef\xbf\xbf", 6 },         /* U+0800, U+FFFF */
        { "\xed\x9f\xbf", 3 },                     /* U+D7FF */
        { "\xed\xa0\x80", 0 },                     /* surrogate */
        { "\xe2\x82", 0 },                         /* cut */
        { "\xe2\x82\x41", 0 },                     /* third byte wrong */
        { "\xf0\x8f\xbf\xbf", 0 },                 /* overlong */
        { "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8 }, /* U+10000, U+10FFFF */
        { "\xf4\x90\x80\x80", 0 },                 /* U+110000 */
        { "\xf1\x80\x80\xff", 0 },                 /* fourth byte wrong */
        { "\xf5\x80\x80\x80", 0 },
        { "ok \xff", 3 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t valid = ll_utf8_prefix(cases[i].s, strlen(cases[i].s));
        if (valid != cases[i].valid) fail_msg("case %zu: found %zu", i, valid);
    }
    assert_int_equal(ll_utf8_prefix("a\0b", 3), 3);
}

static void every_character_is_encoded_validly(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        char         s[4];
        const size_t n = ll_utf8_encode(c, s);
        const bool   surrogate = c >= 0xd800 && c < 0xe000;
        assert_int_equal(n, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
        assert_int_equal(ll_utf8_prefix(s, n), surrogate ? 0 : n);
        uint32_t back = (unsigned char)s[0] & (n == 1 ? 0x7f : 0xff >> (n + 1));
        for (size_t i = 1; i < n; i++) back = back << 6 | ((unsigned char)s[i] & 0x3f);
        assert_int_equal(back, c);
    }
}

static void messages_show_text_on_one_line(void **state)
{
    (void)state;
    assert_string_equal(ll_text_show("").text, "");
    assert_string_equal(ll_text_show("Tür 'x'").text, "Tür 'x'");
    assert_string_equal(ll_text_show("a\nb\x1b[0m\x7f").text, "a\\x0ab\\x1b[0m\\x7f");
    assert_string_equal(ll_text_show("\xff\xc2\x9b\xc2\xa0").text, "\\xff\\xc2\\x9b\xc2\xa0");
    char longer[500];
    memset(longer, 'x', sizeof longer);
    for (size_t n = 0; n < sizeof longer; n++) { /* every length fits, is valid, ends as it must */
        longer[n] = '\0';
        const ll_text_shown shown = ll_text_show(longer);
        const size_t        len = strlen(shown.text);
        if (n <= 97) assert_string_equal(shown.text, longer);
        else assert_string_equal(shown.text + len - 4, "x...");
        longer[n] = 'x';
    }
}

static void doubles_read_back_with_the_fewest_digits(void **state)
{
    (void)state;
    static const struct {
        double      v;
        const char *text;
    } cases[] = {
        { 0, "0" },
        { -0.0, "-0" },
        { 1, "1" },
        { 0.1, "0.1" },
        { -1.5, "-1.5" },
        { 1e22, "1e+22" },
        { 1e23, "1e+23" },
        { 0.1 + 0.2, "0.30000000000000004" },
        { 9007199254740993.0, "9007199254740992" },
        { 5e-324, "5e-324" },
        { 2.5e-320, "2.5e-320" },
        { DBL_MIN, "2.2250738585072014e-308" },
        { DBL_MAX, "1.7976931348623157e+308" },
        { NAN, "nan" },
        { -INFINITY, "-inf" },
    };
    char text[LL_DOUBLE_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ll_text_double(cases[i].v, text), strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
    uint64_t bits = 1;
    for (int i = 0; i < 200000; i++) { /* any bits: exact, and one digit less is not */
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        double v;
        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v)) continue;
        ll_text_double(v, text);
        assert_true(strtod(text, NULL) == v);
        int digits = 0, zeros = 0; /* those that count: none in front, none behind */
        for (const char *p = text; *p != '\0' && *p != 'e'; p++) {
            if (*p == '0') zeros += digits > 0;
            if (*p >= '1' && *p <= '9') digits += 1 + zeros, zeros = 0;
        }
        char shorter[LL_DOUBLE_TEXT];
        snprintf(shorter, sizeof shorter, "%.*e", digits > 1 ? digits - 2 : 0, v);
        if (digits > 1) assert_true(strtod(shorter, NULL) != v);
    }
    /* A host program's locale changes nothing (where such a locale is installed). */
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL) {
        ll_text_double(0.5, text);
        assert_string_equal(text, "0.5");
        setlocale(LC_NUMERIC, "C");
    }
}

static void distance_counts_edits(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        size_t      d;
    } cases[] = {
        { "", "", 0 },
        { "", "abc", 3 },
        { "batch", "batch", 0 },
        { "batch", "bach", 1 },
        { "batch", "btach", 1 },
        { "batch", "botch", 1 },
        { "kitten", "sitting", 3 },
        { "ca", "abc", 3 },
        { "abcd", "badc", 2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ll_text_distance(cases[i].a, cases[i].b), cases[i].d);
        assert_int_equal(ll_text_distance(cases[i].b, cases[i].a), cases[i].d);
    }
    char word[LL_WORD_MAX + 2];
    memset(word, 'x', sizeof word);
    word[LL_WORD_MAX] = '\0';
    assert_int_equal(ll_text_distance(word, "x"), LL_WORD_MAX - 1);
    word[LL_WORD_MAX] = 'x';
    word[LL_WORD_MAX + 1] = '\0';
    assert_int_equal(ll_text_distance(word, "x"), LL_WORD_MAX + 1);
    assert_int_equal(ll_text_distance("x", word), LL_WORD_MAX + 1);
}

static void the_nearest_name_is_found_or_none(void **state)
{
    (void)state;
    static const char *const names[] = { "batch", "horizon", "context", "lr", "lo", "k", NULL };
    assert_string_equal(llap_text_nearest("batch", names), "batch");
    assert_string_equal(llap_text_nearest("bacth", names), "batch");
    assert_string_equal(llap_text_nearest("horizn", names), "horizon");
    assert_string_equal(llap_text_nearest("lx", names), "lr"); /* the earlier of two */
    assert_null(llap_text_nearest("epochs", names));
    assert_null(llap_text_nearest("x", names)); /* one letter replaced is another word */
    assert_null(llap_text_nearest("", names));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_is_checked_to_the_byte),
        cmocka_unit_test(every_character_is_encoded_validly),
        cmocka_unit_test(messages_show_text_on_one_line),
        cmocka_unit_test(doubles_read_back_with_the_fewest_digits),
        cmocka_unit_test(distance_counts_edits),
        cmocka_unit_test(the_nearest_name_is_found_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
