/* Values that a file lists, to be hidden in the place of a pattern: CSV with the columns entity
 * (not needed where the data has one), time and variable, others passed over, so that what evaluate
 * has kept of gaps can be read.
 *
 *     st = ll_hide_listed("cells.csv", model, panel, hidden, &n_absent);
 */
#ifndef LL_SCORE_GAPS_LISTED_H
#define LL_SCORE_GAPS_LISTED_H

#include "model/model.h"

/* hidden [n_rows,n_vars] becomes 1 where the file says so and there is a reading; n_absent: values
 * of the file that the data has none of. LLAP_EFORMAT, LLAP_EINVAL (unknown entities and variables,
 * and known or static inputs, which are never hidden) with file and line; LLAP_ENOTFOUND. */
llap_status ll_hide_listed(const char *path, const llap_model *m, const llap_panel *p,
                           uint8_t *hidden, int64_t *n_absent);

#endif
