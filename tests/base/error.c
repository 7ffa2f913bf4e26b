#include "check.h"

#include "base/log.h"

#include <errno.h>
#include <pthread.h>

static void every_code_has_its_row(void **state)
{
    (void)state;
    int n = 0;
#define X(code, exit_code, http, python, text)                \
    assert_string_equal(llap_status_name(code), #code);       \
    assert_string_equal(llap_status_text(code), text);        \
    assert_string_equal(llap_status_python(code), python);    \
    assert_int_equal(llap_status_http(code), http);           \
    assert_int_equal(llap_status_exit_code(code), exit_code); \
    n++;
    LLAP_STATUS_LIST(X)
#undef X
    assert_true(n > 5);
    assert_string_equal(llap_status_name((llap_status)n), "LLAP_EINVAL");
    assert_int_equal(llap_status_exit_code((llap_status)9999), 1);
}

static void details_nest_and_are_cut(void **state)
{
    (void)state;
    assert_int_equal(ll_fail(LLAP_EFORMAT, "column %d", 7), LLAP_EFORMAT);
    assert_int_equal(ll_fail_in(LLAP_EFORMAT, "%s:%d", "a.csv", 3), LLAP_EFORMAT);
    assert_string_equal(llap_error_detail(), "a.csv:3: column 7");
    (void)ll_fail(LLAP_EINVAL, "again: %s", llap_error_detail());
    assert_string_equal(llap_error_detail(), "again: a.csv:3: column 7");
    char long_text[3 * LL_DETAIL_MAX];
    memset(long_text, 'x', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    (void)ll_fail(LLAP_EINVAL, "%s", long_text);
    assert_int_equal(strlen(llap_error_detail()), LL_DETAIL_MAX - 1);
    (void)ll_fail_in(LLAP_EINVAL, "%s", long_text);
    assert_int_equal(strlen(llap_error_detail()), LL_DETAIL_MAX - 1);
}

static void system_errors_have_codes(void **state)
{
    (void)state;
    assert_int_equal(ll_fail_errno(ENOENT, "x"), LLAP_ENOTFOUND);
    assert_string_equal(llap_error_detail(), "x: No such file or directory");
    assert_int_equal(ll_fail_errno(ENOMEM, "x"), LLAP_ENOMEM);
    assert_int_equal(ll_fail_errno(EACCES, "x"), LLAP_EIO);
}

static void *other_thread(void *seen)
{
    *(bool *)seen = *llap_error_detail() == '\0';
    (void)ll_fail(LLAP_EINVAL, "theirs");
    return NULL;
}

static void detail_is_per_thread(void **state)
{
    (void)state;
    (void)ll_fail(LLAP_EINVAL, "ours");
    bool      empty = false;
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, other_thread, &empty), 0);
    pthread_join(t, NULL);
    assert_true(empty);
    assert_string_equal(llap_error_detail(), "ours");
}

static void keep(void *user, llap_log_level level, const char *message)
{
    snprintf(user, 100, "%s|%s", llap_log_level_name(level), message);
}

static void log_drops_what_is_above_its_level(void **state)
{
    (void)state;
    char     last[100] = "";
    llap_log log = { .level = LLAP_LOG_INFO, .sink = keep, .user = last };
    ll_logf(&log, LLAP_LOG_WARNING, "%d rows", 3);
    assert_string_equal(last, "warning|3 rows");
    ll_logf(&log, LLAP_LOG_DEBUG, "hidden");
    assert_string_equal(last, "warning|3 rows");
    ll_logf(NULL, LLAP_LOG_ERROR, "nobody listens");
    char  *text = NULL;
    size_t n = 0;
    FILE  *f = open_memstream(&text, &n);
    llap_log_to_file(f, LLAP_LOG_WARNING, "a");
    llap_log_to_file(f, LLAP_LOG_INFO, "b");
    fclose(f);
    assert_string_equal(text, "warning: a\nb\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_row),
        cmocka_unit_test(details_nest_and_are_cut),
        cmocka_unit_test(system_errors_have_codes),
        cmocka_unit_test(detail_is_per_thread),
        cmocka_unit_test(log_drops_what_is_above_its_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
