/* The limits beyond which the monitor wakes the level (docs/spec/anchor.md 3.9). */
#ifndef LL_ANCHOR_MONITOR_CHOOSE_H
#define LL_ANCHOR_MONITOR_CHOOSE_H

#include "anchor/window.h"

/* What training windows show, with room to spare: how far off readings are, at least 5, and how far
 * out their means. */
llap_status anchor_set_monitor(ll_anchor_model *m, const ll_anchor_data *d,
                               const ll_anchor_model_opts *o, const anchor_rows *rows);

#endif
