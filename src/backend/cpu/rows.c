/* Row-wise ops: softmax, layer norm, lookup, rotary, basis, recurrence, dropout. */
#include "backend/cpu/glue.h"
#include "backend/random.h"

#include <math.h>
#include <string.h>

void ll_cpu_softmax(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    ll_kern_softmax(&kn, ll_view_rows(&c->in[0]), cpu_width(&c->in[0]), cpu_in(c, 0),
                    cpu_out(c, 0));
}

void ll_cpu_softmax_grad(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    ll_kern_softmax_grad(&kn, ll_view_rows(&c->in[0]), cpu_width(&c->in[0]), cpu_in(c, 0),
                         cpu_in(c, 1), cpu_out(c, 0));
}

/* -------- layer norm -------- */

/* How the rows of weight and bias lie: `runs` of them, each for `group` rows of x. */
typedef struct factors {
    int64_t  runs, group;
    bool     even; /* rows of both are equally far apart */
    cpu_axes axes; /* of weight and bias, without their last one */
} factors;

static factors factors_of(const ll_view *x, const ll_view *w, const ll_view *b)
{
    factors f = { .runs = 1, .group = ll_view_rows(x), .even = true };
    if (!w->present) return f;
    const ll_view *const v[] = { w, b };
    f.runs = ll_view_rows(w);
    f.group = f.runs == 0 ? 1 : f.group / f.runs;
    f.axes = ll_cpu_merge(v, 2, w->shape.rank - 1);
    f.even = f.axes.n == 0 || (f.axes.n == 1 && f.axes.stride[0][0] == f.axes.stride[1][0]);
    return f;
}

/* The norm of run i (of all runs, where they are even). */
static ll_norm norm_of(const ll_call *c, const factors *f, const ll_view *w, const ll_view *b,
                       int64_t i)
{
    ll_norm p = { .rows = f->even && c->attr->norm.offset != 0.0 ? f->runs * f->group : f->group,
                  .n = cpu_width(&c->in[0]),
                  .eps = (float)c->attr->norm.eps,
                  .group = f->group > 0 ? f->group : 1 };
    if (!w->present) return p;
    const float *weight =
        w->data == NULL ? NULL : (const float *)w->data + ll_cpu_at(&f->axes, 0, i, f->axes.n);
    const float *bias =
        b->data == NULL ? NULL : (const float *)b->data + ll_cpu_at(&f->axes, 1, i, f->axes.n);
    if (c->attr->norm.offset == 0.0) {
        p.gain = weight;
        p.bias = bias;
    } else {
        p.scale = weight;
        p.shift = bias;
        p.mod_ld = f->axes.n == 0 ? 0 : f->axes.stride[0][0];
    }
    return p;
}

/* Runs that one call covers. */
static int64_t runs_at_once(const ll_call *c, const factors *f)
{
    return f->even && c->attr->norm.offset != 0.0 ? f->runs : 1;
}

bool ll_cpu_one_norm(const ll_call *c, ll_norm *p)
{
    const factors f = factors_of(&c->in[0], &c->in[1], &c->in[2]);
    *p = norm_of(c, &f, &c->in[1], &c->in[2], 0);
    return runs_at_once(c, &f) == f.runs;
}

void ll_cpu_norm(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const factors f = factors_of(&c->in[0], &c->in[1], &c->in[2]);
    const int64_t step = runs_at_once(c, &f), size = f.group * cpu_width(&c->in[0]);
    for (int64_t i = 0; i < f.runs && size > 0; i += step) {
        const ll_norm p = norm_of(c, &f, &c->in[1], &c->in[2], i);
        ll_kern_norm(&kn, &p, cpu_in(c, 0) + i * size, cpu_out(c, 0) + i * size, NULL);
    }
}

size_t ll_cpu_norm_grad_work(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const factors f = factors_of(&c->in[0], &c->in[2], &c->in[3]);
    /* The views have no data yet; what counts is which pair of factors is there. */
    static const float here = 0.0f;
    ll_norm            p = norm_of(c, &f, &c->in[2], &c->in[3], 0);
    if (c->in[2].present && c->attr->norm.offset != 0.0) p.scale = p.shift = &here;
    return ll_kern_norm_grad_work(&kn, &p);
}

void ll_cpu_norm_grad(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const factors f = factors_of(&c->in[0], &c->in[2], &c->in[3]);
    const int64_t n = cpu_width(&c->in[0]), step = runs_at_once(c, &f), size = f.group * n;
    const bool    with = c->in[2].present;
    for (int o = 1; o < 3; o++)
        memset(cpu_out(c, o), 0, (size_t)cpu_count(&c->out[o]) * sizeof(float));
    for (int64_t i = 0; i < f.runs && size > 0; i += step) {
        const ll_norm p = norm_of(c, &f, &c->in[2], &c->in[3], i);
        ll_kern_norm_grad(&kn, &p, cpu_in(c, 0) + i * size, NULL, cpu_in(c, 1) + i * size,
                          cpu_has(c, 4) ? cpu_in(c, 4) + i * size : NULL, cpu_out(c, 0) + i * size,
                          with ? cpu_out(c, 1) + i * n : NULL, with ? cpu_out(c, 2) + i * n : NULL,
                          n, c->work);
    }
}

/* -------- lookup: an index outside the table reads zeros and gives no gradient -------- */

void ll_cpu_embedding(const ll_call *c)
{
    const int64_t  width = cpu_width(&c->in[0]), n = cpu_count(&c->in[1]);
    const int32_t *index = c->in[1].data;
    for (int64_t r = 0; r < n; r++) {
        float *y = cpu_out(c, 0) + r * width;
        if (index[r] < 0 || index[r] >= c->in[0].shape.dim[0])
            memset(y, 0, (size_t)width * sizeof *y);
        else memcpy(y, cpu_in(c, 0) + index[r] * width, (size_t)width * sizeof *y);
    }
}

void ll_cpu_embedding_grad(const ll_call *c)
{
    const int64_t  width = cpu_width(&c->in[0]), n = cpu_count(&c->in[1]);
    const int32_t *index = c->in[1].data;
    memset(cpu_out(c, 0), 0, (size_t)cpu_count(&c->out[0]) * sizeof(float));
    for (int64_t r = 0; r < n; r++) {
        if (index[r] < 0 || index[r] >= c->in[0].shape.dim[0]) continue;
        float *to = cpu_out(c, 0) + index[r] * width;
        for (int64_t i = 0; i < width; i++) to[i] += cpu_in(c, 2)[r * width + i];
    }
}

/* -------- rotary and basis -------- */

void ll_cpu_rotary(const ll_call *c)
{
    const ll_kern        kn = ll_kern_best(c->n_threads);
    const ll_view *const x = &c->in[0];
    const int            r = x->shape.rank;
    const cpu_axes       rows = ll_cpu_merge(&x, 1, r - 1);
    const int64_t        e = cpu_width(x), all = ll_view_rows(x);
    const bool           even = rows.n <= 1;
    const int64_t        at_once = even ? all : x->shape.dim[r - 2];
    const ll_rotary      p = { .rows = at_once,
                               .heads = c->attr->rotary.n_heads,
                               .d = e / c->attr->rotary.n_heads,
                               .x_row = rows.n == 0 ? e
                                        : even      ? rows.stride[0][0]
                                                    : x->stride[r - 2],
                               .y_row = e,
                               .base = (float)c->attr->rotary.base,
                               .inverse = c->attr->rotary.direction < 0.0 };
    for (int64_t i = 0; i < all && e > 0; i += at_once)
        ll_kern_rotary(&kn, &p, cpu_in(c, 1) + i, cpu_in(c, 0) + ll_view_row_offset(x, i),
                       cpu_out(c, 0) + i * e);
}

/* The basis for as many batch items at once as lie evenly. */
typedef struct bases {
    ll_basis p;
    cpu_axes axes; /* of t, rho, omega */
    int64_t  batch;
} bases;

static bases bases_of(const ll_call *c)
{
    const ll_view *const v[] = { &c->in[0], &c->in[1], &c->in[2] };
    bases                b = { .batch = ll_view_rows(v[0]) };
    b.axes = ll_cpu_merge(v, 3, v[0]->shape.rank - 1);
    const bool even = b.axes.n <= 1 && b.axes.stride[1][0] == b.axes.stride[2][0];
    b.p = (ll_basis){ .batch = even ? b.batch : 1,
                      .h = cpu_width(v[0]),
                      .k = cpu_width(v[1]),
                      .t_batch = b.axes.stride[0][0],
                      .pole_batch = b.axes.stride[1][0] };
    return b;
}

void ll_cpu_basis(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const bases   b = bases_of(c);
    const int64_t size = b.p.h * 2 * b.p.k;
    for (int64_t i = 0; i < b.batch && size > 0; i += b.p.batch)
        ll_kern_basis(&kn, &b.p, cpu_in(c, 0) + ll_cpu_at(&b.axes, 0, i, b.axes.n),
                      cpu_in(c, 1) + ll_cpu_at(&b.axes, 1, i, b.axes.n),
                      cpu_in(c, 2) + ll_cpu_at(&b.axes, 2, i, b.axes.n), cpu_out(c, 0) + i * size);
}

void ll_cpu_basis_grad(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const bases   b = bases_of(c);
    const int64_t size = b.p.h * 2 * b.p.k;
    if (size == 0) {
        for (int o = 0; o < 2; o++)
            memset(cpu_out(c, o), 0, (size_t)cpu_count(&c->out[o]) * sizeof(float));
        return;
    }
    for (int64_t i = 0; i < b.batch; i += b.p.batch)
        ll_kern_basis_grad(&kn, &b.p, cpu_in(c, 0) + ll_cpu_at(&b.axes, 0, i, b.axes.n),
                           cpu_in(c, 1) + ll_cpu_at(&b.axes, 1, i, b.axes.n),
                           cpu_in(c, 2) + ll_cpu_at(&b.axes, 2, i, b.axes.n),
                           cpu_in(c, 4) + i * size, cpu_in(c, 3) + i * size, NULL,
                           cpu_out(c, 0) + i * b.p.k, cpu_out(c, 1) + i * b.p.k);
}

/* -------- recurrence -------- */

static ll_gru_size gru_of(const ll_call *c, const ll_view *y)
{
    return (ll_gru_size){ y->shape.dim[0], y->shape.dim[1], y->shape.dim[2], c->attr->gru.reverse };
}

size_t ll_cpu_gru_work(const ll_call *c)
{
    const ll_kern     kn = ll_kern_best(c->n_threads);
    const ll_gru_size p = gru_of(c, &c->out[0]);
    return ll_kern_gru_work(&kn, &p);
}

size_t ll_cpu_gru_grad_work(const ll_call *c)
{
    const ll_kern     kn = ll_kern_best(c->n_threads);
    const ll_gru_size p = gru_of(c, &c->in[2]);
    return ll_kern_gru_work(&kn, &p);
}

void ll_cpu_gru(const ll_call *c)
{
    const ll_kern     kn = ll_kern_best(c->n_threads);
    const ll_gru_size p = gru_of(c, &c->out[0]);
    ll_kern_gru(&kn, &p, cpu_in(c, 0), cpu_in(c, 1), cpu_in(c, 2), cpu_in(c, 3), cpu_out(c, 0),
                cpu_out(c, 1), c->work);
}

void ll_cpu_gru_grad(const ll_call *c)
{
    const ll_kern     kn = ll_kern_best(c->n_threads);
    const ll_gru_size p = gru_of(c, &c->in[2]);
    ll_kern_gru_grad(&kn, &p, cpu_in(c, 0), cpu_in(c, 1), cpu_in(c, 2), cpu_in(c, 3), cpu_in(c, 4),
                     cpu_out(c, 0), cpu_out(c, 1), cpu_out(c, 2), c->work);
}

/* -------- dropout, draws and AdamW -------- */

void ll_cpu_keep(const void *user, uint64_t first, int64_t n, float *scale)
{
    const cpu_drop *d = user;
    const float     kept = 1.0f / (1.0f - d->p);
    ll_rng_fill_uniform(&d->rng, d->first + first, (size_t)n, scale);
    for (int64_t i = 0; i < n; i++) scale[i] = scale[i] >= d->p ? kept : 0.0f;
}

void ll_cpu_dropout(const ll_call *c)
{
    const ll_kern  kn = ll_kern_best(c->n_threads);
    const cpu_drop d = { .rng = ll_drop_rng(c->in[1].data, c->attr->dropout.id),
                         .p = (float)c->attr->dropout.p };
    ll_kern_dropout(&kn, (ll_kern_drop){ ll_cpu_keep, &d }, 0, cpu_count(&c->out[0]), cpu_in(c, 0),
                    cpu_out(c, 0));
}

void ll_cpu_draw(const ll_call *c)
{
    const int64_t width = c->attr->draw.width;
    for (int64_t b = 0; b < cpu_count(&c->in[2]); b++) {
        const int32_t *id =
            (const int32_t *)c->in[1].data + 2 * ((const int32_t *)c->in[2].data)[b];
        const ll_rng r = ll_draw_rng(c->in[0].data, id, c->attr->draw.stream, c->attr->draw.sample);
        float       *y = cpu_out(c, 0) + b * width;
        if (c->attr->draw.normal) ll_rng_fill_normal(&r, 0, (size_t)width, y);
        else ll_rng_fill_uniform(&r, 0, (size_t)width, y);
        for (int64_t k = 0; k < width && c->attr->draw.below > 0; k++)
            y[k] = (float)ll_rng_below(&r, (uint64_t)k, c->attr->draw.below);
    }
}

void ll_cpu_whole(const ll_call *c)
{
    int32_t *y = c->out[0].data;
    for (int64_t i = 0; i < cpu_count(&c->out[0]); i++) y[i] = (int32_t)cpu_in(c, 0)[i];
}
