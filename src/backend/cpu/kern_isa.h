/* What one instruction set provides: the inner loops, each on one thread. kern_*.c share the work
 * out to threads and call these; isa_*.c define one table each. */
#ifndef LL_BACKEND_CPU_KERN_ISA_H
#define LL_BACKEND_CPU_KERN_ISA_H

#include "backend/cpu/kern.h"
#include "backend/cpu/team.h"

enum {
    KERN_MAX_MC = 96, /* rows of A packed at a time, at most */
    KERN_MAX_NR = 32, /* columns of a panel of B, at most */
    GEMM_AS = LL_KERN_KBLOCK + 16,
    KERN_PAIR_COLS = 64, /* of a group in which columns meet, see body_mlp.h */
    KERN_PAIR_AS = 7 * LL_KERN_KBLOCK / 2 + 16,
    KERN_MLP_ROWS = 192, /* of two layers, at a time: the weights pass by once for so many */
    KERN_PAIR_FLOATS = KERN_MLP_ROWS / 2 * (KERN_PAIR_AS + 4 * KERN_MAX_NR),
    KERN_TILE_FLOATS = KERN_MAX_MC * 456, /* of a thread, for packed rows of A */
    KERN_MLP_FLOATS = KERN_PAIR_FLOATS + KERN_MLP_ROWS * GEMM_AS,
    KERN_NARROW = 32 /* numbers of a head: tiles have nothing to gain there */
};

/* Rows i0..i1, columns j0..j1 (j0 on a panel), inner steps k0..k1 (k0 on a block) of a product. */
typedef struct kern_gemm_unit {
    const ll_gemm *g;
    int64_t        i0, i1, j0, j1, k0, k1;
    float         *packed; /* columns j0..j1 of B for these inner steps, in panels */
    float         *tile;   /* KERN_TILE_FLOATS of this thread, or KERN_MLP_FLOATS */
} kern_gemm_unit;

/* Queries i0..i1 of head h of batch item b, with the scratch of this thread. */
typedef struct kern_attn_unit {
    const ll_attn *a;
    int64_t        b, h, i0, i1;
    int64_t        ld_q, ld_s;                        /* between rows of q; of s and dp */
    float         *k_cols, *v_cols, *k_rows, *v_rows; /* packed: k^T, v^T, k, v */
    float         *q, *s, *dp;                        /* scaled queries, scores, their gradient */
    float         *mask, *keep;                       /* per key */
    float         *block;                             /* packed rows of a block of queries */
    float         *dk, *dv; /* sums so far, rows ld_d apart: dense, or rows far apart would
                               share cache sets; by tiles they are transposes */
    int64_t      ld_d;
    const float *k_next, *v_next; /* forward: of the head that follows, or NULL */
} kern_attn_unit;

/* The arrays of this head. */
typedef struct kern_attn_grad {
    const float *q, *k, *v, *o, *lse, *doo;
    float       *dq, *dk, *dv, *dbias;
    const float *next[5]; /* q, k, v, o, doo of the head that follows, or NULL */
    bool         first;   /* nobody has asked for this one's rows */
} kern_attn_grad;

typedef struct ll_kern_isa {
    const char               *name;
    const struct ll_kern_isa *narrow; /* does heads of KERN_NARROW numbers and fewer; or NULL */
    int64_t                   gemm_mr, gemm_nr;
    int64_t                   gemm_steps;  /* inner steps are packed as a multiple of so many, */
    int64_t                   gemm_halves; /* each number in so many halves of 16 bits */
    void (*gemm_pack)(const kern_gemm_unit *u, const float *b, int64_t first_panel,
                      int64_t n_panels);
    void (*gemm_pack_steps)(const kern_gemm_unit *u, const float *b, int64_t from, int64_t to);
    void (*gemm_rows)(const kern_gemm_unit *u, const float *a, float *c, int64_t c_item);

    void (*pairs_pack)(const ll_gemm *g, const float *b, float *packed);
    double mlp_share; /* of the inner layer's multiply-adds: what mlp_rows executes */
    void (*mlp_rows)(const kern_gemm_unit *up, const kern_gemm_unit *down, const float *a,
                     float *c);

    void (*attn_forward)(const kern_attn_unit *u, const float *q, const float *k, const float *v,
                         float *o, float *lse);
    void (*attn_backward)(const kern_attn_unit *u, const kern_attn_grad *g);

    void (*unary[LL_UNARY_COUNT])(int64_t n, const float *x, float *y);
    void (*unary_grad[LL_UNARY_COUNT])(int64_t n, const float *x, const float *dy, float *dx);
    void (*binary[LL_BINARY_COUNT])(int64_t n, const float *a, int64_t a_col, const float *b,
                                    int64_t b_col, float *y);
    void (*clamp)(int64_t n, float lo, float hi, const float *x, float *y);
    void (*clamp_grad)(int64_t n, float lo, float hi, const float *x, const float *dy, float *dx);
    void (*affine)(int64_t n, float scale, float shift, const float *x, float *y);

    void (*sum_rows)(int64_t rows, int64_t cols, const float *x, int64_t ld, float *y);
    void (*sum_pieces)(int64_t n, int64_t cols, const float *x, int64_t ld, bool accumulate,
                       float *y);
    double (*sum_all)(int64_t n, const float *x);
    double (*sum_sq)(int64_t n, const float *x);
    void (*row_sums)(int64_t rows, int64_t cols, const float *x, int64_t ld, float *y);

    void (*norm_rows)(const ll_norm *p, int64_t first, int64_t rows, const float *x, float *y,
                      float *stats);
    void (*norm_grad_rows)(const ll_norm *p, int64_t first, int64_t rows, const float *x,
                           const float *stats, const float *dy, const float *add, float *dx,
                           float *sums);
    void (*softmax_rows)(int64_t rows, int64_t n, const float *x, float *y);
    void (*softmax_grad_rows)(int64_t rows, int64_t n, const float *y, const float *dy, float *dx);

    void (*gru_row)(int64_t h, const float *x, const float *g, const float *before, float *gates,
                    float *y);
    void (*gru_grad_row)(int64_t h, const float *gates, const float *before, const float *dy,
                         float *dh, float *dx, float *dg);
    void (*basis_row)(int64_t k, float t, const float *rho, const float *omega, float *a);
    void (*basis_grad_poles)(int64_t h, int64_t k, int64_t j, const float *t, const float *a,
                             const float *da, float *drho, float *domega);
    float (*basis_grad_time)(int64_t k, const float *rho, const float *omega, const float *a,
                             const float *da);
    void (*angles)(int64_t n, float pos, const float *freq, float *sine, float *cosine);
    void (*adamw)(const ll_adamw *o, const ll_adamw_item *item, int64_t first, int64_t n);
} kern_isa;

extern const kern_isa ll_kern_portable, ll_kern_avx2, ll_kern_avx512, ll_kern_amx;

/* Sizes of cutting. */
static inline int64_t kern_least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t kern_most(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t kern_per(int64_t n, int64_t step) { return (n + step - 1) / step; }
static inline int64_t kern_up(int64_t n, int64_t step) { return kern_per(n, step) * step; }

/* Floats of packed columns, whole panels of them. */
static inline int64_t kern_packed(const kern_isa *isa, int64_t steps, int64_t cols)
{
    return kern_up(steps, isa->gemm_steps) * cols * isa->gemm_halves / 2;
}

/* Waking threads costs some microseconds: little work is done by one. */
enum { KERN_ALONE = 1 << 14, KERN_PRODUCTS_ALONE = 1 << 18 };
static inline int kern_threads(const ll_kern *kn, int64_t n_numbers)
{
    return n_numbers < KERN_ALONE ? 1 : kn->n_threads;
}

#endif
