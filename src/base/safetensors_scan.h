/* The pull scanner for the JSON text in front of a safetensors file: no tree, no allocation, one
 * token at a time. Its error is sticky: the first failure is kept in st and every later call finds
 * the end of the text, so that a caller reads a whole structure and looks at st once.
 *
 *     ll_header s = { .file = path, .text = text, .n = n };
 *     ll_header_take(&s, '[');
 *     for (size_t i = 0; ll_header_more(&s, ']', i); i++) sum += ll_header_number(&s);
 *     return s.st;
 *
 * The text must be valid UTF-8. White space is skipped in front of each token. Positions in
 * messages count bytes of the text from 0: "FILE: header byte 17: expected ':', found 'x'". */
#ifndef LL_BASE_SAFETENSORS_SCAN_H
#define LL_BASE_SAFETENSORS_SCAN_H

#include <llapdiff/export.h>
#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ll_header {
    const char *file; /* for messages; borrowed, like text */
    const char *text;
    size_t      n, at; /* at: the next byte */
    llap_status st;
} ll_header;

/* Takes this punctuation mark, which must come next. */
void ll_header_take(ll_header *s, char mark);

/* In front of element i of an object or array: whether there is one. Takes the comma between two
 * elements, or the closing mark. */
bool ll_header_more(ll_header *s, char closing, size_t i);

/* A whole number, 0 .. INT64_MAX. 0 after a failure. */
int64_t ll_header_number(ll_header *s);

/* A string, escapes decoded, into out[0..size) as far as it fits with a closing NUL (size >= 1).
 * Returns its whole length. NUL characters are refused. */
size_t ll_header_string(ll_header *s, char *out, size_t size);

/* The closing of the text: only spaces may be left. */
void ll_header_end(ll_header *s);

/* Records a failure, "FILE: ...", unless there is one already. */
void ll_header_fail(ll_header *s, const char *fmt, ...) LLAP_PRINTF(2, 3);

#endif
