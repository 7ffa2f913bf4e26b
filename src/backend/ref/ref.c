#include "backend/ref/ref.h"

#include "backend/formulas.h"

#include <math.h>
#include <string.h>

#define AS_IT_IS(x) x /* functions and numbers in double */

double ll_ref_unary(ll_op op, double x, double a, double b)
{
    switch (op) {
#define X(ID, value) \
    case LL_OP_##ID: \
        return value;
        LL_UNARY_FORMULAS(X, AS_IT_IS, AS_IT_IS)
#undef X
    case LL_OP_GELU:
        return 0.5 * x * (1.0 + erf(x * sqrt(0.5)));
    case LL_OP_AFFINE:
        return a * x + b;
    default:
        return NAN;
    }
}

double ll_ref_binary(ll_op op, double x, double y, double a, double b)
{
    switch (op) {
#define X(ID, value) \
    case LL_OP_##ID: \
        return value;
        LL_BINARY_FORMULAS(X, AS_IT_IS, AS_IT_IS)
#undef X
    case LL_OP_GELU_GRAD: {
        const double cdf = 0.5 * (1.0 + erf(x * sqrt(0.5)));
        return y * (cdf + x * exp(-0.5 * x * x) / sqrt(8.0 * atan(1.0)));
    }
    case LL_OP_SILU_GRAD: {
        const double s = 1.0 / (1.0 + exp(-x));
        return y * s * (1.0 + x * (1.0 - s));
    }
    default:
        return NAN;
    }
}

static void unary(const ll_call *c)
{
    const int64_t n = ref_count(&c->out[0]);
    for (int64_t i = 0; i < n; i++)
        ref_out(c, 0)[i] =
            ll_ref_unary(c->op, ref_get(&c->in[0], i), c->attr->scalar.a, c->attr->scalar.b);
}

static void binary(const ll_call *c)
{
    const int64_t n = ref_count(&c->out[0]);
    for (int64_t i = 0; i < n; i++)
        ref_out(c, 0)[i] = ll_ref_binary(c->op, ref_get(&c->in[0], i), ref_get(&c->in[1], i),
                                         c->attr->scalar.a, c->attr->scalar.b);
}

void ll_ref_chain(const ll_call *c)
{
    const ll_op_chain *chain = c->attr->chain;
    const int64_t      n = ref_count(&c->out[0]);
    for (int64_t i = 0; i < n; i++) {
        double value[LL_CHAIN_INPUTS + LL_CHAIN_STEPS];
        for (int k = 0; k < chain->n_in; k++) value[k] = ref_get(&c->in[k], i);
        for (int k = 0; k < chain->n_steps; k++) {
            const ll_chain_step *s = &chain->step[k];
            const double         x = value[s->arg[0]];
            value[chain->n_in + k] = ll_op_is_unary(s->op)
                                         ? ll_ref_unary(s->op, x, s->a, s->b)
                                         : ll_ref_binary(s->op, x, value[s->arg[1]], s->a, s->b);
        }
        ref_out(c, 0)[i] = value[chain->n_in + chain->n_steps - 1];
    }
}

/* Index of the reduced element that element i of x falls into. */
static int64_t reduced_index(const ll_shape *x, unsigned axes, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int axis = x->rank - 1; axis >= 0; axis--) {
        if ((axes & (1u << axis)) == 0) {
            at += i % x->dim[axis] * step;
            step *= x->dim[axis];
        }
        i /= x->dim[axis];
    }
    return at;
}

static void reduce(const ll_call *c, double start, ll_op op)
{
    const int64_t n = ref_count(&c->in[0]), n_out = ref_count(&c->out[0]);
    for (int64_t i = 0; i < n_out; i++) ref_out(c, 0)[i] = start;
    for (int64_t i = 0; i < n; i++) {
        double *y = &ref_out(c, 0)[reduced_index(&c->in[0].shape, c->attr->reduce.axes, i)];
        *y = ll_ref_binary(op, *y, ref_get(&c->in[0], i), 0, 0);
    }
}

void ll_ref_sum(const ll_call *c) { reduce(c, 0.0, LL_OP_ADD); }
void ll_ref_max(const ll_call *c) { reduce(c, -INFINITY, LL_OP_MAXIMUM); }

void ll_ref_squares(const ll_call *c)
{
    double sum = 0.0;
    for (int k = 0; k < c->n_in; k++)
        for (int64_t i = 0; i < ref_count(&c->in[k]); i++)
            sum += ref_get(&c->in[k], i) * ref_get(&c->in[k], i);
    ref_out(c, 0)[0] = sum;
}

/* Copies x into out so that it starts at `start` along the axis. */
static void place(const ll_call *c, const ll_view *x, int axis, int64_t start)
{
    const ll_view *y = &c->out[0];
    const int64_t  n = ref_count(x);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = start * y->stride[axis], rest = i;
        for (int k = x->shape.rank - 1; k >= 0; k--) {
            at += rest % x->shape.dim[k] * y->stride[k];
            rest /= x->shape.dim[k];
        }
        ref_out(c, 0)[at] = ref_get(x, i);
    }
}

void ll_ref_concat(const ll_call *c)
{
    int64_t start = 0;
    for (int k = 0; k < c->n_in; k++) {
        place(c, &c->in[k], c->attr->part.axis, start);
        start += c->in[k].shape.dim[c->attr->part.axis];
    }
}

void ll_ref_pad(const ll_call *c)
{
    memset(ref_out(c, 0), 0, (size_t)ref_count(&c->out[0]) * sizeof(double));
    place(c, &c->in[0], c->attr->part.axis, c->attr->part.start);
}

void ll_ref_matmul(const ll_call *c)
{
    const ll_view *a = &c->in[0], *b = &c->in[1], *y = &c->out[0];
    const int      r = y->shape.rank;
    const int64_t  m = y->shape.dim[r - 2], n = y->shape.dim[r - 1];
    const int      ai = c->attr->matmul.ta ? r - 1 : r - 2, ak = c->attr->matmul.ta ? r - 2 : r - 1;
    const int      bk = c->attr->matmul.tb ? r - 1 : r - 2, bj = c->attr->matmul.tb ? r - 2 : r - 1;
    const int64_t  k_len = a->shape.dim[ak], count = ref_count(y);
    for (int64_t e = 0; e < count; e++) {
        int64_t at = 0, bt = 0, rest = e / (m * n);
        for (int axis = r - 3; axis >= 0; axis--) {
            at += rest % y->shape.dim[axis] * a->stride[axis];
            bt += rest % y->shape.dim[axis] * b->stride[axis];
            rest /= y->shape.dim[axis];
        }
        const int64_t i = e / n % m, j = e % n;
        const double *pa = (const double *)a->data + at + i * a->stride[ai];
        const double *pb = (const double *)b->data + bt + j * b->stride[bj];
        double        sum = 0.0;
        for (int64_t k = 0; k < k_len; k++) sum += pa[k * a->stride[ak]] * pb[k * b->stride[bk]];
        ref_out(c, 0)[e] = sum;
    }
}

void ll_ref_linear(const ll_call *c)
{
    const int64_t in = c->in[1].shape.dim[1], out = c->in[1].shape.dim[0];
    const int64_t n = ref_count(&c->out[0]);
    const double *all = c->in[0].data, *weight = c->in[1].data; /* dense */
    for (int64_t e = 0; e < n; e++) {
        const double *x = all + e / out * in, *w = weight + e % out * in;
        double        sum = c->n_in > 2 && c->in[2].present ? ref_get(&c->in[2], e % out) : 0.0;
        for (int64_t k = 0; k < in; k++) sum += x[k] * w[k];
        if (c->attr->linear.gelu) sum = ll_ref_unary(LL_OP_GELU, sum, 0, 0);
        if (c->n_in > 3 && c->in[3].present) sum += ref_get(&c->in[3], e);
        ref_out(c, 0)[e] = sum;
    }
}

void ll_ref_normed(const ll_call *c)
{
    const int64_t in = c->in[1].shape.dim[1], out = c->in[1].shape.dim[0];
    const int64_t n = ref_count(&c->out[0]), m = c->in[2].shape.dim[0], h = ref_width(&c->in[4]);
    for (int64_t e = 0; e < n; e++) {
        const int64_t row = e / out;
        double        sum = ref_get(&c->in[2], row % m * out + e % out), mean = 0.0, square = 0.0;
        for (int64_t k = 0; k < in; k++)
            sum += ref_get(&c->in[0], row * in + k) * ref_get(&c->in[1], e % out * in + k);
        for (int64_t k = 0; k < h; k++) mean += ref_get(&c->in[4], row * h + k) / (double)h;
        for (int64_t k = 0; k < h; k++) {
            const double d = ref_get(&c->in[4], row * h + k) - mean;
            square += d * d / (double)h;
        }
        ref_out(c, 0)[e] = sum / sqrt(square + c->attr->norm.eps) + ref_get(&c->in[3], e % out);
    }
}

const ll_backend ll_backend_ref = {
    .name = "ref",
    .real_bytes = sizeof(double),
    .kernel = {
#define X(ID, id) [LL_OP_##ID] = unary,
        LL_UNARY_LIST(X)
#undef X
#define X(ID, id) [LL_OP_##ID] = binary,
        LL_BINARY_LIST(X)
#undef X
#define X(ID, id) [LL_OP_##ID] = ll_ref_##id,
        LL_SHAPED_LIST(X) LL_EXTRA_LIST(X)
#undef X
    },
};
