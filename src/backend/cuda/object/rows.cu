// Ops over rows: softmax, layer norm, windows, lookup.
//
// A warp takes a row, or a block where rows are long. Sums of a row are in double.
#include "backend/cuda/object/common.cuh"
#include "backend/cuda/object/mma.cuh"
#include "backend/cuda/object/norm.cuh"

enum { WARPS = BLOCK / 32, LONG_ROW = 2048 };

// The team of a row: a warp, or the whole block.
template <bool LONG> struct team {
    double            *shared;
    __device__ int     lane() const { return LONG ? threadIdx.x : threadIdx.x % 32; }
    __device__ int     size() const { return LONG ? BLOCK : 32; }
    __device__ int64_t first() const
    {
        return LONG ? blockIdx.x : (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    }
    __device__ int64_t step() const { return LONG ? gridDim.x : (int64_t)gridDim.x * WARPS; }
    __device__ double  sum(double x) const { return LONG ? block_sum(x, shared) : warp_sum(x); }
    __device__ float   max(float x) const
    {
        return LONG ? block_max(x, (float *)shared) : warp_max(x);
    }
};

#define TEAM                      \
    __shared__ double shared[32]; \
    const team<LONG>  t = { shared };

#define ROWS(kernel, rows, n, ...)                                                              \
    do {                                                                                        \
        if ((n) >= LONG_ROW) enqueue(kernel<true>, blocks_for(rows, 1), BLOCK, 0, __VA_ARGS__); \
        else enqueue(kernel<false>, blocks_for(rows, WARPS), BLOCK, 0, __VA_ARGS__);            \
        launched(c);                                                                            \
    } while (0)

// -------- softmax --------

template <bool LONG>
__global__ void softmax_kernel(const float *x, float *y, int64_t rows, int64_t n)
{
    behind();
    TEAM for (int64_t r = t.first(); r < rows; r += t.step())
    {
        const float *from = x + r * n;
        float        top = -INFINITY;
        double       sum = 0.0;
        for (int64_t i = t.lane(); i < n; i += t.size()) top = fmaxf(top, from[i]);
        top = t.max(top);
        for (int64_t i = t.lane(); i < n; i += t.size())
            sum += top == -INFINITY ? 0.0f : expf(from[i] - top);
        sum = t.sum(sum);
        const float scale = sum == 0.0 ? 0.0f : (float)(1.0 / sum);
        for (int64_t i = t.lane(); i < n; i += t.size())
            y[r * n + i] = top == -INFINITY ? 0.0f : expf(from[i] - top) * scale;
    }
}

extern "C" void ll_cuda_softmax(const ll_call *c)
{
    const int64_t n = width_of(c->in[0]), rows = ll_view_rows(&c->in[0]);
    ll_cuda_enter();
    if (n * rows > 0) ROWS(softmax_kernel, rows, n, real_of(c->in[0]), result_of(c, 0), rows, n);
}

template <bool LONG>
__global__ void softmax_grad_kernel(const float *y, const float *dy, float *dx, int64_t rows,
                                    int64_t n)
{
    behind();
    TEAM for (int64_t r = t.first(); r < rows; r += t.step())
    {
        double dot = 0.0;
        for (int64_t i = r * n + t.lane(); i < (r + 1) * n; i += t.size())
            dot += (double)y[i] * (double)dy[i];
        dot = t.sum(dot);
        for (int64_t i = r * n + t.lane(); i < (r + 1) * n; i += t.size())
            dx[i] = y[i] * (float)((double)dy[i] - dot);
    }
}

extern "C" void ll_cuda_softmax_grad(const ll_call *c)
{
    const int64_t n = width_of(c->in[0]), rows = ll_view_rows(&c->in[0]);
    ll_cuda_enter();
    if (n * rows > 0)
        ROWS(softmax_grad_kernel, rows, n, real_of(c->in[0]), real_of(c->in[1]), result_of(c, 0),
             rows, n);
}

// -------- layer norm --------

norm_arg ll_cuda_norm_of(const ll_call *c, const ll_view &x, const ll_view &w, const ll_view &b)
{
    norm_arg p = {};
    p.n = width_of(x);
    p.rows = ll_view_rows(&x);
    p.w = w.present ? real_of(w) : NULL;
    p.b = b.present ? real_of(b) : NULL;
    if (w.present) p.at = arg_of(w);
    if (b.present) p.at_b = arg_of(b);
    const int64_t groups = w.present ? ll_view_rows(&w) : 1;
    p.run = groups > 0 ? p.rows / groups : 1;
    if (p.run < 1) p.run = 1;
    p.offset = (float)c->attr->norm.offset;
    p.eps = c->attr->norm.eps;
    return p;
}

template <bool LONG>
__device__ static void moments(const team<LONG> &t, const float *x, int64_t n, double eps,
                               float *mean, float *rstd)
{
    double sum = 0.0, square = 0.0;
    for (int64_t i = t.lane(); i < n; i += t.size()) sum += (double)x[i];
    const double m = t.sum(sum) / (double)n;
    for (int64_t i = t.lane(); i < n; i += t.size()) {
        const double d = (double)x[i] - m;
        square += d * d;
    }
    *mean = (float)m;
    *rstd = (float)(1.0 / sqrt(t.sum(square) / (double)n + eps));
}

template <bool LONG>
__global__ void norm_kernel(const __grid_constant__ norm_arg p, const float *x, float *y, bool half)
{
    behind();
    TEAM for (int64_t r = t.first(); r < p.rows; r += t.step())
    {
        const float *from = x + r * p.n;
        const float *w = p.w == NULL
                             ? NULL
                             : p.w + offset_at(p.at, (uint32_t)r / (uint32_t)p.run, p.at.rank - 1);
        const float *b =
            p.b == NULL ? NULL
                        : p.b + offset_at(p.at_b, (uint32_t)r / (uint32_t)p.run, p.at_b.rank - 1);
        float mean, rstd;
        moments(t, from, p.n, p.eps, &mean, &rstd);
        for (int64_t i = t.lane(); i < p.n; i += t.size()) {
            const float hat = (from[i] - mean) * rstd;
            const float v = fmaf(hat, w == NULL ? 1.0f : w[i] + p.offset, b == NULL ? 0.0f : b[i]);
            if (half) ((__nv_bfloat16 *)y)[r * p.n + i] = __float2bfloat16_rn(v);
            else y[r * p.n + i] = v;
        }
    }
}

// Rows of 128 N, aligned: a warp holds its row in registers, four numbers at a time.
template <int N, bool HALF>
__global__ void norm_fours_kernel(const __grid_constant__ norm_arg p, const float *x, float *y)
{
    behind();
    const int lane = threadIdx.x % 32;
    for (int64_t r = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32; r < p.rows;
         r += (int64_t)gridDim.x * WARPS) {
        const float4 *from = (const float4 *)(x + r * p.n);
        float4        v[N];
        float         sum = 0.0f, square = 0.0f;
#pragma unroll
        for (int i = 0; i < N; i++) {
            v[i] = from[i * 32 + lane];
            sum += (v[i].x + v[i].y) + (v[i].z + v[i].w);
        }
        const float mean = warp_sum(sum) / (float)(128 * N);
#pragma unroll
        for (int i = 0; i < N; i++) {
            v[i].x -= mean, v[i].y -= mean, v[i].z -= mean, v[i].w -= mean;
            square += (v[i].x * v[i].x + v[i].y * v[i].y) + (v[i].z * v[i].z + v[i].w * v[i].w);
        }
        const float   rstd = rsqrtf(warp_sum(square) / (float)(128 * N) + (float)p.eps);
        const float4 *w =
            p.w == NULL ? NULL
                        : (const float4 *)(p.w + offset_at(p.at, (uint32_t)r / (uint32_t)p.run,
                                                           p.at.rank - 1));
        const float4 *b =
            p.b == NULL ? NULL
                        : (const float4 *)(p.b + offset_at(p.at_b, (uint32_t)r / (uint32_t)p.run,
                                                           p.at_b.rank - 1));
#pragma unroll
        for (int i = 0; i < N; i++) {
            float4 by = make_float4(1.0f, 1.0f, 1.0f, 1.0f),
                   add = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (w != NULL) {
                by = w[i * 32 + lane];
                by.x += p.offset, by.y += p.offset, by.z += p.offset, by.w += p.offset;
            }
            if (b != NULL) add = b[i * 32 + lane];
            const float4 o =
                make_float4(fmaf(v[i].x * rstd, by.x, add.x), fmaf(v[i].y * rstd, by.y, add.y),
                            fmaf(v[i].z * rstd, by.z, add.z), fmaf(v[i].w * rstd, by.w, add.w));
            if (HALF) store4((__nv_bfloat16 *)y + r * p.n + (i * 32 + lane) * 4, o);
            else ((float4 *)(y + r * p.n))[i * 32 + lane] = o;
        }
    }
}

static bool rows_in_fours(const void *x, const view_arg &at)
{
    bool ok = ((uintptr_t)x & 15) == 0;
    for (int i = 0; x != NULL && i < at.rank - 1; i++) ok = ok && at.stride[i] % 4 == 0;
    return ok;
}

template <int N> static void norm_fours(const ll_call *c, const norm_arg &p, bool half)
{
    const float   *x = real_of(c->in[0]);
    const unsigned blocks = blocks_for(p.rows, WARPS);
    if (half) enqueue(norm_fours_kernel<N, true>, blocks, BLOCK, 0, p, x, result_of(c, 0));
    else enqueue(norm_fours_kernel<N, false>, blocks, BLOCK, 0, p, x, result_of(c, 0));
    launched(c);
}

extern "C" void ll_cuda_norm(const ll_call *c)
{
    const norm_arg p = ll_cuda_norm_of(c, c->in[0], c->in[1], c->in[2]);
    const bool     half = c->out[0].elem == LL_HALF;
    ll_cuda_enter();
    if (p.n * p.rows == 0) return;
    const bool fours = ((uintptr_t)c->in[0].data & 15) == 0 &&
                       ((uintptr_t)c->out[0].data & 15) == 0 && rows_in_fours(p.w, p.at) &&
                       rows_in_fours(p.b, p.at_b);
    if (fours && p.n == 128) norm_fours<1>(c, p, half);
    else if (fours && p.n == 256) norm_fours<2>(c, p, half);
    else if (fours && p.n == 512) norm_fours<4>(c, p, half);
    else ROWS(norm_kernel, p.rows, p.n, p, real_of(c->in[0]), result_of(c, 0), half);
}

// dx, and mean and rstd of each row for the second part
template <bool LONG>
__global__ void norm_grad_kernel(const __grid_constant__ norm_arg p, const float *x,
                                 const float *dy, float *dx, float2 *stats)
{
    behind();
    TEAM for (int64_t r = t.first(); r < p.rows; r += t.step())
    {
        const float *from = x + r * p.n, *d = dy + r * p.n;
        const float *w = p.w == NULL
                             ? NULL
                             : p.w + offset_at(p.at, (uint32_t)r / (uint32_t)p.run, p.at.rank - 1);
        float        mean, rstd;
        double       sum = 0.0, dot = 0.0;
        moments(t, from, p.n, p.eps, &mean, &rstd);
        for (int64_t i = t.lane(); i < p.n; i += t.size()) {
            // Rounded here and below: the differences of these products cancel.
            const float g = __fmul_rn(d[i], w == NULL ? 1.0f : w[i] + p.offset);
            sum += (double)g;
            dot += (double)g * (double)((from[i] - mean) * rstd);
        }
        const float each = (float)(t.sum(sum) / (double)p.n);
        const float along = (float)(t.sum(dot) / (double)p.n);
        for (int64_t i = t.lane(); i < p.n; i += t.size()) {
            const float g = __fmul_rn(d[i], w == NULL ? 1.0f : w[i] + p.offset);
            const float hat = (from[i] - mean) * rstd;
            dx[r * p.n + i] = rstd * (g - each - hat * along);
        }
        if (t.lane() == 0) stats[r] = make_float2(mean, rstd);
    }
}

enum { CUT_ROWS = 128 }; // rows whose parts of dweight one thread adds up

// Piece (group, cut) of column i: sums of dy hat and dy; partial [groups, cuts, 2, n]
__global__ void norm_parts_kernel(const float *x, const float *dy, const float2 *stats,
                                  int64_t groups, int64_t run, int64_t cuts, int64_t n,
                                  double *partial)
{
    behind();
    FOR_EACH(e, groups * cuts * n)
    {
        const uint32_t w = (uint32_t)n, row = e / w, i = e - row * w;
        const int64_t  cut = row % (uint32_t)cuts, group = row / (uint32_t)cuts;
        const int64_t  first = group * run + cut * CUT_ROWS;
        const int64_t  limit = (group + 1) * run,
                      end = first + CUT_ROWS < limit ? first + CUT_ROWS : limit;
        double dw = 0.0, db = 0.0;
        for (int64_t r = first; r < end; r++) {
            const float  d = dy[r * n + i];
            const float2 s = stats[r];
            dw += (double)(d * (x[r * n + i] - s.x) * s.y);
            db += (double)d;
        }
        partial[(group * cuts + cut) * 2 * n + i] = dw;
        partial[(group * cuts + cut) * 2 * n + n + i] = db;
    }
}

__global__ void norm_join_kernel(const double *partial, int64_t groups, int64_t cuts, int64_t n,
                                 float *dw, float *db)
{
    behind();
    FOR_EACH(e, groups * n)
    {
        const int64_t i = e % (uint32_t)n, group = e / (uint32_t)n;
        double        sw = 0.0, sb = 0.0;
        for (int64_t k = 0; k < cuts; k++) {
            sw += partial[(group * cuts + k) * 2 * n + i];
            sb += partial[(group * cuts + k) * 2 * n + n + i];
        }
        dw[e] = (float)sw;
        db[e] = (float)sb;
    }
}

static int64_t cuts_of(const norm_arg &p) { return (p.run + CUT_ROWS - 1) / CUT_ROWS; }

static size_t stats_bytes(const norm_arg &p)
{
    return ((size_t)p.rows * sizeof(float2) + 255) / 256 * 256;
}

size_t ll_cuda_norm_grad_bytes(const ll_call *c)
{
    const norm_arg p = ll_cuda_norm_of(c, c->in[0], c->in[2], c->in[3]);
    const int64_t  groups = p.run > 0 ? p.rows / p.run : 0;
    const size_t   own = stats_bytes(p) + (size_t)(groups * cuts_of(p) * 2 * p.n) * sizeof(double),
                 fours = ll_cuda_norm_grad_fours_bytes(c);
    return own > fours ? own : fours;
}

extern "C" void ll_cuda_norm_grad(const ll_call *c)
{
    const norm_arg p = ll_cuda_norm_of(c, c->in[0], c->in[2], c->in[3]);
    float2        *stats = (float2 *)c->work;
    double        *partial = (double *)((char *)c->work + stats_bytes(p));
    const float   *x = real_of(c->in[0]), *dy = real_of(c->in[1]);
    ll_cuda_enter();
    if (p.n * p.rows == 0) { // nothing to add up
        for (int k = 1; k < 3; k++)
            if (count_of(c->out[k]) > 0)
                ll_cuda_note_copy(cudaMemsetAsync(c->out[k].data, 0,
                                                  (size_t)count_of(c->out[k]) * sizeof(float),
                                                  LL_QUEUE),
                                  "norm_grad");
        return;
    }
    if (ll_cuda_norm_grad_fours(c)) return;
    if (c->in[1].elem == LL_HALF || c->out[0].elem == LL_HALF || c->n_in == 5) {
        ll_cuda_note_text(LLAP_EUNSUPPORTED, "norm_grad: operands lie askew");
        return;
    }
    ROWS(norm_grad_kernel, p.rows, p.n, p, x, dy, result_of(c, 0), stats);
    if (p.w == NULL) return;
    const int64_t groups = p.rows / p.run, cuts = cuts_of(p);
    enqueue(norm_parts_kernel, blocks_for(groups * cuts * p.n), BLOCK, 0, x, dy, stats, groups,
            p.run, cuts, p.n, partial);
    enqueue(norm_join_kernel, blocks_for(groups * p.n), BLOCK, 0, partial, groups, cuts, p.n,
            result_of(c, 1), result_of(c, 2));
    launched(c);
}

// -------- windows along time --------

__global__ void unfold_kernel(const float *x, float *y, int64_t rows, int64_t l, int64_t channels,
                              int width)
{
    behind();
    FOR_EACH(e, rows * channels * width)
    {
        const uint32_t w = (uint32_t)width, c = (uint32_t)channels, rest = e / w;
        const int64_t  k = e - rest * w, row = rest / c, ch = rest % c,
                      at = (uint32_t)row % (uint32_t)l;
        const int64_t j = at + k - width / 2;
        y[e] = j < 0 || j >= l ? 0.0f : x[(row - at + j) * channels + ch];
    }
}

extern "C" void ll_cuda_unfold(const ll_call *c)
{
    const ll_view &x = c->in[0];
    const int64_t  rows = ll_view_rows(&x), l = x.shape.dim[x.shape.rank - 2];
    ll_cuda_enter();
    if (count_of(c->out[0]) == 0) return;
    enqueue(unfold_kernel, blocks_for(count_of(c->out[0])), BLOCK, 0, real_of(x), result_of(c, 0),
            rows, l, width_of(x), c->attr->unfold.width);
    launched(c);
}

__global__ void fold_kernel(const float *x, float *y, int64_t rows, int64_t l, int64_t channels,
                            int width)
{
    behind();
    FOR_EACH(e, rows * channels)
    {
        const int64_t row = e / (uint32_t)channels, ch = e % (uint32_t)channels;
        const int64_t at = (uint32_t)row % (uint32_t)l;
        float         sum = 0.0f;
        for (int k = 0; k < width; k++) {
            const int64_t j = at - k + width / 2; // the window that sees this time at place k
            if (j >= 0 && j < l) sum += x[((row - at + j) * channels + ch) * width + k];
        }
        y[e] = sum;
    }
}

extern "C" void ll_cuda_fold(const ll_call *c)
{
    const ll_view &y = c->out[0];
    ll_cuda_enter();
    if (count_of(y) == 0) return;
    enqueue(fold_kernel, blocks_for(count_of(y)), BLOCK, 0, real_of(c->in[0]), result_of(c, 0),
            ll_view_rows(&y), y.shape.dim[y.shape.rank - 2], width_of(y), c->attr->unfold.width);
    launched(c);
}

// -------- lookup --------

__global__ void embedding_kernel(const float *table, const int32_t *index, float *y, int64_t n,
                                 int64_t width, int64_t n_table)
{
    behind();
    FOR_EACH(e, n * width)
    {
        const uint32_t row = e / (uint32_t)width;
        const int32_t  at = index[row];
        y[e] = at < 0 || at >= n_table ? 0.0f : table[at * width + (e - row * (uint32_t)width)];
    }
}

extern "C" void ll_cuda_embedding(const ll_call *c)
{
    const int64_t n = count_of(c->in[1]), width = width_of(c->in[0]);
    ll_cuda_enter();
    if (n * width == 0) return;
    enqueue(embedding_kernel, blocks_for(n * width), BLOCK, 0, real_of(c->in[0]),
            (const int32_t *)c->in[1].data, result_of(c, 0), n, width, c->in[0].shape.dim[0]);
    launched(c);
}

// Each number of the table looks for its rows: no two threads add to one place.
__global__ void embedding_grad_kernel(const int32_t *index, const float *dy, float *out, int64_t n,
                                      int64_t width, int64_t n_table)
{
    behind();
    FOR_EACH(e, n_table * width)
    {
        const int64_t at = e / (uint32_t)width, i = e % (uint32_t)width;
        double        sum = 0.0;
        for (int64_t r = 0; r < n; r++)
            if (index[r] == at) sum += (double)dy[r * width + i];
        out[e] = (float)sum;
    }
}

extern "C" void ll_cuda_embedding_grad(const ll_call *c)
{
    const int64_t n = count_of(c->in[1]), width = width_of(c->in[0]),
                  n_table = c->in[0].shape.dim[0];
    ll_cuda_enter();
    if (n_table * width == 0) return;
    enqueue(embedding_grad_kernel, blocks_for(n_table * width), BLOCK, 0,
            (const int32_t *)c->in[1].data, real_of(c->in[2]), result_of(c, 0), n, width, n_table);
    launched(c);
}
