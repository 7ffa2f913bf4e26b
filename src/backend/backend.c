#include "backend/backend.h"

#include <inttypes.h>
#include <stdio.h>

const char *ll_op_name(ll_op op)
{
    static const char *const name[] = {
#define X(ID, id) [LL_OP_##ID] = #id,
        LL_OP_LIST(X)
#undef X
    };
    return name[op];
}

int64_t ll_shape_count(const ll_shape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++) n *= s->dim[i];
    return n;
}

bool ll_shape_equal(const ll_shape *a, const ll_shape *b)
{
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}

bool ll_view_dense(const ll_view *v)
{
    int64_t expected = 1;
    for (int i = v->shape.rank - 1; i >= 0; i--) {
        if (v->shape.dim[i] == 0) return true;
        if (v->shape.dim[i] != 1 && v->stride[i] != expected) return false;
        expected *= v->shape.dim[i];
    }
    return true;
}

static int64_t offset_of(const ll_view *v, int64_t i, int n_axes)
{
    int64_t at = 0;
    for (int axis = n_axes - 1; axis >= 0; axis--) {
        at += i % v->shape.dim[axis] * v->stride[axis];
        i /= v->shape.dim[axis];
    }
    return at;
}

int64_t ll_view_offset(const ll_view *v, int64_t i) { return offset_of(v, i, v->shape.rank); }

int64_t ll_view_rows(const ll_view *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->shape.rank - 1; i++) n *= v->shape.dim[i];
    return n;
}

int64_t ll_view_row_offset(const ll_view *v, int64_t row)
{
    return offset_of(v, row, v->shape.rank - 1);
}

int64_t ll_view_row_under(const ll_view *v, const ll_shape *x, int64_t row)
{
    int64_t at = 0;
    for (int axis = x->rank - 2; axis >= 0; axis--) {
        if (v->shape.dim[axis] != 1) at += row % x->dim[axis] * v->stride[axis];
        row /= x->dim[axis];
    }
    return at;
}

const char *ll_shape_text(const ll_shape *s, char *buf)
{
    int n = snprintf(buf, LL_SHAPE_TEXT, "[");
    for (int i = 0; i < s->rank; i++)
        n += snprintf(buf + n, (size_t)(LL_SHAPE_TEXT - n), i == 0 ? "%" PRId64 : ",%" PRId64,
                      s->dim[i]);
    snprintf(buf + n, (size_t)(LL_SHAPE_TEXT - n), "]");
    return buf;
}
