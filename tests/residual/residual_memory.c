/* The residual networks where device memory is little: fewer rows at once, the same numbers. */
#include "residual_networks.h"

#include "backend/cuda/cuda.h"

/* Fewer rows at once, the same samples. */
static void little_memory_is_enough(void **state)
{
    (void)state;
    const ll_backend     b = apart_backend();
    static trained       got;
    static float         few[WINDOWS * SAMPLES * H * N];
    ll_residual_trainer *trainer;
    int64_t              rows = 5;
    train(&b, &got, &trainer);
    for (apart_state.limit = (size_t)1 << 24; rows == 5; apart_state.limit -= apart_state.limit / 8)
        rows = draw(got.params, &b, few);
    apart_state.limit = 0;
    assert_in_range(rows, 1, 4);
    for (int k = 0; k < WINDOWS * SAMPLES * H * N; k++)
        device_data("sample", &b, (double)few[k], (double)got.x[k], 1e-6);
    ll_residual_trainer_destroy(trainer);
}

/* The batch in micro-batches: the same steps, but for dropout. */
static void little_memory_is_enough_for_training(void **state)
{
    (void)state;
    const ll_backend     b = apart_backend();
    static trained       whole, split;
    ll_residual_trainer *a, *c = NULL;
    no_dropout = true;
    batch = 48;
    int64_t rows = batch;
    train(&b, &whole, &a);
    assert_int_equal(ll_residual_trainer_rows(a), batch);
    size_t limit = (size_t)1 << 24;
    for (; rows == batch; limit -= limit / 8) {
        apart_state.limit = limit;
        CHECK_OK(start(&b, &c));
        rows = ll_residual_trainer_rows(c);
        ll_residual_trainer_destroy(c);
    }
    train(&b, &split, &c);
    assert_in_range(ll_residual_trainer_rows(c), 1, batch / 2);
    apart_state.limit = 1; /* not even one row */
    ll_residual_trainer *none = NULL;
    assert_int_equal(start(&b, &none), LLAP_ENOMEM);
    assert_null(none);
    apart_state.limit = 0;
    no_dropout = false;
    batch = BATCH;
    for (int i = 0; i < STEPS; i++) {
        device_data("loss", &b, split.loss[i], whole.loss[i], 1e-5 * fabs(whole.loss[i]));
        device_data("norm", &b, split.norm[i], whole.norm[i], 1e-5 * fabs(whole.norm[i]));
    }
    for (int k = 0; k < WINDOWS * SAMPLES * H * N; k++)
        device_data("sample", &b, (double)split.x[k], (double)whole.x[k], 1e-4);
    ll_residual_trainer_destroy(a);
    ll_residual_trainer_destroy(c);
}

/* -------- a GPU with little memory left -------- */

typedef struct hog { /* of the device's memory */
    const ll_backend *b;
    void             *at[4096];
    int               n;
} hog;

static bool hog_take(hog *h, size_t n_bytes)
{
    assert_true(h->n < 4096);
    const bool ok = h->b->memory->alloc(n_bytes, &h->at[h->n]) == LLAP_OK;
    h->n += ok;
    return ok;
}

/* All but so many bytes. */
static void hog_all_but(hog *h, size_t left)
{
    void *room = NULL;
    CHECK_OK(h->b->memory->alloc(left, &room));
    for (size_t size = (size_t)1 << 36; size >= (size_t)1 << 21; size /= 2)
        while (hog_take(h, size)) {
        }
    h->b->memory->release(room);
    CHECK_OK(h->b->memory->finish());
}

static void hog_release(hog *h)
{
    while (h->n > 0) h->b->memory->release(h->at[--h->n]);
}

/* How much may be left before the work has to be cut, from some GiB down; h holds the rest then. */
static size_t find_limit(hog *h, bool (*cut)(const ll_backend *b))
{
    for (size_t left = (size_t)4 << 30; left > (size_t)1 << 26; left -= left / 4) {
        hog_all_but(h, left);
        if (cut(h->b)) return left;
        hog_release(h);
    }
    fail_msg("nothing was cut, however little memory there was");
    return 0;
}

static bool steps_are_cut(const ll_backend *b)
{
    ll_residual_trainer *trainer = NULL;
    CHECK_OK(start(b, &trainer));
    const bool cut = ll_residual_trainer_rows(trainer) < batch;
    ll_residual_trainer_destroy(trainer);
    return cut;
}

static ll_params *drawn; /* samples of these, and where they go */
static float      few[WINDOWS * SAMPLES * H * N];

static bool draws_are_cut(const ll_backend *b) { return draw(drawn, b, few) < 5; }

/* A step in micro-batches and samples in turns, because there is no room: the same numbers. */
static void on_a_full_gpu(void **state)
{
    (void)state;
    static hog           h;
    static trained       whole, split;
    ll_residual_trainer *a, *c = NULL;
    const char          *name = getenv("LLAP_DEVICE") == NULL ? "cuda" : getenv("LLAP_DEVICE");
    if (ll_device_find(name, LL_PRECISION_FP32, &h.b) != LLAP_OK || h.b == NULL) skip();
    no_dropout = true;
    batch = 6000;
    at_once = 20000;
    train(h.b, &whole, &a);
    assert_int_equal(ll_residual_trainer_rows(a), batch);
    size_t left = find_limit(&h, steps_are_cut);
    train_steps(h.b, &split, &c);
    print_message("%.0f MiB left: a step of %lld rows at once\n", (double)left / 0x1p20,
                  (long long)ll_residual_trainer_rows(c));
    ll_residual_trainer_destroy(c);
    hog_release(&h);
    drawn = whole.params;
    left = find_limit(&h, draws_are_cut);
    hog_release(&h);
    print_message("%.0f MiB left: fewer rows at once\n", (double)left / 0x1p20);
    for (int i = 0; i < STEPS; i++) {
        device_data("loss", h.b, split.loss[i], whole.loss[i], 1e-4 * fabs(whole.loss[i]));
        device_data("norm", h.b, split.norm[i], whole.norm[i], 1e-4 * fabs(whole.norm[i]));
    }
    for (int k = 0; k < WINDOWS * SAMPLES * H * N; k++)
        device_data("sample", h.b, (double)few[k], (double)whole.x[k], 1e-4);
    no_dropout = false;
    batch = BATCH;
    at_once = 2;
    ll_residual_trainer_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(little_memory_is_enough),
        cmocka_unit_test(little_memory_is_enough_for_training),
        cmocka_unit_test(on_a_full_gpu),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
