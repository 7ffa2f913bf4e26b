/* src/fill: gaps filled by all sensors (docs/spec/filling.md).
 *
 *   fill.h      this file: a fitted filling, tables of readings, answers
 *   kernel.h    the covariance of one variable in time, and its fit; kernel.c
 *   smooth.c    a cell by its own variable: the readings around it
 *   matched.h   what the other sensors say: matched residuals and their covariance; matched.c
 *   need.h      which values of the passes are looked at; need.c
 *   trees.h     boosted trees; trees.c
 *   unrest.c    how far off answers are around a cell
 *   rest.h      what the closed form leaves, by trees; rest.c
 *   draw.h      draws of gaps that belong together; draw.c
 *   hide.h      what is hidden on purpose: random cells, outages, rows, dead sensors; hide.c
 *   fit.h       all of it, on hidden readings; fit.c, fit_near.c, fit_spread.c, fit_rest.c
 *
 * May touch: base, base/rng, anchor/process, anchor/chain. */

/* A filling answers about cells of a table that are not read: from the readings of the same series
 * on both sides, of the other variables of the entity and of the same variable of its neighbours.
 *
 *     ll_fill_table t;                                     the readings, scaled (ll_fill_scale_u)
 *     st = ll_fill_table_index(f, &t);
 *     if (st == LLAP_OK) st = ll_fill_table_fill(f, &t, NULL, progress, full);
 *     ll_fill_ask(f, &t, full, v, row, n, a);
 *     ll_fill_quantiles(f, v, &a[i], u), y = ll_fill_scale_y(&f->scale[v], u[k]);
 *
 * Immutable once it is made. Same bytes for any number of threads. */
#ifndef LL_FILL_FILL_H
#define LL_FILL_FILL_H

#include "fill/trees.h"

#include <llapdiff/progress.h>
#include <llapdiff/status.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    LL_FILL_TERMS = 8,   /* of a kernel: three poles, two double poles, three cycles of the day */
    LL_FILL_VARS = 24,   /* variables at most */
    LL_FILL_NEAR = 16,   /* neighbours at most */
    LL_FILL_GROUPS = 64, /* entities with covariances of their own at most */
    LL_FILL_LEVELS = 7,  /* .025 .1 .25 .5 .75 .9 .975 */
    LL_FILL_LENGTHS = 3, /* of gaps: short, long, and far from any reading: dead */
    LL_FILL_KINDS = 2 * LL_FILL_LENGTHS,   /* by length: some source is read; then none is */
    LL_FILL_AROUND = 8,                    /* readings looked at on each side */
    LL_FILL_LOOK = 2 * LL_FILL_AROUND + 4, /* and those of a day and two days before and after */
    LL_FILL_SLOTS = LL_FILL_VARS + LL_FILL_NEAR, /* the own residual and those of the sources */
};

/* u = (Yeo-Johnson((y - mean) / sd; lambda) - middle) / spread. */
typedef struct ll_fill_scale {
    double mean, sd, lambda, middle, spread;
} ll_fill_scale;
double ll_fill_scale_u(const ll_fill_scale *s, double y); /* NaN stays NaN; within +-10 */
double ll_fill_scale_y(const ll_fill_scale *s, double u);

typedef struct ll_fill_kernel {
    double a[LL_FILL_TERMS], rho[LL_FILL_TERMS]; /* variances; decay per unit of time */
    double nu;                                   /* of the noise */
} ll_fill_kernel;

/* What a series is answered by where it is fitted: its covariances. */
typedef struct ll_filling {
    int64_t         n_vars;     /* 1 .. LL_FILL_VARS */
    int64_t         n_entities; /* whose neighbours are known; 0: entities are independent */
    int64_t         n_near;     /* neighbours of each, 0 .. LL_FILL_NEAR */
    int64_t         n_groups;   /* covariances: of each entity, then of all; or 1: of all alone */
    double          step;       /* usual distance of rows; times closer than half of it are one */
    bool            day;        /* there is a clock, and several readings a day */
    char          **name;       /* [n_vars] owned, as each of them */
    int64_t        *target;     /* [n_vars] number of the model's target; -1: an input alone */
    bool           *used;       /* [n_vars] answers about it: validation prefers it */
    ll_fill_scale  *scale;      /* [n_vars] */
    ll_fill_kernel *kernel;     /* [n_vars] */
    double         *far;        /* [n_vars] b above it: a long gap */
    double         *unrest;     /* [n_vars] with which power of the unrest the spread grows */
    int32_t        *near;       /* [n_entities,n_near] best first; -1: none */
    double         *cov[2];     /* of pass 1 and 2: [n_vars,n_groups,LL_FILL_LENGTHS,slots,slots] */
    double         *quantile;   /* [n_vars,LL_FILL_KINDS,LL_FILL_LEVELS] of (u - mean) / sd */
    ll_trees        trees[2];   /* of the rest: its median, and the logarithm of its scale */
    bool            rest;       /* they are used */
} ll_filling;

static inline int64_t ll_fill_slots(const ll_filling *f) { return f->n_vars + f->n_near; }

/* Room for everything, zero. Caller owns *out. */
llap_status ll_filling_create(int64_t n_vars, int64_t n_entities, int64_t n_near, ll_filling **out);
void        ll_filling_destroy(ll_filling *f); /* NULL is fine */

/* Readings of several entities, rows of one entity behind the other. */
typedef struct ll_fill_table {
    int64_t        n_entities, n_rows, n_vars;
    const int64_t *start;  /* [n_entities + 1] */
    const double  *t;      /* [n_rows] increasing within an entity */
    const int64_t *entity; /* [n_rows] its number, in the table */
    const int64_t *known;  /* [n_entities] number in the filling; -1: none, or independent */
    double        *u;      /* [n_vars,n_rows] scaled; NaN: not read */
    double unit; /* made by ll_fill_table_index: rows are whole multiples of it apart, where it can
                    be */
    /* made by ll_fill_table_index, owned */
    int32_t *before; /* [n_vars,n_rows] so many readings before a row, of all entities before it */
    int32_t *read;   /* [n_vars,n_rows] their rows, one after another */
    int32_t *same;   /* [n_rows,n_near] row of the neighbour at that time; -1: none */
    double  *unrest; /* [n_vars,n_rows] made by ll_fill_unrest, owned; NULL: not yet */
} ll_fill_table;

/* Finds its way in a table, for f's neighbours. Again after u has changed. */
llap_status ll_fill_table_index(const ll_filling *f, ll_fill_table *t);
void        ll_fill_table_deinit(ll_fill_table *t); /* what the index has made */

/* Values for every cell, full [n_vars,n_rows]: readings where there are some, else pass 0: means of
 * the own smoother; pass 1: the answers of pass 1, given what pass 0 has left in full. need: marks
 * of need.h, where others are NaN; NULL: all. */
llap_status ll_fill_pass(const ll_filling *f, const ll_fill_table *t, int pass, const uint8_t *need,
                         llap_progress progress, double *full);

/* The mean distance of readings of targets around each cell from what they would have been filled
 * by, in deviations; about 1. full as pass 1 has left it. */
llap_status ll_fill_unrest(const ll_filling *f, ll_fill_table *t, const double *full,
                           llap_progress progress);

/* Index, both passes and unrest, as far as answers about targets need them. asked [n_vars,n_rows]:
 * which of their cells are asked about; NULL: any. LLAP_ECANCELLED where progress says so. */
llap_status ll_fill_table_fill(const ll_filling *f, ll_fill_table *t, const uint8_t *asked,
                               llap_progress progress, double *full);

typedef struct ll_fill_answer {
    double mean, sd;
    int    kind; /* 0 .. LL_FILL_KINDS - 1 */
} ll_fill_answer;

/* Trees do not answer about it: of too few sensors that died have they learnt. */
static inline bool ll_fill_dead(const ll_fill_answer *a)
{
    return a->kind % LL_FILL_LENGTHS == LL_FILL_LENGTHS - 1;
}

/* Cells of variable v, by all but their own readings; full as pass 1 has left it. out [n]. */
void ll_fill_ask(const ll_filling *f, const ll_fill_table *t, const double *full, int64_t v,
                 const int64_t *row, int64_t n, ll_fill_answer *out);

/* Scaled values at LL_FILL_LEVELS. */
void ll_fill_quantiles(const ll_filling *f, int64_t v, const ll_fill_answer *a, double *u);

#endif
