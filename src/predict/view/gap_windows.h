/* Where gaps are filled: windows laid around what is asked for. */
#ifndef LL_PREDICT_VIEW_GAP_WINDOWS_H
#define LL_PREDICT_VIEW_GAP_WINDOWS_H

#include "model/model.h"

typedef enum ll_gap_grouping {                    /* what goes through a model together */
                               LL_GAPS_TOGETHER,  /* all entities and targets */
                               LL_GAPS_BY_ENTITY, /* all targets of an entity */
                               LL_GAPS_BY_SERIES, /* one target of one entity */
} ll_gap_grouping;

typedef struct ll_gap_series {
    int64_t  entity, target; /* of the panel; -1: all */
    int64_t *time;           /* [n] of its rows, increasing, none twice */
    uint8_t *asked;          /* [n] */
    int64_t  n;
} ll_gap_series;

/* A window: its queries are times first .. end - 1 of the series, after origin; it answers those
 * from
 * .. to - 1. */
typedef struct ll_gap_window {
    int64_t series, origin, first, end, from, to;
} ll_gap_window;

typedef struct ll_gap_windows {
    ll_gap_series *series;
    int64_t        n_series;
    ll_gap_window *window;
    size_t         n, room;
    size_t         n_all;   /* before the limit */
    int64_t        longest; /* queries of a window */
} ll_gap_windows;

typedef struct ll_gap_windows_opts {
    ll_gap_grouping grouping;
    ll_anchor_from  from; /* both sides: windows of a horizon that overlap by half, the middle of
                               each answers. The past: each time by itself, after the row before */
    size_t most;          /* windows, evenly spread; 0: all */
} ll_gap_windows_opts;

/* asked [n_rows,n_targets]. Everything asked is answered by exactly one window. */
llap_status ll_gap_windows_init(ll_gap_windows *s, const llap_model *m, const llap_panel *p,
                                const uint8_t *asked, const ll_gap_windows_opts *o);
void        ll_gap_windows_deinit(ll_gap_windows *s); /* { 0 } is fine */

#endif
