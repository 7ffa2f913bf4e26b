/* Forecasters: whatever can be scored. The anchor is one, a network is one, and so is every
 * opponent that a model has to beat; evaluation knows them only through this.
 *
 *     ll_forecaster f = { 0 };
 *     ll_arena      arena = { 0 };
 *     llap_status     st = ll_anchor_forecaster(model, panel, var, &f);
 *     ll_forecast_members  *out = ...;                                  [n,f.n_targets]
 *     if (st == LLAP_OK) st = f.forecast(&f, &ask, window, n, &arena, out);
 *     out[i * f.n_targets + k].value[s * window[i].n_query + q]   sample s of target k of window i
 *     ll_arena_deinit(&arena);
 *     ll_forecaster_deinit(&f);
 *
 * Values are in data units; normalising is the scorer's business (score/readings.h). The same
 * request gives the same bytes for any number of threads and any batch: draws are keyed by seed and
 * window id. Nothing after the origin of a window may be looked at. */
#ifndef LL_PREDICT_FORECASTER_H
#define LL_PREDICT_FORECASTER_H

#include "base/arena.h"
#include "predict/view/target_series.h"

/* What is asked about: rows first .. end - 1 of the panel are the context, the last of them at
 * origin. */
typedef struct ll_forecast_window {
    int64_t        entity;     /* of the panel */
    int64_t        first, end; /* rows of the panel */
    int64_t        origin;     /* ticks */
    int64_t        n_query;
    const int64_t *time; /* [n_query] ticks, after origin, increasing; borrowed */
    uint64_t       id;   /* ll_forecast_window_id */
    int64_t        draw; /* windows of other entities that are drawn jointly have the same: the
                            origin, or 0 where each is made at its own last row */
    bool keep;           /* what is observed at the queries may be looked at and kept: of filling,
                            by forecasters that can */
} ll_forecast_window;

/* Window i of a list. */
ll_forecast_window ll_forecast_window_of(const ll_windows *w, int64_t i);

/* Of an entity's rows up to origin; its queries are the caller's to give, and its draw. */
ll_forecast_window ll_forecast_window_at(const llap_panel *p, int64_t entity, int64_t origin);

/* By origin; those of one origin stay in order. */
llap_status ll_forecast_windows_sort(ll_forecast_window *w, int64_t n);

/* What draws are keyed by: what is forecast, not where it stands in a list. */
uint64_t ll_forecast_window_id(const llap_panel *p, int64_t entity, int64_t origin);

/* The answer for one window and one target. */
typedef struct ll_forecast_members {
    int64_t       n;     /* members, at least 1 */
    const double *value; /* [n,n_query], or [n] increasing where constant; NaN: member without an
                            answer to that query, but every query has at least one. From the arena
                            of the call, or borrowed from the forecaster */
    bool drawn;          /* members are draws from a law: scores are the fair ones. Else they are
                            the law itself, with equal weights */
    const bool *law;     /* [n_query] where drawn: the queries at which members are the law itself
                            all the same; NULL: none. From the arena */
    bool joint;          /* a member is a path: its values belong together */
    bool constant;       /* the same members at every query */
    /* What is known better than by members, of laws: means [n_query], and quantiles
     * [n_levels,n_query] of increasing levels. NULL: nothing. */
    const double *mean;
    int64_t       n_levels;
    const double *level, *quantile;
} ll_forecast_members;

typedef struct ll_forecast_request {
    int64_t  n_samples; /* for forecasters that draw; the others have as many as they have */
    uint64_t seed;
    /* Of the answer its laws at each query are wanted, not so many paths: networks then draw fewer,
     * which lie evenly, and members say so (law). */
    bool laws;
    /* Of the anchor's paths: members k, k + parts, k + 2 parts, .. are at each query its law at
     * levels (rank + 1/2) / their number. 0: paths as they are drawn. */
    int             parts;
    const llap_log *log; /* or NULL */
    /* Reported again and again while the work lasts, so that it can be stopped. */
    llap_progress       progress;
    llap_progress_event at;
} ll_forecast_request;

typedef struct ll_forecaster ll_forecaster;
struct ll_forecaster {
    const char *name; /* "anchor", "context_days"; static */
    int64_t     n_targets;
    void       *self;
    /* out [n,n_targets]. Windows come in order of origin, then entity; those of one origin come in
     * one call unless they are too many. Shares work out among threads by itself; one call at a
     * time. */
    llap_status (*forecast)(const ll_forecaster *f, const ll_forecast_request *ask,
                            const ll_forecast_window *w, int64_t n, ll_arena *arena,
                            ll_forecast_members *out);
    void (*destroy)(void *self);
};

void ll_forecaster_deinit(ll_forecaster *f); /* { 0 } is fine */

/* How far ahead, in bins of equal width: one a step, at most LL_LEADS over the horizon. */
enum { LL_LEADS = 400 };
typedef struct ll_leads {
    int64_t n, width; /* ticks */
} ll_leads;
ll_leads ll_leads_of_frame(const ll_model_frame *f);
int32_t  ll_lead(const ll_leads *l, int64_t ahead); /* bin of a query so many ticks ahead */

/* A model as a whole, whatever it is made of. As the next. kept: where the networks of the default
 * profile are made ready to draw (plans and memory, nothing of any panel; residual/residual.h), on
 * the first use and when other sizes are asked for. Whoever asks one model on one backend about
 * several panels keeps *kept, NULL at first, and destroys it; NULL: nothing is kept. */
struct ll_residual_sampler;
llap_status ll_model_forecaster(const llap_model *m, const llap_panel *p, const int64_t *var,
                                const ll_backend *backend, struct ll_residual_sampler **kept,
                                ll_forecaster *out);

/* The anchors of a model; m, p and var [n_targets] (the panel's variable of each target) are
 * borrowed until deinit. Draws paths, the ones that llap_forecast gives for the same seed. */
llap_status ll_anchor_forecaster(const llap_model *m, const llap_panel *p, const int64_t *var,
                                 ll_forecaster *out);
/* A published model: paths, as many as are asked for. Of one that answers with quantiles they have
 * the law itself at each query, and neighbouring queries have ranks that go together. Where a
 * window keeps what is observed, models that can fill around it do. As above. */
llap_status ll_rival_forecaster(const llap_model *m, const llap_panel *p, const ll_backend *backend,
                                ll_forecaster *out);
/* The stack of a model on its anchors: paths of the anchors with the stack's margins, so that their
 * order in time stays, or goes by the diffusion networks (predict/stack_draws.h). As above. */
llap_status ll_stack_forecaster(const llap_model *m, const llap_panel *p, const int64_t *var,
                                const ll_backend *backend, struct ll_residual_sampler **kept,
                                ll_forecaster *out);
/* The same on series that the caller has, borrowed until deinit. */
llap_status ll_anchor_forecaster_of(const llap_model *m, const llap_panel *p,
                                    const ll_target_series *series, ll_forecaster *out);

#endif
