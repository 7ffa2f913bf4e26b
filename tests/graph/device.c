/* Every op of the table on a GPU: against ref, in each precision; the same bytes from run to run,
 * as it comes and replayed. LLAP_DEVICE names the device (cuda). Without one the test is skipped.
 */
#include "op_run.h"

#include "backend/cpu/cpu.h"
#include "backend/cuda/cuda.h"
#include "backend/device_memory.h"
#include "backend/ref/ref.h"

enum { PRECISIONS = LL_PRECISION_COUNT };

static judged device[PRECISIONS]; /* in each precision that is looked at */
static int    n_devices;

/* -------- memory --------
 *
 * Thousands of small runs would spend their time in the driver's allocations. What is released here
 * is kept for the next one that fits; checkers see the plain ones. */

enum { BLOCKS = 256 };
static struct {
    void  *at;
    size_t size; /* a power of two */
    bool   used;
} block[BLOCKS];
static const ll_memory *plain;
static ll_memory        pooled;

static llap_status pool_alloc(size_t n_bytes, void **out)
{
    size_t size = 256;
    int    i = 0;
    while (size < n_bytes) size *= 2;
    while (i < BLOCKS - 1 && block[i].at != NULL && (block[i].used || block[i].size != size)) i++;
    *out = NULL;
    if (block[i].at != NULL && (block[i].used || block[i].size != size)) return LLAP_ENOMEM;
    const llap_status st = block[i].at == NULL ? plain->alloc(size, &block[i].at) : LLAP_OK;
    if (st != LLAP_OK) return st;
    block[i].size = size;
    block[i].used = true;
    *out = block[i].at;
    return plain->clear(*out, n_bytes);
}

static void pool_release(void *p)
{
    for (int i = 0; i < BLOCKS; i++)
        if (block[i].at == p) block[i].used = false;
}

static void use_pool(void)
{
    static ll_backend copy[PRECISIONS];
    plain = device[0].backend->memory;
    pooled = *plain;
    pooled.alloc = pool_alloc;
    pooled.release = pool_release;
    for (int p = 0; p < n_devices; p++) {
        copy[p] = *device[p].backend;
        copy[p].memory = &pooled;
        device[p].backend = &copy[p];
    }
}

/* -------- every op -------- */

/* One key; heads of width 32 and 64, more queries than a tile, keys that end inside one. */
static const sized att_shapes[] = { { 300, 1, 32 }, { 2, 70, 32 }, { 2, 130, 64 } };

static void every_op_is_near_ref(void **state)
{
    (void)state;
    if (!check_quick()) compare_table_with_ref(device, n_devices);
    for (int i = 0; i < op_table_len; i++) {
        for (op_layout layout = OP_DENSE; check_quick() && layout <= OP_SWAPPED; layout++)
            compare_with_ref(&op_table[i], (sized){ 3, 7, 5 }, layout, device, n_devices);
        for (size_t k = 0; op_table[i].quadratic && k < (check_quick() ? 2 : 3); k++)
            compare_with_ref(&op_table[i], att_shapes[k], OP_DENSE, device, n_devices);
    }
}

/* -------- products larger than a tile, and long sums -------- */

static ll_tensor *linear_of(op_build *o, int64_t width)
{
    ll_tensor *x = op_leaf(o, "x", FILL_REAL, true, LL_SHAPE(o->b, o->l, o->n));
    ll_tensor *w = op_leaf(o, "w", FILL_REAL, false, LL_SHAPE(width, o->n));
    ll_tensor *y = ll_linear(o->g, x, w, op_leaf(o, "c", FILL_REAL, false, LL_SHAPE(width)));
    ll_tensor *z = op_leaf(o, "z", FILL_REAL, true, LL_SHAPE(o->b, o->l, width));
    return ll_add(o->g, z, ll_gelu(o->g, y));
}
static ll_tensor *large_linear(op_build *o) { return linear_of(o, 260); }
static ll_tensor *middle_linear(op_build *o) { return linear_of(o, 58); }
static ll_tensor *narrow_linear(op_build *o) { return linear_of(o, 24); }

static ll_tensor *large_products(op_build *o) /* every way to lay out a and b */
{
    ll_tensor *sum = NULL;
    for (int k = 0; k < 4; k++) {
        const bool ta = k % 2 == 1, tb = k / 2 == 1;
        char       a[2] = { (char)('a' + k), 0 }, b[2] = { (char)('h' + k), 0 };
        ll_tensor *x = op_leaf(o, a, FILL_REAL, true,
                               ta ? LL_SHAPE(o->b, o->n, o->l) : LL_SHAPE(o->b, o->l, o->n));
        ll_tensor *y = op_leaf(o, b, FILL_REAL, true,
                               tb ? LL_SHAPE(o->b, 152, o->n) : LL_SHAPE(o->b, o->n, 152));
        ll_tensor *z = ll_matmul(o->g, x, ta, y, tb);
        sum = sum == NULL ? z : ll_add(o->g, sum, z);
    }
    return sum;
}

/* Weights of rows of n that keep the size of what they meet: scores of a softmax must not be so
 * large that it hangs on the last bit of them. */
static ll_tensor *weights(op_build *o, const char *name, int64_t width, int64_t n)
{
    return ll_scale(o->g, op_leaf(o, name, FILL_REAL, false, LL_SHAPE(width, n)),
                    1.0 / sqrt((double)n));
}

/* What a block of a transformer is made of, so that results are handed on as the planner likes.
 * Rows of its gain are parts of wider ones, from number askew on. */
static ll_tensor *block_of(op_build *o, int64_t askew)
{
    const int64_t e = 128, w = 3 * e;
    ll_tensor    *p[3], *x = op_leaf(o, "x", FILL_REAL, true, LL_SHAPE(o->b, o->l, e));
    ll_tensor    *gain = op_leaf(o, "g", FILL_REAL, true, LL_SHAPE(o->b, 1, e + askew)),
              *shift = op_leaf(o, "s", FILL_REAL, true, LL_SHAPE(o->b, 1, e));
    gain = ll_slice(o->g, gain, 2, askew, e);
    ll_tensor *y = ll_modulated_norm(o->g, x, gain, shift, 1e-5);
    y = ll_linear(o->g, y, weights(o, "w", w, e), op_leaf(o, "c", FILL_REAL, false, LL_SHAPE(w)));
    ll_split_axis(o->g, y, -1, 3, p);
    y = ll_attention(o->g, p[0], p[1], p[2], &(ll_attention_opts){ .n_heads = (int)(e / o->n) });
    x = ll_add(o->g, x, ll_linear(o->g, y, weights(o, "v", e, e), NULL));
    y = ll_modulated_norm(o->g, x, gain, shift, 1e-5);
    y = ll_gelu(o->g, ll_linear(o->g, y, weights(o, "u", w, e), NULL));
    return ll_linear(o->g, y, weights(o, "t", 24, w), NULL);
}
static ll_tensor *large_block(op_build *o) { return block_of(o, 0); }
static ll_tensor *askew_block(op_build *o) { return block_of(o, 1); }

/* Masked, keys shared by two samples; the first window sees nothing. */
static ll_tensor *large_attention(op_build *o)
{
    const int64_t  lk = o->l + 37, w = 2 * o->n;
    const ll_shape shape = LL_SHAPE(o->b, 1, lk);
    double        *m = ll_new((size_t)(o->b * lk), sizeof *m);
    assert_non_null(m);
    for (int64_t i = 0; i < o->b * lk; i++)
        m[i] = i < lk || op_unit("mask", (uint64_t)i) > 0.3 ? 1.0 : 0.0;
    ll_tensor *hidden = ll_constant(o->g, shape, m);
    ll_free(m);
    return ll_attention(o->g, op_leaf(o, "q", FILL_REAL, true, LL_SHAPE(o->b, 2, o->l, w)),
                        op_leaf(o, "k", FILL_REAL, true, LL_SHAPE(o->b, 1, lk, w)),
                        op_leaf(o, "v", FILL_REAL, true, LL_SHAPE(o->b, 1, lk, w)),
                        &(ll_attention_opts){ .n_heads = 2, .key_padding = hidden });
}

/* Gradients of a weight by two halves of a batch, of zeros and threes: whole numbers of more bits
 * than bf16 has. */
static ll_tensor *added_gradients(op_build *o)
{
    static const char *const name[] = { "a", "b", "c", "d" };
    ll_tensor               *x[4];
    for (int i = 0; i < 4; i++)
        x[i] = ll_scale(
            o->g, op_leaf(o, name[i], FILL_MASK, false, LL_SHAPE(o->l, i % 2 == 0 ? 1024 : 256)),
            3.0);
    return ll_add(o->g, ll_matmul(o->g, x[0], true, x[1], false),
                  ll_matmul(o->g, x[2], true, x[3], false));
}

static ll_tensor *empty_product(op_build *o) /* zeros, and something to add them to */
{
    ll_tensor *x = op_leaf(o, "x", FILL_REAL, false, LL_SHAPE(512, 0)),
              *y = op_leaf(o, "y", FILL_REAL, false, LL_SHAPE(0, 512)),
              *z = op_leaf(o, "z", FILL_REAL, false, LL_SHAPE(512, 512));
    return ll_add(o->g, ll_matmul(o->g, x, false, y, false), z);
}

enum {
    LARGE_LINEAR,
    MIDDLE_LINEAR,
    NARROW_LINEAR,
    LARGE_PRODUCTS,
    LARGE_BLOCK,
    ASKEW_BLOCK,
    LARGE_ATTENTION,
    ADDED_GRADIENTS,
    EMPTY_PRODUCT
};
static const op_row large[] = {
    [LARGE_LINEAR] = { "large linear", LL_OP_LINEAR, large_linear, 2e-5, false, false },
    [MIDDLE_LINEAR] = { "middle linear", LL_OP_LINEAR, middle_linear, 2e-5, false, false },
    [NARROW_LINEAR] = { "narrow linear", LL_OP_LINEAR, narrow_linear, 2e-5, false, false },
    [LARGE_PRODUCTS] = { "large products", LL_OP_MATMUL, large_products, 2e-5, false, false },
    [LARGE_BLOCK] = { "large block", LL_OP_ATTENTION, large_block, 3e-5, false, false },
    [ASKEW_BLOCK] = { "askew block", LL_OP_ATTENTION, askew_block, 3e-5, false, false },
    [LARGE_ATTENTION] = { "large attention", LL_OP_ATTENTION, large_attention, 1e-5, false, false },
    [ADDED_GRADIENTS] = { "added gradients", LL_OP_MATMUL, added_gradients, 0.0, true, false },
    [EMPTY_PRODUCT] = { "empty product", LL_OP_MATMUL, empty_product, 0.0, true, false },
};

static void large_products_are_right(void **state)
{
    (void)state;
    const sized sizes[] = { { 5, 1000, 70 }, { 30, 140, 131 }, { 30, 140, 136 } };
    /* An odd inner length, and a result that pushes the scratch memory to an odd place. */
    if (!check_quick())
        compare_with_ref(&large[LARGE_LINEAR], (sized){ 9, 401, 87 }, OP_DENSE, device, 1);
    /* Many very short rows. */
    compare_with_ref(&large[NARROW_LINEAR], (sized){ 2, 8300, 21 }, OP_DENSE, device, n_devices);
    for (int64_t i = 0; i < 3 && !check_quick(); i++) {
        compare_with_ref(&large[LARGE_LINEAR], sizes[i], OP_DENSE, device, n_devices);
        compare_with_ref(&large[LARGE_PRODUCTS], (sized){ 20, 136 + 4 * i, 64 + 4 * i }, OP_DENSE,
                         device, n_devices);
    }
}

/* Floats on tensor cores: each width of a block's columns, inner lengths that end inside a piece,
 * rows that end inside a tile, few of them and more than blocks take at once. Tighter than other
 * products: all six parts of a product must be there, and their sums not be cut. */
static void layers_of_floats_are_right(void **state)
{
    (void)state;
    static const int64_t inner[] = { 24, 200, 256, 300, 512, 700, 1024 };
    for (int row = LARGE_LINEAR; row <= NARROW_LINEAR; row++) {
        op_row strict = large[row];
        strict.tol = 3e-6;
        strict.no_gradient = true; /* GELU with the product */
        for (size_t i = 0; i < sizeof inner / sizeof *inner; i++)
            if (!check_quick() || inner[i] == 200)
                compare_with_ref(&strict, (sized){ 1, 131, inner[i] }, OP_DENSE, device, 1);
        if (check_quick()) continue;
        compare_with_ref(&strict, (sized){ 1, 17100, 24 }, OP_DENSE, device, 1);
        compare_with_ref(&strict, (sized){ 1, 5700, 72 }, OP_DENSE, device, 1);
    }
}

/* Heads of 32 and 64; queries and keys that end inside a tile; many blocks, of floats. */
static void large_attentions_are_right(void **state)
{
    (void)state;
    op_row many = large[LARGE_ATTENTION];
    many.no_gradient = true; /* which has the kernels of few */
    for (int64_t d = 32; d <= 64; d += 32) {
        for (int64_t l = 1; l <= 99; l += 98)
            compare_with_ref(&large[LARGE_ATTENTION], (sized){ 2, l, d }, OP_DENSE, device,
                             n_devices);
        if (!check_quick()) compare_with_ref(&many, (sized){ 17, 150, d }, OP_DENSE, device, 1);
    }
}

/* One number of x [b,l,n] is not finite: its row of the result is not, the others are as before.
 * Infinity may come out as NaN (backend/cuda/object/split.cuh). */
static void what_is_not_finite_stays_so(void **state)
{
    (void)state;
    const sized  s = { 1, 300, 64 };
    const double bad[] = { INFINITY, -INFINITY, NAN };
    for (int k = 0; k < 3; k++) {
        const ll_backend *b = device[0].backend;
        ready             r = make_ready(&large[LARGE_LINEAR], s, OP_DENSE, b, 1, false);
        ll_shape          shape;
        bind_leaves(&r, b, 0);
        for (int i = 0; i < ll_plan_n_slots(r.plan); i++)
            if (strcmp(ll_plan_slot(r.plan, i)->name, "rb:x") == 0)
                ((float *)r.data[i])[77 * 64 + 5] = (float)bad[k];
        CHECK_OK(ll_run_exec(r.run));
        const float *y = ll_run_output(r.run, "y", &shape);
        for (int64_t i = 0; i < 300 * 260; i++) assert_true(isfinite(y[i]) == (i / 260 != 77));
        dispose(&r);
    }
}

/* Heads of 32 and 64, few and many rows. */
static void large_blocks_are_right(void **state)
{
    (void)state;
    for (int64_t d = 32; d <= 64; d += 32) {
        compare_with_ref(&large[LARGE_BLOCK], (sized){ 1, 200, d }, OP_DENSE, device, n_devices);
        if (!check_quick())
            compare_with_ref(&large[LARGE_BLOCK], (sized){ 16, 150, d }, OP_DENSE, device,
                             n_devices);
    }
    compare_with_ref(&large[ASKEW_BLOCK], (sized){ 16, 150, 32 }, OP_DENSE, device, n_devices);
}

/* What is exact in floats stays so in every precision where results are not kept as bf16. */
static void gradients_of_weights_stay_floats(void **state)
{
    (void)state;
    judged exact[PRECISIONS];
    for (int p = 0; p < n_devices; p++) exact[p] = (judged){ device[p].backend, 0.0 };
    for (int i = ADDED_GRADIENTS; i <= EMPTY_PRODUCT; i++)
        compare_with_ref(&large[i], (sized){ 1, 300, 1 }, OP_DENSE, exact, n_devices);
}

/* -------- bytes -------- */

/* A copy of every result, one after the other; the caller owns it. */
static float *results_of(const ready *r, int64_t *n)
{
    char   name[80];
    float *all = NULL;
    *n = 0;
    for (int k = 0; output_name(r, k, name, sizeof name) != NULL; k++) {
        ll_shape     s;
        const float *x = ll_run_output(r->run, output_name(r, k, name, sizeof name), &s);
        if (x == NULL) fail_msg("%s", llap_error_detail());
        const int64_t count = ll_shape_count(&s);
        all = ll_grow(all, (size_t)(*n + count + 1), sizeof *all);
        assert_non_null(all);
        memcpy(all + *n, x, (size_t)count * sizeof *all);
        *n += count;
    }
    return all;
}

static void runs_give_the_same_bytes(void **state)
{
    (void)state;
    const sized s = { 3, 33, 20 };
    for (int p = 0; p < n_devices; p++)
        for (int i = 0; i < op_table_len; i++) {
            const ll_backend *b = device[p].backend;
            if (!op_there(&op_table[i], b)) continue;
            ready   one = run_row(&op_table[i], s, OP_DENSE, b, 1, false);
            ready   two = run_row(&op_table[i], s, OP_DENSE, b, 1, false);
            int64_t n, m;
            float  *first = results_of(&one, &n);
            same_bytes(&op_table[i], &one, &two, "in a second run");
            for (int k = 0; k < 3; k++) {
                CHECK_OK(ll_run_exec(one.run));
                float *again = results_of(&one, &m);
                if (n != m || memcmp(first, again, (size_t)n * sizeof *first) != 0)
                    fail_msg("%s on %s: other bytes when replayed", op_table[i].name, b->name);
                ll_free(again);
            }
            ll_free(first);
            dispose(&one);
            dispose(&two);
        }
}

/* Copies of every size there and back, what they came from gone at once, on either queue, with so
 * many on their way that staging goes round. */
static void copies_keep_every_byte(void **state)
{
    (void)state;
    static const size_t size[] = {
        1, 3, 4096, 65537, 1 << 19, 1 << 20, (1 << 20) + 1, 3 << 20, (9 << 20) + 12345
    };
    enum { SIZES = sizeof size / sizeof *size, TIMES = 3 };
    const ll_backend *b = device[0].backend;
    const ll_memory  *m = b->memory;
    unsigned char    *x = ll_new(size[SIZES - 1], 1), *y = ll_new(size[SIZES - 1], 1);
    void             *device_data[TIMES][SIZES];
    assert_true(x != NULL && y != NULL);
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < SIZES; i++) CHECK_OK(ll_device_alloc(b, size[i], &device_data[t][i]));
    for (int t = 0; t < TIMES; t++) {
        CHECK_OK(ll_device_status(b, m->aside(t == 1)));
        for (int i = 0; i < SIZES; i++) {
            for (size_t k = 0; k < size[i]; k++)
                x[k] = (unsigned char)(k * 7 + k / 251 + 31 * (size_t)(t + i));
            CHECK_OK(ll_device_put(b, device_data[t][i], x, size[i]));
            memset(x, 0xee, size[i]);
        }
        if (t == 1) CHECK_OK(ll_device_status(b, m->join()));
    }
    for (int t = TIMES - 1; t >= 0; t--)
        for (int i = 0; i < SIZES; i++) {
            memset(y, 0xdd, size[i]);
            CHECK_OK(ll_device_get(b, y, device_data[t][i], size[i]));
            for (size_t k = 0; k < size[i]; k++)
                if (y[k] != (unsigned char)(k * 7 + k / 251 + 31 * (size_t)(t + i)))
                    fail_msg("%zu bytes: byte %zu is another", size[i], k);
            ll_device_release(b, device_data[t][i]);
        }
    ll_free(x);
    ll_free(y);
}

/* The order of an epoch as the cpu makes it, of few and of many; runs of rows; as they are. */
static void orders_are_the_cpus(void **state)
{
    (void)state;
    static const int64_t size[][2] = { { 1, 1 }, { 2, 3 }, { 63, 10 }, { 6700, 1 }, { 300001, 1 } };
    const ll_backend    *b = device[0].backend;
    for (size_t k = 0; k < sizeof size / sizeof *size; k++)
        for (uint32_t epoch = 0; epoch < 4; epoch++) {
            const int64_t n = size[k][0], width = size[k][1], all = n * width;
            const ll_rng  r = ll_rng_make(3, LL_STREAM_SHUFFLE, 0, 0, epoch);
            const ll_rng *by = epoch == 3 ? NULL : &r;
            const size_t  bytes = (size_t)all * sizeof(uint32_t);
            uint32_t     *here = ll_new((size_t)all, sizeof *here),
                     *found = ll_new((size_t)all, sizeof *found);
            void *work = ll_new(ll_order_work(n), 1), *device_data, *device_work;
            assert_true(here != NULL && found != NULL && work != NULL);
            CHECK_OK(ll_device_alloc(b, bytes, &device_data));
            CHECK_OK(ll_device_alloc(b, ll_order_work(n), &device_work));
            CHECK_OK(ll_device_order(&ll_backend_cpu, here, n, width, by, work));
            for (int again = 0; again < 2; again++) { /* what is there before does not matter */
                CHECK_OK(ll_device_order(b, device_data, n, width, by, device_work));
                CHECK_OK(ll_device_get(b, found, device_data, bytes));
                assert_memory_equal(found, here, bytes);
            }
            ll_device_release(b, device_data);
            ll_device_release(b, device_work);
            ll_free(here);
            ll_free(found);
            ll_free(work);
        }
}

int main(int argc, char **argv)
{
    const char  *name = getenv("LLAP_DEVICE") == NULL ? "cuda" : getenv("LLAP_DEVICE");
    const double tol[] = { 0.0, 4e-3, 3e-2 }; /* operands of products have 24, 11 or 8 bits */
    for (int p = 0; p < PRECISIONS; p++) {
        judged *j = &device[n_devices];
        if (p > 0 && check_leaves(ll_precision_names[p])) continue; /* the first is floats */
        if (ll_device_find(name, (ll_precision)p, &j->backend) != LLAP_OK || j->backend == NULL) {
            printf("skipped: %s\n", llap_error_detail());
            return 77;
        }
        j->tol = tol[p];
        n_devices++;
    }
    if (!check_quick()) use_pool();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_is_near_ref),
        cmocka_unit_test(large_products_are_right),
        cmocka_unit_test(layers_of_floats_are_right),
        cmocka_unit_test(large_attentions_are_right),
        cmocka_unit_test(what_is_not_finite_stays_so),
        cmocka_unit_test(large_blocks_are_right),
        cmocka_unit_test(gradients_of_weights_stay_floats),
        cmocka_unit_test(runs_give_the_same_bytes),
        cmocka_unit_test(copies_keep_every_byte),
        cmocka_unit_test(orders_are_the_cpus),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
