/* Sums of arrays in a fixed order, that of a binary tree whose leaves come one by one:
 *
 *     ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))
 *
 * Of leaves that are missing at the end nothing is added. A tree whose leaves are the sums of
 * neighbouring trees of 2^k leaves each is the tree of all their leaves: whoever adds them up, the
 * sum has the same bytes.
 *
 *     ll_sum_tree t;
 *     st = ll_sum_tree_init(&t, n, 8);
 *     ll_sum_tree_clear(&t);
 *     for (i = 0; i < 8; i++) ll_sum_tree_add(&t, x[i]);        [n] each
 *     use(ll_sum_tree_get(&t));
 *     ll_sum_tree_deinit(&t); */
#ifndef LL_RANKS_SUM_TREE_H
#define LL_RANKS_SUM_TREE_H

#include <llapdiff/status.h>
#include <stddef.h>
#include <stdint.h>

enum { LL_SUM_TREE_LEVELS = 21 }; /* of up to 2^20 leaves */

typedef struct ll_sum_tree {
    size_t   n;                         /* numbers of a leaf */
    float   *level[LL_SUM_TREE_LEVELS]; /* [n] sum of 2^k leaves, where bit k of taken is set */
    uint64_t taken;                     /* in binary: how many leaves came */
} ll_sum_tree;

/* For up to `most` leaves. LLAP_ENOMEM; deinit is for it then, too. */
llap_status ll_sum_tree_init(ll_sum_tree *t, size_t n, int64_t most);
void        ll_sum_tree_deinit(ll_sum_tree *t); /* { 0 } is fine */

void ll_sum_tree_clear(ll_sum_tree *t);
void ll_sum_tree_add(ll_sum_tree *t, const float *leaf);
/* Of at least one leaf; [n], borrowed until the next call. No leaf is added behind it. */
float *ll_sum_tree_get(ll_sum_tree *t);

#endif
