/* The tensor graph: describe a computation once, in the order of the paper's equations.
 *
 *     llap_graph *g;
 *     llap_status st = llap_graph_create(&g);                       caller owns: llap_graph_destroy
 *     if (st != LLAP_OK) return st;
 *     llap_tensor *x = llap_input(g, "x", LLAP_SHAPE(B, 24));
 *     llap_scope_push(g, "coef2hid");
 *     llap_tensor *w = llap_param(g, "weight", LLAP_SHAPE(256, 24), LLAP_INIT_UNIFORM(0.2));
 *     llap_tensor *b = llap_param(g, "bias", LLAP_SHAPE(256), LLAP_INIT_ZERO);
 *     llap_tensor *y = llap_gelu(g, llap_linear(g, x, w, b));
 *     llap_scope_pop(g);
 *     llap_output(g, "y", y);
 *     st = llap_graph_status(g);                                    read once, at the end
 *
 * The graph's arena owns every tensor; they are valid until llap_graph_destroy. Shapes are checked
 * when a node is made. The error is sticky: the first failure is kept, the failing call and every
 * later one return NULL, and NULL operands are accepted; so nothing is checked among the
 * mathematics. Shapes are outermost first. Binary ops broadcast as NumPy does. Not thread-safe.
 *
 * graph/plan.h turns a graph into something that runs. */
#ifndef LLAP_GRAPH_GRAPH_H
#define LLAP_GRAPH_GRAPH_H

#include "backend/backend.h"

#include <llapdiff/status.h>

typedef struct llap_graph  llap_graph;
typedef struct llap_tensor llap_tensor;

llap_status llap_graph_create(llap_graph **out); /* caller owns: llap_graph_destroy */
void        llap_graph_destroy(llap_graph *g);   /* NULL is fine */

/* The first failure with its detail, for example
 *     linear 'blocks.0.coef2hid': weight expected [256,24], found [256,16] */
llap_status llap_graph_status(const llap_graph *g);

/* For layers that check what ops cannot know: records a failure unless there is one already. */
void llap_graph_fail(llap_graph *g, llap_status code, const char *fmt, ...) LLAP_PRINTF(3, 4);

/* Names: what is made between push and pop is called "scope.name"; the empty scope adds nothing. */
void llap_scope_push(llap_graph *g, const char *name);
void llap_scope_pushf(llap_graph *g, const char *fmt, ...) LLAP_PRINTF(2, 3);
void llap_scope_pop(llap_graph *g);

llap_shape  llap_shape_of(const llap_tensor *x);      /* rank 0 for NULL */
int64_t     llap_dim(const llap_tensor *x, int axis); /* negative counts from the end; 0 for NULL */
const char *llap_tensor_name(const llap_tensor *x);   /* of a leaf; else "" */

/* Remembers x under the current scope's name (or scope.name), so that tests and tools can look at
 * intermediate values; costs nothing else. Gives x. */
llap_tensor *llap_note(llap_graph *g, const char *name, llap_tensor *x); /* name may be NULL */
llap_tensor *llap_noted(const llap_graph *g, const char *full_name); /* NULL: none, or the last */

/* -------- leaves: memory that the caller binds at run time, by name -------- */

typedef enum llap_init_kind {
    LLAP_INIT_KIND_FILL,    /* a */
    LLAP_INIT_KIND_UNIFORM, /* on (-a, a) */
    LLAP_INIT_KIND_NORMAL,  /* mean 0, standard deviation a */
} llap_init_kind;

typedef struct llap_init { /* how a fresh parameter starts; nn/params.h draws it */
    llap_init_kind kind;
    double         a;
} llap_init;

#define LLAP_INIT_FILL(value) ((llap_init){ LLAP_INIT_KIND_FILL, (value) })
#define LLAP_INIT_ZERO LLAP_INIT_FILL(0.0)
#define LLAP_INIT_ONE LLAP_INIT_FILL(1.0)
#define LLAP_INIT_UNIFORM(bound) ((llap_init){ LLAP_INIT_KIND_UNIFORM, (bound) })
#define LLAP_INIT_NORMAL(std) ((llap_init){ LLAP_INIT_KIND_NORMAL, (std) })

typedef enum llap_leaf {
    LLAP_LEAF_NONE,
    LLAP_LEAF_PARAM, /* what training changes */
    LLAP_LEAF_STATE, /* what a run may change otherwise: moments, EMA, u and v, counters */
    LLAP_LEAF_INPUT,
    LLAP_LEAF_CONSTANT, /* values kept by the graph */
} llap_leaf;

/* Asking again for a name of the same kind and shape gives the same tensor. */
llap_tensor *llap_param(llap_graph *g, const char *name, llap_shape shape, llap_init init);
llap_tensor *llap_state(llap_graph *g, const char *name, llap_shape shape, llap_init init);
llap_tensor *llap_input(llap_graph *g, const char *name, llap_shape shape);
llap_tensor *llap_input_int(llap_graph *g, const char *name, llap_shape shape);

/* The random state: int state "rng" = { seed, seed's high half, step, step's high half }, outside
 * all scopes. Whoever trains advances the step between runs. */
llap_tensor *llap_random(llap_graph *g);

llap_tensor *llap_constant(llap_graph *g, llap_shape shape, const double *values); /* copied */
llap_tensor *llap_full(llap_graph *g, llap_shape shape, double value);

/* All leaves but constants, in order of making. */
typedef struct llap_leaf_info {
    const char *name; /* borrowed until llap_graph_destroy */
    llap_leaf   leaf;
    llap_elem   elem;
    llap_shape  shape;
    llap_init   init;
} llap_leaf_info;

int            llap_graph_n_leaves(const llap_graph *g);
llap_leaf_info llap_graph_leaf(const llap_graph *g, int i);

/* The i-th parameter, in order of making; NULL when there is none. */
llap_tensor *llap_graph_param(const llap_graph *g, int i);
int          llap_graph_n_params(const llap_graph *g);

/* -------- results -------- */

void llap_output(llap_graph *g, const char *name, llap_tensor *x); /* kept readable after a run */
/* The same for who takes it by llap_run_output_near: bf16 where the backend writes it so, see
 * llap_plan_output_elem. And an input that may be such: its slot says whether it is. */
void         llap_output_half(llap_graph *g, const char *name, llap_tensor *x);
llap_tensor *llap_input_half(llap_graph *g, const char *name, llap_shape shape);

/* After a run, the memory bound to the parameter or state holds value. All reads of it in the graph
 * see the old content. */
void         llap_update(llap_graph *g, llap_tensor *leaf, llap_tensor *value);
llap_tensor *llap_updated(llap_graph *g, llap_tensor *leaf); /* the value so far: update or leaf */

/* Adds the nodes of d loss / d wrt[i] to the graph; grad[i] is NULL where the loss does not depend
 * on wrt[i]. loss has one element. */
void llap_gradients(llap_graph *g, llap_tensor *loss, llap_tensor *const *wrt, int n,
                    llap_tensor **grad);

/* -------- views: no computation, no copy where strides can say it -------- */

llap_tensor *llap_reshape(llap_graph *g, llap_tensor *x, llap_shape shape); /* one dim may be -1 */
llap_tensor *llap_permute(llap_graph *g, llap_tensor *x,
                          const int *axes);                 /* y axis i = x axis axes[i] */
llap_tensor *llap_transpose(llap_graph *g, llap_tensor *x); /* last two axes */
llap_tensor *llap_slice(llap_graph *g, llap_tensor *x, int axis, int64_t start, int64_t n);
void         llap_split_axis(llap_graph *g, llap_tensor *x, int axis, int n, llap_tensor **parts);
llap_tensor *llap_expand(llap_graph *g, llap_tensor *x, llap_shape shape); /* broadcast */
llap_tensor *llap_unsqueeze(llap_graph *g, llap_tensor *x, int axis); /* a new axis of length 1 */
llap_tensor *llap_detach(llap_graph *g, llap_tensor *x);
llap_tensor *llap_repeat(llap_graph *g, llap_tensor *x, int axis, int64_t n); /* each n times */
llap_tensor *llap_concat(llap_graph *g, llap_tensor *const *x, int n, int axis);

/* -------- elementwise -------- */

llap_tensor *llap_neg(llap_graph *g, llap_tensor *x);
llap_tensor *llap_exp(llap_graph *g, llap_tensor *x);
llap_tensor *llap_ln(llap_graph *g, llap_tensor *x); /* natural logarithm */
llap_tensor *llap_sin(llap_graph *g, llap_tensor *x);
llap_tensor *llap_cos(llap_graph *g, llap_tensor *x);
llap_tensor *llap_tanh(llap_graph *g, llap_tensor *x);
llap_tensor *llap_sigmoid(llap_graph *g, llap_tensor *x);
llap_tensor *llap_silu(llap_graph *g, llap_tensor *x);
llap_tensor *llap_softplus(llap_graph *g, llap_tensor *x);
llap_tensor *llap_gelu(llap_graph *g, llap_tensor *x);
llap_tensor *llap_sqrt(llap_graph *g, llap_tensor *x);
llap_tensor *llap_square(llap_graph *g, llap_tensor *x);
llap_tensor *llap_abs(llap_graph *g, llap_tensor *x);
llap_tensor *llap_clamp(llap_graph *g, llap_tensor *x, double lo, double hi);
llap_tensor *llap_affine(llap_graph *g, llap_tensor *x, double a, double b); /* a x + b */
llap_tensor *llap_scale(llap_graph *g, llap_tensor *x, double a);

llap_tensor *llap_add(llap_graph *g, llap_tensor *a, llap_tensor *b);
llap_tensor *llap_sub(llap_graph *g, llap_tensor *a, llap_tensor *b);
llap_tensor *llap_mul(llap_graph *g, llap_tensor *a, llap_tensor *b);
llap_tensor *llap_div(llap_graph *g, llap_tensor *a, llap_tensor *b);
llap_tensor *llap_maximum(llap_graph *g, llap_tensor *a, llap_tensor *b);
llap_tensor *llap_minimum(llap_graph *g, llap_tensor *a, llap_tensor *b);
llap_tensor *llap_at_least(llap_graph *g, llap_tensor *a, llap_tensor *b); /* 1 where a >= b */
llap_tensor *llap_mask(llap_graph *g, llap_tensor *x,
                       llap_tensor *keep); /* x, or 0 where keep is 0 */

/* Inverted dropout, keyed by (seed, this op, step, element); p == 0 gives x. */
llap_tensor *llap_dropout(llap_graph *g, llap_tensor *x, double p);

/* Random numbers by name (base/rng.h): [b,k] is number k of (seed, stream, id, sample, step), where
 * key, int [4], holds { seed, its high half, step, not looked at } and row index[b] of ids, int
 * [n,2], the low and the high half of id. index int [B] -> [B,width]. */
typedef struct llap_draw_attr {
    int64_t  width;
    uint32_t stream, sample;
    bool     normal; /* else uniform on [0,1), */
    uint32_t below;  /* or where this is not 0 llap_rng_below of it, at most 2^24 */
} llap_draw_attr;
llap_tensor *llap_draw(llap_graph *g, llap_tensor *key, llap_tensor *ids, llap_tensor *index,
                       const llap_draw_attr *attr);
llap_tensor *llap_whole(llap_graph *g, llap_tensor *x); /* whole numbers as ints; no gradient */

/* -------- reductions: bit i of axes reduces axis i, which stays with length 1 -------- */

#define LLAP_AXIS(i) (1u << (i))
#define LLAP_ALL_AXES (~0u)
llap_tensor *llap_sum(llap_graph *g, llap_tensor *x, unsigned axes);
llap_tensor *llap_mean(llap_graph *g, llap_tensor *x, unsigned axes);
llap_tensor *llap_max(llap_graph *g, llap_tensor *x, unsigned axes); /* ties share the gradient */
llap_tensor *llap_squeeze(llap_graph *g, llap_tensor *x,
                          unsigned axes); /* drops axes of length 1 */

/* The sum of the squares of all numbers of all x, a scalar. */
llap_tensor *llap_squares(llap_graph *g, llap_tensor *const *x, int n);

/* sum(x m) and sum(x m) / max(sum(m), 1); m broadcasts to x. Where m is 0, x is not looked at. */
llap_tensor *llap_masked_sum(llap_graph *g, llap_tensor *x, llap_tensor *m, unsigned axes);
llap_tensor *llap_masked_mean(llap_graph *g, llap_tensor *x, llap_tensor *m, unsigned axes);

/* -------- linear algebra -------- */

/* a [...,m,k] (or [...,k,m] with ta), b [...,k,n] (or [...,n,k] with tb) -> [...,m,n]. Leading axes
 * broadcast; what is shared is read in place. */
llap_tensor *llap_matmul(llap_graph *g, llap_tensor *a, bool ta, llap_tensor *b, bool tb);

/* x [...,in], weight [out,in], bias [out] or NULL -> x W^T + b, [...,out] */
llap_tensor *llap_linear(llap_graph *g, llap_tensor *x, llap_tensor *weight, llap_tensor *bias);

/* (x W^T + table) / sqrt(variance of the rows of like + eps) + bias: a layer norm of like and the
 * layer behind it, where like is x times a matrix plus a table of rows (spec 9.1 at work: x is
 * narrow, and what else there is to multiply is shared). x [...,m,in], weight [out,in], table
 * [m,out], bias [out], like [...,m,h] -> [...,m,out]. No gradient. Not every backend has it. */
llap_tensor *llap_normed(llap_graph *g, llap_tensor *x, llap_tensor *weight, llap_tensor *table,
                         llap_tensor *bias, llap_tensor *like, double eps);

typedef struct llap_move_in { /* [...,h,Z] each */
    llap_tensor *x, *before;  /* before: the last estimate */
    llap_tensor *table;       /* [LLAP_MOVE_NUMBERS] */
    llap_tensor *given, *free;
    double       clip;
    bool         rescale;
} llap_move_in;

/* A step of the sampler: the prediction is given, or with free (or NULL) free + g (given - free),
 * moved and scaled, if asked for, to the mean and deviation that given has in the last two axes
 * (deviations of at least 1e-6); then *x0, clipped to +-clip where that is not 0, and *next as
 * backend.h says. No gradient. Not every backend has it. */
void llap_move(llap_graph *g, const llap_move_in *in, llap_tensor **next, llap_tensor **x0);

/* y = basis theta, basis [B,1,h,M], theta [B,R,M,Z]; y' = y + w_out (u GELU(gate)), [gate|u] = w_in
 * norm(y); then skip y' + w_head norm(y'). w_in [2H,Z], w_out [Z,H], w_head [Z,Z], each with its
 * bias; both norms have weight and bias. No gradient. Not every backend has it, nor all sizes. */
typedef struct llap_gated_in {
    llap_tensor *basis, *theta, *norm[2], *in[2], *out[2], *head_norm[2], *head[2];
    llap_tensor *skip; /* scalar */
} llap_gated_in;

llap_tensor *llap_gated(llap_graph *g, const llap_gated_in *in, double eps);

/* Cross-correlation along time with zero padding (k-1)/2: x [...,l,in], weight [out,in,k], k odd,
 * bias [out] or NULL -> [...,l,out] */
llap_tensor *llap_conv1d(llap_graph *g, llap_tensor *x, llap_tensor *weight, llap_tensor *bias);

/* table [n,width], index int [...] -> [...,width] */
llap_tensor *llap_embedding(llap_graph *g, llap_tensor *table, llap_tensor *index);

/* -------- normalisation and attention -------- */

llap_tensor *llap_softmax(llap_graph *g, llap_tensor *x); /* last axis; a row of -inf gives zeros */

/* Over the last axis, biased variance: (x - m) / sqrt(v + eps) * weight + bias; or both NULL.
 */
llap_tensor *llap_layer_norm(llap_graph *g, llap_tensor *x, llap_tensor *weight, llap_tensor *bias,
                             double eps);
/* AdaLN: (1 + scale) (x - m) / sqrt(v + eps) + shift; scale and shift broadcast to x, full width.
 */
llap_tensor *llap_modulated_norm(llap_graph *g, llap_tensor *x, llap_tensor *scale,
                                 llap_tensor *shift, double eps);

typedef struct llap_attention_opts {
    int          n_heads;     /* divides the widths; head i is the i-th contiguous piece */
    llap_tensor *key_padding; /* [...,Lk], not 0 = key excluded; or NULL */
    llap_tensor *bias;        /* added to the scores, broadcasts to [...,heads,Lq,Lk]; or NULL */
    double       dropout;     /* of the weights */
} llap_attention_opts;

/* softmax(q k^T / sqrt(d) + bias) v per head, heads concatenated. q [...,Lq,E], k [...,Lk,E],
 * v [...,Lk,E] -> [...,Lq,E]. Leading axes broadcast. A query whose keys are all excluded gives
 * zeros. The score matrix is never stored; the gradient recomputes it. */
llap_tensor *llap_attention(llap_graph *g, llap_tensor *q, llap_tensor *k, llap_tensor *v,
                            const llap_attention_opts *opts);

/* Rotates adjacent pairs of each head of x [...,L,E] by t base^(-2i/d), t [...,L] real-valued
 * times, d the largest even number not above the head width. t gets no gradient. */
llap_tensor *llap_rotary(llap_graph *g, llap_tensor *x, llap_tensor *t, int n_heads, double base);

/* -------- the modal basis, spec 4.3 -------- */

/* t [...,h], rho and omega [...,K] -> [...,h,2K]: e^(-t rho) cos(t omega), then e^(-t rho) sin(t
 * omega). Accurate for angles of several hundred. t gets no gradient. */
llap_tensor *llap_modal_basis(llap_graph *g, llap_tensor *t, llap_tensor *rho, llap_tensor *omega);

/* -------- training -------- */

typedef struct llap_adamw_attr {
    double beta1, beta2, eps, weight_decay;
} llap_adamw_attr;

/* One decoupled AdamW step of p with moments m, v and gradient scale * grad. lr and scale have one
 * element; step is int, one element, 1 at the first step. Gives the new p, m, v; the old ones where
 * scale is not finite. */
void llap_adamw_step(llap_graph *g, llap_tensor *p, llap_tensor *m, llap_tensor *v,
                     llap_tensor *grad, llap_tensor *scale, llap_tensor *lr, llap_tensor *step,
                     const llap_adamw_attr *attr, llap_tensor *out[3]);

#endif
