/* Whether all ranks ask the same of the same model and data. */
#ifndef LL_PREDICT_VIEW_MEET_H
#define LL_PREDICT_VIEW_MEET_H

#include "model/model.h"
#include "ranks/ranks.h"

#include <llapdiff/options.h>

/* What tells one panel from another: names, times, values and what was observed; of all entities,
 * where p is a sample of them. */
uint64_t ll_panel_hash(const llap_panel *p);

/* options are resolved, of that table; with [n_with] are models that answer together with m. r may
 * be NULL: nothing to do. LLAP_EINVAL on rank 0, naming the first rank that differs; the others
 * wait for the end that it makes. */
llap_status ll_ranks_meet(const ll_ranks *r, const llap_model *m, const llap_panel *p,
                          const llap_option *table, const void *options,
                          const llap_model *const *with, int64_t n_with);

#endif
