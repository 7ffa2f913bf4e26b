/* Holidays of countries and of files. */
#include "base/time/holidays.h"
#include "base/time/civil.h"
#include "check.h"
#include "folder.h"

static bool has(const int32_t *day, size_t n, int year, int month, int date)
{
    const int32_t wanted = (int32_t)ll_days_from_date(year, month, date);
    for (size_t i = 0; i < n; i++)
        if (day[i] == wanted) return true;
    return false;
}

static void countries(void **state)
{
    (void)state;
    static const char *const all[] = { "AU", "BR", "CA", "CN", "DE", "ES",
                                       "FR", "GB", "IT", "JP", "NL", "US" };
    int32_t                 *day;
    size_t                   n;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_true(ll_holidays_is_country(all[i]));
        CHECK_OK(ll_holidays_read(all[i], &day, &n));
        assert_true(n > 51 * 5 && n < LL_HOLIDAYS_MAX);
        for (size_t k = 1; k < n; k++) assert_true(day[k - 1] < day[k]);
        assert_true(day[0] >= ll_days_from_date(1990, 1, 1));
        assert_true(day[n - 1] <= ll_days_from_date(2040, 12, 31));
        ll_free(day);
    }
    CHECK_OK(ll_holidays_read("de", &day, &n));
    assert_true(has(day, n, 2024, 12, 25) && has(day, n, 2024, 10, 3) && has(day, n, 2024, 3, 29));
    assert_true(has(day, n, 1991, 10, 3) && has(day, n, 2040, 12, 26));
    assert_false(has(day, n, 2024, 7, 4));
    ll_free(day);
    CHECK_OK(ll_holidays_read("US", &day, &n));
    assert_true(has(day, n, 2024, 7, 4) && has(day, n, 2024, 11, 28));
    ll_free(day);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void files(void **state)
{
    (void)state;
    int32_t *day;
    size_t   n;
    write_text(in_folder("d.csv"), "date,name\n2024-05-01,May\n\n2023-12-25\r\n2024-05-01\n");
    CHECK_OK(ll_holidays_read(in_folder("d.csv"), &day, &n));
    assert_int_equal(n, 2);
    assert_int_equal(day[0], ll_days_from_date(2023, 12, 25));
    ll_free(day);
    write_text(in_folder("d.csv"), "date\n2024-02-30\n");
    CHECK_FAIL(ll_holidays_read(in_folder("d.csv"), &day, &n), LLAP_EFORMAT, ":2: expected a date");
    write_text(in_folder("d.csv"), "nothing\n");
    CHECK_FAIL(ll_holidays_read(in_folder("d.csv"), &day, &n), LLAP_EFORMAT, "no date");
    CHECK_FAIL(ll_holidays_read("XX", &day, &n), LLAP_EOPTION, "AU, BR, CA, CN, DE, ES, FR");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(countries), cmocka_unit_test(files) };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
