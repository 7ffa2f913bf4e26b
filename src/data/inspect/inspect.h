/* src/data/inspect: the numbers behind `llapdiff inspect`.
 *
 *   inspect.h       this file
 *   inspect_json.c  the same as JSON
 *
 * May touch: base, base/json, data, data/csv, data/windows. */

/* What a panel is like, before anything is trained on it: the numbers behind `llapdiff inspect`.
 *
 *     ll_inspect *i;
 *     st = ll_inspect_create(panel, &i);
 *     i->gaps.usual, i->var[v].coverage, i->suggested.context ...
 *     st = ll_inspect_json(i, panel, &report, 2, &text, &n);
 *     ll_inspect_destroy(i);
 *
 * Shares are between 0 and 1. Times and durations are ticks of the panel's axis. */
#ifndef LL_DATA_INSPECT_INSPECT_H
#define LL_DATA_INSPECT_INSPECT_H

#include "base/kind.h"
#include "data/csv/csv.h"
#include "data/gaps.h"

/* Values farther than this many interquartile ranges from the nearer quartile are outliers. */
#define LL_INSPECT_FAR 5.0

typedef struct ll_inspect_var {
    int64_t observed;          /* cells */
    double  coverage;          /* of all rows */
    int64_t entities;          /* with at least one value */
    int64_t constant_entities; /* of those, with several values that are all the same */
    bool    constant;          /* one value everywhere (and more than one cell) */
    int64_t outliers;
    double  least, most, mean, std; /* of observed cells; std of the population. NaN without any */
    double  quartile[3];            /* 25 %, 50 %, 75 %; of an even sample above 2^20 cells */
    ll_kind kind;                   /* as training would find it in all of them */
    bool    percentage;             /* values look like percentages (ll_kind_percentage) */
} ll_inspect_var;

typedef struct ll_inspect {
    int64_t entities, vars, rows;
    int64_t observed, filled;                   /* cells */
    double  coverage;                           /* observed share of all cells */
    int64_t first, last;                        /* times; 0 without rows */
    int64_t rows_least, rows_median, rows_most; /* per entity */
    ll_gaps gaps;                               /* between rows of an entity */
    int64_t empty_rows;                         /* without any value */

    int64_t timestamps;                            /* different times of all entities */
    double  joint_least, joint_mean, joint_median; /* observed share of entities x variables per
                                                      timestamp */
    struct {
        int64_t grid;             /* 0: none */
        double  regular;          /* share of rows that lie on it */
        int64_t points;           /* of the grid from first to last time; saturates */
        int64_t context, horizon; /* durations, whole steps, that training takes; 0: none */
        bool    even;             /* they need shares of 50,25,25 */
        bool    apart;            /* no two entities overlap in time: split by entity */
    } suggested;
    ll_inspect_var *var; /* [vars] */
} ll_inspect;

/* Caller owns *out. Borrows p until return. */
llap_status ll_inspect_create(const llap_panel *p, ll_inspect **out);
void        ll_inspect_destroy(ll_inspect *i); /* NULL is fine */

/* The same as JSON: times as text, durations in seconds (or units of the axis, where it has none).
 * report adds what reading counted; NULL: nothing. Caller owns *text (ll_free). */
llap_status ll_inspect_json(const ll_inspect *i, const llap_panel *p, const ll_csv_report *report,
                            int indent, char **text, size_t *n);

#endif
