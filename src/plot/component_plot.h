/* What forecasts are made of: for each series a column of fields over one axis of time, what was
 * measured and the sum on top, then a field for each component.
 *
 *     ll_component_plot f = { .axis = axis, .series = series, .n = 2 };
 *     st = ll_plot_components(&f, "parts.svg");
 *
 * On the scale log everything is drawn as it is in data units: level and sum as values, the other
 * components as factors. */
#ifndef LL_PLOT_COMPONENT_PLOT_H
#define LL_PLOT_COMPONENT_PLOT_H

#include "data/panel.h"

#define LL_COMPONENT_SERIES 3 /* of a page, at most; a PDF has pages for all, others are one */

typedef struct ll_component_series { /* borrowed; times increasing */
    const char          *entity, *variable;
    const char          *scale;  /* as <llapdiff/components.h> has it */
    int64_t              origin; /* later times are forecast */
    int64_t              n;
    const int64_t       *time;
    const double        *measured, *sum; /* [n] on the scale; NaN: nothing was measured */
    int64_t              n_components;
    const char *const   *name;  /* [n_components], the first is the level */
    const double *const *value; /* [n_components] of [n] */
} ll_component_series;

typedef struct ll_component_plot {
    ll_axis                    axis;
    const ll_component_series *series; /* [n] */
    int64_t                    n, all; /* all: that there are, for the words */
} ll_component_plot;

/* Errors as ll_canvas_create. */
llap_status ll_plot_components(const ll_component_plot *f, const char *path);

#endif
