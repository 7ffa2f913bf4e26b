/* Fitting the calendar link of a chain; not for others. */
#ifndef LL_ANCHOR_CHAIN_CHAIN_CLIMATE_H
#define LL_ANCHOR_CHAIN_CHAIN_CLIMATE_H

#include "anchor/chain/chain.h"

/* The training values as one list, in the order of the series. */
typedef struct chain_values {
    size_t            n;
    double           *x;    /* [n] y, then z, then v, then u */
    double           *t;    /* [n] */
    size_t           *ends; /* [n_series] */
    const ll_inputs **in;   /* [n_series] known inputs */
} chain_values;

/* v holds u; what the calendar explains is taken off, and r_s becomes the deviation of the rest. */
llap_status chain_fit_climate(ll_chain *c, const chain_values *v, const ll_chain_opts *o);

/* The same for the coefficients of c->profile; v stays. */
llap_status chain_fit_profile(ll_chain *c, const chain_values *v, bool pooled);

double chain_penalty(const ll_chain *c, int term);        /* of a term of the climate */
double chain_weekly_penalty(ll_weekly profile, int term); /* of a profile */
/* The n_climate terms of c's climate at t. */
void chain_terms(const ll_chain *c, double t, double *out);

/* Solves A x = b, A [n,n] symmetric positive definite (its lower half), in place; b becomes x. */
void chain_solve(double *A, double *b, int n);

#endif
