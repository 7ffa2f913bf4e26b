/* Matrix products: who computes which rows and columns. Two ways, the same bits:
 *   shared   all threads pack B together, then take rows of C in turn (large products);
 *   private  each thread takes some columns of one item, packs them for itself and runs all rows
 *            (few rows, or many items).
 * B is packed at most PACK_FLOATS at a time, so that scratch memory does not grow with the product.
 */
#include "backend/cpu/kern_isa.h"

#include <assert.h>

enum {
    PACK_FLOATS = 1 << 20, /* shared, numbers: 4 MB, by tiles 6 */
    PACK_STEPS = 1024,     /* inner steps packed at a time, a multiple of LL_KERN_KBLOCK */
    SHARED_STEPS = 64,     /* of those, packed by one thread */
    PRIVATE_COLS = 256,    /* columns of a private unit, a multiple of KERN_MAX_NR */
    PRIVATE_STEPS = 1024,
    ALONE_COLS = 1024 /* of a private unit when there is one thread */
};

typedef struct layout { /* how one product is cut */
    int     threads;
    bool    shared;
    int64_t items, inner; /* batch items; those of the second axis */
    int64_t steps, cols;  /* inner steps and columns packed at a time */
    size_t  pack_floats;  /* per thread when private */
} layout;

static layout lay_out(const ll_kern *kn, const ll_gemm *g)
{
    layout        l = { 0 };
    const int64_t nr = kn->isa->gemm_nr;
    l.inner = kern_most(g->nb[1], 1);
    l.items = kern_most(g->nb[0], 1) * l.inner;
    l.threads = l.items * g->m * g->n * g->k < KERN_PRODUCTS_ALONE ? 1 : kn->n_threads;
    const int64_t units = l.items * kern_per(g->n, PRIVATE_COLS);
    l.shared = l.threads > 1 && units < 8 * (int64_t)l.threads && g->m > KERN_MAX_MC;
    if (l.shared) {
        l.steps = kern_least(kern_most(g->k, 1), PACK_STEPS);
        l.cols = kern_least(kern_up(kern_most(g->n, 1), nr),
                            PACK_FLOATS / l.steps / KERN_MAX_NR * KERN_MAX_NR);
    } else {
        /* Few rows: fewer columns per unit, so that every thread gets some. */
        const int64_t even = kern_up(kern_per(kern_most(g->n, 1), 2 * l.threads), KERN_MAX_NR);
        l.steps = kern_least(kern_most(g->k, 1), PRIVATE_STEPS);
        l.cols = l.threads > 1 ? kern_least(even, PRIVATE_COLS)
                               : kern_least(kern_up(kern_most(g->n, 1), KERN_MAX_NR), ALONE_COLS);
    }
    l.pack_floats = (size_t)kern_packed(kn->isa, l.steps, kern_up(l.cols, KERN_MAX_NR));
    return l;
}

bool ll_kern_gemm_rows_once(const ll_gemm *g)
{
    return g->m > KERN_MAX_MC && g->n <= ALONE_COLS && g->k <= PACK_STEPS;
}
static_assert(ALONE_COLS <= 8 * PRIVATE_COLS && ALONE_COLS * PACK_STEPS <= PACK_FLOATS &&
                  (int)PRIVATE_STEPS == (int)PACK_STEPS,
              "llap_kern_gemm_rows_once");

/* x^T y with few rows and many columns: all of y would be packed for the sake of so few. The same
 * sums make the rows of y^T x, for which x is packed; by tiles, where parts are added in an order
 * that depends on whose they are, they would not be the same. */
static bool is_flat(const kern_isa *isa, const ll_gemm *g)
{
    enum { FEW = 32, MANY = 128 };
    return isa->gemm_steps == 1 && g->b_packed == NULL && g->c_norm.like == NULL && g->a_trans &&
           !g->b_trans && kern_most(g->nb[0], 1) * kern_most(g->nb[1], 1) == 1 && g->m <= FEW &&
           g->n >= MANY && !g->accumulate && !g->gelu && g->bias == NULL && g->pre == NULL &&
           g->residual == NULL && g->slope == NULL;
}

static ll_gemm turned(const ll_gemm *g)
{
    return (ll_gemm){
        .m = g->n, .n = g->m, .k = g->k, .lda = g->ldb, .ldb = g->lda, .ldc = g->m, .a_trans = true
    };
}

size_t ll_kern_gemm_work(const ll_kern *kn, const ll_gemm *g)
{
    if (is_flat(kn->isa, g)) {
        const ll_gemm t = turned(g);
        return sizeof(float) * (size_t)kern_up(g->m * g->n, 16) + ll_kern_gemm_work(kn, &t);
    }
    const layout l = lay_out(kn, g);
    const size_t threads = (size_t)l.threads;
    return sizeof(float) * (l.pack_floats * (l.shared ? 1 : threads) + KERN_TILE_FLOATS * threads);
}

size_t ll_kern_gemm_prepack_bytes(const ll_kern *kn, const ll_gemm *g)
{
    const int64_t n = kern_up(g->n, kn->isa->gemm_nr);
    if (g->k > PRIVATE_STEPS || n * g->k > PACK_FLOATS) return 0;
    return sizeof(float) * (size_t)kern_packed(kn->isa, g->k, n);
}

void ll_kern_gemm_prepack(const ll_kern *kn, const ll_gemm *g, const float *b, float *packed)
{
    const kern_gemm_unit u = { .g = g, .j1 = g->n, .k1 = g->k, .packed = packed };
    kn->isa->gemm_pack(&u, b, 0, kern_per(g->n, kn->isa->gemm_nr));
}

/* Columns j.. of a packed B; nobody writes there. */
static float *packed_at(const kern_isa *isa, const ll_gemm *g, int64_t j)
{
    return (float *)(uintptr_t)g->b_packed + kern_packed(isa, g->k, j);
}

static int64_t item_at(const int64_t step[2], int64_t item, int64_t inner)
{
    return item / inner * step[0] + item % inner * step[1];
}

typedef struct product { /* one call */
    const kern_isa *isa;
    const ll_gemm  *g;
    const layout   *l;
    const float    *a, *b;
    float          *c, *work;
} product;

static void private_unit(const void *args, int64_t unit, int thread)
{
    const product *p = args;
    const ll_gemm *g = p->g;
    const layout  *l = p->l;
    const int64_t  chunks = kern_per(g->n, l->cols), item = unit / chunks;
    float         *mine = p->work + (size_t)thread * (l->pack_floats + KERN_TILE_FLOATS);
    kern_gemm_unit u = { .g = g, .i1 = g->m, .packed = mine, .tile = mine + l->pack_floats };
    u.j0 = unit % chunks * l->cols;
    u.j1 = kern_least(u.j0 + l->cols, g->n);
    do {
        u.k1 = kern_least(u.k0 + l->steps, g->k);
        if (g->b_packed != NULL) u.packed = packed_at(p->isa, g, u.j0);
        else
            p->isa->gemm_pack(&u, p->b + item_at(g->b_step, item, l->inner), 0,
                              kern_per(u.j1 - u.j0, p->isa->gemm_nr));
        p->isa->gemm_rows(&u, p->a + item_at(g->a_step, item, l->inner), p->c,
                          item_at(g->c_step, item, l->inner));
        u.k0 = u.k1;
    } while (u.k0 < g->k);
}

/* Row blocks of near equal numbers of micro-kernel rows, at least one per thread where possible. */
static int64_t block_start(int64_t block, int64_t blocks, int64_t m, int64_t mr)
{
    return kern_least(block * kern_per(m, mr) / blocks * mr, m);
}

typedef struct shared { /* columns and inner steps that all threads work on */
    const product *p;
    kern_gemm_unit u;
    int64_t        first, blocks; /* first item; row blocks of an item */
} shared;

static void shared_pack(const void *args, int64_t panel, int thread)
{
    const shared  *s = args;
    const product *p = s->p;
    (void)thread;
    p->isa->gemm_pack(&s->u, p->b + item_at(p->g->b_step, s->first, p->l->inner), panel, 1);
}

static void shared_pack_steps(const void *args, int64_t part, int thread)
{
    const shared  *s = args;
    const product *p = s->p;
    const int64_t  nk = s->u.k1 - s->u.k0;
    (void)thread;
    p->isa->gemm_pack_steps(&s->u, p->b + item_at(p->g->b_step, s->first, p->l->inner),
                            part * SHARED_STEPS, kern_least((part + 1) * SHARED_STEPS, nk));
}

static void shared_rows(const void *args, int64_t unit, int thread)
{
    const shared  *s = args;
    const product *p = s->p;
    const ll_gemm *g = p->g;
    const int64_t  item = s->first + unit / s->blocks, block = unit % s->blocks;
    kern_gemm_unit u = s->u;
    u.tile = p->work + p->l->pack_floats + (size_t)thread * KERN_TILE_FLOATS;
    u.i0 = block_start(block, s->blocks, g->m, p->isa->gemm_mr);
    u.i1 = block_start(block + 1, s->blocks, g->m, p->isa->gemm_mr);
    p->isa->gemm_rows(&u, p->a + item_at(g->a_step, item, p->l->inner), p->c,
                      item_at(g->c_step, item, p->l->inner));
}

static void gemm_shared(const product *p, int64_t first, int64_t items)
{
    const ll_gemm *g = p->g;
    const layout  *l = p->l;
    const int64_t  t = l->threads;
    shared         s = { .p = p, .first = first, .blocks = t * kern_per(g->m, KERN_MAX_MC * t) };
    for (int64_t j = 0; j < g->n; j += l->cols) {
        s.u = (kern_gemm_unit){ .g = g, .j0 = j, .packed = p->work };
        s.u.j1 = kern_least(j + l->cols, g->n);
        do {
            s.u.k1 = kern_least(s.u.k0 + l->steps, g->k);
            if (g->b_packed != NULL) s.u.packed = packed_at(p->isa, g, j);
            else if (g->b_trans)
                kern_each(l->threads, kern_per(s.u.j1 - j, p->isa->gemm_nr), shared_pack, &s);
            else
                kern_each(l->threads, kern_per(s.u.k1 - s.u.k0, SHARED_STEPS), shared_pack_steps,
                          &s);
            kern_each_free(l->threads, items * s.blocks,
                           (double)(items * g->m) * (double)(s.u.j1 - j) *
                               (double)(s.u.k1 - s.u.k0),
                           shared_rows, &s);
            s.u.k0 = s.u.k1;
        } while (s.u.k0 < g->k);
    }
}

static void gemm_flat(const ll_kern *kn, const ll_gemm *g, const float *a, const float *b, float *c,
                      float *work)
{
    const ll_gemm t = turned(g);
    ll_kern_gemm(kn, &t, b, a, work, work + kern_up(g->m * g->n, 16));
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) c[i * g->ldc + j] = work[j * g->m + i];
}

void ll_kern_gemm(const ll_kern *kn, const ll_gemm *g, const float *a, const float *b, float *c,
                  void *work)
{
    if (g->m == 0 || g->n == 0) return;
    if (is_flat(kn->isa, g)) {
        gemm_flat(kn, g, a, b, c, work);
        for (int64_t k = 0; k < g->k && g->sums != NULL; k += LL_KERN_SUM_ROWS)
            kn->isa->sum_rows(kern_least(g->k - k, LL_KERN_SUM_ROWS), g->m, a + k * g->lda, g->lda,
                              g->sums + k / LL_KERN_SUM_ROWS * g->m);
        return;
    }
    const layout  l = lay_out(kn, g);
    const product p = { kn->isa, g, &l, a, b, c, work };
    const bool    one_b = g->b_step[0] == 0 && g->b_step[1] == 0;
    if (!l.shared)
        kern_each_free(l.threads, l.items * kern_per(g->n, l.cols),
                       (double)(l.items * g->m) * (double)g->n * (double)g->k, private_unit, &p);
    else if (one_b) gemm_shared(&p, 0, l.items);
    else
        for (int64_t item = 0; item < l.items; item++) gemm_shared(&p, item, 1);
}

/* -------- two layers as one -------- */

bool ll_kern_mlp_fits(const ll_kern *kn, const ll_gemm *up, const ll_gemm *down)
{
    return up->m % 2 == 0 && up->n % KERN_PAIR_COLS == 0 && up->k % 32 == 0 &&
           up->k <= LL_KERN_KBLOCK && ll_kern_gemm_prepack_bytes(kn, down) > 0;
}

double ll_kern_mlp_share(const ll_kern *kn) { return kn->isa->mlp_share; }

static size_t up_floats(const ll_gemm *up) { return (size_t)(up->n * up->k / 4 * 7); }

size_t ll_kern_mlp_pack_bytes(const ll_kern *kn, const ll_gemm *up, const ll_gemm *down)
{
    return sizeof(float) * up_floats(up) + ll_kern_gemm_prepack_bytes(kn, down);
}

void ll_kern_mlp_pack(const ll_kern *kn, const ll_gemm *up, const ll_gemm *down, const float *w_up,
                      const float *w_down, float *packed)
{
    kn->isa->pairs_pack(up, w_up, packed);
    ll_kern_gemm_prepack(kn, down, w_down, packed + up_floats(up));
}

typedef struct mlp { /* one call */
    const kern_isa *isa;
    const ll_gemm  *up, *down;
    const float    *packed, *x;
    float          *y, *work;
    int64_t         blocks;
} mlp;

static void mlp_unit(const void *args, int64_t unit, int thread)
{
    const mlp     *p = args;
    const int64_t  rows = 2 * p->isa->gemm_mr;
    float         *packed = (float *)(uintptr_t)p->packed; /* nobody writes there */
    kern_gemm_unit up = { .g = p->up, .packed = packed };
    kern_gemm_unit down = { .g = p->down, .packed = packed + up_floats(p->up) };
    up.i0 = block_start(unit, p->blocks, p->up->m, rows);
    up.i1 = block_start(unit + 1, p->blocks, p->up->m, rows);
    up.tile = p->work + (size_t)thread * KERN_MLP_FLOATS;
    down.tile = up.tile + KERN_PAIR_FLOATS;
    down.j1 = p->down->n;
    down.k1 = p->down->k;
    p->isa->mlp_rows(&up, &down, p->x, p->y);
}

size_t ll_kern_mlp_work(const ll_kern *kn, const ll_gemm *up)
{
    return sizeof(float) * KERN_MLP_FLOATS * (size_t)lay_out(kn, up).threads;
}

void ll_kern_mlp(const ll_kern *kn, const ll_gemm *up, const ll_gemm *down, const float *packed,
                 const float *x, float *y, void *work)
{
    const int threads = lay_out(kn, up).threads;
    const mlp p = {
        kn->isa, up, down, packed,
        x,       y,  work, .blocks = threads * kern_per(up->m, KERN_MLP_ROWS * (int64_t)threads)
    };
    kern_each_free(threads, p.blocks, (double)up->m * (double)up->n * (double)up->k, mlp_unit, &p);
}
