#include "data/windows/missing.h"

#include "base/rng/rng.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static uint64_t window_hash(uint64_t seed, const char *entity, int64_t start)
{
    char      text[256];
    const int n = snprintf(text, sizeof text, "%llu:%s:%lld", (unsigned long long)seed, entity,
                           (long long)start);
    if (n >= 0 && (size_t)n < sizeof text) return ll_hash(0, text, (size_t)n);
    /* A longer name is hashed first, so that its end still matters. */
    const uint64_t name = ll_hash(0, entity, strlen(entity));
    const int      m = snprintf(text, sizeof text, "%llu:%llx:%lld", (unsigned long long)seed,
                                (unsigned long long)name, (long long)start);
    return ll_hash(0, text, m > 0 ? (size_t)m : 0);
}

void ll_hide_cells(uint64_t seed, const char *entity, int64_t start, double rate, int64_t n_cells,
                   uint8_t *obs, float *value)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n_cells; i++) count += obs[i] != 0;
    int64_t hide = (int64_t)floor(rate * (double)count);
    if (hide <= 0) return;
    const ll_rng r = ll_rng_make(seed, LL_STREAM_MASK, window_hash(seed, entity, start), 0, 0);
    uint64_t     seen = 0;
    for (int64_t i = 0; i < n_cells && hide > 0; i++) {
        if (!obs[i]) continue;
        const uint64_t left = (uint64_t)count - seen;
        if (ll_rng_below(&r, seen, left) < (uint64_t)hide) {
            obs[i] = 0;
            value[i] = 0;
            hide--;
        }
        seen++;
    }
    assert(hide == 0);
}

static bool keeps(const ll_impute_mask_opts *o, const ll_rng *r, int64_t step)
{
    if (o->kind == LL_IMPUTE_REGULAR) return step % o->every == 0;
    const double draw = o->draw != NULL ? o->draw[step] : (double)ll_rng_uniform(r, (uint64_t)step);
    return draw < o->keep;
}

bool ll_impute_mask(const ll_impute_mask_opts *o, uint64_t example_id, int64_t n_steps,
                    const uint8_t *observed, uint8_t *kept)
{
    const ll_rng r = ll_rng_make(o->seed, LL_STREAM_MASK, example_id, 1, 0);
    int64_t      n_observed = 0, n_kept = 0, first = -1, last = -1;
    assert(o->kind != LL_IMPUTE_REGULAR || o->every > 0);
    memset(kept, 0, (size_t)n_steps);
    for (int64_t i = 0; i < n_steps; i++) {
        if (!observed[i]) continue;
        kept[i] = keeps(o, &r, i);
        n_kept += kept[i];
        n_observed++;
        if (first < 0) first = i;
        last = i;
    }
    if (n_observed < 2) {
        if (first >= 0) kept[first] = 0;
        return false;
    }
    assert(first < last);
    if (n_kept == 0) kept[first] = 1;
    if (n_kept == n_observed) kept[last] = 0;
    return true;
}
