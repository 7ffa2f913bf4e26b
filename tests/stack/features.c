/* Features of a query: readings after the origin change none of them, to the last bit, and known
 * ones after the query neither. */
#include "stack/features.h"
#include "base/rng/rng.h"
#include "stack/columns.h"
#include "stack/stack.h"

#include "check.h"

#include <math.h>
#include <string.h>

enum { ENTITIES = 4, VARS = 4, ROWS = 600, MOST = 512 };

typedef struct world {
    ll_stack_layout l;
    ll_trace        series[ENTITIES * VARS];
    double          start[ENTITIES];
    int64_t         known[ENTITIES], place[ENTITIES];
    int32_t         near[ENTITIES * LL_STACK_NEIGHBOURS];
    ll_stack_source s;
} world;

static double draw(uint64_t what, uint64_t i)
{
    const ll_rng r = ll_rng_make(7, LL_STREAM_TEST, what, 0, 0);
    return (double)ll_rng_uniform(&r, i);
}

/* Readings up to `end`, of the known variable up to `known`; every seventh is missing. */
static void fill(world *w, bool irregular, bool joint, ll_stack_cycle cycle, double end,
                 double known)
{
    *w = (world){ .l = { .targets = joint ? 1 : 2,
                         .inputs = joint ? 2 : 1,
                         .known = 1,
                         .entities = joint ? ENTITIES : 0,
                         .step = 1,
                         .context = cycle == LL_STACK_CYCLE_NONE ? 48 : 336,
                         .horizon = 24,
                         .cycle = cycle,
                         .annual = joint,
                         .irregular = irregular,
                         .elapsed = !joint } };
    ll_stack_layout_spans(&w->l);
    for (int e = 0; e < ENTITIES; e++) {
        w->known[e] = joint ? e : -1;
        w->place[e] = e;
        for (int i = 0; i < LL_STACK_NEIGHBOURS; i++)
            w->near[e * LL_STACK_NEIGHBOURS + i] = i < 2 ? (e + 1 + i) % ENTITIES : -1;
        for (int v = 0; v < VARS; v++) {
            ll_trace *r = &w->series[e * VARS + v];
            assert_int_equal(ll_trace_init(r, ROWS), LLAP_OK);
            for (int i = 0; i < ROWS; i++) {
                const uint64_t id = (uint64_t)((e * VARS + v) * ROWS + i);
                const double   t = i + (irregular ? draw(1, id) : 0);
                if (t <= (v == VARS - 1 ? known : end) && draw(2, id) > 1.0 / 7)
                    ll_trace_add(r, t, draw(3, id) + sin(t));
            }
        }
    }
    w->s =
        (ll_stack_source){ w->series, w->start, w->known, w->place, joint ? w->near : NULL, NULL };
}

static void clear(world *w)
{
    for (int i = 0; i < ENTITIES * VARS; i++) ll_trace_deinit(&w->series[i]);
}

static void same(bool irregular, bool joint, ll_stack_cycle cycle)
{
    static world all, past;
    float        a[MOST], b[MOST];
    const double o = 420.25;
    int          missing = 0;
    fill(&all, irregular, joint, cycle, INFINITY, INFINITY);
    fill(&past, irregular, joint, cycle, o, o + 21);
    const int n = ll_stack_describe(&all.l, NULL);
    assert_true(n > 40 && n <= MOST);
    for (int e = 0; e < ENTITIES; e++) {
        for (int64_t lead = 1; lead <= 21; lead += 5) {
            const ll_stack_query q = { e, 0, o, o + (double)lead, 0.3, 0.5, 0.1, false };
            ll_stack_raw         x = { .x = a }, y = { .x = b };
            ll_stack_look(&all.l, &all.s, &q, &x);
            ll_stack_look(&past.l, &past.s, &q, &y);
            assert_memory_equal(a, b, (size_t)n * sizeof *a);
            assert_true(x.base == y.base);
            for (int i = 0; i < n; i++) missing += isnan(a[i]);
        }
    }
    assert_true(missing < 5 * ENTITIES * n / 2); /* there is something to compare */
    clear(&all);
    clear(&past);
}

static void later_readings_change_nothing(void **state)
{
    (void)state;
    same(false, true, LL_STACK_CYCLE_DAY);
    same(true, true, LL_STACK_CYCLE_DAY);
    same(true, false, LL_STACK_CYCLE_NONE);
    same(false, false, LL_STACK_CYCLE_DAY);
}

/* Of a known variable the value at the time of the query counts, and nothing of the others. */
static void known_values_ahead_are_seen(void **state)
{
    (void)state;
    static world all, past;
    float        a[MOST], b[MOST];
    int          differ = 0;
    const double o = 420.25;
    fill(&all, false, true, LL_STACK_CYCLE_DAY, o, INFINITY);
    fill(&past, false, true, LL_STACK_CYCLE_DAY, o, o);
    const int            n = ll_stack_describe(&all.l, NULL);
    const ll_stack_query q = { 1, 0, o, o + 12, 0.3, 0.5, 0.1, false };
    ll_stack_raw         x = { .x = a }, y = { .x = b };
    ll_stack_look(&all.l, &all.s, &q, &x);
    ll_stack_look(&past.l, &past.s, &q, &y);
    for (int i = 0; i < n; i++) differ += memcmp(&a[i], &b[i], sizeof *a) != 0;
    assert_int_equal(differ, 5);
    all.l.holidays = true;
    assert_int_equal(ll_stack_describe(&all.l, NULL), n + 1);
    clear(&all);
    clear(&past);
}

/* Of a series of known values: last, changes, means. */
static void columns_are_what_they_say(void **state)
{
    (void)state;
    world w;
    float x[MOST];
    fill(&w, false, false, LL_STACK_CYCLE_NONE, -1, -1); /* no readings */
    w.l.targets = 1;
    w.l.inputs = 3;
    w.l.known = 0;
    ll_stack_layout_spans(&w.l);
    for (int i = 0; i < 100; i++) ll_trace_add(&w.series[0], i, i);
    const ll_stack_query q = { 0, 0, 90, 92, 1, 2, 0, false };
    ll_stack_raw         r = { .x = x };
    ll_stack_look(&w.l, &w.s, &q, &r);
    assert_true(r.base == 90);
    assert_true(x[0] == 2 && x[9] == 0 && x[10] == 2 && x[11] == 90); /* lead, age, since start */
    assert_true(x[12] == 1 && x[13] == 2);                            /* median, spread */
    assert_true(x[16] == 90 && x[17] == 1 && x[22] == 24);            /* last and its changes */
    assert_true(x[23] == 88.5f && x[26] == 66.5f);                    /* means of 4 and 48 */
    ll_stack_columns c;
    assert_int_equal(ll_stack_columns_init(&c, &w.l, true, true), LLAP_OK);
    float row[MOST];
    ll_stack_columns_put(&c, &r, row);
    assert_true(row[0] == 2 && row[16] == 4); /* (90 - 1) / 2, clipped */
    ll_stack_columns_deinit(&c);
    assert_int_equal(ll_stack_columns_init(&c, &w.l, false, false), LLAP_OK);
    ll_stack_columns_put(&c, &r, row);
    assert_true(row[12] == 0 && row[13] == 1); /* no anchor: last less the base, its change */
    ll_stack_columns_deinit(&c);
    clear(&w);
}

/* What training had never more of counts as the end of its range, and how far it is gets known. */
static void columns_stay_within_the_range_of_training(void **state)
{
    (void)state;
    static float x[3][MOST];
    float        row[2 * MOST];
    world w = { .l = { .targets = 1, .step = 1, .context = 48, .horizon = 4, .elapsed = true } };
    ll_stack_raw r[3];
    ll_stack_layout_spans(&w.l);
    const int n = ll_stack_describe(&w.l, NULL);
    for (int k = 0; k < 3; k++) {
        r[k] = (ll_stack_raw){ .x = x[k], .query = { .median = 0, .spread = 1 } };
        for (int i = 0; i < n; i++) x[k][i] = (float)k;
    }
    ll_stack_columns c;
    assert_int_equal(ll_stack_columns_init(&c, &w.l, true, true), LLAP_OK);
    ll_stack_columns_put(&c, &r[2], row);
    assert_true(row[0] == 2); /* nothing is known about a range */
    ll_stack_columns_fit(&c, r, 2);
    assert_true(ll_stack_columns_put(&c, &r[0], row) == 0 && row[0] == -1);
    assert_true(ll_stack_columns_put(&c, &r[1], row) == 0 && row[0] == 1);
    x[2][0] = 4; /* 0 and 1 are -1 and 1 of their deviations, 4 is 7 */
    for (int i = 1; i < n; i++) x[2][i] = 1;
    assert_true(fabs(ll_stack_columns_put(&c, &r[2], row) - 6) < 1e-5 && row[0] == 1);
    x[2][0] = 1;
    x[2][11] = 1000; /* time since the start goes on */
    assert_true(ll_stack_columns_put(&c, &r[2], row) == 0 && row[11] == 1);
    ll_stack_columns_deinit(&c);
    /* Up to one deviation members are trusted, far out the anchor. */
    assert_true(ll_stack_trust(0) == 1 && ll_stack_trust(1) == 1);
    assert_true(ll_stack_trust(2) == 0.5 && ll_stack_trust(11) < 0.01);
}

static void neighbours_are_those_that_tell(void **state)
{
    (void)state;
    world   w;
    int32_t near[ENTITIES * LL_STACK_NEIGHBOURS];
    fill(&w, false, true, LL_STACK_CYCLE_DAY, -1, -1);
    /* Entity 2 is ahead of entity 0 by 3; the others are noise. */
    for (int e = 0; e < ENTITIES; e++)
        for (int i = 0; i < ROWS; i++) {
            const int of = e == 2 ? i + 3 : i;
            ll_trace_add(&w.series[e * VARS], i,
                         e % 2 == 0 ? draw(9, (uint64_t)of) : draw(10 + (uint64_t)e, (uint64_t)i));
        }
    ll_stack_neighbours(&w.l, &w.s, 0, 0, ROWS, 1, 3, near);
    assert_int_equal(near[0], 2);
    assert_int_equal(near[LL_STACK_NEIGHBOURS - 1], -1); /* there are three others only */
    clear(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(later_readings_change_nothing),
                                        cmocka_unit_test(known_values_ahead_are_seen),
                                        cmocka_unit_test(columns_are_what_they_say),
                                        cmocka_unit_test(columns_stay_within_the_range_of_training),
                                        cmocka_unit_test(neighbours_are_those_that_tell) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
