/* Finding a GPU: names of devices, and one clear line where there is none. */
#include "check.h"

#include "backend/cuda/cuda.h"

static void names_of_devices(void **state)
{
    (void)state;
    int  device;
    bool automatic;
    assert_true(llap_device_parse("cpu", &device, &automatic) && device == -1 && !automatic);
    assert_true(llap_device_parse("auto", &device, &automatic) && device == -1 && automatic);
    assert_true(llap_device_parse("cuda", &device, &automatic) && device == 0 && !automatic);
    assert_true(llap_device_parse("cuda:3", &device, &automatic) && device == 3);
    const char *const wrong[] = { "",        "gpu",     "cuda:",   "cuda:x",
                                  "cuda:1x", "cuda:-1", "cuda: 1", "cuda:999999999999",
                                  "cuda1",   "CUDA" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const llap_backend *b;
        assert_false(llap_device_parse(wrong[i], &device, &automatic));
        CHECK_FAIL(llap_device_find(wrong[i], LLAP_PRECISION_FP32, &b), LLAP_EINVAL, wrong[i]);
    }
}

static void cpu_and_auto_do_not_fail(void **state)
{
    (void)state;
    const llap_backend *b;
    CHECK_OK(llap_device_find("cpu", LLAP_PRECISION_FP32, &b));
    assert_null(b);
    CHECK_OK(llap_device_find("auto", LLAP_PRECISION_BF16, &b)); /* NULL where there is no GPU */
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    const llap_backend *b;
    CHECK_FAIL(llap_cuda_open("/no/such/object.so", 0, LLAP_PRECISION_FP32, &b), LLAP_EUNSUPPORTED,
               "/no/such/object.so");
    assert_null(b);
    /* A library, but not ours. */
    CHECK_FAIL(llap_cuda_open("libm.so.6", 0, LLAP_PRECISION_FP32, &b), LLAP_EUNSUPPORTED,
               "another version");
    const llap_status st = llap_device_find("cuda:200", LLAP_PRECISION_FP32, &b);
    assert_true(st == LLAP_EUNSUPPORTED || st == LLAP_ENOTFOUND);
    assert_null(strchr(llap_error_detail(), '\n'));
    assert_int_equal(strncmp(llap_error_detail(), "cuda", 4), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_devices),
        cmocka_unit_test(cpu_and_auto_do_not_fail),
        cmocka_unit_test(what_is_missing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
