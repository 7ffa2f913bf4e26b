/* The anchor as a forecaster and gap filler of one variable: chain of scales, kernel, calibration,
 * fitted together on plain arrays.
 *
 *     ll_anchor_model_opts o = LL_ANCHOR_MODEL_DEFAULT;
 *     o.spec = (ll_anchor_spec){ .context = 336, .horizon = 168 };
 *     ll_anchor_model *m = NULL;
 *     llap_status st = ll_anchor_model_fit(&data, &o, &m);
 *     ll_law law[168];
 *     ll_anchor_request r = { .history = s, .series = e, .origin = now, .n_query = 168,
 *                               .t_query = hours, .law = law };
 *     if (st == LLAP_OK) st = ll_anchor_model_forecast(m, &r, 1);
 *     median = ll_anchor_quantile(m, e, &law[0], 0.0);
 *     ll_anchor_model_destroy(m);
 *
 * Times are hours since 1970-01-01T00:00Z where the chain has a climate, else any unit; all spans
 * are in that unit. A model is immutable and may be shared by threads. */
#ifndef LL_ANCHOR_MODEL_H
#define LL_ANCHOR_MODEL_H

#include "anchor/calibration.h"
#include "anchor/chain/chain.h"
#include "anchor/fit.h"
#include "anchor/process/linked.h"

/* What a forecast made at time t looks at, and how far. */
typedef struct ll_anchor_spec {
    double context;   /* rows in (t - context, t] */
    double horizon;   /* queries in (t, t + horizon] when fitting */
    size_t max_obs;   /* only the last so many observed values; 0: all */
    size_t max_query; /* only the first so many rows, when fitting; 0: all */
} ll_anchor_spec;

typedef struct ll_origin {
    size_t series;
    double t;
} ll_origin;

typedef struct ll_anchor_data {
    const ll_series *series; /* [n_series] all rows, of training and later */
    size_t           n_series;
    const size_t    *train_rows; /* [n_series] so many first rows give the statistics */
    const ll_origin *train;      /* [n_train] where training forecasts may be made */
    size_t           n_train;
    const ll_origin *valid; /* [n_valid] where choices are made; 0: no choice, no calibration */
    size_t           n_valid;
    /* Known columns of each series, [n_known,its rows], also of rows later than all readings; used
     * where validation prefers it. NULL: none. */
    const double *const *known; /* [n_series] */
    int32_t              n_known;
    ll_static_opts       statics; /* of the series; n 0: none */
} ll_anchor_data;

/* What is found on the way is kept by fit.watch, under the names kernel.0 .. kernel.4 (candidates),
 * link, filling, near.0 and near.1. */
typedef struct ll_anchor_model_opts {
    ll_anchor_spec     spec;
    ll_chain_opts      chain;   /* climate: may be used, where validation prefers it */
    ll_anchor_kernel   start;   /* n_terms 0: ll_anchor_kernel_hourly() */
    ll_anchor_kernel   cycles;  /* a start to learn frequencies from; n_terms 0: none is tried */
    ll_periods         periods; /* tried as climate and cycles, unless they harm */
    bool               find_periods; /* look for them; they must gain 1 % */
    ll_anchor_fit_opts fit;
    size_t             points;    /* contexts of more than twice as many readings are thinned to it
                                     for kernels and choices, the old ones most, and queries
                                     likewise; the answer is scored and calibrated on whole windows.
                                     0: none is */
    double                 kappa; /* of the window's level; 0: 4 or 200, by validation */
    double                 near, middle;      /* leads of the calibration's buckets */
    uint64_t               seed;              /* of the training windows drawn */
    bool                   link;              /* link the series, where validation prefers it */
    bool                   neighbours_series; /* fill by the other series too, likewise */
    bool                   known; /* there are known inputs or holidays: for the count of steps */
    const ll_holiday_list *holidays; /* of the climate, where it does no harm; NULL: none */
    bool                   statics;  /* there are static inputs: for the count of steps */
} ll_anchor_model_opts;

#define LL_ANCHOR_MODEL_DEFAULT \
    ((ll_anchor_model_opts){    \
        .chain = LL_CHAIN_DEFAULT, .fit = LL_ANCHOR_FIT_DEFAULT, .near = 24, .middle = 72 })

/* What the other series say about a missing value, beyond the series' own readings: the residuals
 * of all at that time (each reading against the law of its series without it, in standard
 * deviations) are jointly Gaussian, and the own law is conditioned on those that are known. Holds
 * where series are read at the same times; a reading at another time says nothing. */
typedef struct ll_anchor_neighbours {
    double        *cov;         /* [n_series,n_series] of the residuals, owned; NULL: not used */
    ll_calibration calibration; /* of the laws so made; one bucket */
} ll_anchor_neighbours;

/* Saved whole. */
typedef struct ll_anchor_model {
    ll_anchor_spec   spec;
    ll_chain        *chain;
    ll_anchor_kernel kernel;      /* for forecasts over the horizon */
    ll_anchor_kernel fill_kernel; /* for filling: fitted one reading ahead */
    double           kappa, var_floor;
    double           reach; /* no mean of a training context lay further out, with room; 0: any */
    ll_calibration   calibration;          /* of forecasts */
    ll_calibration   fill_past, fill_both; /* of filling; one bucket */
    double           valid_crps;           /* before calibration; NaN without validation */
    ll_anchor_linked link;                 /* of forecasts: rank 0, or n = chain->n_series */
    double          *loading;              /* owned: link.loading */
    ll_anchor_neighbours neighbours[2];    /* of filling, by ll_anchor_from */
} ll_anchor_model;

/* So many steps a fit tells its watch (o->fit.watch) of, at most: those of the kernels, of the
 * link and of filling. validated: there is data that choices are made on. */
int64_t ll_anchor_model_steps(const ll_anchor_model_opts *o, size_t n_series, bool validated);

/* Fits every candidate (climate or not, kappa) and keeps the best on validation, then cycles of any
 * length in place of the start's, which must gain 1 %. Where training spans less than a year (of
 * hours), a climate or kappa = 200 must gain 4 %; where it spans two, a climate may lose 1 %.
 * Calibrated on validation and training together. Caller owns *out. LLAP_EINVAL: origins outside
 * the series, options; LLAP_ENOMEM, LLAP_ECANCELLED. */
llap_status ll_anchor_model_fit(const ll_anchor_data *d, const ll_anchor_model_opts *opts,
                                ll_anchor_model **out);
void        ll_anchor_model_destroy(ll_anchor_model *m); /* NULL is fine */

/* A model of given parts (check values, a file): takes chain. Caller owns *out. On failure chain is
 * freed too. */
llap_status ll_anchor_model_create(const ll_anchor_spec *spec, ll_chain *chain,
                                   const ll_anchor_kernel *kernel, double kappa,
                                   ll_anchor_model **out);

/* The law of one value: the chain's u is mean + sd * (a standard normal, bent by shape). */
typedef struct ll_law {
    double        mean, sd;
    double        climate; /* of its time, and its series, for the way back */
    size_t        series;
    const double *shape; /* of the calibration, borrowed from the model; NULL: none */
    const double *move;  /* [LL_LAW_LEVELS] what others (src/stack) add to the normal scores before
                            they are bent; borrowed; NULL: nothing */
} ll_law;

/* Moves are given at the levels .025 .1 .25 .5 .75 .9 .975 and linear between and beyond them in
 * the normal score. */
enum { LL_LAW_LEVELS = 7 };

typedef struct ll_anchor_request {
    ll_series     history; /* borrowed until return, as the next pointers */
    size_t        series;  /* index in training; SIZE_MAX: a new one */
    double        origin;  /* rows after it are not looked at */
    size_t        n_query;
    const double *t_query; /* [n_query] */
    ll_law       *law;     /* [n_query] written */
    /* The training series by index, what is known of each (n = 0: nothing): a model that links them
     * (link.rank > 0) then looks at all, within the context before origin; filling: see there.
     * NULL: at history alone. */
    const ll_series *all; /* [chain->n_series] */
} ll_anchor_request;

/* The next requests of the same origin and `all` share the work of a joint forecast: ask in order
 * of time. Requests are shared out among threads; same bytes for any number of them. */
llap_status ll_anchor_model_forecast(const ll_anchor_model *m, const ll_anchor_request *r,
                                     size_t n);

/* Whole paths of the queries from their joint law, in data units: out [n_paths,n_query]. r->law:
 * what ll_anchor_model_forecast wrote for r, which is then not asked again, or NULL. The order of
 * a path comes from its own history; its margins are those of the forecast, joint or not. Path
 * number k is drawn from the stream (seed, noise, window, k), so it does not depend on n_paths. */
llap_status ll_anchor_model_paths(const ll_anchor_model *m, const ll_anchor_request *r,
                                  uint64_t seed, uint64_t window, size_t n_paths, double *out);

/* The same by given normals, [n_paths,n_query], one for each query (ll_anchor_innovate): out may be
 * normals. A path then moves with those of other series whose normals are correlated. */
llap_status ll_anchor_model_paths_by(const ll_anchor_model *m, const ll_anchor_request *r,
                                     const double *normals, size_t n_paths, double *out);

/* Gap filling: the law of history at t_query, with the kernel fitted for short distances. origin is
 * not used. From the past: given the observed rows at or before each, within a context. From both
 * sides: given all observed rows within half a context of each; long series are worked in pieces of
 * half a context. Where the model has learnt to (neighbours[from].cov) and `all` is given, also
 * given what the other series read at the time of each query; the next requests of the same `all`
 * share that work, and requests are shared out among threads; same bytes for any number of either.
 */
typedef enum ll_anchor_from { LL_ANCHOR_PAST, LL_ANCHOR_BOTH } ll_anchor_from;
llap_status ll_anchor_model_fill(const ll_anchor_model *m, const ll_anchor_request *r, size_t n,
                                 ll_anchor_from from);

/* Whole paths of what ll_anchor_model_fill has answered (r->law), in data units, out
 * [n_paths,n_query]; t_query increases. Drawn jointly within half a context, and from the past
 * between one reading and the next; margins are those of the laws. Path number k is drawn from the
 * stream (seed, noise, window, k), so it does not depend on n_paths. */
llap_status ll_anchor_model_fill_paths(const ll_anchor_model *m, const ll_anchor_request *r,
                                       ll_anchor_from from, uint64_t seed, uint64_t window,
                                       size_t n_paths, double *out);

/* The value, or its z, at the normal score x: 0 the median, -1.96 and 1.96 the 95 % interval. */
double ll_anchor_quantile(const ll_anchor_model *m, size_t series, const ll_law *law, double x);
double ll_anchor_quantile_z(const ll_anchor_model *m, const ll_law *law, double x);
/* The normal score at which the law, without moves, has the value y: the reverse of the first. */
double ll_anchor_score(const ll_anchor_model *m, const ll_law *law, double y);
double ll_anchor_score_z(const ll_anchor_model *m, const ll_law *law,
                         double z); /* of z of the chain */

/* CRPS of a true value, in the unit of scores (ll_chain_unit), by 25 mid-point quantiles, and
 * their mean. */
double ll_anchor_crps_z(const ll_anchor_model *m, const ll_law *law, double z, double *mean);

#endif
