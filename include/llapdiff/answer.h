/* Answers: the table that llap_forecast and llap_impute give, as columns that are borrowed, not
 * copied.
 *
 *     const llap_answer_columns *c = llap_answer_view(answer);
 *     for (int64_t i = 0; i < c->n_rows; i++)
 *         printf("%s %s: %g\n", c->entities[c->entity[i]], c->variables[c->variable[i]],
 *                c->number[i * c->n_numbers]);
 *
 * Order of the rows, in every answer and in its CSV and JSON: by entity, then by origin (when the
 * forecast was made), then by sample, then by time, then by variable. All five increase; entities
 * and variables by their number in the lists of names. So the rows of one forecast lie together,
 * and samples are one array [forecasts,samples,times,variables] as they lie, wherever all forecasts
 * are about equally many times (dense, below). Answers to several scenarios come one behind the
 * other. */
#ifndef LLAPDIFF_ANSWER_H
#define LLAPDIFF_ANSWER_H

#include <llapdiff/panel.h>
#include <llapdiff/status.h>
#include <llapdiff/text.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_answer llap_answer;

LLAP_API void llap_answer_destroy(llap_answer *a); /* NULL is fine */

/* Everything is borrowed until the answer is destroyed, the struct itself too. It may grow at its
 * end, so programs use the pointer and make no copy by size. */
typedef struct llap_answer_columns {
    int64_t            n_rows, n_numbers;         /* n_numbers: of a row */
    int64_t            n_entities, n_variables;   /* that the two lists name */
    const char *const *entities;                  /* those of the panel, in its order */
    const char *const *variables;                 /* the targets of the model */
    int64_t            n_quantiles;               /* 0 of samples */
    const double      *quantiles;                 /* [n_quantiles] increasing, 0.1 .. */
    int                is_imputation, is_samples; /* 0 or 1 */
    int                is_backtest;               /* several forecasts of an entity */
    /* the columns, each [n_rows] */
    const int32_t *entity, *variable; /* places in the lists of names */
    const int64_t *time;              /* as in the panel */
    const int64_t *origin;            /* when the forecast was made; 0 of imputations */
    const int32_t *sample;            /* number of the path; 0 where there is none */
    const uint8_t *observed;          /* of imputations: 1 measured, 0 filled */
    const double  *number;            /* [n_rows,n_numbers] the mean, then the quantiles; of samples
                                       * the value */
    /* the forecasts: rows of one entity and origin; of imputations, those of one entity */
    int64_t        n_forecasts;
    const int64_t *first;     /* [n_forecasts + 1] rows of number f: first[f] .. first[f + 1] - 1 */
    int64_t        n_samples; /* of each; 1 without samples */
    int64_t        n_times;   /* of the forecast that has most */
    int dense; /* 1: number is [n_forecasts,n_samples,n_times,n_variables,n_numbers] as it lies;
                * else llap_answer_array makes such an array */
    llap_time_axis     axis;
    int64_t            n_scenarios; /* 0: none were asked about */
    const char *const *scenarios;   /* their names */
    const int32_t     *scenario;    /* [n_rows] places in that list */
} llap_answer_columns;

LLAP_API const llap_answer_columns *llap_answer_view(const llap_answer *a);

/* Copies the numbers as [n_forecasts,n_samples,n_times,n_variables,n_numbers], NaN where an answer
 * has none, and, unless time is NULL, the times [n_forecasts,n_times], INT64_MIN where there are
 * fewer. Copies only if room, in numbers, is enough; returns how many it takes: ask with room 0,
 * allocate, ask again. */
LLAP_API size_t llap_answer_array(const llap_answer *a, double *out, int64_t *time, size_t room);

/* CSV: entity,time,variable,mean,q0.025,... (imputation adds observed before them; samples have
 * sample,value; backtests name the origin before the time; scenarios come first; outside, 0 or 1,
 * comes last where a mean or a draw lies outside the range of training; empty: not known), times as
 * in the panel. "-" is standard output. Replaces the file as a whole. */
LLAP_API llap_status llap_answer_write(const llap_answer *a, const char *path);
/* The bytes of that file. Caller owns *text (llap_text_free). */
LLAP_API llap_status llap_answer_csv(const llap_answer *a, char **text, size_t *n);
/* Whether an answer could be written there, before long work; leaves nothing behind. */
LLAP_API llap_status llap_answer_can_write(const char *path);
/* The same as JSON; "outside" says whether the mean, or the draw, lies outside the range of the
 * training values, where the model knows that range. Caller owns *text (llap_text_free). */
LLAP_API llap_status llap_answer_json(const llap_answer *a, char **text);
/* A picture (PNG, SVG or PDF, by the end of its name) of the answer beside what was measured: fans
 * with the bands of the quantiles that were asked for, or paths, or filled gaps. Panel is the one
 * that was asked about. */
LLAP_API llap_status llap_answer_plot(const llap_answer *a, const llap_panel *panel,
                                      const char *path);
/* The same of some entities: a list as that of llap_forecast_opts, NULL: all. PNG and SVG have the
 * first twelve series, a PDF has pages with all; where path is a folder, or ends in /, an SVG for
 * each entity appears in it, named after the entity. */
LLAP_API llap_status llap_answer_plot_only(const llap_answer *a, const llap_panel *panel,
                                           const char *only, const char *path);
/* Whether a picture of an answer could be written there; leaves nothing behind. */
LLAP_API llap_status llap_answer_can_plot(const char *path);

/* Reads such a CSV of quantiles back, its rows in any order; panel is the one that it is about.
 * Caller owns *out. LLAP_EFORMAT: not such a file. LLAP_EINVAL: about other entities. */
LLAP_API llap_status llap_answer_read(const char *path, const llap_panel *panel, llap_answer **out);

#ifdef __cplusplus
}
#endif

#endif
