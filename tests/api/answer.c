/* Answers through the public headers: one order of rows in every mode, numbers as one array, and
 * the columns say what the CSV says. */
#include "model.h"

#include <math.h>

static int set_up(void **state)
{
    (void)state;
    return train_model(400, "6", NULL);
}

/* By entity, origin, sample, time, variable, each row once. */
static void check_order(const llap_answer_columns *c)
{
    for (int64_t i = 1; i < c->n_rows; i++) {
        const int64_t before[] = { c->entity[i - 1], c->origin[i - 1], c->sample[i - 1],
                                   c->time[i - 1], c->variable[i - 1] };
        const int64_t row[] = { c->entity[i], c->origin[i], c->sample[i], c->time[i],
                                c->variable[i] };
        size_t        k = 0;
        while (k < 4 && before[k] == row[k]) k++;
        if (before[k] >= row[k]) fail_msg("row %lld is out of order", (long long)i);
    }
}

static void check_forecasts(const llap_answer_columns *c)
{
    assert_int_equal(c->first[0], 0);
    assert_int_equal(c->first[c->n_forecasts], c->n_rows);
    for (int64_t f = 0; f < c->n_forecasts; f++) {
        assert_true(c->first[f] < c->first[f + 1]);
        for (int64_t i = c->first[f] + 1; i < c->first[f + 1]; i++)
            assert_true(c->entity[i] == c->entity[i - 1] && c->origin[i] == c->origin[i - 1]);
        if (f > 0)
            assert_true(c->entity[c->first[f]] != c->entity[c->first[f] - 1] ||
                        c->origin[c->first[f]] != c->origin[c->first[f] - 1]);
    }
}

/* Every number of the array is that of its row, and there are no others. */
static void check_array(const llap_answer *a)
{
    const llap_answer_columns *c = llap_answer_view(a);
    const size_t               n = llap_answer_array(a, NULL, NULL, 0);
    double                    *x = malloc(n * sizeof *x);
    int64_t                   *time = malloc((size_t)(c->n_forecasts * c->n_times) * sizeof *time);
    size_t                     full = 0;
    assert_true(x != NULL && time != NULL);
    assert_int_equal(n, c->n_forecasts * c->n_samples * c->n_times * c->n_variables * c->n_numbers);
    x[0] = 7;
    assert_int_equal(llap_answer_array(a, x, NULL, n - 1), n);
    assert_true(x[0] == 7); /* too little room: nothing is written */
    assert_int_equal(llap_answer_array(a, x, time, n), n);
    if (c->dense) assert_memory_equal(x, c->number, n * sizeof *x);
    for (int64_t f = 0; f < c->n_forecasts; f++)
        for (int64_t i = c->first[f]; i < c->first[f + 1]; i++) {
            int64_t k = 0;
            while (k < c->n_times && time[f * c->n_times + k] != c->time[i]) k++;
            assert_true(k < c->n_times);
            const int64_t at =
                ((f * c->n_samples + c->sample[i]) * c->n_times + k) * c->n_variables +
                c->variable[i];
            assert_memory_equal(x + at * c->n_numbers, c->number + i * c->n_numbers,
                                (size_t)c->n_numbers * sizeof *x);
        }
    for (size_t i = 0; i < n; i++) full += !isnan(x[i]);
    assert_int_equal(full, c->n_rows * c->n_numbers);
    free(x);
    free(time);
}

/* Lines of the CSV are the rows. */
static void check_lines(const llap_answer *a)
{
    const char                *path = "llap_test_api_answer.csv";
    const llap_answer_columns *c = llap_answer_view(a);
    char                       line[4096];
    CHECK_OK(llap_answer_write(a, path));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    const size_t mark = strstr(line, ",outside\n") != NULL ? 2 : 0; /* ",1" behind the numbers */
    for (int64_t i = 0; i < c->n_rows; i++) {
        char        last[64];
        const char *entity = c->entities[c->entity[i]];
        assert_non_null(fgets(line, sizeof line, f));
        assert_memory_equal(line, entity, strlen(entity));
        assert_non_null(strstr(line, c->variables[c->variable[i]]));
        snprintf(last, sizeof last, ",%.7g\n", c->number[(i + 1) * c->n_numbers - 1]);
        if (mark > 0) memmove(line + strlen(line) - mark - 1, "\n", 2);
        assert_string_equal(line + strlen(line) - strlen(last), last);
    }
    assert_null(fgets(line, sizeof line, f));
    fclose(f);
    remove(path);
}

static const llap_answer_columns *check(const llap_answer *a)
{
    const llap_answer_columns *c = llap_answer_view(a);
    assert_true(c->n_rows > 0);
    assert_int_equal(c->n_entities, llap_panel_view(panel)->n_entities);
    assert_int_equal(c->n_variables, 2);
    check_order(c);
    check_forecasts(c);
    check_array(a);
    check_lines(a);
    return c;
}

static llap_answer *forecast(const char *every, int samples, int total)
{
    llap_forecast_opts o = { 0 };
    llap_answer       *a = NULL;
    o.every = every;
    o.keep_samples = samples > 0;
    o.samples = samples;
    o.total = total;
    o.quantiles = "0.1,0.5,0.9";
    CHECK_OK(llap_forecast(model, panel, &o, &a));
    return a;
}

static void forecasts_backtests_and_their_samples(void **state)
{
    (void)state;
    static const char *const every[] = { NULL, "1d" };
    for (int i = 0; i < 8; i++) {
        const int                  back = i % 2, samples = i / 2 % 2 * 5, total = i / 4;
        llap_answer               *a = forecast(every[back], samples, total);
        const llap_answer_columns *c = check(a);
        assert_true(c->dense);
        assert_int_equal(c->n_times, total ? 1 : 6);
        assert_int_equal(c->n_samples, samples > 0 ? samples : 1);
        assert_int_equal(c->is_samples, samples > 0);
        assert_int_equal(c->is_backtest, back);
        assert_int_equal(c->n_quantiles, samples > 0 ? 0 : 3);
        assert_int_equal(c->n_numbers, samples > 0 ? 1 : 4);
        assert_true(back ? c->n_forecasts > 3 : c->n_forecasts == 3);
        llap_answer_destroy(a);
    }
}

/* Another number of times for each entity: no array without a copy. */
static void given_times(void **state)
{
    (void)state;
    const char               *path = "llap_test_api_times.csv";
    const llap_panel_columns *p = llap_panel_view(panel);
    llap_forecast_opts        o = { 0 };
    llap_answer              *a = NULL;
    FILE                     *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "entity,time\n%s,2199-01-01T00:00:00Z\n", p->entities[0]);
    fprintf(f, "%s,2199-01-02T00:00:00Z\n%s,2199-01-01T12:00:00Z\n", p->entities[1],
            p->entities[1]);
    fclose(f);
    o.times = path;
    o.samples = 3;
    o.keep_samples = 1;
    CHECK_OK(llap_forecast(model, panel, &o, &a));
    const llap_answer_columns *c = check(a);
    assert_false(c->dense);
    assert_int_equal(c->n_forecasts, 2);
    assert_int_equal(c->n_times, 2);
    assert_int_equal(c->n_rows, 3 * (1 + 2) * 2);
    llap_answer_destroy(a);
    remove(path);
}

static void imputations_and_their_samples(void **state)
{
    (void)state;
    const llap_panel_columns *p = llap_panel_view(panel);
    for (int i = 0; i < 4; i++) {
        llap_impute_opts o = { 0 };
        llap_answer     *a = NULL;
        o.all = i % 2;
        o.keep_samples = i / 2;
        o.samples = 4;
        CHECK_OK(llap_impute(model, panel, &o, &a));
        const llap_answer_columns *c = check(a);
        int64_t                    measured = 0;
        assert_true(c->is_imputation);
        assert_int_equal(c->n_samples, o.keep_samples ? 4 : 1);
        for (int64_t k = 0; k < c->n_rows; k++) {
            int64_t r = p->first[c->entity[k]];
            while (p->time[r] != c->time[k]) r++;
            assert_int_equal(c->observed[k], llap_cell_observed(p, r, c->variable[k]));
            if (!c->observed[k]) continue;
            measured++;
            assert_true(c->number[k * c->n_numbers] ==
                        (double)p->value[r * p->n_variables + c->variable[k]]);
        }
        assert_true(o.all ? measured > 0 : measured == 0);
        if (o.all) assert_int_equal(c->n_rows, p->n_rows * 2 * c->n_samples);
        llap_answer_destroy(a);
    }
}

/* The mean and quantiles of the kept samples are those that are asked for without keeping them. */
static void samples_are_what_quantiles_are_made_of(void **state)
{
    (void)state;
    llap_answer *draws = forecast(NULL, 200, 1); /* as many as totals are made of unless told */
    llap_answer *numbers = forecast(NULL, 0, 1);
    const llap_answer_columns *s = llap_answer_view(draws), *q = llap_answer_view(numbers);
    for (int64_t f = 0; f < s->n_forecasts; f++)
        for (int64_t v = 0; v < s->n_variables; v++) {
            double sum = 0;
            for (int64_t k = 0; k < s->n_samples; k++)
                sum += s->number[(f * s->n_samples + k) * s->n_variables + v];
            const double mean = q->number[(f * q->n_variables + v) * q->n_numbers];
            assert_true(fabs(sum / (double)s->n_samples - mean) <= 1e-12 * fabs(mean));
        }
    llap_answer_destroy(draws);
    llap_answer_destroy(numbers);
}

/* A file with its rows in another order reads as the same answer. */
static void files_in_any_order(void **state)
{
    (void)state;
    const char  *path = "llap_test_api_answer.csv";
    llap_answer *a = forecast("1d", 0, 0), *b = NULL;
    char         line[4][512];
    CHECK_OK(llap_answer_write(a, path));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (int i = 0; i < 4; i++) assert_non_null(fgets(line[i], sizeof line[i], f));
    fclose(f);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%s%s%s%s", line[0], line[2], line[3], line[1]);
    fclose(f);
    CHECK_OK(llap_answer_read(path, panel, &b));
    const llap_answer_columns *c = llap_answer_view(b);
    assert_int_equal(c->n_rows, 3);
    assert_false(c->dense);
    for (int64_t i = 1; i < 3; i++) assert_true(c->time[i] >= c->time[i - 1]);
    assert_true(c->time[2] > c->time[0]);
    llap_answer_destroy(a);
    llap_answer_destroy(b);
    remove(path);
}

static void the_bytes_of_the_file(void **state)
{
    (void)state;
    const char  *path = "llap_test_api_answer.csv";
    llap_answer *a = forecast(NULL, 0, 0);
    char        *text = NULL;
    size_t       n = 0, at = 0;
    CHECK_OK(llap_answer_write(a, path));
    CHECK_OK(llap_answer_csv(a, &text, &n));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (int c; (c = fgetc(f)) != EOF; at++) assert_true(at < n && c == (unsigned char)text[at]);
    assert_true(at == n && text[n] == '\0');
    fclose(f);
    llap_text_free(text);
    llap_answer_destroy(a);
    remove(path);
}

/* Numbers of any length are read to their end, and what is behind one is seen. */
static void long_numbers(void **state)
{
    (void)state;
    const char  *path = "llap_test_api_answer.csv", *behind[] = { "", "x" };
    llap_answer *a = NULL;
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fprintf(f, "entity,time,variable,mean\n%s,2030-01-01,co,1%070de-69%s\n",
                llap_panel_view(panel)->entities[0], 0, behind[i]);
        fclose(f);
        if (i == 0) CHECK_OK(llap_answer_read(path, panel, &a));
        else
            CHECK_FAIL(llap_answer_read(path, panel, &a), LLAP_EFORMAT, "expected a number, found");
        if (i == 0) assert_true(llap_answer_view(a)->number[0] == 10);
        llap_answer_destroy(a);
    }
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forecasts_backtests_and_their_samples),
        cmocka_unit_test(given_times),
        cmocka_unit_test(imputations_and_their_samples),
        cmocka_unit_test(samples_are_what_quantiles_are_made_of),
        cmocka_unit_test(files_in_any_order),
        cmocka_unit_test(the_bytes_of_the_file),
        cmocka_unit_test(long_numbers),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
