/* Gaps made on purpose, and who fills them: readings of all columns are hidden as a pattern says,
 * by a seeded draw, and the hidden cells of targets of one part are what is scored.
 *
 *     model         the model, from both sides: the anchor, all sensors or networks, as chosen
 *     model_causal  the model, from the past alone
 *     linear        between the readings on both sides, with its empirical error
 *     last_value    the reading before, with its empirical error
 *
 * Where networks fill, every so many days are asked about, so that it takes minutes at most.
 * The last two are naive.h. */
#ifndef LL_SCORE_GAPS_HIDDEN_GAPS_H
#define LL_SCORE_GAPS_HIDDEN_GAPS_H

#include "fill/hide.h"
#include "predict/forecaster.h"
#include "score/readings.h"

enum { LL_FILLERS = 4 };

typedef struct ll_hidden_gaps {
    int                 n, n_own; /* forecasters; the first n_own are the model's */
    ll_forecaster       f[LL_FILLERS];
    int64_t             n_windows;
    ll_forecast_window *w;   /* [n_windows] hidden cells of an entity within a day: what is asked */
    int64_t            *row; /* of all queries */
    int64_t            *time;   /* likewise */
    int32_t            *lead;   /* likewise, of each target: steps since its reading before */
    uint8_t            *hidden; /* [n_rows,n_targets] */
    uint8_t            *all;    /* [n_rows,n_vars] hidden cells of all columns */
    ll_leads            leads;
    struct fill_set    *set;
} ll_hidden_gaps;

typedef struct ll_hidden_gaps_opts {
    ll_fill_pattern   pattern;
    ll_part           part; /* that is scored */
    uint64_t          seed;
    const ll_backend *backend; /* of networks */
    const uint8_t    *glitch;  /* as ll_readings_init takes it; NULL: none */
    const char       *listed; /* file of the values that are hidden instead; NULL: as the pattern */
    const llap_log   *log;
} ll_hidden_gaps_opts;

/* A window is of so many ticks: a day, or where there is no calendar a horizon. */
int64_t ll_hidden_gaps_span(const ll_model_frame *f);

/* Borrows m, p, var and scale until deinit. LLAP_EINVAL: nothing to hide in that part. What a list
 * has beside readings of the data goes to the log. */
llap_status ll_hidden_gaps_init(ll_hidden_gaps *g, const llap_model *m, const llap_panel *p,
                                const int64_t *var, const ll_score_scale *scale,
                                const ll_hidden_gaps_opts *o);
void        ll_hidden_gaps_deinit(ll_hidden_gaps *g); /* { 0 } is fine */

#endif
