#include "panel_equal.h"
#include "panels.h"

#include "data/panel_builder.h"
#include "data/panel_merge.h"
#include "data/panel_pick.h"
#include "data/text/names.h"

/* A row of the tests: NAN marks a missing value. */
typedef struct row {
    const char *entity;
    int64_t     time;
    float       value[3];
} row;

static const row sorted_rows[] = {
    { "a", 10, { 1, 2, 3 } },    { "a", 20, { NAN, 5, 6 } },     { "a", 35, { 7, NAN, NAN } },
    { "b", -5, { 10, 11, 12 } }, { "b", 20, { NAN, NAN, NAN } }, { "c", 20, { 0, -0.0f, 1e38f } },
};
enum { N_ROWS = sizeof sorted_rows / sizeof sorted_rows[0] };

static llap_status build(const row *rows, const size_t *order, size_t n, bool as_cells,
                         ll_builder_opts opts, llap_panel **out, ll_builder_counts *counts)
{
    static const char *vars[] = { "x", "y", "z" };
    *out = NULL;
    ll_panel_builder *b = NULL;
    uint32_t          e, v;
    llap_status       st = ll_panel_builder_create(&opts, &b);
    for (int i = 0; i < 3 && st == LLAP_OK; i++) st = ll_panel_builder_var(b, vars[i], 1, &v);
    for (size_t k = 0; k < n && st == LLAP_OK; k++) {
        const row *r = &rows[order == NULL ? k : order[k]];
        st = ll_panel_builder_entity(b, r->entity, strlen(r->entity), &e);
        if (!as_cells && st == LLAP_OK) st = ll_panel_builder_row(b, e, r->time, r->value);
        for (uint32_t i = 0; as_cells && i < 3 && st == LLAP_OK; i++)
            st = ll_panel_builder_cell(b, e, r->time, i, r->value[i]);
    }
    if (st == LLAP_OK) st = ll_panel_builder_finish(b, &LL_AXIS_UTC, out);
    if (counts != NULL && b != NULL) *counts = *ll_panel_builder_counts(b);
    ll_panel_builder_destroy(b);
    return st;
}

static llap_status pick_and_drop(void *user)
{
    llap_panel       *some;
    const bool        keep[] = { true, false, true };
    const llap_status st = ll_panel_pick(user, keep, &some);
    llap_panel_destroy(some);
    return st;
}

/* All entities but the second are a panel without it, bit by bit; none are a panel without rows. */
static void some_entities_are_picked(void **state)
{
    (void)state;
    enum { N = 3 };
    const size_t all[] = { 0, 1, 2, 5 };
    const bool   two[N] = { true, false, true }, none[N] = { false };
    llap_panel  *p, *some, *alike;
    CHECK_OK(build(sorted_rows, NULL, N_ROWS, false, LL_BUILDER_DEFAULT, &p, NULL));
    CHECK_OK(build(sorted_rows, all, 4, false, LL_BUILDER_DEFAULT, &alike, NULL));
    CHECK_OK(ll_panel_pick(p, two, &some));
    CHECK_OK(ll_panel_check(some));
    assert_true(panel_equal(some, alike));
    llap_panel_destroy(some);
    CHECK_OK(ll_panel_pick(p, none, &some));
    assert_int_equal(some->n_entities, 0);
    assert_int_equal(some->n_rows, 0);
    llap_panel_destroy(some);
    check_every_failed_allocation(pick_and_drop, p);
    llap_panel_destroy(p);
    llap_panel_destroy(alike);
}

static void a_panel_has_what_was_put_in(void **state)
{
    (void)state;
    llap_panel       *p;
    ll_builder_counts c;
    CHECK_OK(build(sorted_rows, NULL, N_ROWS, false, LL_BUILDER_DEFAULT, &p, &c));
    CHECK_OK(ll_panel_check(p));
    assert_int_equal(p->n_entities, 3);
    assert_int_equal(p->n_vars, 3);
    assert_int_equal(p->n_rows, N_ROWS);
    const int64_t start[] = { 0, 3, 5, 6 };
    assert_memory_equal(p->start, start, sizeof start);
    for (int64_t r = 0; r < N_ROWS; r++) {
        assert_int_equal(p->time[r], sorted_rows[r].time);
        for (int64_t v = 0; v < 3; v++) {
            const float x = sorted_rows[r].value[v], y = p->value[r * 3 + v];
            assert_int_equal(ll_panel_observed(p, r, v), !isnan(x));
            assert_false(ll_panel_filled(p, r, v));
            assert_true(isnan(x) ? isnan(y) : memcmp(&x, &y, sizeof x) == 0);
        }
    }
    assert_int_equal(ll_panel_count_observed(p), 12);
    assert_int_equal(ll_panel_find_entity(p, "c"), 2);
    assert_int_equal(ll_panel_find_entity(p, "bb"), -1);
    assert_int_equal(ll_panel_find_var(p, "z"), 2);
    assert_int_equal(ll_panel_find_var(p, "w"), -1);
    for (int64_t r = 0; r < N_ROWS; r++) {
        const int64_t e = (r >= start[1]) + (r >= start[2]);
        assert_int_equal(ll_panel_find_row(p, e, p->time[r]), r);
        assert_int_equal(ll_panel_find_row(p, e, p->time[start[e + 1] - 1] + 1), -1);
        assert_int_equal(ll_panel_find_row(p, e, p->time[start[e]] - 1), -1);
    }
    assert_int_equal(c.rows, N_ROWS);
    assert_int_equal(c.unordered + c.duplicate_cells + c.merged_rows + c.not_finite, 0);
    assert_int_equal(c.first_unordered, -1);
    llap_panel_destroy(p);
}

static void order_and_form_change_nothing(void **state)
{
    (void)state;
    llap_panel *p, *q;
    CHECK_OK(build(sorted_rows, NULL, N_ROWS, false, LL_BUILDER_DEFAULT, &p, NULL));
    srand(7);
    for (int trial = 0; trial < 200; trial++) {
        size_t order[N_ROWS];
        for (size_t i = 0; i < N_ROWS; i++) {
            const size_t j = (size_t)rand() % (i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        CHECK_OK(build(sorted_rows, order, N_ROWS, trial % 2, LL_BUILDER_DEFAULT, &q, NULL));
        CHECK_OK(ll_panel_check(q));
        assert_true(panel_equal(p, q));
        llap_panel_destroy(q);
    }
    llap_panel_destroy(p);
}

static void the_last_value_stays_and_is_counted(void **state)
{
    (void)state;
    const row rows[] = {
        { "a", 20, { 1, 2, NAN } }, { "a", 10, { 3, 3, 3 } },   { "a", 20, { NAN, 5, 6 } },
        { "b", 1, { 1, 1, 1 } },    { "a", 20, { 7, NAN, 8 } }, { "b", 2, { 1, 1, INFINITY } },
    };
    for (int form = 0; form < 2; form++) {
        llap_panel       *p;
        ll_builder_counts c;
        CHECK_OK(build(rows, NULL, 6, form, LL_BUILDER_DEFAULT, &p, &c));
        CHECK_OK(ll_panel_check(p));
        const float kept[] = { 7, 5, 8 };
        assert_int_equal(p->n_rows, 4);
        assert_memory_equal(p->value + 3, kept, sizeof kept);
        assert_int_equal(c.duplicate_cells, 3); /* y at the 2nd, x and z at the 3rd */
        assert_int_equal(c.merged_rows, form ? 0 : 2);
        assert_int_equal(c.first_duplicate, form ? 7 : 2);
        assert_int_equal(c.unordered, form ? 3 : 1);
        assert_int_equal(c.first_unordered, form ? 3 : 1);
        assert_int_equal(c.not_finite, 1);
        assert_int_equal(c.first_not_finite, form ? 17 : 5);
        assert_false(ll_panel_observed(p, 3 - 1 + 1, 2));
        llap_panel_destroy(p);
        ll_builder_opts strict = { .duplicates = LL_DUPLICATES_ERROR };
        CHECK_FAIL(build(rows, NULL, 6, form, strict, &p, &c), LLAP_EFORMAT,
                   "entity 'a': 'y' is given twice for time 1970-01-01T00:00:00.00000002Z");
        assert_null(p);
        assert_int_equal(c.first_duplicate, form ? 7 : 2);
    }
}

/* Two panels with entities, times and variables in common and apart. */
static void panels_are_merged(void **state)
{
    (void)state;
    llap_panel         *a = panel_of("entity,time,x,y\np,1,1,2\np,2,3,\nq,1,5,-99\n");
    llap_panel         *b = panel_of("entity,time,y,z\np,2,7,8\nr,1,9,10\n"), *m;
    const llap_panel   *both[] = { a, b };
    static const char  *drop[] = { "z", NULL }, *missing[] = { "-99", NULL };
    static const char  *words[] = { "none", NULL };
    const ll_merge_opts how = { .drop = drop, .missing = missing };
    CHECK_OK(ll_panels_merge(both, 2, &how, &m));
    CHECK_OK(ll_panel_check(m));
    const float expected[] = { 1, 2, 3, 7, 5, NAN, NAN, 9 };
    assert_int_equal(m->n_vars, 2);
    assert_int_equal(m->n_entities, 3);
    assert_int_equal(m->n_rows, 4);
    for (int i = 0; i < 8; i++)
        assert_true(isnan(expected[i]) ? isnan(m->value[i]) : m->value[i] == expected[i]);
    llap_panel_destroy(m);
    CHECK_FAIL(ll_panels_merge(both, 1, &how, &m), LLAP_EINVAL, "no variable 'z'");
    CHECK_FAIL(ll_panels_merge(both, 2, &(ll_merge_opts){ .missing = words }, &m), LLAP_EINVAL,
               "'none' is no number");
    const llap_panel *twice[] = { b, b };
    CHECK_FAIL(ll_panels_merge(twice, 2, &(ll_merge_opts){ LL_DUPLICATES_ERROR, NULL, NULL }, &m),
               LLAP_EFORMAT, "entity 'p': 'y' is given twice for time 2");
    llap_panel *c = panel_of("time,x\n2024-01-01,1\n2024-01-02,1\n");
    both[1] = c;
    CHECK_FAIL(ll_panels_merge(both, 2, &(ll_merge_opts){ 0 }, &m), LLAP_EINVAL,
               "file 2: its times are of another kind");
    assert_null(m);
    llap_panel_destroy(a);
    llap_panel_destroy(b);
    llap_panel_destroy(c);
}

static void variables_may_come_late(void **state)
{
    (void)state;
    const ll_builder_opts o = { .sort_vars = true, .max_entities = 2 };
    ll_panel_builder     *b;
    uint32_t              e, f, g, x, a;
    CHECK_OK(ll_panel_builder_create(&o, &b));
    CHECK_OK(ll_panel_builder_entity(b, "e", 1, &e));
    CHECK_OK(ll_panel_builder_entity(b, "empty", 5, &f));
    CHECK_FAIL(ll_panel_builder_entity(b, "third", 5, &g), LLAP_ELIMIT, "more than 2");
    CHECK_OK(ll_panel_builder_entity(b, "e", 1, &g));
    assert_int_equal(g, e);
    CHECK_OK(ll_panel_builder_var(b, "x", 1, &x));
    for (int i = 0; i < 100; i++) CHECK_OK(ll_panel_builder_row(b, e, i, &(float){ 1 }));
    CHECK_OK(ll_panel_builder_var(b, "a", 1, &a));
    for (int i = 0; i < 100; i++) CHECK_OK(ll_panel_builder_cell(b, e, i + 50, a, 2));
    assert_int_equal(ll_panel_builder_n_vars(b), 2);
    llap_panel *p;
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    assert_int_equal(ll_panel_builder_counts(b)->empty_entities, 1);
    ll_panel_builder_destroy(b);
    CHECK_OK(ll_panel_check(p));
    assert_int_equal(p->n_entities, 1);
    assert_int_equal(p->n_rows, 150);
    assert_string_equal(p->var[0], "a");
    for (int64_t r = 0; r < 150; r++) {
        assert_int_equal(ll_panel_observed(p, r, 0), r >= 50);
        assert_int_equal(ll_panel_observed(p, r, 1), r < 100);
    }
    llap_panel_destroy(p);
}

/* Their numbers need one byte, then two, then four: as rows one by one, as rows together, as cells.
 */
static void any_number_of_entities(void **state)
{
    (void)state;
    enum { ENTITIES = 66000 };
    for (int how = 0; how < 3; how++) {
        ll_panel_builder *b;
        uint32_t          v;
        llap_panel       *p = NULL;
        CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
        CHECK_OK(ll_panel_builder_var(b, "x", 1, &v));
        for (int i = 0; i < 2 * ENTITIES; i++) { /* all of them, and all once more */
            char          name[16];
            uint32_t      e;
            const int64_t time = i / ENTITIES;
            const float   x = (float)(i % ENTITIES);
            const int     n = snprintf(name, sizeof name, "e%05d", i % ENTITIES);
            CHECK_OK(ll_panel_builder_entity(b, name, (size_t)n, &e));
            if (how == 0) CHECK_OK(ll_panel_builder_row(b, e, time, &x));
            else if (how == 1) CHECK_OK(ll_panel_builder_rows(b, e, 1, &time, &x));
            else CHECK_OK(ll_panel_builder_cell(b, e, time, v, x));
        }
        CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
        ll_panel_builder_destroy(b);
        CHECK_OK(ll_panel_check(p));
        assert_int_equal(p->n_entities, ENTITIES);
        for (int64_t e = 0; e < ENTITIES; e++) {
            assert_int_equal(p->start[e], 2 * e);
            assert_int_equal(atoi(p->entity[e] + 1), (int)p->value[2 * e]);
            assert_true(p->value[2 * e] == p->value[2 * e + 1]);
        }
        llap_panel_destroy(p);
    }
}

/* Joined to one whose number is wider than theirs. */
static void entities_are_joined_to_one_beyond_the_width(void **state)
{
    (void)state;
    enum { ENTITIES = 257 };
    uint32_t          to[ENTITIES], v, e;
    ll_panel_builder *b;
    llap_panel       *p = NULL;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_var(b, "x", 1, &v));
    for (int i = 0; i < ENTITIES; i++) {
        char name[16];
        CHECK_OK(
            ll_panel_builder_entity(b, name, (size_t)snprintf(name, sizeof name, "e%d", i), &e));
        if (i < ENTITIES - 1) CHECK_OK(ll_panel_builder_row(b, e, i, &(float){ 1 }));
        to[i] = ENTITIES - 1;
    }
    CHECK_OK(ll_panel_builder_join(b, to));
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    assert_int_equal(p->n_entities, 1);
    assert_string_equal(p->entity[0], "e256");
    assert_int_equal(p->n_rows, ENTITIES - 1);
    llap_panel_destroy(p);
}

static void memory_stays_in_bounds(void **state)
{
    (void)state;
    ll_panel_builder *b;
    uint32_t          e, v;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    for (char c = 'a'; c < 'a' + 12; c++) CHECK_OK(ll_panel_builder_var(b, &c, 1, &v));
    const float values[12] = { 0 };
    for (int i = 0; i < 12; i++) {
        const char name = (char)('z' - i);
        CHECK_OK(ll_panel_builder_entity(b, &name, 1, &e));
        for (int t = 0; t < 5000; t++) CHECK_OK(ll_panel_builder_row(b, e, t, values));
    }
    llap_panel *p;
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    const double ideal = (double)p->n_rows * (8 + 12 * (4 + 1.0 / 8));
    assert_true((double)ll_panel_bytes(p) < 1.3 * ideal);
    llap_panel_destroy(p);
}

static void an_empty_panel_is_one(void **state)
{
    (void)state;
    llap_panel *p, *q;
    CHECK_OK(build(NULL, NULL, 0, false, LL_BUILDER_DEFAULT, &p, NULL));
    CHECK_OK(ll_panel_check(p));
    assert_int_equal(p->n_rows + p->n_entities, 0);
    assert_int_equal(ll_panel_find_entity(p, ""), -1);
    CHECK_OK(build(NULL, NULL, 0, true, LL_BUILDER_DEFAULT, &q, NULL));
    assert_true(panel_equal(p, q));
    llap_panel_destroy(p);
    llap_panel_destroy(q);
    llap_panel_destroy(NULL);
}

static void broken_promises_are_found(void **state)
{
    (void)state;
    const char    *names[] = { "a", "b" }, *vars[] = { "x", "y" };
    const int64_t  start[] = { 0, 2, 3 }, backwards[] = { 0, 2, 1 };
    ll_panel_draft d = { .axis = LL_AXIS_UTC,
                         .n_entities = 2,
                         .n_vars = 2,
                         .entity = names,
                         .var = vars,
                         .start = backwards };
    llap_panel    *p;
    CHECK_FAIL(ll_panel_create(&d, &p), LLAP_EINVAL, "'b' has a negative number");
    d.start = start;
    CHECK_OK(ll_panel_create(&d, &p));
    CHECK_FAIL(ll_panel_check(p), LLAP_EINVAL, "entity 'a': row 1");
    d.time[1] = 1;
    CHECK_OK(ll_panel_check(p));
    ll_bit_set(d.observed, 1 * 2 + 1);
    CHECK_FAIL(ll_panel_check(p), LLAP_EINVAL, "entity 'a', row 1: 'y' is not finite");
    d.value[3] = 1;
    d.value[2] = 2; /* filled */
    CHECK_OK(ll_panel_check(p));
    assert_true(ll_panel_filled(p, 1, 0));
    assert_false(ll_panel_filled(p, 1, 1));
    llap_panel_destroy(p);
    names[1] = "a";
    CHECK_OK(ll_panel_create(&d, &p));
    d.time[1] = 1;
    CHECK_FAIL(ll_panel_check(p), LLAP_EINVAL, "not sorted");
    llap_panel_destroy(p);
}

static void names_are_numbered(void **state)
{
    (void)state;
    ll_names n = { 0 };
    uint32_t id;
    char     text[16];
    assert_false(ll_names_find(&n, "0", 1, &id));
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 5000; i++) {
            const int len = snprintf(text, sizeof text, "%d", i * 7919 % 5000);
            CHECK_OK(ll_names_add(&n, text, (size_t)len, &id));
            assert_int_equal(id, i);
        }
    assert_int_equal(n.n, 5000);
    assert_true(ll_names_find(&n, "7919", 4, &id) == false);
    assert_true(ll_names_find(&n, "291999", 4, &id)); /* 7919 * 1 % 5000 = 2919 */
    assert_int_equal(id, 1);
    uint32_t *order;
    CHECK_OK(ll_names_sorted(&n, &order));
    for (int i = 1; i < 5000; i++) assert_true(strcmp(n.name[order[i - 1]], n.name[order[i]]) < 0);
    ll_free(order);
    ll_names_deinit(&n);
}

/* A variable of every cell: 10^10 cells for 10^5 values are refused before they are allocated. */
static void a_variable_per_value_is_a_mistake(void **state)
{
    (void)state;
    ll_panel_builder *b;
    llap_panel       *p = NULL;
    uint32_t          e, v;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    CHECK_OK(ll_panel_builder_entity(b, "e", 1, &e));
    for (int i = 0; i < 100000; i++) {
        char      name[16];
        const int n = sprintf(name, "v%d", i);
        CHECK_OK(ll_panel_builder_var(b, name, (size_t)n, &v));
        CHECK_OK(ll_panel_builder_cell(b, e, i, v, 1));
    }
    CHECK_FAIL(ll_panel_builder_finish(b, &(ll_axis){ .kind = LL_AXIS_NUMBER, .unit_ns = 1 }, &p),
               LLAP_ELIMIT, "100000 variables in 100000 rows, but only 100000 values");
    assert_null(p);
    ll_panel_builder_destroy(b);
}

static llap_status build_and_drop(void *user)
{
    const size_t    order[] = { 5, 3, 1, 0, 4, 2, 1 };
    llap_panel     *p;
    ll_builder_opts o = { .sort_vars = true };
    llap_status     st = build(sorted_rows, order, 7, *(bool *)user, o, &p, NULL);
    llap_panel_destroy(p);
    return st;
}

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    for (int cells = 0; cells < 2; cells++)
        check_every_failed_allocation(build_and_drop, &(bool){ cells });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_panel_has_what_was_put_in),
        cmocka_unit_test(some_entities_are_picked),
        cmocka_unit_test(order_and_form_change_nothing),
        cmocka_unit_test(the_last_value_stays_and_is_counted),
        cmocka_unit_test(panels_are_merged),
        cmocka_unit_test(variables_may_come_late),
        cmocka_unit_test(any_number_of_entities),
        cmocka_unit_test(entities_are_joined_to_one_beyond_the_width),
        cmocka_unit_test(memory_stays_in_bounds),
        cmocka_unit_test(an_empty_panel_is_one),
        cmocka_unit_test(broken_promises_are_found),
        cmocka_unit_test(names_are_numbered),
        cmocka_unit_test(a_variable_per_value_is_a_mistake),
        cmocka_unit_test(failing_allocations_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
