/* Packed panels on arbitrary bytes: the input is the header, without what follows it up to the
 * blocks, then the index. The blocks are zeros of the size that the header claims, while that is
 * small; sums are made to fit, so that what stands behind them is looked at. What is opened keeps
 * the promises of a panel once it was verified. */
#define _GNU_SOURCE /* memfd_create */
#include "data/pack_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok)
{
    if (!ok) abort();
}

static void put(uint8_t *to, uint32_t x)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(x >> 8 * i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    enum { MOST = 1 << 24 };
    uint8_t        header[LL_PACK_HEADER];
    ll_pack_header h;
    llap_panel    *p = NULL;
    char           path[64];
    if (n < sizeof header) return 0;
    memcpy(header, data, sizeof header);
    const int64_t index = (int64_t)n - LL_PACK_HEADER;
    put(header + 80, ll_pack_crc(0, data + LL_PACK_HEADER, index));
    put(header + 12, ll_pack_crc(0, header + 16, LL_PACK_HEADER - 16));
    if (ll_pack_header_get(header, sizeof header, "fuzz", &h) != LLAP_OK || h.block_bytes > MOST)
        return 0;
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    must(fd >= 0 && pwrite(fd, header, sizeof header, 0) == (ssize_t)sizeof header);
    must(ftruncate(fd, LL_PACK_ALIGN + h.block_bytes) == 0);
    must(pwrite(fd, data + LL_PACK_HEADER, (size_t)index, LL_PACK_ALIGN + h.block_bytes) == index);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (ll_pack_open(path, &p) == LLAP_OK && ll_panel_verify_all(p) == LLAP_OK)
        must(ll_panel_check(p) == LLAP_OK);
    llap_panel_destroy(p);
    close(fd);
    return 0;
}
