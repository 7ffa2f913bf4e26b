/* The call fails with exactly this detail. */
#ifndef LLAP_TESTS_BASE_DETAIL_H
#define LLAP_TESTS_BASE_DETAIL_H

#include "check.h"

static inline void check_detail(llap_status st, llap_status code, const char *detail)
{
    assert_string_equal(llap_error_detail(), detail);
    assert_int_equal(st, code);
}

#endif
