/* The reference backend: every op in double precision with plain loops. It is the definition that
 * the others are compared with and what gradients are checked on; only tests use it. */
#ifndef LLAP_BACKEND_REF_REF_H
#define LLAP_BACKEND_REF_REF_H

#include "backend/backend.h"

extern const llap_backend llap_backend_ref;

#define X(ID, id) void llap_ref_##id(const llap_call *c);
LLAP_SHAPED_LIST(X)
LLAP_EXTRA_LIST(X)
#undef X

/* Element i, in row order, of a view of doubles. */
static inline double ref_get(const llap_view *v, int64_t i)
{
    return ((const double *)v->data)[llap_view_offset(v, i)];
}

static inline double *ref_out(const llap_call *c, int i) { return c->out[i].data; }
static inline int64_t ref_count(const llap_view *v) { return llap_shape_count(&v->shape); }
static inline int64_t ref_width(const llap_view *v) /* of the last axis */
{
    return v->shape.dim[v->shape.rank - 1];
}

double llap_ref_unary(llap_op op, double x, double a, double b);
double llap_ref_binary(llap_op op, double x, double y, double a, double b);

#endif
