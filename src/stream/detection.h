/* The result of detecting, as <llapdiff/detect.h> shows it. */
#ifndef LL_STREAM_DETECTION_H
#define LL_STREAM_DETECTION_H

#include "base/arena.h"
#include "data/panel.h"

#include <llapdiff/detect.h>

struct llap_detection {
    llap_detection_info info;
    ll_axis             axis; /* strings in the arena, as the names */
    char              **entity, **target;
    llap_alarm         *alarm; /* [info.alarms] */
    int64_t             room;
    llap_judgement     *row;   /* [variables,n_rows] of the panel; NULL: not kept */
    int64_t            *first; /* [entities,2] rows of each that were judged */
    int64_t             n_rows;
    ll_arena            arena;
};

#endif
