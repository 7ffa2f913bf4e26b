/* Normalised latents, spec 2.8: what the diffusion sees is (mu - mean) / deviation, channel by
 * channel, with statistics of the training latents.
 *
 *     llap_latent_stats *s;
 *     st = llap_latent_stats_create(1, Z, &s);              or (h, Z): one row per query time
 *     llap_latent_stats_add(s, mu, obs_any, B, h);          for every batch
 *     llap_latent_stats_finish(s, mean, deviation);         [1,Z] or [h,Z]
 *     llap_latent_stats_destroy(s);
 */
#ifndef LLAP_MODEL_LATENT_H
#define LLAP_MODEL_LATENT_H

#include "graph/graph.h"

typedef struct llap_latent_stats llap_latent_stats;

/* rows is 1, or h for statistics of each query time. Caller owns *out. */
llap_status llap_latent_stats_create(int64_t rows, int64_t latent, llap_latent_stats **out);
void        llap_latent_stats_destroy(llap_latent_stats *s); /* NULL is fine */

/* mu [B,h,Z]; steps where obs_any [B,h] is 0 do not count. h is rows, or any with one row. */
void llap_latent_stats_add(llap_latent_stats *s, const float *mu, const float *obs_any, int64_t B,
                           int64_t h);

/* mean and deviation (biased, at least 1e-6), rows x Z each. A row that nothing was added to has
 * mean 0. */
void llap_latent_stats_finish(const llap_latent_stats *s, float *mean, float *deviation);

/* z0 = (mu - mean) / max(deviation, 1e-6), exactly 0 where obs_any [B,h] is 0; mean, deviation [Z]
 * or [h,Z]; mu [B,h,Z]. */
llap_tensor *llap_latent_normalise(llap_graph *g, llap_tensor *mu, llap_tensor *mean,
                                   llap_tensor *deviation, llap_tensor *obs_any);
llap_tensor *llap_latent_restore(llap_graph *g, llap_tensor *z0, llap_tensor *mean,
                                 llap_tensor *deviation); /* z0 deviation + mean */

#endif
