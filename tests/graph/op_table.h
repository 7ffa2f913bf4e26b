/* One row per op: how to build it from sizes. The table drives the comparison of backends, the
 * gradient check, the invariance under threads and batch size, and the timings. */
#ifndef LLAP_TESTS_OP_TABLE_H
#define LLAP_TESTS_OP_TABLE_H

#include "graph/graph.h"
#include "graph/plan.h"

/* Where operands lie: dense, inside a larger array, or with the last two axes stored swapped. */
typedef enum op_layout { OP_DENSE, OP_SLICED, OP_SWAPPED } op_layout;

typedef struct op_build {
    ll_graph *g;
    int64_t   b, l, n; /* batch, length, width */
    op_layout layout;
} op_build;

typedef enum op_fill {
    FILL_REAL,
    FILL_POSITIVE,
    FILL_MASK,
    FILL_TIME,
    FILL_INDEX, /* whole, 0 to 6 */
    FILL_COUNT, /* whole, 3 */
} op_fill;

/* Leaves: a batched one has axis 0 of length b, which is what changes with the batch size. The fill
 * is the first letter of the full name; masks, times and indices get no gradient. */
ll_tensor *op_leaf(op_build *o, const char *name, op_fill fill, bool batched, ll_shape shape);
bool       op_leaf_batched(const char *name);
op_fill    op_leaf_fill(const char *name);

typedef struct op_row {
    const char *name;
    ll_op       op; /* what it covers */
    ll_tensor *(*build)(op_build *o);
    double tol; /* cpu against ref, of the largest magnitude */
    bool   no_gradient;
    bool   quadratic; /* work grows with l squared or n squared: no long shapes */
} op_row;

extern const op_row op_table[];
extern const int    op_table_len;

#endif
