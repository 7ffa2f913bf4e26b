/* What a model is, gathered by describe.c for those who tell it: describe_show.c. */
#ifndef LL_REPORT_DESCRIBE_H
#define LL_REPORT_DESCRIBE_H

#include "base/alloc.h"
#include "model/model.h"

#include <llapdiff/description.h>

struct llap_description {
    const llap_model        *m; /* borrowed */
    llap_description_info    info;
    llap_description_target *target; /* [n_targets] */
    ll_arena                 arena;
};

#endif
