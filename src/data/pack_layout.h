/* Inside packed panels: where things lie in their files; not for others. */
#ifndef LL_DATA_PACK_LAYOUT_H
#define LL_DATA_PACK_LAYOUT_H

#include "data/pack.h"

enum {
    LL_PACK_VERSION = 1,
    LL_PACK_HEADER = 128,
    LL_PACK_ALIGN = 65536,        /* at least a page, whatever machine maps it */
    LL_PACK_BLOCK_ROWS = 1 << 19, /* bits of these rows of one variable fill LL_PACK_ALIGN bytes */
    LL_PACK_SECTIONS = 3,
    LL_PACK_TIME = 0,
    LL_PACK_VALUE,
    LL_PACK_OBSERVED,
    LL_PACK_HAS_UNITS = 1, /* flag */
    LL_PACK_SHARD_NAME = 32,
};

typedef struct ll_pack_header {
    int64_t  n_rows, n_vars, n_entities, n_words, n_levels;
    int64_t  block_rows, index_bytes, shard_blocks, unit_ns, block_bytes, flags;
    uint32_t index_sum, axis_kind;
} ll_pack_header;

static inline int64_t ll_pack_pad(int64_t n)
{
    return (n + LL_PACK_ALIGN - 1) & -(int64_t)LL_PACK_ALIGN;
}

/* Bytes of a section of so many rows, without what fills it up. */
static inline int64_t ll_pack_section(int section, int64_t rows, int64_t n_vars)
{
    const int64_t cells = rows * n_vars;
    return section == LL_PACK_TIME    ? 8 * rows
           : section == LL_PACK_VALUE ? 4 * cells
                                      : (cells + 63) / 64 * 8;
}

/* Where a section begins in its block; section LL_PACK_SECTIONS: where the block ends. */
static inline int64_t ll_pack_place(int section, int64_t rows, int64_t n_vars)
{
    int64_t at = 0;
    for (int s = 0; s < section; s++) at += ll_pack_pad(ll_pack_section(s, rows, n_vars));
    return at;
}

static inline int64_t ll_pack_blocks(int64_t n_rows, int64_t block_rows)
{
    return n_rows / block_rows + (n_rows % block_rows != 0);
}

/* Bytes of all blocks of so many rows. */
static inline int64_t ll_pack_block_bytes(int64_t n_rows, int64_t block_rows, int64_t n_vars)
{
    return n_rows / block_rows * ll_pack_place(LL_PACK_SECTIONS, block_rows, n_vars) +
           ll_pack_place(LL_PACK_SECTIONS, n_rows % block_rows, n_vars);
}

void ll_pack_header_put(const ll_pack_header *h, uint8_t out[LL_PACK_HEADER]);
/* LLAP_EFORMAT with the file's name: not one of these, of another version, or sizes that cannot be.
 */
llap_status ll_pack_header_get(const uint8_t *bytes, size_t n, const char *name, ll_pack_header *h);

/* The file of a shard, beside `index` in its folder. */
void ll_pack_shard_name(int64_t shard, char out[LL_PACK_SHARD_NAME]);

/* CRC-32 going on from `sum`, over any number of bytes. */
uint32_t ll_pack_crc(uint32_t sum, const void *bytes, int64_t n);

/* The blocks of open files [number of shards], mapped behind one another. sum [blocks][3] is
 * copied, name too; verified: by whoever has just written them. Caller owns *out. */
llap_status ll_pack_map(const ll_pack_header *h, const char *name, const int *fd, int64_t at,
                        const uint32_t *sum, bool verified, ll_pack **out);
void        ll_pack_close(ll_pack *k); /* NULL is fine */

/* Takes k, also when it fails: a panel of what it maps, with the names of d. */
llap_status ll_panel_of_pack(ll_panel_draft *d, ll_pack *k, llap_panel **out);

/* What is mapped. */
const int64_t  *ll_pack_time(const ll_pack *k);
const float    *ll_pack_value(const ll_pack *k);
const uint64_t *ll_pack_observed(const ll_pack *k);
llap_status     ll_pack_verify(ll_pack *k, const llap_panel *p, int64_t first, int64_t end);

#endif
