// Attention in floats; scores are never stored.
//
// A team of T lanes takes a query (or, for dk and dv, a key): each lane has E numbers of the head's
// width in registers, padded with zeros to T E. Keys and values pass by in tiles of shared memory,
// four at a time, with running maximum and sum (forward) or with the stored log-sum (backward).
// A query whose keys are all masked gives zeros and -inf.
#include "backend/cuda/object/attention/prefetch.cuh"

enum { THREADS = 128 };

template <int T, int E> struct shape_of {
    enum { WIDTH = T * E, TEAMS = THREADS / T, TILE = WIDTH <= 64 ? 32 : 2048 / WIDTH };
};

// Which of n queries (or keys) this thread's team takes: number i of head h of example b.
struct team_place {
    int64_t b, i;
    int     h, lane;
    bool    there; // i < n: the last teams of a head have nothing to do
};

template <int T> __device__ static inline team_place team_of(const att_arg &p, int64_t n)
{
    enum { TEAMS = THREADS / T };
    const uint32_t tiles = ((uint32_t)n + TEAMS - 1) / TEAMS;
    team_place     t;
    t.b = blockIdx.x / tiles / p.heads;
    t.i = blockIdx.x % tiles * TEAMS + threadIdx.x / T;
    t.h = (int)(blockIdx.x / tiles % p.heads);
    t.lane = threadIdx.x % T;
    t.there = t.i < n;
    return t;
}

// Numbers of this lane: four at a time, lanes side by side, so that a team reads without conflicts.
__device__ static inline int place(int T, int lane, int e)
{
    return (e / 4 * T + lane) * 4 + e % 4;
}

template <int T> __device__ static inline float team_sum(float x)
{
    for (int k = T / 2; k > 0; k >>= 1) x += __shfl_xor_sync(0xffffffffu, x, k);
    return x;
}

template <int T, int E>
__device__ static inline void load_row(const float *from, int d, int lane, bool there, float *x)
{
    for (int e = 0; e < E; e++) {
        const int at = place(T, lane, e);
        x[e] = there && at < d ? from[at] : 0.0f;
    }
}

template <int T, int E>
__device__ static inline void store_row(const float *x, int d, int lane, float *to)
{
    for (int e = 0; e < E; e++) {
        const int at = place(T, lane, e);
        if (at < d) to[at] = x[e];
    }
}

// Rows first .. first + TILE of an operand, zeros behind the last.
template <int WIDTH, int TILE>
__device__ static inline void load_tile(const float *from, int64_t step, int64_t first, int64_t n,
                                        int d, float *tile)
{
    for (int i = threadIdx.x; i < TILE * WIDTH; i += THREADS) {
        const int     at = i % WIDTH;
        const int64_t row = first + i / WIDTH;
        tile[i] = row < n && at < d ? from[row * step + at] : 0.0f;
    }
}

// The next tiles of two operands, when everybody is done with those before.
template <int WIDTH, int TILE>
__device__ static inline void next_tiles(const float *x, int64_t x_step, float *x_tile,
                                         const float *y, int64_t y_step, float *y_tile,
                                         int64_t first, int64_t n, int d)
{
    __syncthreads();
    load_tile<WIDTH, TILE>(x, x_step, first, n, d, x_tile);
    load_tile<WIDTH, TILE>(y, y_step, first, n, d, y_tile);
    __syncthreads();
}

template <int T, int E>
__device__ static inline float dot(const float *x, const float *row, int lane)
{
    float s = 0.0f;
    for (int e = 0; e < E; e += 4) {
        const float4 r = *(const float4 *)&row[place(T, lane, e)];
        s = fmaf(x[e], r.x, fmaf(x[e + 1], r.y, fmaf(x[e + 2], r.z, fmaf(x[e + 3], r.w, s))));
    }
    return s;
}

template <int T, int E>
__device__ static inline void add_row(float *x, float by, const float *row, int lane)
{
    for (int e = 0; e < E; e += 4) {
        const float4 r = *(const float4 *)&row[place(T, lane, e)];
        x[e] = fmaf(by, r.x, x[e]);
        x[e + 1] = fmaf(by, r.y, x[e + 1]);
        x[e + 2] = fmaf(by, r.z, x[e + 2]);
        x[e + 3] = fmaf(by, r.w, x[e + 3]);
    }
}

// What weights e .. e + 3 step apart are multiplied with; lanes 0 to 3 of a team draw one each.
template <int T>
__device__ static inline void kept(const att_arg &p, const ll_rng &rng, int64_t first, int64_t step,
                                   int lane, float keep[4])
{
    if (p.rng == NULL) {
        for (int k = 0; k < 4; k++) keep[k] = 1.0f;
        return;
    }
    float mine = 0.0f;
    if (lane < 4)
        mine = ll_drop_keeps(&rng, (uint64_t)(first + lane * step), p.p) ? p.keep_scale : 0.0f;
    for (int k = 0; k < 4; k++) keep[k] = __shfl_sync(0xffffffffu, mine, k, T);
}

template <int T, int E> __global__ void forward_kernel(const __grid_constant__ att_arg p)
{
    behind();
    enum { WIDTH = shape_of<T, E>::WIDTH, TILE = shape_of<T, E>::TILE };
    __shared__ __align__(16) float keys[TILE * WIDTH], values[TILE * WIDTH];
    const team_place               t = team_of<T>(p, p.lq);
    const int64_t                  b = t.b, i = t.i;
    const int                      h = t.h, lane = t.lane;
    const bool                     there = t.there;
    const float                   *mask = mask_of(p, b), *bias = bias_of(p, b, h);
    const float *k_head = head_of(p.k, b, h, p.d), *v_head = head_of(p.v, b, h, p.d);
    ll_rng       rng;
    if (p.rng != NULL) rng = ll_drop_rng(p.rng, p.id);
    if (bias != NULL && there) bias += i * p.at_bias.stride[p.at_bias.rank - 2];
    float q[E], y[E] = {}, top = -INFINITY, sum = 0.0f;
    load_row<T, E>(head_of(p.q, b, h, p.d) + (there ? i : 0) * p.q.step, p.d, lane, there, q);
    for (int64_t first = 0; first < p.lk; first += TILE) {
        next_tiles<WIDTH, TILE>(k_head, p.k.step, keys, v_head, p.v.step, values, first, p.lk, p.d);
        for (int j = 0; j < TILE && first + j < p.lk; j += 4) {
            float s[4], keep[4], high = top;
            for (int k = 0; k < 4; k++) {
                const int64_t key = first + j + k;
                s[k] = team_sum<T>(dot<T, E>(q, keys + (j + k) * WIDTH, lane)) * p.scale;
                if (bias != NULL && there && key < p.lk) s[k] += bias[key];
                if (key >= p.lk || (mask != NULL && mask[key] != 0.0f)) s[k] = -INFINITY;
                high = fmaxf(high, s[k]);
            }
            kept<T>(p, rng, ((b * p.heads + h) * p.lq + i) * p.lk + first + j, 1, lane, keep);
            if (high == -INFINITY) continue;
            const float shrink = top == high ? 1.0f : expf(top - high);
            top = high;
            sum *= shrink;
            for (int e = 0; e < E; e++) y[e] *= shrink;
            for (int k = 0; k < 4; k++) {
                const float w = expf(s[k] - top);
                sum += w;
                add_row<T, E>(y, w * keep[k], values + (j + k) * WIDTH, lane);
            }
        }
    }
    if (!there) return;
    const float inverse = sum > 0.0f ? 1.0f / sum : sum == 0.0f ? 0.0f : sum; // NaN stays
    for (int e = 0; e < E; e++) y[e] *= inverse;
    store_row<T, E>(y, p.d, lane, p.y + ((b * p.lq + i) * p.heads + h) * p.d);
    if (lane == 0)
        p.lse_out[(b * p.heads + h) * p.lq + i] = sum == 0.0f ? -INFINITY : top + logf(sum);
}

// -------- backward: w = exp(s - lse), ds = w (keep dy.v - delta), delta = y.dy --------

template <int T, int E> __global__ void dq_kernel(const __grid_constant__ att_arg p)
{
    behind();
    enum { WIDTH = shape_of<T, E>::WIDTH, TILE = shape_of<T, E>::TILE };
    __shared__ __align__(16) float keys[TILE * WIDTH], values[TILE * WIDTH];
    const team_place               t = team_of<T>(p, p.lq);
    const int64_t                  b = t.b, i = t.i;
    const int                      h = t.h, lane = t.lane;
    const bool                     there = t.there;
    const int64_t                  at = ((b * p.lq + (there ? i : 0)) * p.heads + h) * p.d;
    const int64_t                  row = (b * p.heads + h) * p.lq + (there ? i : 0);
    const float                   *mask = mask_of(p, b), *bias = bias_of(p, b, h);
    const float *k_head = head_of(p.k, b, h, p.d), *v_head = head_of(p.v, b, h, p.d);
    ll_rng       rng;
    if (p.rng != NULL) rng = ll_drop_rng(p.rng, p.id);
    if (bias != NULL && there) bias += i * p.at_bias.stride[p.at_bias.rank - 2];
    float q[E], dy[E], dq[E] = {}, y[E];
    load_row<T, E>(head_of(p.q, b, h, p.d) + (there ? i : 0) * p.q.step, p.d, lane, there, q);
    load_row<T, E>(p.dy + at, p.d, lane, there, dy);
    load_row<T, E>(p.y_in + at, p.d, lane, there, y);
    float delta = 0.0f;
    for (int e = 0; e < E; e++) delta = fmaf(y[e], dy[e], delta);
    delta = team_sum<T>(delta);
    const float lse = there ? p.lse[row] : -INFINITY;
    if (there && lane == 0) p.delta[row] = delta;
    for (int64_t first = 0; first < p.lk; first += TILE) {
        next_tiles<WIDTH, TILE>(k_head, p.k.step, keys, v_head, p.v.step, values, first, p.lk, p.d);
        for (int j = 0; j < TILE && first + j < p.lk; j += 4) {
            float keep[4];
            kept<T>(p, rng, row * p.lk + first + j, 1, lane, keep);
            for (int k = 0; k < 4; k++) {
                const int64_t key = first + j + k;
                float         s = team_sum<T>(dot<T, E>(q, keys + (j + k) * WIDTH, lane)) * p.scale;
                if (bias != NULL && there && key < p.lk) s += bias[key];
                const bool seen =
                    key < p.lk && lse != -INFINITY && !(mask != NULL && mask[key] != 0.0f);
                const float w = seen ? expf(s - lse) : 0.0f;
                const float dw =
                    team_sum<T>(dot<T, E>(dy, values + (j + k) * WIDTH, lane)) * keep[k];
                const float ds = w * (dw - delta);
                add_row<T, E>(dq, ds * p.scale, keys + (j + k) * WIDTH, lane);
                if (p.dbias != NULL && there && key < p.lk && lane == 0)
                    p.dbias[row * p.lk + key] = ds;
            }
        }
    }
    if (there) store_row<T, E>(dq, p.d, lane, p.dq + at);
}

template <int T, int E> __global__ void dkv_kernel(const __grid_constant__ att_arg p)
{
    behind();
    enum { WIDTH = shape_of<T, E>::WIDTH, TILE = shape_of<T, E>::TILE };
    __shared__ __align__(16) float queries[TILE * WIDTH], dys[TILE * WIDTH];
    const team_place               t = team_of<T>(p, p.lk);
    const int64_t                  b = t.b, j = t.i;
    const int                      h = t.h, lane = t.lane;
    const bool                     there = t.there;
    const int64_t                  key = there ? j : 0, row = (b * p.heads + h) * p.lq;
    const float                   *mask = mask_of(p, b), *bias = bias_of(p, b, h);
    const bool                     masked = !there || (mask != NULL && mask[key] != 0.0f);
    const float *q_head = head_of(p.q, b, h, p.d), *dy_head = p.dy + (b * p.lq * p.heads + h) * p.d;
    ll_rng       rng;
    if (p.rng != NULL) rng = ll_drop_rng(p.rng, p.id);
    float k[E], v[E], dk[E] = {}, dv[E] = {};
    load_row<T, E>(head_of(p.k, b, h, p.d) + key * p.k.step, p.d, lane, there, k);
    load_row<T, E>(head_of(p.v, b, h, p.d) + key * p.v.step, p.d, lane, there, v);
    for (int64_t first = 0; first < p.lq; first += TILE) {
        next_tiles<WIDTH, TILE>(q_head, p.q.step, queries, dy_head, (int64_t)p.heads * p.d, dys,
                                first, p.lq, p.d);
        for (int n = 0; n < TILE && first + n < p.lq; n += 4) {
            float keep[4];
            kept<T>(p, rng, (row + first + n) * p.lk + key, p.lk, lane, keep);
            for (int m = 0; m < 4; m++) {
                const int64_t i = first + n + m;
                const bool    query = i < p.lq;
                float s = team_sum<T>(dot<T, E>(k, queries + (n + m) * WIDTH, lane)) * p.scale;
                if (bias != NULL && query && there)
                    s += bias[i * p.at_bias.stride[p.at_bias.rank - 2] + key];
                const float lse = query ? p.lse[row + i] : -INFINITY;
                const float w = masked || lse == -INFINITY ? 0.0f : expf(s - lse);
                const float dw = team_sum<T>(dot<T, E>(v, dys + (n + m) * WIDTH, lane)) * keep[m];
                const float ds = query ? w * (dw - p.delta[row + i]) : 0.0f;
                add_row<T, E>(dv, w * keep[m], dys + (n + m) * WIDTH, lane);
                add_row<T, E>(dk, ds * p.scale, queries + (n + m) * WIDTH, lane);
            }
        }
    }
    if (!there) return;
    const int64_t at = ((b * p.lk + j) * p.heads + h) * p.d;
    store_row<T, E>(dk, p.d, lane, p.dk + at);
    store_row<T, E>(dv, p.d, lane, p.dv + at);
}

// -------- launching --------

template <int T, int E> static void forward(const att_arg &p)
{
    const int64_t tiles = (p.lq + shape_of<T, E>::TEAMS - 1) / shape_of<T, E>::TEAMS;
    enqueue(forward_kernel<T, E>, (unsigned)(tiles * p.heads * p.batch), THREADS, 0, p);
}

template <int T, int E> static void backward(const att_arg &p)
{
    const int64_t teams = shape_of<T, E>::TEAMS;
    const int64_t by_q = (p.lq + teams - 1) / teams, by_k = (p.lk + teams - 1) / teams;
    if (p.lq > 0) enqueue(dq_kernel<T, E>, (unsigned)(by_q * p.heads * p.batch), THREADS, 0, p);
    if (p.lk > 0) enqueue(dkv_kernel<T, E>, (unsigned)(by_k * p.heads * p.batch), THREADS, 0, p);
}

static bool too_wide(const att_arg &p)
{
    if (p.d > 512) ll_cuda_note_text(LLAP_EUNSUPPORTED, "attention: a head is wider than 512");
    return p.d > 512;
}

#define BY_WIDTH(fn, p)                       \
    do {                                      \
        if ((p).d <= 16) fn<4, 4>(p);         \
        else if ((p).d <= 32) fn<4, 8>(p);    \
        else if ((p).d <= 64) fn<4, 16>(p);   \
        else if ((p).d <= 128) fn<8, 16>(p);  \
        else if ((p).d <= 256) fn<16, 16>(p); \
        else fn<32, 16>(p);                   \
    } while (0)

void ll_cuda_attention_forward(const ll_call *c, const att_arg &p)
{
    if (p.batch * p.heads * p.lq == 0 || ll_cuda_attention_one(c, p) || too_wide(p)) return;
    BY_WIDTH(forward, p);
    launched(c);
}

void ll_cuda_attention_backward(const ll_call *c, const att_arg &p)
{
    if (p.batch * p.heads == 0 || ll_cuda_attention_one(c, p) || too_wide(p)) return;
    BY_WIDTH(backward, p);
    launched(c);
}

extern "C" void ll_cuda_attention(const ll_call *c)
{
    att_arg p = att_of(c);
    p.y = result_of(c, 0);
    p.lse_out = result_of(c, 1);
    ll_cuda_enter();
    if (!ll_cuda_attention_split(c, p)) ll_cuda_attention_forward(c, p);
}

size_t ll_cuda_attention_grad_bytes(const ll_call *c)
{
    const att_arg p = att_of(c);
    return (size_t)(p.batch * p.heads * p.lq) * sizeof(float);
}

extern "C" void ll_cuda_attention_grad(const ll_call *c)
{
    att_arg p = att_grad_of(c);
    p.dbias = c->in[ATT_BIAS].present ? result_of(c, 3) : NULL;
    ll_cuda_enter();
    ll_cuda_attention_backward(c, p);
}
