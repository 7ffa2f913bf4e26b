/* The model's forecasts of the scored windows as CSV, written while they are scored:
 *
 *     entity,origin,time,variable,truth,mean,q0.025,...     or  ...,truth,sample,value
 *     entity,time,variable,truth,mean,q0.025,...            of gaps: hidden values alone
 *
 * Numbers have all their digits, so that who reads them back scores the same. truth is empty where
 * nothing was measured, or what was measured is a glitch. */
#ifndef LL_SCORE_KEEP_H
#define LL_SCORE_KEEP_H

#include "base/file.h"
#include "data/clock.h"
#include "predict/tables/numbers.h"
#include "score/scoring.h"

typedef enum ll_keep_what { LL_KEEP_QUANTILES, LL_KEEP_SAMPLES, LL_KEEP_GAPS } ll_keep_what;

typedef struct ll_keep {
    const llap_model *m;
    const llap_panel *panel;
    ll_keep_what      what;
    int               n_levels;
    double            level[LL_QUANTILES];
    ll_clock_writer   clock;
    ll_writer         out;
    double           *x; /* members of one value */
    int64_t           room;
} ll_keep;

/* m and panel are borrowed until it is closed. */
llap_status ll_keep_open(ll_keep *k, const llap_model *m, const llap_panel *panel, const char *path,
                         ll_keep_what what);
/* A scoring_watch. */
llap_status ll_keep_see(void *self, const scoring_block *b);
/* Of gaps, a hidden value of a column that nobody fills. */
llap_status ll_keep_cell(ll_keep *k, int64_t entity, int64_t row, int64_t var);
/* The file is there as a whole if st is LLAP_OK, else not at all. Returns what went wrong first. */
llap_status ll_keep_close(ll_keep *k, llap_status st); /* { 0 } is fine */

#endif
