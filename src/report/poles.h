/* The poles of a model, gathered for those who print or draw them: the terms of each anchor's
 * kernel, and the modes of each network. */
#ifndef LL_REPORT_POLES_H
#define LL_REPORT_POLES_H

#include "model/model.h"
#include "networks/modes.h"

#include <llapdiff/poles.h>

typedef struct ll_pole_set {
    const char    *name;      /* "no2", "network 1 without a history" */
    const char    *energy_is; /* what the energy of this set measures */
    int64_t        n;
    ll_mode       *mode;   /* [n] in the model's unit of time */
    double        *energy; /* [n]; all 0: not known */
    ll_event_pole *event;  /* [n] from row to row of a panel; NULL without one */
    int64_t        n_gaps; /* that the events come from */
    double         gap;    /* their mean */
} ll_pole_set;

typedef struct ll_pole_report {
    ll_pole_set *set;
    int          n;
    ll_arena     arena;
} ll_pole_report;

/* panel may be NULL. Caller owns *out (ll_pole_report_deinit), also after a failure. */
llap_status ll_pole_report_init(ll_pole_report *out, const llap_model *m, const llap_panel *panel,
                                const llap_pole_opts *o);
void        ll_pole_report_deinit(ll_pole_report *p); /* { 0 } is fine */

/* ---- behind <llapdiff/poles.h> (poles_view.c) ---- */

struct llap_pole_sets {
    const llap_model   *m; /* borrowed */
    llap_pole_sets_info info;
    llap_pole_set      *set; /* [n_sets] */
    ll_arena            arena;
};

/* ---- one window as the networks see it (poles_window.c) ---- */

typedef struct ll_window_view {
    char         name[160]; /* "station7 up to 2024-05-01T00:00:00Z" */
    int64_t      S;
    const float *E, *E_raw; /* `reference`: [S,H] */
    /* `default`: the queries, and what members make their summaries of */
    int64_t        h;
    const float   *E_pad, *tq, *f; /* [S], [h], [h,F] */
    const float   *tokens;         /* [S,token_dim] */
    const int32_t *entity;         /* [1] */
} ll_window_view;

/* Everything comes from the arena. */
llap_status ll_window_view_init(ll_window_view *v, const llap_model *m, const llap_panel *p,
                                const llap_pole_opts *o, ll_arena *a);
/* The summary E [S,H] that a member of the `default` profile makes of it, from the arena. */
llap_status ll_window_view_summary(const ll_window_view *v, const llap_model *m, int64_t member,
                                   ll_arena *a, const float **E);

#endif
