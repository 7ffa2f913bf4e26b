#include "pictures.h"
#include "plot/fan_plot.h"

enum { HOURS = 72, AHEAD = 24, HOUR_S = 3600 };

/* Three days of hourly values with a hole of six hours, a forecast of one day, its truth. */
typedef struct scene {
    int64_t seen_time[HOURS + AHEAD], time[AHEAD];
    double  seen[HOURS + AHEAD], line[5][AHEAD], path[3][AHEAD];
    ll_fan  fan[14];
} scene;

static ll_fans make_scene(scene *s, int n, bool truth)
{
    const int64_t hour = HOUR_S * INT64_C(1000000000);
    int           k = 0;
    for (int h = 0; h < HOURS + (truth ? AHEAD : 0); h++) {
        if (h >= 30 && h < 36) continue;
        s->seen_time[k] = h * hour;
        s->seen[k++] = sin(h * 0.26);
    }
    for (int i = 0; i < AHEAD; i++) {
        s->time[i] = (HOURS + i) * hour;
        for (int b = 0; b < 5; b++) s->line[b][i] = sin((HOURS + i) * 0.26) + 0.1 * (b - 2);
        for (int p = 0; p < 3; p++) s->path[p][i] = p;
    }
    for (int i = 0; i < n; i++)
        s->fan[i] = (ll_fan){ .entity = i == 0 ? "a <b>" : "",
                              .variable = "NO2",
                              .n_seen = k,
                              .seen_time = s->seen_time,
                              .seen = s->seen,
                              .origin = (HOURS - 1) * hour,
                              .n = AHEAD,
                              .time = s->time,
                              .middle = s->line[2],
                              .low = { s->line[0], s->line[1] },
                              .high = { s->line[4], s->line[3] } };
    return (ll_fans){ .kind = LL_FAN_FORECAST,
                      .axis = LL_AXIS_UTC,
                      .fan = s->fan,
                      .n_fans = n < 14 ? n : 14,
                      .n = n,
                      .n_bands = 2,
                      .cover = { 0.95, 0.5 },
                      .middle = "median" };
}

static void test_unknown_format(void **state)
{
    (void)state;
    scene         s;
    const ll_fans f = make_scene(&s, 1, true);
    CHECK_FAIL(ll_plot_fans(&f, in_folder("x.jpg")), LLAP_EOPTION, ".png, .svg or .pdf");
}

#ifdef LLAP_CAIRO

static char *draw(const ll_fans *f, const char *name, size_t *n)
{
    CHECK_OK(ll_plot_fans(f, in_folder(name)));
    return slurp(in_folder(name), n);
}

#define WIDE "fill:rgb(85.098039%,90.980392%,95.294118%)"
#define GREY "fill:rgb(94.117647%,94.117647%,94.117647%)"
#define TRUTH "stroke:rgb(83.529412%,36.862745%,0%)"

static void test_a_forecast_has_its_parts(void **state)
{
    (void)state;
    scene              s;
    size_t             n;
    ll_fans            f = make_scene(&s, 1, true);
    char              *svg = draw(&f, "x.svg", &n);
    static const char *words[] = {
        "\nForecast\n", "\nmeasured\n",         "\nmeasured later\n", "\nmedian\n", "\n95 %\n",
        "\n50 %\n",     "\na &lt;b&gt;, NO2\n", "\nno measurement\n", "time (UTC)", "\n01-02\n"
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(svg, words[i]) == NULL) fail_msg("no '%s'", words[i]);
    assert_int_equal(occurrences(svg, WIDE), 2);  /* band, legend */
    assert_int_equal(occurrences(svg, GREY), 2);  /* the hole, legend */
    assert_int_equal(occurrences(svg, TRUTH), 2); /* line, legend */
    test_free(svg);
    f = make_scene(&s, 1, false);
    svg = draw(&f, "x.svg", &n);
    assert_int_equal(occurrences(svg, TRUTH), 0);
    assert_null(strstr(svg, "measured later"));
    test_free(svg);
}

static void test_paths_and_gaps(void **state)
{
    (void)state;
    scene   s;
    size_t  n;
    ll_fans f = make_scene(&s, 1, false);
    f.n_bands = 0;
    f.middle = NULL;
    s.fan[0].middle = NULL;
    s.fan[0].n_paths = 3;
    s.fan[0].path = s.path[0];
    char *svg = draw(&f, "x.svg", &n);
    assert_int_equal(occurrences(svg, "stroke:rgb(48.235294%,70.588235%,84.705882%)"), 4);
    test_free(svg);
    f = make_scene(&s, 1, true);
    f.kind = LL_FAN_IMPUTATION;
    s.fan[0].origin = INT64_MAX;
    s.line[2][5] = s.line[0][5] = NAN; /* nothing to say: the band has two parts */
    svg = draw(&f, "x.svg", &n);
    assert_non_null(strstr(svg, "\nFilled gaps\n"));
    assert_int_equal(occurrences(svg, WIDE), 3);
    test_free(svg);
}

/* A unit is what stands in brackets behind a name; where it does not, the head says so. */
static void test_units(void **state)
{
    (void)state;
    static const struct {
        const char *variable;
        bool        unit;
    } cases[] = { { "NO2", false },     { "NO2 (ppb)", true }, { "NO2 [\u00b5g/m\u00b3]", true },
                  { "NO2(GT)", false }, { "(ppb)", false },    { "wind ()", true },
                  { "a (b) c", false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene   s;
        size_t  n;
        ll_fans f = make_scene(&s, 1, true);
        s.fan[0].variable = cases[i].variable;
        char *svg = draw(&f, "x.svg", &n);
        if ((strstr(svg, "values in units of the data") == NULL) != cases[i].unit)
            fail_msg("%s", cases[i].variable);
        test_free(svg);
    }
}

/* A series without a measurement: grey up to the forecast, and the reason; and fields of one
 * picture show the same stretch of time where they are told to. */
static void test_silence(void **state)
{
    (void)state;
    scene         s;
    size_t        n;
    const int64_t hour = HOUR_S * INT64_C(1000000000);
    ll_fans       f = make_scene(&s, 2, false);
    s.fan[1].n_seen = 0;
    for (int i = 0; i < 2; i++) s.fan[i].last = (HOURS + AHEAD - 1) * hour;
    char *svg = draw(&f, "x.svg", &n);
    assert_int_equal(occurrences(svg, "nothing measured here"), 1);
    assert_int_equal(occurrences(svg, GREY), 3); /* the hole, the silence, legend */
    assert_int_equal(occurrences(svg, "\n1970-01-03\n") + occurrences(svg, "\n01-03\n"), 2);
    test_free(svg);
}

/* As many fields as there are series, up to a limit that is told. */
static void test_small_multiples(void **state)
{
    (void)state;
    scene  s;
    size_t n;
    for (int k = 0; k <= 14; k++) {
        const ll_fans f = make_scene(&s, k, true);
        char         *svg = draw(&f, "x.svg", &n);
        assert_int_equal(occurrences(svg, "NO2\n"), k < LL_FAN_FIELDS ? k : LL_FAN_FIELDS);
        assert_int_equal(strstr(svg, "the first 12 of 14 series") != NULL, k == 14);
        test_free(svg);
    }
}

/* Nothing measured, one value, all alike, no answer. */
static void test_little(void **state)
{
    (void)state;
    scene   s;
    size_t  n;
    ll_fans f = make_scene(&s, 3, false);
    s.fan[0].n_seen = 0;
    s.fan[1].n_seen = 1;
    s.fan[1].n = 1;
    s.fan[2].n_seen = s.fan[2].n = 0;
    static const char *const files[] = { "x.svg", "x.png", "x.pdf" };
    for (int i = 0; i < 3; i++) {
        char *a = draw(&f, files[i], &n);
        test_free(a);
    }
    for (int i = 0; i < HOURS; i++) s.seen[i] = 3;
    f = make_scene(&s, 1, false);
    f.axis.kind = LL_AXIS_NUMBER;
    f.axis.unit_ns = 1;
    test_free(draw(&f, "x.svg", &n));
}

static llap_status plot_work(void *user)
{
    const llap_status st = ll_plot_fans(user, in_folder("x.svg"));
    unlink(in_folder("x.svg"));
    return st;
}

/* The end of the training range that answers lie beyond, with its name. */
static void test_outside_training(void **state)
{
    (void)state;
    scene       s;
    size_t      n;
    ll_fans     f = make_scene(&s, 1, true);
    const char *line = "stroke:rgb(80%,47.45098%,65.490196%)";
    s.fan[0].range[0] = -3; /* known, and kept to */
    s.fan[0].range[1] = .4;
    char *without = draw(&f, "within.svg", &n);
    assert_null(strstr(without, line));
    test_free(without);
    s.fan[0].beyond[1] = true;
    char *with = draw(&f, "beyond.svg", &n);
    assert_non_null(strstr(with, line));
    test_free(with);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    scene   s;
    ll_fans f = make_scene(&s, 2, true);
    check_every_failed_allocation(plot_work, &f);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_format),
#ifdef LLAP_CAIRO
        cmocka_unit_test(test_a_forecast_has_its_parts),
        cmocka_unit_test(test_paths_and_gaps),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_small_multiples),
        cmocka_unit_test(test_little),
        cmocka_unit_test(test_outside_training),
        cmocka_unit_test(test_failing_allocations),
#endif
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
