/* Where the library's messages go. The library itself never prints: it hands each message to the
 * sink that the caller put into the options; without one it is silent.
 *
 *     llap_log log = { .level = LLAP_LOG_INFO, .sink = llap_log_to_file, .user = stderr };
 *     opts.log = &log; */
#ifndef LLAPDIFF_LOG_H
#define LLAPDIFF_LOG_H

#include <llapdiff/export.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum llap_log_level {
    LLAP_LOG_ERROR,
    LLAP_LOG_WARNING,
    LLAP_LOG_INFO,
    LLAP_LOG_DEBUG,
} llap_log_level;

typedef struct llap_log {
    llap_log_level level; /* messages above it are dropped before they are formatted */
    /* Gets one line without a line end. May be called from any thread that uses this log. */
    void (*sink)(void *user, llap_log_level level, const char *message);
    void *user;
} llap_log;

/* A ready sink: user is a FILE *; writes "warning: message\n" (no word before an info) in one
 * piece. */
LLAP_API void llap_log_to_file(void *user, llap_log_level level, const char *message);

LLAP_API const char *llap_log_level_name(llap_log_level level); /* "warning" */

#ifdef __cplusplus
}
#endif

#endif
