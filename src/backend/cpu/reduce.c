/* Sums and maxima over chosen axes, and the copies that put parts together. Each result is summed
 * in fixed pieces of the reduced elements, in double, so that neither threads nor other results
 * change it. */
#include "backend/cpu/glue.h"

#include <math.h>
#include <string.h>

enum { PIECE = 4096 };

/* x as two index spaces: the kept elements and, under each, the reduced ones. */
typedef struct split {
    llap_view kept, reduced; /* without data */
} split;

static split split_axes(const llap_view *x, unsigned axes)
{
    split s = { 0 };
    for (int i = 0; i < x->shape.rank; i++) {
        llap_view *to = (axes & (1u << i)) != 0 ? &s.reduced : &s.kept;
        to->shape.dim[to->shape.rank] = x->shape.dim[i];
        to->stride[to->shape.rank++] = x->stride[i];
    }
    return s;
}

static double sum_piece(const float *x, const llap_view *reduced, int64_t first, int64_t n)
{
    float         part[256];
    double        sum = 0.0;
    llap_view     v = *reduced;
    const int64_t end = first + n;
    v.data = (void *)(uintptr_t)x;
    for (int64_t i = first; i < end; i += 256) {
        const int64_t m = end - i < 256 ? end - i : 256;
        llap_cpu_gather(&v, i, m, part);
        for (int64_t k = 0; k < m; k++) sum += part[k];
    }
    return sum;
}

size_t llap_cpu_sum_work(const llap_call *c)
{
    const split   s = split_axes(&c->in[0], c->attr->reduce.axes);
    const int64_t pieces = (cpu_count(&s.reduced) + PIECE - 1) / PIECE;
    return (size_t)(pieces * cpu_count(&s.kept)) * sizeof(double);
}

void llap_cpu_sum(const llap_call *c)
{
    const split   s = split_axes(&c->in[0], c->attr->reduce.axes);
    const int64_t kept = cpu_count(&s.kept), n = cpu_count(&s.reduced);
    const int64_t pieces = (n + PIECE - 1) / PIECE;
    double       *part = c->work;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t e = 0; e < kept * pieces; e++) {
        const int64_t first = e % pieces * PIECE;
        part[e] = sum_piece(cpu_in(c, 0) + llap_view_offset(&s.kept, e / pieces), &s.reduced, first,
                            n - first < PIECE ? n - first : PIECE);
    }
    for (int64_t e = 0; e < kept; e++) {
        double sum = 0.0;
        for (int64_t k = 0; k < pieces; k++) sum += part[e * pieces + k];
        cpu_out(c, 0)[e] = (float)sum;
    }
}

void llap_cpu_max(const llap_call *c)
{
    const split   s = split_axes(&c->in[0], c->attr->reduce.axes);
    const int64_t kept = cpu_count(&s.kept), n = cpu_count(&s.reduced);
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t e = 0; e < kept; e++) {
        const float *x = cpu_in(c, 0) + llap_view_offset(&s.kept, e);
        float        top = -INFINITY;
        for (int64_t i = 0; i < n; i++) {
            const float v = x[llap_view_offset(&s.reduced, i)];
            top = top >= v ? top : v;
        }
        cpu_out(c, 0)[e] = top;
    }
}

/* -------- concat and pad: y seen as [outer, axis and inner] -------- */

static void place(const llap_call *c, const llap_view *x, int axis, int64_t start)
{
    const llap_view *y = &c->out[0];
    int64_t          outer = 1, inner = 1;
    for (int i = 0; i < axis; i++) outer *= y->shape.dim[i];
    for (int i = axis + 1; i < y->shape.rank; i++) inner *= y->shape.dim[i];
    const int64_t len = x->shape.dim[axis] * inner, row = y->shape.dim[axis] * inner;
#pragma omp parallel for num_threads(c->n_threads) schedule(static)
    for (int64_t o = 0; o < outer; o++)
        llap_cpu_gather(x, o * len, len, cpu_out(c, 0) + o * row + start * inner);
}

void llap_cpu_concat(const llap_call *c)
{
    int64_t start = 0;
    for (int k = 0; k < c->n_in; k++) {
        if (cpu_count(&c->in[k]) > 0) place(c, &c->in[k], c->attr->part.axis, start);
        start += c->in[k].shape.dim[c->attr->part.axis];
    }
}

void llap_cpu_pad(const llap_call *c)
{
    memset(cpu_out(c, 0), 0, (size_t)cpu_count(&c->out[0]) * sizeof(float));
    if (cpu_count(&c->in[0]) > 0) place(c, &c->in[0], c->attr->part.axis, c->attr->part.start);
}
