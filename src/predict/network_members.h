/* The networks of a model of the default profile: its members, who answers, and their paths in
 * data units. */
#ifndef LL_PREDICT_NETWORK_MEMBERS_H
#define LL_PREDICT_NETWORK_MEMBERS_H

#include "predict/forecaster.h"
#include "predict/view/panel_view.h"
#include "residual/residual.h"

enum { LL_MEMBERS_MAX = 64 };

/* What of a model its networks are made ready from; borrowed from it. */
typedef struct ll_network_members {
    ll_residual_config config;
    ll_residual_member member[LL_MEMBERS_MAX];
    char               prefix[LL_MEMBERS_MAX][40];
    int                n_members;
    ll_model_inputs    inputs;
    ll_answer_source   answer_source;
    ll_sampling        sampling;
    const ll_reals    *edge, *factor; /* of the spread, by lead */
} ll_network_members;

/* What the networks see, as frame and configuration say. */
ll_layout ll_network_layout(const ll_model_frame *f, const ll_network_config *c);

/* Of a model that has networks. out is borrowed by its own members: it must not move. */
void ll_network_members_init(ll_network_members *out, const llap_model *m);

/* Factor of the spread of target c at this lead. */
double ll_network_members_factor(const ll_network_members *n, int64_t c, double lead);

/* A plan for drawing with them as the model says, but for examples, samples and h. */
ll_draw_plan ll_networks_plan(const ll_network_members *n, const ll_backend *backend);
/* Makes them ready to draw by such a plan; tells where there is room for fewer examples at once
 * only. Caller owns *out (ll_residual_sampler_destroy). */
llap_status ll_networks_sampler(const ll_network_members *n, const ll_draw_plan *plan,
                                const llap_log *log, ll_residual_sampler **out);

/* Draws paths from the networks; queries beyond the trained horizon, entities that a joint model
 * does not know, and the answer source's share are the anchor's. Everything is borrowed until
 * deinit. */
llap_status ll_network_forecaster(const llap_model *m, const llap_panel *p,
                                  const ll_backend *backend, ll_residual_sampler **kept,
                                  ll_forecaster *out);

/* ---- scores on validation ---- */

/* Mean CRPS of the observed values of a set in standard deviations: of residual samples
 * x [n,n_samples,h,Z], of the anchor, and of both pooled. The spread of the samples is multiplied
 * by the factors of n. */
typedef struct ll_validation_scores {
    double  network, anchor, pool;
    int64_t n;
} ll_validation_scores;

ll_validation_scores ll_networks_validate(const llap_model *m, const ll_feature_set *set,
                                          const ll_network_members *n, const float *x, int64_t h,
                                          int64_t n_samples);

/* Who answers: whoever is best on validation; of networks that are better than the anchor, both
 * together unless the networks alone are better by the share `price`. A mixture of laws that differ
 * is wider than either. */
ll_answer_source ll_answer_source_choose(const ll_validation_scores *s, double price);

/* Chooses the factors of the spread in each bucket of leads: of those whose CRPS of the residuals
 * is the least or up to 0.3 % more, which is what the flat top of a CRPS cannot tell apart, the one
 * whose intervals of 80 % hold most nearly so many. 2 to 128 samples. */
void ll_network_members_calibrate(const ll_feature_set *set, const float *x, int64_t h,
                                  int64_t n_samples, const ll_reals *edge, ll_reals *factor);

#endif
