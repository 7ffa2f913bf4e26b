/* Tallies, scores of all opponents and the bootstrap. */
#include "score_stage.h"

#include "base/crps.h"
#include "score/bootstrap.h"
#include "score/metric.h"

#include <omp.h>

/* ---- tallies ---- */

static void a_tally_is_the_sum_of_its_metrics(void **state)
{
    (void)state;
    enum { N = 60, Q = 21 };
    static double        value[N * Q], truth[Q];
    int32_t              bin[Q];
    const ll_rng         r = ll_rng_make(2, LL_STREAM_TEST, 0, 0, 0);
    const ll_score_scale scale = { .mean = 3, .sd = 2, .lo = -1.5, .hi = 5, .clip = 5 };
    for (int i = 0; i < N * Q; i++) value[i] = 3 + 2 * (double)ll_rng_normal(&r, (uint64_t)i);
    for (int q = 0; q < Q; q++) {
        truth[q] = 3 + 2 * (double)ll_rng_normal(&r, (uint64_t)(9999 + q));
        bin[q] = q / 2;
    }
    truth[4] = NAN;
    value[5 * Q + 7] = NAN; /* a hole */
    const ll_forecast_members f = { .n = N, .value = value, .drawn = true, .joint = true };
    const tally_case          c = { Q, truth, &scale, bin, 77, 1 };
    tally                     t = { 0 };
    tally_brief               lead[11] = { { 0 } };
    tally_room                room;
    CHECK_OK(tally_room_init(&room, N, Q));
    tally_forecast(&c, &f, &room, &t, lead);
    double crps = 0, crps_y = 0, crps_held = 0, se = 0, median = 0, pin = 0, inside = 0, width = 0;
    for (int q = 0; q < Q; q++) {
        double x[N], y[N], held[N];
        int    n = 0;
        if (isnan(truth[q])) continue;
        for (int k = 0; k < N; k++)
            if (!isnan(value[k * Q + q])) y[n++] = value[k * Q + q];
        metric_sort(y, n);
        for (int k = 0; k < n; k++) x[k] = ll_score_scale_z(&scale, y[k]);
        const double z = ll_score_scale_z(&scale, truth[q]);
        const double lo = metric_quantile(x, n, 0.1, true), hi = metric_quantile(x, n, 0.9, true);
        crps += ll_crps(x, n, z, true);
        crps_y += ll_crps(y, n, truth[q], true);
        for (int k = 0; k < n; k++) held[k] = ll_scale_held(&scale, y[k]);
        crps_held += ll_crps(held, n, ll_scale_held(&scale, truth[q]), true);
        se += pow(z - metric_mean(x, n), 2);
        median += fabs(z - metric_median(x, n));
        pin += metric_pinball(metric_quantile_inner(x, n, 0.3), z, 0.3);
        inside += z >= lo && z <= hi;
        width += hi - lo;
    }
    assert_true(t.n == Q - 1 && t.n_energy == 0); /* one path has a hole */
    assert_true(fabs(t.z.crps - crps) < 1e-12 && fabs(t.y.crps - crps_y) < 1e-12);
    assert_true(fabs(t.z.se - se) < 1e-12 && fabs(t.z.ae_median - median) < 1e-12);
    assert_true(fabs(t.z.pinball[2] - pin) < 1e-12 && t.z.inside[1] == inside);
    assert_true(fabs(t.z.width[1] - width) < 1e-12);
    double sum = 0, places = 0;
    for (int l = 0; l < 11; l++) sum += lead[l].crps;
    for (int k = 0; k < TALLY_BINS; k++) places += t.pit[k];
    assert_true(fabs(sum - crps) < 1e-12 && places == Q - 1);
    assert_true(lead[2].n == 1 && lead[3].n == 2);
    assert_true(fabs(t.paper_crps - crps_held) < 0.1 * crps_held); /* 200 pairs of them */
    assert_true(crps_held < 0.95 * crps);
    value[5 * Q + 7] = 0;
    tally_forecast(&c, &f, &room, &t, NULL);
    assert_true(t.n == 2 * (Q - 1) && t.n_energy == 1 && t.energy > 0);
    tally_room_deinit(&room);
}

/* Draws at one query, a law at the next: each is scored by what it is. */
static void draws_and_laws_may_be_mixed(void **state)
{
    (void)state;
    enum { N = 4 };
    static const double  value[N * 2] = { 1, 1, 3, 2, 7, 5, NAN, 8 }, truth[2] = { 2, 4 };
    static const double  draws[] = { 1, 3, 7 }, members[] = { 1, 2, 5, 8 };
    static const bool    law[] = { false, true };
    const ll_score_scale scale = { .sd = 1, .lo = -INFINITY, .hi = INFINITY, .clip = INFINITY };
    const ll_forecast_members f = { .n = N, .value = value, .drawn = true, .law = law };
    const tally_case          c = { 2, truth, &scale, NULL, 1, 1 };
    const double              exact = ll_crps(members, 4, 4, false);
    tally                     t = { 0 };
    tally_room                room;
    CHECK_OK(tally_room_init(&room, N, 2));
    tally_forecast(&c, &f, &room, &t, NULL);
    assert_float_equal(t.y.crps, ll_crps(draws, 3, 2, true) + exact, 1e-12);
    assert_float_equal(t.z.crps, t.y.crps, 1e-12);
    tally_room_deinit(&room);
}

/* Whole numbers with the very law that is asked: of a hundred as many are held as the interval
 * says, though most of them are one of its ends. */
static void whole_numbers_at_an_end_count_by_their_share(void **state)
{
    (void)state;
    enum { N = 100 };
    static double        value[N];
    static int32_t       bin[N];
    const ll_score_scale scale = { .sd = 3, .lo = -1, .hi = 9, .clip = 5 };
    tally                t = { 0 };
    tally_brief          lead = { 0 };
    tally_room           room;
    for (int k = 0; k < N; k++) value[k] = (k >= 40) + (k >= 75) + (k >= 95);
    const ll_forecast_members f = { .n = N, .value = value, .constant = true };
    const tally_case          c = { N, value, &scale, bin, 1, 1 };
    CHECK_OK(tally_room_init(&room, N, N));
    tally_forecast(&c, &f, &room, &t, &lead);
    for (int k = 0; k < TALLY_LEVELS; k++) {
        assert_float_equal(t.y.inside[k], N * tally_level[k], 1e-9);
        assert_float_equal(t.z.inside[k], N * tally_level[k], 1e-9);
    }
    assert_float_equal(lead.inside80, 80, 1e-9);
    tally_room_deinit(&room);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    stage s;
    stage_init(&s, holey_panel(), "e00", 400);
    int32_t  *unit = ll_new((size_t)s.n, sizeof *unit);
    scoring   one, three;
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    CHECK_OK(stage_score(&s, unit, &one));
    omp_set_num_threads(3);
    CHECK_OK(stage_score(&s, unit, &three));
    omp_set_num_threads(before);
    for (int i = 0; i < s.o.n; i++) {
        assert_memory_equal(&one.cell[i].total, &three.cell[i].total, sizeof(tally));
        assert_memory_equal(one.cell[i].lead, three.cell[i].lead, 30 * sizeof(tally_brief));
        double n = 0;
        for (int64_t e = 0; e < 3; e++) n += one.cell[i].entity[e].n;
        assert_true(n == one.cell[i].total.n);
    }
    assert_memory_equal(one.unit, three.unit,
                        (size_t)(one.n_forecasters * one.n_units) * sizeof(scoring_sum));
    scoring_deinit(&one);
    scoring_deinit(&three);
    ll_free(unit);
    stage_deinit(&s);
}

static llap_status all_of_it(void *user)
{
    stage   *s = user;
    int32_t *unit = ll_new((size_t)s->n, sizeof *unit);
    scoring  out = { 0 };
    stage    mine = *s;
    mine.o = (ll_opponents){ 0 };
    const ll_seasons day = { .n = 1, .ticks = { 24 * HOUR } };
    bootstrap_result result;
    llap_status      st = unit == NULL ? LLAP_ENOMEM
                                       : ll_opponents_init(&mine.o, &s->frame, s->scale, &s->var, s->w,
                                                           s->split, LL_PART_TEST, &day, NULL);
    mine.n = 3;
    if (st == LLAP_OK) st = stage_score(&mine, unit, &out);
    if (st == LLAP_OK)
        st = bootstrap_difference(scoring_units(&out, 0, 0), scoring_units(&out, 1, 0), 3,
                                  &(bootstrap_opts){ .n_draws = 10, .run = 1, .seed = 1 }, &result);
    scoring_deinit(&out);
    ll_opponents_deinit(&mine.o);
    ll_free(unit);
    return st;
}

static void failing_allocations_are_survived(void **state)
{
    (void)state;
    stage     s;
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    stage_init(&s, holey_panel(), "e00", 400);
    check_every_failed_allocation(all_of_it, &s);
    stage_deinit(&s);
    omp_set_num_threads(before);
}

/* ---- the bootstrap ---- */

static void intervals_hold_the_truth(void **state)
{
    (void)state;
    enum { UNITS = 80, TRIALS = 200 };
    int held = 0;
    for (uint64_t t = 0; t < TRIALS; t++) {
        const ll_rng     r = ll_rng_make(t, LL_STREAM_TEST, 0, 0, 0);
        scoring_sum      a[UNITS], b[UNITS];
        bootstrap_result out;
        double           sum = 0, square = 0;
        for (uint64_t u = 0; u < UNITS; u++) { /* what both share is large, the difference 0.1 */
            const double shared = 10 * (double)ll_rng_uniform(&r, u);
            const double apart = 0.1 + 0.5 * (double)ll_rng_normal(&r, 1000 + u);
            a[u] = (scoring_sum){ 1, { shared, shared }, { shared, shared }, 0 };
            b[u] =
                (scoring_sum){ 1, { shared + apart, shared }, { shared - apart, 2 * shared }, 0 };
            sum -= apart / UNITS;
            square += apart * apart / UNITS;
        }
        CHECK_OK(bootstrap_difference(
            a, b, UNITS, &(bootstrap_opts){ .n_draws = 400, .run = 1, .seed = t }, &out));
        assert_true(fabs(out.crps.value - sum) < 1e-12 && out.mse.se == 0);
        assert_true(fabs(out.crps.se / sqrt((square - sum * sum) / UNITS) - 1) < 0.2);
        held += out.crps.low <= -0.1 && out.crps.high >= -0.1;
        if (t > 0) continue;
        bootstrap_result again, none;
        CHECK_OK(bootstrap_difference(
            a, b, UNITS, &(bootstrap_opts){ .n_draws = 400, .run = 1, .seed = t }, &again));
        assert_memory_equal(&out, &again, sizeof out);
        bootstrap_opts o = { .run = 1, .seed = t };
        CHECK_OK(bootstrap_difference(a, b, UNITS, &o, &none));
        bootstrap_result units;
        o.units = true;
        CHECK_OK(bootstrap_difference(a, b, UNITS, &o, &units));
        assert_true(fabs(units.crps.value + sum) < 1e-12 && units.mse.value < 0);
        assert_true(isnan(none.crps.low) && none.skill.value == out.skill.value);
    }
    assert_true(held >= 0.89 * TRIALS && held <= 0.99 * TRIALS); /* 95 %, two errors of 1.5 */
}

/* Where neighbours are alike, runs of them say so. */
static void runs_keep_neighbours_together(void **state)
{
    (void)state;
    enum { UNITS = 200 };
    const ll_rng     r = ll_rng_make(1, LL_STREAM_TEST, 0, 0, 0);
    scoring_sum      a[UNITS], b[UNITS];
    bootstrap_result single, together;
    for (uint64_t u = 0; u < UNITS; u++) {
        a[u] = (scoring_sum){ .n = 2, .z = { 2 + (double)ll_rng_normal(&r, u / 10), 1 } };
        b[u] = (scoring_sum){ .n = 2, .z = { 2, 1 } };
    }
    CHECK_OK(bootstrap_difference(
        a, b, UNITS, &(bootstrap_opts){ .n_draws = 500, .run = 1, .seed = 1 }, &single));
    CHECK_OK(bootstrap_difference(
        a, b, UNITS, &(bootstrap_opts){ .n_draws = 500, .run = 20, .seed = 1 }, &together));
    assert_true(together.crps.se > 2 * single.crps.se);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tally_is_the_sum_of_its_metrics),
        cmocka_unit_test(draws_and_laws_may_be_mixed),
        cmocka_unit_test(whole_numbers_at_an_end_count_by_their_share),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(failing_allocations_are_survived),
        cmocka_unit_test(intervals_hold_the_truth),
        cmocka_unit_test(runs_keep_neighbours_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
