/* The inside of the `reference` profile's forecaster: forecaster_reference.c draws paths with the
 * networks that reference_networks.c makes and shows the data to. */
#ifndef LL_PREDICT_REFERENCE_NETWORKS_H
#define LL_PREDICT_REFERENCE_NETWORKS_H

#include "diffusion/denoiser_loop.h"
#include "diffusion/denoiser_steps.h"
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
    int64_t                 *input;                  /* [D] variables of the panel */
    int64_t                 *entity;                 /* [N] of the panel, -1: not there; joint */
    const float             *x_mean, *x_std, *y_mean, *y_std;
    const int64_t           *var; /* [C] of the panel */
    ll_session              *summary, *decoder, *encoder;
    const ll_backend        *backend; /* of the reverse process; the rest: cpu */
    ll_denoiser_steps       *denoise;
    ll_denoiser_loop        *planned; /* instead, where the whole loop is on a device */
    int64_t                  most;    /* rows that go through at once */
    ll_points                points;
    int                      n_threads;
} reference_self;

/* Windows that go through as one row: of one origin and one list of queries; else one each. */
typedef struct work_row {
    int64_t  first, n; /* windows */
    uint64_t id;
} work_row;

/* The summarizer's net, where the model has one. */
llap_status reference_summary_net(reference_self *s);

/* Everything that depends on the number of rows, samples and queries; kept until others are asked
 * for, or dropped. */
llap_status reference_nets_for(reference_self *s, int64_t n, int64_t R, int64_t h, bool keep);
void        reference_drop_nets(reference_self *s);

ll_sampler_opts reference_sampler(const reference_self *s);

/* The summaries of up to REFERENCE_ROWS rows, [REFERENCE_ROWS,S,H], as the denoiser wants them: E,
 * and raw; ent [n,N] says who was seen. */
llap_status reference_summarise(reference_self *s, const ll_forecast_window *w, const work_row *row,
                                int64_t n, float *ent, float *E, float *E_raw);

/* What was read at the queries of n rows, as latents y_obs [n,h,Z]; keep likewise: 1 where it
 * holds. An identity latent keeps each reading by itself. */
llap_status reference_observe(reference_self *s, const ll_forecast_window *w, const work_row *row,
                              int64_t n, float *y_obs, uint8_t *keep);

#endif
