/* What the closed form leaves, by two models of trees (docs/spec/filling.md 5): the median of
 * z = (u - M)/s, and the logarithm of how far z is from it. */
#ifndef LL_FILL_REST_H
#define LL_FILL_REST_H

#include "fill/matched.h"

enum { LL_REST_COLUMNS = 20 + 2 * (LL_FILL_VARS + LL_FILL_NEAR) }; /* at most */

/* Columns about a cell: which it is, M, s and b, the readings around it, what the sources read. */
int  ll_rest_columns(const ll_filling *f);
void ll_rest_look(const ll_filling *f, const ll_fill_table *t, int64_t v, int64_t row,
                  const ll_fill_cell *c, const ll_fill_answer *a, float *x);

/* The answer of the closed form as the trees have it. */
ll_fill_answer ll_rest_answer(const ll_filling *f, const float *x, ll_fill_answer a);

/* Hidden cells to fit by. The caller owns the arrays. */
typedef struct ll_rest {
    int64_t  n;
    int      n_columns;
    float   *x;              /* [n,n_columns] */
    double  *z;              /* [n] */
    double  *weight;         /* [n] what a unit of z is in the units of the score; mean 1 */
    uint8_t *train;          /* [n] else validation */
    uint8_t *half;           /* [n] 0 or 1: alternate weeks, or entities */
    uint8_t *dead;           /* [n] left alone */
    double  *median, *scale; /* [n] written: out of fold, and of validation by the models */
    double  *distance;       /* [n] written: what the scale has learnt from */
} ll_rest;

/* The median learns from training and stops by the first half of validation; the scale likewise,
 * from distances of each half of training by the median that has learnt from the other. trees [2]
 * empty: there is nothing to gain. Caller owns what is in it. */
llap_status ll_rest_fit(ll_rest *r, uint64_t seed, llap_progress progress, ll_trees *trees);

/* The same trees once more, as many of them, from training and validation together. */
llap_status ll_rest_refit(const ll_rest *r, uint64_t seed, llap_progress progress, ll_trees *trees);

#endif
