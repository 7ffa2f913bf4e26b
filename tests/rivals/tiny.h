/* The nine models at sizes that take milliseconds, and an example of each. */
#ifndef LLAP_TESTS_RIVALS_TINY_H
#define LLAP_TESTS_RIVALS_TINY_H

#include "check.h"

#include "base/rng/rng.h"
#include "rivals/feed/feed.h"

static const char *const tiny_options[LL_RIVALS] = {
    "{\"kernel\": 5}",
    "{\"patch\": 4, \"stride\": 2, \"width\": 8, \"heads\": 2, \"ff\": 16, \"layers\": 1}",
    "{\"kernels\": [3], \"step_width\": 8, \"width\": 8, \"width_in\": 4, \"width_enc\": 8, "
    "\"layers_in\": 2, \"layers_enc\": 2, \"layers_dec\": 2, \"noise_steps\": 6}",
    "{\"lags\": [1, 2, 4], \"cells\": 6, \"cond\": 8, \"channels\": 4, \"step_width\": 4, "
    "\"step_hidden\": 8, \"blocks\": 2, \"noise_steps\": 6}",
    "{\"n_ref\": 6, \"embed\": 8, \"rec\": 6, \"gen\": 6, \"latent\": 3, \"mlp\": 8}",
    "{\"width\": 8, \"time_width\": 4, \"node_width\": 4, \"ff\": 16, \"patches\": 3, \"slots\": "
    "5}",
    "{\"width\": 8, \"inner\": 16, \"heads\": 2, \"layers\": 1, \"steps\": 1, \"rows\": 2}",
    "{\"hidden\": 6, \"field\": 8, \"layers\": 2, \"read\": 8}",
    "{\"channels\": 8, \"step_width\": 8, \"time_width\": 8, \"feature_width\": 4, \"ff\": 8, "
    "\"heads\": 2, \"blocks\": 1, \"noise_steps\": 6}",
};

/* Model i for K rows, H ahead, of F variables of which C are targets. */
static inline ll_rival_task tiny_task(int i, int64_t K, int64_t H, int64_t F, int64_t C)
{
    ll_rival_task k = { .kind = &ll_rivals[i],
                        .data = { K, H, LL_RIVAL_HOURLY, true },
                        .targets = C,
                        .vars = F,
                        .calendar = LL_RIVAL_CALENDAR,
                        .context = (double)K,
                        .horizon = (double)H };
    ll_json      *j = NULL;
    k.kind->native(&k.data, &k.config);
    CHECK_OK(ll_json_parse(tiny_options[i], strlen(tiny_options[i]), k.kind->name, NULL, &j));
    CHECK_OK(ll_fields_only(j, "", k.kind->field, k.kind->n_fields, NULL));
    CHECK_OK(ll_fields_read(j, "", k.kind->field, k.kind->n_fields, &k.config));
    ll_json_destroy(j);
    return k;
}

/* Values of a seed, a third of them missing; the first rows are not there where there is no grid.
 * What comes true is y; seen where `read`. */
static inline void tiny_example(const ll_rival_task *k, uint64_t seed, bool read,
                                ll_rival_example *e)
{
    const int64_t K = k->data.context, H = k->data.horizon, F = k->vars;
    const int64_t none = ll_rival_on_grid(k) ? 0 : 2;
    const ll_rng  r = ll_rng_make(seed, LL_STREAM_TEST, 1, 0, 0);
    ll_rival_example_clear(e, k);
    e->id = seed;
    for (int64_t j = 0; j < K; j++) {
        e->at[j] = (float)(j < none ? none : j);
        e->row[j] = j >= none;
        for (int64_t v = 0; v < F && j >= none; v++) {
            const int64_t at = j * F + v;
            if (ll_rng_uniform(&r, (uint64_t)at) < 0.33f && j + 1 < K) continue;
            e->m[at] = 1.0f;
            e->x[at] = ll_rng_normal(&r, (uint64_t)(1000 + at));
        }
        for (int64_t i = 0; i < k->calendar; i++)
            e->calendar[j * k->calendar + i] = sinf((float)(j + i));
    }
    for (int64_t q = 0; q < H; q++) {
        e->lead[q] = (float)(q + 1);
        e->asked[q] = 1.0f;
        for (int64_t i = 0; i < k->calendar; i++)
            e->query[q * k->calendar + i] = sinf((float)(K + q + i));
        for (int64_t v = 0; v < F; v++) {
            e->y[q * F + v] = ll_rng_normal(&r, (uint64_t)(5000 + q * F + v));
            e->seen[q * F + v] = read;
        }
    }
}

#endif
