/* Queries for which a forecaster has nothing finite to say are not scored. */
#include "check.h"

#include "score/bootstrap.h"

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
    assert_true(t.n == 1 && t.n_unanswered == 2 && lead.n == 1);
    assert_true(isfinite(t.z.crps) && isfinite(t.y.se) && isfinite(t.paper_crps));
    tally_forecast(&c, &(ll_forecast_members){ .n = N, .value = none, .constant = true }, &room, &t,
                   &lead);
    assert_true(t.n == 1 && t.n_unanswered == 2 + Q && lead.n == 1);
    tally_room_deinit(&room);
}

/* Units in which one did not answer all are counted, and the others compared. */
static void units_that_are_not_answered_compare_nothing(void **state)
{
    (void)state;
    enum { UNITS = 40, MISSING = 7 };
    scoring_sum      a[UNITS], b[UNITS];
    bootstrap_result r;
    for (int u = 0; u < UNITS; u++) {
        a[u] = (scoring_sum){ .n = 3, .z = { 3, 3 } };
        b[u] = (scoring_sum){ .n = 3, .z = { 6, 3 } };
        /* as many as before, but others: summed over targets that happens */
        if (u < MISSING) a[u] = b[u] = (scoring_sum){ .n = 3, .z = { 1e6, 1 }, .n_unanswered = 1 };
    }
    CHECK_OK(bootstrap_difference(a, b, UNITS, &(bootstrap_opts){ 200, 1, false, 1 }, &r));
    assert_int_equal(r.n_left_out, MISSING);
    assert_true(r.crps.value == -1 && r.skill.value == 0.5);
    assert_true(r.skill.low == 0.5 && r.skill.high == 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_without_a_finite_member_are_left_out),
        cmocka_unit_test(units_that_are_not_answered_compare_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
