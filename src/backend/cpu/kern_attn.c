/* Attention: heads, and blocks of queries where heads are few, to threads. Each thread packs the
 * keys and values it needs for itself. */
#include "backend/cpu/kern_isa.h"

#include <omp.h>

enum { BACK_QUERIES = 48, MAX_MR = 12 };

typedef struct layout { /* one thread's scratch, in floats */
    int64_t ld_q, ld_s;
    int64_t packed, q, s, row, block;
    int64_t all;
} layout;

static layout lay_out(const llap_attn *a, bool backward)
{
    const int64_t nk = kern_up(a->nk, KERN_MAX_NR), d = kern_up(a->d, KERN_MAX_NR);
    const int64_t queries = backward ? BACK_QUERIES : MAX_MR;
    /* + 16: rows a power of two apart would share one cache set. */
    layout l = { .ld_q = d + 16, .ld_s = nk + 16, .packed = nk * d, .row = nk };
    l.q = queries * l.ld_q;
    l.s = queries * l.ld_s;
    l.block = backward ? queries * d : 0;
    l.all = (backward ? 3 : 2) * (l.packed + 2 * KERN_MAX_NR) + l.q + (backward ? 2 : 1) * l.s +
            2 * l.row + l.block;
    return l;
}

static kern_attn_unit unit_of(const llap_attn *a, const layout *l, float *mine, bool backward)
{
    kern_attn_unit u = { .a = a, .ld_q = l->ld_q, .ld_s = l->ld_s, .i1 = a->nq };
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
    u.block = at;
    return u;
}

size_t llap_kern_attn_work(const llap_kern *kn, const llap_attn *a)
{
    return sizeof(float) * (size_t)(lay_out(a, false).all * kn->n_threads);
}

size_t llap_kern_attn_grad_work(const llap_kern *kn, const llap_attn *a)
{
    return sizeof(float) * (size_t)(lay_out(a, true).all * kn->n_threads);
}

static int64_t at(llap_attn_at s, int64_t b, int64_t h) { return b * s.batch + h * s.head; }

void llap_kern_attn(const llap_kern *kn, const llap_attn *a, const float *q, const float *k,
                    const float *v, float *o, float *lse, void *work)
{
    const layout  l = lay_out(a, false);
    const int64_t heads = a->batch * a->heads, mr = kn->isa->gemm_mr;
    /* Where heads are few, cut their queries too, into at least 8 micro-kernels each. */
    int64_t cuts = heads >= 8 * (int64_t)kn->n_threads || kn->n_threads == 1
                       ? 1
                       : kern_per(8 * kn->n_threads, kern_most(heads, 1));
    cuts = kern_most(kern_least(cuts, a->nq / (8 * mr)), 1);
#pragma omp parallel for schedule(dynamic) num_threads(kn->n_threads) if (kn->n_threads > 1)
    for (int64_t unit = 0; unit < heads * cuts; unit++) {
        const int64_t  head = unit / cuts, cut = unit % cuts, rows = kern_per(a->nq, mr);
        float         *mine = (float *)work + (int64_t)omp_get_thread_num() * l.all;
        kern_attn_unit u = unit_of(a, &l, mine, false);
        u.b = head / a->heads;
        u.h = head % a->heads;
        u.i0 = kern_least(rows * cut / cuts * mr, a->nq);
        u.i1 = kern_least(rows * (cut + 1) / cuts * mr, a->nq);
        kn->isa->attn_forward(&u, q + at(a->q, u.b, u.h), k + at(a->k, u.b, u.h),
                              v + at(a->v, u.b, u.h), o + at(a->o, u.b, u.h),
                              lse != NULL ? lse + head * a->nq : NULL);
    }
}

static float *moved(float *p, int64_t by) { return p != NULL ? p + by : NULL; }

void llap_kern_attn_grad(const llap_kern *kn, const llap_attn *a, const float *q, const float *k,
                         const float *v, const float *o, const float *lse, const float *doo,
                         float *dq, float *dk, float *dv, float *dbias, void *work)
{
    const layout l = lay_out(a, true);
    /* Heads or batch items that add into one dbias follow each other on one thread. */
    const bool    one_head = dbias != NULL && a->bias_at.head == 0;
    const bool    one_batch = dbias != NULL && a->bias_at.batch == 0;
    const int64_t nb = one_batch ? 1 : a->batch, nh = one_head ? 1 : a->heads;
#pragma omp parallel for schedule(dynamic) num_threads(kn->n_threads) if (kn->n_threads > 1)
    for (int64_t unit = 0; unit < nb * nh; unit++) {
        float *mine = (float *)work + (int64_t)omp_get_thread_num() * l.all;
        for (int64_t b = one_batch ? 0 : unit / nh; b < (one_batch ? a->batch : unit / nh + 1); b++)
            for (int64_t h = one_head ? 0 : unit % nh; h < (one_head ? a->heads : unit % nh + 1);
                 h++) {
                kern_attn_unit u = unit_of(a, &l, mine, true);
                u.b = b;
                u.h = h;
                const kern_attn_grad g = { .q = q + at(a->q, b, h),
                                           .k = k + at(a->k, b, h),
                                           .v = v + at(a->v, b, h),
                                           .o = o + at(a->o, b, h),
                                           .lse = lse + (b * a->heads + h) * a->nq,
                                           .doo = doo + at(a->o, b, h),
                                           .dq = moved(dq, at(a->q, b, h)),
                                           .dk = moved(dk, at(a->k, b, h)),
                                           .dv = moved(dv, at(a->v, b, h)),
                                           .dbias = moved(dbias, at(a->bias_at, b, h)) };
                kn->isa->attn_backward(&u, &g);
            }
    }
}
