/* What forecasts are made of, as a table: <llapdiff/components.h>. */
#ifndef LL_PREDICT_COMPONENTS_H
#define LL_PREDICT_COMPONENTS_H

#include "base/arena.h"
#include "data/panel.h"

#include <llapdiff/components.h>

struct llap_components {
    ll_axis                axis; /* strings in the arena, as all that view points to */
    llap_component_columns view;
    ll_arena               arena;
};

#endif
