/* Readings hidden on purpose, to see who finds them. */
#ifndef LL_SCORE_GAPS_HIDE_H
#define LL_SCORE_GAPS_HIDE_H

#include "fill/hide.h"
#include "model/model.h"

/* 30 % of the observed cells of some variables, by a seeded draw for each; hidden [n_rows,n] */
void ll_hide_readings(const llap_panel *p, const int64_t *var, int64_t n, uint64_t seed,
                      uint8_t *hidden);

/* How a pattern hides the data of a model; all sensors die. */
ll_fill_hiding ll_hiding_of(const llap_model *m, ll_fill_pattern pattern, uint64_t seed);

/* What a pattern hides of all columns but known and static ones, hidden [n_rows,n_vars]. target
 * [n_targets of m]: columns that die. Random ones are those of ll_hide_readings. LLAP_ENOMEM */
llap_status ll_hide_gaps(const llap_model *m, const llap_panel *p, const int64_t *target,
                         ll_fill_pattern pattern, uint64_t seed, uint8_t *hidden);

/* The panel without hidden cells [n_rows,n] of variables var [n], or with NULL of all; caller owns
 * *out. */
llap_status ll_hide_mask(const llap_panel *p, const int64_t *var, int64_t n, const uint8_t *hidden,
                         llap_panel **out);

/* The part of training that a row belongs to; entities that it has not seen test, by entity. */
ll_part ll_row_part(const llap_model *m, const llap_panel *p, int64_t entity, int64_t row);

#endif
