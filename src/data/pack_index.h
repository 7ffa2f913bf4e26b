/* Inside packed panels: the bytes of an index; not for others. */
#ifndef LL_DATA_PACK_INDEX_H
#define LL_DATA_PACK_INDEX_H

#include "data/pack_layout.h"

/* Names, first rows, units and words of p, and the sums of the blocks; the counts go to h. Caller
 * owns *out (ll_free), h->index_bytes. */
llap_status ll_pack_index_make(ll_pack_header *h, const llap_panel *p, const uint32_t *sum,
                               int64_t n_blocks, char **out);

#endif
