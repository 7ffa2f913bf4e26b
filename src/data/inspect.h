/* What a panel is like, before anything is trained on it: the numbers behind `llapdiff inspect`.
 *
 *     llap_inspect *i;
 *     st = llap_inspect_create(panel, &i);
 *     i->gaps.usual, i->var[v].coverage, i->suggested.context ...
 *     st = llap_inspect_json(i, panel, &report, 2, &text, &n);
 *     llap_inspect_destroy(i);
 *
 * Shares are between 0 and 1. Times and durations are ticks of the panel's axis. */
#ifndef LLAP_DATA_INSPECT_H
#define LLAP_DATA_INSPECT_H

#include "data/csv.h"
#include "data/gaps.h"

/* Values farther than this many interquartile ranges from the nearer quartile are outliers. */
#define LLAP_INSPECT_FAR 5.0

typedef struct llap_inspect_var {
    int64_t observed;          /* cells */
    double  coverage;          /* of all rows */
    int64_t entities;          /* with at least one value */
    int64_t constant_entities; /* of those, with several values that are all the same */
    bool    constant;          /* one value everywhere (and more than one cell) */
    int64_t outliers;
    double  least, most, mean, std; /* of observed cells; std of the population. NaN without any */
    double  quartile[3];            /* 25 %, 50 %, 75 %; of an even sample above 2^20 cells */
} llap_inspect_var;

typedef struct llap_inspect {
    int64_t   entities, vars, rows;
    int64_t   observed, filled;                   /* cells */
    double    coverage;                           /* observed share of all cells */
    int64_t   first, last;                        /* times; 0 without rows */
    int64_t   rows_least, rows_median, rows_most; /* per entity */
    llap_gaps gaps;                               /* between rows of an entity */
    int64_t   empty_rows;                         /* without any value */

    int64_t timestamps;                            /* different times of all entities */
    double  joint_least, joint_mean, joint_median; /* observed share of entities x variables per
                                                      timestamp */
    struct {
        int64_t grid;             /* 0: none */
        double  regular;          /* share of rows that lie on it */
        int64_t points;           /* of the grid from first to last time; saturates */
        int64_t context, horizon; /* durations, whole steps */
    } suggested;
    llap_inspect_var *var; /* [vars] */
} llap_inspect;

/* Caller owns *out. Borrows p until return. */
llap_status llap_inspect_create(const llap_panel *p, llap_inspect **out);
void        llap_inspect_destroy(llap_inspect *i); /* NULL is fine */

/* The same as JSON: times as text, durations in seconds (or units of the axis, where it has none).
 * report adds what reading counted; NULL: nothing. Caller owns *text (llap_free). */
llap_status llap_inspect_json(const llap_inspect *i, const llap_panel *p,
                              const llap_csv_report *report, int indent, char **text, size_t *n);

#endif
