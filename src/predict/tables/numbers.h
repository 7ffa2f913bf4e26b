/* The numbers of an answer: mean and quantiles of a law, or of draws. */
#ifndef LL_PREDICT_TABLES_NUMBERS_H
#define LL_PREDICT_TABLES_NUMBERS_H

#include "anchor/model.h"
#include "base/normal.h"
#include <stdint.h>

/* "0.1,0.5,0.9", increasing, within (0, 1); NULL: the usual seven. */
enum { LL_QUANTILES = 99 };
llap_status ll_quantiles_parse(const char *text, double out[LL_QUANTILES], int *n);

/* Normal scores that answers are made of, computed once: of the quantiles, and of the points whose
 * average is the mean. */
enum { LL_POINTS = 49 };
typedef struct ll_normal_scores {
    double quantile[LL_QUANTILES], point[LL_POINTS];
    int    n_quantiles;
} ll_normal_scores;

void ll_normal_scores_init(ll_normal_scores *s, const double *quantile, int n_quantiles);

/* Mean and quantiles of a law in data units, into number [1 + n_quantiles]. The mean of counts is
 * exact to six digits, however rare they are. */
void ll_law_numbers(const ll_anchor_model *a, size_t series, const ll_law *law,
                    const ll_normal_scores *s, double *number);

#endif
