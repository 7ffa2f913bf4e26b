/* Texts that the library gives: tables for people, JSON. */
#ifndef LLAPDIFF_TEXT_H
#define LLAPDIFF_TEXT_H

#include <llapdiff/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ends a text whose declaration says that the caller owns it. NULL is fine. */
LLAP_API void llap_text_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
