/* Tables of results, and how they are written. */
#ifndef LL_PREDICT_TABLES_ANSWER_H
#define LL_PREDICT_TABLES_ANSWER_H

#include "base/arena.h"
#include "data/panel.h"
#include "model/model.h"
#include "predict/tables/numbers.h"
#include "ranks/ranks.h"

#include <assert.h>
#include <llapdiff/answer.h>
#include <stdio.h>

enum { LL_ANSWER_ROWS_MAX = INT32_MAX }; /* of one answer */

typedef enum ll_answer_kind { /* of what the rows are, and of what they hold */
                              LL_ANSWER_FORECAST = 0,
                              LL_ANSWER_IMPUTATION = 1,
                              LL_ANSWER_SAMPLES =
                                  2, /* added to either: draws instead of mean and quantiles */
} ll_answer_kind;

typedef struct ll_answer_row { /* one row, by value */
    int64_t time, origin;      /* origin of a forecast; written where has_origin */
    int32_t entity, target, sample;
    int32_t scenario;
    bool    observed;
} ll_answer_row;

typedef struct ll_answer_rows { /* the columns, each [n_rows] */
    int64_t *time, *origin;
    int32_t *entity, *target, *sample, *scenario;
    uint8_t *observed;
} ll_answer_rows;

struct llap_answer {
    ll_answer_kind     kind;
    ll_axis            axis; /* strings in the arena, as the names */
    const char *const *entity, *const *target;
    bool               has_origin;
    int                n_numbers; /* of a row: mean and quantiles, or one sampled value */
    double             quantile[LL_QUANTILES];
    int                n_quantiles;
    int64_t            n_entities, n_targets; /* names */
    int64_t            n_scenarios;           /* names; 0: there are none */
    const char *const *scenario;
    size_t             n_rows;
    ll_answer_rows     rows;   /* in the order that <llapdiff/answer.h> says */
    double            *number; /* [n_rows,n_numbers] */
    int64_t           *first;  /* [n_forecasts + 1], made by ll_answer_finish, as the next */
    /* Range of the training values, by entity and target; NaN: not known. NULL: of none. The
     * arena's */
    double  *low, *high; /* [n_entities,n_targets] */
    ll_arena arena;

    llap_answer_columns view;
};

static inline void ll_answer_put(llap_answer *a, size_t i, ll_answer_row r)
{
    assert(i < a->n_rows);
    a->rows.time[i] = r.time;
    a->rows.origin[i] = r.origin;
    a->rows.entity[i] = r.entity;
    a->rows.target[i] = r.target;
    a->rows.sample[i] = r.sample;
    a->rows.scenario[i] = r.scenario;
    a->rows.observed[i] = r.observed;
}

static inline ll_answer_row ll_answer_row_at(const llap_answer *a, size_t i)
{
    const ll_answer_rows *c = &a->rows;
    assert(i < a->n_rows);
    return (ll_answer_row){ .time = c->time[i],
                            .origin = c->origin[i],
                            .entity = c->entity[i],
                            .target = c->target[i],
                            .sample = c->sample[i],
                            .scenario = c->scenario[i],
                            .observed = c->observed[i] != 0 };
}

/* The range of row i's training values; false: not known. */
static inline bool ll_answer_range(const llap_answer *a, size_t i, double *low, double *high)
{
    if (a->low == NULL) return false;
    const int64_t at = a->rows.entity[i] * a->n_targets + a->rows.target[i];
    *low = a->low[at];
    *high = a->high[at];
    return *low <= *high;
}

/* Negative, 0, positive: x comes before, with or after y in an answer. */
int ll_row_compare(const ll_answer_row *x, const ll_answer_row *y);

/* *out [n] and the names are the arena's. */
llap_status ll_copy_names(ll_arena *a, const char *const *name, int64_t n, const char *const **out);

/* A field of CSV: quoted where it must be. */
void ll_csv_put_field(FILE *f, const char *s);

/* Room for n_rows; names and axis are copied. Caller owns *out (llap_answer_destroy). */
llap_status ll_answer_create(ll_answer_kind kind, const llap_model *m, const llap_panel *p,
                             size_t n_rows, const double *quantile, int n_quantiles,
                             llap_answer **out);

/* Room for n_rows and nothing else: names and axis are added by ll_answer_name. */
llap_status ll_answer_create_bare(ll_answer_kind kind, size_t n_rows, const double *quantile,
                                  int n_quantiles, llap_answer **out);

/* Room for more rows than there are; n_rows is the caller's to raise. */
llap_status ll_answer_grow(llap_answer *a, size_t room);

/* Copies the names of p's entities and of targets, and the axis of p. */
llap_status ll_answer_name(llap_answer *a, const llap_panel *p, const char *const *target,
                           int64_t n_targets);

/* Copies names, axis and the ranges of training of another answer. */
llap_status ll_answer_name_as(llap_answer *a, const llap_answer *other);

/* One more name of an entity, behind those of the panel. */
llap_status ll_answer_add_entity(llap_answer *a, const char *name);

/* The rows of answers [n] to one question each, as those of scenarios of these names: *out takes
 * names, ranges and axis of the first. Caller owns it, finished. */
llap_status ll_answer_join(const llap_answer *const *answer, int64_t n, const char *const *scenario,
                           llap_answer **out);

/* The rows that each rank has made, mine [n_rows] 1, go to all. r may be NULL: nothing to do.
 * LLAP_EIO, LLAP_ENOMEM. */
llap_status ll_answer_spread(const ll_ranks *r, llap_answer *a, const uint8_t *mine);

/* Once all rows are there, in order (asserted): what callers outside see of them. */
llap_status ll_answer_finish(llap_answer *a);

/* Mean and quantiles of draws x [n], which is sorted, into number [1 + n_quantiles]: between the
 * values at positions p (n + 1). law: they are the law itself, its values at levels (i + 1/2)/n. */
void ll_sample_numbers(double *x, int64_t n, bool law, const llap_answer *a, double *number);

#endif
