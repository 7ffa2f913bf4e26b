/* Parts of addresses: %41 is A. */
#ifndef LL_BASE_PERCENT_H
#define LL_BASE_PERCENT_H

#include <llapdiff/status.h>
#include <stddef.h>

/* text[0..n) with its codes decoded; caller owns *out (ll_free), also after a failure. what: of
 * messages, which do not show the text. LLAP_EINVAL: a % that no code follows (%00 is none), or no
 * UTF-8. */
llap_status ll_percent_decode(const char *text, size_t n, const char *what, char **out);

#endif
