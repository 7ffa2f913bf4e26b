/* The pull scanner for the JSON text in front of a safetensors file: no tree, no allocation, one
 * token at a time. Its error is sticky: the first failure is kept in st and every later call finds
 * the end of the text, so that a caller reads a whole structure and looks at st once.
 *
 *     llap_header s = { .file = path, .text = text, .n = n };
 *     llap_header_take(&s, '[');
 *     for (size_t i = 0; llap_header_more(&s, ']', i); i++) sum += llap_header_number(&s);
 *     return s.st;
 *
 * The text must be valid UTF-8. White space is skipped in front of each token. Positions in
 * messages count bytes of the text from 0: "FILE: header byte 17: expected ':', found 'x'". */
#ifndef LLAP_BASE_SAFETENSORS_SCAN_H
#define LLAP_BASE_SAFETENSORS_SCAN_H

#include <llapdiff/export.h>
#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct llap_header {
    const char *file; /* for messages; borrowed, like text */
    const char *text;
    size_t      n, at; /* at: the next byte */
    llap_status st;
} llap_header;

/* Takes this punctuation mark, which must come next. */
void llap_header_take(llap_header *s, char mark);

/* In front of element i of an object or array: whether there is one. Takes the comma between two
 * elements, or the closing mark. */
bool llap_header_more(llap_header *s, char closing, size_t i);

/* A whole number, 0 .. INT64_MAX. 0 after a failure. */
int64_t llap_header_number(llap_header *s);

/* A string, escapes decoded, into out[0..size) as far as it fits with a closing NUL (size >= 1).
 * Returns its whole length. NUL characters are refused. */
size_t llap_header_string(llap_header *s, char *out, size_t size);

/* The closing of the text: only spaces may be left. */
void llap_header_end(llap_header *s);

/* Records a failure, "FILE: ...", unless there is one already. */
void llap_header_fail(llap_header *s, const char *fmt, ...) LLAP_PRINTF(2, 3);

#endif
