/* Inside the CPU backend: what the op files share. Each op has llap_cpu_OP, which reads the call's
 * views and hands pointers and sizes to the arithmetic; ops that need scratch have
 * llap_cpu_OP_work. */
#ifndef LLAP_BACKEND_CPU_GLUE_H
#define LLAP_BACKEND_CPU_GLUE_H

#include "backend/backend.h"

#define X(ID, id) void llap_cpu_##id(const llap_call *c);
LLAP_SHAPED_LIST(X)
#undef X

void llap_cpu_unary(const llap_call *c);
void llap_cpu_binary(const llap_call *c);

size_t llap_cpu_sum_work(const llap_call *c);

static inline const float *cpu_in(const llap_call *c, int i) { return c->in[i].data; }
static inline float       *cpu_out(const llap_call *c, int i) { return c->out[i].data; }
static inline bool    cpu_has(const llap_call *c, int i) { return i < c->n_in && c->in[i].present; }
static inline int64_t cpu_count(const llap_view *v) { return llap_shape_count(&v->shape); }
static inline int64_t cpu_width(const llap_view *v) /* of the last axis */
{
    return v->shape.dim[v->shape.rank - 1];
}

/* Elements first .. first + n - 1, in row order, of a view of any strides. */
void llap_cpu_gather(const llap_view *v, int64_t first, int64_t n, float *out);

#endif
