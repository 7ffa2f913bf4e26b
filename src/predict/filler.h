/* Networks as fillers of gaps.
 *
 * A window is laid around what is missing. What was observed in it is kept, what is missing begins
 * as draws from the anchor's own answer (from both sides, or from the past), noised to a level of
 * the process at which the networks take over (residual/residual.h): at the first point they draw
 * on their own, at the last they hardly change the anchor's answer. predict/view/gap_windows.h lays
 * the windows.
 *
 * Models of the reference profile have no anchor: they draw on their own, with the latents of the
 * times at which something was read kept (docs/spec/model.md 6.4, 7.3). So do the published models
 * that fill, which look at those readings (docs/spec/rivals.md 13). */
#ifndef LL_PREDICT_FILLER_H
#define LL_PREDICT_FILLER_H

#include "predict/network_members.h"
#include "ranks/ranks.h"

typedef struct ll_gap_cells { /* borrowed */
    const llap_model *m;
    const llap_panel *p;
    const uint8_t    *asked; /* [n_rows,n_targets]; what is not observed */
} ll_gap_cells;

typedef struct ll_fill_gaps_opts {
    ll_anchor_from    from;
    int64_t           first;     /* point of the process at which the networks take over */
    int64_t           n_samples; /* of a cell */
    uint64_t          seed;
    size_t            most; /* windows, evenly spread; 0: all */
    llap_progress     progress;
    const ll_backend *backend; /* of the networks; NULL: cpu */
    const ll_ranks *ranks; /* windows are drawn in turn: cells of others are not handed over. NULL,
                              and where there is no anchor: all are */
    const llap_log *log;
} ll_fill_gaps_opts;

typedef struct ll_filled_cell { /* an asked cell */
    int64_t       window, row, target;
    const double *y;     /* [n] draws of the networks */
    const double *guess; /* [n] what they began with, the anchor's; NULL: nothing */
    int64_t       n;
} ll_filled_cell;

typedef void (*ll_put_filled_cell)(void *user, const ll_filled_cell *cell);

/* Draws every asked cell within the windows and hands it over; the same bytes for any number of
 * threads. n_windows (may be NULL): how many there would be without a limit. */
llap_status ll_fill_gaps(const ll_gap_cells *g, const ll_fill_gaps_opts *o, ll_put_filled_cell put,
                         void *user, size_t *n_windows);

/* The same of a model of the reference profile, or of a published one that fills. */
llap_status ll_reference_fill(const ll_gap_cells *g, const ll_fill_gaps_opts *o,
                              ll_put_filled_cell put, void *user, size_t *n_windows);

/* The point at which the networks of a model take over from the anchor, 0 where they have none; -1:
 * they do not fill. */
int64_t ll_fill_first_point(const llap_model *m, ll_anchor_from from);

/* Can the model fill gaps at all? LLAP_EUNSUPPORTED names it. */
llap_status ll_fill_can(const llap_model *m);

/* Most windows of one imputation that networks answer, and samples of a cell. */
enum { LL_FILL_WINDOWS = 2048, LL_FILL_SAMPLES = 48 };

#endif
