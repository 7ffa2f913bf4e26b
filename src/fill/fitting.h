/* What fit.c and fit_rest.c share: copies of the readings with some hidden, and the hidden cells.
 */
#ifndef LL_FILL_FITTING_H
#define LL_FILL_FITTING_H

#include "fill/fit.h"
#include "fill/rest.h"

/* The readings with some of them hidden. */
typedef struct copy {
    ll_fill_table t;
    uint8_t      *hidden; /* [n_vars,n_rows] */
    double       *full;   /* [n_vars,n_rows] */
} copy;

typedef struct cells { /* hidden ones of one variable, evenly spread over both copies */
    int64_t       n, of_copy[LL_FILL_LEARNT + 1]; /* first of each */
    int64_t      *row;
    ll_fill_cell *cell;
} cells;

typedef struct fitting {
    ll_filling         *f;
    const ll_fill_data *d;
    double             *u; /* [n_vars,n_rows] all readings, scaled */
    copy                copy[LL_FILL_LEARNT];
    cells               of[LL_FILL_VARS];
} fitting;

static inline int copy_of(const cells *s, int64_t i) { return i >= s->of_copy[1]; }

extern const double fill_level[LL_FILL_LEVELS];

/* Cell i of variable v, by the closed form. */
ll_fill_answer fill_answer_of(const fitting *g, int64_t v, int64_t i);

/* Trees, if they lower the CRPS of validation by half a percent; *score is then theirs. */
llap_status fill_fit_rest(fitting *g, double *score);

#endif
