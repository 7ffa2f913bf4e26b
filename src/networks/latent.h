/* Normalised latents, docs/spec/model.md 2.8: what the diffusion sees is (mu - mean) / deviation,
 * channel by channel, with statistics of the training latents.
 *
 *     ll_latent_stats *s;
 *     st = ll_latent_stats_create(1, Z, &s);              or (h, Z): one row per query time
 *     ll_latent_stats_add(s, mu, obs_any, B, h);          for every batch
 *     ll_latent_stats_finish(s, mean, deviation);         [1,Z] or [h,Z]
 *     ll_latent_stats_destroy(s);
 */
#ifndef LL_NETWORKS_LATENT_H
#define LL_NETWORKS_LATENT_H

#include "graph/graph.h"

typedef struct ll_latent_stats ll_latent_stats;

/* rows is 1, or h for statistics of each query time. Caller owns *out. */
llap_status ll_latent_stats_create(int64_t rows, int64_t latent, ll_latent_stats **out);
void        ll_latent_stats_destroy(ll_latent_stats *s); /* NULL is fine */

/* mu [B,h,Z]; steps where obs_any [B,h] is 0 do not count. h is rows, or any with one row. */
void ll_latent_stats_add(ll_latent_stats *s, const float *mu, const float *obs_any, int64_t B,
                         int64_t h);

/* mean and deviation (biased, at least 1e-6), rows x Z each. A row that nothing was added to has
 * mean 0. */
void ll_latent_stats_finish(const ll_latent_stats *s, float *mean, float *deviation);

/* z0 = (mu - mean) / max(deviation, 1e-6), exactly 0 where obs_any [B,h] is 0; mean, deviation [Z]
 * or [h,Z]; mu [B,h,Z]. */
ll_tensor *ll_latent_normalise(ll_graph *g, ll_tensor *mu, ll_tensor *mean, ll_tensor *deviation,
                               ll_tensor *obs_any);
ll_tensor *ll_latent_restore(ll_graph *g, ll_tensor *z0, ll_tensor *mean,
                             ll_tensor *deviation); /* z0 deviation + mean */

#endif
