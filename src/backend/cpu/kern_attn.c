/* Attention: heads, and blocks of queries where heads are few, to threads. Each thread packs the
 * keys and values it needs for itself. */
#include "backend/cpu/kern_isa.h"

enum { BACK_QUERIES = 64 }; /* at most */

typedef struct layout { /* one thread's scratch, in floats */
    int64_t ld_q, ld_s, ld_d;
    int64_t packed, q, s, row, block, sums;
    int64_t all;
} layout;

static const kern_isa *isa_for(const ll_kern *kn, const ll_attn *a)
{
    const kern_isa *narrow = kn->isa->narrow;
    return a->d <= KERN_NARROW && narrow != NULL ? narrow : kn->isa;
}

static layout lay_out(const kern_isa *isa, const ll_attn *a, bool backward)
{
    const int64_t nk = kern_up(a->nk, KERN_MAX_NR), d = kern_up(a->d, KERN_MAX_NR);
    const int64_t queries = backward ? BACK_QUERIES : kern_most(isa->gemm_mr, 16);
    /* + 16: rows a power of two apart would share one cache set. */
    layout l = { .ld_q = d + 16, .ld_s = nk + 16, .packed = kern_packed(isa, d, nk), .row = nk };
    l.ld_d = kern_up(a->d, 16);
    l.sums = backward ? a->nk * l.ld_d : 0;
    l.block = backward ? queries * d : 0;
    if (isa->gemm_steps > 1) { /* packed queries and, twice, 64 weights of each; sums; backward, in
                                  place of those, a panel and two tiles; and a transpose */
        l.block = kern_packed(isa, d + 128, isa->gemm_mr) + isa->gemm_mr * d;
        l.block += backward ? kern_packed(isa, queries, d) : 0;
        l.ld_s = kern_up(a->nk, 64) + 16;
        l.ld_d = nk + 16;
        l.sums = backward ? a->d * l.ld_d : 0;
    }
    l.q = queries * l.ld_q;
    l.s = queries * l.ld_s;
    l.all = (backward ? 3 : 2) * (l.packed + 2 * KERN_MAX_NR) + l.q + (backward ? 2 : 1) * l.s +
            2 * l.row + l.block + 2 * l.sums;
    return l;
}

static kern_attn_unit unit_of(const ll_attn *a, const layout *l, float *mine, bool backward)
{
    kern_attn_unit u = { .a = a, .ld_q = l->ld_q, .ld_s = l->ld_s, .ld_d = l->ld_d, .i1 = a->nq };
    float         *at = mine;
    u.k_cols = at, at += l->packed;
    u.v_rows = at, at += l->packed; /* backward: v_cols */
    u.v_cols = u.v_rows;
    if (backward) u.k_rows = at, at += l->packed;
    u.q = at, at += l->q;
    u.s = at, at += l->s;
    if (backward) u.dp = at, at += l->s;
    u.mask = at, at += l->row;
    u.keep = at, at += l->row;
    u.block = at, at += l->block;
    u.dk = at, at += l->sums;
    u.dv = at;
    return u;
}

/* One call; the arrays of the whole batch. */
typedef struct call {
    const kern_isa *isa;
    const ll_attn  *a;
    layout          l;
    float          *work;
    int             threads;
    int64_t         cuts;   /* forward: parts of a head's queries */
    int64_t         nb, nh; /* backward: batch items and heads that run side by side */
    kern_attn_grad  g;      /* forward: q, k, v */
    float          *o, *lse;
} call;

/* Of the scores. */
static double products_of(const ll_attn *a)
{
    return (double)(a->batch * a->heads) * (double)a->nq * (double)a->nk * (double)a->d;
}

static int threads_for(const ll_kern *kn, const ll_attn *a)
{
    return a->batch * a->heads * a->nq * a->nk * a->d < KERN_PRODUCTS_ALONE ? 1 : kn->n_threads;
}

size_t ll_kern_attn_work(const ll_kern *kn, const ll_attn *a)
{
    return sizeof(float) * (size_t)(lay_out(isa_for(kn, a), a, false).all * threads_for(kn, a));
}

size_t ll_kern_attn_grad_work(const ll_kern *kn, const ll_attn *a)
{
    return sizeof(float) * (size_t)(lay_out(isa_for(kn, a), a, true).all * threads_for(kn, a));
}

static int64_t at(ll_attn_at s, int64_t b, int64_t h) { return b * s.batch + h * s.head; }

static void forward_unit(const void *args, int64_t unit, int thread)
{
    const call    *c = args;
    const ll_attn *a = c->a;
    const int64_t  mr = c->isa->gemm_mr, head = unit / c->cuts, cut = unit % c->cuts;
    const int64_t  rows = kern_per(a->nq, mr);
    kern_attn_unit u = unit_of(a, &c->l, c->work + thread * c->l.all, false);
    u.b = head / a->heads;
    u.h = head % a->heads;
    u.i0 = kern_least(rows * cut / c->cuts * mr, a->nq);
    u.i1 = kern_least(rows * (cut + 1) / c->cuts * mr, a->nq);
    if (head + 1 < a->batch * a->heads) { /* likely to be this thread's too */
        const int64_t nb = (head + 1) / a->heads, nh = (head + 1) % a->heads;
        u.k_next = c->g.k + at(a->k, nb, nh);
        u.v_next = c->g.v + at(a->v, nb, nh);
    }
    c->isa->attn_forward(&u, c->g.q + at(a->q, u.b, u.h), c->g.k + at(a->k, u.b, u.h),
                         c->g.v + at(a->v, u.b, u.h), c->o + at(a->o, u.b, u.h),
                         c->lse != NULL ? c->lse + head * a->nq : NULL);
}

/* Where heads are few, their queries are cut too: into parts that are long beside the packing of
 * keys and values, which each of them does, or shorter ones where threads would have nothing. */
static int64_t cuts_of(int64_t heads, int64_t nq, int threads)
{
    enum { LONG = 384, SHORT = 96 };
    const int64_t even = kern_per(8 * (int64_t)threads, kern_most(heads, 1));
    const int64_t needed = kern_per(threads, kern_most(heads, 1));
    const int64_t cuts = kern_most(kern_least(even, nq / LONG), kern_least(needed, nq / SHORT));
    return threads > 1 ? kern_most(cuts, 1) : 1;
}

void ll_kern_attn(const ll_kern *kn, const ll_attn *a, const float *q, const float *k,
                  const float *v, float *o, float *lse, void *work)
{
    const int64_t heads = a->batch * a->heads;
    call          c = { .isa = isa_for(kn, a),
                        .a = a,
                        .l = lay_out(isa_for(kn, a), a, false),
                        .work = work,
                        .cuts = 1,
                        .threads = threads_for(kn, a),
                        .g = { .q = q, .k = k, .v = v },
                        .o = o,
                        .lse = lse };
    c.cuts = cuts_of(heads, a->nq, c.threads);
    kern_each_free(c.threads, heads * c.cuts, products_of(a), forward_unit, &c);
}

static float *moved(float *p, int64_t by) { return p != NULL ? p + by : NULL; }

/* What the head after this one, likely to be this thread's too, will read. */
static void find_next(const call *c, int64_t b, int64_t h, kern_attn_grad *g)
{
    const ll_attn *a = c->a;
    const int64_t  head = b * a->heads + h + 1;
    g->first = head == 1 || c->nb < a->batch || c->nh < a->heads;
    if (head == a->batch * a->heads) return;
    b = head / a->heads;
    h = head % a->heads;
    g->next[0] = c->g.q + at(a->q, b, h);
    g->next[1] = c->g.k + at(a->k, b, h);
    g->next[2] = c->g.v + at(a->v, b, h);
    g->next[3] = c->g.o + at(a->o, b, h);
    g->next[4] = c->g.doo + at(a->o, b, h);
}

static void backward_head(const call *c, int64_t b, int64_t h, int thread)
{
    const ll_attn *a = c->a;
    kern_attn_grad g = { .q = c->g.q + at(a->q, b, h),
                         .k = c->g.k + at(a->k, b, h),
                         .v = c->g.v + at(a->v, b, h),
                         .o = c->g.o + at(a->o, b, h),
                         .lse = c->g.lse + (b * a->heads + h) * a->nq,
                         .doo = c->g.doo + at(a->o, b, h),
                         .dq = moved(c->g.dq, at(a->dq, b, h)),
                         .dk = moved(c->g.dk, at(a->dk, b, h)),
                         .dv = moved(c->g.dv, at(a->dv, b, h)),
                         .dbias = moved(c->g.dbias, at(a->bias_at, b, h)) };
    kern_attn_unit u = unit_of(a, &c->l, c->work + thread * c->l.all, true);
    find_next(c, b, h, &g);
    u.b = b;
    u.h = h;
    c->isa->attn_backward(&u, &g);
}

/* Heads or batch items that add into one dbias follow each other on one thread. */
static void backward_unit(const void *args, int64_t unit, int thread)
{
    const call *c = args;
    for (int64_t b = unit / c->nh; b < c->a->batch; b += c->nb)
        for (int64_t h = unit % c->nh; h < c->a->heads; h += c->nh) backward_head(c, b, h, thread);
}

void ll_kern_attn_grad(const ll_kern *kn, const ll_attn *a, const float *q, const float *k,
                       const float *v, const float *o, const float *lse, const float *doo,
                       float *dq, float *dk, float *dv, float *dbias, void *work)
{
    const bool one_head = dbias != NULL && a->bias_at.head == 0;
    const bool one_batch = dbias != NULL && a->bias_at.batch == 0;
    const call c = { .isa = isa_for(kn, a),
                     .a = a,
                     .l = lay_out(isa_for(kn, a), a, true),
                     .work = work,
                     .threads = threads_for(kn, a),
                     .nb = one_batch ? 1 : a->batch,
                     .nh = one_head ? 1 : a->heads,
                     .g = { .q = q,
                            .k = k,
                            .v = v,
                            .o = o,
                            .lse = lse,
                            .doo = doo,
                            .dq = dq,
                            .dk = dk,
                            .dv = dv,
                            .dbias = dbias } };
    kern_each_free(c.threads, c.nb * c.nh, products_of(a), backward_unit, &c);
}
