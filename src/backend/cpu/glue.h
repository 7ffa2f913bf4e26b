/* Inside the CPU backend: what the op files share. Each op has llap_cpu_OP, which reads the call's
 * views and hands pointers and sizes to the arithmetic (kern.h); ops that need scratch have
 * llap_cpu_OP_work. */
#ifndef LLAP_BACKEND_CPU_GLUE_H
#define LLAP_BACKEND_CPU_GLUE_H

#include "backend/backend.h"
#include "backend/cpu/kern.h"
#include "backend/cpu/team.h"
#include "base/rng.h"

#define X(ID, id) void llap_cpu_##id(const llap_call *c);
LLAP_SHAPED_LIST(X)
LLAP_EXTRA_LIST(X)
LLAP_FUSED_LIST(X)
#undef X

void llap_cpu_unary(const llap_call *c);
void llap_cpu_binary(const llap_call *c);

size_t llap_cpu_sum_work(const llap_call *c);
size_t llap_cpu_squares_work(const llap_call *c);
size_t llap_cpu_matmul_work(const llap_call *c);
size_t llap_cpu_linear_work(const llap_call *c);
size_t llap_cpu_linear_kept(const llap_call *c);
size_t llap_cpu_normed_work(const llap_call *c);
size_t llap_cpu_mlp_work(const llap_call *c);
size_t llap_cpu_mlp_kept(const llap_call *c);
bool   llap_cpu_mlp_takes(const llap_call *c);
bool   llap_cpu_linear_takes(const llap_call *c);
int    llap_cpu_several(const llap_call *c, int n); /* AdamW of many parameters */
bool   llap_cpu_attention_grad_takes(const llap_call *c);
size_t llap_cpu_norm_grad_work(const llap_call *c);
size_t llap_cpu_attention_work(const llap_call *c);
size_t llap_cpu_attention_grad_work(const llap_call *c);

static inline const float *cpu_in(const llap_call *c, int i) { return c->in[i].data; }
static inline float       *cpu_out(const llap_call *c, int i) { return c->out[i].data; }
static inline bool    cpu_has(const llap_call *c, int i) { return i < c->n_in && c->in[i].present; }
static inline int64_t cpu_count(const llap_view *v) { return llap_shape_count(&v->shape); }
static inline int64_t cpu_width(const llap_view *v) /* of the last axis */
{
    return v->shape.dim[v->shape.rank - 1];
}
static inline size_t cpu_round(size_t n) { return (n + 63) / 64 * 64; }

/* Elements first .. first + n - 1, in row order, of a view of any strides. */
void llap_cpu_gather(const llap_view *v, int64_t first, int64_t n, float *out);

/* The norm of in[0..2] of a call, where one covers all rows; the weights' data may be missing. */
bool llap_cpu_one_norm(const llap_call *c, llap_norm *p);

/* The keep factors of dropout, a llap_kern_keep_fn: user is a cpu_drop. */
typedef struct cpu_drop {
    llap_rng rng;
    uint64_t first; /* added to the element */
    float    p;
} cpu_drop;
void llap_cpu_keep(const void *user, uint64_t first, int64_t n, float *scale);

/* The first n_axes axes of several views of equal lengths, merged where all of them allow it. */
enum { CPU_VIEWS = 6 };
typedef struct cpu_axes {
    int     n;
    int64_t dim[LLAP_MAX_RANK], stride[CPU_VIEWS][LLAP_MAX_RANK];
} cpu_axes;
cpu_axes llap_cpu_merge(const llap_view *const *v, int n_views, int n_axes);

/* Where view k's element i of the first n_axes merged axes begins. */
int64_t llap_cpu_at(const cpu_axes *a, int k, int64_t i, int n_axes);

#endif
