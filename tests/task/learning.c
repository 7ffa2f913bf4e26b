/* The tiny networks, in seconds. */
#include "learning.h"

int main(int argc, char **argv)
{
    const lesson usual = { .size = "tiny", .rows = 15000, .samples = 40, .least_share = 0.5 };
    lesson       whole = lesson_of(usual, argc, argv), clock = whole;
    /* An anchor that knows the clock's cycles alone leaves the panel's to the networks. */
    clock.training = "{\"anchor\": {\"cycles\": 0}}";
    const struct CMUnitTest tests[] = { cmocka_unit_test_prestate(teach, &whole),
                                        cmocka_unit_test_prestate(teach, &clock) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
