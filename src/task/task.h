/* The use cases: train, forecast, impute, evaluate. The functions themselves are declared in
 * <llapdiff/model.h>; here is what they share. */
#ifndef LLAP_TASK_TASK_H
#define LLAP_TASK_TASK_H

#include "data/gaps.h"
#include "data/split.h"
#include "model/model.h"

#include <stdio.h>

/* One variable of a panel as the series of all its entities, in the model's unit of time. */
typedef struct task_series {
    llap_series *series; /* [n] */
    size_t       n;
    double      *numbers; /* behind them */
} task_series;

llap_status task_series_init(task_series *s, const llap_panel *p, int64_t var, int64_t unit);
void        task_series_deinit(task_series *s); /* { 0 } is fine */

/* The series of a panel in the order of the model's entities, [frame.n_entities], empty where the
 * panel has none of that name; only if the target's anchor looks at others, else *out is NULL.
 * Borrowed from s; caller owns *out (llap_free). */
llap_status task_linked(const llap_model *m, int64_t target, const llap_panel *p,
                        const task_series *s, llap_series **out);

/* "14d", or a plain number of steps. LLAP_EOPTION names what, and LLAP_EINVAL durations where the
 * axis of the data has no unit of time. step may be *ticks itself. */
llap_status task_span(const char *what, const char *text, const llap_axis *axis, int64_t step,
                      int64_t *ticks);

/* A time as the data writes its own, or as RFC 3339. */
llap_status task_read_time(const llap_axis *axis, const char *text, size_t n, int64_t *out);

/* The same of a panel. LLAP_EOPTION names what. */
llap_status task_parse_time(const llap_panel *p, const char *what, const char *text, int64_t *at);

/* A file of times: a column time, or one a line; a column entity where they differ. Caller owns
 * what is in *out (llap_free(out->at)), also after a failure. */
typedef struct task_time {
    int64_t time, entity; /* entity of the panel; -1: all */
} task_time;
typedef struct task_times {
    task_time *at; /* [n] */
    size_t     n;
} task_times;
llap_status task_times_read(const llap_panel *p, const char *path, task_times *out);

/* The panel with rows at these times too, of missing cells; and which of its rows are among them,
 * asked [n_rows]. Caller owns both (llap_panel_destroy, llap_free). */
llap_status task_times_rows(const llap_panel *p, const task_times *t, llap_panel **out,
                            uint8_t **asked);

/* The entity of that name, of n bytes. LLAP_EINVAL: there is none. */
llap_status task_find_entity(const llap_panel *p, const char *name, size_t n, int64_t *out);

/* A span as people say it: "1d12h"; a number where times are numbers; "none" for an infinite one.
 */
typedef struct task_shown {
    char text[40];
} task_shown;

task_shown task_ticks_show(const llap_model *m, double ticks);
task_shown task_units_show(const llap_model *m, double units); /* of the model's time */

/* Refuses a panel whose time axis is not of the kind that the model was trained on. */
llap_status task_check_axis(const llap_model *m, const llap_panel *p);

/* The variable of the panel for each target, [n_targets]. LLAP_EINVAL names the columns that are
 * missing and those that are there. */
llap_status task_columns(const llap_model *m, const llap_panel *p, int64_t *var);

/* The windows of a panel as the model's frame says, about these variables. By time, windows whose
 * horizon goes beyond the record are left out, so that all leads weigh the same. By entity,
 * contexts may begin before the record where most entities would have no window otherwise. Caller
 * owns *out.
 */
llap_status task_windows(const llap_model_frame *f, const llap_panel *p, const int64_t *target,
                         int64_t n_targets, llap_windows **out);

/* Which part of the model's training every window belongs to. Entities that training did not see
 * test, by entity; by time they are parted as all others. Caller owns *out (llap_split_destroy). */
llap_status task_split(const llap_model_frame *f, const llap_windows *w, llap_split **out);

/* Adds "; windows that end at T, T and 3 more" to a message. */
void task_name_windows(const llap_model_frame *f, const int64_t *end, int64_t n, char *text,
                       size_t size);

/* "0.1,0.5,0.9", increasing, within (0, 1); NULL: the usual seven. */
enum { TASK_QUANTILES = 99 };
llap_status task_quantiles(const char *text, double out[TASK_QUANTILES], int *n);

double
task_normal_score(double p); /* the x below which a standard normal lies with probability p */

/* ---- questions ---- */

enum { TASK_ROWS_MAX = INT32_MAX }; /* of one answer */

/* The forecasts that are asked for: number i is of one entity, from one origin, about times of its
 * own. */
typedef struct task_queries {
    size_t   n;
    int64_t *entity;  /* [n] of the panel */
    int64_t *origin;  /* [n] ticks; later rows are not looked at */
    size_t  *first;   /* [n + 1] its times are number first[i] .. first[i + 1] - 1 */
    int64_t *time;    /* [first[n]] ticks, increasing within a forecast */
    double  *t;       /* the same in the model's unit */
    bool     several; /* forecasts of an entity: the answer then names their origins */
} task_queries;

/* As at, every, times, horizon and step say. Caller owns what is in *q (task_queries_deinit), also
 * after a failure. */
llap_status task_queries_init(task_queries *q, const llap_model *m, const llap_panel *p,
                              const llap_forecast_opts *o);
void        task_queries_deinit(task_queries *q); /* { 0 } is fine */

/* Warns where the data differs from that of training: entities that it did not see, scale, interval
 * between rows, share of observed cells; and of forecasts (q may be NULL) without any observation
 * in their context. var [n_targets] as by task_columns. */
llap_status task_compare(const llap_model *m, const llap_panel *p, const int64_t *var,
                         const task_queries *q, const llap_log *log);

/* The usual gap of the rows, as training and comparing see it. */
int64_t task_usual_gap(const llap_gaps *g);

/* ---- answers ---- */

typedef enum task_kind { /* of what the rows are, and of what they hold */
                         TASK_FORECAST = 0,
                         TASK_IMPUTATION = 1,
                         TASK_SAMPLES =
                             2, /* added to either: draws instead of mean and quantiles */
} task_kind;

typedef struct task_row {
    int64_t time, origin; /* origin of a forecast; written where has_origin */
    int32_t entity, target, sample;
    bool    observed;
} task_row;

struct llap_answer {
    task_kind          kind;
    llap_axis          axis; /* strings in the arena, as the names */
    const char *const *entity, *const *target;
    bool       has_origin;
    int        n_numbers; /* of a row: mean and quantiles, or one sampled value */
    double     quantile[TASK_QUANTILES];
    int        n_quantiles;
    size_t     n_rows;
    task_row  *row;    /* [n_rows] */
    double    *number; /* [n_rows,n_numbers] */
    llap_arena arena;
};

/* A field of CSV: quoted where it must be. */
void task_put_field(FILE *f, const char *s);

/* Room for n_rows; names and axis are copied. Caller owns *out (llap_answer_destroy). */
llap_status task_answer_create(task_kind kind, const llap_model *m, const llap_panel *p,
                               size_t n_rows, const double *quantile, int n_quantiles,
                               llap_answer **out);

/* Room for n_rows and nothing else: names and axis are the caller's to put into the arena. */
llap_status task_answer_create_bare(task_kind kind, size_t n_rows, const double *quantile,
                                    int n_quantiles, llap_answer **out);

/* Normal scores that answers are made of, computed once: of the quantiles, and of the points whose
 * average is the mean. */
enum { TASK_POINTS = 49 };
typedef struct task_scores {
    double quantile[TASK_QUANTILES], point[TASK_POINTS];
    int    n_quantiles;
} task_scores;

void task_scores_init(task_scores *s, const double *quantile, int n_quantiles);

/* Mean and quantiles of a law in data units, into number [1 + n_quantiles]. */
void task_law_numbers(const llap_anchor_model *a, size_t series, const llap_law *law,
                      const task_scores *s, double *number);

/* Mean and quantiles of draws x [n], which is sorted, into number [1 + n_quantiles]: between the
 * values at positions p (n + 1). */
void task_sample_numbers(double *x, int64_t n, const llap_answer *a, double *number);

#endif
