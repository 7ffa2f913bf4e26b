/* Holds a network together: cpu against ref, gradients against central differences in double.
 *
 *     static ll_tensor *describe(ll_graph *g, const void *cfg) { ...; return loss; }
 *     net_check(&(net){ describe, &cfg, .seed = 7, .fill = masks_and_times, .fixed = "pad dt" });
 *
 * Parameters are drawn normal with deviation 0.3
 * (norm weights around 1, variances positive), so that nothing is hidden by a start at zero. */
#ifndef LLAP_TESTS_NN_NET_H
#define LLAP_TESTS_NN_NET_H

#include "graph/plan.h"

#include <stdbool.h>

typedef struct net {
    ll_tensor *(*describe)(ll_graph *g, const void *cfg); /* gives the loss, one element */
    const void *cfg;
    uint64_t    seed;
    /* Element k of the input of that name; NULL: normal draws. Gives NAN for "normal, please". */
    double (*fill)(const struct net *n, const char *name, int64_t k);
    const char *fixed;     /* inputs without gradients, between spaces */
    bool        stops;     /* a gradient is stopped on purpose: no central differences */
    double      tolerance; /* cpu against ref, relative to each largest; 0: 3e-5 */
    double      step;      /* of the differences; 0: 1e-5. Sharp curvature wants a smaller one */
} net;

double net_normal(uint64_t seed, const char *name, int64_t k); /* what normal draws are */
double net_uniform(uint64_t seed, const char *name, int64_t k);

/* A whole number in low .. high, the same for the same seed and name. */
int64_t net_pick(uint64_t seed, const char *name, int64_t low, int64_t high);

void net_check(const net *n);

#endif
