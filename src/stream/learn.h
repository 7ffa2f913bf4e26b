/* What is usual of all targets of a model, learnt from a panel, and where each series then stands.
 */
#ifndef LL_STREAM_LEARN_H
#define LL_STREAM_LEARN_H

#include "stream/score.h"
#include "stream/watch.h"

/* Options with their defaults; late in ticks. */
typedef struct ll_detect_how {
    double  rate;
    int64_t join, late;
} ll_detect_how;
llap_status ll_detect_how_of(const llap_detect_opts *o, ll_detect_how *out);

/* usual [n_targets] become those of the model's rows before `until`, learnt from s. Nothing to
 * learn from: LLAP_EINVAL. The caller deinits usual, also after a failure. */
llap_status ll_learn(const llap_model *m, const llap_panel *p, const ll_scored *s, int64_t until,
                     const ll_detect_how *how, ll_usual *usual);

/* What holds for any model. */
llap_status ll_learn_nothing(const llap_model *m, const ll_detect_how *how, ll_usual *usual);

/* Where a series stands after its rows [n]. */
void ll_run_on(ll_runs *r, const ll_usual *u, size_t series, const ll_watch_row *row, size_t n);

static inline ll_watching ll_watching_of(const ll_usual *u, const ll_anchor_model *a,
                                         const ll_detect_how *how)
{
    return (ll_watching){ .usual = u, .anchor = a, .rate = how->rate, .join = how->join };
}

#endif
