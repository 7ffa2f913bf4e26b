/* Where gaps are filled: windows laid around what is asked for. */
#ifndef LLAP_TASK_SPOTS_H
#define LLAP_TASK_SPOTS_H

#include "task/task.h"

typedef enum task_lanes {                   /* what goes through a model together */
                          TASK_LANE_ALL,    /* all entities and targets */
                          TASK_LANE_ENTITY, /* all targets of an entity */
                          TASK_LANE_SERIES, /* one target of one entity */
} task_lanes;

typedef struct task_lane {
    int64_t  entity, target; /* of the panel; -1: all */
    int64_t *time;           /* [n] of its rows, increasing, none twice */
    uint8_t *asked;          /* [n] */
    int64_t  n;
} task_lane;

/* A window: its queries are times first .. end - 1 of the lane, after origin; it answers those from
 * .. to - 1. */
typedef struct task_spot {
    int64_t lane, origin, first, end, from, to;
} task_spot;

typedef struct task_spots {
    task_lane *lane;
    int64_t    n_lanes;
    task_spot *spot;
    size_t     n, room;
    size_t     n_all;   /* before the limit */
    int64_t    longest; /* queries of a window */
} task_spots;

typedef struct task_spots_opts {
    task_lanes       lanes;
    llap_anchor_from from; /* both sides: windows of a horizon that overlap by half, the middle of
                              each answers. The past: each time by itself, after the row before */
    size_t most;           /* windows, evenly spread; 0: all */
} task_spots_opts;

/* asked [n_rows,n_targets]. Everything asked is answered by exactly one window. */
llap_status task_spots_init(task_spots *s, const llap_model *m, const llap_panel *p,
                            const uint8_t *asked, const task_spots_opts *o);
void        task_spots_deinit(task_spots *s); /* { 0 } is fine */

int64_t task_row_at(const llap_panel *p, int64_t entity, int64_t time); /* -1: none */

#endif
