/* The picture of poles: half-life to the right, period upwards, both logarithmic; each pole a cross
 * whose size is its share of the energy. Poles that do not turn stand in a lane of their own below.
 * Conjugates are not drawn.
 *
 *     st = llap_plot_poles(set, n_sets, &axis, unit, "poles.svg");
 */
#ifndef LLAP_PLOT_POLES_PLOT_H
#define LLAP_PLOT_POLES_PLOT_H

#include "data/panel.h"

typedef struct llap_pole_marks {
    const char   *name;
    int64_t       n;
    const double *half_life, *period; /* [n], ticks; infinite where there is none */
    const double *energy;             /* [n]; all 0: all the same size */
} llap_pole_marks;

/* The axis says how times are written. Errors as llap_canvas_create. */
llap_status llap_plot_poles(const llap_pole_marks *set, int n_sets, const llap_axis *axis,
                            const char *path);

#endif
