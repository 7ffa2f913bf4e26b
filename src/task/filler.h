/* The networks of the default profile as a filler of gaps.
 *
 * A window is laid around what is missing. What was observed in it is kept, what is missing begins
 * as draws from the anchor's own answer (from both sides, or from the past), noised to a level of
 * the process at which the networks take over (model/residual.h): at the first point they draw on
 * their own, at the last they hardly change the anchor's answer. From both sides windows are as
 * long as the horizon and overlap by half; a cell is answered by the one in whose middle it lies.
 * From the past every time that has a gap is a window of its own, right after the row before it. */
#ifndef LLAP_TASK_FILLER_H
#define LLAP_TASK_FILLER_H

#include "task/networks.h"

typedef struct task_gaps { /* borrowed */
    const llap_model *m;
    const llap_panel *p;
    const uint8_t    *asked; /* [n_rows,n_targets]; what is not observed */
} task_gaps;

typedef struct task_fill_opts {
    llap_anchor_from from;
    int64_t          first;     /* point of the process at which the networks take over */
    int64_t          n_samples; /* of a cell */
    uint64_t         seed;
    size_t           most; /* windows, evenly spread; 0: all */
    llap_progress    progress;
} task_fill_opts;

typedef struct task_filled { /* an asked cell, in the chain's u */
    int64_t       window, row, target;
    double        climate;   /* for the way back */
    const double *u, *guess; /* [n] of the networks, and what they began with */
    int64_t       n;
} task_filled;

typedef void (*task_put_cell)(void *user, const task_filled *cell);

/* Draws every asked cell within the windows and hands it over; the same bytes for any number of
 * threads. n_windows (may be NULL): how many there would be without a limit. */
llap_status task_fill(const task_gaps *g, const task_fill_opts *o, task_put_cell put, void *user,
                      size_t *n_windows);

/* ---- who fills ---- */

/* Hides readings of the validation part and asks anchor and networks for them. Where the networks
 * are better by 1 % of CRPS and by two standard errors, they will fill: sets fill_past and
 * fill_both of the features. */
llap_status task_fill_settle(llap_model *m, const llap_panel *p, const llap_train_opts *o);

/* The point at which the networks of a model take over from the anchor; 0: they do not fill. */
int64_t task_fill_first(const llap_model *m, llap_anchor_from from);

/* Most windows of one imputation that networks answer, and samples of a cell. */
enum { TASK_FILL_WINDOWS = 2048, TASK_FILL_SAMPLES = 48 };

#endif
