/* The law of a reading from what came before it, and its place in it: of all rows of a panel at
 * once, or of one row of a stream. */
#ifndef LL_STREAM_SCORE_H
#define LL_STREAM_SCORE_H

#include "predict/view/target_series.h"
#include "stream/usual.h"

#include <llapdiff/progress.h>

/* The rows of a panel, target by target. */
typedef struct ll_scored {
    ll_target_series series;
    ll_watch_row    *row; /* [n_targets,n_rows] */
    ll_law          *law; /* [n_targets,n_rows] of rows from `first` on of each entity; else of no
                             meaning */
    int64_t *first;       /* [n_entities] */
} ll_scored;

/* Usual ticks between readings, and how long before a reading the forecast was made that it is also
 * held against: one that a slow departure has not reached yet. */
int64_t ll_watch_gap(const llap_model *m);
int64_t ll_watch_far(const llap_model *m);

/* Laws are kept of rows at or after `from`. All of it is the caller's to ll_scored_deinit, also
 * after a failure. m, p and var [n_targets] are borrowed until then. Shared out among threads; the
 * same bytes for any number of them. */
llap_status ll_scored_init(ll_scored *s, const llap_model *m, const llap_panel *p,
                           const int64_t *var, int64_t from, llap_progress progress);
void        ll_scored_deinit(ll_scored *s); /* { 0 } is fine */

/* The law of row at of a series, whose history has it; u of the chain. LLAP_ENOMEM. */
llap_status ll_score_one(const ll_anchor_model *a, const ll_series *history, size_t series,
                         size_t at, ll_law *law);

/* Its law by a forecast made at `origin`, in the anchor's time. */
llap_status ll_score_far(const ll_anchor_model *a, const ll_series *history, size_t series,
                         size_t at, double origin, ll_law *law);

#endif
