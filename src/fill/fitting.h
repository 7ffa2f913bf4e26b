/* What fit.c, fit_spread.c and fit_rest.c share: copies of the readings with some hidden, and the
 * hidden cells.
 */
#ifndef LL_FILL_FITTING_H
#define LL_FILL_FITTING_H

#include "fill/fit.h"
#include "fill/rest.h"

/* Copies are hidden at random, by outages and by dead sensors; then the first two once more, with
 * other draws: as many as are looked at. */
enum { FILL_BLOCKS = 4, FILL_FEW = 3, FILL_COPIES = 5 };

/* The readings with some of them hidden. */
typedef struct copy {
    ll_fill_table t;
    uint8_t      *hidden; /* [n_vars,n_rows] */
    uint8_t      *need;   /* [n_vars,n_rows] by need.h */
    double       *full;   /* [n_vars,n_rows] */
} copy;

typedef struct cells { /* hidden ones of one variable, evenly spread over the copies */
    int64_t         n, of_copy[FILL_COPIES + 1]; /* first of each */
    int64_t        *row;
    ll_fill_cell   *cell;
    ll_fill_answer *answer; /* of targets, after fill_fit_spread */
} cells;

typedef struct fitting {
    ll_filling         *f;
    const ll_fill_data *d;
    double             *u; /* [n_vars,n_rows] all readings, scaled */
    int                 n_copies;
    bool                own_dead; /* dead sensors have covariances of their own */
    copy                copy[FILL_COPIES];
    cells               of[LL_FILL_VARS];
    int8_t             *block; /* [n_rows] of training, FILL_BLOCKS in time or entities */
    double             *apart[LL_FILL_VARS]; /* [FILL_BLOCKS] covariances of pass 1 without each */
} fitting;

static inline const copy *fill_copy_of(const fitting *g, const cells *s, int64_t i)
{
    int c = 0;
    while (i >= s->of_copy[c + 1]) c++;
    return &g->copy[c];
}

extern const double fill_level[LL_FILL_LEVELS];

/* Quantiles of what is left of a variable's cells, by kind, and of how many cells. */
typedef struct fill_quantiles {
    double n[LL_FILL_KINDS], at[LL_FILL_KINDS][LL_FILL_LEVELS];
} fill_quantiles;

/* Of x [n]; those of more kinds where there are few. */
llap_status fill_quantiles_of(const double *x, const int8_t *kind, int64_t n, fill_quantiles *q);

/* As a filling keeps them, q [n_vars] of targets. Few sensors die, each for long: theirs are those
 * of all variables together. */
void fill_quantiles_take(const ll_filling *f, const fill_quantiles *q, double *out);

llap_status fill_report(const fitting *g, const char *what, int64_t v);

/* The neighbours of each entity, best first. */
llap_status fill_fit_near(fitting *g);

/* Unrest and quantiles; *score: CRPS of hidden validation cells. */
llap_status fill_fit_spread(fitting *g, double *score);

/* Trees, if they lower the CRPS of validation by half a percent; *score is then theirs. */
llap_status fill_fit_rest(fitting *g, double *score);

#endif
