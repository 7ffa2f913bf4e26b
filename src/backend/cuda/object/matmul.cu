// Matrix products in floats or tf32 by cuBLASLt, with bias and residual in its epilogue (its GELU
// is the tanh approximation, so ours comes after). Operands that it cannot read, such as a row
// repeated with step 0, go to a plain kernel.
#include "backend/cuda/object/product.cuh"

#include <cublasLt.h>
#include <mutex>
#include <stdlib.h>
#include <string.h>

// What cuBLASLt may use, and room for the partial results of a cut product. Plans align to less
// than the 256 bytes that cuBLASLt wants.
enum { SCRATCH = 16 << 20, PARTIAL = LL_PARTIAL_BYTES, ALIGN = 256 };

static char *scratch_of(const ll_call *c)
{
    return (char *)(((uintptr_t)c->work + ALIGN - 1) / ALIGN * ALIGN);
}

float *ll_cuda_partial_of(const ll_call *c) { return (float *)(scratch_of(c) + SCRATCH); }

void *ll_cuda_rounded_of(const ll_call *c) { return scratch_of(c) + SCRATCH + PARTIAL; }

size_t ll_cuda_product_bytes() { return SCRATCH + PARTIAL + LL_ROUNDED_BYTES + ALIGN; }

// -------- describing --------

static int64_t row_step(const ll_view &v)
{
    const int r = v.shape.rank;
    return v.shape.dim[r - 2] == 1 ? v.shape.dim[r - 1] : v.stride[r - 2];
}

product ll_cuda_matmul_of(const ll_call *c)
{
    const ll_view &a = c->in[0], &b = c->in[1], &y = c->out[0];
    const int      r = y.shape.rank;
    product        p = {};
    p.ta = c->attr->matmul.ta;
    p.tb = c->attr->matmul.tb;
    p.m = y.shape.dim[r - 2];
    p.n = y.shape.dim[r - 1];
    p.k = a.shape.dim[p.ta ? r - 2 : r - 1];
    p.a = real_of(a);
    p.b = real_of(b);
    p.lda = row_step(a);
    p.ldb = row_step(b);
    p.y = result_of(c, 0);
    p.a_half = a.elem == LL_HALF;
    p.b_half = b.elem == LL_HALF;
    p.y_half = y.elem == LL_HALF;
    for (int axis = 0; axis < r - 2; axis++) {
        const int64_t d = y.shape.dim[axis], sa = a.stride[axis], sb = b.stride[axis];
        const int     last = p.n_batch - 1;
        if (d == 1) continue;
        if (last >= 0 && p.a_step[last] == d * sa && p.b_step[last] == d * sb) {
            p.batch[last] *= d;
            p.a_step[last] = sa;
            p.b_step[last] = sb;
        } else {
            p.batch[p.n_batch] = d;
            p.a_step[p.n_batch] = sa;
            p.b_step[p.n_batch++] = sb;
        }
    }
    // One b for a run of a's whose rows follow each other: more rows of one product.
    if (p.n_batch > 0 && !p.ta && p.b_step[p.n_batch - 1] == 0 &&
        p.a_step[p.n_batch - 1] == p.m * p.lda)
        p.m *= p.batch[--p.n_batch];
    return p;
}

bool ll_cuda_find_repeat(const ll_view &v, int64_t *repeat, int64_t *group, int64_t *group_step)
{
    int     axis = v.shape.rank - 1;
    int64_t n = v.shape.dim[axis], outer = 1;
    if (v.stride[axis] != 1 && n > 1) return false;
    for (axis--; axis >= 0 && (v.shape.dim[axis] == 1 || v.stride[axis] == n); axis--)
        n *= v.shape.dim[axis];
    *repeat = *group = n / width_of(v);
    for (; axis >= 0 && (v.shape.dim[axis] == 1 || v.stride[axis] == 0); axis--)
        *group *= v.shape.dim[axis];
    *group_step = axis >= 0 ? v.stride[axis] : 0;
    for (; axis >= 0; axis--) {
        if (v.shape.dim[axis] > 1 && v.stride[axis] != *group_step * outer) return false;
        outer *= v.shape.dim[axis];
    }
    return n > 0;
}

product ll_cuda_linear_of(const ll_call *c)
{
    product p = {};
    p.n = c->in[1].shape.dim[0];
    p.k = c->in[1].shape.dim[1];
    p.m = p.n > 0 ? count_of(c->out[0]) / p.n : 0;
    p.a = real_of(c->in[0]);
    p.b = real_of(c->in[1]);
    p.lda = p.ldb = p.k;
    p.tb = true;
    p.y = result_of(c, 0);
    p.bias = c->n_in > 2 && c->in[2].present ? real_of(c->in[2]) : NULL;
    p.residual = c->n_in > 3 && c->in[3].present ? real_of(c->in[3]) : NULL;
    p.gelu = c->attr->linear.gelu;
    p.a_half = c->in[0].elem == LL_HALF;
    p.b_half = c->in[1].elem == LL_HALF;
    p.y_half = c->out[0].elem == LL_HALF;
    if (p.residual != NULL && !ll_view_dense(&c->in[3]))
        (void)ll_cuda_find_repeat(c->in[3], &p.repeat, &p.group, &p.group_step);
    if (!c->attr->linear.norm) return p;
    const ll_view &gain = c->in[4], &shift = c->in[5];
    const int64_t  groups = gain.present ? ll_view_rows(&gain) : 1;
    p.norm = true;
    p.z = result_of(c, 1);
    p.z_half = c->out[1].elem == LL_HALF;
    p.gain = gain.present ? real_of(gain) : NULL;
    p.shift = shift.present ? real_of(shift) : NULL;
    if (gain.present) p.at_gain = arg_of(gain);
    if (shift.present) p.at_shift = arg_of(shift);
    p.run = groups > 0 && p.m >= groups ? p.m / groups : 1;
    p.offset = (float)c->attr->linear.offset;
    p.eps = (float)c->attr->linear.eps;
    return p;
}

// -------- plain --------

enum { SIDE = 16 };

__global__ void plain_kernel(const __grid_constant__ product p)
{
    behind();
    __shared__ float a[SIDE][SIDE + 1], b[SIDE][SIDE + 1];
    const int64_t    across = (p.n + SIDE - 1) / SIDE, down = (p.m + SIDE - 1) / SIDE;
    const int64_t    item = blockIdx.x / (across * down), tile = blockIdx.x % (across * down);
    const int        tx = threadIdx.x % SIDE, ty = threadIdx.x / SIDE;
    const int64_t    i = tile / across * SIDE + ty, j = tile % across * SIDE + tx;
    const float     *pa = p.a, *pb = p.b;
    int64_t          rest = item;
    for (int axis = p.n_batch - 1; axis >= 0; axis--) {
        pa += rest % p.batch[axis] * p.a_step[axis];
        pb += rest % p.batch[axis] * p.b_step[axis];
        rest /= p.batch[axis];
    }
    float sum = 0.0f;
    for (int64_t first = 0; first < p.k; first += SIDE) {
        const int64_t ka = first + tx, kb = first + ty;
        a[ty][tx] = i < p.m && ka < p.k ? pa[p.ta ? ka * p.lda + i : i * p.lda + ka] : 0.0f;
        b[ty][tx] = j < p.n && kb < p.k ? pb[p.tb ? j * p.ldb + kb : kb * p.ldb + j] : 0.0f;
        __syncthreads();
        for (int k = 0; k < SIDE; k++) sum = fmaf(a[ty][k], b[k][tx], sum);
        __syncthreads();
    }
    if (i >= p.m || j >= p.n) return;
    const int64_t at = (item * p.m + i) * p.n + j;
    if (p.bias != NULL) sum += p.bias[j];
    if (p.gelu) sum = gelu_of(sum);
    if (p.residual != NULL) sum += p.residual[at];
    p.y[at] = sum;
}

void ll_cuda_product_plain(const ll_call *c, const product &p)
{
    const int64_t tiles = (p.m + SIDE - 1) / SIDE * ((p.n + SIDE - 1) / SIDE);
    enqueue(plain_kernel, (unsigned)(tiles * batch_count(p)), SIDE * SIDE, 0, p);
    launched(c);
}

bool ll_cuda_product_trivial(const ll_call *c, const product &p)
{
    if (p.m * p.n * batch_count(p) == 0) return true;
    if (p.k > 0) return false;
    ll_cuda_product_plain(c, p); // zeros, bias, residual
    return true;
}

// -------- cuBLASLt --------

// What the choice of an algorithm depends on.
struct choice_key {
    int64_t m, n, k, lda, ldb, batch, a_step, b_step;
    int     ta, tb, compute, bias, residual, align_a, align_b, align_y, half;
};

struct choice {
    choice_key           key;
    cublasLtMatmulAlgo_t algo;
    bool                 found;
    struct choice       *next;
};

enum { BUCKETS = 512 };
static choice          *table[BUCKETS];
static std::mutex       lock;
static cublasLtHandle_t handle;

static int alignment(const void *p)
{
    const uintptr_t bits = (uintptr_t)p | 256;
    return (int)(bits & (~bits + 1));
}

static unsigned hash(const choice_key &k)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < sizeof k; i++) h = (h ^ ((const unsigned char *)&k)[i]) * 1099511628211u;
    return (unsigned)(h >> 32) % BUCKETS;
}

struct lt_call { // descriptors of one product
    cublasLtMatmulDescOpaque_t   op;
    cublasLtMatrixLayoutOpaque_t a, b, y;
};

static cublasStatus_t describe(const product &p, const choice_key &k, lt_call *t)
{
    const cublasOperation_t N = CUBLAS_OP_N, T = CUBLAS_OP_T;
    const int32_t           count = (int32_t)k.batch;
    const int64_t           y_step = p.m * p.n;
    const cudaDataType_t    a_type = p.a_half ? CUDA_R_16BF : CUDA_R_32F;
    const cudaDataType_t    b_type = p.b_half ? CUDA_R_16BF : CUDA_R_32F;
    const cudaDataType_t    y_type = p.y_half ? CUDA_R_16BF : CUDA_R_32F, bias_type = y_type;
    cublasStatus_t e = cublasLtMatmulDescInit(&t->op, (cublasComputeType_t)k.compute, CUDA_R_32F);
#define SET(what, value)            \
    if (e == CUBLAS_STATUS_SUCCESS) \
    e = cublasLtMatmulDescSetAttribute(&t->op, what, &value, sizeof value)
    // Column by column, y^T = op(b)^T op(a)^T: our rows are its columns.
    SET(CUBLASLT_MATMUL_DESC_TRANSA, (p.tb ? T : N));
    SET(CUBLASLT_MATMUL_DESC_TRANSB, (p.ta ? T : N));
    if (p.bias != NULL) {
        const cublasLtEpilogue_t add = CUBLASLT_EPILOGUE_BIAS;
        SET(CUBLASLT_MATMUL_DESC_EPILOGUE, add);
        SET(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
        SET(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, bias_type);
    }
#undef SET
    if (e == CUBLAS_STATUS_SUCCESS)
        e = cublasLtMatrixLayoutInit(&t->b, b_type, (uint64_t)(p.tb ? p.k : p.n),
                                     (uint64_t)(p.tb ? p.n : p.k), p.ldb);
    if (e == CUBLAS_STATUS_SUCCESS)
        e = cublasLtMatrixLayoutInit(&t->a, a_type, (uint64_t)(p.ta ? p.m : p.k),
                                     (uint64_t)(p.ta ? p.k : p.m), p.lda);
    if (e == CUBLAS_STATUS_SUCCESS)
        e = cublasLtMatrixLayoutInit(&t->y, y_type, (uint64_t)p.n, (uint64_t)p.m, p.n);
    cublasLtMatrixLayoutOpaque_t *layout[] = { &t->a, &t->b, &t->y };
    const int64_t                 step[] = { k.a_step, k.b_step, y_step };
    for (int i = 0; i < 3 && count > 1; i++) {
        if (e == CUBLAS_STATUS_SUCCESS)
            e = cublasLtMatrixLayoutSetAttribute(layout[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                 &count, sizeof count);
        if (e == CUBLAS_STATUS_SUCCESS)
            e = cublasLtMatrixLayoutSetAttribute(
                layout[i], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step[i], sizeof step[i]);
    }
    return e;
}

static void choose(lt_call *t, choice *out)
{
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulHeuristicResult_t  result;
    // No sums whose order is left to chance.
    const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const size_t   scratch = SCRATCH;
    const uint32_t align_a = (uint32_t)out->key.align_a, align_b = (uint32_t)out->key.align_b,
                   align_y = (uint32_t)out->key.align_y;
    int found = 0;
    (void)cublasLtMatmulPreferenceInit(&preference);
#define PREFER(what, value) \
    (void)cublasLtMatmulPreferenceSetAttribute(&preference, what, &value, sizeof value)
    PREFER(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, scratch);
    PREFER(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
    PREFER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, align_b);
    PREFER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, align_a);
    PREFER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, align_y);
    PREFER(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, align_y);
#undef PREFER
    const cublasStatus_t e = cublasLtMatmulAlgoGetHeuristic(handle, &t->op, &t->b, &t->a, &t->y,
                                                            &t->y, &preference, 1, &result, &found);
    out->found = e == CUBLAS_STATUS_SUCCESS && found == 1;
    if (out->found) out->algo = result.algo;
}

// The algorithm for such a product, chosen once.
static const choice *choice_for(const choice_key &key, lt_call *t)
{
    std::lock_guard<std::mutex> guard(lock);
    const unsigned              at = hash(key);
    if (handle == NULL && cublasLtCreate(&handle) != CUBLAS_STATUS_SUCCESS) return NULL;
    for (choice *i = table[at]; i != NULL; i = i->next)
        if (memcmp(&i->key, &key, sizeof key) == 0) return i;
    choice *made = new choice();
    made->key = key;
    choose(t, made);
    made->next = table[at];
    table[at] = made;
    return made;
}

// y = gelu(y) + residual
__global__ void finish_kernel(float *y, const float *residual, int64_t n)
{
    behind();
    FOR_EACH(i, n) { y[i] = gelu_of(y[i]) + (residual == NULL ? 0.0f : residual[i]); }
}

static bool readable(const product &p)
{
    return p.lda >= (p.ta ? p.m : p.k) && p.ldb >= (p.tb ? p.k : p.n) && p.m < INT32_MAX &&
           p.n < INT32_MAX && p.k < INT32_MAX;
}

// LLAP_CUDA_PLAIN in the environment: kernels of ours do what cuBLASLt would. For tools under which
// its kernels break (tools/test-gpu).
static bool plain_wanted()
{
    static const bool wanted = getenv("LLAP_CUDA_PLAIN") != NULL;
    return wanted;
}

// One product with at most one axis of batch. False: cuBLASLt has none for it.
static bool try_lt(const ll_call *c, const product &p, cublasComputeType_t compute)
{
    if (plain_wanted()) return false;
    choice_key key;
    memset(&key, 0, sizeof key);
    const float *residual = p.gelu ? NULL : p.residual;
    key.m = p.m;
    key.n = p.n;
    key.k = p.k;
    key.lda = p.lda;
    key.ldb = p.ldb;
    key.batch = p.n_batch == 0 ? 1 : p.batch[0];
    key.a_step = p.n_batch == 0 ? 0 : p.a_step[0];
    key.b_step = p.n_batch == 0 ? 0 : p.b_step[0];
    key.ta = p.ta;
    key.tb = p.tb;
    key.compute = compute;
    key.half = p.a_half | p.b_half << 1 | p.y_half << 2;
    key.bias = p.bias != NULL;
    key.residual = residual != NULL;
    key.align_a = alignment(p.a);
    key.align_b = alignment(p.b);
    key.align_y = alignment(p.y) < alignment(residual) ? alignment(p.y) : alignment(residual);
    lt_call       t;
    const choice *found = NULL;
    if (describe(p, key, &t) == CUBLAS_STATUS_SUCCESS) found = choice_for(key, &t);
    if (found == NULL || !found->found) return false;
    const float          one = 1.0f, beta = residual == NULL ? 0.0f : 1.0f;
    const cublasStatus_t e = cublasLtMatmul(handle, &t.op, &one, p.b, &t.b, p.a, &t.a, &beta,
                                            residual == NULL ? p.y : residual, &t.y, p.y, &t.y,
                                            &found->algo, scratch_of(c), SCRATCH, LL_QUEUE);
    if (e == CUBLAS_STATUS_INVALID_VALUE || e == CUBLAS_STATUS_NOT_SUPPORTED) return false;
    if (e != CUBLAS_STATUS_SUCCESS) ll_cuda_note_text(LLAP_EIO, cublasLtGetStatusString(e));
    if (p.gelu) {
        const int64_t n = p.m * p.n;
        enqueue(finish_kernel, blocks_for(n), BLOCK, 0, p.y, p.residual, n);
    }
    launched(c);
    return true;
}

bool ll_cuda_product_lt(const ll_call *c, const product &p)
{
    return readable(p) && p.n_batch <= 1 && try_lt(c, p, CUBLAS_COMPUTE_32F);
}

static void by_lt(const ll_call *c, const product &p, cublasComputeType_t compute)
{
    if (!try_lt(c, p, compute)) ll_cuda_product_plain(c, p);
}

__global__ void add_cuts_kernel(const float *partial, int64_t cuts, int64_t n, float *y)
{
    behind();
    FOR_EACH(i, n)
    {
        float sum = partial[i];
        for (int64_t k = 1; k < cuts; k++) sum += partial[k * n + i];
        y[i] = sum;
    }
}

void ll_cuda_add_cuts(const float *partial, int64_t cuts, int64_t n, float *y)
{
    enqueue(add_cuts_kernel, blocks_for(n), BLOCK, 0, partial, cuts, n, y);
}

// Long inner lengths of few results, as in the gradients of weights: pieces of the inner length are
// a batch, whose results are added in order. False: not worth it.
static bool by_cuts(const ll_call *c, const product &p, cublasComputeType_t compute)
{
    const int64_t n = p.m * p.n, most = PARTIAL / (int64_t)sizeof(float) / n - 1;
    int64_t       cuts = p.k / 1024 < 128 ? p.k / 1024 : 128;
    if (cuts > most) cuts = most;
    if (p.n_batch > 0 || p.bias != NULL || p.residual != NULL || p.gelu || cuts < 4 || n > 1 << 19)
        return false;
    product       piece = p;
    const int64_t each = p.k / cuts, rest = p.k - each * cuts;
    float        *partial = ll_cuda_partial_of(c);
    piece.k = each;
    piece.n_batch = 1;
    piece.batch[0] = cuts;
    piece.a_step[0] = each * (p.ta ? p.lda : 1);
    piece.b_step[0] = each * (p.tb ? 1 : p.ldb);
    piece.y = partial;
    by_lt(c, piece, compute);
    if (rest > 0) {
        piece.a += cuts * piece.a_step[0];
        piece.b += cuts * piece.b_step[0];
        piece.y += cuts * n;
        piece.k = rest;
        piece.n_batch = 0;
        by_lt(c, piece, compute);
    }
    ll_cuda_add_cuts(partial, cuts + (rest > 0), n, p.y);
    launched(c);
    return true;
}

// More axes of batch: one call for each item of the outer ones.
static void multiply(const ll_call *c, product p, cublasComputeType_t compute)
{
    ll_cuda_enter();
    if (ll_cuda_product_trivial(c, p)) return;
    if (compute == CUBLAS_COMPUTE_32F && ll_cuda_product_split(c, p)) return;
    if (!readable(p)) {
        ll_cuda_product_plain(c, p);
        return;
    }
    if (p.n_batch <= 1) {
        if (!by_cuts(c, p, compute)) by_lt(c, p, compute);
        return;
    }
    product       inner = p;
    const int     last = p.n_batch - 1;
    const int64_t outer = batch_count(p) / p.batch[last], one = p.batch[last] * p.m * p.n;
    inner.n_batch = 1;
    inner.batch[0] = p.batch[last];
    inner.a_step[0] = p.a_step[last];
    inner.b_step[0] = p.b_step[last];
    for (int64_t i = 0; i < outer; i++) {
        int64_t rest = i;
        inner.a = p.a;
        inner.b = p.b;
        inner.y = p.y + i * one;
        for (int axis = last - 1; axis >= 0; axis--) {
            inner.a += rest % p.batch[axis] * p.a_step[axis];
            inner.b += rest % p.batch[axis] * p.b_step[axis];
            rest /= p.batch[axis];
        }
        by_lt(c, inner, compute);
    }
}

extern "C" void ll_cuda_matmul(const ll_call *c)
{
    multiply(c, ll_cuda_matmul_of(c), CUBLAS_COMPUTE_32F);
}
extern "C" void ll_cuda_linear(const ll_call *c)
{
    multiply(c, ll_cuda_linear_of(c), CUBLAS_COMPUTE_32F);
}
extern "C" void ll_cuda_matmul_tf32(const ll_call *c)
{
    multiply(c, ll_cuda_matmul_of(c), CUBLAS_COMPUTE_32F_FAST_TF32);
}
extern "C" void ll_cuda_linear_tf32(const ll_call *c)
{
    multiply(c, ll_cuda_linear_of(c), CUBLAS_COMPUTE_32F_FAST_TF32);
}
extern "C" void ll_cuda_matmul_bf16(const ll_call *c)
{
    const product p = ll_cuda_matmul_of(c);
    ll_cuda_enter();
    if (ll_cuda_product_trivial(c, p) || ll_cuda_product_large(c, p)) return;
    ll_cuda_product_bf16(c, p);
}
extern "C" void ll_cuda_linear_bf16(const ll_call *c)
{
    const product p = ll_cuda_linear_of(c);
    ll_cuda_enter();
    if (ll_cuda_product_trivial(c, p)) return;
    if (!p.b_half && ll_cuda_product_large(c, p)) return; // weights in floats: training
    ll_cuda_product_bf16(c, p);
}
