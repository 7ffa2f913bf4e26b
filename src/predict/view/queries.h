/* What is asked of a forecast: which entities, from which times, about which times. */
#ifndef LL_PREDICT_VIEW_QUERIES_H
#define LL_PREDICT_VIEW_QUERIES_H

#include "model/model.h"
#include <llapdiff/model.h>

/* The forecasts that are asked for: number i is of one entity, from one origin, about times of its
 * own. */
typedef struct ll_queries {
    size_t   n;
    int64_t *entity;  /* [n] of the panel */
    int64_t *origin;  /* [n] ticks; later rows are not looked at */
    size_t  *first;   /* [n + 1] its times are number first[i] .. first[i + 1] - 1 */
    int64_t *time;    /* [first[n]] ticks, increasing within a forecast */
    double  *t;       /* the same in the model's unit */
    bool     several; /* forecasts of an entity: the answer then names their origins */
} ll_queries;

/* As at, every, times, horizon and step say, about the variables var [n_targets]. Models with known
 * inputs forecast from the last observed target, others from the last row. Caller owns what is in
 * *q (ll_queries_deinit), also after a failure. */
llap_status ll_queries_init(ll_queries *q, const llap_model *m, const llap_panel *p,
                            const int64_t *var, const llap_forecast_opts *o);
void        ll_queries_deinit(ll_queries *q); /* { 0 } is fine */

#endif
