/* Where bytes come from: a file, a gzip file (known by its first bytes, whatever its name), the
 * standard input ("-"), or memory. Read once, from front to back.
 *
 *     ll_source *s;
 *     st = ll_source_open("air.csv.gz", &s);
 *     while ((st = ll_source_read(s, buf, sizeof buf, &n)) == LLAP_OK && n > 0) ...
 *     ll_source_close(s);
 *
 * Directories are refused. Errors name the path. */
#ifndef LL_DATA_TEXT_SOURCE_H
#define LL_DATA_TEXT_SOURCE_H

#include <llapdiff/status.h>
#include <stddef.h>

typedef struct ll_source ll_source;

/* Caller owns *out. path "-" is the standard input, which stays open. */
llap_status ll_source_open(const char *path, ll_source **out);

/* Borrows data until closed; name is for messages and is copied. */
llap_status ll_source_open_memory(const char *name, const void *data, size_t n, ll_source **out);
void        ll_source_close(ll_source *s); /* NULL is fine */

/* Up to max > 0 bytes, fewer only at the end; *n == 0 is the end. LLAP_EFORMAT: damaged or
 * shortened gzip data. */
llap_status ll_source_read(ll_source *s, void *to, size_t max, size_t *n);

const char *ll_source_name(const ll_source *s); /* "standard input" for "-" */

#endif
