/* The bulk versions. Bits come in blocks into a small buffer, many side by side where the machine
 * has the vectors (rng_blocks.h) and one by one from Random123 where not. The transforms then walk
 * it with the compiler's vectors; rng_transform.h is compiled once plain and once for machines with
 * fused multiply-add (rng_fma.c), where fmaf is one instruction. fmaf is exact either way, so the
 * results are the same. */
#include "base/rng/rng.h"

#include "base/cpu.h"
#include "base/rng/rng_blocks.h"

#include <string.h>

#define TRANSFORM(name) name##_plain
#include "base/rng/rng_transform.h"

enum { BLOCKS = 64, WORDS = 4 * BLOCKS };

/* Calls emit for pieces of at most WORDS elements that together are first .. first + n - 1. */
typedef void emit_fn(const uint32_t *bits, size_t skip, size_t n, void *out);

static void blocks(const ll_rng *r, uint64_t first, size_t n, uint32_t *bits)
{
#if defined __x86_64__ && !defined LLAP_NO_SIMD
    if (n >= LL_BLOCK_LANES / 4 && ll_cpu_has_fma()) {
        if (ll_cpu_has_avx512()) ll_blocks_avx512(r, first, n, bits);
        else ll_blocks_fma(r, first, n, bits);
        return;
    }
#endif
    for (size_t b = 0; b < n; b++) ll_rng_block(r, first + b, bits + 4 * b);
}

static void fill(const ll_rng *r, uint64_t first, size_t n, void *out, emit_fn *emit)
{
    uint32_t bits[WORDS];
    for (size_t done = 0; done < n;) {
        const uint64_t at = first + done;
        const size_t   skip = at % 4, room = WORDS - skip, left = n - done;
        const size_t   take = left < room ? left : room;
        blocks(r, at / 4, (skip + take + 3) / 4, bits);
        emit(bits, skip, take, (char *)out + 4 * done);
        done += take;
    }
}

static void emit_uniform(const uint32_t *bits, size_t skip, size_t n, void *out)
{
    float *u = out;
    for (size_t i = 0; i < n; i++) u[i] = ll_uniform_of(bits[skip + i]);
}

static void emit_normal(const uint32_t *bits, size_t skip, size_t n, void *out)
{
    float z[WORDS];
    if (ll_cpu_has_fma()) ll_normals_fma(bits, (skip + n + 1) / 2, z);
    else ll_normals_plain(bits, (skip + n + 1) / 2, z);
    memcpy(out, z + skip, 4 * n);
}

void ll_rng_fill_uniform(const ll_rng *r, uint64_t first, size_t n, float *out)
{
    fill(r, first, n, out, emit_uniform);
}

void ll_rng_fill_normal(const ll_rng *r, uint64_t first, size_t n, float *out)
{
    fill(r, first, n, out, emit_normal);
}

void ll_rng_permute(const ll_rng *r, size_t n, uint32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        const size_t j = ll_rng_below(r, i, i + 1);
        out[i] = out[j];
        out[j] = (uint32_t)i;
    }
}

/* Philox as a compression function: each 16 bytes are a counter, the running hash is the key. The
 * length closes it, so that padding cannot be confused with content. */
uint64_t ll_hash(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint32_t             c[4], out[4];
    for (size_t at = 0;; at += sizeof c) {
        const size_t left = n - at, take = left < sizeof c ? left : sizeof c;
        memset(c, 0, sizeof c);
        if (take > 0) memcpy(c, p + at, take);
        const uint32_t k[2] = { (uint32_t)h, (uint32_t)(h >> 32) };
        ll_philox(c, k, out);
        h = (uint64_t)out[1] << 32 | out[0];
        if (left <= sizeof c) break;
    }
    const uint32_t k[2] = { (uint32_t)h, (uint32_t)(h >> 32) };
    const uint32_t end[4] = { (uint32_t)n, (uint32_t)((uint64_t)n >> 32), 0, 1 };
    ll_philox(end, k, out);
    return (uint64_t)out[1] << 32 | out[0];
}
