/* Names of targets may be of any length, and differ only at their end. */
#include "check.h"

#include "train/run/targets.h"

enum { LONG = 300 };

static char  one[LONG + 1], two[LONG + 1], text[4 * LONG];
static char *names[] = { one, two };

static int set_up(void **state)
{
    (void)state;
    memset(one, 'a', LONG);
    memcpy(two, one, LONG);
    two[LONG - 1] = 'b';
    return 0;
}

static void long_names_are_targets(void **state)
{
    (void)state;
    const llap_panel p = { .n_vars = 2, .var = (const char *const *)names };
    int64_t         *found = NULL, n = 0;
    snprintf(text, sizeof text, "%s,%s", two, one);
    CHECK_OK(ll_targets_parse(&p, text, NULL, &found, &n));
    assert_true(n == 2 && found[0] == 1 && found[1] == 0);
    ll_free(found);
    snprintf(text, sizeof text, "%s,%s", two, two);
    CHECK_FAIL(ll_targets_parse(&p, text, NULL, &found, &n), LLAP_EOPTION, "is given twice");
    ll_free(found);
    snprintf(text, sizeof text, "%.*s", LONG - 1, one);
    CHECK_FAIL(ll_targets_parse(&p, text, NULL, &found, &n), LLAP_EINVAL, "the data has no column");
    ll_free(found);
}

static void long_names_have_options(void **state)
{
    (void)state;
    llap_train_opts o = { 0 };
    ll_transform    transform = LL_TRANSFORM_NONE;
    double          least[2] = { -INFINITY, -INFINITY };
    snprintf(text, sizeof text, "%s=3", two);
    o.min = text;
    CHECK_OK(ll_targets_check(&o, (const char *const *)names, 2));
    for (int i = 0; i < 2; i++) CHECK_OK(ll_target_bound("min", text, names[i], &least[i]));
    assert_true(isinf(least[0]) && least[1] == 3);
    snprintf(text, sizeof text, "%s=asinh,%s=log1p", one, two);
    CHECK_OK(ll_target_transform(text, two, &transform));
    assert_int_equal(transform, LL_TRANSFORM_LOG1P);
    snprintf(text, sizeof text, "%.*s=3", LONG - 1, one); /* of neither */
    CHECK_FAIL(ll_targets_check(&o, (const char *const *)names, 2), LLAP_EINVAL,
               "min: no target is called");
}

static llap_status mistaken(void *user)
{
    const llap_panel p = { .n_vars = 2, .var = (const char *const *)names };
    int64_t         *found = NULL, n = 0;
    llap_status      st = ll_targets_parse(&p, user, NULL, &found, &n);
    ll_free(found);
    return st == LLAP_EINVAL ? LLAP_OK : st;
}

static void failing_allocations_are_survived(void **state)
{
    (void)state;
    check_every_failed_allocation(mistaken, (void *)(uintptr_t) "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_names_are_targets),
        cmocka_unit_test(long_names_have_options),
        cmocka_unit_test(failing_allocations_are_survived),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
