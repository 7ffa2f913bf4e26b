/* Scenarios: the panel of a forecast with other values of the known inputs after its origin.
 *
 *     ll_scenarios s;
 *     st = ll_scenarios_init(&s, m, panel, o);
 *     if (st == LLAP_OK) st = ll_scenarios_panel(&s, k, &p);      of scenario k; caller owns p
 *     ll_scenarios_deinit(&s);                                    also after a failure
 *
 * Where a scenario has no value, that of the data stays. Times up to the origin are not looked at:
 * all scenarios have the past of the data. */
#ifndef LL_PREDICT_SCENARIOS_H
#define LL_PREDICT_SCENARIOS_H

#include "predict/view/queries.h"

#include <llapdiff/model.h>

enum { LL_SCENARIOS_MAX = 64 };

typedef struct ll_scenarios {
    const llap_model         *m;
    const llap_panel         *p;
    const llap_forecast_opts *o;
    int64_t                  *origin; /* [entities of the panel] ticks; INT64_MAX: not forecast */
    struct ll_scenario_log {
        const char     *name;
        const llap_log *to;
        llap_log        log; /* says whose message it is */
    } * say;                 /* [n_scenarios] */
} ll_scenarios;

/* Checks all scenarios of o, and warns of what they lack. LLAP_EINVAL: a model without known
 * inputs, a scenario without any of them or without a later value, or of other entities.
 * LLAP_EOPTION: forecasts from several times. Borrows all until deinit. */
llap_status ll_scenarios_init(ll_scenarios *s, const llap_model *m, const llap_panel *p,
                              const llap_forecast_opts *o);
void        ll_scenarios_deinit(ll_scenarios *s); /* { 0 } is fine */

/* The panel as it is in scenario k. Caller owns *out. */
llap_status ll_scenarios_panel(const ll_scenarios *s, int64_t k, llap_panel **out);

/* The log for messages about scenario k, which name it; borrowed. */
const llap_log *ll_scenarios_log(const ll_scenarios *s, int64_t k);

#endif
