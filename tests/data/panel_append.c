/* Panels that grow in place: the same as if all rows had come at once, in operations that do not
 * grow with the panel. */
#include "check.h"

#include "data/panel_append.h"
#include "data/panel_builder.h"
#include "data/panel_words.h"
#include "panel_equal.h"

#include "base/rng/rng.h"

enum { VARS = 3, ENTITIES = 9, ROWS = 400 };

typedef struct row {
    int     entity;
    int64_t time;
    float   value[VARS];
} row;

static void draw_rows(uint64_t seed, row *r, int n)
{
    const ll_rng rng = ll_rng_make(seed, LL_STREAM_TEST, 0, 0, 0);
    uint64_t     k = 0;
    for (int i = 0; i < n; i++) {
        r[i].entity = (int)(ll_rng_uniform(&rng, k++) * ENTITIES);
        r[i].time = (int64_t)(ll_rng_uniform(&rng, k++) * 60);
        for (int v = 0; v < VARS; v++) {
            const float x = (float)ll_rng_uniform(&rng, k++);
            r[i].value[v] = x < 0.3f ? NAN : x;
        }
    }
}

/* Entities lower than a number, so that others are new later. */
static llap_panel *build(const row *r, int n)
{
    ll_panel_builder *b;
    llap_panel       *p;
    uint32_t          id;
    CHECK_OK(ll_panel_builder_create(&LL_BUILDER_DEFAULT, &b));
    for (int v = 0; v < VARS; v++) CHECK_OK(ll_panel_builder_var(b, &"xyz"[v], 1, &id));
    for (int i = 0; i < n; i++) {
        CHECK_OK(ll_panel_builder_entity(b, &"hbfadgcie"[r[i].entity], 1, &id));
        CHECK_OK(ll_panel_builder_row(b, id, r[i].time, r[i].value));
    }
    CHECK_OK(ll_panel_builder_finish(b, &LL_AXIS_UTC, &p));
    ll_panel_builder_destroy(b);
    return p;
}

/* Any rows in any order, in parts of any size: new entities, rows between others, values that
 * replace some. */
static void growing_is_building_at_once(void **state)
{
    (void)state;
    row r[ROWS];
    for (uint64_t seed = 0; seed < 60; seed++) {
        draw_rows(seed, r, ROWS);
        const int                 first = (int)(seed * 7 % 50);
        llap_panel               *p = build(r, first), *once = build(r, ROWS);
        const llap_panel_columns *view = llap_panel_view(p);
        for (int i = first, n; i < ROWS; i += n) {
            n = 1 + (int)((seed + (uint64_t)i) * 31 % 23);
            if (n > ROWS - i) n = ROWS - i;
            llap_panel *more = build(r + i, n), *so_far = build(r, i + n);
            CHECK_OK(ll_panel_append(p, more, NULL));
            CHECK_OK(ll_panel_check(p));
            assert_true(panel_equal(p, so_far));
            llap_panel_destroy(more);
            llap_panel_destroy(so_far);
        }
        assert_true(panel_equal(p, once));
        assert_ptr_equal(view, llap_panel_view(p)); /* and shows what is there now */
        assert_int_equal(view->n_rows, p->n_rows);
        assert_ptr_equal(view->time, p->time);
        llap_panel_destroy(p);
        llap_panel_destroy(once);
    }
}

/* One row at a time at the end of a series: as many allocations and moved rows at row 64,000 as at
 * row 1,000, but for the few in which room grows. */
static void rows_at_the_end_cost_what_they_are(void **state)
{
    (void)state;
    row         r = { .entity = 0, .time = 0, .value = { 1, 2, 3 } };
    llap_panel *p = build(&r, 1);
    int64_t     calls = 0, moved = 0, bytes[2] = { 0 };
    int         grown = 0;
    for (int i = 1; i < 64000; i++) {
        r.time = i;
        llap_panel   *more = build(&r, 1);
        const int64_t before = ll_alloc_calls(), asked = ll_alloc_bytes();
        int64_t       m;
        CHECK_OK(ll_panel_append(p, more, &m));
        moved += m;
        if (i == 1000) calls = ll_alloc_calls() - before;
        if (ll_alloc_calls() - before > calls && i > 1000) grown++;
        else if (i > 1000) assert_int_equal(ll_alloc_calls() - before, calls);
        if (i >= 1000) bytes[i >= 32000] += ll_alloc_bytes() - asked;
        llap_panel_destroy(more);
    }
    assert_int_equal(moved, 0);
    assert_true(grown < 15); /* log(64) / log(1.5) = 10 */
    /* what the second half asked for is about what the first did: a straight line */
    assert_true(bytes[1] < 3 * bytes[0]);
    llap_panel_destroy(p);
}

/* A row for each of several entities moves each row behind it once, not once an entity. */
static void rows_of_all_entities_move_others_once(void **state)
{
    (void)state;
    row r[ENTITIES * 50], late[ENTITIES];
    for (int i = 0; i < ENTITIES * 50; i++)
        r[i] = (row){ .entity = i % ENTITIES, .time = i / ENTITIES, .value = { 1, 2, NAN } };
    for (int e = 0; e < ENTITIES; e++) late[e] = (row){ .entity = e, .time = 50 };
    llap_panel *p = build(r, ENTITIES * 50), *more = build(late, ENTITIES);
    int64_t     moved;
    CHECK_OK(ll_panel_append(p, more, &moved));
    assert_int_equal(moved, (ENTITIES - 1) * 50); /* but those of the first */
    CHECK_OK(ll_panel_append(p, more, &moved));   /* the same again: values alone */
    assert_int_equal(moved, 0);
    assert_int_equal(p->n_rows, ENTITIES * 51);
    llap_panel_destroy(p);
    llap_panel_destroy(more);
}

/* Words of static columns stay with their entities. */
static void words_stay_with_their_entities(void **state)
{
    (void)state;
    const row r[] = { { .entity = 1 }, { .entity = 5 } },
              new_ones[] = { { 3, 0, { 0 } }, { 6, 0, { 0 } }, { 0, 0, { 0 } } };
    llap_panel *p = build(r, 2), *more = build(new_ones, 3), *copy; /* b, g; a, c, h */
    CHECK_OK(ll_panel_words_create(p, 1));
    CHECK_OK(ll_panel_words_put(p->words, "kind", &p->words->name[0]));
    CHECK_OK(ll_panel_words_put(p->words, "beta", &p->words->word[0][0]));
    CHECK_OK(ll_panel_words_put(p->words, "gamma", &p->words->word[0][1]));
    CHECK_OK(ll_panel_append(p, more, NULL));
    CHECK_OK(ll_panel_copy(p, &copy));
    assert_true(panel_equal(p, copy));
    static const char *const want[] = { NULL, "beta", NULL, "gamma", NULL };
    assert_int_equal(p->n_entities, 5);
    for (int e = 0; e < 5; e++)
        for (int k = 0; k < 2; k++) {
            const char *got = (k == 0 ? p : copy)->words->word[0][e];
            if (want[e] == NULL) assert_null(got);
            else assert_string_equal(got, want[e]);
        }
    llap_panel_destroy(p);
    llap_panel_destroy(more);
    llap_panel_destroy(copy);
}

typedef struct pair {
    const llap_panel *p, *more;
} pair;

/* What fails leaves the panel as it was. */
static llap_status copy_and_grow(void *user)
{
    const pair *k = user;
    llap_panel *p = NULL;
    llap_status st = ll_panel_copy(k->p, &p);
    if (st != LLAP_OK) return st;
    st = ll_panel_append(p, k->more, NULL);
    CHECK_OK(ll_panel_check(p));
    if (st != LLAP_OK) assert_true(panel_equal(p, k->p));
    llap_panel_destroy(p);
    return st;
}

static void without_memory(void **state)
{
    (void)state;
    row r[120];
    draw_rows(3, r, 120);
    for (int i = 0; i < 100; i++)
        if (r[i].entity == 4) r[i].entity = 5; /* so that one is new later */
    r[110].entity = 4;
    pair k = { build(r, 100), build(r + 100, 20) };
    CHECK_OK(ll_panel_words_create((llap_panel *)k.p, 1));
    CHECK_OK(ll_panel_words_put(k.p->words, "kind", &k.p->words->name[0]));
    check_every_failed_allocation(copy_and_grow, &k);
    llap_panel_destroy((llap_panel *)k.p);
    llap_panel_destroy((llap_panel *)k.more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growing_is_building_at_once),
        cmocka_unit_test(rows_at_the_end_cost_what_they_are),
        cmocka_unit_test(rows_of_all_entities_move_others_once),
        cmocka_unit_test(words_stay_with_their_entities),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
