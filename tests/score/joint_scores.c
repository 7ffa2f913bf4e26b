/* Sums over entities and energies at common times, of paths whose law is known. */
#include "check.h"

#include "base/rng/rng.h"
#include "score/joint_scores.h"

#define HOUR INT64_C(3600000000000)

enum { ENTITIES = 3, SAMPLES = 99, QUERIES = 6, GROUPS = 400 };

/* Blocks of windows of three entities, one origin each, every `apart` hours. All entities share one
 * standard normal at each time; the paths share theirs, or each entity has its own. */
static void score(bool shared, int64_t apart, ll_joint_scores *j)
{
    static ll_score_scale scale[ENTITIES];
    static llap_panel     panel; /* only its number of entities is looked at */
    static scoring_input  in;
    panel.n_entities = ENTITIES;
    for (int e = 0; e < ENTITIES; e++) scale[e] = (ll_score_scale){ .mean = 0, .sd = 1 };
    in = (scoring_input){ .panel = &panel, .n_targets = 1, .scale = scale, .ask = { .seed = 1 } };
    CHECK_OK(ll_joint_scores_init(j, &in, false));
    for (int64_t g = 0; g < GROUPS; g++) {
        static double       value[ENTITIES][SAMPLES * QUERIES], truth[ENTITIES * QUERIES];
        int64_t             time[QUERIES];
        ll_forecast_window  w[ENTITIES];
        ll_forecast_members a[ENTITIES];
        for (uint64_t e = 0; e < ENTITIES; e++) {
            const ll_rng r =
                ll_rng_make(7, LL_STREAM_TEST, (uint64_t)g, shared ? 0 : 1 + (uint32_t)e, 0);
            const ll_rng t = ll_rng_make(8, LL_STREAM_TEST, (uint64_t)g, 0, 0);
            for (uint64_t q = 0; q < QUERIES; q++) {
                time[q] = (g * apart + 1 + (int64_t)q) * HOUR;
                truth[e * QUERIES + q] = (double)ll_rng_normal(&t, q);
                for (uint64_t s = 0; s < SAMPLES; s++)
                    value[e][s * QUERIES + q] = (double)ll_rng_normal(&r, s * QUERIES + q);
            }
            w[e] = (ll_forecast_window){ .entity = (int64_t)e,
                                         .origin = g * apart * HOUR,
                                         .n_query = QUERIES,
                                         .time = time,
                                         .id = (uint64_t)g };
            a[e] = (ll_forecast_members){
                .n = SAMPLES, .value = value[e], .drawn = true, .joint = true
            };
        }
        CHECK_OK(ll_joint_scores_see(j, &(scoring_block){ .n = ENTITIES,
                                                          .n_targets = 1,
                                                          .n_query = QUERIES,
                                                          .w = w,
                                                          .answer = a,
                                                          .truth = truth }));
    }
}

static void paths_that_belong_together_are_told(void **state)
{
    (void)state;
    ll_joint_scores right, wrong;
    score(true, QUERIES, &right);
    score(false, QUERIES, &wrong);
    const ll_pit_test good = ll_pit_test_of(right.of[0].fair_sums);
    const ll_pit_test bad = ll_pit_test_of(wrong.of[0].fair_sums);
    assert_true(good.n == GROUPS && good.n_bins == 20 && good.p > 0.01);
    assert_true(bad.n == GROUPS && bad.p < 1e-6); /* sums are wider than those draws say */
    /* The margins are right in both. */
    assert_true(ll_pit_test_of(right.of[0].fair_margins).p > 0.01);
    assert_true(ll_pit_test_of(wrong.of[0].fair_margins).p > 0.01);
    assert_true(right.of[0].energy < 0.97 * right.of[0].energy_apart);
    assert_true(fabs(wrong.of[0].energy / wrong.of[0].energy_apart - 1) < 0.02);
    assert_true(right.of[0].n_energy == GROUPS * QUERIES);
    ll_joint_scores_deinit(&right);
    ll_joint_scores_deinit(&wrong);
}

/* Windows that overlap lean on each other: one in three begins behind the last horizon. */
static void tests_take_one_value_a_horizon(void **state)
{
    (void)state;
    ll_joint_scores j;
    double          sums = 0;
    score(true, 2, &j);
    for (int i = 0; i < TALLY_BINS; i++) sums += j.of[0].sums[i];
    assert_true(sums == GROUPS * QUERIES);
    assert_int_equal(ll_pit_test_of(j.of[0].fair_sums).n, (GROUPS + 2) / 3);
    assert_int_equal(ll_pit_test_of(j.of[0].fair_margins).n, (GROUPS + 2) / 3);
    ll_joint_scores_deinit(&j);
}

/* By integrating densities. */
static void tests_are_chi_square(void **state)
{
    (void)state;
    static const struct {
        double  bins[TALLY_BINS], chi_square, p;
        int64_t n_bins;
    } cases[] = {
        { { 16, 0, 0, 0, 6, 0, 0, 0, 0, 0, 6, 0, 6, 0, 0, 0, 0, 0, 0, 6 }, 10, 0.0404277, 5 },
        { { 10, 0, 5, 0, 5, 0, 5, 0, 5, 0, 0, 5, 0, 5, 5, 0, 0, 5, 0, 0 }, 10, 0.350485, 10 },
        { { 15, 0, 0, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5 }, 30, 0.0517983, 20 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ll_pit_test t = ll_pit_test_of(cases[i].bins);
        assert_int_equal(t.n_bins, cases[i].n_bins);
        assert_true(fabs(t.chi_square - cases[i].chi_square) < 1e-9);
        assert_true(fabs(t.p - cases[i].p) < 1e-5);
    }
    const ll_pit_test few = ll_pit_test_of((double[TALLY_BINS]){ 12, 12 });
    assert_true(few.n == 24 && few.n_bins == 0 && isnan(few.p));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_that_belong_together_are_told),
        cmocka_unit_test(tests_take_one_value_a_horizon),
        cmocka_unit_test(tests_are_chi_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
