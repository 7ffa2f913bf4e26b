/* Elementwise ops and chains of them: tiles that fit the first-level cache, operands that are not
 * dense gathered into the tile first. One instruction is a chain of length one, so that a chain has
 * the bits of its parts. */
#include "backend/cpu/glue.h"
#include "backend/cpu/kern_isa.h"

#include <string.h>

enum {
    TILE = 1024,
    ALONE = 1 << 14, /* fewer elements than waking the threads costs */
};

void ll_cpu_gather(const ll_view *v, int64_t first, int64_t n, float *out)
{
    const float *data = v->data;
    const int    r = v->shape.rank;
    if (r == 0) {
        for (int64_t i = 0; i < n; i++) out[i] = data[0];
        return;
    }
    const int64_t len = v->shape.dim[r - 1], step = v->stride[r - 1];
    for (int64_t i = first; i < first + n;) {
        const int64_t j = i % len, left = first + n - i;
        const int64_t run = len - j < left ? len - j : left;
        const float  *row = data + ll_view_row_offset(v, i / len) + j * step;
        if (step == 1) memcpy(out, row, (size_t)run * sizeof *out);
        else if (step == 0)
            for (int64_t k = 0; k < run; k++) out[k] = row[0];
        else
            for (int64_t k = 0; k < run; k++) out[k] = row[k * step];
        out += run;
        i += run;
    }
}

#define EACH for (int64_t i = 0; i < n; i++)

/* Ours to the arithmetic's names; -1 where it has none. */
static int unary_of(ll_op op)
{
    switch (op) {
    case LL_OP_NEG:
        return LL_UNARY_NEG;
    case LL_OP_EXP:
        return LL_UNARY_EXP;
    case LL_OP_LOG:
        return LL_UNARY_LOG;
    case LL_OP_SIN:
        return LL_UNARY_SIN;
    case LL_OP_COS:
        return LL_UNARY_COS;
    case LL_OP_TANH:
        return LL_UNARY_TANH;
    case LL_OP_SIGMOID:
        return LL_UNARY_SIGMOID;
    case LL_OP_SILU:
        return LL_UNARY_SILU;
    case LL_OP_SOFTPLUS:
        return LL_UNARY_SOFTPLUS;
    case LL_OP_GELU:
        return LL_UNARY_GELU;
    case LL_OP_SQRT:
        return LL_UNARY_SQRT;
    case LL_OP_SQUARE:
        return LL_UNARY_SQUARE;
    case LL_OP_ABS:
        return LL_UNARY_ABS;
    default:
        return -1;
    }
}

static int binary_of(ll_op op)
{
    switch (op) {
    case LL_OP_ADD:
        return LL_BINARY_ADD;
    case LL_OP_SUB:
        return LL_BINARY_SUB;
    case LL_OP_MUL:
        return LL_BINARY_MUL;
    case LL_OP_DIV:
        return LL_BINARY_DIV;
    default:
        return -1;
    }
}

static void unary_tile(const ll_kern *kn, const ll_chain_step *s, int64_t n, const float *x,
                       float *y)
{
    const int op = unary_of(s->op);
    if (op >= 0) kn->isa->unary[op](n, x, y);
    else if (s->op == LL_OP_CLAMP) kn->isa->clamp(n, (float)s->a, (float)s->b, x, y);
    else if (s->op == LL_OP_AFFINE) kn->isa->affine(n, (float)s->a, (float)s->b, x, y);
    else if (s->op == LL_OP_SIGN) EACH y[i] = (float)((x[i] > 0.0f) - (x[i] < 0.0f));
    else if (x != y) memcpy(y, x, (size_t)n * sizeof *y);
}

static void binary_tile(const ll_kern *kn, const ll_chain_step *s, int64_t n, const float *x,
                        const float *z, float *y)
{
    const int op = binary_of(s->op);
    if (op >= 0) {
        kn->isa->binary[op](n, x, 1, z, 1, y);
        return;
    }
    switch (s->op) {
    case LL_OP_MAXIMUM:
        EACH y[i] = x[i] >= z[i] ? x[i] : z[i];
        break;
    case LL_OP_MINIMUM:
        EACH y[i] = x[i] <= z[i] ? x[i] : z[i];
        break;
    case LL_OP_AT_LEAST:
        EACH y[i] = x[i] >= z[i] ? 1.0f : 0.0f;
        break;
    case LL_OP_MASK:
        EACH y[i] = z[i] != 0.0f ? x[i] : 0.0f;
        break;
    case LL_OP_GELU_GRAD:
        kn->isa->unary_grad[LL_UNARY_GELU](n, x, z, y);
        break;
    case LL_OP_SILU_GRAD:
        kn->isa->unary_grad[LL_UNARY_SILU](n, x, z, y);
        break;
    case LL_OP_CLAMP_GRAD:
        kn->isa->clamp_grad(n, (float)s->a, (float)s->b, x, z, y);
        break;
    default:
        break;
    }
}

static void run_tile(const ll_call *c, const ll_kern *kn, const ll_op_chain *chain,
                     const bool *dense, int64_t first, int64_t n)
{
    float        gathered[LL_CHAIN_INPUTS][TILE], result[LL_CHAIN_STEPS][TILE];
    const float *value[LL_CHAIN_INPUTS + LL_CHAIN_STEPS];
    for (int k = 0; k < chain->n_in; k++) {
        value[k] = dense[k] ? cpu_in(c, k) + first : gathered[k];
        if (!dense[k]) ll_cpu_gather(&c->in[k], first, n, gathered[k]);
    }
    for (int k = 0; k < chain->n_steps; k++) {
        const ll_chain_step *s = &chain->step[k];
        const bool           last = k == chain->n_steps - 1;
        float               *y = last ? cpu_out(c, 0) + first : result[k];
        if (ll_op_is_unary(s->op)) unary_tile(kn, s, n, value[s->arg[0]], y);
        else binary_tile(kn, s, n, value[s->arg[0]], value[s->arg[1]], y);
        value[chain->n_in + k] = y;
    }
}

typedef struct tiling {
    const ll_call     *c;
    ll_kern            kn;
    const ll_op_chain *chain;
    bool               dense[LL_CHAIN_INPUTS];
    int64_t            n;
} tiling;

static void one_tile(const void *args, int64_t tile, int thread)
{
    const tiling *t = args;
    const int64_t first = tile * TILE, left = t->n - first;
    (void)thread;
    run_tile(t->c, &t->kn, t->chain, t->dense, first, left < TILE ? left : TILE);
}

static void run_chain(const ll_call *c, const ll_op_chain *chain)
{
    tiling t = {
        .c = c, .kn = ll_kern_best(c->n_threads), .chain = chain, .n = cpu_count(&c->out[0])
    };
    for (int k = 0; k < chain->n_in; k++) t.dense[k] = ll_view_dense(&c->in[k]);
    kern_each(t.n > ALONE ? c->n_threads : 1, (t.n + TILE - 1) / TILE, one_tile, &t);
}

void ll_cpu_chain(const ll_call *c) { run_chain(c, c->attr->chain); }

static void run_single(const ll_call *c, int n_in)
{
    const ll_op_chain chain = { .n_in = n_in,
                                .n_steps = 1,
                                .step = { { .op = c->op,
                                            .arg = { 0, n_in - 1 },
                                            .a = c->attr->scalar.a,
                                            .b = c->attr->scalar.b } } };
    run_chain(c, &chain);
}

void ll_cpu_unary(const ll_call *c) { run_single(c, 1); }
void ll_cpu_binary(const ll_call *c) { run_single(c, 2); }
