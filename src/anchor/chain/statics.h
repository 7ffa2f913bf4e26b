/* Static inputs: numbers and categories of an entity that never change (the kind of a shop, the
 * size of a site). They tell the level and the spread of an entity that training has not seen,
 * docs/spec/anchor.md 2.16: a ridge over the training entities, penalty by leave-one-out error.
 *
 *     ll_statics *s = NULL;
 *     st = ll_statics_describe(columns, n_columns, in_training, n, &s);
 *     if (st == LLAP_OK) st = ll_statics_fit(s, columns, which, m, level, spread, loo);
 *     ll_static_guess g = ll_statics_guess(s, columns, e);          of any entity
 *     ll_statics_destroy(s);
 *
 * A missing number or category, and a category that training has not seen, counts as what is usual,
 * and the guess is as much less certain. Numbers are held within the range of training. */
#ifndef LL_ANCHOR_CHAIN_STATICS_H
#define LL_ANCHOR_CHAIN_STATICS_H

#include <llapdiff/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LL_STATIC_COLUMNS = 32, /* at most, */
    LL_STATIC_LEVELS = 64,  /* of one category, */
    LL_STATIC_TERMS = 512,  /* and of all together */
    LL_STATIC_ENTITIES = 8, /* that must have readings, for a ridge to be fitted at all */
};

/* One column of all entities. words: of categories; else numbers. */
typedef struct ll_static_column {
    bool               words;
    const double      *number; /* [entities] NaN: missing */
    const char *const *word;   /* [entities] NULL: missing */
} ll_static_column;

/* A column as training has seen it: the terms that it has in the ridge. */
typedef struct ll_static_input {
    bool    words;
    double  mean, sd, low, high; /* of a number */
    int32_t n_levels;            /* of a category, */
    char  **level;               /* [n_levels] increasing in byte order, owned */
    double *share;               /* [n_levels] of the entities that have a category, owned */
} ll_static_input;

/* One ridge: y = beta_0 + sum_j beta_j x_j, x of mean 0 over training. */
typedef struct ll_static_ridge {
    double  penalty; /* infinite: the mean alone */
    double  error;   /* mean square of what is left out and foretold by the rest, tau^2 */
    double  apart;   /* the same with the mean alone */
    double *beta;    /* [1 + n_terms], owned */
} ll_static_ridge;

typedef struct ll_statics {
    int32_t          n; /* columns, as the model names them */
    ll_static_input *input;
    int32_t          n_terms;
    bool             log;   /* the level is the logarithm of a mean */
    bool             every; /* every entity has the scale that they say, not only new ones */
    ll_static_ridge  level, spread; /* of the mean; of the logarithm of the deviation */
    double           kappa;         /* variance within entities over tau^2, of a fit just made */
} ll_statics;

/* Means, deviations and categories of the entities with in_training [n]. Caller owns *out. A column
 * that is the same everywhere has no terms; so has a category of more than LL_STATIC_LEVELS words.
 * LLAP_EINVAL: too many columns or terms. */
llap_status ll_statics_describe(const ll_static_column *c, int32_t n_columns,
                                const bool *in_training, size_t n, ll_statics **out);
void        ll_statics_destroy(ll_statics *s); /* NULL is fine */
int32_t     ll_static_terms(const ll_static_input *in);

/* The terms of entity e, into x [n_terms]; returns the share of the columns with terms that have no
 * value, or one that training does not know. */
double ll_statics_row(const ll_statics *s, const ll_static_column *c, size_t e, double *x);

/* Ridge of y [n] on x [n,p], whose columns have mean 0, with that penalty: beta [1 + p] and what
 * each row is foretold as by the others, loo [n]. Returns the mean square of the difference; NaN:
 * no memory. n >= 2. */
double ll_ridge(const double *x, const double *y, size_t n, int32_t p, double penalty, double *beta,
                double *loo);

/* Both ridges, over the entities which [m]: level [m] and spread [m] of each. Into loo [2,m] what
 * each is foretold as by the others. */
llap_status ll_statics_fit(ll_statics *s, const ll_static_column *c, const size_t *which, size_t m,
                           const double *level, const double *spread, double *loo);

/* Whether they tell anything. */
bool ll_statics_help(const ll_statics *s);

typedef struct ll_static_guess {
    double level, spread; /* as fitted */
    double var;           /* of the level */
} ll_static_guess;

ll_static_guess ll_statics_guess(const ll_statics *s, const ll_static_column *c, size_t e);

#endif
