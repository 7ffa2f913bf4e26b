/* The diffusion networks as one member of a stack's pool (docs/spec/stack.md 5): quantiles of their
 * draws become moves of the anchor's laws, and paths may go in the order of theirs.
 *
 *     ll_stack_draws d;
 *     st = ll_stack_draws_init(&d, m, p, backend, kept);
 *     if (st == LLAP_OK) st = ll_stack_draws_ask(&d, &ask, w, n, arena);       all targets
 *     if (st == LLAP_OK) st = ll_stack_draws_blend(&d, k, r, n, arena);        laws of target k
 *     if (st == LLAP_OK) st = ll_stack_draws_order(&d, k, i, n_paths, n_query, path);
 *     ll_stack_draws_deinit(&d);                                     { 0 } is fine */
#ifndef LL_PREDICT_STACK_DRAWS_H
#define LL_PREDICT_STACK_DRAWS_H

#include "predict/forecaster.h"

typedef struct ll_stack_draws {
    const llap_model    *m;
    ll_forecaster        networks;
    int64_t              n, n_samples; /* windows asked about last; draws of each */
    ll_forecast_members *of;           /* [n,targets], in the arena of that call */
} ll_stack_draws;

/* Of a model that has a stack and diffusion networks; as ll_model_forecaster. */
struct ll_residual_sampler;
llap_status ll_stack_draws_init(ll_stack_draws *d, const llap_model *m, const llap_panel *p,
                                const ll_backend *backend, struct ll_residual_sampler **kept);
void        ll_stack_draws_deinit(ll_stack_draws *d);

/* Draws for these windows: as many as the stack's quantiles are made of, and with ranks no fewer
 * than the paths that are asked for. */
llap_status ll_stack_draws_ask(ll_stack_draws *d, const ll_forecast_request *ask,
                               const ll_forecast_window *w, int64_t n, ll_arena *arena);

/* The quantiles of the draws for query q of n_query of window i, as moves [LL_LAW_LEVELS] of its
 * law. */
void ll_stack_draws_moves(const ll_stack_draws *d, int64_t target, int64_t i, int64_t q,
                          int64_t n_query, const ll_law *law, double *move);

/* Laws of the stack's other members become those of all, by the weight; r [n] of the windows asked
 * about, in their order. Laws that the stack did not move stay. */
llap_status ll_stack_draws_blend(const ll_stack_draws *d, int64_t target,
                                 const ll_anchor_request *r, int64_t n, ll_arena *arena);

/* Hands the values path [n_paths,n_query] of window i out in the order of the networks' paths,
 * where the stack has it so. */
llap_status ll_stack_draws_order(const ll_stack_draws *d, int64_t target, int64_t i,
                                 int64_t n_paths, int64_t n_query, double *path);

#endif
