/* Noise of samples that lie evenly: each number of it takes every part of the normal law once, in
 * an order of its own, whatever else is drawn beside it; and what samplers make of it. */
#include "residual_networks.h"

#include "base/sort.h"
#include "residual/spread.h"

#include <math.h>

enum { MEMBERS = 25, WIDTH = 40, MANY = 200 };

static float noise[MANY][MEMBERS * WIDTH];

static void draw_noise(void)
{
    ll_spread *s;
    CHECK_OK(ll_spread_create(&s));
    for (uint64_t w = 0; w < MANY; w++)
        ll_spread_normals(s, 3, 100 + w, MEMBERS, MEMBERS, WIDTH, noise[w]);
    ll_spread_destroy(s);
}

static double below(double x) { return 0.5 * erfc(-x / sqrt(2.0)); }

static void every_part_is_taken_once(void **state)
{
    (void)state;
    draw_noise();
    for (int w = 0; w < MANY; w++)
        for (int j = 0; j < WIDTH; j++) {
            const double cell = 0.5 / 4096; /* of which a noise is the middle */
            double       place[MEMBERS];
            for (int r = 0; r < MEMBERS; r++) place[r] = below((double)noise[w][r * WIDTH + j]);
            ll_sort_doubles(place, MEMBERS);
            for (int i = 0; i < MEMBERS; i++) {
                assert_true(place[i] > (double)i / MEMBERS - 1.01 * cell);
                assert_true(place[i] < (double)(i + 1) / MEMBERS + 1.01 * cell);
            }
        }
}

/* A sample alone is normal, and its numbers know nothing of each other: moments over windows. */
static void each_sample_is_normal_noise(void **state)
{
    (void)state;
    double sum = 0, square = 0, fourth = 0, beside = 0, next = 0;
    draw_noise();
    for (int w = 0; w < MANY; w++)
        for (int j = 0; j < WIDTH; j++) {
            const double x = (double)noise[w][j]; /* sample 0 */
            sum += x;
            square += x * x;
            fourth += x * x * x * x;
            beside += x * (double)noise[w][(j + 1) % WIDTH];
            next += x * (double)noise[(w + 1) % MANY][j];
        }
    const double n = MANY * WIDTH, error = 1 / sqrt(n); /* of a mean of deviation 1 */
    assert_true(fabs(sum / n) < 4 * error);
    assert_true(fabs(square / n - 1) < 4 * sqrt(2.0) * error);
    assert_true(fabs(fourth / n - 3) < 4 * sqrt(96.0) * error);
    assert_true(fabs(beside / n) < 4 * error && fabs(next / n) < 4 * error);
}

/* Errors of what is made of 25 samples, beside those of as many independent ones: here the share of
 * sums of four numbers that lie below a limit. */
static void together_they_are_nearer_to_the_law(void **state)
{
    (void)state;
    static float alone[MEMBERS * WIDTH];
    double       even = 0, random = 0;
    draw_noise();
    for (int w = 0; w < MANY; w++) {
        const ll_rng r = ll_rng_make(3, LL_STREAM_TEST, (uint64_t)w, 0, 0);
        ll_rng_fill_normal(&r, 0, MEMBERS * WIDTH, alone);
        for (int at = 0; at < 2; at++) {
            const float *x = at == 0 ? noise[w] : alone;
            double       share = 0;
            for (int m = 0; m < MEMBERS; m++, x += WIDTH)
                share += (double)(x[0] + x[1] + x[2] + x[3]) < 1.0;
            const double off = share / MEMBERS - below(0.5);
            *(at == 0 ? &even : &random) += off * off;
        }
    }
    assert_true(even < 0.5 * random);
}

static void neighbours_leave_no_trace(void **state)
{
    (void)state;
    static float wide[2 * MEMBERS * WIDTH];
    ll_spread   *s;
    draw_noise();
    CHECK_OK(ll_spread_create(&s));
    ll_spread_normals(s, 3, 107, MEMBERS, 2 * MEMBERS, WIDTH, wide); /* more places than samples */
    ll_spread_destroy(s);
    assert_memory_equal(wide, noise[7], sizeof noise[7]);
    for (int k = MEMBERS * WIDTH; k < 2 * MEMBERS * WIDTH; k++) assert_true(wide[k] == 0.0f);
    assert_memory_not_equal(noise[7], noise[8], sizeof noise[7]);
}

/* Spread samples of two members: the same for any number of rows at once and of threads, and not
 * those drawn one by one. */
static void samples_are_those_of_any_batch(void **state)
{
    (void)state;
    enum { VALUES = WINDOWS * SAMPLES * H * N };
    static trained       one;
    static float         out[4][VALUES];
    ll_residual_trainer *of;
    at_once = 3; /* each member's samples in one run */
    train_steps(&ll_backend_cpu, &one, &of);
    for (int i = 0; i < 4; i++) {
        ll_draw_plan o = plan_on(&ll_backend_cpu);
        uint32_t     index[WINDOWS];
        o.rows = i == 1 ? 2 : 5;
        o.n_threads = i == 2 ? 2 : 1;
        o.spread = i < 3;
        ll_residual_sampler *s = sampler_of(one.params, &o, index);
        assert_true(ll_residual_sampler_serves(s, &o));
        CHECK_OK(ll_residual_draw(s, set, index, WINDOWS, 7, SAMPLES, out[i]));
        o.spread = !o.spread;
        assert_false(ll_residual_sampler_serves(s, &o));
        ll_residual_sampler_destroy(s);
    }
    for (int i = 1; i < 3; i++) assert_memory_equal(out[i], out[0], sizeof out[0]);
    assert_memory_not_equal(out[3], out[0], sizeof out[0]);
    ll_residual_trainer_destroy(of);
}

static llap_status make_one(void *user)
{
    (void)user;
    ll_spread        *s;
    const llap_status st = ll_spread_create(&s);
    ll_spread_destroy(s);
    return st;
}

static void allocations_may_fail(void **state)
{
    (void)state;
    check_every_failed_allocation(make_one, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_taken_once),
        cmocka_unit_test(each_sample_is_normal_noise),
        cmocka_unit_test(together_they_are_nearer_to_the_law),
        cmocka_unit_test(neighbours_leave_no_trace),
        cmocka_unit_test(samples_are_those_of_any_batch),
        cmocka_unit_test(allocations_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
