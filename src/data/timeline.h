/* From the rows as they were measured to the rows a model sees: a grid, carried values, rows and
 * entities that are worth keeping. Every step is off unless asked for; nothing is interpolated.
 *
 *     ll_timeline_opts o = LL_TIMELINE_DEFAULT;
 *     o.grid = LL_GRID_STEP, o.step = hour, o.agg = LL_AGG_MEAN, o.fill = LL_FILL_GRID;
 *     st = ll_timeline_apply(panel, &o, &gridded, &counts);
 *
 * The steps, in this order:
 *   1. fill BOTH: values are carried forward along the rows of each entity;
 *   2. grid: rows at every multiple of the step (counted from origin) between the first and the
 *      last bin of the entity, also where nothing was measured. A bin takes the values
 *        nearest  within half a step (a value half way goes up),
 *        floor    from its grid point up to the next: causal,
 *        exact    at its grid point only; all others are dropped, and counted.
 *      Several values of one bin become their mean or the last one;
 *   3. fill: values are carried forward along the grid; their cells stay unobserved;
 *   4. entity_min: entities whose mean share of values per row is below it are dropped;
 *   5. row_min: rows with fewer than ceil(row_min * variables) values are dropped;
 *   6. min_rows, min_span, need: entities too short, or without an observed value of need;
 *   7. columns COMMON: variables without a value in some kept entity are dropped;
 *   8. half: values are rounded to IEEE half precision (nearest, ties to even);
 *   9. first: that variable becomes column 0. */
#ifndef LL_DATA_TIMELINE_H
#define LL_DATA_TIMELINE_H

#include "base/time/zone.h"
#include "data/panel.h"

typedef enum ll_grid { LL_GRID_NONE, LL_GRID_AUTO, LL_GRID_STEP } ll_grid;
typedef enum ll_bin { LL_BIN_NEAREST, LL_BIN_FLOOR, LL_BIN_EXACT } ll_bin;
typedef enum ll_agg { LL_AGG_MEAN, LL_AGG_LAST } ll_agg;
typedef enum ll_fill { LL_FILL_NONE, LL_FILL_GRID, LL_FILL_BOTH } ll_fill;
typedef enum ll_columns { LL_COLUMNS_ALL, LL_COLUMNS_COMMON } ll_columns;

typedef struct ll_timeline_opts {
    ll_grid grid;   /* AUTO: the step that ll_gaps_grid suggests */
    int64_t step;   /* ticks; > 0 with LL_GRID_STEP */
    int64_t origin; /* a tick that is a grid point */
    ll_bin  bin;
    ll_agg  agg;
    bool    common_span; /* the grid of each entity reaches from the first bin of all entities
                            to the last */
    ll_fill fill;
    double  entity_min;      /* 0: off */
    double  row_min;         /* 0: off; 1: only full rows */
    bool    row_min_filled;  /* carried values count too, else only observed ones */
    bool    row_min_present; /* of the variables of which the entity has a value, on
                          the grid or off it; else of all */
    int64_t     min_rows;
    int64_t     min_span; /* ticks from first to last row before the grid */
    const char *need;     /* NULL: off */
    ll_columns  columns;
    bool        half;
    const char *first; /* NULL: order unchanged */
} ll_timeline_opts;

#define LL_TIMELINE_DEFAULT ((ll_timeline_opts){ .grid = LL_GRID_NONE })

typedef struct ll_timeline_counts {
    int64_t step;           /* of the grid that was made; 0: none */
    int64_t off_grid_cells; /* observed, dropped by exact */
    int64_t merged_cells;   /* observed, gone into a mean or behind a later one */
    int64_t filled_cells;   /* of the result */
    int64_t dropped_rows, dropped_entities, dropped_vars;
    int64_t half_overflows; /* too large for half precision; now missing */
} ll_timeline_counts;

/* Caller owns *out; p is borrowed until return and unchanged. counts may be NULL. LLAP_EINVAL: an
 * option that cannot be, or an unknown variable. LLAP_ELIMIT: a grid of more than 2^31 rows for an
 * entity, or of more than 2^24 and 1024 times those it has. A result may have no entities: that is
 * for the caller to judge. */
llap_status ll_timeline_apply(const llap_panel *p, const ll_timeline_opts *o, llap_panel **out,
                              ll_timeline_counts *counts);

/* x rounded to half precision; infinite when it is too large for it. */
float ll_half_round(float x);

#endif
