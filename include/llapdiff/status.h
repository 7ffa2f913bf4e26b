/* Status codes: how every fallible function of the library answers.
 *
 *     llap_status st = llap_...(...);
 *     if (st != LLAP_OK) {
 *         fprintf(stderr, "error: %s\n", llap_error_detail());
 *         return llap_status_exit_code(st);
 *     }
 *
 * The detail names the thing, the place, what was expected and what was found. It belongs to the
 * calling thread and stays until that thread's next failure.
 *
 * LLAP_EOPTION: an option has a value that cannot be, whatever the data: not a number, out of its
 * range, none of the words there are, against another option. The detail begins with the name of
 * its field, "horizon: ..."; details and log messages name other options in backticks, `columns`,
 * so that programs can put their own spelling there. What does not fit the data or the model is
 * LLAP_EINVAL.
 *
 * LLAP_EUNAVAILABLE: what is asked is right, but who has to answer cannot now: a database that is
 * gone, locked or full. The same call may succeed later. */
#ifndef LLAPDIFF_STATUS_H
#define LLAPDIFF_STATUS_H

#include <llapdiff/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The only list: codes, texts, exit codes, HTTP statuses and Python exceptions derive from it.
 * New codes are appended, so that the numbers stay. */
/* clang-format off */
#define LLAP_STATUS_LIST(X) /* code, exit code, HTTP status, Python exception, text */      \
    X(LLAP_OK,           0, 200, "",                    "success")                          \
    X(LLAP_EINVAL,       1, 400, "ValueError",          "invalid argument")                 \
    X(LLAP_EFORMAT,      1, 422, "ValueError",          "malformed input")                  \
    X(LLAP_ENOTFOUND,    1, 404, "FileNotFoundError",   "not found")                        \
    X(LLAP_EUNSUPPORTED, 1, 501, "NotImplementedError", "not supported")                    \
    X(LLAP_ELIMIT,       1, 413, "OverflowError",       "over a limit")                     \
    X(LLAP_EIO,          1, 500, "OSError",             "input or output failed")           \
    X(LLAP_ENOMEM,       1, 503, "MemoryError",         "out of memory")                    \
    X(LLAP_ENUMERIC,     1, 500, "ArithmeticError",     "numerical failure")                \
    X(LLAP_EUSAGE,       2, 400, "TypeError",           "wrong usage")                      \
    X(LLAP_ECANCELLED,   3, 499, "KeyboardInterrupt",   "interrupted")                      \
    X(LLAP_EOPTION,      2, 400, "ValueError",          "wrong option")                     \
    X(LLAP_EUNAVAILABLE, 1, 503, "ConnectionError",     "not available now")
/* clang-format on */

typedef enum llap_status {
#define X(code, exit_code, http, python, text) code,
    LLAP_STATUS_LIST(X)
#undef X
} llap_status;

/* What a code means, from the list above. A number that is no code reads as LLAP_EINVAL. The
 * strings are static. */
LLAP_API const char *llap_status_name(llap_status code); /* "LLAP_EINVAL" */
LLAP_API const char *llap_status_text(llap_status code); /* "invalid argument" */
LLAP_API const char *llap_status_python(llap_status code);
LLAP_API int         llap_status_http(llap_status code);
LLAP_API int         llap_status_exit_code(llap_status code);

/* The calling thread's last failure in one line, "" before the first. Valid until the thread's
 * next failure. */
LLAP_API const char *llap_error_detail(void);

#ifdef __cplusplus
}
#endif

#endif
