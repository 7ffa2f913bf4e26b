/* The small networks as `train` makes them unless told otherwise: all members, all steps; half an
 * hour of two cores. */
#include "learning.h"

static void small_networks_learn(void **state)
{
    (void)state;
    teach(&(lesson){ .size = "small", .rows = 15000, .samples = 200, .least_share = 0.5 });
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(small_networks_learn) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
