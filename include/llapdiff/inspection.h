/* What a panel is like as numbers: what llap_panel_inspect writes as text.
 *
 *     llap_inspection *i = NULL;
 *     llap_status      st = llap_inspection_create(panel, &i);
 *     printf("%.0f %% observed\n", 100 * llap_inspection_about(i)->coverage);
 *     llap_inspection_destroy(i);
 *
 * Shares are between 0 and 1; times and durations are ticks of the panel. Immutable; all pointers
 * are borrowed until it is destroyed. The structs may grow at their ends, so programs use the
 * pointers and make no copies by size. */
#ifndef LLAPDIFF_INSPECTION_H
#define LLAPDIFF_INSPECTION_H

#include <llapdiff/panel.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_inspection llap_inspection;

/* Borrows p until destroyed. Caller owns *out. */
LLAP_API llap_status llap_inspection_create(const llap_panel *p, llap_inspection **out);
LLAP_API void        llap_inspection_destroy(llap_inspection *i); /* NULL is fine */

typedef struct llap_inspection_info {
    int64_t n_entities, n_variables, n_rows;
    int64_t first, last;                           /* times; 0 without rows */
    int64_t rows_least, rows_median, rows_most;    /* of an entity */
    int64_t observed, filled;                      /* cells */
    double  coverage;                              /* observed share of all cells */
    int64_t empty_rows;                            /* without any value */
    int64_t timestamps;                            /* different times of all entities */
    double  joint_least, joint_mean, joint_median; /* observed share of entities x variables at a
                                                    * timestamp */
    /* gaps between the rows of an entity; all 0 without two rows of one */
    int64_t n_gaps, gap_least, gap_median, gap_p95, gap_most;
    int64_t gap_usual;                           /* the most frequent one */
    double  gap_usual_share, gap_multiple_share; /* gaps that are it; that are multiples of it */
    /* suggestions for reading and training */
    int64_t grid;        /* 0: none */
    double  grid_share;  /* rows that lie on it */
    int64_t grid_points; /* from first to last */
    int64_t context, horizon;
    /* what reading the files counted; all 0 of panels that were not read from CSV */
    int64_t n_files, n_lines, empty_lines, duplicate_cells, unordered_rows, coded_missing;
    int64_t infinite_cells, text_cells, bad_cells;
} llap_inspection_info;

LLAP_API const llap_inspection_info *llap_inspection_about(const llap_inspection *i);

typedef struct llap_inspection_variable {
    const char *name;
    int64_t     observed;               /* cells */
    double      coverage;               /* of all rows */
    int64_t     entities;               /* with at least one value */
    int64_t     constant_entities;      /* of those, with several values that are all the same */
    int         constant;               /* 1: one value everywhere */
    int64_t     outliers;               /* far from the quartiles */
    double      least, most, mean, std; /* of observed cells; NaN without any */
    double      quartile[3];            /* 25 %, 50 %, 75 % */
    const char *kind; /* of values: "any", "count", "whole", "share", "positive", as found */
    int percentage;   /* 1: within [0, 100], to 100 or near both ends: training has to be told, by
                       * min 0 and max 100 */
} llap_inspection_variable;

/* NULL: there is no such variable. */
LLAP_API const llap_inspection_variable *llap_inspection_at(const llap_inspection *i,
                                                            int64_t                variable);

/* For people, and JSON. Caller owns *text (llap_text_free). */
LLAP_API llap_status llap_inspection_text(const llap_inspection *i, char **text);
LLAP_API llap_status llap_inspection_json(const llap_inspection *i, char **text);

#ifdef __cplusplus
}
#endif

#endif
