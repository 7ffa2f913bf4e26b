#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char detail[LL_DETAIL_MAX];

typedef struct status_row {
    const char *name, *text, *python;
    int         exit_code, http;
} status_row;

static const status_row rows[] = {
#define X(code, exit_code, http, python, text) { #code, text, python, exit_code, http },
    LLAP_STATUS_LIST(X)
#undef X
};

static const status_row *row_of(llap_status code)
{
    const size_t i = (size_t)code;
    return &rows[i < sizeof rows / sizeof *rows ? i : LLAP_EINVAL];
}

const char *llap_status_name(llap_status code) { return row_of(code)->name; }
const char *llap_status_text(llap_status code) { return row_of(code)->text; }
const char *llap_status_python(llap_status code) { return row_of(code)->python; }
int         llap_status_http(llap_status code) { return row_of(code)->http; }
int         llap_status_exit_code(llap_status code) { return row_of(code)->exit_code; }
const char *llap_error_detail(void) { return detail; }

llap_status ll_fail(llap_status code, const char *fmt, ...)
{
    /* Formatted aside first: an argument may be the old detail. */
    char    text[LL_DETAIL_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    memcpy(detail, text, sizeof detail);
    return code;
}

llap_status ll_fail_in(llap_status code, const char *fmt, ...)
{
    char    place[LL_DETAIL_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(place, sizeof place, fmt, args);
    va_end(args);
    return ll_fail(code, "%s: %s", place, detail);
}

llap_status ll_fail_errno(int err, const char *fmt, ...)
{
    char    place[LL_DETAIL_MAX], why[128];
    va_list args;
    va_start(args, fmt);
    vsnprintf(place, sizeof place, fmt, args);
    va_end(args);
    if (strerror_r(err, why, sizeof why) != 0) snprintf(why, sizeof why, "error %d", err);
    const llap_status code = err == ENOENT   ? LLAP_ENOTFOUND
                             : err == ENOMEM ? LLAP_ENOMEM
                                             : LLAP_EIO;
    return ll_fail(code, "%s: %s", place, why);
}
