/* Bytes of a source as valid UTF-8: a byte that is not part of a valid sequence is taken for
 * Latin-1, which is what old programs write (a degree sign as one byte), and becomes the character
 * of that number. So names are always fit for JSON.
 *
 *     ll_utf8_reader u = { .source = source };
 *     st = ll_utf8_read(&u, buf, sizeof buf, &n);         n == 0 is the end
 *     ll_utf8_deinit(&u); */
#ifndef LL_DATA_TEXT_UTF8_H
#define LL_DATA_TEXT_UTF8_H

#include "data/text/source.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ll_utf8_reader {
    ll_source *source;
    int64_t    repaired; /* bytes taken for Latin-1 */
    char      *raw;      /* [n_raw] read, but not yet looked at */
    size_t     n_raw, raw_capacity;
    bool       at_end;
} ll_utf8_reader;

/* Up to max >= 8 bytes; fewer does not mean the end, none does. */
llap_status ll_utf8_read(ll_utf8_reader *u, char *to, size_t max, size_t *n);
void        ll_utf8_deinit(ll_utf8_reader *u);

#endif
