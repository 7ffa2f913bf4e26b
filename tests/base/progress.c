#include "check.h"

#include "base/progress.h"

static void lines_fit_and_read_well(void **state)
{
    (void)state;
    char line[256];
    ll_bar_line(&(llap_progress_event){ "fit", 50, 200, "steps", "loss 0.31" }, 10.0, 80, line,
                sizeof line);
    assert_string_equal(line, "fit [#######.......................]  25%  5 steps/s  0:30 left  "
                              "loss 0.31");
    ll_bar_line(&(llap_progress_event){ "read", 12345678, 0, "B", NULL }, 2.0, 80, line,
                sizeof line);
    assert_string_equal(line, "read 12.3M  6.17MB/s");
    ll_bar_line(&(llap_progress_event){ "x", 1, 100000, NULL, NULL }, 1.0, 80, line, sizeof line);
    assert_string_equal(line, "x [..............................]   0%  1 /s  1d03h left");
    ll_bar_line(&(llap_progress_event){ "x", 3, 9000, NULL, NULL }, 3.0, 80, line, sizeof line);
    assert_non_null(strstr(line, "2h29m left"));
    ll_bar_line(&(llap_progress_event){ "done", 9, 9, NULL, NULL }, 3.0, 80, line, sizeof line);
    assert_string_equal(line, "done [##############################] 100%  3 /s");
    for (int columns = 1; columns < 60; columns++) {
        ll_bar_line(&(llap_progress_event){ "narrow", 7, 9, "rows", "note" }, 3.0, columns, line,
                    sizeof line);
        assert_true(strlen(line) <= (size_t)columns);
    }
}

static char *drawn(bool colour, double delay)
{
    char     *text = NULL;
    size_t    n = 0;
    FILE     *f = open_memstream(&text, &n);
    llap_bar *bar;
    CHECK_OK(ll_bar_create_forced(f, 40, colour, delay, &bar));
    const llap_progress p = llap_bar_progress(bar);
    CHECK_OK(ll_report(p, &(llap_progress_event){ "a", 1, 2, NULL, NULL }));
    CHECK_OK(ll_report(p, &(llap_progress_event){ "a", 2, 2, NULL, NULL }));
    CHECK_OK(ll_report(p, &(llap_progress_event){ "b", 1, 2, NULL, NULL }));
    llap_bar_clear(bar);
    llap_bar_destroy(bar);
    fclose(f);
    return text;
}

static void a_terminal_sees_stages_and_colour(void **state)
{
    (void)state;
    char *plain = drawn(false, 0), *colour = drawn(true, 0), *early = drawn(true, 100);
    assert_non_null(strstr(plain, "\ra ["));
    assert_non_null(strstr(plain, "\n\rb ["));
    assert_null(strstr(plain, "\033[36m"));
    assert_non_null(strstr(colour, "\033[36m"));
    assert_string_equal(early, "");
    free(plain);
    free(colour);
    free(early);
}

static void other_streams_see_nothing(void **state)
{
    (void)state;
    FILE     *f = tmpfile();
    llap_bar *bar;
    CHECK_OK(llap_bar_create(f, &bar));
    assert_null(llap_bar_progress(bar).report);
    CHECK_OK(ll_report(llap_bar_progress(bar), &(llap_progress_event){ "a", 1, 2, 0, 0 }));
    llap_bar_destroy(bar);
    llap_bar_destroy(NULL);
    assert_int_equal(ftell(f), 0);
    fclose(f);
}

static int stop(void *user, const llap_progress_event *event)
{
    (void)user;
    return event->done >= 3;
}

static void a_report_can_cancel(void **state)
{
    (void)state;
    const llap_progress p = { .report = stop };
    CHECK_OK(ll_report(p, &(llap_progress_event){ "fit", 2, 9, NULL, NULL }));
    CHECK_FAIL(ll_report(p, &(llap_progress_event){ "fit", 3, 9, NULL, NULL }), LLAP_ECANCELLED,
               "fit: stopped at 3 of 9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_fit_and_read_well),
        cmocka_unit_test(a_terminal_sees_stages_and_colour),
        cmocka_unit_test(other_streams_see_nothing),
        cmocka_unit_test(a_report_can_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
