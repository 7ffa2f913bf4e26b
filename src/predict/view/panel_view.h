/* A panel as the networks of the default profile see it (residual/features.h): the records of its
 * entities on the scales of a model, and examples of windows. */
#ifndef LL_PREDICT_VIEW_PANEL_VIEW_H
#define LL_PREDICT_VIEW_PANEL_VIEW_H

#include "predict/view/target_series.h"
#include "residual/features.h"

/* What is looked at beside the targets: variables by name, with the statistics of training. */
typedef struct ll_model_inputs {
    int64_t            n;
    const char *const *name;       /* [n] */
    const float       *mean, *std; /* [frame.n_entities + 1,n], the last row pooled */
} ll_model_inputs;

typedef struct ll_panel_view {
    ll_layout         layout;
    ll_feature_source source;
    int64_t          *entity;  /* [source.n] of the panel, -1: not in it */
    ll_target_series  targets; /* in the panel's order, converted */
    /* behind the source */
    ll_record    *record;
    size_t       *known;
    ll_series   **ordered; /* [C] the targets' series in the source's order */
    const float **x;
    float        *values;
} ll_panel_view;

/* Borrows m and p until deinit. Joint layouts see the model's entities, in its order; others those
 * of the panel. A variable that the panel does not have is missing everywhere. */
llap_status ll_panel_view_init(ll_panel_view *s, const llap_model *m, const llap_panel *p,
                               const ll_layout *layout, const ll_model_inputs *inputs);
void        ll_panel_view_deinit(ll_panel_view *s); /* { 0 } is fine */

/* Rows of a list, and the times behind their queries. */
typedef struct ll_examples {
    ll_feature_example *example; /* [n] */
    size_t              n;
    double             *t; /* behind t_query */
} ll_examples;

/* The windows of one part of the panel's split as examples, at most `most` of them evenly spread
 * (0: all). Joint: one example an origin, its queries all steps of the horizon. Single, by entity:
 * one example a window and target, one example a window; its queries the rows where the target, any
 * target is observed, at most max_query of them, evenly spread (0: all). */
typedef struct ll_examples_opts {
    ll_part part;
    size_t  most;
    size_t  max_query;
} ll_examples_opts;

llap_status ll_examples_of(const ll_panel_view *s, const llap_model *m, const ll_windows *w,
                           const ll_split *split, const ll_examples_opts *o, ll_examples *out);
void        ll_examples_deinit(ll_examples *r); /* { 0 } is fine */

/* What the draws of an example are named by: where it stands in time, and what it is about. */
uint64_t ll_example_id(int64_t origin, const char *entity, int64_t target);

#endif
