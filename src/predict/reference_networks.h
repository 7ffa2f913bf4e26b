/* The inside of the `reference` profile's forecaster: forecaster_reference.c draws paths with the
 * networks that reference_networks.c makes and shows the data to. */
#ifndef LL_PREDICT_REFERENCE_NETWORKS_H
#define LL_PREDICT_REFERENCE_NETWORKS_H

#include "data/windows/batch.h"
#include "data/windows/scaling.h"
#include "diffusion/prepared_denoiser.h"
#include "nn/session.h"
#include "predict/forecaster.h"
#include "predict/reference.h"

enum { REFERENCE_ROWS = 8 }; /* that go through the networks at once, or fewer */

typedef struct reference_self {
    const llap_model        *m;
    const llap_panel        *p;
    const ll_network_config *c;
    bool                     joint, vae, summarised; /* what the model has */
    int64_t                  N, l, h, D, C, S, H, Z; /* h of the nets below; 0: none yet */
    int64_t                  R, n;                   /* samples and rows of the nets below */
    bool                     keep;                   /* likewise: some latents are kept */
    int64_t                 *entity;                 /* [N] of the panel, -1: not there; joint */
    ll_scaling              *scaling;                /* training's, of the panel's entities */
    ll_batch                 batch;                  /* the rows that are looked at */
    ll_session              *summary, *decoder, *encoder;
    int64_t                  n_summary; /* rows of the first */
    const ll_backend        *backend;   /* of the reverse process; the rest: cpu */
    ll_prepared_denoiser    *denoiser;
    int64_t                  most; /* rows that go through at once */
    ll_points                points;
    int                      n_threads;
} reference_self;

/* Windows that go through as one row: of one origin and one list of queries; else one each. */
typedef struct work_row {
    int64_t  first, n; /* windows */
    uint64_t id;
} work_row;

/* Everything that depends on the number of rows, samples and queries; kept until others are asked
 * for, or dropped. */
llap_status reference_nets_for(reference_self *s, int64_t n, int64_t R, int64_t h, bool keep);
void        reference_drop_nets(reference_self *s);

/* Makes s->batch of n rows (up to REFERENCE_ROWS), which the next three look at. */
llap_status reference_look(reference_self *s, const ll_forecast_window *w, const work_row *row,
                           int64_t n);

/* Who is there, [n,N]. */
const uint8_t *reference_present(const reference_self *s);

/* The summaries [n,S,H] as the denoiser wants them, and raw; NULL where the model has none.
 * Borrowed until the next call. */
llap_status reference_summarise(reference_self *s, const float **E, const float **E_raw);

/* What was read at the queries, as latents y_obs [n,h,Z]; keep likewise: 1 where it holds. An
 * identity latent keeps each reading by itself. After reference_nets_for. */
llap_status reference_observe(reference_self *s, float *y_obs, uint8_t *keep);

#endif
