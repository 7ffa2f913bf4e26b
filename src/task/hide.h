/* Readings hidden on purpose, to see who finds them: 30 % of the observed cells, by a seeded draw
 * for each. */
#ifndef LLAP_TASK_HIDE_H
#define LLAP_TASK_HIDE_H

#include "task/task.h"

/* hidden [n_rows,n_targets] */
void task_hide(const llap_panel *p, const int64_t *var, int64_t n_targets, uint64_t seed,
               uint8_t *hidden);

/* The panel without them; caller owns *out. */
llap_status task_mask(const llap_panel *p, const int64_t *var, int64_t n_targets,
                      const uint8_t *hidden, llap_panel **out);

/* The part of training that a row belongs to; entities that it has not seen test, by entity. */
llap_part task_row_part(const llap_model *m, const llap_panel *p, int64_t entity, int64_t row);

#endif
