/* Panels through the public headers: what is read, made up or given as arrays is seen as it lies in
 * memory, and becomes the same panel again. */
#include "check_status.h"

#include <llapdiff/llapdiff.h>

#include <math.h>

static void same_names(const char *const *a, const char *const *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) assert_string_equal(a[i], b[i]);
}

static void same_axis(const llap_time_axis *a, const llap_time_axis *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_string_equal(a->zone, b->zone);
    assert_string_equal(a->format, b->format);
    assert_string_equal(a->unit, b->unit);
    assert_int_equal(a->unit_ns, b->unit_ns);
}

static void same_panel(const llap_panel_columns *a, const llap_panel_columns *b)
{
    assert_int_equal(a->n_entities, b->n_entities);
    assert_int_equal(a->n_variables, b->n_variables);
    assert_int_equal(a->n_rows, b->n_rows);
    same_names(a->entities, b->entities, a->n_entities);
    same_names(a->variables, b->variables, a->n_variables);
    same_axis(&a->axis, &b->axis);
    const size_t rows = (size_t)a->n_rows, cells = rows * (size_t)a->n_variables;
    assert_memory_equal(a->first, b->first, ((size_t)a->n_entities + 1) * sizeof *a->first);
    assert_memory_equal(a->time, b->time, rows * sizeof *a->time);
    assert_memory_equal(a->observed, b->observed, (cells + 63) / 64 * sizeof *a->observed);
    for (size_t i = 0; i < cells; i++)
        assert_true(isnan(a->value[i]) ? isnan(b->value[i])
                                       : memcmp(&a->value[i], &b->value[i], sizeof(float)) == 0);
}

/* Rows backwards, to see that their order does not count. */
static llap_panel *make_again(const llap_panel_columns *c)
{
    const size_t rows = (size_t)c->n_rows, width = (size_t)c->n_variables;
    const char **entity = malloc(rows * sizeof *entity);
    int64_t     *time = malloc(rows * sizeof *time);
    float       *value = malloc(rows * width * sizeof *value);
    llap_panel  *out = NULL;
    assert_true(entity != NULL && time != NULL && value != NULL);
    for (int64_t e = 0; e < c->n_entities; e++)
        for (int64_t r = c->first[e]; r < c->first[e + 1]; r++) {
            const size_t to = rows - 1 - (size_t)r;
            entity[to] = c->entities[e];
            time[to] = c->time[r];
            memcpy(value + to * width, c->value + (size_t)r * width, width * sizeof *value);
        }
    const llap_arrays rows_of = { .n_rows = rows,
                                  .n_vars = width,
                                  .var = c->variables,
                                  .entity = entity,
                                  .time = time,
                                  .value = value,
                                  .axis = &c->axis };
    CHECK_OK(llap_panel_from_arrays(&rows_of, &out));
    free(entity);
    free(time);
    free(value);
    return out;
}

static void check_round_trip(const llap_panel *p)
{
    llap_panel *again = make_again(llap_panel_view(p));
    same_panel(llap_panel_view(p), llap_panel_view(again));
    llap_panel_destroy(again);
}

static void a_made_up_panel(void **state)
{
    (void)state;
    llap_synth_sizes how = { 0 };
    llap_panel      *p = NULL;
    how.rows = 300;
    CHECK_OK(llap_panel_synth(&how, &p));
    const llap_panel_columns *c = llap_panel_view(p);
    llap_panel_sizes          size;
    llap_panel_size(p, &size);
    assert_int_equal(c->n_entities, size.entities);
    assert_int_equal(c->n_variables, size.variables);
    assert_int_equal(c->n_rows, size.rows);
    int64_t missing = 0;
    for (int64_t r = 0; r < c->n_rows; r++)
        for (int64_t v = 0; v < c->n_variables; v++) {
            const float x = c->value[r * c->n_variables + v];
            assert_int_equal(llap_cell_observed(c, r, v), !isnan(x));
            missing += isnan(x);
        }
    assert_true(missing > 0);
    check_round_trip(p);
    llap_panel_destroy(p);
}

/* A zone, a format of its own, and plain numbers in a unit come back with the times. */
static void what_times_mean(void **state)
{
    (void)state;
    static const char *const text[] = {
        ("id,time,x\na,2024-01-01T00:00:00+08:00,1\na,2024-01-01T01:00:00+08:00,\n"
         "b,2024-01-01T01:30:00+08:00,3\n"),
        "id,time,x\na,03/01/2024 18.00,1\na,28/01/2024 19.00,2\n",
        "id,time,x\na,0,1\na,1.5,2\na,7,3\n",
    };
    const char          *path = "llap_test_api_panel.csv";
    const llap_time_kind kind[] = { LLAP_TIME_CALENDAR, LLAP_TIME_CALENDAR, LLAP_TIME_NUMBER };
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        llap_read_opts how = { 0 };
        llap_panel    *p = NULL;
        FILE          *f = fopen(path, "w");
        assert_non_null(f);
        fputs(text[i], f);
        fclose(f);
        how.entity = "id";
        if (kind[i] == LLAP_TIME_NUMBER) how.time_format = "number", how.time_unit = "h";
        CHECK_OK(llap_panel_read(&path, 1, &how, &p));
        assert_int_equal(llap_panel_view(p)->axis.kind, kind[i]);
        if (i == 2) assert_int_equal(llap_panel_view(p)->time[1], INT64_C(5400000000000));
        if (i == 2) assert_string_equal(llap_panel_view(p)->axis.unit, "h");
        check_round_trip(p);
        llap_panel_destroy(p);
    }
    remove(path);
}

static void what_is_not_an_axis(void **state)
{
    (void)state;
    static const char *const var[] = { "x" };
    const int64_t            time = 0;
    const float              value = 1;
    llap_time_axis           axis = { .kind = LLAP_TIME_NUMBER, .unit_ns = 0 };
    llap_panel              *p = NULL;
    const llap_arrays        one = {
               .n_rows = 1, .n_vars = 1, .var = var, .time = &time, .value = &value, .axis = &axis
    };
    CHECK_FAIL(llap_panel_from_arrays(&one, &p), LLAP_EINVAL, "unit_ns");
    axis = (llap_time_axis){ .kind = LLAP_TIME_NUMBER, .unit = "h", .unit_ns = 7 };
    CHECK_FAIL(llap_panel_from_arrays(&one, &p), LLAP_EINVAL, "unit 'h'");
    axis = (llap_time_axis){ .kind = LLAP_TIME_CALENDAR, .zone = "Middle/Earth" };
    CHECK_FAIL(llap_panel_from_arrays(&one, &p), LLAP_EINVAL, "Middle/Earth");
    axis = (llap_time_axis){ .kind = (llap_time_kind)7 };
    CHECK_FAIL(llap_panel_from_arrays(&one, &p), LLAP_EINVAL, "kind");
    assert_null(p);
    axis = (llap_time_axis){ .kind = LLAP_TIME_CALENDAR };
    CHECK_OK(llap_panel_from_arrays(&one, &p));
    assert_string_equal(llap_panel_view(p)->axis.zone, "");
    llap_panel_destroy(p);
}

/* Rows that arrive: the view shows them, a copy made before does not. */
static void rows_arrive(void **state)
{
    (void)state;
    static const char *const var[] = { "x", "y" }, *const who[] = { "a", "b" },
                             *const late[] = { "b", "a", "c" };
    static const int64_t            time[] = { 0, 0 }, then[] = { 10, 10, 5 };
    static const float              value[] = { 1, 2, 3, 4 }, more[] = { 5, NAN, 6, 7, 8, 9 };
    llap_arrays                     rows = { 2, 2, var, who, time, value, NULL };
    llap_panel                     *p = NULL, *before = NULL;
    CHECK_OK(llap_panel_from_arrays(&rows, &p));
    const llap_panel_columns *c = llap_panel_view(p);
    CHECK_OK(llap_panel_copy(p, &before));
    rows = (llap_arrays){ 3, 2, var, late, then, more, NULL };
    CHECK_OK(llap_panel_append(p, &rows));
    assert_int_equal(c->n_rows, 5);
    assert_int_equal(c->n_entities, 3);
    assert_string_equal(c->entities[2], "c");
    assert_true(c->first[1] == 2 && c->first[2] == 4 && c->first[3] == 5);
    assert_true(c->value[2] == 6 && c->value[3] == 7 && c->value[6] == 5 && isnan(c->value[7]));
    assert_true(llap_cell_observed(c, 3, 0) && !llap_cell_observed(c, 3, 1));
    assert_int_equal(llap_panel_view(before)->n_rows, 2);
    check_round_trip(p);
    static const char *const other[] = { "x", "z" };
    rows.var = other;
    CHECK_FAIL(llap_panel_append(p, &rows), LLAP_EINVAL, "variable 2: expected 'y', found 'z'");
    rows.n_vars = 1;
    CHECK_FAIL(llap_panel_append(p, &rows), LLAP_EINVAL, "expected 2 variables, found 1");
    assert_int_equal(c->n_rows, 5);
    llap_panel_destroy(before);
    llap_panel_destroy(p);
}

/* A file and its bytes become the same panel. */
static void bytes_of_a_file(void **state)
{
    (void)state;
    static const char text[] = "time,x\n2024-01-01,1\n2024-01-02,2\n2024-01-03,\n";
    const char       *path = "llap_test_api_bytes.csv";
    llap_panel       *file = NULL, *bytes = NULL;
    FILE             *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    CHECK_OK(llap_panel_read(&path, 1, &(llap_read_opts){ 0 }, &file));
    CHECK_OK(llap_panel_read_memory("else/llap_test_api_bytes.csv", text, sizeof text - 1,
                                    &(llap_read_opts){ 0 }, &bytes));
    same_panel(llap_panel_view(file), llap_panel_view(bytes));
    llap_panel_destroy(bytes);
    CHECK_FAIL(llap_panel_read_memory("x", text, 3, &(llap_read_opts){ 0 }, &bytes), LLAP_EFORMAT,
               "x:");
    llap_panel_destroy(file);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_a_file),     cmocka_unit_test(rows_arrive),
        cmocka_unit_test(a_made_up_panel),     cmocka_unit_test(what_times_mean),
        cmocka_unit_test(what_is_not_an_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
