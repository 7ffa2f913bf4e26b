/* Inside the graph layer: what tensors, nodes and op descriptors are. */
#ifndef LL_GRAPH_NODE_H
#define LL_GRAPH_NODE_H

#include "base/arena.h"
#include "graph/graph.h"

typedef struct ll_node ll_node;

enum {
    LL_MAX_OUT = 4, /* of a kernel; a split may have more */
    LL_SCOPE_DEPTH = 16,
};

struct ll_tensor {
    ll_graph  *graph;
    int        id; /* counts from 0 in the graph */
    ll_elem    elem;
    ll_shape   shape;
    int64_t    stride[LL_MAX_RANK];
    ll_tensor *base;   /* whose memory this is; itself unless a view */
    int64_t    offset; /* in elements from base's start */
    ll_node   *node;   /* producer; NULL for leaves */
    int        out;    /* which output of node */

    ll_leaf       leaf;
    const char   *name;   /* of leaves */
    ll_init       init;   /* of parameters and states */
    const double *values; /* of constants */
    ll_tensor    *update; /* new content after a run, or NULL */
    bool          half;   /* an input that may be bf16 */
};

struct ll_node {
    ll_op       op;
    int         id;
    ll_attr     attr;
    const char *label; /* the scope it was made in */
    int         n_in, n_out;
    ll_tensor **in; /* NULL: an optional operand that is not there */
    ll_tensor **out;
};

typedef struct ll_named {
    const char *name;
    ll_tensor  *tensor;
    bool        half; /* an output that may be bf16 */
} ll_named;

struct ll_graph {
    ll_arena    arena;
    llap_status status;
    char       *detail; /* of status; arena */
    ll_node   **node;
    int         n_nodes, nodes_cap;
    ll_tensor **tensor; /* by id */
    int         n_tensors, tensors_cap;
    ll_named   *output;
    int         n_outputs, outputs_cap;
    ll_named   *note;
    int         n_notes, notes_cap;
    const char *scope[LL_SCOPE_DEPTH]; /* full paths */
    int         depth;
    uint32_t    n_random; /* ops that draw random numbers */
};

/* What an op means, whoever computes it. */
typedef struct ll_op_desc {
    const char *operands; /* their names in messages, separated by spaces; the last one repeats */
    int         n_required;
    int         n_out;
    /* One letter per operand, the last one repeats: a any strides; r dense last axis; d dense;
     * i dense int. The graph copies what does not fit. */
    const char *layout;
    bool        whole;       /* its outputs are ints */
    unsigned    in_place[3]; /* bit i: output j may overwrite operand i if that dies here */
    /* Only home of the shape rule; false after ll_node_fail. */
    bool (*infer)(ll_graph *g, const ll_node *n, ll_shape *out);
    /* Adds the nodes of dx[i] = J_i^T dy; dy[o] may be NULL, dx[i] may stay NULL. NULL: none. */
    void (*vjp)(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx);
} ll_op_desc;

#define X(ID, id) extern const ll_op_desc ll_desc_##id;
LL_SHAPED_LIST(X)
LL_EXTRA_LIST(X)
LL_TAKEN_LIST(X)
LL_FUSED_LIST(X)
#undef X

#define X(ID, id) \
    void ll_vjp_##id(ll_graph *g, const ll_node *n, ll_tensor *const *dy, ll_tensor **dx);
LL_VIEW_LIST(X)
#undef X

const ll_op_desc *ll_op_desc_of(ll_op op);

/* "scope.name" in the arena; NULL after recording a failure. */
const char *ll_scoped(ll_graph *g, const char *name);

/* Adds a node; n_in operands, trailing optional ones may be left out. NULL on failure. */
ll_node   *ll_node_add(ll_graph *g, ll_op op, const ll_attr *attr, ll_tensor *const *in, int n_in);
ll_tensor *ll_node_add1(ll_graph *g, ll_op op, const ll_attr *attr, ll_tensor *const *in,
                        int n_in); /* its output 0 */

/* Records "op 'label': message". Always false. */
bool ll_node_fail(ll_graph *g, const ll_node *n, const char *fmt, ...) LLAP_PRINTF(3, 4);
/* Fails with "op 'label': NAME expected SHAPE, found SHAPE" unless operand i has that shape. */
bool ll_node_expect(ll_graph *g, const ll_node *n, int i, ll_shape expected);
bool ll_node_rank(ll_graph *g, const ll_node *n, int i, int min_rank);

/* Adds a view node with one output per part; the caller sets shape, stride and offset of each. */
ll_node *ll_view_add(ll_graph *g, ll_op op, const ll_attr *attr, ll_tensor *x,
                     const ll_shape *shape, int n_parts);

ll_tensor *ll_tensor_add(ll_graph *g, ll_elem elem, const ll_shape *shape);
ll_view    ll_tensor_view(const ll_tensor *t); /* without data */
void       ll_dense_strides(const ll_shape *s, int64_t *stride);

/* Broadcasts the leading axes of x to those of lead (rank of them), keeping x's last n axes. */
ll_tensor *ll_expand_lead(ll_graph *g, ll_tensor *x, const ll_shape *lead, int n);
/* The common broadcast shape of a and b; false after recording a failure. */
bool ll_broadcast_shape(ll_graph *g, ll_op op, const ll_shape *a, const ll_shape *b, ll_shape *out);
/* Leading axes of several operands (NULL ones are skipped), operand i keeping its last keep[i]. */
bool ll_broadcast_lead(ll_graph *g, ll_op op, ll_tensor *const *x, const int *keep, int n,
                       ll_shape *lead);

#endif
