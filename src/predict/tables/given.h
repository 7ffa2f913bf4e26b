/* Forecasts that somebody else made, as a CSV file has them: points, quantiles or samples.
 *
 *     ll_given *g = NULL;
 *     st = ll_given_read("mine.csv", model, panel, &g);
 *     ll_given_range r = ll_given_find(g, entity, target, origin);
 *     for (int64_t i = r.first; i < r.end; i++)
 *         use(g->row[i].time, g->number + g->row[i].at * g->n_numbers);
 *     ll_given_destroy(g);
 *
 * Columns, in any order: `entity` (not needed where the data has one), `origin`, `time`, `variable`
 * (not needed where the model has one target), and one of
 *     value               a point; `mean` alone is one, too
 *     q0.1, q0.5, ...     quantiles, and `mean` where there is one
 *     sample, value       samples: those of one number are a path
 * Others are passed over, so what evaluate keeps and what forecast writes of several origins can be
 * read. Times are written as in the data, or as RFC 3339. What is wrong is told with file, line and
 * column. */
#ifndef LL_PREDICT_TABLES_GIVEN_H
#define LL_PREDICT_TABLES_GIVEN_H

#include "model/model.h"
#include "predict/tables/numbers.h"

typedef enum ll_given_kind { LL_GIVEN_POINTS, LL_GIVEN_QUANTILES, LL_GIVEN_SAMPLES } ll_given_kind;

typedef struct ll_given_row {
    int64_t origin, time, sample; /* sample: 0 where there are none */
    int64_t line;                 /* of the file */
    int64_t at;                   /* of its numbers */
    int32_t entity, target;       /* of the panel, of the model */
} ll_given_row;

typedef struct ll_given {
    ll_given_kind kind;
    int           n_levels;
    double        level[LL_QUANTILES]; /* [n_levels] increasing */
    bool          has_mean;            /* beside quantiles */
    int64_t       n_numbers;           /* of a row: the value; or the quantiles, then the mean */
    int64_t       n;
    ll_given_row *row; /* [n] by entity, origin, target, time, sample; no two are equal */
    double       *number;
} ll_given;

/* span 0: forecasts. Else fills of hidden values: there is no column origin, a row's is the
 * beginning of its span of so many ticks, and rows of variables that are no targets are passed
 * over, as keep lists them. m and panel are borrowed until return. Caller owns *out. LLAP_EFORMAT,
 * LLAP_EINVAL (names that model and data do not have), LLAP_ENOTFOUND. */
llap_status ll_given_read(const char *path, const llap_model *m, const llap_panel *panel,
                          int64_t span, ll_given **out);
void        ll_given_destroy(ll_given *g); /* NULL is fine */

/* The rows of one forecast; equal: none. */
typedef struct ll_given_range {
    int64_t first, end;
} ll_given_range;
ll_given_range ll_given_find(const ll_given *g, int64_t entity, int64_t target, int64_t origin);

#endif
