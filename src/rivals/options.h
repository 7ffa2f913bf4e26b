/* The nine models by name: what their options are called, and the two configurations of each.
 *
 *     ll_rival_config c;
 *     const ll_rival *r = ll_rival_named("patchtst");
 *     r->native(&data, &c);                                   at its own strength on that data
 *     st = ll_fields_read(json, "rival", r->field, r->n_fields, &c);      what the caller changes
 *     st = ll_fields_check(r->name, r->field, r->n_fields, &c);
 *
 * `adapter` is what the paper of LLapDiff compared itself with (docs/spec/rivals.md 12). */
#ifndef LL_RIVALS_OPTIONS_H
#define LL_RIVALS_OPTIONS_H

#include "rivals/rivals.h"

typedef union ll_rival_config {
    ll_dlinear_config     dlinear;
    ll_patchtst_config    patchtst;
    ll_mrdiff_config      mrdiff;
    ll_timegrad_config    timegrad;
    ll_mtan_config        mtan;
    ll_tpatchgnn_config   tpatchgnn;
    ll_contiformer_config contiformer;
    ll_neuralcde_config   neuralcde;
    ll_csdi_config        csdi;
} ll_rival_config;

typedef enum ll_rival_rhythm { /* of the rows */
                               LL_RIVAL_HOURLY,
                               LL_RIVAL_DAILY,
                               LL_RIVAL_STAYS, /* hours of independent, short series */
} ll_rival_rhythm;

typedef struct ll_rival_data {
    int64_t         context, horizon; /* rows */
    ll_rival_rhythm rhythm;
    bool            small; /* few windows */
} ll_rival_data;

typedef struct ll_rival {
    const char     *name, *title;
    const ll_field *field; /* its options, as keys of JSON */
    int             n_fields;
    void (*native)(const ll_rival_data *d, ll_rival_config *out);
    /* NULL: what was compared with is another network than the model. */
    void (*adapter)(const ll_rival_data *d, ll_rival_config *out);
    llap_status (*check)(const ll_rival_data *d, const ll_rival_config *c); /* ll_rival_check's */
} ll_rival;

enum { LL_RIVALS = 9 };
extern const ll_rival ll_rivals[LL_RIVALS];
const ll_rival       *ll_rival_named(const char *name); /* NULL: none */

/* What the table of fields cannot say: heads that divide widths, odd kernels, rising lags, patches
 * that fit into the context. LLAP_EINVAL names the option. */
llap_status ll_rival_check(const ll_rival *r, const ll_rival_data *d, const ll_rival_config *c);

#endif
