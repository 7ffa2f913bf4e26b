/* Fitting the calendar link of a chain; not for others. */
#ifndef LL_ANCHOR_CHAIN_CLIMATE_H
#define LL_ANCHOR_CHAIN_CLIMATE_H

#include "anchor/chain.h"

/* The training values as one list, in the order of the series. */
typedef struct chain_values {
    size_t  n;
    double *x;    /* [n] y, then z, then v, then u */
    double *t;    /* [n] */
    size_t *ends; /* [n_series] */
} chain_values;

/* v holds u; what the calendar explains is taken off, and r_s becomes the deviation of the rest. */
llap_status chain_fit_climate(ll_chain *c, const chain_values *v, const ll_chain_opts *o);

/* The same for the coefficients of c->profile; v stays. */
llap_status chain_fit_profile(ll_chain *c, const chain_values *v, bool pooled);

/* The n_climate terms of c's climate at t. */
void chain_terms(const ll_chain *c, double t, double *out);

/* Solves A x = b, A [n,n] symmetric positive definite (its lower half), in place; b becomes x. */
void chain_solve(double *A, double *b, int n);

#endif
