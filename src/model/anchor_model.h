/* The anchor as a forecaster and gap filler of one variable: chain of scales, kernel, calibration,
 * fitted together on plain arrays.
 *
 *     llap_anchor_model_opts o = LLAP_ANCHOR_MODEL_DEFAULT;
 *     o.spec = (llap_anchor_spec){ .context = 336, .horizon = 168 };
 *     llap_anchor_model *m = NULL;
 *     llap_status st = llap_anchor_model_fit(&data, &o, &m);
 *     llap_law law[168];
 *     llap_anchor_request r = { .history = s, .series = e, .origin = now, .n_query = 168,
 *                               .t_query = hours, .law = law };
 *     if (st == LLAP_OK) st = llap_anchor_model_forecast(m, &r, 1);
 *     median = llap_anchor_quantile(m, e, &law[0], 0.0);
 *     llap_anchor_model_destroy(m);
 *
 * Times are hours since 1970-01-01T00:00Z where the chain has a climate, else any unit; all spans
 * are in that unit. A model is immutable and may be shared by threads. */
#ifndef LLAP_MODEL_ANCHOR_MODEL_H
#define LLAP_MODEL_ANCHOR_MODEL_H

#include "model/anchor_fit.h"
#include "model/anchor_joint.h"
#include "model/calibration.h"
#include "model/chain.h"

/* What a forecast made at time t looks at, and how far. */
typedef struct llap_anchor_spec {
    double context;   /* rows in (t - context, t] */
    double horizon;   /* queries in (t, t + horizon] when fitting */
    size_t max_obs;   /* only the last so many observed values; 0: all */
    size_t max_query; /* only the first so many rows, when fitting; 0: all */
} llap_anchor_spec;

typedef struct llap_origin {
    size_t series;
    double t;
} llap_origin;

typedef struct llap_anchor_data {
    const llap_series *series; /* [n_series] all rows, of training and later */
    size_t             n_series;
    const size_t      *train_rows; /* [n_series] so many first rows give the statistics */
    const llap_origin *train;      /* [n_train] where training forecasts may be made */
    size_t             n_train;
    const llap_origin *valid; /* [n_valid] where choices are made; 0: no choice, no calibration */
    size_t             n_valid;
} llap_anchor_data;

/* What is found on the way is kept by fit.watch, under the names kernel.0 .. kernel.4 (candidates),
 * link, filling, near.0 and near.1. */
typedef struct llap_anchor_model_opts {
    llap_anchor_spec     spec;
    llap_chain_opts      chain;  /* climate: may be used, where validation prefers it */
    llap_anchor_kernel   start;  /* n_terms 0: llap_anchor_kernel_hourly() */
    llap_anchor_kernel   cycles; /* a start to learn frequencies from; n_terms 0: none is tried */
    llap_anchor_fit_opts fit;
    double               kappa;        /* of the window's level; 0: 4 or 200, by validation */
    double               near, middle; /* leads of the calibration's buckets */
    uint64_t             seed;         /* of the training windows drawn */
    bool                 joint;        /* link the series, where validation prefers it */
    bool                 near_series;  /* fill by the other series too, likewise */
} llap_anchor_model_opts;

#define LLAP_ANCHOR_MODEL_DEFAULT \
    ((llap_anchor_model_opts){    \
        .chain = LLAP_CHAIN_DEFAULT, .fit = LLAP_ANCHOR_FIT_DEFAULT, .near = 24, .middle = 72 })

/* What the other series say about a missing value, beyond the series' own readings: the residuals
 * of all at that time (each reading against the law of its series without it, in standard
 * deviations) are jointly Gaussian, and the own law is conditioned on those that are known. Holds
 * where series are read at the same times; a reading at another time says nothing. */
typedef struct llap_anchor_near {
    double          *cov;         /* [n_series,n_series] of the residuals, owned; NULL: not used */
    llap_calibration calibration; /* of the laws so made; one bucket */
} llap_anchor_near;

/* Saved whole. */
typedef struct llap_anchor_model {
    llap_anchor_spec   spec;
    llap_chain        *chain;
    llap_anchor_kernel kernel;      /* for forecasts over the horizon */
    llap_anchor_kernel fill_kernel; /* for filling: fitted one reading ahead */
    double             kappa, var_floor;
    llap_calibration   calibration;          /* of forecasts */
    llap_calibration   fill_past, fill_both; /* of filling; one bucket */
    double             valid_crps;           /* of z, before calibration; NaN without validation */
    llap_anchor_joint  joint;                /* of forecasts: rank 0, or n = chain->n_series */
    double            *loading;              /* owned: joint.loading */
    llap_anchor_near   near[2];              /* of filling, by llap_anchor_from */
} llap_anchor_model;

/* So many steps a fit tells its watch (o->fit.watch) of, at most: those of the kernels, of the
 * link and of filling. validated: there is data that choices are made on. */
int64_t llap_anchor_model_steps(const llap_anchor_model_opts *o, size_t n_series, bool validated);

/* Fits every candidate (climate or not, kappa) and keeps the best on validation, then cycles of any
 * length in place of the start's, which must gain 1 %. Where training spans less than a year (of
 * hours), a climate or kappa = 200 must gain 4 %; where it spans two, a climate may lose 1 %.
 * Calibrated on validation and training together. Caller owns *out. LLAP_EINVAL: origins outside
 * the series, options; LLAP_ENOMEM, LLAP_ECANCELLED. */
llap_status llap_anchor_model_fit(const llap_anchor_data *d, const llap_anchor_model_opts *opts,
                                  llap_anchor_model **out);
void        llap_anchor_model_destroy(llap_anchor_model *m); /* NULL is fine */

/* A model of given parts (check values, a file): takes chain. Caller owns *out. On failure chain is
 * freed too. */
llap_status llap_anchor_model_create(const llap_anchor_spec *spec, llap_chain *chain,
                                     const llap_anchor_kernel *kernel, double kappa,
                                     llap_anchor_model **out);
/* Sets the calibration, and valid_crps, from forecasts at these origins. */
llap_status llap_anchor_model_calibrate(llap_anchor_model *m, const llap_series *series,
                                        size_t n_series, const llap_origin *origin, size_t n,
                                        double near, double middle);

/* The law of one value: the chain's u is mean + sd * (a standard normal, bent by shape). */
typedef struct llap_law {
    double        mean, sd;
    double        climate; /* of its time, and its series, for the way back */
    size_t        series;
    const double *shape; /* of the calibration, borrowed from the model; NULL: none */
} llap_law;

typedef struct llap_anchor_request {
    llap_series   history; /* borrowed until return, as the next pointers */
    size_t        series;  /* index in training; SIZE_MAX: a new one */
    double        origin;  /* rows after it are not looked at */
    size_t        n_query;
    const double *t_query; /* [n_query] */
    llap_law     *law;     /* [n_query] written */
    /* The training series by index, what is known of each (n = 0: nothing): a model that links them
     * (joint.rank > 0) then looks at all, within the context before origin; filling: see there.
     * NULL: at history alone. */
    const llap_series *all; /* [chain->n_series] */
} llap_anchor_request;

/* The next requests of the same origin and `all` share the work of a joint forecast: ask in order
 * of time. Requests are shared out among threads; same bytes for any number of them. */
llap_status llap_anchor_model_forecast(const llap_anchor_model *m, const llap_anchor_request *r,
                                       size_t n);

/* Whole paths of the queries from their joint law, in data units: out [n_paths,n_query]. r->law:
 * what llap_anchor_model_forecast wrote for r, which is then not asked again, or NULL. The order of
 * a path comes from its own history; its margins are those of the forecast, joint or not. Path
 * number k is drawn from the stream (seed, noise, window, k), so it does not depend on n_paths. */
llap_status llap_anchor_model_paths(const llap_anchor_model *m, const llap_anchor_request *r,
                                    uint64_t seed, uint64_t window, size_t n_paths, double *out);

/* Gap filling: the law of history at t_query, with the kernel fitted for short distances. origin is
 * not used. From the past: given the observed rows at or before each, within a context. From both
 * sides: given all observed rows within half a context of each; long series are worked in pieces of
 * half a context. Where the model has learnt to (near[from].cov) and `all` is given, also given
 * what the other series read at the time of each query; the next requests of the same `all` share
 * that work, and requests are shared out among threads; same bytes for any number of either. */
typedef enum llap_anchor_from { LLAP_ANCHOR_PAST, LLAP_ANCHOR_BOTH } llap_anchor_from;
llap_status llap_anchor_model_fill(const llap_anchor_model *m, const llap_anchor_request *r,
                                   size_t n, llap_anchor_from from);

/* Whole paths of what llap_anchor_model_fill has answered (r->law), in data units, out
 * [n_paths,n_query]; t_query increases. Drawn jointly within half a context, and from the past
 * between one reading and the next; margins are those of the laws. Path number k is drawn from the
 * stream (seed, noise, window, k), so it does not depend on n_paths. */
llap_status llap_anchor_model_fill_paths(const llap_anchor_model *m, const llap_anchor_request *r,
                                         llap_anchor_from from, uint64_t seed, uint64_t window,
                                         size_t n_paths, double *out);

/* The value, or its z, at the normal score x: 0 the median, -1.96 and 1.96 the 95 % interval. */
double llap_anchor_quantile(const llap_anchor_model *m, size_t series, const llap_law *law,
                            double x);
double llap_anchor_quantile_z(const llap_anchor_model *m, const llap_law *law, double x);

/* CRPS of a true z by 25 mid-point quantiles, and their mean. */
double llap_anchor_crps_z(const llap_anchor_model *m, const llap_law *law, double z, double *mean);

#endif
