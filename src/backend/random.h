/* The random numbers of dropout, keyed by (seed, op, step, element), and of DRAW, keyed by what
 * they are for. Seed and step are read from memory, so that a plan replays with new draws when the
 * caller advances the step. All backends use this, so that they draw the same. */
#ifndef LL_BACKEND_RANDOM_H
#define LL_BACKEND_RANDOM_H

#include "base/rng/rng.h"

#include <stdint.h>

/* state: { seed, its high half, step, its high half }; id: the op's own number. */
LL_BOTH ll_rng ll_drop_rng(const int32_t *state, uint32_t id)
{
    const uint64_t seed = (uint32_t)state[0] | (uint64_t)(uint32_t)state[1] << 32;
    return ll_rng_make(seed, LL_STREAM_DROPOUT, id, (uint32_t)state[3], (uint32_t)state[2]);
}

/* Whether element i survives dropout at rate p. */
LL_BOTH int ll_drop_keeps(const ll_rng *r, uint64_t i, float p)
{
    return ll_rng_uniform(r, i) >= p;
}

/* The numbers of one row of DRAW. key: { seed, its high half, step, not looked at }; id: its two
 * halves, the low one first. */
LL_BOTH ll_rng ll_draw_rng(const int32_t *key, const int32_t *id, uint32_t stream, uint32_t sample)
{
    const uint64_t seed = (uint32_t)key[0] | (uint64_t)(uint32_t)key[1] << 32;
    const uint64_t name = (uint32_t)id[0] | (uint64_t)(uint32_t)id[1] << 32;
    return ll_rng_make(seed, (ll_stream)stream, name, sample, (uint32_t)key[2]);
}

#endif
