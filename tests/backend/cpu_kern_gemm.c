/* Matrix products and convolution against double loops; a row's bits for any number of rows. */
#include "kern_check.h"

typedef struct gemm_case {
    ll_gemm      g;
    const float *a, *b, *c0; /* c0: what C holds before */
    const float *pre_want;
} gemm_case;

static int64_t items_of(const ll_gemm *g)
{
    return (g->nb[0] > 0 ? g->nb[0] : 1) * (g->nb[1] > 0 ? g->nb[1] : 1);
}

static void run_gemm(const ll_kern *kn, const void *user, float *out)
{
    const gemm_case *c = user;
    const int64_t    n = items_of(&c->g) * c->g.m * c->g.ldc;
    void            *work = work_new(ll_kern_gemm_work(kn, &c->g));
    memcpy(out, c->c0, (size_t)n * sizeof *out);
    ll_kern_gemm(kn, &c->g, c->a, c->b, out, work);
    work_free(work);
}

static double gelu(double x) { return 0.5 * x * erfc(-x * M_SQRT1_2); }

static double gelu_slope(double x)
{
    return 0.5 * erfc(-x * M_SQRT1_2) + x * exp(-0.5 * x * x) / sqrt(2.0 * M_PI);
}

/* The definition, element (i, j) of the item that starts at a, b. */
static void element(const ll_gemm *g, const float *a, const float *b, int64_t i, int64_t j,
                    double *sum, double *size)
{
    *sum = *size = 0.0;
    for (int64_t k = 0; k < g->k; k++) {
        const double x = (double)a[g->a_trans ? k * g->lda + i : i * g->lda + k] *
                         (double)b[g->b_trans ? j * g->ldb + k : k * g->ldb + j];
        *sum += x;
        *size += fabs(x);
    }
}

static void gemm_truth(const gemm_case *c, const truth *t)
{
    const ll_gemm *g = &c->g;
    const int64_t  inner = g->nb[1] > 0 ? g->nb[1] : 1;
    for (int64_t i = 0; i < t->n; i++) truth_set(t, i, (double)c->c0[i], 0.0);
    for (int64_t item = 0; item < items_of(g); item++) {
        const int64_t p = item / inner, q = item % inner;
        const float  *a = c->a + p * g->a_step[0] + q * g->a_step[1];
        const float  *b = c->b + p * g->b_step[0] + q * g->b_step[1];
        for (int64_t i = 0; i < g->m; i++)
            for (int64_t j = 0; j < g->n; j++) {
                const int64_t at = p * g->c_step[0] + q * g->c_step[1] + i * g->ldc + j;
                double        y, size;
                element(g, a, b, i, j, &y, &size);
                if (g->accumulate) y += (double)c->c0[at], size += fabs((double)c->c0[at]);
                if (g->bias != NULL) y += (double)g->bias[j], size += fabs((double)g->bias[j]);
                if (g->gelu) y = gelu(y);
                if (g->slope != NULL) y *= gelu_slope((double)g->slope[at]);
                const int64_t from = g->residual_rows == 0 ? at : i % g->residual_rows * g->ldc + j;
                if (g->residual != NULL) y += (double)g->residual[from], size += 4.0;
                truth_set(t, at, y, size + 1e-30);
            }
    }
}

/* Rows from..to-1 of A as it lies are zeros, of both signs. */
static void check_gemm_zeros(ll_gemm g, int64_t from, int64_t to)
{
    const int64_t items = items_of(&g);
    gemm_case     c = { .g = g };
    if (items > 1) { /* the second axis shares B */
        c.g.a_step[0] = (g.nb[1] > 0 ? g.nb[1] : 1) * g.m * g.k;
        c.g.a_step[1] = g.m * g.k;
        c.g.b_step[0] = g.k * g.n;
        c.g.c_step[0] = (g.nb[1] > 0 ? g.nb[1] : 1) * g.m * (g.n + 3);
        c.g.c_step[1] = g.m * (g.n + 3);
    }
    c.g.lda = g.a_trans ? g.m : g.k;
    c.g.ldb = g.b_trans ? g.k : g.n;
    c.g.ldc = g.n + 3;
    const truth t = truth_new(items * g.m * c.g.ldc);
    float      *a = draw(items * g.m * g.k, 1, 1), *b = draw(items * g.k * g.n, 1, 2);
    float      *c0 = draw(t.n, 1, 3), *bias = draw(g.n, 1, 4), *residual = draw(t.n, 1, 5);
    float      *slope = draw(t.n, 2, 6);
    for (int64_t i = from * c.g.lda; i < to * c.g.lda; i++) a[i] = i % 3 == 0 ? -0.0f : 0.0f;
    c.a = a, c.b = b, c.c0 = c0;
    c.g.bias = g.bias != NULL ? bias : NULL;
    c.g.residual = g.residual != NULL ? residual : NULL;
    c.g.slope = g.slope != NULL ? slope : NULL;
    gemm_truth(&c, &t);
    char name[120];
    snprintf(name, sizeof name, "gemm %lldx%lldx%lld %d%d", (long long)g.m, (long long)g.n,
             (long long)g.k, g.a_trans, g.b_trans);
    check_kernel(name, run_gemm, &c, &t, 3e-6); /* 256 roundings in a chain, worst case 1.5e-5 */
    float *all[] = { a, b, c0, bias, residual, slope };
    for (size_t i = 0; i < 6; i++) ll_free(all[i]);
    truth_free((truth *)&t);
}

static void check_gemm(ll_gemm g) { check_gemm_zeros(g, 0, 0); }

/* What is not multiplied is zero, in the first blocks of rows and steps and in later ones. */
static void rows_of_zeros(void **state)
{
    (void)state;
    static const float yes = 0.0f;
    for (int how = 0; how < 4; how++) {
        ll_gemm g = { .m = 150, .n = 40, .k = 600, .a_trans = how & 1, .b_trans = how & 2 };
        check_gemm_zeros(g, 0, 150);
        check_gemm_zeros(g, 5, 130);
        check_gemm_zeros(g, 0, how & 1 ? 256 : 120);
        g.bias = &yes;
        g.gelu = true;
        check_gemm_zeros(g, how & 1 ? 256 : 24, how & 1 ? 600 : 150);
        g.gelu = false;
        g.accumulate = true;
        check_gemm_zeros(g, how & 1 ? 200 : 24, how & 1 ? 600 : 96);
    }
}

static const int64_t shapes[][3] = { { 1, 1, 1 },     { 1, 1, 0 },    { 0, 3, 4 },
                                     { 3, 0, 4 },     { 3, 7, 5 },    { 12, 32, 16 },
                                     { 13, 33, 257 }, { 64, 33, 1 },  { 5, 100, 530 },
                                     { 130, 17, 70 }, { 1, 300, 40 }, { 250, 70, 64 } };

static void products(void **state)
{
    (void)state;
    static const float yes = 0.0f;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
        for (int how = 0; how < 4; how++) {
            ll_gemm g = { .m = shapes[s][0], .n = shapes[s][1], .k = shapes[s][2] };
            g.a_trans = how & 1;
            g.b_trans = how & 2;
            check_gemm(g);
            g.bias = &yes;
            check_gemm(g);
            g.gelu = true;
            g.residual = how & 1 ? &yes : NULL;
            check_gemm(g);
            g.residual = &yes;
            g.residual_rows = how + 5;
            check_gemm(g);
            g.residual = how & 1 ? &yes : NULL;
            g.residual_rows = 0;
            g.gelu = false;
            g.slope = &yes;
            check_gemm(g);
            g.slope = NULL;
            g.accumulate = true;
            check_gemm(g);
        }
}

static void batches(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        ll_gemm g = { .m = 19, .n = 35, .k = 21, .nb = { 3, 2 } };
        g.a_trans = how & 1;
        g.b_trans = how & 2;
        check_gemm(g);
        g.m = 150; /* large enough to be shared by threads */
        g.nb[1] = 0;
        check_gemm(g);
    }
}

/* Inner sums longer than what is packed at once, wide B, many threads. */
static void long_products(void **state)
{
    (void)state;
    check_gemm((ll_gemm){ .m = 7, .n = 40, .k = 4500, .a_trans = true });
    check_gemm((ll_gemm){ .m = 24, .n = 300, .k = 1500, .a_trans = true }); /* turned inside */
    check_gemm((ll_gemm){ .m = 120, .n = 300, .k = 4100, .b_trans = true });
    check_gemm((ll_gemm){ .m = 3, .n = 2000, .k = 20, .b_trans = true });
}

/* Numbers of all sizes side by side, such as are rounded to 0 among them: what they are parts of
 * may be off by as little, and nothing else is. */
static void sizes_far_apart(void **state)
{
    (void)state;
    enum { M = 19, N = 37, K = 70 };
    const double tol = 3e-6, lost = K * 0x1p-124;
    gemm_case    c = { .g = { .m = M, .n = N, .k = K, .lda = K, .ldb = N, .ldc = N } };
    const truth  t = truth_new(M * N);
    float       *a = draw(M * K, 1, 1), *b = draw(K * N, 1, 2), *c0 = draw(M * N, 1, 3);
    for (int64_t i = 0; i < M * K; i++) a[i] *= powf(10.0f, -(float)(i * 7 % 46));
    for (int64_t i = 0; i < M / 2 * K; i++) a[i] *= 1e-30f; /* rows without large ones */
    c.a = a, c.b = b, c.c0 = c0;
    gemm_truth(&c, &t);
    for (int64_t i = 0; i < t.n; i++) t.size[i] += lost / tol - 1e-30;
    check_kernel("sizes far apart", run_gemm, &c, &t, tol);
    float *all[] = { a, b, c0 };
    for (size_t i = 0; i < 3; i++) ll_free(all[i]);
    truth_free((truth *)&t);
}

/* Mean square of what a product is off by. */
static double square_error(const ll_kern *kn, const gemm_case *c, const truth *t)
{
    float *out = ll_new((size_t)t->n, sizeof *out);
    double sum = 0.0;
    run_gemm(kn, c, out);
    for (int64_t i = 0; i < t->n; i++) sum += pow((double)out[i] - t->want[i], 2.0);
    ll_free(out);
    return sum / (double)t->n;
}

/* Products of parts are no worse than a chain of fused multiply-adds. */
static void tiles_are_as_near(void **state)
{
    (void)state;
    enum { M = 64, N = 64, K = 512 };
    ll_kern chain, tiles;
    if (!ll_kern_pick("avx512", 1, &chain) || !ll_kern_pick("amx", 1, &tiles)) skip();
    gemm_case   c = { .g = { .m = M, .n = N, .k = K, .lda = K, .ldb = N, .ldc = N } };
    const truth t = truth_new(M * N);
    float      *a = draw(M * K, 1, 1), *b = draw(K * N, 1, 2), *c0 = draw(M * N, 1, 3);
    c.a = a, c.b = b, c.c0 = c0;
    gemm_truth(&c, &t);
    assert_true(square_error(&tiles, &c, &t) <= square_error(&chain, &c, &t));
    float *all[] = { a, b, c0 };
    for (size_t i = 0; i < 3; i++) ll_free(all[i]);
    truth_free((truth *)&t);
}

/* Each row has the bits it has alone, whatever the number of rows and its place among them. */
static void rows_alone(const ll_kern *kn)
{
    enum { M = 300, N = 70, K = 300 };
    float  *x = draw(M * K, 1, 11), *w = draw(N * K, 1, 12), *bias = draw(N, 1, 13);
    float  *all = ll_new(M * N, sizeof *all), *some = ll_new(M * N, sizeof *some);
    ll_gemm g = { .m = M,
                  .n = N,
                  .k = K,
                  .lda = K,
                  .ldb = K,
                  .ldc = N,
                  .b_trans = true,
                  .bias = bias,
                  .gelu = true };
    void   *work = work_new(ll_kern_gemm_work(kn, &g));
    ll_kern_gemm(kn, &g, x, w, all, work);
    work_free(work);
    for (int64_t m = 1; m <= 130; m = m < 40 ? m + 1 : m + 13)
        for (int64_t i = 0; i + m <= M; i += m < 40 ? 41 : 97) {
            g.m = m;
            work = work_new(ll_kern_gemm_work(kn, &g));
            ll_kern_gemm(kn, &g, x + i * K, w, some, work);
            work_free(work);
            same_bits(all + i * N, some, m * N, "rows depend on the batch", ll_kern_name(kn));
        }
    float *bufs[] = { x, w, bias, all, some };
    for (size_t i = 0; i < 5; i++) ll_free(bufs[i]);
}

/* Of a transpose too, few of which are multiplied the other way round. */
static void columns_alone(const ll_kern *kn)
{
    enum { M = 33, N = 256, K = 500 };
    float  *x = draw(M * K, 1, 11), *y = draw(N * K, 1, 12);
    float  *all = ll_new(M * N, sizeof *all), *some = ll_new(M * N, sizeof *some);
    ll_gemm g = { .m = M, .n = N, .k = K, .lda = M, .ldb = N, .ldc = N, .a_trans = true };
    void   *work = work_new(ll_kern_gemm_work(kn, &g));
    ll_kern_gemm(kn, &g, x, y, all, work);
    work_free(work);
    for (g.m = 1; g.m < M; g.m += 31) { /* 1 and 32 */
        work = work_new(ll_kern_gemm_work(kn, &g));
        ll_kern_gemm(kn, &g, x, y, some, work);
        work_free(work);
        same_bits(all, some, g.m * N, "rows of a transpose depend on others", ll_kern_name(kn));
    }
    float *bufs[] = { x, y, all, some };
    for (size_t i = 0; i < 4; i++) ll_free(bufs[i]);
}

/* B packed beforehand: the same bits, whatever the number of rows and of B's columns. */
static void prepacked(const ll_kern *kn)
{
    enum { M = 300, N = 300, K = 70 };
    float *x = draw(M * K, 1, 14), *w = draw(N * K, 1, 15);
    float *y[2] = { ll_new(M * N, sizeof **y), ll_new(M * N, sizeof **y) };
    for (int64_t m = 1; m <= M; m += 299)
        for (int64_t n = 1; n <= N; n += n < 40 ? 13 : 250) {
            ll_gemm g = { .m = m, .n = n, .k = K, .lda = K, .ldb = K, .ldc = n, .b_trans = true };
            void   *work = work_new(ll_kern_gemm_work(kn, &g));
            float  *packed = work_new(ll_kern_gemm_prepack_bytes(kn, &g));
            ll_kern_gemm(kn, &g, x, w, y[0], work);
            ll_kern_gemm_prepack(kn, &g, w, packed);
            g.b_packed = packed;
            ll_kern_gemm(kn, &g, x, NULL, y[1], work);
            same_bits(y[0], y[1], m * n, "prepacked", ll_kern_name(kn));
            work_free(work);
            work_free(packed);
        }
    const ll_gemm large = { .m = 1, .n = 2000, .k = 1000, .b_trans = true };
    assert_int_equal(ll_kern_gemm_prepack_bytes(kn, &large), 0);
    float *bufs[] = { x, w, y[0], y[1] };
    for (size_t i = 0; i < 4; i++) ll_free(bufs[i]);
}

/* Norm, layer, GELU, layer as one against one after the other in double; a pair of rows has the
 * bits it has alone. */
typedef struct mlp_case {
    ll_gemm      up, down;
    const float *x, *w, *v;
} mlp_case;

static void run_mlp(const ll_kern *kn, const void *user, float *out)
{
    const mlp_case *c = user;
    float          *packed = work_new(ll_kern_mlp_pack_bytes(kn, &c->up, &c->down));
    void           *work = work_new(ll_kern_mlp_work(kn, &c->up));
    assert_true(ll_kern_mlp_fits(kn, &c->up, &c->down));
    ll_kern_mlp_pack(kn, &c->up, &c->down, c->w, c->v, packed);
    ll_kern_mlp(kn, &c->up, &c->down, packed, c->x, out, work);
    work_free(work);
    work_free(packed);
}

/* What the double loops give for inputs behind their norm, u. */
static void mlp_truth(const mlp_case *c, const float *u, const truth *t)
{
    double *inner = ll_new((size_t)c->up.n, sizeof *inner), size;
    for (int64_t i = 0; i < c->up.m; i++) {
        for (int64_t j = 0; j < c->up.n; j++) {
            element(&c->up, u, c->w, i, j, &inner[j], &size);
            inner[j] = gelu(inner[j] + (double)c->up.bias[j]);
        }
        for (int64_t j = 0; j < c->down.n; j++) {
            const int64_t at = i * c->down.ldc + j;
            double        y = (double)c->down.residual[at] + (double)c->down.bias[j];
            size = fabs(y);
            for (int64_t k = 0; k < c->up.n; k++) {
                const double part = inner[k] * (double)c->v[j * c->down.ldb + k];
                y += part, size += fabs(part);
            }
            truth_set(t, at, y, size);
        }
    }
    ll_free(inner);
}

static void two_layers_of(int64_t m, int64_t h, int64_t wide, int64_t z)
{
    float *x = draw(m * h, 2, 51), *w = draw(wide * h, 0.1f, 52), *v = draw(z * wide, 1, 53);
    float *mod = draw(2 * h, 1, 54), *bias = draw(wide + z, 1, 55), *add = draw(m * z, 1, 56);
    float *u = ll_new((size_t)(m * h), sizeof *u), *y = ll_new((size_t)(m * z), sizeof *y);
    const ll_norm p = {
        .rows = m, .n = h, .eps = 1e-5f, .scale = mod, .shift = mod + h, .group = m
    };
    mlp_case c = { .x = x, .w = w, .v = v };
    ll_kern  kn = ll_kern_best(1);
    truth    t = truth_new(m * z);
    c.up = (ll_gemm){ .m = m, .n = wide, .k = h, .lda = h, .ldb = h, .b_trans = true };
    c.down = (ll_gemm){ .m = m, .n = z, .k = wide, .ldb = wide, .ldc = z, .b_trans = true };
    c.up.gelu = true, c.up.bias = bias, c.up.a_norm = &p;
    c.down.bias = bias + wide, c.down.residual = add;
    ll_kern_norm(&kn, &p, x, u, NULL);
    mlp_truth(&c, u, &t);
    check_kernel("mlp", run_mlp, &c, &t, 3e-6);
    run_mlp(&kn, &c, u);
    const int64_t pair = m / 4 * 2;
    c.up.m = c.down.m = 2;
    c.x += pair * h, c.down.residual += pair * z;
    run_mlp(&kn, &c, y);
    same_bits(u + pair * z, y, 2 * z, "a pair alone", ll_kern_name(&kn));
    float *bufs[] = { x, w, v, mod, bias, add, u, y };
    for (size_t i = 0; i < 8; i++) ll_free(bufs[i]);
    truth_free(&t);
}

static void two_layers(void **state)
{
    (void)state;
    two_layers_of(2, 32, 64, 1);
    two_layers_of(250, 96, 576, 24);
    two_layers_of(196, 256, 320, 40);
    const ll_kern kn = ll_kern_best(1);
    const ll_gemm odd = { .m = 3, .n = 64, .k = 32 }, down = { .m = 3, .n = 4, .k = 64 };
    assert_false(ll_kern_mlp_fits(&kn, &odd, &down));
}

static void prepacked_everywhere(void **state)
{
    (void)state;
    each_kern(prepacked);
}

static void rows_alone_everywhere(void **state)
{
    (void)state;
    each_kern(rows_alone);
    each_kern(columns_alone);
}

/* Normalising A on the way in, and keeping the value before GELU, change nothing else. */
static void fused(const ll_kern *kn)
{
    enum { M = 110, N = 40, K = 300, GROUP = 11 };
    float *x = draw(M * K, 2, 21), *w = draw(N * K, 1, 22), *mod = draw(M / GROUP * 2 * K, 1, 23);
    float *u = ll_new(M * K, sizeof *u), *y = ll_new(M * N, sizeof *y);
    float *z = ll_new(M * N, sizeof *z), *pre = ll_new(M * N, sizeof *pre);
    const ll_norm p = { .rows = M,
                        .n = K,
                        .eps = 1e-5f,
                        .scale = mod,
                        .shift = mod + K,
                        .group = GROUP,
                        .mod_ld = 2 * K };
    ll_gemm       g = { .m = M, .n = N, .k = K, .lda = K, .ldb = K, .ldc = N, .b_trans = true };
    void         *work = work_new(ll_kern_gemm_work(kn, &g));
    ll_kern_norm(kn, &p, x, u, NULL);
    ll_kern_gemm(kn, &g, u, w, y, work);
    g.a_norm = &p;
    g.gelu = true;
    g.pre = pre;
    ll_kern_gemm(kn, &g, x, w, z, work);
    same_bits(y, pre, M * N, "norm on the way in", ll_kern_name(kn));
    kn->isa->unary[LL_UNARY_GELU](M * N, y, y);
    same_bits(y, z, M * N, "GELU on the way out", ll_kern_name(kn));
    work_free(work);
    void *bufs[] = { x, w, mod, u, y, z, pre };
    for (size_t i = 0; i < 7; i++) ll_free(bufs[i]);
}

static void fused_everywhere(void **state)
{
    (void)state;
    each_kern(fused);
}

/* Sums of A's columns beside a product are those that stand alone. */
static void sums_beside(const ll_kern *kn)
{
    static const int64_t sizes[][3] = { { 5, 3, 2 }, { 130, 70, 600 }, { 24, 200, 530 } };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
        const size_t  part = ll_kern_col_sum_work(kn, k, m);
        float        *a = draw(k * m, 1, 1), *b = draw(k * n, 1, 2);
        float        *c = ll_new((size_t)(m * n), sizeof *c), *sums = work_new(part);
        float        *y = ll_new((size_t)m, sizeof *y), *alone = ll_new((size_t)m, sizeof *y);
        ll_gemm       g = {
                  .m = m, .n = n, .k = k, .lda = m, .ldb = n, .ldc = n, .a_trans = true, .sums = sums
        };
        void *work = work_new(ll_kern_gemm_work(kn, &g)), *more = work_new(part);
        ll_kern_gemm(kn, &g, a, b, c, work);
        ll_kern_sum_pieces(kn, k, m, sums, false, y);
        ll_kern_col_sum(kn, k, m, a, m, false, alone, more);
        same_bits(alone, y, m, "sums beside a product", ll_kern_name(kn));
        work_free(sums);
        work_free(work);
        work_free(more);
        void *bufs[] = { a, b, c, y, alone };
        for (int i = 0; i < 5; i++) ll_free(bufs[i]);
    }
}

static void sums_beside_everywhere(void **state)
{
    (void)state;
    each_kern(sums_beside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_zeros),     cmocka_unit_test(prepacked_everywhere),
        cmocka_unit_test(products),          cmocka_unit_test(batches),
        cmocka_unit_test(long_products),     cmocka_unit_test(sizes_far_apart),
        cmocka_unit_test(tiles_are_as_near), cmocka_unit_test(rows_alone_everywhere),
        cmocka_unit_test(fused_everywhere),  cmocka_unit_test(sums_beside_everywhere),
        cmocka_unit_test(two_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
