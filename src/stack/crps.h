/* Quantiles at a few levels: their CRPS, and what lies between the levels. */
#ifndef LL_STACK_CRPS_H
#define LL_STACK_CRPS_H

enum { LL_STACK_LEVELS = 7, LL_STACK_FINE = 21 };

/* .025 .1 .25 .5 .75 .9 .975, their normal scores, and their shares of the CRPS. */
extern const double ll_stack_level[LL_STACK_LEVELS];
extern const double ll_stack_normal[LL_STACK_LEVELS];
extern const double ll_stack_share[LL_STACK_LEVELS];

/* .025 .05 .1 .15 ... .95 .975, likewise. */
extern const double ll_stack_fine_level[LL_STACK_FINE];
extern const double ll_stack_fine_normal[LL_STACK_FINE];
double              ll_stack_fine_share(int i);

/* Sorts LL_STACK_LEVELS numbers. */
void ll_stack_sort(double *q);

/* Twice the pinball loss of quantiles at the fine levels. */
double ll_stack_crps(const double *fine, double truth);

/* Quantiles at the levels to those at the fine ones, linear in the normal score. */
void ll_stack_refine(const double *q, double *fine);

#endif
