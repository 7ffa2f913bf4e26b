#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const names[] = {
    [LLAP_LOG_ERROR] = "error",
    [LLAP_LOG_WARNING] = "warning",
    [LLAP_LOG_INFO] = "info",
    [LLAP_LOG_DEBUG] = "debug",
};

const char *llap_log_level_name(llap_log_level level)
{
    const size_t i = (size_t)level;
    return i < sizeof names / sizeof *names ? names[i] : "error";
}

void llap_log_to_file(void *user, llap_log_level level, const char *message)
{
    if (level == LLAP_LOG_INFO) fprintf(user, "%s\n", message);
    else fprintf(user, "%s: %s\n", llap_log_level_name(level), message);
}

void ll_logf(const llap_log *log, llap_log_level level, const char *fmt, ...)
{
    if (log == NULL || log->sink == NULL || level > log->level) return;
    char    message[LL_LOG_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    log->sink(log->user, level, message);
}
