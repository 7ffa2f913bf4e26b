/* Writing to the caller's log: ll_logf(log, LLAP_LOG_WARNING, "%zu duplicates", n). log may be
 * NULL. Messages are cut at LL_LOG_MAX bytes. */
#ifndef LL_BASE_LOG_H
#define LL_BASE_LOG_H

#include <llapdiff/log.h>

#define LL_LOG_MAX 2048

void ll_logf(const llap_log *log, llap_log_level level, const char *fmt, ...) LLAP_PRINTF(3, 4);

#endif
