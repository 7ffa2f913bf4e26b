/* A model of the `reference` profile as a forecaster: history to summary, sampler, decoder, units
 * of the data. reference_networks.c makes the networks and shows the data to them,
 * reference_inputs.h says what they take of a batch, forecaster_reference.c draws paths,
 * filler_reference.c fills gaps. */
#ifndef LL_PREDICT_REFERENCE_H
#define LL_PREDICT_REFERENCE_H

#include "predict/forecaster.h"

/* Do all entities go through such a model together? */
bool ll_reference_joint(const ll_network_config *c);

/* Draws paths, the reverse process on the backend; everything is borrowed until deinit. Where a
 * window keeps what is observed, each query time of which something was read has the latent of
 * those readings (docs/spec/model.md 7.3), and the others are drawn around it. */
llap_status ll_reference_forecaster(const llap_model *m, const llap_panel *p, const int64_t *var,
                                    const ll_backend *backend, ll_forecaster *out);

/* What such a forecaster's denoiser gets to see of the window of an entity (joint: of all) that
 * ends at origin: E and E_raw [S,H]. Where E is normalised over a batch, this window is all of it.
 */
llap_status ll_reference_summarise(const ll_forecaster *f, int64_t entity, int64_t origin, float *E,
                                   float *E_raw);

#endif
