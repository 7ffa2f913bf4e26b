/* src/backend/ref: every op in double with plain loops. Read it for what an op means.
 *
 *   ref.h  this file
 *   ref.c, ref_rows.c, ref_attention.c, ref_gru.c:
 *          the ops by family
 *
 * May touch: backend. */

/* The reference backend: every op in double precision with plain loops. It is the definition that
 * the others are compared with and what gradients are checked on; only tests use it. */
#ifndef LL_BACKEND_REF_REF_H
#define LL_BACKEND_REF_REF_H

#include "backend/backend.h"

extern const ll_backend ll_backend_ref;

#define X(ID, id) void ll_ref_##id(const ll_call *c);
LL_SHAPED_LIST(X)
LL_EXTRA_LIST(X)
#undef X

/* Element i, in row order, of a view of doubles. */
static inline double ref_get(const ll_view *v, int64_t i)
{
    return ((const double *)v->data)[ll_view_offset(v, i)];
}

static inline double *ref_out(const ll_call *c, int i) { return c->out[i].data; }
static inline int64_t ref_count(const ll_view *v) { return ll_shape_count(&v->shape); }
static inline int64_t ref_width(const ll_view *v) /* of the last axis */
{
    return v->shape.dim[v->shape.rank - 1];
}

double ll_ref_unary(ll_op op, double x, double a, double b);
double ll_ref_binary(ll_op op, double x, double y, double a, double b);

#endif
