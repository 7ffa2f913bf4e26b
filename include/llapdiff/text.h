/* Texts that the library gives away, and "did you mean" for programs that take names from people.
 */
#ifndef LLAPDIFF_TEXT_H
#define LLAPDIFF_TEXT_H

#include <llapdiff/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Frees a text that a function of the library gave to its caller. */
LLAP_API void llap_text_free(char *text); /* NULL is fine */

/* The name (of a list closed by NULL) that word was probably meant to be, or NULL when none is
 * near: within a third of the word's length, at least 1. The earlier of two equally near wins. */
LLAP_API const char *llap_text_nearest(const char *word, const char *const *names);

#ifdef __cplusplus
}
#endif

#endif
