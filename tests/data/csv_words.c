/* What a panel keeps of the words that its values were coded from: by file and by frame, in every
 * form. */
#include "arrow_frame.h"
#include "check_status.h"
#include "csv_text.h"
#include "folder.h"

#include "data/arrow/arrow.h"
#include "data/panel_words.h"

static void expect_levels(const llap_panel *p, const char *want)
{
    char   found[200] = "";
    size_t at = 0;
    assert_non_null(p->words);
    for (size_t i = 0; i < p->words->n_levels; i++)
        at += (size_t)snprintf(found + at, sizeof found - at, "%s%s", i == 0 ? "" : " ",
                               p->words->level[i]);
    assert_string_equal(found, want);
}

static llap_panel *panel_of_frame(static_frame *f, const ll_csv_opts *o)
{
    llap_panel             *p = NULL;
    struct ArrowArrayStream s = frame_stream(f);
    CHECK_OK(ll_arrow_read(&s, o, &p, NULL));
    return p;
}

static const char *const coded_kind[] = { "kind", NULL };

static void codes_of_words_in_long_form_are_kept(void **state)
{
    (void)state;
    static const char text[] = "id,time,variable,value\na,1,kind,wet\na,2,kind,dry\na,1,x,5\n"
                               "b,1,kind,dry\nb,2,x,6\n";
    ll_csv_opts       o = LL_CSV_DEFAULT;
    o.coded = coded_kind;
    llap_panel *p = panel_of_opts(text, &o);
    expect_levels(p, "kind=dry kind=wet");
    const int64_t c = ll_panel_find_words(p, "kind");
    assert_true(c >= 0 && p->words->changes[c] != NULL);
    llap_panel_destroy(p);
    /* other words, the same codes */
    const char *const levels[] = { "kind=dry", "kind=wet", NULL };
    o = LL_CSV_DEFAULT;
    o.levels = levels;
    expect_opts("id,time,variable,value\na,1,kind,wet\na,1,x,5\n", &o, "a@1:1,5");
}

static void codes_of_numbers_in_a_frame_are_kept(void **state)
{
    (void)state;
    static const int64_t time[] = { 0, 3600, 7200, 10800 };
    static const int16_t kind[] = { 40, 7, 40, 7 };
    static const double  x[] = { 1, 2, 3, 4 };
    static_frame         f = { .n_rows = 4 };
    frame_column(&f, "tss:", "time", (frame_buffers){ { NULL, time } });
    frame_column(&f, "s", "kind", (frame_buffers){ { NULL, kind } });
    frame_column(&f, "g", "x", (frame_buffers){ { NULL, x } });
    ll_csv_opts o = LL_CSV_DEFAULT;
    o.coded = coded_kind;
    llap_panel *p = panel_of_frame(&f, &o);
    expect_levels(p, "kind=40 kind=7"); /* in the order of their text, as of files */
    llap_panel_destroy(p);
    static const char text[] = "time,kind,x\n0,40,1\n3600,7,2\n";
    p = panel_of_opts(text, &o);
    expect_levels(p, "kind=40 kind=7");
    llap_panel_destroy(p);
    f.n_rows = 1; /* a later frame that begins with another word */
    f.done = 0;
    f.buffers[1].at[1] = kind + 1;
    const char *const levels[] = { "kind=40", "kind=7", NULL };
    o = LL_CSV_DEFAULT;
    o.levels = levels;
    p = panel_of_frame(&f, &o);
    assert_true(p->value[0] == 1);
    llap_panel_destroy(p);
}

static void levels_are_those_of_the_name_that_a_column_is_given(void **state)
{
    (void)state;
    const char *const columns[] = { "kind=KIND", "x", NULL };
    const char *const levels[] = { "kind=dry", "kind=wet", "KIND=no", NULL };
    ll_csv_opts       o = LL_CSV_DEFAULT;
    o.columns = columns;
    o.levels = levels;
    expect_opts("time,KIND,x\n1,wet,5\n2,wet,6\n", &o, "t@1:1,5 t@2:1,6");
}

static void write_text(const char *name, const char *text)
{
    FILE *f = fopen(in_folder(name), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* Reads air_2016.csv and air_2017.csv of these words as one series. */
static llap_panel *joined(const char *before, const char *after)
{
    char text[400];
    snprintf(text, sizeof text, "time,kind,x\n2016-12-30T00:00Z,%s,1\n2016-12-31T00:00Z,%s,2\n",
             before, before);
    write_text("air_2016.csv", text);
    snprintf(text, sizeof text, "time,kind,x\n2017-01-01T00:00Z,%s,3\n2017-01-02T00:00Z,%s,4\n",
             after, after);
    write_text("air_2017.csv", text);
    const char *const path[] = { in_folder("air_2016.csv"), in_folder("air_2017.csv") };
    llap_panel       *p = NULL;
    CHECK_OK(ll_csv_read(path, 2, &LL_CSV_DEFAULT, &p, NULL));
    assert_int_equal(p->n_entities, 1);
    return p;
}

static void files_that_are_joined_keep_the_word_of_their_entity(void **state)
{
    (void)state;
    llap_panel   *p = joined("urban", "urban");
    const int64_t c = ll_panel_find_words(p, "kind");
    assert_true(c >= 0 && p->words->changes[c] == NULL);
    assert_non_null(p->words->word[c][0]);
    assert_string_equal(p->words->word[c][0], "urban");
    llap_panel_destroy(p);
    p = joined("urban", "rural"); /* the word changes from file to file */
    assert_non_null(p->words->changes[0]);
    assert_non_null(strstr(p->words->changes[0], "'air': 'urban'"));
    assert_non_null(strstr(p->words->changes[0], "air_2017.csv:2"));
    llap_panel_destroy(p);
}

static void a_word_that_changed_before_files_were_joined_still_changes(void **state)
{
    (void)state;
    uint32_t      to[] = { 2, 2, 2 };
    ll_word_notes n = { 0 };
    CHECK_OK(ll_word_notes_add(&n, 0, 1, "a", 1, 5));
    CHECK_OK(ll_word_notes_add(&n, 0, 1, "b", 1, 6));
    CHECK_OK(ll_word_notes_join(&n, to, 3));
    assert_true(n.column[0].changes && n.column[0].who == 2);
    assert_string_equal(n.column[0].entity[2].word, "a");
    ll_word_notes_deinit(&n);
}

static llap_status work(void *user)
{
    const uint32_t to[] = { 100, 100 };
    ll_word_notes  n = { 0 };
    (void)user;
    llap_status st = ll_word_notes_add(&n, 0, 0, "a", 1, 1);
    if (st == LLAP_OK) st = ll_word_notes_add(&n, 0, 1, "a", 1, 2);
    if (st == LLAP_OK) st = ll_word_notes_join(&n, to, 2);
    ll_word_notes_deinit(&n);
    return st;
}

static void every_failed_allocation_of_joining(void **state)
{
    (void)state;
    check_every_failed_allocation(work, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_of_words_in_long_form_are_kept),
        cmocka_unit_test(codes_of_numbers_in_a_frame_are_kept),
        cmocka_unit_test(levels_are_those_of_the_name_that_a_column_is_given),
        cmocka_unit_test(files_that_are_joined_keep_the_word_of_their_entity),
        cmocka_unit_test(a_word_that_changed_before_files_were_joined_still_changes),
        cmocka_unit_test(every_failed_allocation_of_joining),
    };
    return cmocka_run_group_tests_name("data/csv_words", tests, make_folder, remove_folder);
}
