// Which runs of layers there is a kernel for, and what that needs to know of them.
#include "backend/cuda/object/layers.cuh"
#include "backend/cuda/object/wgmma.cuh"

// The steps of a run by their part in it; -1: not there. See layers.cuh.
struct run_parts {
    int first, norm, store, up, small, down, entry, next_norm, next;
};

static const ll_layer &step_of(const ll_call *c, int i) { return c->attr->layers->step[i]; }
static int64_t         columns_of(const ll_layer &s) { return s.shape.dim[s.shape.rank - 1]; }

static bool is_input(const ll_call *c, int arg) { return arg >= 0 && arg < c->n_in; }
static bool is_given(const ll_call *c, int arg) { return arg == -1 || is_input(c, arg); }

// Step i is a linear layer of the result of step x, or of an input where x is -1.
static bool is_linear(const ll_call *c, int i, int x)
{
    const ll_layer &s = step_of(c, i);
    const bool      from = x < 0 ? is_input(c, s.arg[0]) : s.arg[0] == c->n_in + x;
    return !s.norm && from && is_input(c, s.arg[1]) && is_given(c, s.arg[2]);
}
// Rows that lie one step apart.
static bool even_rows(const ll_view &v, int64_t *step)
{
    int64_t rows = 1;
    *step = 0;
    for (int axis = v.shape.rank - 2; axis >= 0; axis--) {
        if (v.shape.dim[axis] == 1) continue;
        if (rows == 1) *step = v.stride[axis];
        else if (v.stride[axis] != *step * rows) return false;
        rows *= v.shape.dim[axis];
    }
    return true;
}
static bool is_norm(const ll_call *c, int i, int x)
{
    const ll_layer &s = step_of(c, i);
    int64_t         step;
    for (int a = 1; a < 3 && s.norm; a++)
        if (is_input(c, s.arg[a]) && !even_rows(c->in[s.arg[a]], &step)) return false;
    return s.norm && s.arg[0] == c->n_in + x && is_given(c, s.arg[1]) && is_given(c, s.arg[2]) &&
           s.out < 0;
}
// x of WIDTH columns, of rows of k; a residual that rows share may be there.
static bool is_start(const ll_call *c, int i, int x)
{
    const ll_layer &s = step_of(c, i);
    int64_t         repeat, group, step;
    if (!is_linear(c, i, x) || s.gelu || columns_of(s) != LAYER_WIDTH || !is_given(c, s.arg[3]))
        return false;
    const int64_t k = c->in[s.arg[1]].shape.dim[1];
    if (k != LAYER_WIDTH && (k > LAYER_THETA || k < 8 || k % 8 != 0)) return false;
    return s.arg[3] < 0 || ll_view_dense(&c->in[s.arg[3]]) ||
           ll_cuda_find_repeat(c->in[s.arg[3]], &repeat, &group, &step);
}
static bool is_wide(const ll_call *c, int i, int x, bool gelu)
{
    const ll_layer &s = step_of(c, i);
    return is_linear(c, i, x) && s.gelu == gelu && s.arg[3] == -1 &&
           columns_of(s) % LAYER_CHUNK == 0;
}
static bool is_narrow(const ll_call *c, int i, int x)
{
    const ll_layer &s = step_of(c, i);
    return is_linear(c, i, x) && !s.gelu && columns_of(s) <= LAYER_THETA && columns_of(s) % 8 == 0;
}

static bool match(const ll_call *c, run_parts *r)
{
    const int n = c->attr->layers->n_steps;
    *r = { -1, -1, -1, -1, -1, -1, -1, -1, -1 };
    if (n < 2 || !is_start(c, 0, -1) || !ll_cuda_wgmma_there()) return false;
    r->first = 0;
    if (n == 3 && is_norm(c, 1, 0) && is_wide(c, 2, 1, false)) {
        r->norm = 1;
        r->store = 2;
        return true;
    }
    int theta = 1;
    if (step_of(c, 1).norm) {
        theta = 4;
        if (n < 5 || !is_norm(c, 1, 0) || !is_wide(c, 2, 1, true) || !is_narrow(c, 3, 0) ||
            !is_narrow(c, 4, 2) || step_of(c, 2).out >= 0 || step_of(c, 3).out >= 0 ||
            step_of(c, 4).arg[3] != c->n_in + 3)
            return false;
        r->norm = 1;
        r->up = 2;
        r->down = 4;
    }
    r->small = r->up < 0 ? 1 : 3;
    const ll_layer &small = step_of(c, r->small);
    if (!is_narrow(c, r->small, 0) || !is_given(c, small.arg[3])) return false;
    if (small.arg[3] >= 0 && !ll_view_dense(&c->in[small.arg[3]])) return false;
    if (n == theta + 1) return true;
    r->entry = theta + 1;
    r->next_norm = theta + 2;
    r->next = theta + 3;
    return n == theta + 4 && is_start(c, r->entry, theta) && is_norm(c, r->next_norm, r->entry) &&
           is_wide(c, r->next, r->next_norm, false);
}

bool ll_cuda_layers_take(const ll_call *c)
{
    run_parts r;
    return match(c, &r) && ll_shape_count(&step_of(c, 0).shape) / LAYER_WIDTH < INT32_MAX;
}

// Weights, rows of WIDTH, and what is stored behind a norm.
bool ll_cuda_layers_half(const ll_call *c, int k)
{
    run_parts r;
    if (!match(c, &r)) return false;
    if (k >= c->n_in)
        return (r.store >= 0 && step_of(c, r.store).out == k - c->n_in) ||
               (r.next >= 0 && step_of(c, r.next).out == k - c->n_in);
    for (int i = 0; i < c->attr->layers->n_steps; i++)
        for (int a = 0; a < 4; a++) {
            const ll_layer &s = step_of(c, i);
            if (s.arg[a] != k) continue;
            const bool weight = a == 1 && !s.norm,
                       rows = a == 0 && i == 0 && c->in[s.arg[1]].shape.dim[1] == LAYER_WIDTH;
            if (!weight && !rows) return false;
        }
    return true;
}

// -------- running --------

static const float *real_at(const ll_call *c, int arg)
{
    return arg < 0 ? NULL : real_of(c->in[arg]);
}

static float *result_at(const ll_call *c, const ll_layer &s)
{
    return s.out < 0 ? NULL : result_of(c, s.out);
}

static void start_of(const ll_call *c, int i, int norm, layers_start *to)
{
    const ll_layer &s = step_of(c, i);
    to->bias = real_at(c, s.arg[2]);
    to->residual = real_at(c, s.arg[3]);
    to->x = result_at(c, s);
    if (s.arg[3] >= 0 && !ll_view_dense(&c->in[s.arg[3]]))
        (void)ll_cuda_find_repeat(c->in[s.arg[3]], &to->repeat, &to->group, &to->group_step);
    to->run = 1;
    if (norm < 0) return;
    const ll_layer &n = step_of(c, norm);
    const int64_t   rows = ll_shape_count(&n.shape) / LAYER_WIDTH;
    const int64_t   groups = n.arg[1] < 0 ? 1 : ll_view_rows(&c->in[n.arg[1]]);
    to->gain = real_at(c, n.arg[1]);
    to->shift = real_at(c, n.arg[2]);
    if (n.arg[1] >= 0) (void)even_rows(c->in[n.arg[1]], &to->gain_step);
    if (n.arg[2] >= 0) (void)even_rows(c->in[n.arg[2]], &to->shift_step);
    to->run = groups > 0 && rows >= groups ? rows / groups : 1;
    to->offset = (float)n.offset;
    to->eps = (float)n.eps;
}

static void store_of(const ll_call *c, int i, layers_store *to)
{
    const ll_layer &s = step_of(c, i);
    to->bias = real_at(c, s.arg[2]);
    to->y = s.out < 0 ? NULL : c->out[s.out].data;
    to->half = s.out >= 0 && c->out[s.out].elem == LL_HALF;
    to->n = (int)columns_of(s);
}

typedef CUresult (*encode_fn)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                              const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                              const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                              CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static encode_fn find_encode()
{
    void                           *fn = NULL;
    cudaDriverEntryPointQueryResult found;
    const cudaError_t e = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &fn, 12000,
                                                           cudaEnableDefault, &found);
    return e == cudaSuccess && found == cudaDriverEntryPointSuccess ? (encode_fn)fn : NULL;
}

// Boxes of box rows by 64 of a matrix [rows,k] of bf16; zeros outside.
static bool map_of(CUtensorMap *to, const ll_view &v, int64_t rows, int64_t k, int box)
{
    static const encode_fn encode = find_encode();
    const cuuint64_t       dim[2] = { (cuuint64_t)k, (cuuint64_t)rows }, step = (cuuint64_t)k * 2;
    const cuuint32_t       size[2] = { 64, (cuuint32_t)box }, each[2] = { 1, 1 };
    return encode != NULL && v.elem == LL_HALF &&
           encode(to, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, v.data, dim, &step, size, each,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

static bool map_weight(const ll_call *c, int step, CUtensorMap *to, int box)
{
    if (step < 0) return true;
    const ll_view &w = c->in[step_of(c, step).arg[1]];
    return map_of(to, w, w.shape.dim[0], w.shape.dim[1], box);
}

static bool map_all(const ll_call *c, const run_parts &r, layers_arg *p)
{
    const int wide[][2] = { { MAP_FIRST, r.first },
                            { MAP_STORE, r.store },
                            { MAP_UP, r.up },
                            { MAP_ENTRY, r.entry },
                            { MAP_NEXT, r.next } };
    bool ok = !p->a_half || map_of(&p->map[MAP_A], c->in[step_of(c, 0).arg[0]], p->m, p->k, 64);
    for (const int *i : wide) ok = ok && map_weight(c, i[1], &p->map[i[0]], LAYER_CHUNK);
    const int wanted[][2] = { { MAP_Y, r.store }, { MAP_NEXT_Y, r.next } };
    for (const int *i : wanted) {
        const int out = i[1] < 0 ? -1 : step_of(c, i[1]).out;
        if (out >= 0 && c->out[out].elem == LL_HALF)
            ok = ok && map_of(&p->map[i[0]], c->out[out], p->m, columns_of(step_of(c, i[1])), 64);
    }
    return ok && map_weight(c, r.small, &p->map[MAP_SMALL], LAYER_THETA) &&
           map_weight(c, r.down, &p->map[MAP_DOWN], LAYER_THETA);
}

extern "C" void ll_cuda_layers(const ll_call *c)
{
    run_parts       r;
    layers_arg      p = {};
    const ll_layer &first = step_of(c, 0);
    ll_cuda_enter();
    if (!match(c, &r)) {
        ll_cuda_note_text(LLAP_EUNSUPPORTED, "layers: no kernel for this run");
        return;
    }
    p.m = ll_shape_count(&first.shape) / LAYER_WIDTH;
    p.k = (int)c->in[first.arg[1]].shape.dim[1];
    p.a = real_of(c->in[first.arg[0]]);
    p.a_half = c->in[first.arg[0]].elem == LL_HALF;
    start_of(c, r.first, r.norm, &p.first);
    if (r.store >= 0) store_of(c, r.store, &p.store);
    if (r.small >= 0) {
        const int       theta = r.down < 0 ? r.small : r.down;
        const ll_layer &small = step_of(c, r.small);
        p.z = (int)columns_of(small);
        p.small_bias = real_at(c, small.arg[2]);
        p.theta_before = real_at(c, small.arg[3]);
        p.theta = result_at(c, step_of(c, theta));
    }
    if (r.up >= 0) {
        p.up = (int)columns_of(step_of(c, r.up));
        p.up_bias = real_at(c, step_of(c, r.up).arg[2]);
        p.down_bias = real_at(c, step_of(c, r.down).arg[2]);
    }
    if (r.next >= 0) {
        start_of(c, r.entry, r.next_norm, &p.entry);
        store_of(c, r.next, &p.next);
    }
    if (p.m == 0) return;
    if (!map_all(c, r, &p)) {
        ll_cuda_note_text(LLAP_EUNSUPPORTED, "layers: weights are not as the kernel wants them");
        return;
    }
    ll_cuda_layers_launch(c, p);
}
