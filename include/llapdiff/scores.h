/* The scores of an evaluation as numbers: what llap_evaluate writes as text.
 *
 *     llap_scores *s = NULL;
 *     llap_status  st = llap_scores_create(model, panel, &how, &s);
 *     const llap_scores_info *about = llap_scores_about(s);
 *     for (int64_t i = 0; i < about->n_forecasters; i++)
 *         printf("%s %.4f\n", about->forecasters[i], llap_scores_at(s, i, LLAP_ALL)->crps);
 *     llap_scores_destroy(s);
 *
 * Scores are in standard deviations of the training data, unless a function says otherwise; what
 * was not measured is NaN. Scores are immutable: any number of threads may read them. All pointers
 * are borrowed until they are destroyed; the structs may grow at their ends, so programs use the
 * pointers and make no copies by size. A number of a forecaster or variable that does not exist
 * gives NULL. */
#ifndef LLAPDIFF_SCORES_H
#define LLAPDIFF_SCORES_H

#include <llapdiff/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_scores llap_scores;

/* Evaluates as o says (as_json is not looked at). Borrows nothing after it returns. Caller owns
 * *out. */
LLAP_API llap_status llap_scores_create(const llap_model *m, const llap_panel *panel,
                                        const llap_evaluate_opts *o, llap_scores **out);
LLAP_API void        llap_scores_destroy(llap_scores *s); /* NULL is fine */

typedef struct llap_scores_info {
    const char        *task, *part;      /* "forecast", "impute"; "train", "val", "test" */
    int64_t            n_windows;        /* that were scored */
    int64_t            n_samples, seed;  /* n_samples: 0 of imputations, as stride */
    int64_t            stride, step;     /* ticks from window to window, and from step to step */
    int64_t            n_forecasters;    /* the first is the model */
    int64_t            n_own;            /* the first so many are the model and its parts */
    const char *const *forecasters;      /* [n_forecasters] names */
    int64_t            n_variables;      /* the targets of the model */
    const char *const *variables;        /* [n_variables] names */
    int64_t            n_steps;          /* rows of llap_scores_by_step */
    int64_t            n_entities;       /* rows of llap_scores_by_entity; 0: not asked for */
    const char *const *entities;         /* [n_entities] names */
    const char        *unit;             /* that a bootstrap draws: "day", "entity", "horizon" */
    int64_t            n_units, run;     /* how many there are; drawn together in runs of */
    int64_t            n_draws;          /* 0: differences have no intervals */
    int64_t            n_uncovered;      /* windows left out: the file of against lacks them */
    const char        *total;            /* what was added up: "horizon", "entities", "both"; or
                                          * NULL: single values were scored */
    int64_t     n_sums, n_sums_left_out; /* of all variables; without some of their values */
    int64_t     n_origins_left_out;      /* from which not all entities are forecast */
    const char *gaps; /* of imputations what was hidden: "random", "outages", "rows", "dead",
                       * "listed"; else NULL */
} llap_scores_info;

LLAP_API const llap_scores_info *llap_scores_about(const llap_scores *s);

#define LLAP_ALL (-1) /* all variables together */

enum { LLAP_SCORE_LEVELS = 3, LLAP_SCORE_PINBALLS = 9, LLAP_SCORE_BINS = 20 };

typedef struct llap_score_row {
    int64_t n;                      /* values */
    double  crps, mse, mae;         /* mse and mae of the mean */
    double  mae_median, bias;       /* bias: truth - mean */
    double  spread;                 /* root of the mean variance of the samples */
    double  weighted_quantile_loss; /* twice the pinball loss, by the size of what came true */
    double  pinball[LLAP_SCORE_PINBALLS];  /* of the quantiles 0.1, 0.2, .. 0.9 */
    double  level[LLAP_SCORE_LEVELS];      /* of central intervals: 0.5, 0.8, 0.95 */
    double  coverage[LLAP_SCORE_LEVELS];   /* share of the values within */
    double  width[LLAP_SCORE_LEVELS];      /* mean width */
    int64_t n_interval[LLAP_SCORE_LEVELS]; /* values whose samples reach that far */
    /* in standard deviations only: */
    double  energy;                           /* of whole windows */
    int64_t n_energy;                         /* windows */
    double  pit[LLAP_SCORE_BINS];             /* shares of equal bins of [0, 1] */
    double  paper_crps, paper_mae, paper_mse; /* as in the paper's tables: 25 samples, 200 pairs */
    int64_t n_unanswered; /* values that are not among n: the forecaster had no answer */
} llap_score_row;

/* The score of a forecaster on a variable, or on LLAP_ALL. */
LLAP_API const llap_score_row *llap_scores_at(const llap_scores *s, int64_t forecaster,
                                              int64_t variable);
/* The same in the units of the data; LLAP_ALL has none. */
LLAP_API const llap_score_row *llap_scores_in_units(const llap_scores *s, int64_t forecaster,
                                                    int64_t variable);

/* A finer table, each column [n_rows]. */
typedef struct llap_score_columns {
    int64_t        n_rows;
    const int64_t *n; /* values */
    const double  *crps, *mse, *mae, *coverage80, *width80;
} llap_score_columns;

/* By time ahead, row i up to (i + 1) * step; and by entity, NULL unless the options say by
 * "entity". */
LLAP_API const llap_score_columns *llap_scores_by_step(const llap_scores *s, int64_t forecaster,
                                                       int64_t variable);
LLAP_API const llap_score_columns *llap_scores_by_entity(const llap_scores *s, int64_t forecaster,
                                                         int64_t variable);

/* A difference with the 95 % interval of a paired bootstrap; se, low and high are NaN without
 * draws. */
typedef struct llap_score_range {
    double value, se, low, high;
} llap_score_range;

typedef struct llap_score_difference {
    llap_score_range crps, mse; /* of the model less that of the forecaster: negative is better */
    llap_score_range skill;     /* 1 - CRPS of the model / CRPS of the forecaster */
    int64_t n_left_out; /* units (llap_scores_info) left out: one of the two did not answer all */
} llap_score_difference;

/* The model against a forecaster; NULL for the model itself. variable may be LLAP_ALL, here and
 * below. */
LLAP_API const llap_score_difference *llap_scores_against(const llap_scores *s, int64_t forecaster,
                                                          int64_t variable);

/* The same in the units of the data; LLAP_ALL has none. */
LLAP_API const llap_score_difference *
llap_scores_against_in_units(const llap_scores *s, int64_t forecaster, int64_t variable);

/* Whether a histogram of places (PIT) is flat: p is the probability that a flat one is as uneven.
 * NaN of fewer than 25 values. */
typedef struct llap_score_test {
    int64_t n, n_bins; /* values, each from a horizon of its own; bins that they were counted in */
    double  chi_square, p;
} llap_score_test;

/* Whether the model's values and paths are what they say. */
typedef struct llap_score_joint {
    llap_score_test margins;                   /* of single values */
    llap_score_test sums;                      /* of sums over entities at one time */
    int64_t         n_sums;                    /* all of them, also those that lean on each other */
    double          pit_sums[LLAP_SCORE_BINS]; /* their places, in shares */
    /* The energy score over entities (LLAP_ALL: and variables) at one time, over the root of their
     * number: with paths as they are, and with independent ones of the same margins. */
    int64_t n_energy; /* times */
    double  energy, energy_independent;
} llap_score_joint;

/* Of the model; NULL of imputations. LLAP_ALL has no tests and no sums. */
LLAP_API const llap_score_joint *llap_scores_joint(const llap_scores *s, int64_t variable);

/* Number of the opponent with the least CRPS; -1: there is none. */
LLAP_API int64_t llap_scores_best_opponent(const llap_scores *s, int64_t variable);
/* The same by the CRPS in the units of the data, which weighs entities by their spread. */
LLAP_API int64_t llap_scores_best_opponent_in_units(const llap_scores *s, int64_t variable);
/* Whether the model is better than that one, surely: 1 yes, 0 no, -1 too little data to tell. */
LLAP_API int llap_scores_earns_its_keep(const llap_scores *s, int64_t variable);

/* A table for people as the options say (by, units, paper), and everything as JSON. Caller owns
 * *text (llap_text_free). */
LLAP_API llap_status llap_scores_text(const llap_scores *s, char **text);
LLAP_API llap_status llap_scores_json(const llap_scores *s, char **text);

#ifdef __cplusplus
}
#endif

#endif
