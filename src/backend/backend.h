/* src/backend: what an op computes, and where: the list of ops, the table of kernels that a backend
 * is, and memory of devices.
 *
 *   op.h, formulas.h   the list of ops; formulas of elementwise ones
 *   backend.h          this file: views, calls, the table
 *   device_memory.h    memory where the kernels compute
 *   random.h, adamw.h  dropout's draws; the optimiser's runs of parameters
 *
 * Inside it: ref (the definition, in double, for tests), cpu, cuda.
 * May touch: base, base/rng. */

/* What a backend is: a table of kernels indexed by op, and how it stores real numbers.
 *
 *     ll_call c = { .op = LL_OP_EXP, .n_threads = 2 };
 *     c.in = &x, c.n_in = 1;
 *     c.out = &y, c.n_out = 1;
 *     ll_backend_cpu.kernel[c.op](&c);
 *
 * Kernels check nothing (the graph did) and allocate nothing: c.work has the bytes that work_bytes
 * asked for. Outputs are dense and written with `=`. Inputs are laid out as the op's descriptor
 * demands: any strides, dense rows, or dense. */
#ifndef LL_BACKEND_BACKEND_H
#define LL_BACKEND_BACKEND_H

#include "backend/op.h"
#include "llapdiff/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LL_MAX_RANK = 6 };

/* LL_REAL is what the backend computes with: float, and double on ref. */
typedef enum ll_elem {
    LL_REAL,
    LL_INT,  /* int32_t: indices, steps, seeds */
    LL_HALF, /* a real that a plan keeps as bf16; only where the backend said so */
} ll_elem;

typedef struct ll_shape {
    int     rank; /* 0: a scalar */
    int64_t dim[LL_MAX_RANK];
} ll_shape;

#define LL_SHAPE(...) \
    ((ll_shape){ .rank = (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / 8), .dim = { __VA_ARGS__ } })
#define LL_SCALAR ((ll_shape){ 0 })

/* Memory seen as an array, outermost axis first. */
typedef struct ll_view {
    void    *data;
    bool     present; /* false: an optional operand that is not there */
    ll_elem  elem;
    ll_shape shape;
    int64_t  stride[LL_MAX_RANK]; /* in elements; 0 where an axis is broadcast */
} ll_view;

int64_t ll_shape_count(const ll_shape *s); /* product of the dims */
bool    ll_shape_equal(const ll_shape *a, const ll_shape *b);
bool    ll_view_dense(const ll_view *v);                   /* row-major without gaps */
int64_t ll_view_offset(const ll_view *v, int64_t i);       /* of the i-th element in row order */
int64_t ll_view_rows(const ll_view *v);                    /* product of all dims but the last */
int64_t ll_view_row_offset(const ll_view *v, int64_t row); /* of element 0 of a row */
/* Of the row of v that belongs to a row of a view of shape x: same rank, axes of length 1 repeat.
 */
int64_t ll_view_row_under(const ll_view *v, const ll_shape *x, int64_t row);

/* "[4,512,256]"; returns buf, which needs LL_SHAPE_TEXT bytes. */
enum { LL_SHAPE_TEXT = 160 };
const char *ll_shape_text(const ll_shape *s, char *buf);

/* One instruction of an elementwise chain. Operands below n_in are inputs, the others results of
 * earlier instructions; the last instruction's result is the output. */
typedef struct ll_chain_step {
    ll_op  op;
    int    arg[2];
    double a, b; /* attr.scalar */
} ll_chain_step;

enum { LL_CHAIN_STEPS = 12, LL_CHAIN_INPUTS = 8 };

typedef struct ll_op_chain {
    int           n_in, n_steps;
    ll_chain_step step[LL_CHAIN_STEPS];
} ll_op_chain;

/* One layer of a run of them: a LINEAR or a NORM. Operands below n_in are inputs, the others
 * results of earlier steps, -1 one that is not there. */
typedef struct ll_layer {
    bool     norm;
    bool     gelu;        /* of a LINEAR */
    double   eps, offset; /* of a NORM */
    int      arg[4];      /* x weight bias residual, or x weight bias */
    ll_shape shape;       /* of its result */
    int      out;         /* which result of the whole it is; -1: none */
} ll_layer;

enum { LL_LAYER_STEPS = 8, LL_LAYER_INPUTS = 24, LL_LAYER_OUTPUTS = 4 };

typedef struct ll_op_layers {
    int      n_in, n_steps;
    ll_layer step[LL_LAYER_STEPS];
} ll_op_layers;

/* MOVE's table of numbers: x0 = X0_OF_X x + X0_OF_PRED pred; eps = EPS_OF_X x + EPS_OF_PRED pred,
 * or of x0 where that is clipped; x' = NEXT_OF_X x + NEXT_OF_X0 x0 + NEXT_OF_BEFORE (x0 before) +
 * NEXT_OF_EPS eps. */
enum {
    LL_MOVE_X0_OF_X,
    LL_MOVE_X0_OF_PRED,
    LL_MOVE_EPS_OF_X,
    LL_MOVE_EPS_OF_PRED,
    LL_MOVE_NEXT_OF_X,
    LL_MOVE_NEXT_OF_X0,
    LL_MOVE_NEXT_OF_BEFORE,
    LL_MOVE_NEXT_OF_EPS,
    LL_MOVE_GUIDANCE,
    LL_MOVE_NUMBERS = 16
};

/* The options of an op; the member with the op's name, or the one op.h names, is the valid one. */
typedef union ll_attr {
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
        int axis[LL_MAX_RANK];
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
        bool reverse; /* from the last row to the first */
    } gru;
    struct {
        double   p;
        uint32_t id;
    } dropout;
    struct {
        int64_t  width;          /* numbers of a row */
        uint32_t stream, sample; /* as in base/rng/rng.h */
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
    const ll_op_chain  *chain;
    const ll_op_layers *layers;
} ll_attr;

/* Memory of one step that stays from run to run: another form of an operand that keeps its numbers
 * (ll_backend.kept_bytes), filled by the kernel where from is not that operand's data. */
typedef struct ll_kept {
    void       *data; /* aligned */
    const void *from;
} ll_kept;

typedef struct ll_call {
    ll_op          op;
    const ll_attr *attr;
    const ll_view *in;
    const ll_view *out;
    int            n_in, n_out;
    void          *work; /* aligned; see ll_backend.work_bytes */
    ll_kept       *kept; /* NULL: none */
    int            n_threads;
} ll_call;

typedef void (*ll_kernel_fn)(const ll_call *c);

struct ll_rng;

static inline size_t ll_order_work(int64_t n) { return 3 * sizeof(int32_t) * (size_t)n; }

/* Memory that the caller cannot reach: a GPU's. Work is queued, in order for each calling thread;
 * download and finish wait for it, and report what went wrong in it. Whatever fails has a why. */
typedef struct ll_memory {
    llap_status (*alloc)(size_t n_bytes, void **out); /* zeroed */
    void (*release)(void *p);
    llap_status (*upload)(void *to, const void *from, size_t n_bytes);
    llap_status (*download)(void *to, const void *from, size_t n_bytes);
    llap_status (*copy)(void *to, const void *from, size_t n_bytes); /* within this memory */
    llap_status (*clear)(void *p, size_t n_bytes);
    /* out [n * width]: n runs of `width` numbers that follow each other, in the order that
     * ll_rng_permute gives n by r; NULL: as they are. work has ll_order_work(n) bytes. */
    llap_status (*order)(uint32_t *out, int64_t n, int64_t width, const struct ll_rng *r,
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
} ll_memory;

typedef struct ll_backend {
    const char *name;
    size_t      real_bytes; /* of one LL_REAL */
    /* NULL: kernels work in the caller's memory. */
    const ll_memory *memory;
    /* Scratch one call needs; the views of c have no data yet. NULL: none ever. */
    size_t (*work_bytes)(const ll_call *c);
    /* Memory that one call would keep, and of which operand. 0: none. NULL: none ever. */
    size_t (*kept_bytes)(const ll_call *c, int *operand);
    /* Whether operand k (results come after the n_in operands) may be LL_HALF beside the kinds
     * that the others have in c. NULL: none ever. */
    bool (*half)(const ll_call *c, int k);
    /* Calls body(user), with threads standing by for the kernels that it calls. NULL: no need. */
    void (*together)(int n_threads, void (*body)(void *user), void *user);
    /* Whether LINEAR may have a residual that is broadcast, or a norm behind or before it, as in c;
     * whether LAYERS of weights kept as bf16, or the MLP, may be as in c; ATTENTION_GRAD of rows
     * that lie apart; CONCAT of its results as part of it, attr.attention.joined; NORM_GRAD with a
     * fifth operand that is added to dx; GELU as part of a LINEAR whose own result is wanted too,
     * its second one; GELU_GRAD as part of a MATMUL, whose third operand is where; SUM of the rows
     * of x as second result of the MATMUL x^T y. NULL: never. */
    bool (*takes)(const ll_call *c);
    /* Of the multiply-adds that the MLP's inner layer has by its shape: those executed. NULL: all.
     */
    double (*mlp_share)(void);
    /* Of the multiply-adds of c, whose operands have their data: the share that kernels leave out
     * since there are zeros. NULL: none. */
    double (*zero_share)(const ll_call *c);
    /* Does as many of the n calls from c on as it can at once, as if one came after the other, and
     * says how many; 0: none. NULL: none ever. */
    int (*several)(const ll_call *c, int n);
    /* A number above 0 for small calls: those of the same number are what several does at once
     * where none reads or writes what another writes. 0: not such a call. NULL: none ever. */
    int (*alike)(const ll_call *c);
    ll_kernel_fn kernel[LL_OP_COUNT]; /* NULL only for views */
} ll_backend;

#endif
