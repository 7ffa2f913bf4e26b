/* The finished numbers of an evaluation, behind <llapdiff/scores.h>: evaluate.c makes them of the
 * sums, the table and the JSON are printed from them. */
#ifndef LL_SCORE_SCORES_H
#define LL_SCORE_SCORES_H

#include "score/evaluation.h"

#include <llapdiff/scores.h>

struct llap_scores {
    llap_scores_info info;
    bool             impute;
    evaluation_look  look;
    int64_t          model_step; /* ticks */
    bool             is_anchor;  /* validation left the answer to the anchor */

    llap_score_row        *standard;      /* [n_forecasters,n_variables + 1] the last: all */
    llap_score_row        *units;         /* [n_forecasters,n_variables] */
    llap_score_difference *against;       /* [n_forecasters,n_variables + 1] */
    llap_score_difference *in_units;      /* against, [n_forecasters,n_variables] */
    llap_score_columns    *by_step;       /* [n_forecasters,n_variables] */
    llap_score_columns    *by_entity;     /* the same, or NULL */
    int64_t               *best;          /* [n_variables + 1] */
    int64_t               *best_in_units; /* [n_variables] */
    llap_score_joint      *joint;         /* [n_variables + 1]; NULL of imputations */
    ll_arena               arena;         /* of all of them, names too */
};

/* Copies what is in e; its panel and model are not looked at later. Caller owns *out. */
llap_status scores_of(const evaluation *e, const evaluation_look *look, llap_scores **out);

#endif
