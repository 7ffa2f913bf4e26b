/* Readings hidden on purpose, to see who finds them: 30 % of the observed cells, by a seeded draw
 * for each. */
#ifndef LL_SCORE_HIDE_H
#define LL_SCORE_HIDE_H

#include "model/model.h"

/* hidden [n_rows,n_targets] */
void ll_hide_readings(const llap_panel *p, const int64_t *var, int64_t n_targets, uint64_t seed,
                      uint8_t *hidden);

/* The panel without them; caller owns *out. */
llap_status ll_hide_mask(const llap_panel *p, const int64_t *var, int64_t n_targets,
                         const uint8_t *hidden, llap_panel **out);

/* The part of training that a row belongs to; entities that it has not seen test, by entity. */
ll_part ll_row_part(const llap_model *m, const llap_panel *p, int64_t entity, int64_t row);

#endif
