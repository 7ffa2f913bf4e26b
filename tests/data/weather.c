/* Made-up weather: the same for a seed, irregular in every way that it promises. */
#include "check.h"

#include "data/synth/weather.h"

#include <string.h>

#define HOUR INT64_C(3600000000000)

static llap_panel *make(int64_t n_entities, int64_t n_rows, uint64_t seed)
{
    llap_panel *p = NULL;
    CHECK_OK(ll_weather_panel(&(ll_weather_opts){ n_entities, n_rows, seed }, &p));
    return p;
}

static void the_seed_decides(void **state)
{
    (void)state;
    llap_panel *a = make(3, 300, 7), *b = make(3, 300, 7), *c = make(3, 300, 8);
    assert_int_equal(a->n_rows, b->n_rows);
    assert_memory_equal(a->time, b->time, (size_t)a->n_rows * sizeof *a->time);
    assert_memory_equal(a->value, b->value, (size_t)(a->n_rows * a->n_vars) * sizeof *a->value);
    assert_true(a->n_rows != c->n_rows ||
                memcmp(a->value, c->value, (size_t)a->n_rows * sizeof *a->value) != 0);
    llap_panel_destroy(a);
    llap_panel_destroy(b);
    llap_panel_destroy(c);
}

static void stations_are_irregular(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    llap_panel   *p = make(6, ROWS, 1);
    const int64_t hill = ll_panel_find_entity(p, "hill");
    const int64_t sixth = ll_panel_find_entity(p, "station 6");
    assert_true(hill >= 0 && sixth >= 0);
    assert_int_equal(ll_panel_find_var(p, "temperature (degC)"), 0);
    assert_int_equal(ll_panel_find_var(p, "pressure (hPa)"), 1);
    for (int64_t e = 0; e < p->n_entities; e++) {
        const int64_t first = p->start[e], end = p->start[e + 1];
        int64_t       jittered = 0, missing = 0, longest = 0;
        double        sum[2] = { 0 }, square[2] = { 0 }, n[2] = { 0 };
        for (int64_t r = first; r < end; r++) {
            jittered += p->time[r] % HOUR != 0;
            if (r > first && p->time[r] - p->time[r - 1] > longest)
                longest = p->time[r] - p->time[r - 1];
            for (int v = 0; v < 2; v++) {
                const double x = (double)p->value[2 * r + v];
                if (!ll_panel_observed(p, r, v)) {
                    missing++;
                    continue;
                }
                n[v]++;
                sum[v] += x;
                square[v] += x * x;
            }
        }
        assert_true(end - first < ROWS && end - first > ROWS / 2);
        assert_true(jittered > (end - first) * 9 / 10);
        assert_true(missing > 0 && missing < (end - first) / 2);
        assert_true(longest > 10 * HOUR);
        for (int v = 0; v < 2; v++) {
            const double mean = sum[v] / n[v], sd = sqrt(square[v] / n[v] - mean * mean);
            assert_true(v == 0 ? fabs(mean - 12) < 6 : fabs(mean - 1013) < 4);
            assert_true(sd > 2 && sd < 10);
        }
    }
    /* The fourth station falls silent two weeks or so before the end. */
    const int64_t last = p->time[p->start[1] - 1], silent = p->time[p->start[hill + 1] - 1];
    assert_true(last - silent > 8 * 24 * HOUR);
    llap_panel_destroy(p);
}

/* Pressure says what temperature will do: that is what a network can learn and an anchor cannot. */
static void pressure_comes_first(void **state)
{
    (void)state;
    llap_panel *p = make(1, 4000, 3);
    double      now = 0, later = 0, n = 0;
    for (int64_t r = 0; r + 1 < p->n_rows; r++) {
        if (!ll_panel_observed(p, r, 0) || !ll_panel_observed(p, r, 1)) continue;
        int64_t next = r;
        while (next < p->n_rows && p->time[next] < p->time[r] + 24 * HOUR) next++;
        if (next == p->n_rows || !ll_panel_observed(p, next, 0)) continue;
        const double press = (double)p->value[2 * r + 1] - 1013;
        now += press * ((double)p->value[2 * r] - 15);
        later += press * ((double)p->value[2 * next] - 15);
        n++;
    }
    assert_true(n > 2000);
    assert_true(later > 0.1 * n && later > now);
    llap_panel_destroy(p);
}

static llap_status make_one(void *user)
{
    llap_panel       *p = NULL;
    const llap_status st = ll_weather_panel(user, &p);
    llap_panel_destroy(p);
    return st;
}

static void mistakes(void **state)
{
    (void)state;
    llap_panel *p = NULL;
    CHECK_FAIL(ll_weather_panel(&(ll_weather_opts){ 0, 10, 1 }, &p), LLAP_EINVAL, "0 stations");
    CHECK_FAIL(ll_weather_panel(&(ll_weather_opts){ 1, 1, 1 }, &p), LLAP_EINVAL, "1 rows");
    assert_null(p);
    check_every_failed_allocation(make_one, &(ll_weather_opts){ 2, 20, 1 });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seed_decides),
        cmocka_unit_test(stations_are_irregular),
        cmocka_unit_test(pressure_comes_first),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
