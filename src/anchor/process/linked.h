/* Several series at once: the anchor with a covariance between entities.
 *
 *     cov(f_e(t), f_g(s)) = sum_i C_i[e,g] a_i exp(-rho_i |t - s|) cos(omega_i (t - s))
 *     C_i[e,g] = 1 where e = g, else share_i * sum_r loading[e,r] loading[g,r]
 *
 * With all shares 1 it is the separable k_entity x k_time of low rank (coregionalisation). That
 * form alone predicts little better than each series by itself: where all are read at the same
 * times with little noise, the others' readings cancel out. A share of its own for each term
 * (weather that all entities have in common, noise of the place) does not cancel.
 *
 *     ll_anchor_linked j = { .n = 12, .rank = 1, .loading = g, .share = { 1, 1, 1 } };
 *     st = ll_anchor_linked_filter(&kernel, &j, windows, 1, mean, var, NULL);
 *
 * Exact, as anchor.h: the states of all entities are kept together, N = n J of them, and every
 * entity's f is one of them. O(N^2) per observation and per new time, O(N^2) memory a thread; after
 * the last observation O(n J^2) per new time. */
#ifndef LL_ANCHOR_PROCESS_LINKED_H
#define LL_ANCHOR_PROCESS_LINKED_H

#include "anchor/process/process.h"

enum { LL_ANCHOR_LINKED_MAX = 32, LL_ANCHOR_RANK_MAX = 2 };

typedef struct ll_anchor_linked {
    size_t        n;       /* entities, 1 .. LL_ANCHOR_LINKED_MAX */
    size_t        rank;    /* 0 .. LL_ANCHOR_RANK_MAX; 0: every series by itself */
    const double *loading; /* [n,rank], squares of a row sum to 1 at most */
    double        share[LL_ANCHOR_MAX_TERMS]; /* of each term of the kernel, 0 .. 1 */
} ll_anchor_linked;

/* LLAP_EINVAL names what is out of bounds. */
llap_status ll_anchor_linked_check(const ll_anchor_linked *j, int32_t n_terms);

/* Causal answers, as ll_anchor_filter: each query of any entity given the observations of all
 * entities at or before its time. w, mean, var are [n_groups,n]: one window per entity (none
 * observed, none asked is fine), groups do not see each other and are shared out among threads.
 * loglik [n_groups] may be NULL. Same bytes for any number of threads. */
llap_status ll_anchor_linked_filter(const ll_anchor_kernel *k, const ll_anchor_linked *j,
                                    const ll_anchor_window *w, size_t n_groups, double *const *mean,
                                    double *const *var, double *loglik);

#endif
