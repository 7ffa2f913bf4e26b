/* The blocks of a packed panel as memory. */
#include "data/pack_layout.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "data/panel_blocks.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

struct ll_pack {
    char          *name;
    ll_pack_header h;
    int64_t        n_blocks;
    uint8_t       *section[LL_PACK_SECTIONS]; /* all blocks of each */
    size_t         bytes[LL_PACK_SECTIONS];
    uint32_t      *sum;      /* [n_blocks][LL_PACK_SECTIONS] */
    atomic_uchar  *verified; /* [n_blocks] */
};

uint32_t ll_pack_crc(uint32_t sum, const void *bytes, int64_t n)
{
    return (uint32_t)crc32_z(sum, bytes, (z_size_t)n);
}

const int64_t  *ll_pack_time(const ll_pack *k) { return (const void *)k->section[LL_PACK_TIME]; }
const float    *ll_pack_value(const ll_pack *k) { return (const void *)k->section[LL_PACK_VALUE]; }
const uint64_t *ll_pack_observed(const ll_pack *k)
{
    return (const void *)k->section[LL_PACK_OBSERVED];
}

void ll_pack_close(ll_pack *k)
{
    if (k == NULL) return;
    for (int s = 0; s < LL_PACK_SECTIONS; s++)
        if (k->section[s] != NULL) munmap(k->section[s], k->bytes[s]);
    ll_free(k->name);
    ll_free(k->sum);
    ll_free((void *)k->verified);
    ll_free(k);
}

static int64_t rows_of(const ll_pack *k, int64_t block)
{
    const int64_t left = k->h.n_rows - block * k->h.block_rows;
    return left < k->h.block_rows ? left : k->h.block_rows;
}

/* Addresses for all blocks of a section, without pages behind them so far. */
static llap_status reserve(ll_pack *k, int section)
{
    for (int64_t b = 0; b < k->n_blocks; b++)
        k->bytes[section] +=
            (size_t)ll_pack_pad(ll_pack_section(section, rows_of(k, b), k->h.n_vars));
    if (k->bytes[section] == 0) k->bytes[section] = LL_PACK_ALIGN;
    void *at = mmap(NULL, k->bytes[section], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    if (at == MAP_FAILED) return ll_fail_errno(errno, "%s: cannot be mapped", k->name);
    k->section[section] = at;
    return LLAP_OK;
}

static llap_status map_block(ll_pack *k, int64_t b, int fd, int64_t at)
{
    const int64_t rows = rows_of(k, b);
    for (int s = 0; s < LL_PACK_SECTIONS; s++) {
        const size_t n = (size_t)ll_pack_pad(ll_pack_section(s, rows, k->h.n_vars)),
                     before = (size_t)b * (size_t)ll_pack_section(s, k->h.block_rows, k->h.n_vars);
        if (n > 0 && mmap(k->section[s] + before, n, PROT_READ, MAP_SHARED | MAP_FIXED, fd,
                          at + ll_pack_place(s, rows, k->h.n_vars)) == MAP_FAILED)
            return ll_fail_errno(errno, "%s: block %lld cannot be mapped", k->name, (long long)b);
    }
    return LLAP_OK;
}

llap_status ll_pack_map(const ll_pack_header *h, const char *name, const int *fd, int64_t at,
                        const uint32_t *sum, bool verified, ll_pack **out)
{
    *out = NULL;
    ll_pack *k = ll_new(1, sizeof *k);
    if (k == NULL) return LLAP_ENOMEM;
    k->h = *h;
    k->n_blocks = ll_pack_blocks(h->n_rows, h->block_rows);
    const size_t n_sums = (size_t)k->n_blocks * LL_PACK_SECTIONS;
    k->name = ll_strndup(name, strlen(name));
    k->sum = ll_new(n_sums, sizeof *k->sum);
    k->verified = ll_new((size_t)k->n_blocks, sizeof *k->verified);
    llap_status st =
        k->name == NULL || k->sum == NULL || k->verified == NULL ? LLAP_ENOMEM : LLAP_OK;
    if (st == LLAP_OK && n_sums > 0) memcpy(k->sum, sum, n_sums * sizeof *sum);
    for (int s = 0; s < LL_PACK_SECTIONS && st == LLAP_OK; s++) st = reserve(k, s);
    const int64_t stride = ll_pack_place(LL_PACK_SECTIONS, h->block_rows, h->n_vars);
    for (int64_t b = 0; b < k->n_blocks && st == LLAP_OK; b++) {
        const int64_t shard = h->shard_blocks == 0 ? 0 : b / h->shard_blocks;
        st = map_block(k, b, fd[shard], at + (b - shard * h->shard_blocks) * stride);
        atomic_store(&k->verified[b], verified);
    }
    if (st == LLAP_OK) *out = k;
    else ll_pack_close(k);
    return st;
}

/* ---- looking at blocks, once each ---- */

static llap_status check_sums(const ll_pack *k, int64_t b)
{
    static const char *const what[] = { "times", "values", "observed bits" };
    for (int s = 0; s < LL_PACK_SECTIONS; s++) {
        const int64_t  before = b * ll_pack_section(s, k->h.block_rows, k->h.n_vars);
        const uint32_t found =
            ll_pack_crc(0, k->section[s] + before, ll_pack_section(s, rows_of(k, b), k->h.n_vars));
        if (found != k->sum[b * LL_PACK_SECTIONS + s])
            return ll_fail(
                LLAP_EFORMAT,
                "%s: block %lld: its %s were changed since it was packed (sum %08x, expected %08x)",
                k->name, (long long)b, what[s], found, k->sum[b * LL_PACK_SECTIONS + s]);
    }
    return LLAP_OK;
}

/* The first row of an entity may come before the last row of the one before. */
static llap_status check_times(const ll_pack *k, const llap_panel *p, int64_t first, int64_t end)
{
    int64_t e = 0, high = p->n_entities - 1;
    while (e < high) { /* the entity that has row first */
        const int64_t mid = e + (high - e) / 2;
        if (p->start[mid + 1] <= first) e = mid + 1;
        else high = mid;
    }
    for (int64_t r = first; r < end; r++) {
        while (p->start[e + 1] <= r) e++;
        if (r > p->start[e] && p->time[r] <= p->time[r - 1])
            return ll_fail(LLAP_EFORMAT,
                           "%s: entity '%s': row %lld is not later than the one before", k->name,
                           ll_text_show(p->entity[e]).text, (long long)(r - p->start[e]));
    }
    return LLAP_OK;
}

static llap_status check_values(const ll_pack *k, const llap_panel *p, int64_t first, int64_t end)
{
    for (int64_t c = first * p->n_vars; c < end * p->n_vars; c++) {
        const float x = p->value[c];
        if (isinf(x) || (isnan(x) && ll_bit(p->observed, c)))
            return ll_fail(LLAP_EFORMAT, "%s: row %lld: '%s' is not finite", k->name,
                           (long long)(c / p->n_vars), ll_text_show(p->var[c % p->n_vars]).text);
    }
    return LLAP_OK;
}

/* Who counts bits counts whole words. */
static llap_status check_last_word(const ll_pack *k, const llap_panel *p)
{
    const int64_t cells = p->n_rows * p->n_vars;
    return cells % 64 == 0 || p->observed[cells / 64] >> cells % 64 == 0
               ? LLAP_OK
               : ll_fail(LLAP_EFORMAT, "%s: observed bits go on behind the last cell", k->name);
}

llap_status ll_pack_verify(ll_pack *k, const llap_panel *p, int64_t first, int64_t end)
{
    llap_status st = LLAP_OK;
    for (int64_t b = first / k->h.block_rows; b * k->h.block_rows < end && st == LLAP_OK; b++) {
        if (atomic_load(&k->verified[b])) continue;
        const int64_t row = b * k->h.block_rows, behind = row + rows_of(k, b);
        st = check_sums(k, b);
        if (st == LLAP_OK) st = check_times(k, p, row, behind);
        if (st == LLAP_OK) st = check_values(k, p, row, behind);
        if (st == LLAP_OK && behind == p->n_rows) st = check_last_word(k, p);
        if (st == LLAP_OK) atomic_store(&k->verified[b], 1);
    }
    return st;
}

llap_status ll_panel_verify(const llap_panel *p, int64_t first, int64_t end)
{
    const ll_panel_blocks *b = p->owned;
    return b->pack == NULL || first >= end ? LLAP_OK : ll_pack_verify(b->pack, p, first, end);
}

llap_status ll_panel_verify_all(const llap_panel *p) { return ll_panel_verify(p, 0, p->n_rows); }
