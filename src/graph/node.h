/* Inside the graph layer: what tensors, nodes and op descriptors are. */
#ifndef LLAP_GRAPH_NODE_H
#define LLAP_GRAPH_NODE_H

#include "base/arena.h"
#include "graph/graph.h"

typedef struct llap_node llap_node;

enum {
    LLAP_MAX_OUT = 4, /* of a kernel; a split may have more */
    LLAP_SCOPE_DEPTH = 16,
};

struct llap_tensor {
    llap_graph  *graph;
    int          id; /* counts from 0 in the graph */
    llap_elem    elem;
    llap_shape   shape;
    int64_t      stride[LLAP_MAX_RANK];
    llap_tensor *base;   /* whose memory this is; itself unless a view */
    int64_t      offset; /* in elements from base's start */
    llap_node   *node;   /* producer; NULL for leaves */
    int          out;    /* which output of node */

    llap_leaf     leaf;
    const char   *name;   /* of leaves */
    llap_init     init;   /* of parameters and states */
    const double *values; /* of constants */
    llap_tensor  *update; /* new content after a run, or NULL */
    bool          half;   /* an input that may be bf16 */
};

struct llap_node {
    llap_op       op;
    int           id;
    llap_attr     attr;
    const char   *label; /* the scope it was made in */
    int           n_in, n_out;
    llap_tensor **in; /* NULL: an optional operand that is not there */
    llap_tensor **out;
};

typedef struct llap_named {
    const char  *name;
    llap_tensor *tensor;
    bool         half; /* an output that may be bf16 */
} llap_named;

struct llap_graph {
    llap_arena    arena;
    llap_status   status;
    char         *detail; /* of status; arena */
    llap_node   **node;
    int           n_nodes, nodes_cap;
    llap_tensor **tensor; /* by id */
    int           n_tensors, tensors_cap;
    llap_named   *output;
    int           n_outputs, outputs_cap;
    llap_named   *note;
    int           n_notes, notes_cap;
    const char   *scope[LLAP_SCOPE_DEPTH]; /* full paths */
    int           depth;
    uint32_t      n_random; /* ops that draw random numbers */
};

/* What an op means, whoever computes it. */
typedef struct llap_op_desc {
    const char *operands; /* their names in messages, separated by spaces; the last one repeats */
    int         n_required;
    int         n_out;
    /* One letter per operand, the last one repeats: a any strides; r dense last axis; d dense;
     * i dense int. The graph copies what does not fit. */
    const char *layout;
    bool        whole;       /* its outputs are ints */
    unsigned    in_place[3]; /* bit i: output j may overwrite operand i if that dies here */
    /* Only home of the shape rule; false after llap_node_fail. */
    bool (*infer)(llap_graph *g, const llap_node *n, llap_shape *out);
    /* Adds the nodes of dx[i] = J_i^T dy; dy[o] may be NULL, dx[i] may stay NULL. NULL: none. */
    void (*vjp)(llap_graph *g, const llap_node *n, llap_tensor *const *dy, llap_tensor **dx);
} llap_op_desc;

#define X(ID, id) extern const llap_op_desc llap_desc_##id;
LLAP_SHAPED_LIST(X)
LLAP_EXTRA_LIST(X)
LLAP_TAKEN_LIST(X)
LLAP_FUSED_LIST(X)
#undef X

#define X(ID, id) \
    void llap_vjp_##id(llap_graph *g, const llap_node *n, llap_tensor *const *dy, llap_tensor **dx);
LLAP_VIEW_LIST(X)
#undef X

const llap_op_desc *llap_op_desc_of(llap_op op);

/* "scope.name" in the arena; NULL after recording a failure. */
const char *llap_scoped(llap_graph *g, const char *name);

/* Adds a node; n_in operands, trailing optional ones may be left out. NULL on failure. */
llap_node   *llap_node_add(llap_graph *g, llap_op op, const llap_attr *attr, llap_tensor *const *in,
                           int n_in);
llap_tensor *llap_node_add1(llap_graph *g, llap_op op, const llap_attr *attr,
                            llap_tensor *const *in, int n_in); /* its output 0 */

/* Records "op 'label': message". Always false. */
bool llap_node_fail(llap_graph *g, const llap_node *n, const char *fmt, ...) LLAP_PRINTF(3, 4);
/* Fails with "op 'label': NAME expected SHAPE, found SHAPE" unless operand i has that shape. */
bool llap_node_expect(llap_graph *g, const llap_node *n, int i, llap_shape expected);
bool llap_node_rank(llap_graph *g, const llap_node *n, int i, int min_rank);

/* Adds a view node with one output per part; the caller sets shape, stride and offset of each. */
llap_node *llap_view_add(llap_graph *g, llap_op op, const llap_attr *attr, llap_tensor *x,
                         const llap_shape *shape, int n_parts);

llap_tensor *llap_tensor_add(llap_graph *g, llap_elem elem, const llap_shape *shape);
llap_view    llap_tensor_view(const llap_tensor *t); /* without data */
void         llap_dense_strides(const llap_shape *s, int64_t *stride);

/* Broadcasts the leading axes of x to those of lead (rank of them), keeping x's last n axes. */
llap_tensor *llap_expand_lead(llap_graph *g, llap_tensor *x, const llap_shape *lead, int n);
/* The common broadcast shape of a and b; false after recording a failure. */
bool llap_broadcast_shape(llap_graph *g, llap_op op, const llap_shape *a, const llap_shape *b,
                          llap_shape *out);
/* Leading axes of several operands (NULL ones are skipped), operand i keeping its last keep[i]. */
bool llap_broadcast_lead(llap_graph *g, llap_op op, llap_tensor *const *x, const int *keep, int n,
                         llap_shape *lead);

#endif
