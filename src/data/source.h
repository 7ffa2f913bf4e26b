/* Where bytes come from: a file, a gzip file (known by its first bytes, whatever its name), the
 * standard input ("-"), or memory. Read once, from front to back.
 *
 *     llap_source *s;
 *     st = llap_source_open("air.csv.gz", &s);
 *     while ((st = llap_source_read(s, buf, sizeof buf, &n)) == LLAP_OK && n > 0) ...
 *     llap_source_close(s);
 *
 * Directories are refused. Errors name the path. */
#ifndef LLAP_DATA_SOURCE_H
#define LLAP_DATA_SOURCE_H

#include <llapdiff/status.h>
#include <stddef.h>

typedef struct llap_source llap_source;

/* Caller owns *out. path "-" is the standard input, which stays open. */
llap_status llap_source_open(const char *path, llap_source **out);

/* Borrows data until closed; name is for messages and is copied. */
llap_status llap_source_open_memory(const char *name, const void *data, size_t n,
                                    llap_source **out);
void        llap_source_close(llap_source *s); /* NULL is fine */

/* Up to max > 0 bytes, fewer only at the end; *n == 0 is the end. LLAP_EFORMAT: damaged or
 * shortened gzip data. */
llap_status llap_source_read(llap_source *s, void *to, size_t max, size_t *n);

const char *llap_source_name(const llap_source *s); /* "standard input" for "-" */

#endif
