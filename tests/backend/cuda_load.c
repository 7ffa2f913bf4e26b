/* Finding a GPU: names of devices, and one clear line where there is none. */
#include "check.h"

#include "backend/cuda/cuda.h"
#include "backend/cuda/object/found.h"
#include "backend/cuda/object/staging.h"

static void names_of_devices(void **state)
{
    (void)state;
    int  device;
    bool automatic;
    assert_true(ll_device_parse("cpu", &device, &automatic) && device == -1 && !automatic);
    assert_true(ll_device_parse("auto", &device, &automatic) && device == -1 && automatic);
    assert_true(ll_device_parse("cuda", &device, &automatic) && device == 0 && !automatic);
    assert_true(ll_device_parse("cuda:3", &device, &automatic) && device == 3);
    const char *const wrong[] = { "",        "gpu",     "cuda:",   "cuda:x",
                                  "cuda:1x", "cuda:-1", "cuda: 1", "cuda:999999999999",
                                  "cuda1",   "CUDA" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const ll_backend *b;
        assert_false(ll_device_parse(wrong[i], &device, &automatic));
        CHECK_FAIL(ll_device_find(wrong[i], LL_PRECISION_FP32, &b), LLAP_EOPTION, wrong[i]);
    }
}

static void cpu_and_auto_do_not_fail(void **state)
{
    (void)state;
    const ll_backend *b;
    CHECK_OK(ll_device_find("cpu", LL_PRECISION_FP32, &b));
    assert_null(b);
    CHECK_OK(ll_device_find("auto", LL_PRECISION_BF16, &b)); /* NULL where there is no GPU */
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    const ll_backend *b;
    CHECK_FAIL(ll_cuda_open("/no/such/object.so", 0, LL_PRECISION_FP32, &b), LLAP_EUNSUPPORTED,
               "/no/such/object.so");
    assert_null(b);
    /* A library, but not ours. */
    CHECK_FAIL(ll_cuda_open("libm.so.6", 0, LL_PRECISION_FP32, &b), LLAP_EUNSUPPORTED,
               "another version");
    const llap_status st = ll_device_find("cuda:200", LL_PRECISION_FP32, &b);
    assert_true(st == LLAP_EUNSUPPORTED || st == LLAP_ENOTFOUND);
    assert_null(strchr(llap_error_detail(), '\n'));
    assert_int_equal(strncmp(llap_error_detail(), "cuda", 4), 0);
}

static void what_will_not_do_is_one_line(void **state)
{
    (void)state;
    static const struct {
        found       f;
        int         device;
        llap_status st;
        const char *text;
    } cases[] = {
        { { FOUND_OLD_DRIVER, "old", 0, 0, 13000, 0, 0 },
          0,
          LLAP_EUNSUPPORTED,
          "no NVIDIA driver here (old)" },
        { { FOUND_OLD_DRIVER, "old", 0, 12020, 13000, 0, 0 },
          0,
          LLAP_EUNSUPPORTED,
          "the driver is too old: it supports CUDA 12.2, needed is 13.0" },
        { { FOUND_ERROR, "what", 0, 12020, 13000, 0, 0 }, 0, LLAP_EUNSUPPORTED, "too old" },
        { { FOUND_ERROR, "what", 0, 13000, 13000, 0, 0 },
          0,
          LLAP_EUNSUPPORTED,
          "the driver does not answer (what)" },
        { { FOUND_NONE, "none", 0, 13000, 13000, 0, 0 },
          0,
          LLAP_EUNSUPPORTED,
          "no NVIDIA GPU here (none)" },
        { { FOUND_GPUS, "no error", 0, 13000, 13000, 0, 0 },
          0,
          LLAP_EUNSUPPORTED,
          "no NVIDIA GPU here" },
        { { FOUND_GPUS, "", 1, 13000, 13000, 0, 0 }, 3, LLAP_ENOTFOUND, "no such GPU: there is 1" },
        { { FOUND_GPUS, "", 2, 13000, 13000, 0, 0 },
          2,
          LLAP_ENOTFOUND,
          "no such GPU: there are 2" },
        { { FOUND_GPUS, "", 1, 13000, 13000, 7, 5 },
          0,
          LLAP_EUNSUPPORTED,
          "the GPU is too old: compute capability 7.5, needed is 8.0" },
        { { FOUND_GPUS, "", 1, 13000, 13000, 8, 0 }, 0, LLAP_OK, "" },
        { { FOUND_GPUS, "", 1, 13010, 13000, 10, 0 }, 0, LLAP_OK, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[LL_CUDA_TEXT];
        assert_int_equal(found_judge(&cases[i].f, cases[i].device, text), cases[i].st);
        assert_non_null(strstr(text, cases[i].text));
        assert_true(strchr(text, '\n') == NULL && (cases[i].st == LLAP_OK) == (text[0] == '\0'));
    }
}

/* Two copies never share bytes of the ring before the one that came first is done: a piece is
 * marked when it is left, and waited for before it is written again. */
static void staged_copies_do_not_meet(void **state)
{
    (void)state;
    enum { COPIES = 20000 };
    staging  s = { 0 };
    bool     marked[STAGING_PIECES] = { false };
    size_t   end[STAGING_PIECES] = { 0 }; /* of what lies in a piece */
    uint64_t draw = 1;
    int      rounds = 0;
    for (int i = 0; i < COPIES; i++) {
        draw = draw * 6364136223846793005u + 1442695040888963407u;
        const size_t        most = draw >> 60 == 0 ? STAGING_BYTES : 5000;
        const size_t        n = 1 + (draw >> 20) % most;
        const bool          alone = (draw >> 10) % 16 == 0;
        const int           before = s.at;
        const bool          empty = end[before] == 0;
        const staging_place p = staging_take(&s, n, alone);
        if (p.left >= 0) {
            assert_int_equal(p.left, before);
            assert_int_equal(p.piece, (before + 1) % STAGING_PIECES);
            marked[p.left] = true;
            if (p.piece == 0) rounds++;
            assert_true(rounds == 0 || marked[p.piece]); /* there is something to wait for */
            marked[p.piece] = false;
            end[p.piece] = 0;
        } else {
            assert_true(p.piece == before && (!alone || empty));
        }
        const size_t at = p.offset - (size_t)p.piece * STAGING_BYTES;
        assert_true(at >= end[p.piece] && at % STAGING_ALIGN == 0 && at + n <= STAGING_BYTES);
        end[p.piece] = at + n;
    }
    assert_true(rounds > 100);
    /* The largest one has a piece for itself. */
    const staging_place all = staging_take(&s, STAGING_BYTES, false);
    assert_int_equal(all.offset % STAGING_BYTES, 0);
    assert_true(staging_take(&s, 1, false).left == all.piece);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_devices),          cmocka_unit_test(cpu_and_auto_do_not_fail),
        cmocka_unit_test(what_is_missing_is_said),   cmocka_unit_test(what_will_not_do_is_one_line),
        cmocka_unit_test(staged_copies_do_not_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
