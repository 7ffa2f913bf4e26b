/* Scores of several forecasters on the same windows: forecasts are made block by block, so memory
 * does not grow with windows, and tallies are added in the order of windows, so results are the
 * same bytes for any number of threads.
 *
 *     scoring s;
 *     st = scoring_run(&input, &s);
 *     const tally *t = &scoring_at(&s, forecaster, target)->total;
 *     t->z.crps / t->n
 *     scoring_deinit(&s);
 */
#ifndef LL_SCORE_SCORING_H
#define LL_SCORE_SCORING_H

#include "predict/forecaster.h"
#include "ranks/ranks.h"
#include "score/tally.h"

/* Windows with the model's answers and what came true, for whoever wants to see them. */
typedef struct scoring_block {
    int64_t                    n, n_targets, n_query; /* windows; n_query: room of each in truth */
    const ll_forecast_window  *w;                     /* [n] */
    const ll_forecast_members *answer;                /* [n,n_targets] */
    const double              *truth;                 /* [n,n_targets,n_query] NaN: not scored */
} scoring_block;

typedef struct scoring_watch {
    llap_status (*see)(void *self, const scoring_block *b); /* NULL: nobody */
    void *self;
} scoring_watch;

typedef struct scoring_input {
    const llap_panel     *panel; /* what came true; borrowed until return, as all below */
    const int64_t        *var;   /* [n_targets] */
    int64_t               n_targets;
    const ll_score_scale *scale; /* [n_targets,n_entities] */
    const uint8_t *hidden; /* [n_rows,n_targets] only these cells are scored; NULL: all observed */
    const uint8_t *glitch; /* [n_rows,n_targets] these are not; NULL: none */

    const ll_forecast_window *w; /* [n] in order of origin */
    int64_t                   n;
    const int32_t            *unit; /* [n] what is drawn as a whole in a bootstrap */
    int64_t                   n_units;
    /* Queries anywhere: the array that the windows' times lie in, and beside it the row and, for
     * each target, the bin. NULL: the rows after the context, by time from the origin. */
    const int64_t *time, *row;
    const int32_t *lead;
    const double  *truth; /* and what came true, for each target: rows are not looked at; or NULL */
    ll_leads       leads;
    bool           entities; /* keep scores of every entity */
    bool           windows;  /* and of every window */

    const ll_forecaster *const *f; /* [n_forecasters] */
    int                         n_forecasters;
    ll_forecast_request         ask;
    /* Ranks that score blocks in turn and add up all of them, watchers included: the same bytes.
     * NULL: there are no others. */
    const ll_ranks *ranks;
    llap_progress   progress;
    scoring_watch   watch[2]; /* of the first forecaster */
} scoring_input;

/* Whether the value of a target in a row is scored. */
static inline bool scoring_known(const scoring_input *in, int64_t row, int64_t target)
{
    const int64_t at = row * in->n_targets + target;
    return ll_panel_observed(in->panel, row, in->var[target]) &&
           (in->hidden == NULL || in->hidden[at]) && (in->glitch == NULL || !in->glitch[at]);
}

/* One forecaster and target. */
typedef struct scoring_cell {
    tally        total;
    tally_brief *lead;   /* [leads.n] */
    tally_brief *entity; /* [n_entities], or NULL */
} scoring_cell;

/* Of one unit or window. */
typedef struct scoring_errors {
    double crps, se;
} scoring_errors;

typedef struct scoring_sum {
    double         n;            /* values */
    scoring_errors z, y;         /* in standard deviations, in data units */
    double         n_unanswered; /* values that were not scored */
} scoring_sum;

void scoring_sum_add(scoring_sum *s, const scoring_sum *more);

typedef struct scoring {
    int64_t       n_targets, n_windows, n_units, n_entities;
    int           n_forecasters;
    ll_leads      leads;
    scoring_cell *cell;   /* [n_forecasters,n_targets] */
    scoring_sum  *unit;   /* [n_forecasters,n_targets,n_units] */
    scoring_sum  *window; /* [n_forecasters,n_targets,n_windows], or NULL */
} scoring;

/* LLAP_ECANCELLED when progress says so; what a forecaster fails with. */
llap_status scoring_run(const scoring_input *in, scoring *out);
void        scoring_deinit(scoring *s); /* { 0 } is fine */

static inline scoring_cell *scoring_at(const scoring *s, int forecaster, int64_t target)
{
    return &s->cell[forecaster * s->n_targets + target];
}

static inline const scoring_sum *scoring_units(const scoring *s, int forecaster, int64_t target)
{
    return s->unit + (forecaster * s->n_targets + target) * s->n_units;
}

static inline const scoring_sum *scoring_window(const scoring *s, int forecaster, int64_t target,
                                                int64_t window)
{
    return s->window + (forecaster * s->n_targets + target) * s->n_windows + window;
}

#endif
