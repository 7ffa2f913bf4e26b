/* What a backend is: a table of kernels indexed by op, and how it stores real numbers.
 *
 *     llap_call c = { .op = LLAP_OP_EXP, .n_threads = 2 };
 *     c.in = &x, c.n_in = 1;
 *     c.out = &y, c.n_out = 1;
 *     llap_backend_cpu.kernel[c.op](&c);
 *
 * Kernels check nothing (the graph did) and allocate nothing: c.work has the bytes that work_bytes
 * asked for. Outputs are dense and written with `=`. Inputs are laid out as the op's descriptor
 * demands: any strides, dense rows, or dense. */
#ifndef LLAP_BACKEND_BACKEND_H
#define LLAP_BACKEND_BACKEND_H

#include "backend/op.h"
#include "llapdiff/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LLAP_MAX_RANK = 6 };

/* LLAP_REAL is what the backend computes with: float, and double on ref. */
typedef enum llap_elem {
    LLAP_REAL,
    LLAP_INT,  /* int32_t: indices, steps, seeds */
    LLAP_HALF, /* a real that a plan keeps as bf16; only where the backend said so */
} llap_elem;

typedef struct llap_shape {
    int     rank; /* 0: a scalar */
    int64_t dim[LLAP_MAX_RANK];
} llap_shape;

#define LLAP_SHAPE(...) \
    ((llap_shape){ .rank = (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / 8), .dim = { __VA_ARGS__ } })
#define LLAP_SCALAR ((llap_shape){ 0 })

/* Memory seen as an array, outermost axis first. */
typedef struct llap_view {
    void      *data;
    bool       present; /* false: an optional operand that is not there */
    llap_elem  elem;
    llap_shape shape;
    int64_t    stride[LLAP_MAX_RANK]; /* in elements; 0 where an axis is broadcast */
} llap_view;

int64_t llap_shape_count(const llap_shape *s); /* product of the dims */
bool    llap_shape_equal(const llap_shape *a, const llap_shape *b);
bool    llap_view_dense(const llap_view *v);             /* row-major without gaps */
int64_t llap_view_offset(const llap_view *v, int64_t i); /* of the i-th element in row order */
int64_t llap_view_rows(const llap_view *v);              /* product of all dims but the last */
int64_t llap_view_row_offset(const llap_view *v, int64_t row); /* of element 0 of a row */
/* Of the row of v that belongs to a row of a view of shape x: same rank, axes of length 1 repeat.
 */
int64_t llap_view_row_under(const llap_view *v, const llap_shape *x, int64_t row);

/* "[4,512,256]"; returns buf, which needs LLAP_SHAPE_TEXT bytes. */
enum { LLAP_SHAPE_TEXT = 160 };
const char *llap_shape_text(const llap_shape *s, char *buf);

/* One instruction of an elementwise chain. Operands below n_in are inputs, the others results of
 * earlier instructions; the last instruction's result is the output. */
typedef struct llap_chain_step {
    llap_op op;
    int     arg[2];
    double  a, b; /* attr.scalar */
} llap_chain_step;

enum { LLAP_CHAIN_STEPS = 12, LLAP_CHAIN_INPUTS = 8 };

typedef struct llap_op_chain {
    int             n_in, n_steps;
    llap_chain_step step[LLAP_CHAIN_STEPS];
} llap_op_chain;

/* One layer of a run of them: a LINEAR or a NORM. Operands below n_in are inputs, the others
 * results of earlier steps, -1 one that is not there. */
typedef struct llap_layer {
    bool       norm;
    bool       gelu;        /* of a LINEAR */
    double     eps, offset; /* of a NORM */
    int        arg[4];      /* x weight bias residual, or x weight bias */
    llap_shape shape;       /* of its result */
    int        out;         /* which result of the whole it is; -1: none */
} llap_layer;

enum { LLAP_LAYER_STEPS = 8, LLAP_LAYER_INPUTS = 24, LLAP_LAYER_OUTPUTS = 4 };

typedef struct llap_op_layers {
    int        n_in, n_steps;
    llap_layer step[LLAP_LAYER_STEPS];
} llap_op_layers;

/* MOVE's table of numbers: x0 = X0_OF_X x + X0_OF_PRED pred; eps = EPS_OF_X x + EPS_OF_PRED pred,
 * or of x0 where that is clipped; x' = NEXT_OF_X x + NEXT_OF_X0 x0 + NEXT_OF_BEFORE (x0 before) +
 * NEXT_OF_EPS eps. */
enum {
    LLAP_MOVE_X0_OF_X,
    LLAP_MOVE_X0_OF_PRED,
    LLAP_MOVE_EPS_OF_X,
    LLAP_MOVE_EPS_OF_PRED,
    LLAP_MOVE_NEXT_OF_X,
    LLAP_MOVE_NEXT_OF_X0,
    LLAP_MOVE_NEXT_OF_BEFORE,
    LLAP_MOVE_NEXT_OF_EPS,
    LLAP_MOVE_GUIDANCE,
    LLAP_MOVE_NUMBERS = 16
};

/* The options of an op; the member with the op's name, or the one op.h names, is the valid one. */
typedef union llap_attr {
    struct {
        double a, b;
    } scalar;
    struct {
        unsigned axes; /* bit i: axis i is reduced to length 1 */
    } reduce;
    struct {
        int     axis;
        int64_t start, count; /* pad, slice: x lies at [start, start + x length) of count */
    } part;
    struct {
        int axis[LLAP_MAX_RANK];
    } permute;
    struct {
        bool ta, tb; /* the operand's last two axes are swapped */
    } matmul;
    struct {
        bool   gelu;
        bool   norm;   /* a norm of the result's rows is a second one, */
        bool   normed; /* or one of x's rows comes before the product: operands 4 and 5 are its */
        double eps, offset; /* weight and bias, these its options; made by the planner only */
    } linear;
    struct {
        double eps;
        double
            offset; /* not of normed: y = xhat (weight + offset) + bias: 0 affine, 1 modulation */
    } norm;
    struct {
        int      n_heads;
        double   scale;   /* of the scores */
        double   dropout; /* of the weights; 0: none */
        uint32_t id;      /* names this op's random numbers */
        int      joined;  /* of the gradient: so many of dq, dk, dv, the last ones, are one result,
                             side by side; 0: none */
    } attention;
    struct {
        int    n_heads;
        double base;
        double direction; /* 1, or -1 for the gradient */
    } rotary;
    struct {
        int width; /* odd */
    } unfold;
    struct {
        double   p;
        uint32_t id;
    } dropout;
    struct {
        int64_t  width;          /* numbers of a row */
        uint32_t stream, sample; /* as in base/rng.h */
        bool     normal;         /* else uniform, */
        uint32_t below;          /* or where this is not 0 whole numbers below it */
    } draw;
    struct {
        double beta1, beta2, eps, weight_decay;
    } adamw;
    struct {
        double clip;    /* of x0; 0: none */
        bool   rescale; /* a guided prediction gets the moments of the given one */
    } move;
    const llap_op_chain  *chain;
    const llap_op_layers *layers;
} llap_attr;

/* Memory of one step that stays from run to run: another form of an operand that keeps its numbers
 * (llap_backend.kept_bytes), filled by the kernel where from is not that operand's data. */
typedef struct llap_kept {
    void       *data; /* aligned */
    const void *from;
} llap_kept;

typedef struct llap_call {
    llap_op          op;
    const llap_attr *attr;
    const llap_view *in;
    const llap_view *out;
    int              n_in, n_out;
    void            *work; /* aligned; see llap_backend.work_bytes */
    llap_kept       *kept; /* NULL: none */
    int              n_threads;
} llap_call;

typedef void (*llap_kernel_fn)(const llap_call *c);

struct llap_rng;

static inline size_t llap_order_work(int64_t n) { return 3 * sizeof(int32_t) * (size_t)n; }

/* Memory that the caller cannot reach: a GPU's. Work is queued, in order for each calling thread;
 * download and finish wait for it, and report what went wrong in it. Whatever fails has a why. */
typedef struct llap_memory {
    llap_status (*alloc)(size_t n_bytes, void **out); /* zeroed */
    void (*release)(void *p);
    llap_status (*upload)(void *to, const void *from, size_t n_bytes);
    llap_status (*download)(void *to, const void *from, size_t n_bytes);
    llap_status (*copy)(void *to, const void *from, size_t n_bytes); /* within this memory */
    llap_status (*clear)(void *p, size_t n_bytes);
    /* out [n * width]: n runs of `width` numbers that follow each other, in the order that
     * llap_rng_permute gives n by r; NULL: as they are. work has llap_order_work(n) bytes. */
    llap_status (*order)(uint32_t *out, int64_t n, int64_t width, const struct llap_rng *r,
                         void *work);
    llap_status (*finish)(void);
    /* What is queued between record and recorded is kept instead, to be repeated at once. Nothing
     * may be allocated or downloaded in between. */
    bool (*recording)(void);
    llap_status (*record)(void);
    llap_status (*recorded)(void **out);
    llap_status (*replay)(void *recording);
    void (*forget)(void *recording);
    const char *(*why)(void);
    /* Work that need not wait for each other: what is queued after aside(true) starts behind what
     * was queued before and goes beside what follows aside(false); join waits for it. NULL: not
     * there. */
    llap_status (*aside)(bool begin);
    llap_status (*join)(void);
} llap_memory;

typedef struct llap_backend {
    const char *name;
    size_t      real_bytes; /* of one LLAP_REAL */
    /* NULL: kernels work in the caller's memory. */
    const llap_memory *memory;
    /* Scratch one call needs; the views of c have no data yet. NULL: none ever. */
    size_t (*work_bytes)(const llap_call *c);
    /* Memory that one call would keep, and of which operand. 0: none. NULL: none ever. */
    size_t (*kept_bytes)(const llap_call *c, int *operand);
    /* Whether operand k (results come after the n_in operands) may be LLAP_HALF beside the kinds
     * that the others have in c. NULL: none ever. */
    bool (*half)(const llap_call *c, int k);
    /* Calls body(user), with threads standing by for the kernels that it calls. NULL: no need. */
    void (*together)(int n_threads, void (*body)(void *user), void *user);
    /* Whether LINEAR may have a residual that is broadcast, or a norm behind or before it, as in c;
     * whether LAYERS of weights kept as bf16, or the MLP, may be as in c; ATTENTION_GRAD of rows
     * that lie apart; CONCAT of its results as part of it, attr.attention.joined; NORM_GRAD with a
     * fifth operand that is added to dx; GELU as part of a LINEAR whose own result is wanted too,
     * its second one; GELU_GRAD as part of a MATMUL, whose third operand is where; SUM of the rows
     * of x as second result of the MATMUL x^T y. NULL: never. */
    bool (*takes)(const llap_call *c);
    /* Of the multiply-adds that the MLP's inner layer has by its shape: those executed. NULL: all.
     */
    double (*mlp_share)(void);
    /* Of the multiply-adds of c, whose operands have their data: the share that kernels leave out
     * since there are zeros. NULL: none. */
    double (*zero_share)(const llap_call *c);
    /* Does as many of the n calls from c on as it can at once, as if one came after the other, and
     * says how many; 0: none. NULL: none ever. */
    int (*several)(const llap_call *c, int n);
    /* A number above 0 for small calls: those of the same number are what several does at once
     * where none reads or writes what another writes. 0: not such a call. NULL: none ever. */
    int (*alike)(const llap_call *c);
    llap_kernel_fn kernel[LLAP_OP_COUNT]; /* NULL only for views */
} llap_backend;

#endif
