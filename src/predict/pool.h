/* Several models that answer as one: each draws an equal share of the paths, in turn. Models that
 * err in different ways, a joint one and one of single rows, are better together. */
#ifndef LL_PREDICT_POOL_H
#define LL_PREDICT_POOL_H

#include "predict/forecaster.h"

enum { LL_POOL_MAX = 16 };

/* Whether model i of `with` can answer beside m: the same targets in the same order, times of the
 * same kind, context and horizon; and where both are to be scored, the same split, so that none has
 * seen what another is asked about. LLAP_EINVAL names it by its place. */
llap_status ll_pool_check(const llap_model *m, const llap_model *const *with, int64_t n,
                          bool scored);

/* What another frame has that forecasts of both cannot be compared with, "other targets"; NULL:
 * nothing. Contexts may differ. */
const char *ll_pool_differs(const ll_model_frame *a, const ll_model_frame *b, bool scored);

/* m and those that answer with it, n of them, as ll_model_forecaster. kept is m's. */
llap_status ll_pool_forecaster(const llap_model *m, const llap_model *const *with, int64_t n,
                               const llap_panel *p, const int64_t *var, const ll_backend *backend,
                               struct ll_residual_sampler **kept, ll_forecaster *out);

/* The seed that model i of a pool draws by, 0 being m: the same noise twice would be no pool. */
uint64_t ll_pool_seed(uint64_t seed, int64_t i);

#endif
