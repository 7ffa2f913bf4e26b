/* Inside the golden runner: shared by golden.c, compare.c. */
#ifndef LLAP_GOLDEN_FRAME_H
#define LLAP_GOLDEN_FRAME_H

#include "golden.h"

struct golden_given {
    struct golden_given *next;
    const char          *name;
    const double        *values;
    int64_t              count;
};

struct golden_note { /* about one tensor of the file */
    bool          seen, skipped;
    const double *keep;
};

double golden_element(const ll_tensor_info *t, int64_t i); /* any dtype as a double */

#endif
