/* Elementwise ops and chains of them: tiles that fit the first-level cache, operands that are not
 * dense gathered into the tile first. One instruction is a chain of length one, so that a chain has
 * the bits of its parts. */
#include "backend/cpu/glue.h"

#include <math.h>
#include <string.h>

enum { TILE = 512 };

void llap_cpu_gather(const llap_view *v, int64_t first, int64_t n, float *out)
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
        const float  *row = data + llap_view_row_offset(v, i / len) + j * step;
        if (step == 1) memcpy(out, row, (size_t)run * sizeof *out);
        else
            for (int64_t k = 0; k < run; k++) out[k] = row[k * step];
        out += run;
        i += run;
    }
}

#define EACH for (int64_t i = 0; i < n; i++)

static void unary_tile(llap_op op, int64_t n, const float *x, float *y, float a, float b)
{
    switch (op) {
    case LLAP_OP_COPY:
        memmove(y, x, (size_t)n * sizeof *y);
        break;
    case LLAP_OP_NEG:
        EACH y[i] = -x[i];
        break;
    case LLAP_OP_EXP:
        EACH y[i] = expf(x[i]);
        break;
    case LLAP_OP_LOG:
        EACH y[i] = logf(x[i]);
        break;
    case LLAP_OP_SIN:
        EACH y[i] = sinf(x[i]);
        break;
    case LLAP_OP_COS:
        EACH y[i] = cosf(x[i]);
        break;
    case LLAP_OP_TANH:
        EACH y[i] = tanhf(x[i]);
        break;
    case LLAP_OP_SIGMOID:
        EACH y[i] = 1.0f / (1.0f + expf(-x[i]));
        break;
    case LLAP_OP_SILU:
        EACH y[i] = x[i] / (1.0f + expf(-x[i]));
        break;
    case LLAP_OP_SOFTPLUS:
        EACH y[i] = x[i] > 20.0f ? x[i] : log1pf(expf(x[i]));
        break;
    case LLAP_OP_GELU:
        EACH y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0x1.6a09e6p-1f));
        break;
    case LLAP_OP_SQRT:
        EACH y[i] = sqrtf(x[i]);
        break;
    case LLAP_OP_SQUARE:
        EACH y[i] = x[i] * x[i];
        break;
    case LLAP_OP_ABS:
        EACH y[i] = fabsf(x[i]);
        break;
    case LLAP_OP_SIGN:
        EACH y[i] = (float)((x[i] > 0.0f) - (x[i] < 0.0f));
        break;
    case LLAP_OP_CLAMP:
        EACH y[i] = x[i] < a ? a : x[i] > b ? b : x[i];
        break;
    case LLAP_OP_AFFINE:
        EACH y[i] = a * x[i] + b;
        break;
    default:
        break;
    }
}

static float gelu_slope(float x)
{
    return 0.5f * (1.0f + erff(x * 0x1.6a09e6p-1f)) + x * 0x1.988454p-2f * expf(-0.5f * x * x);
}

static float silu_slope(float x)
{
    const float s = 1.0f / (1.0f + expf(-x));
    return s * (1.0f + x * (1.0f - s));
}

static void binary_tile(llap_op op, int64_t n, const float *x, const float *z, float *y, float a,
                        float b)
{
    switch (op) {
    case LLAP_OP_ADD:
        EACH y[i] = x[i] + z[i];
        break;
    case LLAP_OP_SUB:
        EACH y[i] = x[i] - z[i];
        break;
    case LLAP_OP_MUL:
        EACH y[i] = x[i] * z[i];
        break;
    case LLAP_OP_DIV:
        EACH y[i] = x[i] / z[i];
        break;
    case LLAP_OP_MAXIMUM:
        EACH y[i] = x[i] >= z[i] ? x[i] : z[i];
        break;
    case LLAP_OP_MINIMUM:
        EACH y[i] = x[i] <= z[i] ? x[i] : z[i];
        break;
    case LLAP_OP_AT_LEAST:
        EACH y[i] = x[i] >= z[i] ? 1.0f : 0.0f;
        break;
    case LLAP_OP_MASK:
        EACH y[i] = z[i] != 0.0f ? x[i] : 0.0f;
        break;
    case LLAP_OP_GELU_GRAD:
        EACH y[i] = z[i] * gelu_slope(x[i]);
        break;
    case LLAP_OP_SILU_GRAD:
        EACH y[i] = z[i] * silu_slope(x[i]);
        break;
    case LLAP_OP_CLAMP_GRAD:
        EACH y[i] = x[i] < a || x[i] > b ? 0.0f : z[i];
        break;
    default:
        break;
    }
}

static void run_tile(const llap_call *c, const llap_chain *chain, const bool *dense, int64_t first,
                     int64_t n)
{
    float        gathered[LLAP_CHAIN_INPUTS][TILE], result[LLAP_CHAIN_STEPS][TILE];
    const float *value[LLAP_CHAIN_INPUTS + LLAP_CHAIN_STEPS];
    for (int k = 0; k < chain->n_in; k++) {
        value[k] = dense[k] ? cpu_in(c, k) + first : gathered[k];
        if (!dense[k]) llap_cpu_gather(&c->in[k], first, n, gathered[k]);
    }
    for (int k = 0; k < chain->n_steps; k++) {
        const llap_chain_step *s = &chain->step[k];
        const bool             last = k == chain->n_steps - 1;
        float                 *y = last ? cpu_out(c, 0) + first : result[k];
        if (llap_op_is_unary(s->op))
            unary_tile(s->op, n, value[s->arg[0]], y, (float)s->a, (float)s->b);
        else binary_tile(s->op, n, value[s->arg[0]], value[s->arg[1]], y, (float)s->a, (float)s->b);
        value[chain->n_in + k] = y;
    }
}

static void run_chain(const llap_call *c, const llap_chain *chain)
{
    bool          dense[LLAP_CHAIN_INPUTS];
    const int64_t n = cpu_count(&c->out[0]), tiles = (n + TILE - 1) / TILE;
    for (int k = 0; k < chain->n_in; k++) dense[k] = llap_view_dense(&c->in[k]);
#pragma omp parallel for num_threads(c->n_threads) schedule(static) if (tiles > 4)
    for (int64_t t = 0; t < tiles; t++)
        run_tile(c, chain, dense, t * TILE, n - t * TILE < TILE ? n - t * TILE : TILE);
}

void llap_cpu_chain(const llap_call *c) { run_chain(c, c->attr->chain); }

static void run_single(const llap_call *c, int n_in)
{
    const llap_chain chain = { .n_in = n_in,
                               .n_steps = 1,
                               .step = { { .op = c->op,
                                           .arg = { 0, n_in - 1 },
                                           .a = c->attr->scalar.a,
                                           .b = c->attr->scalar.b } } };
    run_chain(c, &chain);
}

void llap_cpu_unary(const llap_call *c) { run_single(c, 1); }
void llap_cpu_binary(const llap_call *c) { run_single(c, 2); }
