/* Cutting windows for the anchor model out of series whose u is known; not for others. */
#ifndef LLAP_MODEL_ANCHOR_WINDOW_H
#define LLAP_MODEL_ANCHOR_WINDOW_H

#include "model/anchor_model.h"

/* A series taken through the chain. */
typedef struct anchor_rows {
    size_t        n;
    const double *t;
    double       *z, *u; /* [n], owned */
} anchor_rows;

llap_status anchor_rows_init(anchor_rows *r, const llap_chain *c, size_t series,
                             const llap_series *s);
void        anchor_rows_deinit(anchor_rows *r);

/* The same for n series; the caller owns *out (anchor_rows_destroy). */
llap_status anchor_rows_create(const llap_chain *c, const llap_series *s, size_t n,
                               anchor_rows **out);
void        anchor_rows_destroy(anchor_rows *rows, size_t n); /* NULL is fine */

/* Index of the first row with t > at. */
size_t anchor_after(const double *t, size_t n, double at);

/* Windows in one piece of memory: window[i] and what takes its law back to u = m + s w. */
typedef struct anchor_batch {
    size_t              n;
    llap_anchor_window *window;  /* [n] */
    double             *m, *s;   /* [n] */
    size_t             *query;   /* [n] first query row in its series */
    double            **mean;    /* [n] of n_query numbers each, where answers go */
    double            **var;     /* [n] */
    double             *numbers; /* all of w, targets, answers */
} anchor_batch;

/* Windows at these origins, targets w of the rows within the horizon. rows [n_series] are borrowed
 * until deinit. LLAP_EINVAL: an origin of no series; LLAP_ENOMEM. */
llap_status anchor_batch_init(anchor_batch *b, const llap_anchor_spec *spec, double kappa,
                              const anchor_rows *rows, size_t n_series, const llap_origin *origin,
                              size_t n);
void        anchor_batch_deinit(anchor_batch *b);

/* The last max_obs observed (0: all) of rows first .. last - 1: the first row to use. */
size_t anchor_first_row(const double *u, size_t first, size_t last, size_t max_obs);

/* Variances of filled values are held at this from below; their noise may be smaller than that of
 * forecasts. */
#define ANCHOR_FILL_FLOOR 1e-6

/* Fits the kernel for filling, one reading ahead, and calibrates it on hidden readings of the
 * validation windows. */
llap_status anchor_fit_filling(llap_anchor_model *m, const llap_anchor_data *d,
                               const llap_anchor_model_opts *o);

/* Links the series of a fitted model where that lowers the CRPS of validation. */
llap_status anchor_fit_joint(llap_anchor_model *m, const llap_anchor_data *d,
                             const llap_anchor_model_opts *o);

#endif
