/* Known inputs in the fit of a whole anchor model; not for others. */
#ifndef LL_ANCHOR_KNOWN_CHOOSE_H
#define LL_ANCHOR_KNOWN_CHOOSE_H

#include "anchor/window.h"

/* The data with the known inputs of every series. */
typedef struct anchor_known {
    ll_anchor_data   data;   /* as given, but for series */
    ll_series       *series; /* [n_series] owned, as are the next two */
    ll_inputs      **in;     /* [n_series] */
    ll_known        *of;     /* what the inputs are like; NULL: there are none */
    ll_anchor_kernel whiten; /* of the fit that was chosen */
} anchor_known;

/* Also after a failure *k is the caller's to deinit. */
llap_status anchor_known_init(anchor_known *k, const ll_anchor_data *d,
                              const ll_anchor_model_opts *o);
void        anchor_known_deinit(anchor_known *k);

/* Puts a model with holidays in its climate in the place of *best, which has one, unless that is
 * worse on validation: few weeks hold few holidays, so that they are not asked for a gain. */
llap_status anchor_choose_holidays(const ll_anchor_data *d, ll_anchor_model_opts *o,
                                   ll_anchor_model **best);

/* Puts a model with known inputs in the place of *best where that gains 1 % on validation; o->chain
 * then has them for whatever is fitted later. */
llap_status anchor_choose_known(anchor_known *k, const ll_anchor_data *d, ll_anchor_model_opts *o,
                                ll_anchor_model **best);

#endif
