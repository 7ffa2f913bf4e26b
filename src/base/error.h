/* Reporting a failure: keeps the detail for this thread and returns the code, so that reporting
 * stays one line:
 *
 *     return ll_fail(LLAP_EFORMAT, "%s:%zu: column '%s': not a number", path, line, name);
 *
 * A caller that knows the place puts it in front of what the callee said:
 *
 *     if (st != LLAP_OK) return ll_fail_in(st, "%s", path);       "weights.bin: " + old detail
 *
 * LLAP_EOPTION begins with the option, "horizon: expected at least 1 row, found -3", so that faces
 * can say it in their own words.
 *
 * Another option is named in backticks, "rename with `columns`": programs put their own spelling
 * there.
 *
 * Nothing here allocates, so it also reports LLAP_ENOMEM. */
#ifndef LL_BASE_ERROR_H
#define LL_BASE_ERROR_H

#include <llapdiff/status.h>

#define LL_DETAIL_MAX 1024 /* bytes of detail kept, the closing NUL included; longer is cut */

llap_status ll_fail(llap_status code, const char *fmt, ...) LLAP_PRINTF(2, 3);
llap_status ll_fail_in(llap_status code, const char *fmt, ...) LLAP_PRINTF(2, 3);

/* For a failed system call: "FMT: strerror(errno)", LLAP_ENOTFOUND for ENOENT, LLAP_ENOMEM for
 * ENOMEM, else LLAP_EIO. */
llap_status ll_fail_errno(int err, const char *fmt, ...) LLAP_PRINTF(2, 3);

#endif
