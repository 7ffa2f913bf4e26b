#include "fill/trees.h"

#include "base/alloc.h"
#include "base/progress.h"
#include "base/rng/rng.h"
#include "base/sort.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    BINS = 128,
    CELLS_LEAST = 60,
    PATIENCE = 20,
    SAMPLE = 20000,
    REPORTED = 1000000 /* cells, each counted once a tree: a quarter of a second */
};                     /* bin 0: missing */
static const double rate = 0.08, penalty = 5;
static const float  share_cells = 0.7f, share_features = 0.5f;

void ll_trees_deinit(ll_trees *t)
{
    ll_free(t->tree);
    *t = (ll_trees){ 0 };
}

static int leaf_of(const ll_tree *t, const float *x)
{
    int at = 0;
    if (t->feature[0] < 0) return 0;
    while (at >= 0) {
        const float v = x[t->feature[at]];
        const bool  left = isnan(v) ? t->missing_left[at] : v <= t->threshold[at];
        at = left ? t->left[at] : t->right[at];
    }
    return -1 - at;
}

double ll_trees_at(const ll_trees *t, const float *x)
{
    double sum = (double)t->base;
    for (int64_t i = 0; i < t->n; i++) sum += (double)t->tree[i].leaf[leaf_of(&t->tree[i], x)];
    return sum;
}

void ll_tree_numbers(const ll_tree *t, float *out)
{
    for (int i = 0; i < LL_TREE_SPLITS; i++) {
        *out++ = t->feature[i];
        *out++ = t->threshold[i];
        *out++ = t->missing_left[i];
        *out++ = t->left[i];
        *out++ = t->right[i];
    }
    memcpy(out, t->leaf, sizeof t->leaf);
}

/* A whole number of -n .. n. */
static bool is_whole(float x, int n) { return x >= -(float)n && x <= (float)n && x == floorf(x); }

bool ll_tree_of(const float *numbers, int n_features, ll_tree *out)
{
    for (int i = 0; i < LL_TREE_SPLITS; i++, numbers += 5) {
        for (int k = 0; k < 5; k++)
            if (!isfinite(numbers[k])) return false;
        if (!is_whole(numbers[0], n_features) || !is_whole(numbers[3], LL_TREE_LEAVES) ||
            !is_whole(numbers[4], LL_TREE_LEAVES))
            return false;
        out->feature[i] = (int16_t)numbers[0];
        out->threshold[i] = numbers[1];
        out->missing_left[i] = numbers[2] != 0;
        out->left[i] = (int8_t)numbers[3];
        out->right[i] = (int8_t)numbers[4];
        if (out->feature[i] >= n_features || out->feature[i] < -1) return false;
    }
    for (int i = 0; i < LL_TREE_SPLITS; i++) /* children come later, so that every way ends */
        for (int side = 0; side < 2 && out->feature[i] >= 0; side++) {
            const int child = side ? out->right[i] : out->left[i];
            if (child >= 0 && (child <= i || child >= LL_TREE_SPLITS || out->feature[child] < 0))
                return false;
        }
    memcpy(out->leaf, numbers, sizeof out->leaf);
    for (int i = 0; i < LL_TREE_LEAVES; i++)
        if (!isfinite(out->leaf[i])) return false;
    return true;
}

/* ---- growing ---- */

typedef struct sums {
    double  g, w;
    int32_t n;
} sums;

typedef struct split {
    double gain;
    int    feature, bin;
    bool   missing_left;
} split;

typedef struct node {  /* a leaf so far */
    int64_t first, n;  /* of the list of cells */
    sums   *histogram; /* [features,BINS] */
    split   best;
    int     parent; /* whose child it is; -1: none */
    bool    is_left;
} node;

typedef struct grower {
    const ll_trees_data *d;
    uint8_t             *bin;  /* [features,n] */
    float               *edge; /* [features,BINS - 1] a bin ends with its edge */
    int                 *edges;
    double              *left; /* [n] what the trees so far leave */
    int32_t             *list; /* [n] cells of the tree, leaf by leaf */
    int32_t             *room;
    sums                *histogram; /* [LEAVES,features,BINS] */
    sums                *slope;     /* [n] of the loss, of the cells of the tree */
    bool                *chosen;    /* [features] */
    ll_trees_loss        loss;
} grower;

static void grower_deinit(grower *g)
{
    void *const arrays[] = { g->bin,  g->edge,      g->edges, g->left,  g->list,
                             g->room, g->histogram, g->slope, g->chosen };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) ll_free(arrays[i]);
}

/* Edges of equal counts, from some of the cells. */
static llap_status find_bins(grower *g, int f)
{
    const ll_trees_data *d = g->d;
    const int64_t        every = d->n / SAMPLE + 1;
    float               *v = ll_new((size_t)(d->n / every + 1), sizeof *v);
    size_t               n = 0;
    if (v == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < d->n; i += every)
        if (!isnan(d->x[i * d->n_features + f])) v[n++] = d->x[i * d->n_features + f];
    ll_sort_floats(v, n);
    float *edge = g->edge + f * (BINS - 1);
    int    count = 0;
    for (int b = 1; b < BINS - 1 && n > 0; b++) {
        const float e = v[(size_t)b * n / (BINS - 1)];
        if (e < v[n - 1] && (count == 0 || e > edge[count - 1])) edge[count++] = e;
    }
    g->edges[f] = count;
    for (int64_t i = 0; i < d->n; i++) {
        const float x = d->x[i * d->n_features + f];
        int         low = 0, high = count;
        while (low < high) { /* the first edge not below x */
            const int mid = (low + high) / 2;
            if (edge[mid] < x) low = mid + 1;
            else high = mid;
        }
        g->bin[f * d->n + i] = (uint8_t)(isnan(x) ? 0 : low + 1);
    }
    ll_free(v);
    return LLAP_OK;
}

static llap_status grower_init(grower *g, const ll_trees_data *d, ll_trees_loss loss)
{
    const size_t n = (size_t)d->n, F = (size_t)d->n_features;
    int          worst = LLAP_OK;
    *g = (grower){ .d = d, .loss = loss };
    g->bin = ll_new(n, F);
    g->edge = ll_new(F, (BINS - 1) * sizeof *g->edge);
    g->edges = ll_new(F, sizeof *g->edges);
    g->left = ll_new(n, sizeof *g->left);
    g->list = ll_new(n, sizeof *g->list);
    g->room = ll_new(n, sizeof *g->room);
    g->histogram = ll_new(LL_TREE_LEAVES * F, BINS * sizeof *g->histogram);
    g->slope = ll_new(n, sizeof *g->slope);
    g->chosen = ll_new(F, sizeof *g->chosen);
    if (!g->bin || !g->edge || !g->edges || !g->left || !g->list || !g->room || !g->histogram ||
        !g->slope || !g->chosen)
        return LLAP_ENOMEM;
#pragma omp parallel for schedule(dynamic, 1) reduction(max : worst)
    for (int f = 0; f < d->n_features; f++) {
        const int one = (int)find_bins(g, f);
        if (one > worst) worst = one;
    }
    return (llap_status)worst;
}

/* Half the slope of the loss at what is left; the weight stands for its curvature. */
static sums slope_of(const grower *g, int32_t i)
{
    const double left = g->left[i], weight = g->d->weight[i];
    return (sums){ weight * (g->loss == LL_TREES_MEAN ? left : (left > 0) - (left < 0)), weight,
                   1 };
}

static void add_up(const grower *g, node *k, int f)
{
    sums          *h = k->histogram + f * BINS;
    const uint8_t *bin = g->bin + f * g->d->n;
    memset(h, 0, BINS * sizeof *h);
    for (int64_t j = k->first; j < k->first + k->n; j++) {
        const int32_t i = g->list[j];
        sums         *s = &h[bin[i]];
        s->g += g->slope[i].g;
        s->w += g->slope[i].w;
        s->n++;
    }
}

static double worth(sums s) { return s.g * s.g / (s.w + penalty); }
static sums   less(sums a, sums b) { return (sums){ a.g - b.g, a.w - b.w, a.n - b.n }; }
static sums   plus(sums a, sums b) { return (sums){ a.g + b.g, a.w + b.w, a.n + b.n }; }

static split best_of(const grower *g, const node *k, int f)
{
    const sums *h = k->histogram + f * BINS;
    sums        all = { 0 }, low = { 0 };
    split       best = { .gain = 0, .feature = f };
    for (int b = 0; b <= g->edges[f] + 1; b++) all = plus(all, h[b]);
    for (int b = 1; b <= g->edges[f]; b++) {
        low = plus(low, h[b]);
        for (int side = 0; side < (h[0].n > 0 ? 2 : 1); side++) {
            const sums left = side ? plus(low, h[0]) : low, right = less(all, left);
            if (left.n < CELLS_LEAST || right.n < CELLS_LEAST) continue;
            const double gain = worth(left) + worth(right) - worth(all);
            if (gain > best.gain) {
                best.gain = gain;
                best.bin = b;
                best.missing_left = side == 1;
            }
        }
    }
    return best;
}

/* Histograms and best splits of two siblings: those of the smaller one are counted, those of the
 * larger one are what is left of their parent's, in whose place they are. NULL: there is only one.
 */
static void look(const grower *g, node *small, node *large)
{
    const int F = g->d->n_features;
    split     best[2][LL_TREE_FEATURES];
    assert(F <= LL_TREE_FEATURES);
#pragma omp parallel for schedule(dynamic, 4)
    for (int f = 0; f < F; f++) {
        best[0][f].gain = best[1][f].gain = 0;
        if (!g->chosen[f]) continue;
        add_up(g, small, f);
        best[0][f] = best_of(g, small, f);
        if (large == NULL) continue;
        sums *h = large->histogram + f * BINS, *of = small->histogram + f * BINS;
        for (int b = 0; b < BINS; b++) h[b] = less(h[b], of[b]);
        best[1][f] = best_of(g, large, f);
    }
    small->best = (split){ 0 };
    if (large != NULL) large->best = (split){ 0 };
    for (int f = 0; f < F; f++) {
        if (best[0][f].gain > small->best.gain) small->best = best[0][f];
        if (large != NULL && best[1][f].gain > large->best.gain) large->best = best[1][f];
    }
}

/* The cells of a leaf go left and right, each side in its order; how many go left. */
static int64_t part(grower *g, const node *k)
{
    const uint8_t *bin = g->bin + k->best.feature * g->d->n;
    int64_t        n = 0, other = 0;
    for (int64_t j = k->first; j < k->first + k->n; j++) {
        const int32_t i = g->list[j];
        if (bin[i] == 0 ? k->best.missing_left : bin[i] <= k->best.bin) g->list[k->first + n++] = i;
        else g->room[other++] = i;
    }
    memcpy(g->list + k->first + n, g->room, (size_t)other * sizeof *g->room);
    return n;
}

/* Weighted median (by bisection) of what is left in a leaf, drawn to 0; or their mean. */
static double value_of(const grower *g, const node *k)
{
    double sum = 0, weight = 0, low = INFINITY, high = -INFINITY;
    for (int64_t j = k->first; j < k->first + k->n; j++) {
        const int32_t i = g->list[j];
        weight += g->d->weight[i];
        sum += g->d->weight[i] * g->left[i];
        low = fmin(low, g->left[i]);
        high = fmax(high, g->left[i]);
    }
    if (k->n == 0) return 0;
    if (g->loss == LL_TREES_MEAN) return sum / (weight + penalty);
    for (int step = 0; step < 30 && low < high; step++) {
        const double mid = 0.5 * (low + high);
        double       below = 0;
        for (int64_t j = k->first; j < k->first + k->n; j++)
            if (g->left[g->list[j]] <= mid) below += g->d->weight[g->list[j]];
        if (2 * below < weight) low = mid;
        else high = mid;
    }
    return high * weight / (weight + penalty);
}

static void divide(grower *g, ll_tree *t, node *leaf, int at, int n)
{
    node       *k = &leaf[at], *right = &leaf[n];
    const int   s = n - 1; /* the split's number */
    const split by = k->best;
    t->feature[s] = (int16_t)by.feature;
    t->threshold[s] = g->edge[by.feature * (BINS - 1) + by.bin - 1];
    t->missing_left[s] = by.missing_left;
    t->left[s] = (int8_t)(-1 - at);
    t->right[s] = (int8_t)(-1 - n);
    if (k->parent >= 0) *(k->is_left ? &t->left[k->parent] : &t->right[k->parent]) = (int8_t)s;
    const int64_t n_left = part(g, k);
    *right = (node){ .first = k->first + n_left, .n = k->n - n_left, .parent = s };
    right->histogram = g->histogram + (int64_t)n * g->d->n_features * BINS;
    k->n = n_left;
    k->parent = s;
    k->is_left = true;
    if (k->n > right->n) {
        look(g, right, k);
        return;
    }
    sums *const place = k->histogram; /* the parent's place goes to the larger one */
    k->histogram = right->histogram;
    right->histogram = place;
    look(g, k, right);
}

static void grow(grower *g, int64_t n_cells, ll_tree *t)
{
    node leaf[LL_TREE_LEAVES] = { { .n = n_cells, .histogram = g->histogram, .parent = -1 } };
    int  n = 1;
    *t = (ll_tree){ .feature = { -1 } };
    for (int i = 0; i < LL_TREE_SPLITS; i++) t->feature[i] = -1;
    for (int64_t j = 0; j < n_cells; j++) g->slope[g->list[j]] = slope_of(g, g->list[j]);
    look(g, &leaf[0], NULL);
    for (; n < LL_TREE_LEAVES; n++) {
        int best = 0;
        for (int i = 1; i < n; i++)
            if (leaf[i].best.gain > leaf[best].best.gain) best = i;
        if (!(leaf[best].best.gain > 0)) break;
        divide(g, t, leaf, best, n);
    }
    for (int i = 0; i < n; i++) t->leaf[i] = (float)(rate * value_of(g, &leaf[i]));
}

/* ---- boosting ---- */

/* The cells and features that a tree looks at. */
static int64_t choose(grower *g, uint64_t seed, int64_t tree)
{
    const ll_rng cells = ll_rng_make(seed, LL_STREAM_FILL, (uint64_t)tree, 0, 1);
    const ll_rng features = ll_rng_make(seed, LL_STREAM_FILL, (uint64_t)tree, 0, 2);
    int64_t      n = 0;
    for (int f = 0; f < g->d->n_features; f++)
        g->chosen[f] = ll_rng_uniform(&features, (uint64_t)f) < share_features;
    for (int64_t i = 0; i < g->d->n; i++)
        if (g->d->role[i] == LL_TREES_LEARN && ll_rng_uniform(&cells, (uint64_t)i) < share_cells)
            g->list[n++] = (int32_t)i;
    return n;
}

/* Takes a tree off what is left of every cell. */
static void apply(grower *g, const ll_tree *t)
{
    const ll_trees_data *d = g->d;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < d->n; i++)
        g->left[i] -= (double)t->leaf[leaf_of(t, d->x + i * d->n_features)];
}

/* Mean loss of the cells to stop by; NaN: there are none. */
static double stop_loss(const grower *g)
{
    double sum = 0, weight = 0;
    for (int64_t i = 0; i < g->d->n; i++) {
        if (g->d->role[i] != LL_TREES_STOP) continue;
        const double left = g->left[i];
        sum += g->d->weight[i] * (g->loss == LL_TREES_MEAN ? left * left : fabs(left));
        weight += g->d->weight[i];
    }
    return sum / weight;
}

static llap_status boost(grower *g, int64_t n_trees, uint64_t seed, ll_trees *out)
{
    node    all = { 0 };
    double  least;
    int64_t best = 0, done = 0;
    for (int64_t i = 0; i < g->d->n; i++) {
        g->left[i] = g->d->y[i];
        if (g->d->role[i] == LL_TREES_LEARN) g->list[all.n++] = (int32_t)i;
    }
    out->base = (float)value_of(g, &all);
    out->tree = ll_new(LL_TREES_MOST, sizeof *out->tree);
    if (out->tree == NULL) return LLAP_ENOMEM;
    for (int64_t i = 0; i < g->d->n; i++) g->left[i] -= (double)out->base;
    least = stop_loss(g);
    for (int64_t k = 0; k < (n_trees > 0 ? n_trees : LL_TREES_MOST); k++) {
        const int64_t n = choose(g, seed, k);
        grow(g, n, &out->tree[k]);
        apply(g, &out->tree[k]);
        const double loss = n_trees > 0 ? 0 : stop_loss(g);
        if (n_trees > 0 || loss < least) least = loss, best = k + 1;
        if (k + 1 - best >= PATIENCE) break;
        if ((done += g->d->n) < REPORTED) continue;
        done = 0;
        const llap_status st =
            ll_report(g->d->progress,
                      &(llap_progress_event){ "filling", k + 1, LL_TREES_MOST, "trees", NULL });
        if (st != LLAP_OK) return st;
    }
    out->n = best;
    return LLAP_OK;
}

llap_status ll_trees_fit(const ll_trees_data *d, ll_trees_loss loss, int64_t n_trees, uint64_t seed,
                         ll_trees *out)
{
    grower g;
    assert(n_trees <= LL_TREES_MOST && d->n < INT32_MAX);
    *out = (ll_trees){ 0 };
    llap_status st = grower_init(&g, d, loss);
    if (st == LLAP_OK) st = boost(&g, n_trees, seed, out);
    grower_deinit(&g);
    if (st != LLAP_OK) ll_trees_deinit(out);
    return st;
}
