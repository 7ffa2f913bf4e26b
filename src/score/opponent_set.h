/* What the opponents share; not for others. */
#ifndef LL_SCORE_OPPONENT_SET_H
#define LL_SCORE_OPPONENT_SET_H

#include "predict/forecaster.h"
#include "score/opponents.h"

/* Values in order, and their mean. */
typedef struct opponent_climate {
    int64_t n;
    double *value; /* [n], n >= 1 */
    double  mean;
} opponent_climate;

/* Seasons come last: POINT_SEASONAL + k is season number k. */
typedef enum opponent_point {
    POINT_LAST,
    POINT_LINEAR,
    POINT_DRIFT,
    POINT_CONTEXT,
    POINT_CLIMATE,
    POINT_SEASONAL,
    POINT_MOST = POINT_SEASONAL + LL_SEASONS
} opponent_point;

enum { BAR_MEMBERS = 99, AR_WINDOWS = 512, BAR_WINDOWS = 2048 };

typedef struct opponent_gaussian {
    bool           known;   /* there were windows to learn from */
    double         tau, sd; /* ar1: memory in ticks, spread in standard deviations */
    opponent_point point;   /* residual_bar */
    double        *spread;  /* [n_points,leads] of every point, in standard deviations */
} opponent_gaussian;

typedef struct opponent_set {
    const ll_model_frame *frame;
    const llap_panel     *p;
    const ll_score_scale *scale;
    ll_readings           r;
    ll_leads              leads;
    ll_seasons            seasons;
    int64_t               n_days;          /* in a context; 0: steps are too long for days */
    opponent_climate     *climate;         /* [n_targets,n_entities + 1], the last of all; n = 0
                                              where an entity has none */
    opponent_gaussian *gaussian;           /* [n_targets] */
    double             score[BAR_MEMBERS]; /* normal scores of mid-points */
} opponent_set;

/* Points that there are on this data. */
static inline int opponent_n_points(const opponent_set *s) { return POINT_SEASONAL + s->seasons.n; }

static inline const ll_score_scale *opponent_scale(const opponent_set *s, int64_t target, int64_t e)
{
    return &s->scale[target * s->p->n_entities + e];
}

/* Training readings of the entity, or of all; never empty. */
const opponent_climate *opponent_climate_of(const opponent_set *s, int64_t target, int64_t entity);

static inline ll_readings_range opponent_context(const opponent_set *s, int64_t target,
                                                 const ll_forecast_window *w)
{
    return ll_readings_within(&s->r, target, w->entity, w->first, w->end);
}

/* The answers of one window and target. */
typedef llap_status opponent_answer(const opponent_set *s, const ll_forecast_request *ask,
                                    const ll_forecast_window *w, int64_t target, ll_arena *arena,
                                    ll_forecast_members *out);
opponent_answer     opponent_climatology, opponent_histogram, opponent_days; /* opponent_laws.c */
opponent_answer     opponent_ar1, opponent_bar; /* opponent_gaussian.c */
opponent_answer     opponent_log_walk;          /* opponent_walk.c */

/* Points [n_query] in data units. */
void opponent_points(const opponent_set *s, opponent_point which, const ll_forecast_window *w,
                     int64_t target, double *out);

/* A point with the spread of its residuals by lead, as a law; the point alone where there was
 * nothing to learn the spread from. */
llap_status opponent_point_law(const opponent_set *s, opponent_point which,
                               const ll_forecast_window *w, int64_t target, ll_arena *arena,
                               ll_forecast_members *out);

/* Whether all training readings of a target are positive, so that they have logarithms. */
bool opponent_is_positive(const opponent_set *s, int64_t target);

/* Where the context's mean lies, in data units, and its last reading (-1: no reading). */
double opponent_mean(const opponent_set *s, int64_t target, const ll_forecast_window *w,
                     int64_t *last);

/* Learns one target's Gaussians from windows of the list. */
llap_status opponent_learn_ar1(opponent_set *s, int64_t target, const ll_windows *w,
                               const ll_split *split);
llap_status opponent_learn_bar(opponent_set *s, int64_t target, const ll_windows *w,
                               const ll_split *split, ll_part part);

#endif
