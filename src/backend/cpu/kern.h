/* The arithmetic of the CPU backend: plain functions on fp32 arrays, row-major, last axis
 * contiguous. They know no graph. They check nothing (the graph did), allocate nothing (scratch
 * memory is passed in; its size comes from the *_work function beside them) and say in their
 * comment whether they write (=) or add (+=).
 *
 *     ll_kern  kn = ll_kern_best(n_threads);
 *     ll_gemm  g = { .m = rows, .n = 1024, .k = 256, .lda = 256, .ldb = 256, .ldc = 1024,
 *                      .b_trans = true, .bias = b, .gelu = true };
 *     void      *work = arena(ll_kern_gemm_work(&kn, &g));
 *     ll_kern_gemm(&kn, &g, x, weight, y, work);          y = GELU(x W^T + b)
 *
 * Bits. Every function gives the same bits for any thread count, and each row (each batch item) the
 * same bits whatever other rows are in the call. AVX2 and AVX-512 give the same bits as each other;
 * the portable set, which has no fused multiply-add, and AMX, whose products are of parts
 * (body_tile.h), have bits of their own. That is so because
 *   - every product is a chain of multiply-adds in an order of the inner index, in blocks of
 *     LL_KERN_KBLOCK (AMX: attention's without blocks), that does not depend on the shape of the
 *     tiles, and every other sum runs in 16 lanes that are added by one fixed tree;
 *   - sums over rows run in fixed pieces, whoever computes them;
 *   - transcendental functions are SLEEF's deterministic (finz) ones, at most 1.0 ulp, or those of
 *     vec.h; vector tails are masked vectors, so that an element's bits do not depend on its place.
 *
 * Products are our own and not CBLAS: on the shapes of the model they are 5 to 10 % faster than
 * OpenBLAS (bench/kern.c), whose bits for a row differ when there are fewer than 5 of them.
 *
 * Scratch memory must be aligned to 64 bytes. Inputs and outputs need no alignment. Output may be
 * the same array as an input only where the comment says "in place". Zero sizes are fine. */
#ifndef LL_BACKEND_CPU_KERN_H
#define LL_BACKEND_CPU_KERN_H

#include "backend/adamw.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- which instructions, how many threads ------------------------------------------------- */

struct ll_kern_isa;
typedef struct ll_kern { /* two words, copied freely */
    const struct ll_kern_isa *isa;
    int                       n_threads; /* >= 1; OpenMP threads of every call */
} ll_kern;

/* The fastest instruction set of this build and machine, none faster than the one that the
 * environment variable LLAP_ISA names. n_threads 0: as many as OpenMP has. */
ll_kern ll_kern_best(int n_threads);
/* A named one: "portable", "avx2", "avx512", "amx". False when this build or machine does not have
 * it. */
bool        ll_kern_pick(const char *name, int n_threads, ll_kern *out);
const char *ll_kern_name(const ll_kern *kn);

enum { LL_KERN_ALIGN = 64, LL_KERN_KBLOCK = 256 };

/* --- matrix products ------------------------------------------------------------------------ */

/* C[m,n] = op(A)[m,k] op(B)[k,n], then, in this order: + C if accumulate, + bias, store to pre,
 * GELU (exact erf form), + residual.
 *     linear forward   y = x W^T + b     a_trans 0, b_trans 1
 *     its dX           dx = dy W         a_trans 0, b_trans 0
 *     its dW           dW = dy^T x       a_trans 1, b_trans 0   (k = rows, summed in fixed blocks)
 * A is stored [m,k] with rows lda apart, or [k,m] when a_trans; B [k,n] with rows ldb apart, or
 * [n,k] when b_trans. Batches: nb[0]*nb[1] products (0 counts as 1), item (i,j) of an operand
 * starts at i*step[0] + j*step[1] floats; step 0 shares it. C items must not overlap. k = 0 gives
 * zeros, then the epilogue. */
typedef struct ll_gemm {
    int64_t m, n, k;
    int64_t lda, ldb, ldc;
    bool    a_trans, b_trans;
    bool    accumulate; /* C += instead of C = */
    bool    gelu;

    int64_t nb[2];
    int64_t a_step[2], b_step[2], c_step[2];

    const float *bias; /* [n] or NULL, the same for all items */
    float       *pre;  /* laid out as C, or NULL: the value before GELU, for the backward pass */
    const float *residual;      /* laid out as C, or NULL; not C itself: that is accumulate */
    int64_t      residual_rows; /* 0: of C; else its rows are met again and again (one item) */
    const float *slope;         /* laid out as C, or NULL: C becomes C gelu'(slope) */
    float       *sums;          /* of an A that is a transpose, or NULL: the pieces that
                                   ll_kern_sum_pieces makes sums over k of; one item */

    /* With like not NULL, and instead of bias, gelu and residual (one item only): row i of C
     * becomes (C_i + table_(i mod rows)) / sqrt(variance of row i of like + eps) + bias. */
    struct {
        const float *like;  /* [m,n], rows of n numbers */
        const float *table; /* [rows, g.n] */
        const float *bias;  /* [g.n] */
        int64_t      n, rows;
        float        eps;
    } c_norm;

    const float *b_packed; /* B in the form of ll_kern_gemm_prepack, or NULL; one B for all items */

    const struct ll_norm *a_norm; /* or NULL: A's rows go through ll_kern_norm on the way in
                                       (a_trans false; rows and n are taken from m and k) */
} ll_gemm;

/* Whether each row of A is packed once, however many threads there are: a norm on the way costs no
 * more than it would by itself. */
bool ll_kern_gemm_rows_once(const ll_gemm *g);

size_t ll_kern_gemm_work(const ll_kern *kn, const ll_gemm *g);
void   ll_kern_gemm(const ll_kern *kn, const ll_gemm *g, const float *a, const float *b, float *c,
                    void *work);

/* B as products read it, for those that meet it again and again; same bits. 0 bytes: too large. */
size_t ll_kern_gemm_prepack_bytes(const ll_kern *kn, const ll_gemm *g);
void   ll_kern_gemm_prepack(const ll_kern *kn, const ll_gemm *g, const float *b, float *packed);

/* y = down(up(x)), x [m,k], with what up and down say of epilogues and of a norm of x; the rows of
 * the inner layer never leave the second cache (so up's ldc is not looked at). Rows 2i and 2i+1 are
 * computed together: their bits depend on both, and on no others. */
bool   ll_kern_mlp_fits(const ll_kern *kn, const ll_gemm *up, const ll_gemm *down);
size_t ll_kern_mlp_pack_bytes(const ll_kern *kn, const ll_gemm *up, const ll_gemm *down);
void ll_kern_mlp_pack(const ll_kern *kn, const ll_gemm *up, const ll_gemm *down, const float *w_up,
                      const float *w_down, float *packed);
/* Of the multiply-adds that the inner layer has by its shape: those executed. */
double ll_kern_mlp_share(const ll_kern *kn);
size_t ll_kern_mlp_work(const ll_kern *kn, const ll_gemm *up);
void   ll_kern_mlp(const ll_kern *kn, const ll_gemm *up, const ll_gemm *down, const float *packed,
                   const float *x, float *y, void *work);

/* --- attention -------------------------------------------------------------------------------- */

/* Keep factors of dropout: writes scale[j], j in 0..n-1, 0 or 1/(1-p) of element first + j. Must be
 * a function of (user, first + j) alone. */
typedef void (*ll_kern_keep_fn)(const void *user, uint64_t first, int64_t n, float *scale);
typedef struct ll_kern_drop {
    ll_kern_keep_fn keep; /* NULL: no dropout */
    const void     *user;
} ll_kern_drop;

/* Where head h of row i of batch item b starts: b*batch + i*row + h*head floats. */
typedef struct ll_attn_at {
    int64_t batch, row, head;
} ll_attn_at;

/* o = softmax(scale q k^T + bias, masked) v, per batch item and head. Memory O(nq + nk).
 * A query whose keys are all excluded gives zeros. Samples that share k and v are more queries:
 * pass nq * R. Dropout element: ((b*heads + h)*nq + i)*nk + j. */
typedef struct ll_attn {
    int64_t batch, heads, nq, nk, d;
    float   scale; /* 1/sqrt(d) */

    ll_attn_at q, k, v, o;
    ll_attn_at dq, dk, dv; /* of the gradient */

    const unsigned char *key_pad;       /* [batch,nk], nonzero: key excluded; or NULL */
    int64_t              key_pad_batch; /* bytes between batch items, 0 shares */
    const float         *bias;          /* + bias[b*batch + i*row + h*head + j], or NULL */
    ll_attn_at           bias_at;
    ll_kern_drop         drop; /* on the softmax weights */
} ll_attn;

size_t ll_kern_attn_work(const ll_kern *kn, const ll_attn *a);
/* o = . lse [batch,heads,nq] = log2 of the sum of exponentials (+inf where no key is left), or
 * NULL; backward needs it. */
void ll_kern_attn(const ll_kern *kn, const ll_attn *a, const float *q, const float *k,
                  const float *v, float *o, float *lse, void *work);

/* dq = , dk = , dv = ; doo is laid out as o. dbias (or NULL) += laid out as bias: where its
 * batch, head or row step is 0 the sum over that axis is added, in order. Any of dq, dk, dv may be
 * NULL. */
size_t ll_kern_attn_grad_work(const ll_kern *kn, const ll_attn *a);
void   ll_kern_attn_grad(const ll_kern *kn, const ll_attn *a, const float *q, const float *k,
                         const float *v, const float *o, const float *lse, const float *doo,
                         float *dq, float *dk, float *dv, float *dbias, void *work);

/* --- element by element ------------------------------------------------------------------------
 */

typedef enum ll_unary {
    LL_UNARY_NEG,
    LL_UNARY_ABS,
    LL_UNARY_SQUARE,
    LL_UNARY_SQRT,
    LL_UNARY_RSQRT, /* 1/sqrt(x), two exact roundings */
    LL_UNARY_RECIP,
    LL_UNARY_EXP,
    LL_UNARY_LOG,
    LL_UNARY_SIN,
    LL_UNARY_COS,
    LL_UNARY_TANH,
    LL_UNARY_SIGMOID,
    LL_UNARY_SILU,
    LL_UNARY_SOFTPLUS, /* log(1+e^x); x itself when x > 20 */
    LL_UNARY_GELU,     /* x/2 (1 + erf(x/sqrt 2)) */
    LL_UNARY_COUNT
} ll_unary;

typedef enum ll_binary {
    LL_BINARY_ADD,
    LL_BINARY_SUB,
    LL_BINARY_MUL,
    LL_BINARY_DIV,
    LL_BINARY_MAX,
    LL_BINARY_MIN,
    LL_BINARY_COUNT
} ll_binary;

/* y = x * keep factors of elements first..first+n-1; its own gradient. In place is fine. */
void ll_kern_dropout(const ll_kern *kn, ll_kern_drop drop, uint64_t first, int64_t n,
                     const float *x, float *y);

/* --- sums ----------------------------------------------------------------------------------------
 */

/* y[cols] = sums over the rows of x (rows ld apart), += if accumulate: bias gradients. */
size_t ll_kern_col_sum_work(const ll_kern *kn, int64_t rows, int64_t cols);
void   ll_kern_col_sum(const ll_kern *kn, int64_t rows, int64_t cols, const float *x, int64_t ld,
                       bool accumulate, float *y, void *work);
/* The same in two parts: pieces [rows / LL_KERN_SUM_ROWS, cols], each of so many rows, and their
 * sum. */
enum { LL_KERN_SUM_ROWS = 128 };
void ll_kern_sum_pieces(const ll_kern *kn, int64_t rows, int64_t cols, const float *pieces,
                        bool accumulate, float *y);
/* y[rows] = sums over each row. */
void ll_kern_row_sum(const ll_kern *kn, int64_t rows, int64_t cols, const float *x, int64_t ld,
                     float *y);

/* Sum of all, sum of squares, in double by fixed pieces. */
size_t ll_kern_sum_work(const ll_kern *kn, int64_t n);
double ll_kern_sum(const ll_kern *kn, int64_t n, const float *x, void *work);
double ll_kern_sum_sq(const ll_kern *kn, int64_t n, const float *x, void *work);
/* --- normalisation, softmax
 * ------------------------------------------------------------------------ */

/* u = (x - mean)/sqrt(var + eps) over the last axis (biased variance), then
 *     gain, bias [n] given:   y = u gain + bias
 *     scale, shift given:     y = (1 + scale_g) u + shift_g,   g = row / group, rows mod_ld apart
 *     neither:                y = u */
typedef struct ll_norm {
    int64_t      rows, n;
    float        eps;
    const float *gain, *bias;   /* both or neither; [n] */
    const float *scale, *shift; /* both or neither; [rows/group, n], AdaLN */
    int64_t      group;         /* rows that share one row of scale and shift, >= 1 */
    int64_t      mod_ld;
} ll_norm;

/* y = ; stats [rows,2] = mean, 1/sqrt(var+eps), or NULL. In place is fine. */
void ll_kern_norm(const ll_kern *kn, const ll_norm *p, const float *x, float *y, float *stats);
/* dx = (or NULL), with add (or NULL) added. dgain and dbias [n] += with gain; dgain and dbias
 * [rows/group, n], rows dmod_ld apart, = with scale (they are then the gradients of scale and
 * shift); both or neither NULL. stats may be NULL: recomputed. In place dx on dy or add is fine. */
size_t ll_kern_norm_grad_work(const ll_kern *kn, const ll_norm *p);
void   ll_kern_norm_grad(const ll_kern *kn, const ll_norm *p, const float *x, const float *stats,
                         const float *dy, const float *add, float *dx, float *dgain, float *dbias,
                         int64_t dmod_ld, void *work);

/* y = softmax of each row; a row of -inf gives zeros. dx = y (dy - sum y dy). In place is fine. */
void ll_kern_softmax(const ll_kern *kn, int64_t rows, int64_t n, const float *x, float *y);
void ll_kern_softmax_grad(const ll_kern *kn, int64_t rows, int64_t n, const float *y,
                          const float *dy, float *dx);

/* --- the model's own
 * ----------------------------------------------------------------------------------- */

/* a[b,r,k] = exp(-t rho_k) cos(t omega_k), a[b,r,K+k] = exp(-t rho_k) sin(t omega_k); products in
 * fp32, then functions accurate to 1.6 ulp at any angle. t [batch,h] batch items t_batch apart, rho
 * and omega [batch,K] pole_batch apart (0 shares), a [batch,h,2K]. */
typedef struct ll_basis {
    int64_t batch, h, k;
    int64_t t_batch, pole_batch;
} ll_basis;
void ll_kern_basis(const ll_kern *kn, const ll_basis *p, const float *t, const float *rho,
                   const float *omega, float *a);
/* drho, domega [batch,K] = , dt [batch,h] = (any may be NULL); always [batch,...]: the caller sums
 * what it shared. a is the forward result. */
void ll_kern_basis_grad(const ll_kern *kn, const ll_basis *p, const float *t, const float *rho,
                        const float *omega, const float *a, const float *da, float *dt, float *drho,
                        float *domega);

/* A gated recurrent unit as graph/graph.h has it, over n rows of `batch` series: x [batch,n,3h],
 * weight [3h,h], bias [3h], first and before [batch,h]; y [batch,n,h] =, gates [batch,n,4h] = (r,
 * z, n, g_n). Series are computed in groups, so that the weights are met once for all of a group.
 */
typedef struct ll_gru_size {
    int64_t batch, n, h;
    bool    reverse;
} ll_gru_size;
size_t ll_kern_gru_work(const ll_kern *kn, const ll_gru_size *p); /* of both */
void   ll_kern_gru(const ll_kern *kn, const ll_gru_size *p, const float *x, const float *weight,
                   const float *bias, const float *first, float *y, float *gates, void *work);
/* dx and dg [batch,n,3h] = (of x, and of W h + b), dfirst [batch,h] =. */
void ll_kern_gru_grad(const ll_kern *kn, const ll_gru_size *p, const float *weight,
                      const float *first, const float *y, const float *gates, const float *dy,
                      float *dx, float *dg, float *dfirst, void *work);

/* Rotary embedding of heads of width d (docs/spec/model.md 3.2): pair i of dims (2i, 2i+1), i <
 * floor(d/2), turned by the angle pos * base^(-2i/d_r), d_r = 2 floor(d/2); an odd last dim is
 * copied. x, y [rows, heads, d], rows x_row and y_row apart, one position per row. Backward is the
 * turn by -pos: pass inverse. In place is fine. */
typedef struct ll_rotary {
    int64_t rows, heads, d;
    int64_t x_row, y_row;
    float   base;
    bool    inverse;
} ll_rotary;
void ll_kern_rotary(const ll_kern *kn, const ll_rotary *p, const float *pos, const float *x,
                    float *y);

/* --- the optimiser
 * ---------------------------------------------------------------------------------------- */

/* One step of decoupled AdamW and of the weights' average (docs/spec/model.md 5.4.8-5.4.9), in
 * place, in one pass over all the parameters, however many arrays they are:
 *
 *     g' = clip g;   p -= lr wd p
 *     m += (1-beta1)(g'-m);   v = beta2 v + (1-beta2) g'^2
 *     p -= lr/(1-beta1^k) m / (sqrt(v)/sqrt(1-beta2^k) + eps)
 *     average += keep (p - average) + move
 *
 * clip is min(1, max_norm/(norm + 1e-6)) with norm^2
 * from ll_kern_sum_sq; where it is not finite only averages move. */
typedef struct ll_adamw {
    double  lr, weight_decay, beta1, beta2, eps; /* double: 1 - 0.999f is not 0.001 */
    float   keep, move;
    double  clip; /* 1: off */
    int64_t step; /* k, from 1 */
} ll_adamw;
void ll_kern_adamw(const ll_kern *kn, const ll_adamw *o, const ll_adamw_item *item, int n);

#endif
