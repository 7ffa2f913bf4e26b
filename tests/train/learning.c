/* The tiny networks, in seconds. */
#include "learning.h"

int main(int argc, char **argv)
{
    stage l = stage_trainer_of(
        (stage){ .size = LLAP_TRAIN_SIZE_TINY, .rows = 15000, .samples = 40, .least_share = 0.5 },
        argc, argv);
    /* An anchor that knows the clock's cycles alone leaves the panel's to the networks. */
    l.training = "{\"anchor\": {\"cycles\": 0}}";
    const struct CMUnitTest tests[] = { cmocka_unit_test_prestate(teach, &l) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
