/* The small networks as `train` makes them unless told otherwise: all members, all steps; half an
 * hour of two cores. */
#include "learning.h"

int main(int argc, char **argv)
{
    stage l = stage_trainer_of(
        (stage){ .size = LLAP_TRAIN_SIZE_SMALL, .rows = 15000, .samples = 200, .least_share = 0.5 },
        argc, argv);
    const struct CMUnitTest tests[] = { cmocka_unit_test_prestate(teach, &l) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
