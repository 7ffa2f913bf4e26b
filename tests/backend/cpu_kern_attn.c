/* Attention, forward and backward, against double loops that store everything. */
#include "kern_check.h"

typedef struct attn_case {
    ll_attn      a;
    const float *q, *k, *v, *doo;
    bool         forward;
    int64_t      n_bias; /* size of bias and of its gradient */
} attn_case;

static void keep_most(const void *user, uint64_t first, int64_t n, float *scale)
{
    const uint64_t every = *(const uint64_t *)user;
    for (int64_t j = 0; j < n; j++) {
        const uint64_t element = first + (uint64_t)j;
        scale[j] = element * 2654435761u % every == 0 ? 0.0f : 1.25f;
    }
}

static int64_t q_size(const ll_attn *a) { return a->batch * a->nq * a->heads * a->d; }
static int64_t k_size(const ll_attn *a) { return a->batch * a->nk * a->heads * a->d; }

static void run_attn(const ll_kern *kn, const void *user, float *out)
{
    const attn_case *c = user;
    const ll_attn   *a = &c->a;
    const int64_t    nq = q_size(a), nk = k_size(a), rows = a->batch * a->heads * a->nq;
    float           *o = c->forward ? out : ll_new((size_t)nq, sizeof *o);
    float           *lse = ll_new((size_t)rows, sizeof *lse);
    void            *work = work_new(ll_kern_attn_work(kn, a));
    ll_kern_attn(kn, a, c->q, c->k, c->v, o, lse, work);
    if (!c->forward) {
        void  *more = work_new(ll_kern_attn_grad_work(kn, a));
        float *dbias = a->bias != NULL ? out + nq + 2 * nk : NULL;
        for (int64_t i = 0; i < c->n_bias; i++) out[nq + 2 * nk + i] = 1.0f; /* added to */
        ll_kern_attn_grad(kn, a, c->q, c->k, c->v, o, lse, c->doo, out, out + nq, out + nq + nk,
                          dbias, more);
        work_free(more);
        ll_free(o);
    }
    ll_free(lse);
    work_free(work);
}

/* Weights of query i and their gradients through the softmax; all in double. */
typedef struct head {
    double *p, *met, *ds; /* [nk]: softmax, after dropout, gradient of the scores */
} head;

static double dot(const float *a, const float *b, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

static int64_t place(ll_attn_at s, int64_t b, int64_t i, int64_t h)
{
    return b * s.batch + i * s.row + h * s.head;
}

static void weights(const attn_case *c, int64_t b, int64_t h, int64_t i, head *w)
{
    const ll_attn *a = &c->a;
    double         top = -INFINITY, sum = 0.0, mean = 0.0;
    float         *keep = ll_new((size_t)a->nk, sizeof *keep);
    for (int64_t j = 0; j < a->nk; j++) {
        double s =
            (double)a->scale * dot(c->q + place(a->q, b, i, h), c->k + place(a->k, b, j, h), a->d);
        if (a->bias != NULL) s += (double)a->bias[place(a->bias_at, b, i, h) + j];
        if (a->key_pad != NULL && a->key_pad[b * a->key_pad_batch + j]) s = -INFINITY;
        w->p[j] = s;
        top = fmax(top, s);
        keep[j] = 1.0f;
    }
    for (int64_t j = 0; j < a->nk; j++)
        sum += w->p[j] = w->p[j] == -INFINITY ? 0.0 : exp(w->p[j] - top);
    if (a->drop.keep != NULL)
        a->drop.keep(a->drop.user, (uint64_t)(((b * a->heads + h) * a->nq + i) * a->nk), a->nk,
                     keep);
    for (int64_t j = 0; j < a->nk; j++) {
        w->p[j] = sum == 0.0 ? 0.0 : w->p[j] / sum;
        w->met[j] = w->p[j] * (double)keep[j];
        w->ds[j] =
            (double)keep[j] * dot(c->doo + place(a->o, b, i, h), c->v + place(a->v, b, j, h), a->d);
        mean += w->p[j] * w->ds[j];
    }
    for (int64_t j = 0; j < a->nk; j++) w->ds[j] = w->p[j] * (w->ds[j] - mean);
    ll_free(keep);
}

static void attn_truth(const attn_case *c, const truth *y, const truth *d)
{
    const ll_attn *a = &c->a;
    const int64_t  nq = q_size(a), nk = k_size(a);
    head           w;
    w.p = ll_new((size_t)a->nk, sizeof *w.p);
    w.met = ll_new((size_t)a->nk, sizeof *w.met);
    w.ds = ll_new((size_t)a->nk, sizeof *w.ds);
    for (int64_t i = 0; i < y->n; i++) y->size[i] = 4.0; /* means of values of deviation 1 */
    for (int64_t i = 0; i < d->n; i++) d->size[i] = 10.0 + (double)(i < nq ? 0 : a->nq) / 10;
    for (int64_t i = nq + 2 * nk; i < d->n; i++) d->want[i] = 1.0, d->size[i] = 20.0;
    for (int64_t b = 0; b < a->batch; b++)
        for (int64_t h = 0; h < a->heads; h++)
            for (int64_t i = 0; i < a->nq; i++) {
                weights(c, b, h, i, &w);
                for (int64_t j = 0; j < a->nk; j++) {
                    for (int64_t e = 0; e < a->d; e++) {
                        const int64_t qi = place(a->q, b, i, h) + e, kj = place(a->k, b, j, h) + e;
                        const int64_t oi = place(a->o, b, i, h) + e, vj = place(a->v, b, j, h) + e;
                        y->want[oi] += w.met[j] * (double)c->v[vj];
                        d->want[qi] += (double)a->scale * w.ds[j] * (double)c->k[kj];
                        d->want[nq + kj] += (double)a->scale * w.ds[j] * (double)c->q[qi];
                        d->want[nq + nk + vj] += w.met[j] * (double)c->doo[oi];
                    }
                    if (a->bias != NULL)
                        d->want[nq + 2 * nk + place(a->bias_at, b, i, h) + j] += w.ds[j];
                }
            }
    ll_free(w.p);
    ll_free(w.met);
    ll_free(w.ds);
}

enum { MASK = 1, BIAS = 2, DROP = 4, SHARED_BIAS = 8, ZEROS = 16, SPREAD = 32 };

static void check_attn(int64_t batch, int64_t heads, int64_t nq, int64_t nk, int64_t d, int how)
{
    static const uint64_t every = 5;
    const int64_t         width = heads * d;
    attn_case             c = { .a = { .batch = batch,
                                       .heads = heads,
                                       .nq = nq,
                                       .nk = nk,
                                       .d = d,
                                       .scale = 1.0f / sqrtf((float)d),
                                       .q = { nq * width, width, d },
                                       .o = { nq * width, width, d },
                                       .k = { nk * width, width, d },
                                       .v = { nk * width, width, d } } };
    c.a.dq = c.a.q, c.a.dk = c.a.k, c.a.dv = c.a.v;
    const int64_t n_q = batch * nq * width, n_k = batch * nk * width;
    float        *q = draw(n_q, 1.5f, 1), *k = draw(n_k, 1.5f, 2), *v = draw(n_k, 1, 3),
          *doo = draw(n_q, 1, 4);
    float         *bias = draw(batch * heads * nq * nk, 1, 5);
    unsigned char *pad = ll_new((size_t)(batch * nk), 1);
    for (int64_t i = 0; i < batch * nk; i++)
        pad[i] = i % 3 == 1 || (batch > 1 && i < nk);                            /* item 0: all */
    for (int64_t i = 0; how & ZEROS && i < nk * width; i++) k[i] = v[i] = -0.0f; /* item 0 */
    for (int64_t i = 0; how & ZEROS && i < nq * width; i++) doo[i] = 0.0f;
    for (int64_t i = 0; how & SPREAD && i < n_q; i++) /* short queries to long ones */
        q[i] *= 0.1f + 1.5f * (float)(i / width % nq) / (float)nq;
    c.q = q, c.k = k, c.v = v, c.doo = doo;
    if (how & MASK) c.a.key_pad = pad, c.a.key_pad_batch = nk;
    if (how & (BIAS | SHARED_BIAS)) c.a.bias = bias;
    if (how & BIAS) c.a.bias_at = (ll_attn_at){ heads * nq * nk, nk, nq * nk };
    if (how & SHARED_BIAS) c.a.bias_at = (ll_attn_at){ 0, nk, 0 };
    c.n_bias = how & BIAS ? batch * heads * nq * nk : how & SHARED_BIAS ? nq * nk : 0;
    if (how & DROP) c.a.drop = (ll_kern_drop){ keep_most, &every };
    truth y = truth_new(n_q), g = truth_new(n_q + 2 * n_k + c.n_bias);
    attn_truth(&c, &y, &g);
    char name[80];
    snprintf(name, sizeof name, "attention %lldx%lldx%lldx%lldx%lld, %d", (long long)batch,
             (long long)heads, (long long)nq, (long long)nk, (long long)d, how);
    c.forward = true;
    check_kernel(name, run_attn, &c, &y, 1e-6);
    c.forward = false;
    check_kernel(name, run_attn, &c, &g, 2e-6);
    void *bufs[] = { q, k, v, doo, bias, pad };
    for (int i = 0; i < 6; i++) ll_free(bufs[i]);
    truth_free(&y);
    truth_free(&g);
}

static void shapes(void **state)
{
    (void)state;
    static const int64_t sizes[][5] = {
        { 1, 1, 1, 1, 1 },    { 1, 1, 0, 3, 4 },     { 2, 1, 3, 0, 40 },   { 2, 2, 7, 5, 19 },
        { 1, 4, 33, 70, 64 }, { 3, 1, 100, 17, 40 }, { 1, 2, 10, 300, 8 }, { 2, 1, 70, 269, 77 },
        { 3, 2, 37, 29, 8 },  { 2, 3, 33, 70, 16 },  { 2, 4, 16, 16, 4 }
    };
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (int how = 0; how < 12; how++)
            check_attn(sizes[s][0], sizes[s][1], sizes[s][2], sizes[s][3], sizes[s][4], how);
    for (int how = ZEROS; how < 2 * ZEROS; how++) { /* an item that leaves the attention out */
        check_attn(2, 2, 7, 5, 19, how);
        check_attn(3, 1, 100, 17, 40, how);
    }
    for (int how = SPREAD; how < SPREAD + 8; how++) { /* scores known to be small, and others */
        check_attn(2, 2, 61, 70, 64, how);
        check_attn(1, 1, 48, 96, 64, how);
        check_attn(1, 1, 65, 145, 50, how);
    }
    check_attn(1, 1, 5, 6, 300, 0); /* heads wider than a block of the inner sum */
}

/* Each batch item and query has the bits it has alone. */
static void items_alone_of(const ll_kern *kn, int64_t d)
{
    enum { B = 3, H = 2, Q = 200, K = 90 };
    const int64_t W = H * d;
    float        *q = draw(B * Q * W, 4, 6); /* scores known to be small, and others */
    float        *k = draw(B * K * W, 1, 7), *v = draw(B * K * W, 1, 8);
    const size_t  n = (size_t)(B * Q * W);
    float        *all = ll_new(n, sizeof *all), *some = ll_new(n, sizeof *some);
    ll_attn       a = { .batch = B,
                        .heads = H,
                        .nq = Q,
                        .nk = K,
                        .d = d,
                        .scale = 4.0f / (float)d,
                        .q = { Q * W, W, d },
                        .o = { Q * W, W, d },
                        .k = { K * W, W, d },
                        .v = { K * W, W, d } };
    void         *work = work_new(ll_kern_attn_work(kn, &a));
    ll_kern_attn(kn, &a, q, k, v, all, NULL, work);
    a.batch = 1;
    for (int64_t b = 0; b < B; b++)
        for (int64_t m = 1; m < 40; m += 3)
            for (int64_t i = 0; i + m <= Q; i += 67) {
                a.nq = m;
                ll_kern_attn(kn, &a, q + (b * Q + i) * W, k + b * K * W, v + b * K * W, some, NULL,
                             work);
                same_bits(all + (b * Q + i) * W, some, m * W, "queries depend on the batch",
                          ll_kern_name(kn));
            }
    work_free(work);
    void *bufs[] = { q, k, v, all, some };
    for (int i = 0; i < 5; i++) ll_free(bufs[i]);
}

static void items_alone(const ll_kern *kn)
{
    items_alone_of(kn, 8);
    items_alone_of(kn, 16);
    items_alone_of(kn, 48);
}

static void items_alone_everywhere(void **state)
{
    (void)state;
    each_kern(items_alone);
}

/* Scores from 0 to 1e6 in steps that leave one key the whole weight: its value comes out, and the
 * logarithm is its score. One query is 0 and one is short: they see all keys. */
static void huge_scores(const ll_kern *kn)
{
    enum { Q = 30, K = 45, D = 40 };
    float  *q = ll_new(Q * D, sizeof *q), *k = ll_new(K * D, sizeof *k), *v = draw(K * D, 1, 11);
    float  *o = ll_new(Q * D, sizeof *o), *lse = ll_new(Q, sizeof *lse);
    ll_attn a = { .batch = 1,
                  .heads = 1,
                  .nq = Q,
                  .nk = K,
                  .d = D,
                  .scale = 0.5f,
                  .q = { Q * D, D, D },
                  .o = { Q * D, D, D },
                  .k = { K * D, D, D },
                  .v = { K * D, D, D } };
    void   *work = work_new(ll_kern_attn_work(kn, &a));
    for (int j = 0; j < K; j++) k[j * D + 3] = (float)j;
    for (int i = 0; i < Q; i++) q[i * D + 3] = (i % 2 ? -100.0f : 100.0f) * (float)(i * i);
    q[1 * D + 3] = 0.25f;
    ll_kern_attn(kn, &a, q, k, v, o, lse, work);
    for (int i = 0; i < Q; i++) {
        const double by = 0.5 * (double)q[i * D + 3];
        double       sum = 0.0, want[D] = { 0.0 };
        const double top = by > 0.0 ? by * (K - 1) : 0.0;
        for (int j = 0; j < K; j++) sum += exp(by * j - top);
        for (int j = 0; j < K; j++)
            for (int e = 0; e < D; e++) want[e] += exp(by * j - top) / sum * (double)v[j * D + e];
        for (int e = 0; e < D; e++) assert_true(fabs((double)o[i * D + e] - want[e]) < 2e-6);
        const double log_2 = (top + log(sum)) / log(2.0);
        assert_true(fabs((double)lse[i] - log_2) <= 2e-7 * (1.0 + fabs(log_2)));
    }
    work_free(work);
    void *bufs[] = { q, k, v, o, lse };
    for (int i = 0; i < 5; i++) ll_free(bufs[i]);
}

static void huge_scores_everywhere(void **state)
{
    (void)state;
    each_kern(huge_scores);
}

/* The mean of equal values is that value, however many there are. */
static void many_keys(const ll_kern *kn)
{
    enum { NQ = 33, NK = 16000, D = 64 };
    const ll_attn_at at = { .row = D };
    const ll_attn    a = { .batch = 1,
                           .heads = 1,
                           .nq = NQ,
                           .nk = NK,
                           .d = D,
                           .scale = 0.125f,
                           .q = at,
                           .k = at,
                           .v = at,
                           .o = at };
    float           *q = draw(NQ * D, 1, 1), *k = draw(NK * D, 1, 2);
    float           *v = ll_new(NK * D, sizeof *v), *o = ll_new(NQ * D, sizeof *o);
    void            *work = work_new(ll_kern_attn_work(kn, &a));
    for (int64_t i = 0; i < NK * D; i++) v[i] = 3.0f;
    ll_kern_attn(kn, &a, q, k, v, o, NULL, work);
    for (int64_t i = 0; i < NQ * D; i++)
        if (!(fabs((double)o[i] - 3.0) <= 3e-6))
            fail_msg("%s: the mean of threes is %.9g", ll_kern_name(kn), (double)o[i]);
    work_free(work);
    float *all[] = { q, k, v, o };
    for (size_t i = 0; i < 4; i++) ll_free(all[i]);
}

static void many_keys_everywhere(void **state)
{
    (void)state;
    each_kern(many_keys);
}

/* NaN in one key reaches the queries that see it and no other item. */
static void nan_stays_home(const ll_kern *kn)
{
    enum { B = 2, N = 20, D = 40 };
    float *q = draw(B * N * D, 1, 9), *k = draw(B * N * D, 1, 10),
          *o = ll_new(B * N * D, sizeof *o);
    ll_attn a = { .batch = B,
                  .heads = 1,
                  .nq = N,
                  .nk = N,
                  .d = D,
                  .scale = 0.3f,
                  .q = { N * D, D, D },
                  .o = { N * D, D, D },
                  .k = { N * D, D, D },
                  .v = { N * D, D, D } };
    void   *work = work_new(ll_kern_attn_work(kn, &a));
    k[3] = NAN;
    ll_kern_attn(kn, &a, q, k, q, o, NULL, work);
    for (int i = 0; i < N * D; i++) assert_true(isnan(o[i]) && !isnan(o[N * D + i]));
    work_free(work);
    void *bufs[] = { q, k, o };
    for (int i = 0; i < 3; i++) ll_free(bufs[i]);
}

static void nan_stays_home_everywhere(void **state)
{
    (void)state;
    each_kern(nan_stays_home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),
        cmocka_unit_test(items_alone_everywhere),
        cmocka_unit_test(huge_scores_everywhere),
        cmocka_unit_test(many_keys_everywhere),
        cmocka_unit_test(nan_stays_home_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
