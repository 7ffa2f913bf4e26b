/* Layer norm, softmax, the damped-sinusoid basis, rotary embedding and AdamW against double loops.
 */
#include "kern_check.h"

/* --- layer norm
 * ----------------------------------------------------------------------------------- */

typedef struct norm_case {
    ll_norm      p;
    const float *x, *dy, *add;
    bool         with_stats;
} norm_case;

static int64_t groups_of(const ll_norm *p) { return p->scale != NULL ? p->rows / p->group : 1; }

static void run_norm(const ll_kern *kn, const void *user, float *out)
{
    const norm_case *c = user;
    ll_kern_norm(kn, &c->p, c->x, out, c->with_stats ? out + c->p.rows * c->p.n : NULL);
}

/* dx, then the gradients of gain or scale, then those of bias or shift. */
static void run_norm_grad(const ll_kern *kn, const void *user, float *out)
{
    const norm_case *c = user;
    const int64_t    size = c->p.rows * c->p.n, part = groups_of(&c->p) * c->p.n;
    float           *stats = ll_new((size_t)(2 * c->p.rows), sizeof *stats);
    float           *y = ll_new((size_t)size, sizeof *y);
    void            *work = work_new(ll_kern_norm_grad_work(kn, &c->p));
    ll_kern_norm(kn, &c->p, c->x, y, stats);
    for (int64_t i = 0; i < 2 * part; i++) out[size + i] = c->p.scale != NULL ? NAN : 1.0f;
    if (c->p.rows == 0) memset(out, 0, (size_t)(2 * part) * sizeof *out);
    ll_kern_norm_grad(kn, &c->p, c->x, c->with_stats ? stats : NULL, c->dy, c->add, out, out + size,
                      out + size + part, c->p.n, work);
    ll_free(stats);
    ll_free(y);
    work_free(work);
}

static void norm_truth(const norm_case *c, const truth *y, const truth *d)
{
    const ll_norm *p = &c->p;
    const int64_t  n = p->n, size = p->rows * n, part = groups_of(p) * n;
    for (int64_t i = 0; i < 2 * part; i++)
        truth_set(d, size + i, p->scale != NULL || p->rows == 0 ? 0.0 : 1.0,
                  4.0 * (double)p->rows + 1);
    for (int64_t i = 0; i < p->rows; i++) {
        const float *x = c->x + i * n, *dy = c->dy + i * n;
        const double g_at = p->scale != NULL ? (double)(i / p->group) : 0.0;
        double       mean = 0.0, var = 0.0, s1 = 0.0, s2 = 0.0;
        for (int64_t j = 0; j < n; j++) mean += (double)x[j] / (double)n;
        for (int64_t j = 0; j < n; j++) var += pow((double)x[j] - mean, 2) / (double)n;
        const double rstd = 1.0 / sqrt(var + (double)p->eps);
        if (c->with_stats) {
            truth_set(y, size + 2 * i, mean, 1.0 + fabs(mean));
            truth_set(y, size + 2 * i + 1, rstd, rstd);
        }
        for (int pass = 0; pass < 2; pass++)
            for (int64_t j = 0; j < n; j++) {
                const int64_t m = (int64_t)g_at * p->mod_ld + j, at = size + (int64_t)g_at * n + j;
                const double  u = ((double)x[j] - mean) * rstd;
                double        f = 1.0, b = 0.0;
                if (p->scale != NULL) f = 1.0 + (double)p->scale[m], b = (double)p->shift[m];
                if (p->gain != NULL) f = (double)p->gain[j], b = (double)p->bias[j];
                const double g = f * (double)dy[j];
                if (pass == 0) {
                    truth_set(y, i * n + j, u * f + b, fabs(u * f) + fabs(b) + fabs(f) + 1e-9);
                    s1 += g / (double)n;
                    s2 += g * u / (double)n;
                    d->want[at] += (double)dy[j] * u;
                    d->want[at + part] += (double)dy[j];
                } else {
                    const double more = c->add != NULL ? (double)c->add[i * n + j] : 0.0;
                    truth_set(d, i * n + j, rstd * (g - s1 - u * s2) + more,
                              rstd * (fabs(g) + fabs(s1) + fabs(u * s2) + 1) + fabs(more));
                }
            }
    }
}

static void layer_norm(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {
        { 0, 5, 1 }, { 1, 1, 1 }, { 4, 7, 2 }, { 65, 33, 13 }, { 96, 256, 48 }, { 2, 10003, 1 }
    }; /* rows, n, group */
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int how = 0; how < 6; how++) {
            const int64_t rows = sizes[s][0], n = sizes[s][1], group = sizes[s][2];
            float        *x = draw(rows * n, 3, 1), *dy = draw(rows * n, 1, 2),
                  *add = draw(rows * n, 1, 4), *par = draw((rows + 1) * 2 * n, 1, 3);
            for (int64_t i = 0; i < rows * n; i++) x[i] += 2.0f;
            norm_case c = { .p = { .rows = rows, .n = n, .eps = 1e-5f, .group = group },
                            .x = x,
                            .dy = dy };
            if (how % 3 == 1) c.p.gain = par, c.p.bias = par + n;
            if (how % 3 == 2) c.p.scale = par, c.p.shift = par + n, c.p.mod_ld = 2 * n;
            c.with_stats = how >= 3;
            if (how % 2 == 1) c.add = add;
            const int64_t stats = c.with_stats ? 2 * rows : 0;
            truth         y = truth_new(rows * n + stats);
            truth         d = truth_new(rows * n + 2 * groups_of(&c.p) * n);
            norm_truth(&c, &y, &d);
            char name[60];
            snprintf(name, sizeof name, "norm %lldx%lld, %d", (long long)rows, (long long)n, how);
            check_kernel(name, run_norm, &c, &y, 1e-6);
            check_kernel(name, run_norm_grad, &c, &d, 2e-6);
            float *bufs[] = { x, dy, add, par };
            for (int i = 0; i < 4; i++) ll_free(bufs[i]);
            truth_free(&y);
            truth_free(&d);
        }
}

/* --- softmax
 * ---------------------------------------------------------------------------------------- */

typedef struct rows_case {
    int64_t      rows, n;
    const float *x, *dy;
} rows_case;

static void run_softmax(const ll_kern *kn, const void *user, float *out)
{
    const rows_case *c = user;
    ll_kern_softmax(kn, c->rows, c->n, c->x, out);
}

static void run_softmax_grad(const ll_kern *kn, const void *user, float *out)
{
    const rows_case *c = user;
    ll_kern_softmax(kn, c->rows, c->n, c->x, out);
    ll_kern_softmax_grad(kn, c->rows, c->n, out, c->dy, out); /* in place */
}

static void softmax(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = { { 1, 1 },   { 3, 0 },    { 3, 7 },
                                        { 64, 33 }, { 50, 512 }, { 2, 100003 } };
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const int64_t rows = sizes[s][0], n = sizes[s][1];
        float        *x = draw(rows * n, 5, 4), *dy = draw(rows * n, 1, 5);
        for (int64_t j = 0; j < n && rows > 2; j++) x[n + j] = -INFINITY; /* row 1: all masked */
        for (int64_t j = 0; j < n && rows > 2; j += 2) x[2 * n + j] = -INFINITY;
        if (n > 2 && rows > 2) x[2 * n + 1] = 1e4f;
        const rows_case c = { rows, n, x, dy };
        truth           y = truth_new(rows * n), d = truth_new(rows * n);
        for (int64_t i = 0; i < rows; i++) {
            double top = -INFINITY, sum = 0.0, dot = 0.0;
            for (int64_t j = 0; j < n; j++) top = fmax(top, (double)x[i * n + j]);
            for (int64_t j = 0; j < n; j++)
                sum += top == -INFINITY ? 0.0 : exp((double)x[i * n + j] - top);
            for (int64_t j = 0; j < n; j++) {
                const double p = sum == 0.0 ? 0.0 : exp((double)x[i * n + j] - top) / sum;
                truth_set(&y, i * n + j, p, p * (1 + fabs(top)) + 1e-37);
                dot += p * (double)dy[i * n + j];
            }
            for (int64_t j = 0; j < n; j++) {
                const double p = y.want[i * n + j], g = (double)dy[i * n + j];
                truth_set(&d, i * n + j, p * (g - dot),
                          p * (fabs(g) + 1) * (1 + fabs(top)) + 1e-37);
            }
        }
        check_kernel("softmax", run_softmax, &c, &y, 5e-7);
        check_kernel("softmax_grad", run_softmax_grad, &c, &d, 1e-6);
        ll_free(x);
        ll_free(dy);
        truth_free(&y);
        truth_free(&d);
    }
}

/* --- basis
 * -------------------------------------------------------------------------------------------- */

typedef struct basis_case {
    ll_basis     p;
    const float *t, *rho, *omega, *da;
} basis_case;

static void run_basis(const ll_kern *kn, const void *user, float *out)
{
    const basis_case *c = user;
    ll_kern_basis(kn, &c->p, c->t, c->rho, c->omega, out);
}

static void run_basis_grad(const ll_kern *kn, const void *user, float *out)
{
    const basis_case *c = user;
    const int64_t     n_t = c->p.batch * c->p.h, n_p = c->p.batch * c->p.k;
    float            *a = ll_new((size_t)(n_t * 2 * c->p.k), sizeof *a);
    ll_kern_basis(kn, &c->p, c->t, c->rho, c->omega, a);
    ll_kern_basis_grad(kn, &c->p, c->t, c->rho, c->omega, a, c->da, out, out + n_t,
                       out + n_t + n_p);
    ll_free(a);
}

static void basis_truth(const basis_case *c, const truth *y, const truth *d)
{
    const ll_basis *p = &c->p;
    const int64_t   n_t = p->batch * p->h, n_p = p->batch * p->k;
    for (int64_t i = 0; i < d->n; i++) d->size[i] = 1e-30;
    for (int64_t i = 0; i < n_t; i++)
        for (int64_t k = 0; k < p->k; k++) {
            const int64_t b = i / p->h, pole = b * p->pole_batch + k, at = i * 2 * p->k + k;
            const float   t = c->t[b * p->t_batch + i % p->h];
            const float   decay = -t * c->rho[pole],
                        angle = t * c->omega[pole]; /* fp32, as specified */
            const double e = exp((double)decay), cs = e * cos((double)angle),
                         sn = e * sin((double)angle);
            const double dc = (double)c->da[at], ds = (double)c->da[at + p->k];
            const double P = dc * cs + ds * sn, Q = ds * cs - dc * sn;
            truth_set(y, at, cs, e);
            truth_set(y, at + p->k, sn, e);
            const double  add[3] = { (double)c->omega[pole] * Q - (double)c->rho[pole] * P,
                                     -(double)t * P, (double)t * Q };
            const double  size = e * (fabs(dc) + fabs(ds));
            const double  sizes[3] = { size * (fabs((double)c->omega[pole]) + (double)c->rho[pole]),
                                       size * (double)t, size * (double)t };
            const int64_t to[3] = { i, n_t + b * p->k + k, n_t + n_p + b * p->k + k };
            for (int q = 0; q < 3; q++) d->want[to[q]] += add[q], d->size[to[q]] += sizes[q];
        }
}

static void basis(void **state)
{
    (void)state;
    static const int64_t sizes[][4] = {
        { 1, 1, 1, 0 }, { 1, 0, 3, 0 }, { 2, 5, 33, 1 }, { 3, 168, 64, 0 }
    };
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const int64_t batch = sizes[s][0], h = sizes[s][1], k = sizes[s][2];
        basis_case    c = { .p = { batch, h, k, h, sizes[s][3] ? k : 0 } };
        float        *t = draw(batch * h, 1, 6), *rho = draw(batch * k, 1, 7),
              *omega = draw(batch * k, 1, 8);
        float *da = draw(batch * h * 2 * k, 1, 9);
        for (int64_t i = 0; i < batch * h; i++)
            t[i] = (float)i + fabsf(t[i]); /* angles up to 1500 */
        for (int64_t i = 0; i < batch * k; i++)
            rho[i] = 0.01f * fabsf(rho[i]), omega[i] = fabsf(omega[i]);
        if (h > 3) t[3] = 3e6f; /* beyond our own range reduction */
        c.t = t, c.rho = rho, c.omega = omega, c.da = da;
        truth y = truth_new(batch * h * 2 * k), d = truth_new(batch * h + 2 * batch * k);
        basis_truth(&c, &y, &d);
        check_kernel("basis", run_basis, &c, &y, 3e-7);
        check_kernel("basis_grad", run_basis_grad, &c, &d, 1e-6);
        float *bufs[] = { t, rho, omega, da };
        for (int i = 0; i < 4; i++) ll_free(bufs[i]);
        truth_free(&y);
        truth_free(&d);
    }
}

/* --- rotary
 * ---------------------------------------------------------------------------------------------- */

typedef struct rotary_case {
    ll_rotary    p;
    const float *pos, *x;
} rotary_case;

static void run_rotary(const ll_kern *kn, const void *user, float *out)
{
    const rotary_case *c = user;
    for (int64_t i = 0; i < c->p.rows * c->p.y_row; i++) out[i] = 0.0f;
    ll_kern_rotary(kn, &c->p, c->pos, c->x, out);
}

static void rotary(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { 1, 1, 1 }, { 0, 2, 4 }, { 5, 4, 19 }, { 200, 2, 200 } };
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int inverse = 0; inverse < 2; inverse++) {
            const int64_t rows = sizes[s][0], heads = sizes[s][1], d = sizes[s][2],
                          width = heads * d;
            rotary_case c = { .p = { rows, heads, d, width + 5, width + 1, 10000.0f, inverse } };
            float      *pos = draw(rows, 100, 10), *x = draw(rows * (width + 5), 1, 11);
            truth       t = truth_new(rows * (width + 1));
            c.pos = pos, c.x = x;
            for (int64_t i = 0; i < rows * width; i++) {
                const int64_t r = i / width, j = i % width, in = j % d;
                const float  *a = x + r * (width + 5) + j / d * d + in / 2 * 2;
                const float   freq = (float)pow(10000.0, -(double)(in / 2) / (double)(d / 2));
                const float   fp32 = pos[r] * freq;
                const double  angle = inverse ? -(double)fp32 : (double)fp32;
                double        want = (double)a[0];
                if (in < d / 2 * 2)
                    want = in % 2 == 0 ? (double)a[0] * cos(angle) - (double)a[1] * sin(angle)
                                       : (double)a[0] * sin(angle) + (double)a[1] * cos(angle);
                truth_set(&t, r * (width + 1) + j, want,
                          fabs((double)a[0]) + (in < d / 2 * 2 ? fabs((double)a[1]) : 0));
            }
            check_kernel("rotary", run_rotary, &c, &t, 3e-7);
            ll_free(pos);
            ll_free(x);
            truth_free(&t);
        }
}

/* --- AdamW
 * -------------------------------------------------------------------------------------------------
 */

typedef struct adamw_case {
    ll_adamw     o;
    int64_t      n;
    const float *x; /* gradients of two steps, then p, m, v, ema */
} adamw_case;

static void run_adamw(const ll_kern *kn, const void *user, float *out)
{
    const adamw_case *c = user;
    const int64_t     n = c->n;
    memcpy(out, c->x + 2 * n, (size_t)(4 * n) * sizeof *out);
    for (int64_t k = 0; k < 2; k++) {
        ll_adamw o = c->o;
        o.step += k;
        const ll_adamw_item item[] = {
            /* in two parts, as if they were two arrays */
            { out, out + n, out + 2 * n, out + 3 * n, c->x + k * n, n / 3 },
            { out + n / 3, out + n + n / 3, out + 2 * n + n / 3, out + 3 * n + n / 3,
              c->x + k * n + n / 3, n - n / 3 },
        };
        ll_kern_adamw(kn, &o, item, 2);
    }
}

static void adamw(void **state)
{
    (void)state;
    static const int64_t lengths[] = { 0, 1, 17, 40003 };
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        const int64_t n = lengths[l];
        float        *x = draw(6 * n, 1, 12);
        for (int64_t i = 0; i < n; i++) x[4 * n + i] = fabsf(x[4 * n + i]); /* second moment */
        const adamw_case c = { { .lr = 1.5e-2,
                                 .weight_decay = 5e-4,
                                 .beta1 = 0.9,
                                 .beta2 = 0.999,
                                 .eps = 1e-8,
                                 .keep = 0.001f,
                                 .clip = 0.7,
                                 .step = 3 },
                               n,
                               x };
        truth            t = truth_new(4 * n);
        for (int64_t i = 0; i < n; i++) {
            double p = (double)x[2 * n + i], m = (double)x[3 * n + i], v = (double)x[4 * n + i],
                   e = (double)x[5 * n + i];
            for (int k = 0; k < 2; k++) {
                const double g = 0.7 * (double)x[k * n + i];
                p -= 1.5e-2 * 5e-4 * p;
                m = 0.9 * m + 0.1 * g;
                v = 0.999 * v + 0.001 * g * g;
                p -= 1.5e-2 / (1 - pow(0.9, 3 + k)) * m /
                     (sqrt(v) / sqrt(1 - pow(0.999, 3 + k)) + 1e-8);
                e += 0.001 * (p - e);
            }
            const double want[4] = { p, m, v, e };
            for (int q = 0; q < 4; q++) truth_set(&t, q * n + i, want[q], fabs(want[q]) + 0.1);
        }
        check_kernel("adamw", run_adamw, &c, &t, 1e-6);
        ll_free(x);
        truth_free(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layer_norm), cmocka_unit_test(softmax), cmocka_unit_test(basis),
        cmocka_unit_test(rotary),     cmocka_unit_test(adamw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
