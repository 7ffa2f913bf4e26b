/* Inside the panel: what panel.c, which makes one, and panel_append.c, which makes it longer,
 * share; not for others. */
#ifndef LL_DATA_PANEL_BLOCKS_H
#define LL_DATA_PANEL_BLOCKS_H

#include "base/arena.h"
#include "data/panel.h"

/* What is behind the pointers of a panel (llap_panel.owned). */
typedef struct ll_panel_blocks {
    ll_arena        text;      /* names, axis strings, lists of entities and their first rows */
    int64_t         room_rows; /* that the three blocks below have room for, at least n_rows */
    int64_t        *time;
    float          *value;
    uint64_t       *observed;
    int64_t         room_entities; /* that the two lists below have room for, in the arena */
    const char    **entity;
    int64_t        *start; /* one more than entities */
    struct ll_pack *pack;  /* the three blocks are mapped by it, and not written to; NULL: heap */
} ll_panel_blocks;

static inline size_t ll_panel_bit_words(int64_t n_cells) { return (size_t)((n_cells + 63) / 64); }

/* Brings blocks that are mapped to the heap, where they can grow. */
llap_status ll_panel_blocks_own(llap_panel *p);

/* Points p and its view to what its blocks are now. */
void ll_panel_show_blocks(llap_panel *p);

#endif
