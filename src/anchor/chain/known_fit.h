/* Fitting the effects of known inputs; not for others. */
#ifndef LL_ANCHOR_CHAIN_KNOWN_FIT_H
#define LL_ANCHOR_CHAIN_KNOWN_FIT_H

#include "anchor/chain/chain_climate.h"
#include "anchor/process/process.h"

/* Coefficients of c's climate, whose terms are set, and of the inputs that o names (none is fine),
 * into c->known.
 * v holds u and stays. */
llap_status chain_fit_known(ll_chain *c, const chain_values *v, const ll_known_opts *o,
                            bool pooled);

/* Runs `width` columns through the filter of one kernel at once: each row becomes the innovations
 * of its columns, over the deviation that the kernel gives a reading there. Times do not decrease.
 */
typedef struct whitener known_whitener;
llap_status known_whitener_create(const ll_anchor_kernel *k, int width, known_whitener **out);
void        known_whitener_destroy(known_whitener *w); /* NULL is fine */
void        known_whitener_reset(known_whitener *w);   /* another series */
void        known_whiten(known_whitener *w, double t, double *row);

#endif
