#include "diffusion/target_mask.h"
#include "check.h"

enum { h = 12, Z = 2 };

static int64_t keep_of(const ll_target_mask_opts *o, uint64_t window, const float *obs,
                       uint8_t *keep)
{
    const int64_t n = ll_target_keep(o, 3, window, 7, obs, h, keep);
    int64_t       kept = 0, observed = 0;
    for (int i = 0; i < h; i++) {
        assert_true(!keep[i] || obs[i] != 0.0f); /* only what is observed */
        kept += keep[i];
        observed += obs[i] != 0.0f;
    }
    assert_int_equal(kept, n);
    if (observed >= 2) assert_true(n >= 1 && n < observed);
    else assert_int_equal(n, 0);
    return n;
}

static void modes_and_their_repair(void **state)
{
    (void)state;
    const float all[h] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    const float some[h] = { 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1 };
    const float two[h] = { [3] = 1, [9] = 1 }, one[h] = { [4] = 1 }, none[h] = { 0 };
    uint8_t     keep[h];

    ll_target_mask_opts o = { LL_KEEP_PREFIX, 0.5, 4 };
    assert_int_equal(keep_of(&o, 1, all, keep), 6);
    assert_true(keep[5] && !keep[6]);
    assert_int_equal(keep_of(&o, 1, some, keep), 3); /* ceil(5 / 2) of the observed */
    assert_true(keep[1] && keep[4] && keep[5] && !keep[7]);
    o.keep = 0.999;
    assert_int_equal(keep_of(&o, 1, all, keep), h - 1);
    o.mode = LL_KEEP_REGULAR;
    assert_int_equal(keep_of(&o, 1, all, keep), 3);
    assert_true(keep[0] && keep[4] && keep[8]);
    assert_int_equal(keep_of(&o, 1, some, keep), 1);
    assert_true(keep[4]);
    assert_int_equal(keep_of(&o, 1, two, keep), 1); /* none on the grid: the first */
    assert_true(keep[3]);
    o.stride = 1; /* all on it: not the last */
    assert_int_equal(keep_of(&o, 1, some, keep), 4);
    assert_false(keep[11]);
    keep_of(&o, 1, one, keep);
    keep_of(&o, 1, none, keep);
}

/* Of many rows: shares as said, draws that belong to window and step. */
static void random_and_mixed(void **state)
{
    (void)state;
    const float         all[h] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    ll_target_mask_opts o = { LL_KEEP_RANDOM, 0.3, 4 };
    uint8_t             keep[h], again[h];
    double              sum = 0;
    int                 prefix = 0, regular = 0;
    for (uint64_t w = 0; w < 4000; w++) sum += (double)keep_of(&o, w, all, keep);
    assert_true(fabs(sum / 4000 / h - 0.3) < 0.01);
    o = (ll_target_mask_opts){ LL_KEEP_MIXED, 0.5, 4 };
    for (uint64_t w = 0; w < 4000; w++) {
        static const uint8_t is_prefix[h] = { 1, 1, 1, 1, 1, 1 },
                             is_regular[h] = { 1, [4] = 1, [8] = 1 };
        keep_of(&o, w, all, keep);
        keep_of(&o, w, all, again);
        assert_memory_equal(keep, again, h);
        prefix += memcmp(keep, is_prefix, h) == 0;
        regular += memcmp(keep, is_regular, h) == 0;
    }
    assert_true(abs(prefix - 2000) < 120 && abs(regular - 1200) < 110);
}

static void kept_steps_get_fresh_noise_and_leave_the_loss(void **state)
{
    (void)state;
    const uint8_t keep[h] = { [2] = 1, [3] = 1 };
    float         eps[h * Z], mask[h];
    for (int i = 0; i < h * Z; i++) eps[i] = 9.0f;
    for (int i = 0; i < h; i++) mask[i] = 1.0f;
    ll_target_renoise(3, 1, 7, keep, h, Z, eps, mask);
    for (int i = 0; i < h; i++) {
        assert_true(mask[i] == (keep[i] ? 0.0f : 1.0f));
        for (int z = 0; z < Z; z++) assert_int_equal(eps[i * Z + z] != 9.0f, keep[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_and_their_repair),
        cmocka_unit_test(random_and_mixed),
        cmocka_unit_test(kept_steps_get_fresh_noise_and_leave_the_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
