/* The picture of poles: half-life to the right, period upwards, both logarithmic; each pole a cross
 * whose size is its share of the energy. Poles that do not turn stand in a strip of their own
 * below. Conjugates are not drawn.
 *
 *     st = ll_plot_poles(set, n_sets, &axis, unit, "poles.svg");
 */
#ifndef LL_PLOT_POLES_PLOT_H
#define LL_PLOT_POLES_PLOT_H

#include "data/panel.h"

typedef struct ll_pole_marks {
    const char   *name;
    int64_t       n;
    const double *half_life, *period; /* [n], ticks; infinite where there is none */
    const double *energy;             /* [n]; all 0: all the same size */
} ll_pole_marks;

/* The axis says how times are written. Errors as ll_canvas_create. */
llap_status ll_plot_poles(const ll_pole_marks *set, int n_sets, const ll_axis *axis,
                          const char *path);

#endif
