/* The tiny networks, in seconds. */
#include "learning.h"

static void tiny_networks_learn(void **state)
{
    (void)state;
    teach(&(lesson){ .size = "tiny", .rows = 15000, .samples = 40, .least_share = 0.5 });
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(tiny_networks_learn) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
