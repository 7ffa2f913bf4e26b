// Several calls as one launch: runs of AdamW, and small calls of one kind that do not depend on
// each other.
#include "backend/cuda/object/several.cuh"

enum { KIND_MAP = 1, KIND_CONCAT, KIND_SUM /* and threads for a result */, KIND_PRODUCT = 512 };

extern "C" int ll_cuda_alike(const ll_call *c)
{
    if (ll_cuda_is_small_map(c)) return KIND_MAP;
    if (ll_cuda_is_small_concat(c)) return KIND_CONCAT;
    const int group = c->op == LL_OP_SUM ? ll_cuda_small_sum(c) : 0;
    return group > 0 ? KIND_SUM + group : 0;
}

extern "C" int ll_cuda_alike_bf16(const ll_call *c)
{
    const int form = ll_cuda_small_product(c);
    return form > 0 ? KIND_PRODUCT + form : ll_cuda_alike(c);
}

// The bytes that a view shows lie between these two.
struct extent {
    const char *begin, *end;
};

static extent extent_of(const ll_view &v)
{
    int64_t last = 0;
    if (!v.present || count_of(v) == 0) return { NULL, NULL };
    for (int i = 0; i < v.shape.rank; i++) last += (v.shape.dim[i] - 1) * v.stride[i];
    return { (const char *)v.data, (const char *)v.data + (last + 1) * elem_bytes(v) };
}

static bool meet(const ll_view &a, const ll_view &b)
{
    const extent x = extent_of(a), y = extent_of(b);
    return x.begin < y.end && y.begin < x.end;
}

// Neither writes what the other reads or writes.
static bool independent(const ll_call &a, const ll_call &b)
{
    for (int k = 0; k < b.n_in; k++)
        if (meet(a.out[0], b.in[k])) return false;
    for (int k = 0; k < a.n_in; k++)
        if (meet(b.out[0], a.in[k])) return false;
    return !meet(a.out[0], b.out[0]);
}

// How many of the n calls from c on are of its kind and independent of each other.
static int n_alike(const ll_call *c, int n, int kind, int (*alike)(const ll_call *c))
{
    enum { MOST = 32 };
    int found = 1;
    for (; found < n && found < MOST && alike(&c[found]) == kind; found++)
        for (int i = 0; i < found; i++)
            if (!independent(c[i], c[found])) return found;
    return found;
}

static int several(const ll_call *c, int n, int (*alike)(const ll_call *c))
{
    if (c->op == LL_OP_ADAMW) return ll_cuda_adamws(c, n);
    const int kind = n < 2 ? 0 : alike(c), found = kind == 0 ? 0 : n_alike(c, n, kind, alike);
    if (found < 2) return 0;
    ll_cuda_enter();
    if (kind == KIND_MAP) return ll_cuda_maps(c, found);
    if (kind == KIND_CONCAT) return ll_cuda_concats(c, found);
    return kind < KIND_PRODUCT ? ll_cuda_sums(c, found) : ll_cuda_products(c, found);
}

extern "C" int ll_cuda_several(const ll_call *c, int n) { return several(c, n, ll_cuda_alike); }

extern "C" int ll_cuda_several_bf16(const ll_call *c, int n)
{
    return several(c, n, ll_cuda_alike_bf16);
}
