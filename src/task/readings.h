/* What was measured: the observed values of every target and entity, one behind the other, and the
 * scale that scores are taken on.
 *
 *     task_readings r;
 *     st = task_readings_init(&r, panel, var, n_targets);
 *     task_stretch s = task_readings_within(&r, target, entity, first_row, end_row);
 *     for (int64_t i = s.first; i < s.end; i++) use(r.of[target].time[i], r.of[target].value[i]);
 *     task_readings_deinit(&r);
 */
#ifndef LLAP_TASK_READINGS_H
#define LLAP_TASK_READINGS_H

#include "task/task.h"

typedef struct task_target_readings {
    int64_t *start; /* [n_entities + 1] */
    int64_t *row;   /* of the panel, as the next two [start[n_entities]] */
    int64_t *time;
    double  *value;
} task_target_readings;

typedef struct task_readings {
    int64_t               n_targets, n_entities;
    task_target_readings *of; /* [n_targets] */
} task_readings;

/* Copies; p and var [n_targets] are borrowed until return. */
llap_status task_readings_init(task_readings *r, const llap_panel *p, const int64_t *var,
                               int64_t n_targets);
void        task_readings_deinit(task_readings *r); /* { 0 } is fine */

typedef struct task_stretch {
    int64_t first, end; /* readings first .. end - 1; equal: none */
} task_stretch;

/* Readings of an entity in rows first .. end - 1 of the panel. */
task_stretch task_readings_within(const task_readings *r, int64_t target, int64_t entity,
                                  int64_t first, int64_t end);

/* The reading of a stretch nearest to a time, at most `within` away; the earlier of two. -1: none.
 */
int64_t task_readings_near(const task_readings *r, int64_t target, task_stretch s, int64_t time,
                           int64_t within);

/* ---- the scale of scores: standard deviations of training, held within bounds as in training ---
 */
typedef struct task_scale {
    double mean, sd;
    double lo, hi; /* values are held within, before */
    double clip;   /* z is held within +- clip, after */
} task_scale;

double task_scale_z(const task_scale *s, double y);
double task_scale_y(const task_scale *s, double z);

/* [n_targets,n_entities of p]; entities that training has not seen take the pooled scale. Caller
 * owns *out (llap_free). */
llap_status task_scales(const llap_model *m, const llap_panel *p, task_scale **out);

#endif
