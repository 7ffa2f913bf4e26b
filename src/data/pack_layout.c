#include "data/pack_layout.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

static void put(uint8_t *to, uint64_t x, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(x >> 8 * i);
}

static uint64_t get(const uint8_t *from, int bytes)
{
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++) x |= (uint64_t)from[i] << 8 * i;
    return x;
}

/* The numbers of 8 bytes, in their order in the file. */
typedef struct field {
    int    at;
    size_t offset;
} field;

#define FIELD(at, name)                    \
    {                                      \
        at, offsetof(ll_pack_header, name) \
    }
static const field fields[] = {
    FIELD(16, n_rows),   FIELD(24, n_vars),      FIELD(32, n_entities),  FIELD(40, n_words),
    FIELD(48, n_levels), FIELD(56, block_rows),  FIELD(64, index_bytes), FIELD(72, shard_blocks),
    FIELD(88, unit_ns),  FIELD(96, block_bytes), FIELD(104, flags),
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static const char magic[8] = { 'l', 'l', 'a', 'p', 'p', 'a', 'c', 'k' };

void ll_pack_header_put(const ll_pack_header *h, uint8_t out[LL_PACK_HEADER])
{
    memset(out, 0, LL_PACK_HEADER);
    memcpy(out, magic, sizeof magic);
    put(out + 8, LL_PACK_VERSION, 4);
    for (int i = 0; i < N_FIELDS; i++) {
        int64_t x;
        memcpy(&x, (const char *)h + fields[i].offset, sizeof x);
        put(out + fields[i].at, (uint64_t)x, 8);
    }
    put(out + 80, h->index_sum, 4);
    put(out + 84, h->axis_kind, 4);
    put(out + 12, ll_pack_crc(0, out + 16, LL_PACK_HEADER - 16), 4);
}

/* No size may be beyond what the others allow: products of them are used as sizes. */
static bool sizes_can_be(const ll_pack_header *h)
{
    int64_t cells;
    if (h->n_rows < 0 || h->n_vars < 0 || h->n_entities < 0 || h->n_words < 0 || h->n_levels < 0 ||
        h->shard_blocks < 0 || h->index_bytes < 0 || h->unit_ns < 1 || h->axis_kind > 1 ||
        h->flags < 0 || h->flags > LL_PACK_HAS_UNITS)
        return false;
    if (h->block_rows < LL_PACK_BLOCK_ROWS || h->block_rows > INT64_C(1) << 40 ||
        (h->block_rows & (h->block_rows - 1)) != 0)
        return false;
    if (h->n_rows > INT64_C(1) << 48 || h->n_vars > h->index_bytes ||
        h->n_entities > h->index_bytes || h->n_levels > h->index_bytes ||
        h->n_words > h->index_bytes || h->n_words > UINT32_MAX)
        return false;
    if (__builtin_mul_overflow(h->n_rows + h->block_rows, h->n_vars + 2, &cells) ||
        cells > INT64_MAX / 64)
        return false;
    return h->block_bytes == ll_pack_block_bytes(h->n_rows, h->block_rows, h->n_vars);
}

llap_status ll_pack_header_get(const uint8_t *bytes, size_t n, const char *name, ll_pack_header *h)
{
    *h = (ll_pack_header){ 0 };
    if (n < LL_PACK_HEADER || memcmp(bytes, magic, sizeof magic) != 0)
        return ll_fail(LLAP_EFORMAT, "%s: is no packed panel", name);
    const unsigned version = (unsigned)get(bytes + 8, 4);
    if (version != LL_PACK_VERSION)
        return ll_fail(LLAP_EFORMAT, "%s: is a packed panel of version %u, expected %d", name,
                       version, LL_PACK_VERSION);
    if (get(bytes + 12, 4) != ll_pack_crc(0, bytes + 16, LL_PACK_HEADER - 16))
        return ll_fail(LLAP_EFORMAT, "%s: the header was changed since it was packed", name);
    for (int i = 0; i < N_FIELDS; i++) {
        const int64_t x = (int64_t)get(bytes + fields[i].at, 8);
        memcpy((char *)h + fields[i].offset, &x, sizeof x);
    }
    h->index_sum = (uint32_t)get(bytes + 80, 4);
    h->axis_kind = (uint32_t)get(bytes + 84, 4);
    if (!sizes_can_be(h))
        return ll_fail(LLAP_EFORMAT, "%s: the header has sizes that cannot be", name);
    return LLAP_OK;
}

void ll_pack_shard_name(int64_t shard, char out[LL_PACK_SHARD_NAME])
{
    snprintf(out, LL_PACK_SHARD_NAME, "%05lld.rows", (long long)shard);
}
