/* What forecasts are made of: level, seasons, holidays, each known input, and the rest, over the
 * context and the horizon.
 *
 *     llap_components *c = NULL;
 *     llap_status st = llap_forecast_components(model, panel, &ask, &c);
 *     if (st == LLAP_OK) st = llap_components_write(c, "parts.csv");
 *     if (st == LLAP_OK) st = llap_components_plot(c, "parts.svg");
 *     llap_components_destroy(c);
 *
 * Components add up on the scale that the model's curve leads to: data units where it is straight,
 * and of counts; logarithms (components are those of factors) where it is a logarithm; else the
 * bent scale itself, which `scale` names. Up to the origin they are what was known at each time;
 * after it, their sum is the middle of the forecast. */
#ifndef LLAPDIFF_COMPONENTS_H
#define LLAPDIFF_COMPONENTS_H

#include <llapdiff/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llap_components llap_components;

/* Of the forecasts that at, every, times, horizon and step ask for; the other options are not
 * looked at. Borrows nothing after it returns. Caller owns *out. LLAP_EUNSUPPORTED: networks
 * answer, or a pool of models: they have no components. */
LLAP_API llap_status llap_forecast_components(const llap_model *m, const llap_panel *panel,
                                              const llap_forecast_opts *o, llap_components **out);
LLAP_API void        llap_components_destroy(llap_components *c); /* NULL is fine */

/* Everything is borrowed until the components are destroyed, the struct itself too. It may grow at
 * its end. Rows are in the order of entity, origin, variable, time. */
typedef struct llap_component_columns {
    int64_t            n_rows, n_components;
    int64_t            n_entities, n_variables;
    const char *const *entities, *const *variables;
    const char *const *components; /* [n_components] level, daily, weekly, .., rest */
    const char *const *scales;     /* [n_variables] data, log, log1p, asinh, logit or yeo-johnson */
    /* the columns, each [n_rows] */
    const int32_t *entity, *variable; /* places in the lists of names */
    const int64_t *origin, *time;     /* as in the panel; time <= origin: of the context */
    const double  *measured;          /* on the scale; NaN: nothing was */
    const double  *sum;               /* of the components */
    const double  *value; /* [n_rows,n_components]; NaN where the variable has no such component */
    llap_time_axis axis;
} llap_component_columns;

LLAP_API const llap_component_columns *llap_components_view(const llap_components *c);

/* CSV: entity,origin,time,variable,scale,measured,sum, then the components; an empty field where
 * there is none. "-" is standard output. Replaces the file as a whole. */
LLAP_API llap_status llap_components_write(const llap_components *c, const char *path);
/* A picture, PNG, SVG or PDF by the end of its name: for each series what was measured and the sum,
 * and below them the components. Those on the scale log are drawn as factors. PNG and SVG have the
 * first three series, a PDF has pages with all; where path is a folder, or ends in /, an SVG for
 * each entity appears in it, named after the entity. */
LLAP_API llap_status llap_components_plot(const llap_components *c, const char *path);

#ifdef __cplusplus
}
#endif

#endif
