/* src/graph: a computation described once, differentiated, planned and run many times.
 *
 *   graph.h                   this file: tensors and ops
 *   op_*.c                    one descriptor for each op: shape rule, gradient rule
 *   grad.c                    the nodes of the gradient
 *   plan.h                    plans and runs
 *   plan.c, fuse.c, memory.c  what is kept, joined, and where it lies
 *   run.c                     one caller's memory, and the loop over the steps
 *
 * May touch: backend, base, base/rng. */

/* The tensor graph: describe a computation once, in the order of the paper's equations.
 *
 *     ll_graph *g;
 *     llap_status st = ll_graph_create(&g);                       caller owns: ll_graph_destroy
 *     if (st != LLAP_OK) return st;
 *     ll_tensor *x = ll_input(g, "x", LL_SHAPE(B, 24));
 *     ll_scope_push(g, "coef2hid");
 *     ll_tensor *w = ll_param(g, "weight", LL_SHAPE(256, 24), LL_INIT_UNIFORM(0.2));
 *     ll_tensor *b = ll_param(g, "bias", LL_SHAPE(256), LL_INIT_ZERO);
 *     ll_tensor *y = ll_gelu(g, ll_linear(g, x, w, b));
 *     ll_scope_pop(g);
 *     ll_output(g, "y", y);
 *     st = ll_graph_status(g);                                    read once, at the end
 *
 * The graph's arena owns every tensor; they are valid until ll_graph_destroy. Shapes are checked
 * when a node is made. The error is sticky: the first failure is kept, the failing call and every
 * later one return NULL, and NULL operands are accepted; so nothing is checked among the
 * mathematics. Shapes are outermost first. Binary ops broadcast as NumPy does. Not thread-safe.
 *
 * graph/plan.h turns a graph into something that runs. */
#ifndef LL_GRAPH_GRAPH_H
#define LL_GRAPH_GRAPH_H

#include "backend/backend.h"

#include <llapdiff/status.h>

typedef struct ll_graph  ll_graph;
typedef struct ll_tensor ll_tensor;

llap_status ll_graph_create(ll_graph **out); /* caller owns: ll_graph_destroy */
void        ll_graph_destroy(ll_graph *g);   /* NULL is fine */

/* The first failure with its detail, for example
 *     linear 'blocks.0.coef2hid': weight expected [256,24], found [256,16] */
llap_status ll_graph_status(const ll_graph *g);

/* For layers that check what ops cannot know: records a failure unless there is one already. */
void ll_graph_fail(ll_graph *g, llap_status code, const char *fmt, ...) LLAP_PRINTF(3, 4);

/* Names: what is made between push and pop is called "scope.name"; the empty scope adds nothing. */
void ll_scope_push(ll_graph *g, const char *name);
void ll_scope_pushf(ll_graph *g, const char *fmt, ...) LLAP_PRINTF(2, 3);
void ll_scope_pop(ll_graph *g);

ll_shape    ll_shape_of(const ll_tensor *x);      /* rank 0 for NULL */
int64_t     ll_dim(const ll_tensor *x, int axis); /* negative counts from the end; 0 for NULL */
const char *ll_tensor_name(const ll_tensor *x);   /* of a leaf; else "" */

/* Remembers x under the current scope's name (or scope.name), so that tests and tools can look at
 * intermediate values; costs nothing else. Gives x. */
ll_tensor *ll_note(ll_graph *g, const char *name, ll_tensor *x); /* name may be NULL */
ll_tensor *ll_noted(const ll_graph *g, const char *full_name);   /* NULL: none, or the last */

/* -------- leaves: memory that the caller binds at run time, by name -------- */

typedef enum ll_init_kind {
    LL_INIT_KIND_FILL,    /* a */
    LL_INIT_KIND_UNIFORM, /* on (-a, a) */
    LL_INIT_KIND_NORMAL,  /* mean 0, standard deviation a */
} ll_init_kind;

typedef struct ll_init { /* how a fresh parameter starts; nn/params.h draws it */
    ll_init_kind kind;
    double       a;
} ll_init;

#define LL_INIT_FILL(value) ((ll_init){ LL_INIT_KIND_FILL, (value) })
#define LL_INIT_ZERO LL_INIT_FILL(0.0)
#define LL_INIT_ONE LL_INIT_FILL(1.0)
#define LL_INIT_UNIFORM(bound) ((ll_init){ LL_INIT_KIND_UNIFORM, (bound) })
#define LL_INIT_NORMAL(std) ((ll_init){ LL_INIT_KIND_NORMAL, (std) })

typedef enum ll_leaf {
    LL_LEAF_NONE,
    LL_LEAF_PARAM, /* what training changes */
    LL_LEAF_STATE, /* what a run may change otherwise: moments, EMA, u and v, counters */
    LL_LEAF_INPUT,
    LL_LEAF_CONSTANT, /* values kept by the graph */
} ll_leaf;

/* Asking again for a name of the same kind and shape gives the same tensor. */
ll_tensor *ll_param(ll_graph *g, const char *name, ll_shape shape, ll_init init);
ll_tensor *ll_state(ll_graph *g, const char *name, ll_shape shape, ll_init init);
ll_tensor *ll_input(ll_graph *g, const char *name, ll_shape shape);
ll_tensor *ll_input_int(ll_graph *g, const char *name, ll_shape shape);

/* The random state: int state "rng" = { seed, seed's high half, step, step's high half }, outside
 * all scopes. Whoever trains advances the step between runs. */
ll_tensor *ll_random(ll_graph *g);

ll_tensor *ll_constant(ll_graph *g, ll_shape shape, const double *values); /* copied */
ll_tensor *ll_full(ll_graph *g, ll_shape shape, double value);

/* All leaves but constants, in order of making. */
typedef struct ll_leaf_info {
    const char *name; /* borrowed until ll_graph_destroy */
    ll_leaf     leaf;
    ll_elem     elem;
    ll_shape    shape;
    ll_init     init;
} ll_leaf_info;

int          ll_graph_n_leaves(const ll_graph *g);
ll_leaf_info ll_graph_leaf(const ll_graph *g, int i);

/* The i-th parameter, in order of making; NULL when there is none. */
ll_tensor *ll_graph_param(const ll_graph *g, int i);
int        ll_graph_n_params(const ll_graph *g);

/* -------- results -------- */

void ll_output(ll_graph *g, const char *name, ll_tensor *x); /* kept readable after a run */
/* The same for who takes it by ll_run_output_device: bf16 where the backend writes it so, see
 * ll_plan_output_elem. And an input that may be such: its slot says whether it is. */
void       ll_output_half(ll_graph *g, const char *name, ll_tensor *x);
ll_tensor *ll_input_half(ll_graph *g, const char *name, ll_shape shape);

/* After a run, the memory bound to the parameter or state holds value. All reads of it in the graph
 * see the old content. */
void       ll_update(ll_graph *g, ll_tensor *leaf, ll_tensor *value);
ll_tensor *ll_updated(ll_graph *g, ll_tensor *leaf); /* the value so far: update or leaf */

/* Adds the nodes of d loss / d wrt[i] to the graph; grad[i] is NULL where the loss does not depend
 * on wrt[i]. loss has one element. */
void ll_gradients(ll_graph *g, ll_tensor *loss, ll_tensor *const *wrt, int n, ll_tensor **grad);

/* -------- views: no computation, no copy where strides can say it -------- */

ll_tensor *ll_reshape(ll_graph *g, ll_tensor *x, ll_shape shape);  /* one dim may be -1 */
ll_tensor *ll_permute(ll_graph *g, ll_tensor *x, const int *axes); /* y axis i = x axis axes[i] */
ll_tensor *ll_transpose(ll_graph *g, ll_tensor *x);                /* last two axes */
ll_tensor *ll_slice(ll_graph *g, ll_tensor *x, int axis, int64_t start, int64_t n);
void       ll_split_axis(ll_graph *g, ll_tensor *x, int axis, int n, ll_tensor **parts);
ll_tensor *ll_expand(ll_graph *g, ll_tensor *x, ll_shape shape); /* broadcast */
ll_tensor *ll_unsqueeze(ll_graph *g, ll_tensor *x, int axis);    /* a new axis of length 1 */
ll_tensor *ll_detach(ll_graph *g, ll_tensor *x);
ll_tensor *ll_concat(ll_graph *g, ll_tensor *const *x, int n, int axis);

/* -------- elementwise -------- */

ll_tensor *ll_neg(ll_graph *g, ll_tensor *x);
ll_tensor *ll_exp(ll_graph *g, ll_tensor *x);
ll_tensor *ll_ln(ll_graph *g, ll_tensor *x); /* natural logarithm */
ll_tensor *ll_sin(ll_graph *g, ll_tensor *x);
ll_tensor *ll_cos(ll_graph *g, ll_tensor *x);
ll_tensor *ll_tanh(ll_graph *g, ll_tensor *x);
ll_tensor *ll_sigmoid(ll_graph *g, ll_tensor *x);
ll_tensor *ll_silu(ll_graph *g, ll_tensor *x);
ll_tensor *ll_softplus(ll_graph *g, ll_tensor *x);
ll_tensor *ll_gelu(ll_graph *g, ll_tensor *x);
ll_tensor *ll_sqrt(ll_graph *g, ll_tensor *x);
ll_tensor *ll_square(ll_graph *g, ll_tensor *x);
ll_tensor *ll_abs(ll_graph *g, ll_tensor *x);
ll_tensor *ll_clamp(ll_graph *g, ll_tensor *x, double lo, double hi);
ll_tensor *ll_affine(ll_graph *g, ll_tensor *x, double a, double b); /* a x + b */
ll_tensor *ll_scale(ll_graph *g, ll_tensor *x, double a);

ll_tensor *ll_add(ll_graph *g, ll_tensor *a, ll_tensor *b);
ll_tensor *ll_sub(ll_graph *g, ll_tensor *a, ll_tensor *b);
ll_tensor *ll_mul(ll_graph *g, ll_tensor *a, ll_tensor *b);
ll_tensor *ll_div(ll_graph *g, ll_tensor *a, ll_tensor *b);
ll_tensor *ll_maximum(ll_graph *g, ll_tensor *a, ll_tensor *b);
ll_tensor *ll_minimum(ll_graph *g, ll_tensor *a, ll_tensor *b);
ll_tensor *ll_at_least(ll_graph *g, ll_tensor *a, ll_tensor *b); /* 1 where a >= b */
ll_tensor *ll_mask(ll_graph *g, ll_tensor *x, ll_tensor *keep);  /* x, or 0 where keep is 0 */

/* Inverted dropout, keyed by (seed, this op, step, element); p == 0 gives x. */
ll_tensor *ll_dropout(ll_graph *g, ll_tensor *x, double p);

/* Random numbers by name (base/rng/rng.h): [b,k] is number k of (seed, stream, id, sample, step),
 * where key, int [4], holds { seed, its high half, step, not looked at } and row index[b] of ids,
 * int [n,2], the low and the high half of id. index int [B] -> [B,width]. */
typedef struct ll_draw_attr {
    int64_t  width;
    uint32_t stream, sample;
    bool     normal; /* else uniform on [0,1), */
    uint32_t below;  /* or where this is not 0 ll_rng_below of it, at most 2^24 */
} ll_draw_attr;
ll_tensor *ll_draw(ll_graph *g, ll_tensor *key, ll_tensor *ids, ll_tensor *index,
                   const ll_draw_attr *attr);
ll_tensor *ll_whole(ll_graph *g, ll_tensor *x); /* whole numbers as ints; no gradient */

/* -------- reductions: bit i of axes reduces axis i, which stays with length 1 -------- */

#define LL_AXIS(i) (1u << (i))
#define LL_ALL_AXES (~0u)
ll_tensor *ll_sum(ll_graph *g, ll_tensor *x, unsigned axes);
ll_tensor *ll_mean(ll_graph *g, ll_tensor *x, unsigned axes);
ll_tensor *ll_max(ll_graph *g, ll_tensor *x, unsigned axes);     /* ties share the gradient */
ll_tensor *ll_squeeze(ll_graph *g, ll_tensor *x, unsigned axes); /* drops axes of length 1 */

/* The sum of the squares of all numbers of all x, a scalar. */
ll_tensor *ll_squares(ll_graph *g, ll_tensor *const *x, int n);

/* sum(x m) and sum(x m) / max(sum(m), 1); m broadcasts to x. Where m is 0, x is not looked at. */
ll_tensor *ll_masked_sum(ll_graph *g, ll_tensor *x, ll_tensor *m, unsigned axes);
ll_tensor *ll_masked_mean(ll_graph *g, ll_tensor *x, ll_tensor *m, unsigned axes);

/* -------- linear algebra -------- */

/* a [...,m,k] (or [...,k,m] with ta), b [...,k,n] (or [...,n,k] with tb) -> [...,m,n]. Leading axes
 * broadcast; what is shared is read in place. */
ll_tensor *ll_matmul(ll_graph *g, ll_tensor *a, bool ta, ll_tensor *b, bool tb);

/* x [...,in], weight [out,in], bias [out] or NULL -> x W^T + b, [...,out] */
ll_tensor *ll_linear(ll_graph *g, ll_tensor *x, ll_tensor *weight, ll_tensor *bias);

/* (x W^T + table) / sqrt(variance of the rows of like + eps) + bias: a layer norm of like and the
 * layer behind it, where like is x times a matrix plus a table of rows (docs/spec/model.md 9.1 at
 * work: x is narrow, and what else there is to multiply is shared). x [...,m,in], weight [out,in],
 * table [m,out], bias [out], like [...,m,h] -> [...,m,out]. No gradient. Not every backend has it.
 */
ll_tensor *ll_normed(ll_graph *g, ll_tensor *x, ll_tensor *weight, ll_tensor *table,
                     ll_tensor *bias, ll_tensor *like, double eps);

typedef struct ll_move_in { /* [...,h,Z] each */
    ll_tensor *x, *before;  /* before: the last estimate */
    ll_tensor *table;       /* [LL_MOVE_NUMBERS] */
    ll_tensor *given, *free;
    double     clip;
    bool       rescale;
} ll_move_in;

/* A step of the sampler: the prediction is given, or with free (or NULL) free + g (given - free),
 * moved and scaled, if asked for, to the mean and deviation that given has in the last two axes
 * (deviations of at least 1e-6); then *x0, clipped to +-clip where that is not 0, and *next as
 * backend.h says. No gradient. Not every backend has it. */
void ll_move(ll_graph *g, const ll_move_in *in, ll_tensor **next, ll_tensor **x0);

/* y = basis theta, basis [B,1,h,M], theta [B,R,M,Z]; y' = y + w_out (u GELU(gate)), [gate|u] = w_in
 * norm(y); then skip y' + w_head norm(y'). w_in [2H,Z], w_out [Z,H], w_head [Z,Z], each with its
 * bias; both norms have weight and bias. No gradient. Not every backend has it, nor all sizes. */
typedef struct ll_gated_in {
    ll_tensor *basis, *theta, *norm[2], *in[2], *out[2], *head_norm[2], *head[2];
    ll_tensor *skip; /* scalar */
} ll_gated_in;

ll_tensor *ll_gated(ll_graph *g, const ll_gated_in *in, double eps);

/* Cross-correlation along time with zero padding (k-1)/2: x [...,l,in], weight [out,in,k], k odd,
 * bias [out] or NULL -> [...,l,out] */
ll_tensor *ll_conv1d(ll_graph *g, ll_tensor *x, ll_tensor *weight, ll_tensor *bias);

/* table [n,width], index int [...] -> [...,width] */
ll_tensor *ll_embedding(ll_graph *g, ll_tensor *table, ll_tensor *index);

/* -------- normalisation and attention -------- */

ll_tensor *ll_softmax(ll_graph *g, ll_tensor *x); /* last axis; a row of -inf gives zeros */

/* Over the last axis, biased variance: (x - m) / sqrt(v + eps) * weight + bias; or both NULL.
 */
ll_tensor *ll_layer_norm(ll_graph *g, ll_tensor *x, ll_tensor *weight, ll_tensor *bias, double eps);
/* AdaLN: (1 + scale) (x - m) / sqrt(v + eps) + shift; scale and shift broadcast to x, full width.
 */
ll_tensor *ll_modulated_norm(ll_graph *g, ll_tensor *x, ll_tensor *scale, ll_tensor *shift,
                             double eps);

typedef struct ll_attention_opts {
    int        n_heads;     /* divides the widths; head i is the i-th contiguous piece */
    ll_tensor *key_padding; /* [...,Lk], not 0 = key excluded; or NULL */
    ll_tensor *bias;        /* added to the scores, broadcasts to [...,heads,Lq,Lk]; or NULL */
    double     dropout;     /* of the weights */
} ll_attention_opts;

/* softmax(q k^T / sqrt(d) + bias) v per head, heads concatenated. q [...,Lq,E], k [...,Lk,E],
 * v [...,Lk,E] -> [...,Lq,E]. Leading axes broadcast. A query whose keys are all excluded gives
 * zeros. The score matrix is never stored; the gradient recomputes it. */
ll_tensor *ll_attention(ll_graph *g, ll_tensor *q, ll_tensor *k, ll_tensor *v,
                        const ll_attention_opts *opts);

/* Rotates adjacent pairs of each head of x [...,L,E] by t base^(-2i/d), t [...,L] real-valued
 * times, d the largest even number not above the head width. t gets no gradient. */
ll_tensor *ll_rotary(ll_graph *g, ll_tensor *x, ll_tensor *t, int n_heads, double base);

/* -------- recurrence -------- */

/* A gated recurrent unit over the rows of x [B,n,3h], which is W_ih input + b_ih with the gates r,
 * z, n side by side; weight [3h,h] and bias [3h] are those of the state; first [B,h] is the state
 * before the first row, NULL: zeros. With reverse it runs from the last row to the first.
 *
 *     g = W h + b      r = sigmoid(x_r + g_r)      z = sigmoid(x_z + g_z)
 *     n = tanh(x_n + r g_n)                        h' = (1 - z) n + z h
 *
 * -> h' of every row, [B,n,h] */
ll_tensor *ll_gru(ll_graph *g, ll_tensor *x, ll_tensor *weight, ll_tensor *bias, ll_tensor *first,
                  bool reverse);

/* -------- the modal basis, docs/spec/model.md 4.3 -------- */

/* t [...,h], rho and omega [...,K] -> [...,h,2K]: e^(-t rho) cos(t omega), then e^(-t rho) sin(t
 * omega). Accurate for angles of several hundred. t gets no gradient. */
ll_tensor *ll_modal_basis(ll_graph *g, ll_tensor *t, ll_tensor *rho, ll_tensor *omega);

/* -------- training -------- */

typedef struct ll_adamw_attr {
    double beta1, beta2, eps, weight_decay;
} ll_adamw_attr;

/* One decoupled AdamW step of p with moments m, v and gradient scale * grad. lr and scale have one
 * element; step is int, one element, 1 at the first step. Gives the new p, m, v; the old ones where
 * scale is not finite. */
void ll_adamw_step(ll_graph *g, ll_tensor *p, ll_tensor *m, ll_tensor *v, ll_tensor *grad,
                   ll_tensor *scale, ll_tensor *lr, ll_tensor *step, const ll_adamw_attr *attr,
                   ll_tensor *out[3]);

#endif
