#include "diffusion/target_mask.h"

#include "base/rng/rng.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const char *const ll_keep_names[] = { "random", "regular", "prefix", "mixed", NULL };

/* Streams of one row and step, told apart by the sample's number. */
enum { MODE, KEEP, FRESH };

static ll_rng stream(uint64_t seed, uint64_t window, uint32_t step, uint32_t which)
{
    return ll_rng_make(seed, LL_STREAM_MASK, window, 0x7a000000u + which, step);
}

static ll_keep_mode mode_of(const ll_target_mask_opts *o, const ll_rng *r)
{
    if (o->mode != LL_KEEP_MIXED) return o->mode;
    const float u = ll_rng_uniform(r, 0);
    return u < 0.5f ? LL_KEEP_PREFIX : u < 0.8f ? LL_KEEP_REGULAR : LL_KEEP_RANDOM;
}

/* How long the prefix of n observed steps is: at least 1, at most n - 1. */
static int64_t prefix_of(int64_t n, double keep)
{
    const int64_t length = (int64_t)ceil((double)n * keep);
    return length < 1 ? 1 : length > n - 1 ? n - 1 : length;
}

int64_t ll_target_keep(const ll_target_mask_opts *o, uint64_t seed, uint64_t window, uint32_t step,
                       const float *observed, int64_t h, uint8_t *keep)
{
    const ll_rng       choice = stream(seed, window, step, MODE);
    const ll_rng       r = stream(seed, window, step, KEEP);
    const ll_keep_mode mode = mode_of(o, &choice);
    int64_t            n = 0, seen = 0, n_kept = 0, first = -1, last = -1;
    memset(keep, 0, (size_t)h);
    for (int64_t i = 0; i < h; i++) n += observed[i] != 0.0f;
    if (n < 2) return 0;
    for (int64_t i = 0; i < h; i++) {
        if (observed[i] == 0.0f) continue;
        keep[i] = mode == LL_KEEP_RANDOM    ? (double)ll_rng_uniform(&r, (uint64_t)i) < o->keep
                  : mode == LL_KEEP_REGULAR ? i % o->stride == 0
                                            : seen < prefix_of(n, o->keep);
        if (first < 0) first = i;
        last = i;
        seen++;
        n_kept += keep[i];
    }
    if (n_kept == 0) keep[first] = 1, n_kept = 1;
    if (n_kept == n) keep[last] = 0, n_kept--;
    return n_kept;
}

void ll_target_renoise(uint64_t seed, uint64_t window, uint32_t step, const uint8_t *keep,
                       int64_t h, int64_t Z, float *eps, float *mask)
{
    const ll_rng r = stream(seed, window, step, FRESH);
    for (int64_t i = 0; i < h; i++) {
        if (!keep[i]) continue;
        for (int64_t z = 0; z < Z; z++) eps[i * Z + z] = ll_rng_normal(&r, (uint64_t)(i * Z + z));
        mask[i] = 0.0f;
    }
}
