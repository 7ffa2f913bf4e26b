/* The products and attentions of a step at paper size, as one sample, 25 samples and a training
 * step of 10 rows have them: GFLOP/s by the wall on one thread and on two. compare_torch.py
 * --shapes prints those of PyTorch under the same names.
 *
 *     shapes [avx512|avx2|portable] [seconds for each] [only these, by number: 0,13] */
#include "backend/cpu/kern.h"
#include "backend/cpu/team.h"
#include "base/alloc.h"
#include "base/rng/rng.h"
#include "bench.h"

#include <string.h>

enum { WIDTH = 256, INNER = 1024, OUT = 24, HEADS = 4, D = 64 };

typedef enum kind { LINEAR, TIMES, TURNED, MLP, ATTN, ATTN_GRAD } kind;

typedef struct shape {
    kind    kind;
    int64_t m, n, k; /* attention: batch, queries, keys */
} shape;

/* Small numbers, as weights and rows behind a norm are: products of larger ones would bring GELU to
 * its tails, whose denormal numbers some processors multiply slowly. */
static float *draw(int64_t n)
{
    float *x = ll_new_aligned((size_t)n, sizeof *x);
    ll_rng r = ll_rng_make(1, LL_STREAM_TEST, 1, 0, 0);
    if (x == NULL) exit(1);
    ll_rng_fill_normal(&r, 0, (size_t)n, x);
    for (int64_t i = 0; i < n; i++) x[i] *= 0.0625f;
    return x;
}

static void *work_of(size_t n_bytes)
{
    void *p = ll_new_aligned(n_bytes + 64, 1);
    if (p == NULL) exit(1);
    memset(p, 0, n_bytes + 64);
    return p;
}

typedef struct timing {
    const ll_kern *kn;
    const shape   *s;
    ll_gemm        g, down;
    ll_attn        at;
    float         *a, *b, *c, *d, *lse, *packed;
    void          *work;
    double         seconds, best[BENCH_REPEATS];
} timing;

static void once(timing *t)
{
    switch (t->s->kind) {
    case MLP:
        ll_kern_mlp(t->kn, &t->g, &t->down, t->packed, t->a, t->c, t->work);
        break;
    case ATTN:
        ll_kern_attn(t->kn, &t->at, t->a, t->b, t->b + WIDTH, t->c, t->lse, t->work);
        break;
    case ATTN_GRAD:
        ll_kern_attn_grad(t->kn, &t->at, t->a, t->b, t->b + WIDTH, t->c, t->lse, t->a, t->d,
                          t->packed, t->packed + WIDTH, NULL, t->work);
        break;
    default:
        ll_kern_gemm(t->kn, &t->g, t->a, t->b, t->c, t->work);
    }
}

static void repeat(void *user)
{
    timing *t = user;
    once(t);
    for (int r = 0; r < BENCH_REPEATS; r++) {
        const double start = bench_now();
        int          n = 0;
        do once(t), n++;
        while (bench_now() - start < t->seconds / BENCH_REPEATS);
        t->best[r] = (bench_now() - start) / n;
    }
}

static void prepare_attention(timing *t)
{
    const shape     *s = t->s;
    const ll_attn_at q = { s->n * WIDTH, WIDTH, D };
    const ll_attn_at kv = { s->k * 2 * WIDTH, 2 * WIDTH, D };
    t->at = (ll_attn){ .batch = s->m,
                       .heads = HEADS,
                       .nq = s->n,
                       .nk = s->k,
                       .d = D,
                       .scale = 0.125f,
                       .q = q,
                       .k = kv,
                       .v = kv,
                       .o = q,
                       .dq = q,
                       .dk = kv,
                       .dv = kv };
    t->a = draw(s->m * s->n * WIDTH), t->b = draw(s->m * s->k * 2 * WIDTH);
    t->c = draw(s->m * s->n * WIDTH), t->d = draw(s->m * s->n * WIDTH);
    t->packed = draw(s->m * s->k * 2 * WIDTH), t->lse = draw(s->m * HEADS * s->n);
    const size_t one = ll_kern_attn_work(t->kn, &t->at),
                 two = ll_kern_attn_grad_work(t->kn, &t->at);
    t->work = work_of(one > two ? one : two);
    ll_kern_attn(t->kn, &t->at, t->a, t->b, t->b + WIDTH, t->c, t->lse, t->work);
}

static void prepare_product(timing *t)
{
    const shape *s = t->s;
    t->g = (ll_gemm){ .m = s->m, .n = s->n, .k = s->k, .lda = s->k, .ldb = s->k, .ldc = s->n };
    t->g.b_trans = s->kind == LINEAR || s->kind == MLP;
    t->g.a_trans = s->kind == TURNED;
    if (t->g.a_trans) t->g.lda = s->m;
    if (!t->g.b_trans) t->g.ldb = s->n;
    t->a = draw(s->m * s->k), t->b = draw(s->n * s->k), t->c = draw(s->m * s->n);
    if (s->kind != MLP) t->work = work_of(ll_kern_gemm_work(t->kn, &t->g));
}

/* A second layer behind the product. */
static void prepare_mlp(timing *t, const ll_norm *norm)
{
    const shape *s = t->s;
    float       *w2 = draw((int64_t)OUT * INNER);
    t->down = (ll_gemm){
        .m = s->m, .n = OUT, .k = INNER, .lda = INNER, .ldb = INNER, .ldc = OUT, .b_trans = true
    };
    t->g.gelu = true;
    t->g.a_norm = norm;
    t->packed = work_of(ll_kern_mlp_pack_bytes(t->kn, &t->g, &t->down));
    ll_kern_mlp_pack(t->kn, &t->g, &t->down, t->b, w2, t->packed);
    t->work = work_of(ll_kern_mlp_work(t->kn, &t->g));
    ll_free(w2);
}

static double products_of(const shape *s)
{
    const double n = (double)s->m * (double)s->n * (double)s->k;
    if (s->kind == ATTN) return n * 2.0 * WIDTH;
    if (s->kind == ATTN_GRAD) return n * 5.0 * WIDTH;
    return s->kind == MLP ? 0.875 * n + (double)s->m * OUT * INNER : n;
}

/* GFLOP/s. */
static double rate(const ll_kern *kn, const shape *s, double seconds)
{
    timing        t = { .kn = kn, .s = s, .seconds = seconds };
    const ll_norm norm = { .rows = s->m, .n = WIDTH, .eps = 1e-5f };
    if (s->kind == ATTN || s->kind == ATTN_GRAD) prepare_attention(&t);
    else prepare_product(&t);
    if (s->kind == MLP) prepare_mlp(&t, &norm);
    ll_cpu_together(kn->n_threads, repeat, &t);
    void *all[] = { t.a, t.b, t.c, t.d, t.lse, t.packed, t.work };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ll_free(all[i]);
    return 2e-9 * products_of(s) / bench_median(t.best);
}

static bool listed(const char *list, int i)
{
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (atoi(at) == i) return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "linear", "x w",       "x^T y",
                                         "mlp",    "attention", "attention's gradient" };
    static const shape       shapes[] = {
              { LINEAR, 512, 256, 256 },   { LINEAR, 512, 768, 256 },   { LINEAR, 12800, 256, 256 },
              { LINEAR, 12800, 768, 256 }, { LINEAR, 5120, 1024, 256 }, { LINEAR, 5120, 256, 1024 },
              { TIMES, 5120, 256, 1024 },  { TIMES, 5120, 256, 768 },   { TIMES, 5120, 1024, 24 },
              { TURNED, 1024, 256, 5120 }, { TURNED, 768, 256, 5120 },  { TURNED, 256, 256, 5120 },
              { TURNED, 24, 1024, 5120 },  { MLP, 512, 1024, 256 },     { MLP, 12800, 1024, 256 },
              { ATTN, 1, 512, 512 },       { ATTN, 1, 512, 336 },       { ATTN, 25, 512, 512 },
              { ATTN, 25, 512, 336 },      { ATTN_GRAD, 10, 512, 512 }, { ATTN_GRAD, 10, 512, 336 },
    };
    const double seconds = argc > 2 ? atof(argv[2]) : 0.5;
    ll_kern      one = ll_kern_best(1), two = ll_kern_best(2);
    if (argc > 1 && (!ll_kern_pick(argv[1], 1, &one) || !ll_kern_pick(argv[1], 2, &two))) {
        fprintf(stderr, "shapes: no instruction set '%s' here\n", argv[1]);
        return 2;
    }
    printf("%s, GFLOP/s on one thread and on two\n", ll_kern_name(&one));
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const shape *s = &shapes[i];
        if (argc > 3 && !listed(argv[3], (int)i)) continue;
        printf("%-21s %5lld x %4lld x %4lld  %6.1f %6.1f\n", names[s->kind], (long long)s->m,
               (long long)s->n, (long long)s->k, rate(&one, s, seconds), rate(&two, s, seconds));
        fflush(stdout);
    }
    return 0;
}
