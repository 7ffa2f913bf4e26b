/* What was measured: the observed values of every target and entity, one behind the other, and the
 * scale that scores are taken on.
 *
 *     ll_readings r;
 *     st = ll_readings_init(&r, panel, var, n_targets, glitch);
 *     ll_readings_range s = ll_readings_within(&r, target, entity, first_row, end_row);
 *     for (int64_t i = s.first; i < s.end; i++) use(r.of[target].time[i], r.of[target].value[i]);
 *     ll_readings_deinit(&r);
 */
#ifndef LL_SCORE_READINGS_H
#define LL_SCORE_READINGS_H

#include "model/model.h"

typedef struct ll_target_readings {
    int64_t *start; /* [n_entities + 1] */
    int64_t *row;   /* of the panel, as the next two [start[n_entities]] */
    int64_t *time;
    double  *value;
} ll_target_readings;

typedef struct ll_readings {
    int64_t             n_targets, n_entities;
    ll_target_readings *of; /* [n_targets] */
} ll_readings;

/* Copies, without the readings that are glitches ([n_rows,n_targets], as ll_glitches has them;
 * NULL: none). All are borrowed until return. */
llap_status ll_readings_init(ll_readings *r, const llap_panel *p, const int64_t *var,
                             int64_t n_targets, const uint8_t *glitch);
void        ll_readings_deinit(ll_readings *r); /* { 0 } is fine */

typedef struct ll_readings_range {
    int64_t first, end; /* readings first .. end - 1; equal: none */
} ll_readings_range;

/* Readings of an entity in rows first .. end - 1 of the panel. */
ll_readings_range ll_readings_within(const ll_readings *r, int64_t target, int64_t entity,
                                     int64_t first, int64_t end);

/* The reading of a stretch nearest to a time, at most `within` away; the earlier of two. -1: none.
 */
int64_t ll_readings_nearest(const ll_readings *r, int64_t target, ll_readings_range s, int64_t time,
                            int64_t within);

/* ---- the scale of scores: standard deviations of training ---- */

typedef struct ll_score_scale {
    double mean, sd;
    double lo, hi; /* of the paper's protocol: values are held within, before */
    double clip;   /* and z within +- clip, after */
} ll_score_scale;

double ll_score_scale_z(const ll_score_scale *s, double y); /* of a value as measured */
double ll_scale_held(const ll_score_scale *s, double y);    /* as the paper's protocol has it */
double ll_score_scale_y(const ll_score_scale *s, double z);

/* [n_targets,n_entities of p]; entities that training has not seen take the pooled scale. Caller
 * owns *out (ll_free). */
llap_status ll_score_scales(const llap_model *m, const llap_panel *p, ll_score_scale **out);

/* Which observed values of the targets are glitches to the model, each seen between its neighbours:
 * [n_rows,n_targets], and their number. NULL: none. Caller owns *out (ll_free). */
llap_status ll_glitches(const llap_model *m, const llap_panel *p, const int64_t *var, uint8_t **out,
                        int64_t *n);

#endif
