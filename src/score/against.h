/* Forecasts that somebody else made, as a forecaster, scored beside the model on the windows that
 * they cover.
 *
 *     ll_against a = { 0 };
 *     st = ll_against_init(&a, "mine.csv", model, panel);
 *     if (ll_against_covers(&a, &window, &input)) ... a.f answers it
 *     ll_against_deinit(&a);
 *
 * A point is a law of one value. Quantiles are joined by lines over normal scores, which go on
 * beyond the first and the last one; intervals and medians are those of the file itself, where it
 * has them. Samples of one number are a path, and scored as draws. */
#ifndef LL_SCORE_AGAINST_H
#define LL_SCORE_AGAINST_H

#include "predict/tables/given.h"
#include "score/scoring.h"

enum { LL_AGAINST_NAME = 48, LL_AGAINST_MEMBERS = 99 };

typedef struct ll_against {
    ll_given     *given;
    char          name[LL_AGAINST_NAME]; /* that of the file, without folder and ending */
    double        score[LL_AGAINST_MEMBERS], level[LL_QUANTILES]; /* normal scores */
    ll_forecaster f; /* borrows from this struct, which must not move */
} ll_against;

/* "runs/mine.csv.gz": mine */
void ll_against_name(const char *path, char out[LL_AGAINST_NAME]);

/* span: as ll_given_read takes it. */
llap_status ll_against_init(ll_against *a, const char *path, const llap_model *m,
                            const llap_panel *panel, int64_t span);
void        ll_against_deinit(ll_against *a); /* { 0 } is fine */

/* Whether it answers every value of the window that is scored. */
bool ll_against_covers(const ll_against *a, const ll_forecast_window *w, const scoring_input *in);

#endif
