/* The links of a chain that depend on the kind of its values: counts, and values between two bounds
 * or above one; not for others. */
#ifndef LL_ANCHOR_CHAIN_CHAIN_KINDS_H
#define LL_ANCHOR_CHAIN_CHAIN_KINDS_H

#include "anchor/chain/chain.h"

static inline bool chain_is_whole(const ll_chain *c)
{
    return c->kind == LL_KIND_COUNT || c->kind == LL_KIND_WHOLE;
}

/* ---- counts: a negative binomial law of mean m_e w(t), which takes the place of the climate ----
 */

double chain_count_mean(const ll_chain *c, size_t e, double t);
/* u of a count whose z is given, at the share v of what it holds in the law; and z of u. */
double chain_count_score(const ll_chain *c, size_t e, double mean, double z, double v);
double chain_count_back(const ll_chain *c, size_t e, double mean, double u);

/* Sets rate, week, dispersion and the curve from the training values s [n_series], whose mu and sd
 * are known. LLAP_EINVAL: one is no count, or all are 0. */
llap_status chain_fit_counts(ll_chain *c, const ll_series *s, const ll_chain_opts *o);

/* ---- bounds ---- */

double chain_logit(const ll_chain *c, double y); /* log(x/(1 - x)) of x within the edges */
double chain_logistic(const ll_chain *c, double l);

/* Sets edge and ends from y [n] (NaN: missing), the training values. LLAP_EINVAL: a bound is
 * missing. */
llap_status chain_fit_logit(ll_chain *c, const double *y, size_t n);
/* Sets origin and y_0, and the floor that an answer by logarithms has. LLAP_EINVAL: a value lies
 * below the origin, or at it where the user did not give it. */
llap_status chain_fit_log(ll_chain *c, const double *y, size_t n, const ll_chain_values *values);

#endif
