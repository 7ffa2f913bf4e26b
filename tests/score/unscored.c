/* Queries for which a forecaster has nothing finite to say are not scored. */
#include "check.h"

#include "score/tally.h"

static void queries_without_a_finite_member_are_left_out(void **state)
{
    (void)state;
    enum { N = 3, Q = 3 };
    static const double  value[N * Q] = { 1, NAN, INFINITY, 2, NAN, INFINITY, 3, NAN, NAN };
    static const double  truth[Q] = { 2, 4, 4 }, none[N] = { NAN, NAN, INFINITY };
    static const int32_t bin[Q] = { 0, 0, 0 };
    const ll_score_scale scale = { .sd = 1, .lo = -INFINITY, .hi = INFINITY, .clip = INFINITY };
    const tally_case     c = { Q, truth, &scale, bin, 1, 1 };
    tally                t = { 0 };
    tally_brief          lead = { 0 };
    tally_room           room;
    CHECK_OK(tally_room_init(&room, N, Q));
    tally_forecast(&c, &(ll_forecast_members){ .n = N, .value = value, .drawn = true }, &room, &t,
                   &lead);
    assert_true(t.n == 1 && lead.n == 1);
    assert_true(isfinite(t.z.crps) && isfinite(t.y.se) && isfinite(t.paper_crps));
    tally_forecast(&c, &(ll_forecast_members){ .n = N, .value = none, .constant = true }, &room, &t,
                   &lead);
    assert_true(t.n == 1 && lead.n == 1);
    tally_room_deinit(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_without_a_finite_member_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
