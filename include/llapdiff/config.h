/* Unstable (see unstable.h): help for programs that take options from people. Settings from a JSON
 * object, as text, {"horizon": "48h", "samples": 200}, and "did you mean". */
#ifndef LLAPDIFF_CONFIG_H
#define LLAPDIFF_CONFIG_H

#include <llapdiff/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls set for each of the names (a list closed by NULL) that the object in the file has, in the
 * order of the list: strings as they are, numbers and true and false as they are written, arrays
 * joined by commas, anything else as JSON text; place is where that stands, "run.json:3:14". "-":
 * standard input. Both are borrowed until set returns; what it returns, unless LLAP_OK, ends the
 * call. LLAP_EFORMAT: not such an object, or a key that is none of the names, with the nearest. */
LLAP_API llap_status llap_config_read(const char *path, const char *const *names,
                                      llap_status (*set)(void *user, const char *name,
                                                         const char *text, const char *place),
                                      void *user);

/* The name (of a list closed by NULL) that word was probably meant to be, or NULL when none is
 * near: within a third of the word's length, at least 1. The earlier of two equally near wins. */
LLAP_API const char *llap_text_nearest(const char *word, const char *const *names);

#ifdef __cplusplus
}
#endif

#endif
