/* Points of a chart beside the plain definition: least, mean and greatest of the rows of a stretch.
 */
#include "serve/decimate.h"

#include "check.h"

#include <stdlib.h>

enum { ROWS = 5000, POINTS = 70 };

static uint32_t draw(uint32_t *state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }

/* Irregular times and holes, the same for each seed. */
static void make_rows(uint32_t seed, int64_t *time, double *value)
{
    int64_t t = -1000000;
    for (int i = 0; i < ROWS; i++) {
        t += 1 + (int64_t)(draw(&seed) % 100) + (draw(&seed) % 500 == 0 ? 40000 : 0);
        time[i] = t;
        value[i] = draw(&seed) % 5 == 0 ? NAN : (double)(draw(&seed) % 1000);
    }
}

static void points_are_those_of_their_stretches(void **state)
{
    (void)state;
    static int64_t time[ROWS];
    static double  value[ROWS];
    for (uint32_t seed = 1; seed <= 20; seed++) {
        ll_decimated d = { 0 };
        int64_t      seen = 0, found = 0;
        make_rows(seed, time, value);
        CHECK_OK(ll_decimate_begin(&d, time[0], time[ROWS - 1], ROWS, POINTS));
        for (int i = 0; i < ROWS; i++) ll_decimate_add(&d, time[i], value[i], value[i], value[i]);
        ll_decimate_end(&d);
        assert_false(d.exact);
        assert_true(d.n > 0 && d.n <= POINTS);
        const int64_t width = (time[ROWS - 1] - time[0]) / POINTS + 1;
        for (int64_t k = 0; k < d.n; k++) {
            const ll_decimated_point *p = &d.point[k];
            double                    low = INFINITY, high = -INFINITY, sum = 0;
            int64_t                   n = 0;
            const int64_t             from = p->time - width / 2;
            for (int i = 0; i < ROWS; i++)
                if (time[i] >= from && time[i] < from + width && !isnan(value[i])) {
                    low = fmin(low, value[i]);
                    high = fmax(high, value[i]);
                    sum += value[i];
                    n++;
                }
            assert_int_equal(p->n, n);
            found += n;
            if (n == 0) assert_true(isnan(p->low) && isnan(p->mean) && isnan(p->high));
            else assert_true(p->low == low && p->high == high && p->mean == sum / (double)n);
            assert_true(k == 0 || p->time > d.point[k - 1].time);
        }
        for (int i = 0; i < ROWS; i++) seen += !isnan(value[i]);
        assert_int_equal(found, seen); /* none is lost, none counts twice */
        ll_decimate_deinit(&d);
    }
}

static void few_rows_stay_as_they_are(void **state)
{
    (void)state;
    static const int64_t time[] = { INT64_MIN, -5, 0, INT64_MAX };
    static const double  value[] = { 1, NAN, 3, 4 };
    for (int points = 1; points <= 4; points++) {
        ll_decimated d = { 0 };
        CHECK_OK(ll_decimate_begin(&d, INT64_MIN, INT64_MAX, 4, points));
        for (int i = 0; i < 4; i++) ll_decimate_add(&d, time[i], value[i], value[i], value[i]);
        ll_decimate_end(&d);
        assert_int_equal(d.exact, points > 1);
        for (int64_t i = 0; d.exact && i < 4; i++) {
            assert_int_equal(d.point[i].time, time[i]);
            assert_true(d.point[i].mean == value[i] || (isnan(value[i]) && d.point[i].n == 0));
        }
        if (!d.exact) {
            assert_int_equal(d.n, 1);
            assert_true(d.point[0].low == 1 && d.point[0].high == 4 && d.point[0].n == 3);
        }
        ll_decimate_deinit(&d);
    }
}

static llap_status begin(void *user)
{
    ll_decimated      d = { 0 };
    const llap_status st = ll_decimate_begin(&d, 0, 100, 1000, 10);
    (void)user;
    ll_decimate_deinit(&d);
    return st;
}

static void no_memory(void **state)
{
    (void)state;
    check_every_failed_allocation(begin, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_those_of_their_stretches),
        cmocka_unit_test(few_rows_stay_as_they_are),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
