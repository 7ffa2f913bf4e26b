/* The host side of the CUDA object, on machines without a GPU too: that it loads, that its tables
 * are complete, what the planner asks it, and what it answers where no driver is. */
#include "op_run.h"

#include "backend/cuda/cuda.h"
#include "backend/cuda/object/kernels.h"
#include "backend/device_memory.h"

static bool gpu_here(void)
{
    char text[LL_CUDA_TEXT];
    return ll_cuda_take_device(0, text) == LLAP_OK;
}

static void the_object_loads(void **state)
{
    (void)state;
    const ll_backend *b;
    const llap_status st = ll_cuda_open(LLAP_TEST_OBJECT, 0, LL_PRECISION_BF16, &b);
    if (st == LLAP_OK) return;
    assert_int_equal(st, LLAP_EUNSUPPORTED);
    assert_null(b);
    assert_null(strchr(llap_error_detail(), '\n'));
    /* It was loaded, is of this version, and says itself what is missing. */
    assert_int_equal(strncmp(llap_error_detail(), "cuda:0: ", 8), 0);
    CHECK_OK(ll_device_find("auto", LL_PRECISION_BF16, &b));
    assert_null(b);
}

static void every_op_has_a_kernel(void **state)
{
    (void)state;
    static const ll_op needed[] = { /* backend/op.h: a backend may do without the others */
#define X(ID, id) LL_OP_##ID,
                                    LL_UNARY_LIST(X) LL_BINARY_LIST(X) LL_SHAPED_LIST(X)
#undef X
                                        LL_OP_MOVE
    };
    for (int p = 0; p < LL_PRECISION_COUNT; p++) {
        const ll_backend *b = ll_cuda_backend((ll_precision)p);
        assert_int_equal(b->real_bytes, sizeof(float));
        assert_ptr_equal(b->memory, &ll_cuda_memory);
        for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
            if (b->kernel[needed[i]] == NULL)
                fail_msg("%s: no kernel for %s", b->name, ll_op_name(needed[i]));
    }
    assert_ptr_not_equal(ll_cuda_backend(LL_PRECISION_BF16)->kernel[LL_OP_ATTENTION],
                         ll_cuda_backend(LL_PRECISION_FP32)->kernel[LL_OP_ATTENTION]);
    assert_ptr_not_equal(ll_cuda_backend(LL_PRECISION_TF32)->kernel[LL_OP_LINEAR],
                         ll_cuda_backend(LL_PRECISION_FP32)->kernel[LL_OP_LINEAR]);
}

/* ---- planning: everything but the kernels, in memory that is here ---- */

static llap_status here_alloc(size_t n_bytes, void **out)
{
    *out = ll_new_aligned(n_bytes == 0 ? 1 : n_bytes, 1);
    return *out == NULL ? LLAP_ENOMEM : LLAP_OK;
}

static llap_status here_copy(void *to, const void *from, size_t n_bytes)
{
    memcpy(to, from, n_bytes);
    return LLAP_OK;
}

static llap_status here_clear(void *p, size_t n_bytes)
{
    memset(p, 0, n_bytes);
    return LLAP_OK;
}

static llap_status nothing(void) { return LLAP_OK; }
static bool        no(void) { return false; }
static const char *why_not(void) { return "out of memory"; }

static void every_op_and_gradient_is_planned(void **state)
{
    (void)state;
    static const ll_memory here = { .alloc = here_alloc,
                                    .release = ll_free,
                                    .upload = here_copy,
                                    .download = here_copy,
                                    .copy = here_copy,
                                    .clear = here_clear,
                                    .finish = nothing,
                                    .recording = no,
                                    .why = why_not };
    static const sized     wide = { 3, 64, 256 }; /* large enough for bf16 in memory */
    for (int p = 0; p < LL_PRECISION_COUNT; p++) {
        ll_backend b = *ll_cuda_backend((ll_precision)p);
        b.memory = &here;
        for (int i = 0; i < op_table_len; i++) {
            if (!op_there(&op_table[i], &b)) continue;
            for (int k = 0; k <= N_SHAPES; k++)
                for (op_layout layout = OP_DENSE; layout <= OP_SWAPPED; layout++) {
                    ready r = make_ready(&op_table[i], k < N_SHAPES ? op_shapes[k] : wide, layout,
                                         &b, 1, false);
                    dispose(&r);
                }
        }
    }
}

/* ---- without a driver ---- */

static void check_why(llap_status st)
{
    const ll_backend *b = ll_cuda_backend(LL_PRECISION_FP32);
    assert_int_not_equal(ll_device_status(b, st), LLAP_OK);
    assert_int_equal(strncmp(llap_error_detail(), "cuda:", 5), 0);
    assert_null(strchr(llap_error_detail(), '\n'));
}

static void without_a_gpu_everything_says_so(void **state)
{
    (void)state;
    if (gpu_here()) skip();
    const ll_memory *m = &ll_cuda_memory;
    float            x[4] = { 0 };
    void            *p = NULL;
    check_why(m->alloc(sizeof x, &p));
    assert_null(p);
    check_why(m->upload(x, x, sizeof x));
    check_why(m->download(x, x, sizeof x));
    check_why(m->copy(x, x, sizeof x));
    check_why(m->clear(x, sizeof x));
    check_why(m->order((uint32_t *)x, 1, 1, NULL, x + 1));
    check_why(m->finish());
    check_why(m->record());
    assert_false(m->recording());
    m->release(NULL);
    check_why(m->finish());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_object_loads),
        cmocka_unit_test(every_op_has_a_kernel),
        cmocka_unit_test(every_op_and_gradient_is_planned),
        cmocka_unit_test(without_a_gpu_everything_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
