/* Inside the CPU backend: what the op files share. Each op has ll_cpu_OP, which reads the call's
 * views and hands pointers and sizes to the arithmetic (kern.h); ops that need scratch have
 * ll_cpu_OP_work. */
#ifndef LL_BACKEND_CPU_GLUE_H
#define LL_BACKEND_CPU_GLUE_H

#include "backend/backend.h"
#include "backend/cpu/kern.h"
#include "backend/cpu/team.h"
#include "base/rng/rng.h"

#define X(ID, id) void ll_cpu_##id(const ll_call *c);
LL_SHAPED_LIST(X)
LL_EXTRA_LIST(X)
LL_FUSED_LIST(X)
#undef X

void ll_cpu_unary(const ll_call *c);
void ll_cpu_binary(const ll_call *c);

size_t ll_cpu_sum_work(const ll_call *c);
size_t ll_cpu_squares_work(const ll_call *c);
size_t ll_cpu_matmul_work(const ll_call *c);
size_t ll_cpu_linear_work(const ll_call *c);
size_t ll_cpu_linear_kept(const ll_call *c);
size_t ll_cpu_normed_work(const ll_call *c);
size_t ll_cpu_mlp_work(const ll_call *c);
size_t ll_cpu_mlp_kept(const ll_call *c);
bool   ll_cpu_mlp_takes(const ll_call *c);
bool   ll_cpu_linear_takes(const ll_call *c);
int    ll_cpu_several(const ll_call *c, int n); /* AdamW of many parameters */
bool   ll_cpu_attention_grad_takes(const ll_call *c);
size_t ll_cpu_norm_grad_work(const ll_call *c);
size_t ll_cpu_gru_work(const ll_call *c);
size_t ll_cpu_gru_grad_work(const ll_call *c);
size_t ll_cpu_attention_work(const ll_call *c);
size_t ll_cpu_attention_grad_work(const ll_call *c);

static inline const float *cpu_in(const ll_call *c, int i) { return c->in[i].data; }
static inline float       *cpu_out(const ll_call *c, int i) { return c->out[i].data; }
static inline bool    cpu_has(const ll_call *c, int i) { return i < c->n_in && c->in[i].present; }
static inline int64_t cpu_count(const ll_view *v) { return ll_shape_count(&v->shape); }
static inline int64_t cpu_width(const ll_view *v) /* of the last axis */
{
    return v->shape.dim[v->shape.rank - 1];
}
static inline size_t cpu_round(size_t n) { return (n + 63) / 64 * 64; }

/* Elements first .. first + n - 1, in row order, of a view of any strides. */
void ll_cpu_gather(const ll_view *v, int64_t first, int64_t n, float *out);

/* The norm of in[0..2] of a call, where one covers all rows; the weights' data may be missing. */
bool ll_cpu_one_norm(const ll_call *c, ll_norm *p);

/* The keep factors of dropout, a ll_kern_keep_fn: user is a cpu_drop. */
typedef struct cpu_drop {
    ll_rng   rng;
    uint64_t first; /* added to the element */
    float    p;
} cpu_drop;
void ll_cpu_keep(const void *user, uint64_t first, int64_t n, float *scale);

/* The first n_axes axes of several views of equal lengths, merged where all of them allow it. */
enum { CPU_VIEWS = 6 };
typedef struct cpu_axes {
    int     n;
    int64_t dim[LL_MAX_RANK], stride[CPU_VIEWS][LL_MAX_RANK];
} cpu_axes;
cpu_axes ll_cpu_merge(const ll_view *const *v, int n_views, int n_axes);

/* Where view k's element i of the first n_axes merged axes begins. */
int64_t ll_cpu_at(const cpu_axes *a, int k, int64_t i, int n_axes);

#endif
