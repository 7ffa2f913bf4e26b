// What copies parts into a whole: concat, pad.
#include "backend/cuda/object/common.cuh"
#include "backend/cuda/object/several.cuh"

// Copies x into the result so that it starts at `start` along the axis.
static void place(const ll_call *c, const ll_view &x, int axis, int64_t start)
{
    ll_view to = c->out[0];
    to.shape = x.shape;
    to.data = (char *)to.data + start * to.stride[axis] * elem_bytes(to);
    ll_cuda_copy(c, x, to);
}

enum { MAX_PARTS = 128 };

struct parts_arg { // dense pieces one after the other
    int          n;
    int64_t      end[MAX_PARTS];
    const float *from[MAX_PARTS];
};

__global__ void join_kernel(const __grid_constant__ parts_arg p, float *out)
{
    behind();
    FOR_EACH(i, p.end[p.n - 1])
    {
        int low = 0, high = p.n - 1; // the first piece that ends behind i
        while (low < high) {
            const int middle = (low + high) / 2;
            if (p.end[middle] > i) high = middle;
            else low = middle + 1;
        }
        out[i] = p.from[low][i - (low == 0 ? 0 : p.end[low - 1])];
    }
}

// Many small pieces, such as the norms of all gradients, in few launches.
static void join_dense(const ll_call *c)
{
    float *out = result_of(c, 0);
    for (int first = 0; first < c->n_in; first += MAX_PARTS) {
        parts_arg p;
        int64_t   end = 0;
        p.n = c->n_in - first < MAX_PARTS ? c->n_in - first : MAX_PARTS;
        for (int k = 0; k < p.n; k++) {
            p.from[k] = real_of(c->in[first + k]);
            p.end[k] = end += count_of(c->in[first + k]);
        }
        if (end == 0) continue;
        enqueue(join_kernel, blocks_for(end), BLOCK, 0, p, out);
        launched(c);
        out += end;
    }
}

enum { MAX_SIDES = 8 };

struct sides_arg { // rows of several parts side by side, in sixteens of bytes
    int          n;
    uint32_t     rows, width;
    uint32_t     end[MAX_SIDES];
    const uint4 *from[MAX_SIDES];
};

__device__ static inline void put_sides(const sides_arg &p, uint4 *out)
{
    FOR_EACH(i, (int64_t)p.rows * p.width)
    {
        const uint32_t row = i / p.width, at = i - row * p.width;
        int            k = 0;
        while (at >= p.end[k]) k++;
        const uint32_t begin = k == 0 ? 0 : p.end[k - 1];
        out[i] = p.from[k][row * (p.end[k] - begin) + at - begin];
    }
}

__global__ void sides_kernel(const __grid_constant__ sides_arg p, uint4 *out)
{
    behind();
    put_sides(p, out);
}

// Several at once, none of which reads what another writes.
enum { MOST_SIDES = 32 };

struct all_sides_arg {
    sides_arg of[MOST_SIDES];
    uint4    *out[MOST_SIDES];
};

__global__ void all_sides_kernel(const __grid_constant__ all_sides_arg p)
{
    behind();
    put_sides(p.of[blockIdx.y], p.out[blockIdx.y]);
}

// Dense parts whose rows are of whole sixteens; false: they lie otherwise.
static bool sides_of(const ll_call *c, sides_arg *to)
{
    const int  axis = c->attr->part.axis;
    sides_arg &p = *to;
    int64_t    rows = 1, width = 0;
    p = {};
    if (c->n_in > MAX_SIDES || ((uintptr_t)c->out[0].data & 15) != 0) return false;
    for (int k = 0; k < axis; k++) rows *= c->out[0].shape.dim[k];
    for (int k = 0; k < c->n_in; k++) {
        const ll_view &x = c->in[k];
        const int64_t  n_bytes = rows > 0 ? count_of(x) / rows * elem_bytes(x) : 0;
        if (!ll_view_dense(&x) || n_bytes == 0 || n_bytes % 16 != 0 ||
            ((uintptr_t)x.data & 15) != 0)
            return false;
        p.from[k] = (const uint4 *)x.data;
        p.end[k] = (uint32_t)(width += n_bytes / 16);
    }
    if (rows * width >= INT32_MAX) return false;
    p.n = c->n_in;
    p.rows = (uint32_t)rows;
    p.width = (uint32_t)width;
    return true;
}

bool ll_cuda_is_small_concat(const ll_call *c)
{
    sides_arg p;
    return c->op == LL_OP_CONCAT && count_of(c->out[0]) > 0 && count_of(c->out[0]) <= 1 << 17 &&
           sides_of(c, &p);
}

int ll_cuda_concats(const ll_call *c, int n)
{
    all_sides_arg p;
    int64_t       most = 0;
    n = n < MOST_SIDES ? n : MOST_SIDES;
    for (int i = 0; i < n; i++) {
        (void)sides_of(&c[i], &p.of[i]);
        p.out[i] = (uint4 *)c[i].out[0].data;
        const int64_t count = (int64_t)p.of[i].rows * p.of[i].width;
        if (count > most) most = count;
    }
    enqueue(all_sides_kernel, dim3(blocks_for(most), (unsigned)n), BLOCK, 0, p);
    launched(c);
    return n;
}

static bool join_sides(const ll_call *c)
{
    sides_arg p;
    if (!sides_of(c, &p)) return false;
    const int64_t rows = p.rows, width = p.width;
    enqueue(sides_kernel, blocks_for(rows * width), BLOCK, 0, p, (uint4 *)c->out[0].data);
    launched(c);
    return true;
}

extern "C" void ll_cuda_concat(const ll_call *c)
{
    const int axis = c->attr->part.axis;
    bool      dense = true;
    int64_t   start = 0;
    ll_cuda_enter();
    if (join_sides(c)) return;
    for (int k = 0; k < axis; k++) dense = dense && c->out[0].shape.dim[k] == 1;
    for (int k = 0; k < c->n_in; k++)
        dense = dense && ll_view_dense(&c->in[k]) && c->in[k].elem != LL_HALF;
    if (dense) {
        join_dense(c);
        return;
    }
    for (int k = 0; k < c->n_in; k++) {
        place(c, c->in[k], axis, start);
        start += c->in[k].shape.dim[axis];
    }
}

extern "C" void ll_cuda_pad(const ll_call *c)
{
    ll_cuda_enter();
    ll_cuda_note_copy(cudaMemsetAsync(c->out[0].data, 0,
                                      (size_t)(count_of(c->out[0]) * elem_bytes(c->out[0])),
                                      LL_QUEUE),
                      "pad");
    place(c, c->in[0], c->attr->part.axis, c->attr->part.start);
}
