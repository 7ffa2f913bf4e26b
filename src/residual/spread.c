#include "residual/spread.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/normal.h"
#include "base/rng/rng.h"

#include <assert.h>
#include <string.h>

enum { CELLS = 4096 }; /* of the normal law; a noise is the middle of one */

struct ll_spread {
    float z[CELLS];
};

llap_status ll_spread_create(ll_spread **out)
{
    ll_spread *s = *out = ll_new(1, sizeof *s);
    if (s == NULL) return LLAP_ENOMEM;
    for (int i = 0; i < CELLS / 2; i++) {
        s->z[i] = (float)ll_normal_score((i + 0.5) / CELLS);
        s->z[CELLS - 1 - i] = -s->z[i];
    }
    return LLAP_OK;
}

void ll_spread_destroy(ll_spread *s) { ll_free(s); }

/* How many of key [n] come before number i: a random order, where they are random. */
static int64_t rank_of(const uint32_t *key, int64_t n, int64_t i)
{
    int64_t rank = 0;
    for (int64_t k = 0; k < n; k++) rank += key[k] < key[i] || (key[k] == key[i] && k < i);
    return rank;
}

void ll_spread_normals(const ll_spread *s, uint64_t seed, uint64_t window, int64_t n, int64_t R,
                       int64_t width, float *out)
{
    ll_rng   of[LL_SPREAD_MOST];
    uint32_t key[LL_SPREAD_MOST];
    assert(n >= 1 && n <= R && n <= LL_SPREAD_MOST);
    for (int64_t r = 0; r < n; r++)
        of[r] = ll_rng_make(seed, LL_STREAM_NOISE, window, (uint32_t)r, UINT32_MAX);
    for (int64_t j = 0; j < width; j++) {
        for (int64_t r = 0; r < n; r++) key[r] = ll_rng_bits(&of[r], 2 * (uint64_t)j);
        for (int64_t r = 0; r < n; r++) {
            const double within = (double)ll_rng_uniform(&of[r], 2 * (uint64_t)j + 1);
            const double place = ((double)rank_of(key, n, r) + within) / (double)n;
            const int    cell = (int)(place * CELLS);
            assert(cell >= 0 && cell <= CELLS);
            out[r * width + j] = s->z[cell < CELLS ? cell : CELLS - 1];
        }
    }
    memset(out + n * width, 0, (size_t)((R - n) * width) * sizeof *out);
}
