/* Tables of results, and how they are written. */
#ifndef LL_PREDICT_ANSWER_H
#define LL_PREDICT_ANSWER_H

#include "base/arena.h"
#include "data/panel.h"
#include "model/model.h"
#include "predict/numbers.h"
#include <stdio.h>

typedef enum ll_answer_kind { /* of what the rows are, and of what they hold */
                              LL_ANSWER_FORECAST = 0,
                              LL_ANSWER_IMPUTATION = 1,
                              LL_ANSWER_SAMPLES =
                                  2, /* added to either: draws instead of mean and quantiles */
} ll_answer_kind;

typedef struct ll_answer_row {
    int64_t time, origin; /* origin of a forecast; written where has_origin */
    int32_t entity, target, sample;
    bool    observed;
} ll_answer_row;

struct llap_answer {
    ll_answer_kind     kind;
    ll_axis            axis; /* strings in the arena, as the names */
    const char *const *entity, *const *target;
    bool           has_origin;
    int            n_numbers; /* of a row: mean and quantiles, or one sampled value */
    double         quantile[LL_QUANTILES];
    int            n_quantiles;
    size_t         n_rows;
    ll_answer_row *row;    /* [n_rows] */
    double        *number; /* [n_rows,n_numbers] */
    ll_arena       arena;
};

/* A field of CSV: quoted where it must be. */
void ll_csv_put_field(FILE *f, const char *s);

/* Room for n_rows; names and axis are copied. Caller owns *out (llap_answer_destroy). */
llap_status ll_answer_create(ll_answer_kind kind, const llap_model *m, const llap_panel *p,
                             size_t n_rows, const double *quantile, int n_quantiles,
                             llap_answer **out);

/* Room for n_rows and nothing else: names and axis are the caller's to put into the arena. */
llap_status ll_answer_create_bare(ll_answer_kind kind, size_t n_rows, const double *quantile,
                                  int n_quantiles, llap_answer **out);

/* Mean and quantiles of draws x [n], which is sorted, into number [1 + n_quantiles]: between the
 * values at positions p (n + 1). */
void ll_sample_numbers(double *x, int64_t n, const llap_answer *a, double *number);

#endif
