/* Sums and maxima over chosen axes, and the copies that put parts together. */
#include "backend/cpu/glue.h"

#include <math.h>
#include <string.h>

/* -------- sums -------- */

/* Dense x as [outer, n, inner], n summed. More than one such stretch of axes is done one after the
 * other, innermost first: `left` are those still to do. */
typedef struct stretch {
    int64_t  outer, n, inner;
    unsigned left;
} stretch;

static stretch last_stretch(const ll_shape *x, unsigned axes)
{
    stretch s = { 1, 1, 1, axes };
    int     i = x->rank - 1;
    for (; i >= 0 && (axes & 1u << i) == 0; i--) s.inner *= x->dim[i];
    for (; i >= 0 && (axes & 1u << i) != 0; i--) {
        s.n *= x->dim[i];
        s.left &= ~(1u << i);
    }
    for (; i >= 0; i--) s.outer *= x->dim[i];
    return s;
}

static bool sums_all(const ll_call *c)
{
    const unsigned all = (1u << c->in[0].shape.rank) - 1u;
    return (c->attr->reduce.axes & all) == all;
}

/* Scratch of the column sums: one part per outer element where those go to the threads. */
static size_t column_work(const ll_kern *kn, const stretch *s)
{
    return s->inner == 1 ? 0 : (size_t)s->outer * ll_kern_col_sum_work(kn, s->n, s->inner);
}

typedef struct columns { /* sums of one outer element by one thread */
    ll_kern        one;
    const stretch *s;
    const float   *x;
    float         *y;
    char          *work;
    size_t         part;
} columns;

static void columns_of(const void *args, int64_t o, int thread)
{
    const columns *c = args;
    const stretch *s = c->s;
    (void)thread;
    ll_kern_col_sum(&c->one, s->n, s->inner, c->x + o * s->n * s->inner, s->inner, false,
                    c->y + o * s->inner, c->work + (size_t)o * c->part);
}

/* Outer elements to the threads, or each of them to all; never both. */
static void sum_stretch(const ll_kern *kn, const stretch *s, const float *x, float *y, void *work)
{
    if (s->inner == 1) {
        ll_kern_row_sum(kn, s->outer, s->n, x, s->n, y);
        return;
    }
    if (s->outer < 2 * (int64_t)kn->n_threads) {
        for (int64_t o = 0; o < s->outer; o++)
            ll_kern_col_sum(kn, s->n, s->inner, x + o * s->n * s->inner, s->inner, false,
                            y + o * s->inner, work);
        return;
    }
    const columns c = { .one = { kn->isa, 1 },
                        .s = s,
                        .x = x,
                        .y = y,
                        .work = work,
                        .part = ll_kern_col_sum_work(kn, s->n, s->inner) };
    kern_each(kn->n_threads, s->outer, columns_of, &c);
}

/* The shape after the stretch is summed. */
static ll_shape summed(ll_shape x, unsigned axes)
{
    for (int i = 0; i < x.rank; i++)
        if ((axes & 1u << i) != 0) x.dim[i] = 1;
    return x;
}

size_t ll_cpu_sum_work(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    if (sums_all(c)) return ll_kern_sum_work(&kn, cpu_count(&c->in[0]));
    const stretch s = last_stretch(&c->in[0].shape, c->attr->reduce.axes);
    size_t        most = cpu_round(column_work(&kn, &s));
    if (s.left == 0) return most;
    ll_shape between = summed(c->in[0].shape, c->attr->reduce.axes & ~s.left);
    for (stretch t = last_stretch(&between, s.left);; t = last_stretch(&between, t.left)) {
        const size_t need = cpu_round(column_work(&kn, &t));
        if (need > most) most = need;
        if (t.left == 0) break;
        between = summed(between, s.left & ~t.left);
    }
    return most + 2 * cpu_round((size_t)(s.outer * s.inner) * sizeof(float));
}

size_t ll_cpu_squares_work(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    size_t        most = 0;
    for (int k = 0; k < c->n_in; k++) {
        const size_t need = ll_kern_sum_work(&kn, cpu_count(&c->in[k]));
        if (need > most) most = need;
    }
    return most;
}

void ll_cpu_squares(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    double        sum = 0.0;
    for (int k = 0; k < c->n_in; k++)
        sum += ll_kern_sum_sq(&kn, cpu_count(&c->in[k]), cpu_in(c, k), c->work);
    cpu_out(c, 0)[0] = (float)sum;
}

void ll_cpu_sum(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    if (sums_all(c)) {
        cpu_out(c, 0)[0] = (float)ll_kern_sum(&kn, cpu_count(&c->in[0]), cpu_in(c, 0), c->work);
        return;
    }
    ll_shape     shape = c->in[0].shape;
    const float *x = cpu_in(c, 0);
    stretch      s = last_stretch(&shape, c->attr->reduce.axes);
    const size_t room = cpu_round((size_t)(s.outer * s.inner) * sizeof(float));
    char        *work = c->work;
    float       *half[2] = { (float *)(void *)work, (float *)(void *)(work + room) };
    char        *rest = s.left == 0 ? work : work + 2 * room;
    unsigned     axes = c->attr->reduce.axes;
    for (int turn = 0;; turn = 1 - turn) {
        float *y = s.left == 0 ? cpu_out(c, 0) : half[turn];
        sum_stretch(&kn, &s, x, y, rest);
        if (s.left == 0) return;
        shape = summed(shape, axes & ~s.left);
        axes = s.left;
        x = y;
        s = last_stretch(&shape, axes);
    }
}

/* -------- maxima -------- */

/* x as two index spaces: the kept elements and, under each, the reduced ones. */
typedef struct split {
    ll_view kept, reduced; /* without data */
} split;

static split split_axes(const ll_view *x, unsigned axes)
{
    split s = { 0 };
    for (int i = 0; i < x->shape.rank; i++) {
        ll_view *to = (axes & (1u << i)) != 0 ? &s.reduced : &s.kept;
        to->shape.dim[to->shape.rank] = x->shape.dim[i];
        to->stride[to->shape.rank++] = x->stride[i];
    }
    return s;
}

typedef struct maxima {
    const ll_call *c;
    split          s;
} maxima;

static void max_of(const void *args, int64_t e, int thread)
{
    const maxima *m = args;
    const float  *x = cpu_in(m->c, 0) + ll_view_offset(&m->s.kept, e);
    const int64_t n = cpu_count(&m->s.reduced);
    float         top = -INFINITY;
    (void)thread;
    for (int64_t i = 0; i < n; i++) {
        const float v = x[ll_view_offset(&m->s.reduced, i)];
        top = top >= v ? top : v;
    }
    cpu_out(m->c, 0)[e] = top;
}

void ll_cpu_max(const ll_call *c)
{
    const maxima m = { c, split_axes(&c->in[0], c->attr->reduce.axes) };
    kern_each(c->n_threads, cpu_count(&m.s.kept), max_of, &m);
}

/* -------- concat and pad: y seen as [outer, axis and inner] -------- */

typedef struct placing {
    const ll_view *x;
    float         *y;
    int64_t        len, row; /* of an outer element of x; between those of y */
} placing;

static void place_row(const void *args, int64_t o, int thread)
{
    const placing *p = args;
    (void)thread;
    ll_cpu_gather(p->x, o * p->len, p->len, p->y + o * p->row);
}

static void place(const ll_call *c, const ll_view *x, int axis, int64_t start)
{
    const ll_view *y = &c->out[0];
    int64_t        outer = 1, inner = 1;
    for (int i = 0; i < axis; i++) outer *= y->shape.dim[i];
    for (int i = axis + 1; i < y->shape.rank; i++) inner *= y->shape.dim[i];
    const placing p = { x, cpu_out(c, 0) + start * inner, x->shape.dim[axis] * inner,
                        y->shape.dim[axis] * inner };
    kern_each(c->n_threads, outer, place_row, &p);
}

void ll_cpu_concat(const ll_call *c)
{
    int64_t start = 0;
    for (int k = 0; k < c->n_in; k++) {
        if (cpu_count(&c->in[k]) > 0) place(c, &c->in[k], c->attr->part.axis, start);
        start += c->in[k].shape.dim[c->attr->part.axis];
    }
}

void ll_cpu_pad(const ll_call *c)
{
    memset(cpu_out(c, 0), 0, (size_t)cpu_count(&c->out[0]) * sizeof(float));
    if (cpu_count(&c->in[0]) > 0) place(c, &c->in[0], c->attr->part.axis, c->attr->part.start);
}
