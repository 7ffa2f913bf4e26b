/* The networks of a model of the default profile: training them, and asking them about a panel as
 * joint paths in data units. */
#ifndef LLAP_TASK_NETWORKS_H
#define LLAP_TASK_NETWORKS_H

#include "model/residual.h"
#include "task/forecaster.h"
#include "task/sight.h"
#include "task/train_field.h"
#include "task/training.h"

enum { TASK_MEMBERS_MAX = 64 };

/* What of a model its networks are made ready from; borrowed from it. */
typedef struct task_networks {
    llap_residual_config config;
    llap_residual_member member[TASK_MEMBERS_MAX];
    char                 prefix[TASK_MEMBERS_MAX][40];
    int                  n_members;
    task_inputs          inputs;
    llap_guard           guard;
    llap_sampling        sampling;
    const llap_reals    *edge, *factor; /* of the spread, by lead */
} task_networks;

/* What the networks see, as frame and configuration say. */
llap_layout task_layout(const llap_model_frame *f, const llap_network_config *c);

/* Of a model that has networks. out is borrowed by its own members: it must not move. */
void task_networks_init(task_networks *out, const llap_model *m);

/* Factor of the spread of target c at this lead. */
double task_networks_factor(const task_networks *n, int64_t c, double lead);

/* Draws paths from the networks; queries beyond the trained horizon, entities that a joint model
 * does not know, and the guard's share are the anchor's. Everything is borrowed until deinit. */
llap_status task_networks_forecaster(const llap_model *m, const llap_panel *p, const int64_t *var,
                                     const llap_backend *backend, task_drawer *kept,
                                     task_forecaster *out);

/* ---- training ---- */

/* Everything that is known before the anchors are: what networks are trained on (task_field_init)
 * and the run, which has room for its states. config may be NULL, or have options of the networks
 * under "network". Caller owns *run, and *finished as of task_training_open, and deinits f, also
 * after a failure. */
llap_status task_networks_open(task_field *f, const llap_model_frame *frame, const llap_panel *p,
                               const int64_t *var, const llap_train_opts *o, llap_size size,
                               const llap_json *config, task_training **run, llap_model **finished);

/* Trains networks on top of the model's anchors and gives them to it: m->network. */
llap_status task_networks_train(llap_model *m, task_training *run, task_field *f,
                                const llap_panel *p, const llap_train_opts *o, llap_size size,
                                const llap_json *config);

/* ---- scores on validation ---- */

/* Mean CRPS of the observed values of a set in standard deviations: of residual samples
 * x [n,n_samples,h,Z], of the anchor, and of both pooled. The spread of the samples is multiplied
 * by the factors of n. */
typedef struct task_check {
    double  network, anchor, pool;
    int64_t n;
} task_check;

task_check task_networks_check(const llap_model *m, const llap_feature_set *set,
                               const task_networks *n, const float *x, int64_t h,
                               int64_t n_samples);

/* Who answers: whoever is best on validation; of networks that are better than the anchor, both
 * together unless the networks alone are better by the share `price`. A mixture of laws that differ
 * is wider than either. */
llap_guard task_networks_guard(const task_check *s, double price);

/* Chooses the factors of the spread in each bucket of leads: of those whose CRPS of the residuals
 * is the least or up to 0.3 % more, which is what the flat top of a CRPS cannot tell apart, the one
 * whose intervals of 80 % hold most nearly so many. 2 to 128 samples. */
void task_networks_calibrate(const llap_feature_set *set, const float *x, int64_t h,
                             int64_t n_samples, const llap_reals *edge, llap_reals *factor);

#endif
