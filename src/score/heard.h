/* Answers that another rank has made, for a block of windows of a scoring (score/scoring.h). */
#ifndef LL_SCORE_HEARD_H
#define LL_SCORE_HEARD_H

#include "base/arena.h"
#include "predict/forecaster.h"
#include "ranks/ranks.h"

/* The answers of `from` to windows w [n], members [n,n_targets], go to all: there they become the
 * arena's. LLAP_EIO, LLAP_ENOMEM. */
llap_status ll_heard_members(const ll_ranks *r, int from, const ll_forecast_window *w, int64_t n,
                             int64_t n_targets, ll_arena *arena, ll_forecast_members *members);

#endif
