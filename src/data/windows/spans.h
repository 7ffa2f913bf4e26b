/* Which context and horizon a training can have: its windows must be enough for three parts.
 *
 *     ll_spans s = { .context = 14 * day, .horizon = 7 * day };
 *     st = ll_spans_shorten(panel, target, n_targets, step, &s);     s.horizon > 0: they do now */
#ifndef LL_DATA_WINDOWS_SPANS_H
#define LL_DATA_WINDOWS_SPANS_H

#include "data/windows/split.h"

typedef struct ll_spans {
    int64_t context, horizon; /* ticks; 0: none is short enough */
    bool    even;             /* with shares of 50, 25 and 25 only */
} ll_spans;

/* Whether all parts of a split by time have a window. target [n_targets], variables. */
llap_status ll_spans_fit(const llap_panel *p, const int64_t *target, int64_t n_targets,
                         const ll_spans *s, bool *fit);

/* Shortens the spans, in whole steps, until they do; context stays twice the horizon or shorter. */
llap_status ll_spans_shorten(const llap_panel *p, const int64_t *target, int64_t n_targets,
                             int64_t step, ll_spans *s);

#endif
