/* The poles of a model, gathered for those who print or draw them: the terms of each anchor's
 * kernel, and the modes of each network. */
#ifndef LLAP_TASK_POLES_H
#define LLAP_TASK_POLES_H

#include "model/modes.h"
#include "task/task.h"

typedef struct task_pole_set {
    const char      *name;      /* "no2", "network 1 without a history" */
    const char      *energy_is; /* what the energy of this set measures */
    int64_t          n;
    llap_mode       *mode;   /* [n] in the model's unit of time */
    double          *energy; /* [n]; all 0: not known */
    llap_event_pole *event;  /* [n] from row to row of a panel; NULL without one */
    int64_t          n_gaps; /* that the events come from */
    double           gap;    /* their mean */
} task_pole_set;

typedef struct task_poles {
    task_pole_set *set;
    int            n;
    llap_arena     arena;
} task_poles;

/* panel may be NULL. Caller owns *out (task_poles_deinit), also after a failure. */
llap_status task_poles_init(task_poles *out, const llap_model *m, const llap_panel *panel,
                            const llap_pole_opts *o);
void        task_poles_deinit(task_poles *p); /* { 0 } is fine */

/* ---- one window as the networks see it (poles_window.c) ---- */

typedef struct task_view {
    char         name[160]; /* "station7 up to 2024-05-01T00:00:00Z" */
    int64_t      S;
    const float *E, *E_raw; /* `reference`: [S,H] */
    /* `default`: the queries, and what members make their summaries of */
    int64_t        h;
    const float   *E_pad, *tq, *f; /* [S], [h], [h,F] */
    const float   *tokens;         /* [S,token_dim] */
    const int32_t *entity;         /* [1] */
} task_view;

/* Everything comes from the arena. */
llap_status task_view_init(task_view *v, const llap_model *m, const llap_panel *p,
                           const llap_pole_opts *o, llap_arena *a);
/* The summary E [S,H] that a member of the `default` profile makes of it, from the arena. */
llap_status task_view_summary(const task_view *v, const llap_model *m, int64_t member,
                              llap_arena *a, const float **E);

#endif
