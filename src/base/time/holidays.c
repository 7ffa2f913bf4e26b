#include "base/time/holidays.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/time/civil.h"
#include "base/time/holidays_table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { COUNTRIES = sizeof countries / sizeof *countries };

static const struct country *find(const char *code)
{
    for (size_t i = 0; i < COUNTRIES; i++)
        if (strcasecmp(countries[i].code, code) == 0) return &countries[i];
    return NULL;
}

bool ll_holidays_is_country(const char *what) { return find(what) != NULL; }

static int32_t digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
    const char       *at = strchr(digits, c);
    assert(at != NULL);
    return (int32_t)(at - digits);
}

static llap_status decode(const struct country *c, int32_t **day, size_t *n)
{
    const int32_t more = 63;
    int32_t       at = (int32_t)ll_days_from_date(FIRST_YEAR, 1, 1);
    *day = ll_new(strlen(c->days), sizeof **day);
    if (*day == NULL) return LLAP_ENOMEM;
    for (const char *s = c->days; *s != '\0'; s++) {
        at += digit(*s);
        if (digit(*s) < more) (*day)[(*n)++] = at;
    }
    return LLAP_OK;
}

/* 2024-12-25, at the beginning of a line. */
static bool date_of(const char *line, int32_t *day)
{
    int year = 0, month = 0, date = 0, end = 0;
    if (sscanf(line, " \"%4d-%2d-%2d%n", &year, &month, &date, &end) != 3 || end == 0)
        if (sscanf(line, "%4d-%2d-%2d%n", &year, &month, &date, &end) != 3 || end == 0)
            return false;
    if (year < 1678 || year > 2261 || month < 1 || month > 12 || date < 1 ||
        date > ll_days_in_month(year, month))
        return false;
    *day = (int32_t)ll_days_from_date(year, month, date);
    return true;
}

static int in_order(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void sort_once(int32_t *day, size_t *n)
{
    size_t kept = 0;
    qsort(day, *n, sizeof *day, in_order);
    for (size_t i = 0; i < *n; i++)
        if (kept == 0 || day[i] != day[kept - 1]) day[kept++] = day[i];
    *n = kept;
}

static llap_status read_lines(const char *path, char *text, int32_t *day, size_t *n)
{
    size_t number = 0;
    for (char *line = text, *next; line != NULL && *line != '\0'; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) *next++ = '\0';
        number++;
        if (line[strspn(line, " \t\r")] == '\0') continue;
        if (*n == LL_HOLIDAYS_MAX)
            return ll_fail(LLAP_ELIMIT, "%s: more than %d dates", path, LL_HOLIDAYS_MAX);
        if (date_of(line, &day[*n])) ++*n;
        else if (number > 1) /* the first may be a header */
            return ll_fail(LLAP_EFORMAT, "%s:%zu: expected a date as 2024-12-25, found '%s'", path,
                           number, ll_text_show(line).text);
    }
    return *n > 0 ? LLAP_OK
                  : ll_fail(LLAP_EFORMAT, "%s: no date as 2024-12-25 in its first column", path);
}

static llap_status read_file(const char *path, int32_t **day, size_t *n)
{
    const size_t most = 1 << 20;
    char        *text = NULL;
    size_t       length = 0;
    llap_status  st = ll_file_read(path, most, &text, &length);
    if (st == LLAP_OK) {
        *day = ll_new(LL_HOLIDAYS_MAX, sizeof **day);
        st = *day == NULL ? LLAP_ENOMEM : read_lines(path, text, *day, n);
    }
    if (st == LLAP_OK) sort_once(*day, n);
    ll_free(text);
    return st;
}

llap_status ll_holidays_read(const char *what, int32_t **day, size_t *n)
{
    const struct country *c = find(what);
    char                  list[16 * COUNTRIES] = "";
    size_t                at = 0;
    *day = NULL;
    *n = 0;
    FILE *there = c == NULL ? fopen(what, "rbe") : NULL;
    if (there != NULL) fclose(there);
    if (c == NULL && there == NULL) {
        for (size_t i = 0; i < COUNTRIES; i++)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i > 0 ? ", " : "",
                                   countries[i].code);
        return ll_fail(LLAP_EOPTION,
                       "holidays: '%s' is neither a file of dates nor a country with a table: %s",
                       ll_text_show(what).text, list);
    }
    const llap_status st = c != NULL ? decode(c, day, n) : read_file(what, day, n);
    if (st == LLAP_OK) return st;
    ll_free(*day);
    *day = NULL;
    return st;
}
