/* A panel as the networks of the default profile see it (model/features.h): the records of its
 * entities on the scales of a model, and rows of windows. */
#ifndef LLAP_TASK_SIGHT_H
#define LLAP_TASK_SIGHT_H

#include "model/features.h"
#include "task/task.h"

/* What is looked at beside the targets: variables by name, with the statistics of training. */
typedef struct task_inputs {
    int64_t            n;
    const char *const *name;       /* [n] */
    const float       *mean, *std; /* [frame.n_entities + 1,n], the last row pooled */
} task_inputs;

typedef struct task_sight {
    llap_layout         layout;
    llap_feature_source source;
    int64_t            *entity; /* [source.n] of the panel, -1: not in it */
    /* behind the source */
    llap_record  *record;
    size_t       *known;
    task_series  *series; /* [C] in the panel's order */
    llap_series **ordered, **all;
    const float **x;
    float        *values;
} task_sight;

/* Borrows m and p until deinit. Joint layouts see the model's entities, in its order; others those
 * of the panel. A variable that the panel does not have is missing everywhere. */
llap_status task_sight_init(task_sight *s, const llap_model *m, const llap_panel *p,
                            const llap_layout *layout, const task_inputs *inputs);
void        task_sight_deinit(task_sight *s); /* { 0 } is fine */

/* Rows of a list, and the times behind their queries. */
typedef struct task_rows {
    llap_feature_row *row; /* [n] */
    size_t            n;
    double           *t; /* behind t_query */
} task_rows;

/* The windows of one part of the panel's split as rows, at most `most` of them evenly spread
 * (0: all). Joint: one row an origin, its queries all steps of the horizon. Single, by entity: one
 * row a window and target, one row a window; its queries the rows where the target, any target is
 * observed, at most max_query of them, evenly spread (0: all). */
typedef struct task_rows_opts {
    llap_part part;
    size_t    most;
    size_t    max_query;
} task_rows_opts;

llap_status task_rows_of(const task_sight *s, const llap_model *m, const llap_windows *w,
                         const llap_split *split, const task_rows_opts *o, task_rows *out);
void        task_rows_deinit(task_rows *r); /* { 0 } is fine */

/* What the draws of a row are named by: where it stands in time, and what it is about. */
uint64_t task_row_id(int64_t origin, const char *entity, int64_t target);

#endif
