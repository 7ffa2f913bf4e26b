/* The list of operations: what a graph may contain and a backend must compute.
 *
 * Adding an op touches its line here, its descriptor (graph/op_*.c: shape rule and gradient), one
 * kernel per backend and one row of the test table. The tables are made from these lists, so that a
 * forgotten descriptor or kernel fails to link. */
#ifndef LL_BACKEND_OP_H
#define LL_BACKEND_OP_H

/* clang-format off */

/* Another way to look at the same memory: no kernel, nothing is computed. */
#define LL_VIEW_LIST(X) \
    X(RESHAPE, reshape)   \
    X(PERMUTE, permute)   \
    X(SLICE,   slice)     \
    X(SPLIT,   split)     /* equal parts of one axis, one output each */ \
    X(EXPAND,  expand)    /* length 1 (or a missing leading axis) read with stride 0 */ \
    X(DETACH,  detach)    /* stops the gradient */

/* y = f(x) for each element. */
#define LL_UNARY_LIST(X)  \
    X(COPY,     copy)       /* also what makes a view dense */ \
    X(NEG,      neg)        \
    X(EXP,      exp)        \
    X(LOG,      log)        \
    X(SIN,      sin)        \
    X(COS,      cos)        \
    X(TANH,     tanh)       \
    X(SIGMOID,  sigmoid)    \
    X(SILU,     silu)       \
    X(SOFTPLUS, softplus)   /* x itself above 20 */ \
    X(GELU,     gelu)       /* exact: 0.5 x (1 + erf(x / sqrt 2)) */ \
    X(SQRT,     sqrt)       \
    X(SQUARE,   square)     \
    X(ABS,      abs)        \
    X(SIGN,     sign)       \
    X(CLAMP,    clamp)      /* attr.scalar: to [a, b] */ \
    X(AFFINE,   affine)     /* attr.scalar: a x + b */

/* y = f(a, b) for each element. The _GRAD ones are x, dy -> dx. */
#define LL_BINARY_LIST(X)    \
    X(ADD,        add)         \
    X(SUB,        sub)         \
    X(MUL,        mul)         \
    X(DIV,        div)         \
    X(MAXIMUM,    maximum)     \
    X(MINIMUM,    minimum)     \
    X(AT_LEAST,   at_least)    /* 1 where a >= b, else 0 */ \
    X(MASK,       mask)        /* a where b is not 0, else 0, even where a is not finite */ \
    X(GELU_GRAD,  gelu_grad)   \
    X(SILU_GRAD,  silu_grad)   \
    X(CLAMP_GRAD, clamp_grad)  /* attr.scalar */

/* Everything with a shape rule of its own. */
#define LL_SHAPED_LIST(X)              \
    X(CHAIN,          chain)             /* a run of elementwise ops; made by the planner only */ \
    X(SUM,            sum)               /* attr.reduce */ \
    X(MAX,            max)               /* attr.reduce */ \
    X(SQUARES,        squares)           /* the sum of the squares of all operands, a scalar */ \
    X(CONCAT,         concat)            /* attr.part.axis */ \
    X(PAD,            pad)               /* attr.part: zeros around x along one axis */ \
    X(MATMUL,         matmul)            /* attr.matmul */ \
    X(LINEAR,         linear)            /* x W^T + b [then GELU] [+ residual]; attr.linear */ \
    X(SOFTMAX,        softmax)           /* last axis; a row of -inf gives zeros */ \
    X(SOFTMAX_GRAD,   softmax_grad)      \
    X(NORM,           norm)              /* layer norm, affine or modulated; attr.norm */ \
    X(NORM_GRAD,      norm_grad)         \
    X(ATTENTION,      attention)         /* attr.attention */ \
    X(ATTENTION_GRAD, attention_grad)    \
    X(ROTARY,         rotary)            /* attr.rotary */ \
    X(UNFOLD,         unfold)            /* windows along time, for convolution; attr.unfold */ \
    X(FOLD,           fold)              \
    X(EMBEDDING,      embedding)         \
    X(EMBEDDING_GRAD, embedding_grad)    \
    X(BASIS,          basis)             /* damped sinusoids */ \
    X(BASIS_GRAD,     basis_grad)        \
    X(GRU,            gru)               /* a recurrence over time; attr.gru */ \
    X(GRU_GRAD,       gru_grad)          \
    X(DROPOUT,        dropout)           /* attr.dropout */ \
    X(DRAW,           draw)              /* random numbers of rows, by name; attr.draw */ \
    X(WHOLE,          whole)             /* real numbers that are whole, as ints */ \
    X(ADAMW,          adamw)             /* attr.adamw */

/* What a backend may do without: who uses one asks for its kernel first. */
#define LL_EXTRA_LIST(X) \
    X(NORMED, normed)      /* (x W^T + table) / deviation of the rows of another tensor + bias; attr.norm.eps */

/* Several of the above as one, made by the planner where the backend takes it: on CPUs. */
#define LL_FUSED_LIST(X) \
    X(MLP, mlp)            /* norm, linear, GELU, linear [+ residual]; attr.norm */

/* Likewise on GPUs. */
#define LL_TAKEN_LIST(X) \
    X(LAYERS, layers)      /* a run of LINEAR and NORM over the same rows; attr.layers */ \
    X(MOVE, move)          /* a step of the sampler: guidance, estimate, transition; attr.move */ \
    X(GATED, gated)        /* a gated layer of narrow rows and the head behind it; attr.norm.eps */

#define LL_KERNEL_LIST(X) \
    LL_UNARY_LIST(X) LL_BINARY_LIST(X) LL_SHAPED_LIST(X) LL_EXTRA_LIST(X) LL_FUSED_LIST(X) LL_TAKEN_LIST(X)
#define LL_OP_LIST(X) LL_VIEW_LIST(X) LL_KERNEL_LIST(X)
/* clang-format on */

typedef enum ll_op {
#define X(ID, id) LL_OP_##ID,
    LL_OP_LIST(X)
#undef X
        LL_OP_COUNT
} ll_op;

static inline int ll_op_is_view(ll_op op) { return op <= LL_OP_DETACH; }
static inline int ll_op_is_unary(ll_op op) { return op >= LL_OP_COPY && op <= LL_OP_AFFINE; }
static inline int ll_op_is_binary(ll_op op) { return op >= LL_OP_ADD && op <= LL_OP_CLAMP_GRAD; }

const char *ll_op_name(ll_op op); /* "linear" */

#endif
