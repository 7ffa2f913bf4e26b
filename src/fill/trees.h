/* Boosted trees on histograms, for what the closed form leaves (docs/spec/filling.md 5): a sum of
 * small trees, each fitted to what those before it have left. Numbers that are missing (NaN) go to
 * the side that is better for it.
 *
 *     ll_trees t = { 0 };
 *     st = ll_trees_fit(&data, LL_TREES_MEDIAN, 0, seed, &t);
 *     double y = ll_trees_at(&t, x);
 *     ll_trees_deinit(&t);
 *
 * Same bytes for any number of threads. */
#ifndef LL_FILL_TREES_H
#define LL_FILL_TREES_H

#include <llapdiff/progress.h>
#include <llapdiff/status.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    LL_TREE_LEAVES = 15,
    LL_TREE_SPLITS = LL_TREE_LEAVES - 1,
    LL_TREE_NUMBERS = 5 * LL_TREE_SPLITS + LL_TREE_LEAVES, /* of a tree in a file */
    LL_TREES_MOST = 350,
    LL_TREE_FEATURES = 128, /* at most */
};

/* A split sends x[feature] <= threshold to the left. A child is a later split, or -1 - leaf. A tree
 * without splits is its first leaf: feature[0] is -1. */
typedef struct ll_tree {
    int16_t feature[LL_TREE_SPLITS]; /* -1: there is no such split */
    int8_t  left[LL_TREE_SPLITS], right[LL_TREE_SPLITS];
    bool    missing_left[LL_TREE_SPLITS];
    float   threshold[LL_TREE_SPLITS], leaf[LL_TREE_LEAVES];
} ll_tree;

typedef struct ll_trees {
    int64_t  n;
    ll_tree *tree; /* [n] owned */
    float    base;
} ll_trees;
void   ll_trees_deinit(ll_trees *t); /* { 0 } is fine */
double ll_trees_at(const ll_trees *t, const float *x);

/* A tree as numbers, and back; false: they are no tree on n_features. */
void ll_tree_numbers(const ll_tree *t, float *out);
bool ll_tree_of(const float *numbers, int n_features, ll_tree *out);

typedef enum ll_trees_loss { LL_TREES_MEDIAN, LL_TREES_MEAN } ll_trees_loss;
typedef enum ll_trees_role { LL_TREES_LEARN, LL_TREES_STOP, LL_TREES_IDLE } ll_trees_role;

typedef struct ll_trees_data {
    int64_t        n;
    int            n_features;
    const float   *x;      /* [n,n_features] NaN: missing */
    const double  *y;      /* [n] */
    const double  *weight; /* [n] mean about 1 */
    const uint8_t *role;   /* [n] ll_trees_role */
    llap_progress  progress;
} ll_trees_data;

/* n_trees 0: as many as lower the loss of the cells to stop by, LL_TREES_MOST at most. Caller owns
 * *out. */
llap_status ll_trees_fit(const ll_trees_data *d, ll_trees_loss loss, int64_t n_trees, uint64_t seed,
                         ll_trees *out);

#endif
