/* Cutting windows for the anchor model out of series whose u is known; not for others. */
#ifndef LL_ANCHOR_WINDOW_H
#define LL_ANCHOR_WINDOW_H

#include "anchor/model.h"
#include "anchor/process/state.h"

#include <math.h>

/* A series taken through the chain. */
typedef struct anchor_rows {
    const ll_chain  *chain;
    size_t           series, n;
    const double    *t, *y;
    double          *z; /* [n] as measured, in the unit of scores; NaN also at a glitch. Owned */
    double          *u; /* [n] glitches too. Owned */
    double          *target; /* [n] u as ll_chain_target has it, owned; or u itself */
    const ll_inputs *in;
} anchor_rows;

/* n series; the caller owns *out (anchor_rows_destroy). */
llap_status anchor_rows_create(const ll_chain *c, const ll_series *s, size_t n, anchor_rows **out);
void        anchor_rows_destroy(anchor_rows *rows, size_t n); /* NULL is fine */

/* Index of the first row with t > at. */
size_t anchor_after(const double *t, size_t n, double at);

/* Windows in one piece of memory: window[i] and what takes its law back to u = m + s w. */
typedef struct anchor_batch {
    size_t            n;
    ll_anchor_window *window;  /* [n] */
    double           *m, *s;   /* [n]; s is 1 where the scale is that of innovations */
    size_t           *query;   /* [n] first query row in its series, */
    size_t           *every;   /* [n] and how many rows on the next one is */
    const ll_inputs **in;      /* [n] known inputs of its series */
    double          **mean;    /* [n] of n_query numbers each, where answers go */
    double          **var;     /* [n] */
    double          **again;   /* [n] of n_obs numbers: the context as targets (anchor_rows) */
    double           *numbers; /* all of w, targets, answers */
} anchor_batch;

/* How windows are cut and normalised. */
typedef struct anchor_cut {
    const ll_anchor_spec *spec;
    size_t                points; /* rows of context that long ones are thinned to; 0: none is */
    double                kappa;
    double                reach; /* of ll_anchor_model; 0: anything may be reached */
    double                loose; /* ll_chain_loose of the series */
    bool                  innovation;
    bool                  still; /* the scale is 1: counts are normal scores already */
} anchor_cut;

/* How far out the level of n readings lies whose u sum to this: their mean, held down where they
 * are few. */
static inline double anchor_far_out(double sum, double n) { return fabs(sum) / (n + 8.0); }

/* Level m and scale s of a context u [n], and the variance that its level is given to start with:
 * where the context lies beyond reach, nothing that training knows about levels holds, and m is the
 * mean. Fewer than five readings, among which a glitch cannot be told, never do. A level that
 * static inputs told holds m back less, and what m has not taken of it is the variance. */
void anchor_norm(anchor_cut how, const double *u, size_t n, double *m, double *s, double *start);

/* k NULL: for fits of a kernel in the scale of the window, which know no reach. loose is left to
 * whoever knows the series. */
static inline anchor_cut anchor_cut_of(const ll_anchor_model *m, const ll_anchor_kernel *k)
{
    return (anchor_cut){ .spec = &m->spec,
                         .kappa = m->kappa,
                         .reach = k != NULL && k->drift == LL_ANCHOR_STILL ? m->reach : 0.0,
                         .innovation = k != NULL && k->innovation,
                         .still = m->chain->curve == LL_CURVE_COUNTS };
}

/* Windows at these origins, targets w of the rows within the horizon. rows [n_series] are borrowed
 * until deinit. LLAP_EINVAL: an origin of no series; LLAP_ENOMEM. */
llap_status anchor_batch_init(anchor_batch *b, anchor_cut how, const anchor_rows *rows,
                              size_t n_series, const ll_origin *origin, size_t n);
void        anchor_batch_deinit(anchor_batch *b);

/* The context y [n] of a series as the anchor sees it: a glitch in u [n] becomes NaN. */
llap_status anchor_drop_glitches(const ll_chain *c, size_t series, const double *y, size_t n,
                                 double *u);

/* The last max_obs observed (0: all) of rows first .. last - 1: the first row to use. */
size_t anchor_first_row(const double *u, size_t first, size_t last, size_t max_obs);

/* What variances of forecasts are held at from below. Those in innovation scale hold the noise of
 * the kernel times that scale already. */
static inline double anchor_floor(const ll_anchor_model *m)
{
    return m->kernel.innovation ? 0.0 : m->var_floor;
}

/* Deviation in u of a value whose variance is var in w, with what is in doubt of known inputs. */
static inline double anchor_sd(double s, double var, double doubt)
{
    return doubt > 0.0 ? sqrt(s * s * var + doubt) : s * sqrt(var);
}

/* The laws of r given its own history up to origin, queries before it given what was read until
 * then; and their means term by term: law.mean = *level + the sum of term [n_query,n_terms + 1],
 * the level of a drift last. */
llap_status anchor_forecast_terms(const ll_anchor_model *m, const ll_anchor_request *r,
                                  double *term, double *level);

/* A law of u from mean and variance of w at one query of window i. */
ll_law anchor_batch_law(const anchor_batch *b, const ll_anchor_model *m, size_t series, size_t i,
                        size_t q);

/* Variances of filled values are held at this from below; their noise may be smaller than that of
 * forecasts. */
#define ANCHOR_FILL_FLOOR 1e-6

/* Steps before each part of a fit, as its watch counts them, and all of them. */
enum { ANCHOR_LINKS = 2 * LL_ANCHOR_RANK_MAX + 1, ANCHOR_SCENES = 48 };
typedef struct anchor_course {
    int64_t cycles, profile, periods, known, drift, kinds, statics, link, filling, neighbours;
    int64_t week, all;
} anchor_course;
anchor_course anchor_course_of(const ll_anchor_model_opts *o, size_t n_series, bool validated);
enum { ANCHOR_KNOWN = 4 }; /* candidates with holidays and known inputs */

/* What the watch of a fit has, keeps and says. */
static inline bool anchor_found(const ll_anchor_model_opts *o, const char *name, double *v,
                                size_t n)
{
    const ll_anchor_watch *w = &o->fit.watch;
    return w->find != NULL && w->find(w->user, name, v, n);
}

/* What a watch has found may come from any file: LLAP_EFORMAT names the note, and what in it cannot
 * be. v [n] within low..high; a calibration with these edges. */
llap_status anchor_note_check(const char *note, const char *what, const double *v, size_t n,
                              double low, double high);
llap_status anchor_note_calibration(const char *note, const ll_calibration *c, double near,
                                    double middle);

static inline llap_status anchor_keep(const ll_anchor_model_opts *o, const char *name,
                                      const double *v, size_t n)
{
    const ll_anchor_watch *w = &o->fit.watch;
    return w->keep == NULL ? LLAP_OK : w->keep(w->user, name, v, n);
}

static inline llap_status anchor_tell(const ll_anchor_model_opts *o, const char *name, int64_t done)
{
    const ll_anchor_watch *w = &o->fit.watch;
    return w->step == NULL ? LLAP_OK : w->step(w->user, name, done, 0, NAN);
}

/* Fits the kernel for filling, one reading ahead, and calibrates it on hidden readings of the
 * validation windows. */
llap_status anchor_fit_filling(ll_anchor_model *m, const ll_anchor_data *d,
                               const ll_anchor_model_opts *o);

/* Fills one request from its own history; the second from what came before each query alone, not at
 * its time. */
llap_status anchor_fill_alone(const ll_anchor_model *m, const ll_anchor_request *r,
                              ll_anchor_from from);
llap_status anchor_fill_before(const ll_anchor_model *m, const ll_anchor_request *r);
/* Of the first reading at each query (increasing, within a piece), given all: what it differs from
 * the mean of f by, over the noise (alpha [n_query]), and the covariance of f, all in w. */
llap_status anchor_read_again(const ll_anchor_model *m, const ll_anchor_request *r, double *alpha,
                              double *cov);

/* How far the others' readings at the time of query q of request i are from what each series says
 * of them by itself, in standard deviations, held within +-ANCHOR_NEIGHBOURS_CLIP; NaN: no reading.
 * residual [n_series]. From several threads at once. */
#define ANCHOR_NEIGHBOURS_CLIP 4.0
typedef void (*anchor_neighbours_visit)(void *user, size_t i, size_t q, const double *residual);
/* Visits the queries at which the request's series has no reading; all requests have the same
 * `all`. */
llap_status anchor_neighbours_each(const ll_anchor_model *m, const ll_anchor_request *r, size_t n,
                                   ll_anchor_from from, anchor_neighbours_visit visit, void *user);

/* Moves the law of series e by the residuals r [n_series] of its time, e's own aside. Does nothing
 * where none is known. cov [n_series,n_series] is positive definite. */
void anchor_neighbours_law(const double *cov, size_t n_series, size_t e, const double *r,
                           const double *shape, ll_law *law);
bool anchor_neighbours_definite(const double *cov, size_t n);

/* Fits the correction of filled values by the other series where that lowers the CRPS of hidden
 * readings of validation. */
llap_status anchor_fit_neighbours(ll_anchor_model *m, const ll_anchor_data *d,
                                  const ll_anchor_model_opts *o);

/* Links the series of a fitted model where that lowers the CRPS of validation. */
llap_status anchor_fit_linked(ll_anchor_model *m, const ll_anchor_data *d,
                              const ll_anchor_model_opts *o);

#endif
