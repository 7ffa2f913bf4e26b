/* cmocka and checks of statuses, for tests that see the public headers alone; the others include
 * check.h. */
#ifndef LLAP_TESTS_CHECK_STATUS_H
#define LLAP_TESTS_CHECK_STATUS_H

#include <llapdiff/status.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#define CHECK_OK(call)                                                                 \
    do {                                                                               \
        const llap_status st_ = (call);                                                \
        if (st_ != LLAP_OK)                                                            \
            fail_msg("%s: %s: %s", #call, llap_status_name(st_), llap_error_detail()); \
    } while (0)

/* The call fails with this code, and its detail contains this text. */
#define CHECK_FAIL(call, code, text)                                                        \
    do {                                                                                    \
        const llap_status st_ = (call);                                                     \
        if (st_ != (code))                                                                  \
            fail_msg("%s: expected %s, found %s (%s)", #call, #code, llap_status_name(st_), \
                     llap_error_detail());                                                  \
        if (strstr(llap_error_detail(), (text)) == NULL)                                    \
            fail_msg("%s: expected '%s' in '%s'", #call, (text), llap_error_detail());      \
    } while (0)

#endif
