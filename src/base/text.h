/* Text from and for outside: UTF-8 checks, quoting for messages, numbers and "did you mean".
 * Nothing here allocates. */
#ifndef LL_BASE_TEXT_H
#define LL_BASE_TEXT_H

#include <llapdiff/config.h>
#include <llapdiff/status.h>
#include <llapdiff/text.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the longest prefix of s[0..n) that is valid UTF-8: n when all of it is. Overlong
 * forms, surrogates and numbers behind U+10FFFF are not valid; NUL is a character like others. */
size_t ll_utf8_prefix(const char *s, size_t n);

/* Writes the character c (at most U+10FFFF) and returns how many bytes it took, 1 to 4. */
size_t ll_utf8_encode(uint32_t c, char out[4]);

/* A string made fit for one line of a message: control characters and invalid bytes appear as
 * \xNN, and what does not fit is cut with "...".
 *
 *     return ll_fail(LLAP_EFORMAT, "%s: no tensor '%s'", file, ll_text_show(name).text); */
typedef struct ll_text_shown {
    char text[104];
} ll_text_shown;

ll_text_shown ll_text_show(const char *s);

/* v with the fewest digits that read back as exactly v: "0.1", "-0", "5e-324", "1e+22"; "nan",
 * "inf". Always with a point, whatever the locale. Returns the length. */
#define LL_DOUBLE_TEXT 32
size_t ll_text_double(double v, char out[LL_DOUBLE_TEXT]);

/* How many insertions, deletions, replacements and swaps of neighbouring bytes turn a into b.
 * Only for words: where one is longer than LL_WORD_MAX bytes, the answer is the longer length. */
#define LL_WORD_MAX 63
size_t ll_text_distance(const char *a, const char *b);

#endif
