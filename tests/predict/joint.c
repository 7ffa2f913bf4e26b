/* Paths of a trained model move together: over entities and targets, the same ones for any number
 * of threads and entities asked, with the margins of each. */
#include "sensors.h"

#include "model/model.h"

#include <omp.h>
#include <unistd.h>

enum { N = 5, STEPS = 6, SAMPLES = 800, TARGETS = 2 };

static llap_panel *panel, *part;
static llap_model *model, *apart;

/* Two targets of a few entities, noise of all at a time from a common part and one of their own. */
static llap_panel *make(int first, int end)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          v, e;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "x", 1, &v));
    CHECK_OK(ll_panel_builder_var(b, "y", 1, &v));
    for (int k = first; k < end; k++) {
        char name[8];
        snprintf(name, sizeof name, "s%d", k);
        CHECK_OK(ll_panel_builder_entity(b, name, strlen(name), &e));
        const ll_rng own = ll_rng_make(5, LL_STREAM_TEST, (uint64_t)k, 0, 0);
        const ll_rng all = ll_rng_make(5, LL_STREAM_TEST, 100, 0, 0);
        double       x = 0, y = 0;
        for (uint64_t i = 0; i < ROWS; i++) {
            const double common = (double)ll_rng_normal(&all, i);
            x = 0.9 * x + 0.85 * common + 0.5 * (double)ll_rng_normal(&own, 2 * i);
            y = 0.9 * y - 0.85 * common + 0.5 * (double)ll_rng_normal(&own, 2 * i + 1);
            CHECK_OK(
                ll_panel_builder_row(b, e, (int64_t)i * HOUR, (float[]){ (float)x, (float)y }));
        }
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

static llap_model *train(llap_train_split split)
{
    llap_train_opts o = { 0 };
    llap_model     *m;
    o.size = LLAP_TRAIN_SIZE_ANCHOR;
    o.training = "{\"anchor\": {\"steps\": 60, \"rows\": 24}}";
    o.context = "2d";
    o.horizon = "6";
    o.split = split;
    CHECK_OK(llap_train(panel, &o, &m));
    return m;
}

static int set_up(void **state)
{
    (void)state;
    panel = make(0, N);
    part = make(N - 1, N);
    model = train(LLAP_TRAIN_SPLIT_TIME);
    apart = train(LLAP_TRAIN_SPLIT_ENTITY);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    llap_model_destroy(model);
    llap_model_destroy(apart);
    llap_panel_destroy(panel);
    llap_panel_destroy(part);
    return 0;
}

/* Value of a sample: rows are in order of entity, sample, time, target. */
static double at(const llap_answer *a, int e, int sample, int step, int target)
{
    return a->number[((e * SAMPLES + sample) * STEPS + step) * TARGETS + target];
}

static llap_answer *paths(const llap_model *m, const llap_panel *p)
{
    llap_forecast_opts o = { 0 };
    llap_answer       *a;
    o.samples = SAMPLES;
    o.keep_samples = 1;
    CHECK_OK(llap_forecast(m, p, &o, &a));
    assert_int_equal(a->n_rows % (SAMPLES * STEPS * TARGETS), 0);
    return a;
}

static double correlation(const llap_answer *a, int e, int c, int f, int d, int step)
{
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (int s = 0; s < SAMPLES; s++) {
        const double u = at(a, e, s, step, c), v = at(a, f, s, step, d);
        x += u, y += v, xx += u * u, yy += v * v, xy += u * v;
    }
    return (xy - x * y / SAMPLES) / sqrt((xx - x * x / SAMPLES) * (yy - y * y / SAMPLES));
}

/* The truth is .74 between entities, -.74 between targets; kept to .95. */
static void moves_together(void **state)
{
    (void)state;
    llap_answer *a = paths(model, panel);
    for (int step = 0; step < STEPS; step++) {
        assert_float_equal(correlation(a, 0, 0, 1, 0, step), 0.70, 0.09);
        assert_float_equal(correlation(a, 1, 1, 2, 1, step), 0.70, 0.09);
        assert_float_equal(correlation(a, 0, 0, 0, 1, step), -0.70, 0.09);
        assert_float_equal(correlation(a, 0, 0, 2, 1, step), -0.70, 0.09);
    }
    llap_answer_destroy(a);
}

/* Independent entities share nothing, their targets do. */
static void keeps_independent_entities_apart(void **state)
{
    (void)state;
    llap_answer *a = paths(apart, panel);
    assert_int_equal(apart->joint->n, TARGETS);
    for (int step = 0; step < STEPS; step++) {
        assert_float_equal(correlation(a, 0, 0, 1, 0, step), 0.0, 0.13);
        assert_float_equal(correlation(a, 1, 0, 1, 1, step), -0.70, 0.1);
    }
    llap_answer_destroy(a);
}

/* Who else is asked, and how many threads there are, changes no byte. */
static void does_not_depend_on_company(void **state)
{
    (void)state;
    llap_answer *all = paths(model, panel), *one = paths(model, part);
    omp_set_num_threads(3);
    llap_answer *again = paths(model, panel);
    const size_t n = SAMPLES * STEPS * TARGETS;
    assert_memory_equal(all->number, again->number, N * n * sizeof(double));
    assert_memory_equal(all->number + (N - 1) * n, one->number, n * sizeof(double));
    llap_answer_destroy(all);
    llap_answer_destroy(one);
    llap_answer_destroy(again);
}

/* A model saved and read again draws the same; one without the law draws each series by itself, and
 * its quantiles are the same bytes. */
static void is_in_the_file(void **state)
{
    (void)state;
    char path[] = "/tmp/llapdiff_joint_XXXXXX";
    close(mkstemp(path));
    llap_model *back;
    CHECK_OK(llap_model_save(model, path));
    CHECK_OK(llap_model_load(path, &back));
    llap_answer *a = paths(model, panel), *b = paths(back, panel);
    assert_memory_equal(a->number, b->number, a->n_rows * sizeof(double));
    llap_answer_destroy(b);
    llap_forecast_opts o = { 0 };
    llap_answer       *with, *without;
    CHECK_OK(llap_forecast(back, panel, &o, &with));
    ll_joint_destroy(back->joint);
    back->joint = NULL;
    CHECK_OK(llap_forecast(back, panel, &o, &without));
    assert_memory_equal(with->number, without->number,
                        with->n_rows * (size_t)with->n_numbers * sizeof(double));
    b = paths(back, panel);
    for (int step = 0; step < STEPS; step++)
        assert_float_equal(correlation(b, 0, 0, 1, 0, step), 0.0, 0.13);
    llap_answer *const all[] = { a, b, with, without };
    for (int i = 0; i < 4; i++) llap_answer_destroy(all[i]);
    llap_model_destroy(back);
    unlink(path);
}

static llap_answer *totals(llap_forecast_total what, int keep, const char *every)
{
    llap_forecast_opts o = { 0 };
    llap_answer       *a;
    o.samples = SAMPLES;
    o.keep_samples = keep;
    o.total = what;
    o.every = every;
    CHECK_OK(llap_forecast(model, panel, &o, &a));
    return a;
}

/* Sums of the very paths, over entities, over the horizon, over both. */
static void adds_up(void **state)
{
    (void)state;
    llap_answer *each = paths(model, panel);
    llap_answer *all = totals(LLAP_FORECAST_TOTAL_ENTITIES, 1, NULL);
    llap_answer *both = totals(LLAP_FORECAST_TOTAL_BOTH, 1, NULL);
    assert_int_equal(all->n_rows, SAMPLES * STEPS * TARGETS);
    assert_int_equal(both->n_rows, SAMPLES * TARGETS);
    assert_string_equal(all->entity[all->rows.entity[0]], "total");
    for (int s = 0; s < SAMPLES; s += 97)
        for (int c = 0; c < TARGETS; c++) {
            double over = 0;
            for (int step = 0; step < STEPS; step++) {
                double sum = 0;
                for (int e = 0; e < N; e++) sum += at(each, e, s, step, c);
                assert_float_equal(at(all, 0, s, step, c), sum, 1e-9);
                over += sum;
            }
            assert_float_equal(both->number[s * TARGETS + c], over, 1e-9);
        }
    llap_answer_destroy(each);
    llap_answer_destroy(all);
    llap_answer_destroy(both);
}

/* Intervals of 80 % of the sum over entities hold so many of the test part: 5 correlated series
 * drawn independently would hold about 55 %. */
static void sums_are_calibrated(void **state)
{
    (void)state;
    llap_answer *a = totals(LLAP_FORECAST_TOTAL_ENTITIES, 0, "6h");
    double       held = 0, n = 0;
    for (size_t i = 0; i < a->n_rows; i++) {
        double        truth = 0;
        const int64_t row = a->rows.time[i] / HOUR;
        if (row >= ROWS) continue;
        for (int e = 0; e < N; e++)
            truth += (double)panel->value[(panel->start[e] + row) * TARGETS + a->rows.target[i]];
        const double *number = a->number + i * (size_t)a->n_numbers; /* mean, .025, .1, .. */
        held += number[2] <= truth && truth <= number[6];
        n += 1;
    }
    assert_true(n > 300);
    assert_float_equal(held / n, 0.8, 0.09);
    llap_answer_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_together),
        cmocka_unit_test(keeps_independent_entities_apart),
        cmocka_unit_test(does_not_depend_on_company),
        cmocka_unit_test(is_in_the_file),
        cmocka_unit_test(adds_up),
        cmocka_unit_test(sums_are_calibrated),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
