/* Public holidays: dates of a country, from a table, or of a file.
 *
 *     int32_t *day = NULL;
 *     size_t   n = 0;
 *     llap_status st = ll_holidays_read("DE", &day, &n);        or "closed.csv"
 *
 * Days are counted from 1970-01-01, increasing, each once. The table has national holidays of 1990
 * to 2040 (tools/holidays makes it). */
#ifndef LL_BASE_TIME_HOLIDAYS_H
#define LL_BASE_TIME_HOLIDAYS_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LL_HOLIDAYS_MAX = 4096 };

/* what: the code of a country, in any case, or a CSV file whose first column has dates as
 * 2024-12-25; its first line may be a header. Caller owns *day (ll_free). LLAP_EOPTION: neither a
 * country nor a file, names the countries; LLAP_EFORMAT: a line that is no date; LLAP_ELIMIT. */
llap_status ll_holidays_read(const char *what, int32_t **day, size_t *n);

bool ll_holidays_is_country(const char *what);

#endif
