#include "ranks/sum_tree.h"

#include "base/alloc.h"

#include <assert.h>
#include <string.h>

llap_status ll_sum_tree_init(ll_sum_tree *t, size_t n, int64_t most)
{
    assert(most >= 1 && most <= INT64_C(1) << (LL_SUM_TREE_LEVELS - 1));
    *t = (ll_sum_tree){ .n = n };
    for (int k = 0; k < LL_SUM_TREE_LEVELS && INT64_C(1) << k <= most; k++) {
        t->level[k] = ll_new_aligned(n, sizeof *t->level[k]);
        if (t->level[k] == NULL) return LLAP_ENOMEM;
    }
    return LLAP_OK;
}

void ll_sum_tree_deinit(ll_sum_tree *t)
{
    for (int k = 0; k < LL_SUM_TREE_LEVELS; k++) ll_free(t->level[k]);
    *t = (ll_sum_tree){ 0 };
}

void ll_sum_tree_clear(ll_sum_tree *t) { t->taken = 0; }

/* x += y */
static void add(float *restrict x, const float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] += y[i];
}

void ll_sum_tree_add(ll_sum_tree *t, const float *leaf)
{
    const float *right = leaf;
    int          k = 0;
    for (; (t->taken >> k & 1) != 0; k++) { /* what is there came before it */
        add(t->level[k], right, t->n);
        right = t->level[k];
    }
    assert(k < LL_SUM_TREE_LEVELS && t->level[k] != NULL); /* no more leaves than init was told */
    t->taken++;
    if (k == 0) {
        memcpy(t->level[0], leaf, t->n * sizeof *leaf);
        return;
    }
    float *sum = t->level[k - 1]; /* its old place is free */
    t->level[k - 1] = t->level[k];
    t->level[k] = sum;
}

float *ll_sum_tree_get(ll_sum_tree *t)
{
    float *sum = NULL;
    assert(t->taken > 0);
    for (int k = 0; k < LL_SUM_TREE_LEVELS; k++) {
        if ((t->taken >> k & 1) == 0) continue;
        if (sum != NULL) add(t->level[k], sum, t->n);
        sum = t->level[k];
    }
    return sum;
}
