/* Matrix products and linear layers; windows for convolution. */
#include "backend/cpu/glue.h"

#include <string.h>

/* The product with its leading axes: as many as fit into the two of one call, the others looped. */
typedef struct product {
    ll_gemm  g;
    cpu_axes lead;  /* of a, b, y */
    int      outer; /* leading axes that are looped over */
} product;

/* x w, times GELU's derivative at in[2], whose leading axes the result has. */
static product sloped(const ll_call *c)
{
    const ll_view *x = &c->in[0], *w = &c->in[1];
    return (product){ .g = { .m = ll_view_rows(&c->out[0]),
                             .n = cpu_width(&c->out[0]),
                             .k = x->shape.dim[1],
                             .lda = x->stride[0],
                             .ldb = w->stride[0],
                             .ldc = cpu_width(&c->out[0]),
                             .b_trans = c->attr->matmul.tb,
                             .slope = cpu_in(c, 2) } };
}

static product product_of(const ll_call *c)
{
    if (c->n_in > 2) return sloped(c);
    const ll_view *const v[] = { &c->in[0], &c->in[1], &c->out[0] };
    const int            r = c->out[0].shape.rank;
    const bool           ta = c->attr->matmul.ta;
    product              p = { .lead = ll_cpu_merge(v, 3, r - 2) };
    p.g = (ll_gemm){ .m = v[2]->shape.dim[r - 2],
                     .n = v[2]->shape.dim[r - 1],
                     .k = v[0]->shape.dim[ta ? r - 2 : r - 1],
                     .lda = v[0]->stride[r - 2],
                     .ldb = v[1]->stride[r - 2],
                     .ldc = v[2]->shape.dim[r - 1],
                     .a_trans = ta,
                     .b_trans = c->attr->matmul.tb };
    p.outer = p.lead.n > 2 ? p.lead.n - 2 : 0;
    for (int i = p.outer; i < p.lead.n; i++) {
        const int to = i - p.outer;
        p.g.nb[to] = p.lead.dim[i];
        p.g.a_step[to] = p.lead.stride[0][i];
        p.g.b_step[to] = p.lead.stride[1][i];
        p.g.c_step[to] = p.lead.stride[2][i];
    }
    return p;
}

/* Of the pieces that the second result, sums of x over its rows, is made of. */
static size_t sums_bytes(const ll_call *c, const ll_gemm *g)
{
    const int64_t pieces = (g->k + LL_KERN_SUM_ROWS - 1) / LL_KERN_SUM_ROWS;
    return c->n_out > 1 ? cpu_round((size_t)(pieces * g->m) * sizeof(float)) : 0;
}

size_t ll_cpu_matmul_work(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const product p = product_of(c);
    return sums_bytes(c, &p.g) + ll_kern_gemm_work(&kn, &p.g);
}

void ll_cpu_matmul(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    product       p = product_of(c);
    char         *work = (char *)c->work + sums_bytes(c, &p.g);
    int64_t       n = 1;
    if (c->n_out > 1) p.g.sums = c->work;
    for (int i = 0; i < p.outer; i++) n *= p.lead.dim[i];
    for (int64_t i = 0; i < n && cpu_count(&c->out[0]) > 0; i++)
        ll_kern_gemm(&kn, &p.g, cpu_in(c, 0) + ll_cpu_at(&p.lead, 0, i, p.outer),
                     cpu_in(c, 1) + ll_cpu_at(&p.lead, 1, i, p.outer),
                     cpu_out(c, 0) + ll_cpu_at(&p.lead, 2, i, p.outer), work);
    if (c->n_out > 1) ll_kern_sum_pieces(&kn, p.g.k, p.g.m, p.g.sums, false, cpu_out(c, 1));
}

/* Rows times weights [out, in], as every layer has them. */
static ll_gemm layer_of(const ll_call *c)
{
    const int64_t in = c->in[1].shape.dim[1], out = c->in[1].shape.dim[0];
    return (ll_gemm){ .m = ll_view_rows(&c->out[0]),
                      .n = out,
                      .k = in,
                      .lda = in,
                      .ldb = in,
                      .ldc = out,
                      .b_trans = true };
}

/* Rows after which the residual begins again: leading axes that it has no numbers of its own for.
 * 0: none; -1: another layout. */
static int64_t residual_rows(const ll_view *v)
{
    int64_t expected = 1, rows = 0;
    for (int i = v->shape.rank - 1; i >= 0; i--) {
        const int64_t n = v->shape.dim[i], step = v->stride[i];
        if (n == 1) continue;
        if (step == 0 && i < v->shape.rank - 1 && rows == 0) rows = expected / cpu_width(v);
        if (step != (rows == 0 ? expected : 0)) return -1;
        expected *= n;
    }
    return rows;
}

static ll_gemm linear_of(const ll_call *c)
{
    ll_gemm g = layer_of(c);
    g.gelu = c->attr->linear.gelu;
    g.bias = cpu_has(c, 2) ? cpu_in(c, 2) : NULL;
    g.residual = cpu_has(c, 3) ? cpu_in(c, 3) : NULL;
    g.residual_rows = cpu_has(c, 3) ? residual_rows(&c->in[3]) : 0;
    g.pre = c->n_out > 1 ? cpu_out(c, 1) : NULL;
    return g;
}

/* The norm of x's rows, where it is one for all of them. */
static bool norm_before(const ll_call *c, ll_norm *p)
{
    const ll_view in[] = { c->in[0], c->in[4], c->in[5] };
    const ll_attr attr = { .norm = { c->attr->linear.eps, c->attr->linear.offset } };
    return ll_cpu_one_norm(&(ll_call){ .attr = &attr, .in = in, .n_in = 3 }, p);
}

bool ll_cpu_linear_takes(const ll_call *c)
{
    const ll_gemm g = linear_of(c);
    ll_norm       norm;
    if (c->n_out > 1 || g.residual_rows < 0) return false;
    return c->attr->linear.normed ? ll_kern_gemm_rows_once(&g) && norm_before(c, &norm)
                                  : c->n_in == 4;
}

size_t ll_cpu_linear_work(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const ll_gemm g = linear_of(c);
    return ll_kern_gemm_work(&kn, &g);
}

size_t ll_cpu_linear_kept(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const ll_gemm g = linear_of(c);
    return ll_kern_gemm_prepack_bytes(&kn, &g);
}

void ll_cpu_linear(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    ll_gemm       g = linear_of(c);
    ll_norm       norm;
    if (cpu_count(&c->out[0]) == 0) return;
    if (c->attr->linear.normed && norm_before(c, &norm)) g.a_norm = &norm;
    if (c->kept != NULL) {
        if (c->kept->from != cpu_in(c, 1))
            ll_kern_gemm_prepack(&kn, &g, cpu_in(c, 1), c->kept->data);
        c->kept->from = cpu_in(c, 1);
        g.b_packed = c->kept->data;
    }
    ll_kern_gemm(&kn, &g, cpu_in(c, 0), cpu_in(c, 1), cpu_out(c, 0), c->work);
}

/* -------- two layers -------- */

enum { UP = 3, UP_BIAS, DOWN, DOWN_BIAS, RESIDUAL };

typedef struct mlp {
    ll_norm norm;
    ll_gemm up, down;
    bool    fits;
} mlp;

static ll_gemm one_of_two(const ll_call *c, int weight)
{
    const int64_t in = c->in[weight].shape.dim[1], out = c->in[weight].shape.dim[0];
    return (ll_gemm){ .m = ll_view_rows(&c->out[0]),
                      .n = out,
                      .k = in,
                      .lda = in,
                      .ldb = in,
                      .ldc = out,
                      .b_trans = true,
                      .bias = cpu_has(c, weight + 1) ? cpu_in(c, weight + 1) : NULL };
}

static mlp mlp_of(const ll_call *c)
{
    mlp t = { .up = one_of_two(c, UP), .down = one_of_two(c, DOWN) };
    t.fits = ll_cpu_one_norm(c, &t.norm);
    t.up.gelu = true;
    t.down.residual = cpu_has(c, RESIDUAL) ? cpu_in(c, RESIDUAL) : NULL;
    t.down.residual_rows = cpu_has(c, RESIDUAL) ? residual_rows(&c->in[RESIDUAL]) : 0;
    return t;
}

size_t ll_cpu_mlp_work(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const mlp     t = mlp_of(c);
    return ll_kern_mlp_work(&kn, &t.up);
}

/* Kept: whose second weights these are, then both, packed. */
size_t ll_cpu_mlp_kept(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const mlp     t = mlp_of(c);
    return cpu_round(sizeof(void *)) + ll_kern_mlp_pack_bytes(&kn, &t.up, &t.down);
}

void ll_cpu_mlp(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    mlp           t = mlp_of(c);
    const float **of_down = c->kept->data;
    float        *packed = (float *)c->kept->data + cpu_round(sizeof(void *)) / sizeof *packed;
    if (cpu_count(&c->out[0]) == 0) return;
    if (c->kept->from != cpu_in(c, UP) || *of_down != cpu_in(c, DOWN))
        ll_kern_mlp_pack(&kn, &t.up, &t.down, cpu_in(c, UP), cpu_in(c, DOWN), packed);
    c->kept->from = cpu_in(c, UP);
    *of_down = cpu_in(c, DOWN);
    t.up.a_norm = &t.norm;
    ll_kern_mlp(&kn, &t.up, &t.down, packed, cpu_in(c, 0), cpu_out(c, 0), c->work);
}

/* Rows pair up with neighbours of the same item, whatever other items there are; short rows would
 * gain nothing. */
bool ll_cpu_mlp_takes(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const int     r = c->in[0].shape.rank;
    if (r < 3 || c->in[0].shape.dim[r - 2] % 2 != 0) return false;
    const mlp     t = mlp_of(c);
    const int64_t width = cpu_width(&c->in[0]);
    if (width != cpu_width(&c->in[UP]) || c->in[UP].shape.dim[0] != cpu_width(&c->in[DOWN]) ||
        ll_view_rows(&c->in[0]) != ll_view_rows(&c->out[0]))
        return false; /* rows were cut anew on the way */
    return t.fits && t.up.k >= LL_KERN_KBLOCK && ll_kern_mlp_fits(&kn, &t.up, &t.down);
}

/* -------- behind a norm -------- */

static ll_gemm normed_of(const ll_call *c)
{
    ll_gemm g = layer_of(c);
    g.c_norm.like = cpu_in(c, 4);
    g.c_norm.n = cpu_width(&c->in[4]);
    g.c_norm.eps = (float)c->attr->norm.eps;
    g.c_norm.table = cpu_in(c, 2);
    g.c_norm.rows = c->in[2].shape.dim[0];
    g.c_norm.bias = cpu_in(c, 3);
    return g;
}

size_t ll_cpu_normed_work(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const ll_gemm g = normed_of(c);
    return ll_kern_gemm_work(&kn, &g);
}

void ll_cpu_normed(const ll_call *c)
{
    const ll_kern kn = ll_kern_best(c->n_threads);
    const ll_gemm g = normed_of(c);
    if (cpu_count(&c->out[0]) > 0)
        ll_kern_gemm(&kn, &g, cpu_in(c, 0), cpu_in(c, 1), cpu_out(c, 0), c->work);
}

static void unfold_row(const void *args, int64_t row, int thread)
{
    const ll_call *c = args;
    const int      width = c->attr->unfold.width, half = width / 2;
    const int64_t  channels = cpu_width(&c->in[0]);
    const int64_t  l = c->in[0].shape.dim[c->in[0].shape.rank - 2];
    float         *y = cpu_out(c, 0) + row * channels * width;
    (void)thread;
    for (int k = 0; k < width; k++) {
        const int64_t j = row % l + k - half;
        const float  *x = cpu_in(c, 0) + (row + k - half) * channels;
        for (int64_t ch = 0; ch < channels; ch++)
            y[ch * width + k] = j < 0 || j >= l ? 0.0f : x[ch];
    }
}

void ll_cpu_unfold(const ll_call *c)
{
    kern_each(c->n_threads, ll_view_rows(&c->in[0]), unfold_row, c);
}

static void fold_row(const void *args, int64_t row, int thread)
{
    const ll_call *c = args;
    const int      width = c->attr->unfold.width, half = width / 2;
    const int64_t  channels = cpu_width(&c->out[0]);
    const int64_t  l = c->in[0].shape.dim[c->in[0].shape.rank - 2];
    float         *y = cpu_out(c, 0) + row * channels;
    (void)thread;
    for (int64_t ch = 0; ch < channels; ch++) y[ch] = 0.0f;
    for (int k = 0; k < width; k++) {
        const int64_t from = row % l - k + half; /* the window that saw this row as its k-th */
        if (from < 0 || from >= l) continue;
        const float *dy = cpu_in(c, 0) + (row - k + half) * channels * width;
        for (int64_t ch = 0; ch < channels; ch++) y[ch] += dy[ch * width + k];
    }
}

void ll_cpu_fold(const ll_call *c)
{
    kern_each(c->n_threads, ll_view_rows(&c->out[0]), fold_row, c);
}
