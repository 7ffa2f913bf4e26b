/* The sums of an evaluation; score/evaluate.c makes them, score/scores.h are the scores. */
#ifndef LL_SCORE_EVALUATION_H
#define LL_SCORE_EVALUATION_H

#include "backend/backend.h"
#include "fill/hide.h"
#include "predict/forecaster.h"
#include "score/against.h"
#include "score/bootstrap.h"
#include "score/joint_scores.h"
#include "score/opponents.h"
#include "score/total_windows.h"

enum { EVALUATION_MAX = 32, EVALUATION_NAME = 64 }; /* forecasters, bytes of a name */

typedef enum evaluation_by { BY_NOTHING, BY_STEP, BY_VARIABLE, BY_ENTITY } evaluation_by;

typedef struct evaluation {
    const llap_model *m; /* borrowed, as the panel */
    const llap_panel *panel;

    const llap_model *const *with; /* answer together with m */
    int64_t                  n_with;

    const ll_backend *backend; /* of the networks */
    const char       *windows; /* file for the scores of every window; NULL: none */
    const char       *theirs;  /* file of somebody's forecasts, scored beside; NULL: none */
    const char       *keep;    /* file for the model's forecasts; NULL: none */
    const char       *only;    /* entities that are scored; NULL: all */
    bool              keep_samples;
    int64_t           n_uncovered; /* windows that theirs do not cover: left out, for everyone */

    bool            impute; /* gaps were filled, not futures told */
    ll_fill_pattern gaps;   /* then */
    const char     *hidden; /* or a file of what is hidden; NULL: none */
    ll_part         part;
    int64_t         stride, n_samples, seed; /* stride in ticks */
    const char     *unit;                    /* of the bootstrap: "day", "entity", "horizon" */
    bootstrap_opts  boot;
    scoring         s;
    int             n; /* forecasters; the first is the model */
    char            name[EVALUATION_MAX][EVALUATION_NAME];
    int             n_own; /* the first so many are the model and its parts, no opponents */
    ll_seasons      seasons;

    llap_forecast_total total; /* sums are scored */
    ll_total_windows    sums;  /* then; else { 0 } */

    ll_joint_scores joint; /* of forecasts; { 0 } of gaps */
    /* The model against forecaster i, [n,n_targets + 1]; the last of all targets together. In
     * standard deviations, and in the units of the data, where all targets together mean nothing.
     */
    bootstrap_result *against, *against_units;
} evaluation;

static inline int64_t evaluation_place(const evaluation *e, int i, int64_t target)
{
    return i * (e->s.n_targets + 1) + target;
}

/* The sums of a target, or of all together for target n_targets (its data units mean nothing). */
tally evaluation_total(const evaluation *e, int i, int64_t target);

/* Fewer units than this give intervals that nothing should be decided by. */
enum { EVALUATION_UNITS = 10 };

/* Samples that intervals are best taken from: a 95 % one then has five on either side. */
enum { EVALUATION_SAMPLES = 200 };

typedef struct evaluation_look {
    evaluation_by by;
    bool          units; /* the table in data units */
    bool          paper; /* columns as in the paper's tables */
} evaluation_look;

/* Reads the forecasts e->theirs; windows [*n] that they do not cover are left out, and counted.
 * LLAP_EINVAL: none is left. The caller destroys theirs, also after a failure. */
llap_status evaluation_take_theirs(const scoring_input *in, evaluation *e, ll_against *theirs,
                                   ll_forecast_window *list, int64_t *n);

/* A line of CSV for every window w [s.n_windows] and target that has a value, with what every
 * forecaster scored there: the means of CRPS and of the squared error, in standard deviations. */
llap_status evaluation_windows(const evaluation *e, const ll_forecast_window *w, const char *path);

#endif
