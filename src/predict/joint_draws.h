/* Normals of a model's joint law for the queries of several windows. */
#ifndef LL_PREDICT_JOINT_DRAWS_H
#define LL_PREDICT_JOINT_DRAWS_H

#include "predict/forecaster.h"

/* Whether the paths of this entity (its index in training; n_entities or more: unknown) move with
 * others. Independent entities share a law of their targets, also those that training has not seen.
 */
bool ll_joint_holds(const llap_model *m, size_t known);

/* The normals of target number `target` for windows w [n], into out[i] [n_samples,n_query], of
 * windows whose entity the law holds for; the others stay. known [entities of p]. Queries of one
 * time bin (a step of the frame) are drawn together, in their order within the bin; windows of
 * another draw (ll_forecast_window) are drawn apart. Shares work out among threads. */
llap_status ll_joint_normals(const llap_model *m, const llap_panel *p, const size_t *known,
                             int64_t target, const ll_forecast_window *w, int64_t n,
                             const ll_forecast_request *ask, double *const *out);

/* Members by the ranks of paths: at each query the values y [n,n_query] are handed out in the order
 * of by [n,n_query], so that the values of a query stay the same ones and the rows move as those of
 * `by` do. Row i of either is at i * stride + start. LLAP_ENOMEM. */
llap_status ll_joint_reorder(double *y, const double *by, int64_t n, int64_t n_query, int64_t start,
                             int64_t stride);

#endif
