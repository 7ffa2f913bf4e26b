/* Networks as fillers of gaps.
 *
 * A window is laid around what is missing. What was observed in it is kept, what is missing begins
 * as draws from the anchor's own answer (from both sides, or from the past), noised to a level of
 * the process at which the networks take over (model/residual.h): at the first point they draw on
 * their own, at the last they hardly change the anchor's answer. task/spots.h lays the windows.
 *
 * Models of the reference profile have no anchor: they draw on their own, with the latents of the
 * times at which something was read kept (spec model.md 6.4, 7.3). */
#ifndef LLAP_TASK_FILLER_H
#define LLAP_TASK_FILLER_H

#include "task/networks.h"
#include "task/recipe.h"

typedef struct task_gaps { /* borrowed */
    const llap_model *m;
    const llap_panel *p;
    const uint8_t    *asked; /* [n_rows,n_targets]; what is not observed */
} task_gaps;

typedef struct task_fill_opts {
    llap_anchor_from    from;
    int64_t             first;     /* point of the process at which the networks take over */
    int64_t             n_samples; /* of a cell */
    uint64_t            seed;
    size_t              most; /* windows, evenly spread; 0: all */
    llap_progress       progress;
    const llap_backend *backend; /* of the networks; NULL: cpu */
    const llap_log     *log;
} task_fill_opts;

typedef struct task_filled { /* an asked cell */
    int64_t       window, row, target;
    const double *y;     /* [n] draws of the networks */
    const double *guess; /* [n] what they began with, the anchor's; NULL: nothing */
    int64_t       n;
} task_filled;

typedef void (*task_put_cell)(void *user, const task_filled *cell);

/* Draws every asked cell within the windows and hands it over; the same bytes for any number of
 * threads. n_windows (may be NULL): how many there would be without a limit. */
llap_status task_fill(const task_gaps *g, const task_fill_opts *o, task_put_cell put, void *user,
                      size_t *n_windows);

/* The same of a model of the reference profile. */
llap_status task_reference_fill(const task_gaps *g, const task_fill_opts *o, task_put_cell put,
                                void *user, size_t *n_windows);

/* ---- who fills ---- */

/* Hides readings of the validation part and asks anchor and networks for them. Where the networks
 * are better by a share of CRPS and by some standard errors (fill_gain and fill_errors of r), they
 * will fill: sets fill_past and fill_both of the features. */
llap_status task_fill_settle(llap_model *m, const llap_panel *p, const llap_train_opts *o,
                             const task_recipe_networks *r);

/* The point at which the networks of a model take over from the anchor, 0 where they have none; -1:
 * they do not fill. */
int64_t task_fill_first(const llap_model *m, llap_anchor_from from);

/* Most windows of one imputation that networks answer, and samples of a cell. */
enum { TASK_FILL_WINDOWS = 2048, TASK_FILL_SAMPLES = 48 };

#endif
