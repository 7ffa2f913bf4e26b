/* Writing to the caller's log: llap_logf(log, LLAP_LOG_WARNING, "%zu duplicates", n). log may be
 * NULL. Messages are cut at LLAP_LOG_MAX bytes. */
#ifndef LLAP_BASE_LOG_H
#define LLAP_BASE_LOG_H

#include <llapdiff/log.h>

#define LLAP_LOG_MAX 2048

void llap_logf(const llap_log *log, llap_log_level level, const char *fmt, ...) LLAP_PRINTF(3, 4);

#endif
