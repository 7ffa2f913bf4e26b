#include "random_panel.h"

#include "data/windows/examples.h"
#include "data/windows/windows.h"

static const int64_t first_var = 0;

static bool any_observed(const llap_panel *p, int64_t from, int64_t stop)
{
    for (int64_t r = from; r < stop; r++)
        if (ll_panel_observed(p, r, 0)) return true;
    return false;
}

/* The definition by rows: every start, nothing clever. */
static void check_by_rows(const llap_panel *p, const ll_window_opts *o, const ll_windows *w)
{
    int64_t n = 0;
    for (int64_t e = 0; e < p->n_entities; e++)
        for (int64_t s = o->pad ? 1 - o->context_rows : 0;
             p->start[e] + s + o->context_rows + o->horizon_rows <= p->start[e + 1]; s++) {
            const int64_t query = p->start[e] + s + o->context_rows;
            const int64_t first = s < 0 ? p->start[e] : p->start[e] + s;
            if (!any_observed(p, query, query + o->horizon_rows)) continue;
            assert_true(n < w->n);
            const ll_window *v = &w->at[n++];
            assert_int_equal(v->entity, e);
            assert_int_equal(v->first, first);
            assert_int_equal(v->n_context, query - first);
            assert_int_equal(v->n_query, o->horizon_rows);
            assert_int_equal(ll_window_end(w, v), p->time[query - 1]);
        }
    assert_int_equal(n, w->n);
}

static void windows_by_rows_are_as_defined(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        const random_shape s = { 5, 2, 60, true, 0.1, seed % 2 ? 0.9 : 0.3, 0.05 };
        llap_panel        *p = random_panel(seed, &s);
        ll_window_opts     o = { .context_rows = 1 + (int64_t)seed % 13,
                                 .horizon_rows = 1 + (int64_t)seed % 7,
                                 .pad = seed % 3 == 0,
                                 .target = &first_var,
                                 .n_targets = 1 };
        ll_windows        *w;
        CHECK_OK(ll_windows_create(p, &o, &w));
        check_by_rows(p, &o, w);
        ll_windows_destroy(w);
        llap_panel_destroy(p);
    }
}

/* The definition by duration. */
static void check_by_duration(const llap_panel *p, const ll_window_opts *o, const ll_windows *w)
{
    int64_t n = 0, last_end = 0;
    for (int64_t e = 0; e < p->n_entities; e++) {
        bool any = false;
        for (int64_t end = p->start[e]; end < p->start[e + 1]; end++) {
            const int64_t t = p->time[end];
            int64_t       first = end, last = end;
            while (first > p->start[e] && p->time[first - 1] > t - o->context_ns) first--;
            while (last + 1 < p->start[e + 1] && p->time[last + 1] <= t + o->horizon_ns) last++;
            if (!o->pad && p->time[p->start[e]] > t - o->context_ns) continue;
            if (any && t - last_end < o->stride_ns) continue;
            if (o->horizon_rows > 0 && last - end > o->horizon_rows) last = end + o->horizon_rows;
            if (!any_observed(p, end + 1, last + 1)) continue;
            if (o->context_rows > 0 && end + 1 - first > o->context_rows)
                first = end + 1 - o->context_rows;
            any = true;
            last_end = t;
            assert_true(n < w->n);
            const ll_window *v = &w->at[n++];
            assert_int_equal(v->entity, e);
            assert_int_equal(v->first, first);
            assert_int_equal(v->n_context, end + 1 - first);
            assert_int_equal(v->n_query, last - end);
            /* A forecast from there has the same context, also a little later. */
            ll_window f = ll_window_before(p, e, t, o->context_ns, o->context_rows);
            assert_true(f.first == first && f.n_context == v->n_context && f.entity == e);
            assert_int_equal(f.n_query, 0);
            f = ll_window_before(p, e, t + 1, o->context_ns, o->context_rows);
            while (first < end && p->time[first] <= t + 1 - o->context_ns) first++;
            assert_int_equal(f.first + f.n_context, end + 1);
            assert_int_equal(f.first, first);
        }
        assert_int_equal(
            ll_window_before(p, e, p->time[p->start[e]] - 1, o->context_ns, 0).n_context, 0);
    }
    assert_int_equal(n, w->n);
}

static void windows_by_duration_are_as_defined(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        const random_shape s = { 4, 2, 80, false, 0, 0.5, 0.1 };
        llap_panel        *p = random_panel(seed, &s);
        ll_window_opts     o = { .context_ns = (3 + (int64_t)seed % 20) * hour_ns,
                                 .horizon_ns = (1 + (int64_t)seed % 9) * hour_ns,
                                 .context_rows = seed % 4 == 1 ? 3 : 0,
                                 .horizon_rows = seed % 5 == 1 ? 2 : 0,
                                 .stride_ns = seed % 3 == 2 ? 5 * hour_ns : 0,
                                 .pad = seed % 2 == 0,
                                 .target = &first_var,
                                 .n_targets = 1 };
        ll_windows        *w;
        CHECK_OK(ll_windows_create(p, &o, &w));
        check_by_duration(p, &o, w);
        ll_windows_destroy(w);
        llap_panel_destroy(p);
    }
}

static void offsets_are_in_the_unit(void **state)
{
    (void)state;
    const random_shape s = { 2, 1, 40, false, 0, 0, 0 };
    llap_panel        *p = random_panel(3, &s);
    ll_window_opts     o = {
            .context_rows = 6, .horizon_rows = 4, .target = &first_var, .n_targets = 1
    };
    ll_windows *w;
    float       c[6], q[4];
    CHECK_OK(ll_windows_create(p, &o, &w));
    for (int64_t i = 0; i < w->n; i++) {
        const ll_window *v = &w->at[i];
        const int64_t   *t = p->time + v->first;
        ll_time_offsets(t, 6, t[0], hour_ns, c);
        ll_time_offsets(t + 6, 4, t[i % 2 ? 6 : 5], hour_ns, q);
        for (int k = 0; k < 6; k++)
            assert_true(c[k] == (float)((double)(t[k] - t[0]) / (double)hour_ns));
        for (int k = 0; k < 4; k++)
            assert_true(q[k] == (float)((double)(t[6 + k] - t[i % 2 ? 6 : 5]) / (double)hour_ns));
        assert_true(c[0] == 0 && (i % 2 ? q[0] == 0 : q[0] > 0));
    }
    ll_windows_destroy(w);
    llap_panel_destroy(p);
}

static void impossible_windows_are_refused(void **state)
{
    (void)state;
    const random_shape s = { 1, 2, 10, true, 0, 0, 0 };
    llap_panel        *p = random_panel(1, &s);
    ll_windows        *w;
    const int64_t      none = 2;
    ll_window_opts     o = { .horizon_rows = 3, .target = &first_var, .n_targets = 1 };
    CHECK_FAIL(ll_windows_create(p, &o, &w), LLAP_EINVAL, "0 context rows and 3 horizon rows");
    o.context_ns = 5;
    CHECK_FAIL(ll_windows_create(p, &o, &w), LLAP_EINVAL, "5 ns and horizon of 0 ns");
    o = (ll_window_opts){ .context_rows = 3, .horizon_rows = 3 };
    CHECK_FAIL(ll_windows_create(p, &o, &w), LLAP_EINVAL, "no target variable");
    o.target = &none;
    o.n_targets = 1;
    CHECK_FAIL(ll_windows_create(p, &o, &w), LLAP_EINVAL, "target 2 of 2 variables");
    o.target = &first_var;
    o.stride_rows = -1;
    CHECK_FAIL(ll_windows_create(p, &o, &w), LLAP_EINVAL, "stride of -1 rows");
    o.stride_rows = 0;
    o.context_rows = 1000; /* longer than anything: no windows, no error */
    CHECK_OK(ll_windows_create(p, &o, &w));
    assert_int_equal(w->n, 0);
    ll_windows_destroy(w);
    llap_panel_destroy(p);
}

/* Every window of the part stands in exactly one row, with all that share its end and queries. */
static void check_rows(const ll_example_list *r, const ll_windows *w, const ll_split *s,
                       ll_part part)
{
    int64_t n = 0;
    for (int64_t i = 0; i < r->n_examples; i++)
        for (int64_t m = r->first[i]; m < r->first[i + 1]; m++, n++) {
            const ll_window *a = &w->at[r->member[r->first[i]]], *v = &w->at[r->member[m]];
            assert_int_equal(s->part[r->member[m]], part);
            assert_true(m == r->first[i] || v->entity > w->at[r->member[m - 1]].entity);
            assert_int_equal(ll_window_end(w, v), ll_example_list_end(r, i));
            assert_int_equal(v->n_query, a->n_query);
            assert_memory_equal(w->panel->time + ll_window_query(v),
                                w->panel->time + ll_window_query(a),
                                (size_t)v->n_query * sizeof(int64_t));
        }
    assert_int_equal(n, s->n[part]);
    for (int64_t i = 1; i < r->n_examples; i++) {
        const ll_window *a = &w->at[r->member[r->first[i - 1]]],
                        *b = &w->at[r->member[r->first[i]]];
        assert_true(ll_example_list_end(r, i) >= ll_example_list_end(r, i - 1));
        if (r->view == LL_VIEW_JOINT && ll_example_list_end(r, i) == ll_example_list_end(r, i - 1))
            assert_true(a->n_query != b->n_query ||
                        memcmp(w->panel->time + ll_window_query(a),
                               w->panel->time + ll_window_query(b),
                               (size_t)a->n_query * sizeof(int64_t)) != 0);
    }
    for (int64_t g = 0; g < r->n_groups && r->view == LL_VIEW_JOINT; g++) {
        assert_int_equal(ll_example_list_end(r, r->group[g]),
                         ll_example_list_end(r, r->group[g + 1] - 1));
        if (g > 0)
            assert_true(ll_example_list_end(r, r->group[g]) >
                        ll_example_list_end(r, r->group[g] - 1));
    }
}

static void rows_hold_what_belongs_together(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        const random_shape s = { 6, 2, 150, true, seed % 2 ? 0.05 : 0.0, 0.2, 0 };
        llap_panel        *p = random_panel(seed, &s);
        ll_window_opts     o = {
                .context_rows = 5, .horizon_rows = 4, .target = &first_var, .n_targets = 1
        };
        ll_windows *w;
        ll_split   *sp;
        CHECK_OK(ll_windows_create(p, &o, &w));
        CHECK_OK(ll_split_create(w, &LL_SPLIT_DEFAULT, &sp));
        for (int k = 0; k < 6; k++) {
            ll_example_list      *r;
            const ll_example_view view = k < 3 ? LL_VIEW_JOINT : LL_VIEW_INDEPENDENT;
            CHECK_OK(ll_example_list_create(w, sp, (ll_part)(k % 3), view, &r));
            check_rows(r, w, sp, (ll_part)(k % 3));
            assert_int_equal(r->n_slots, k < 3 ? 6 : 1);
            if (k >= 3) assert_int_equal(r->n_examples, sp->n[k % 3]);
            ll_example_list_destroy(r);
        }
        ll_split_destroy(sp);
        ll_windows_destroy(w);
        llap_panel_destroy(p);
    }
}

static llap_status make_all(void *panel)
{
    ll_window_opts o = {
        .context_rows = 5, .horizon_rows = 4, .target = &first_var, .n_targets = 1
    };
    ll_windows      *w = NULL;
    ll_split        *s = NULL;
    ll_example_list *r = NULL;
    ll_split_opts    by_entity = LL_SPLIT_DEFAULT;
    by_entity.kind = LL_SPLIT_BY_ENTITY;
    llap_status st = ll_windows_create(panel, &o, &w);
    if (st == LLAP_OK) st = ll_split_create(w, &LL_SPLIT_DEFAULT, &s);
    ll_split_destroy(s);
    s = NULL;
    if (st == LLAP_OK) st = ll_split_create(w, &by_entity, &s);
    if (st == LLAP_OK) st = ll_example_list_create(w, s, LL_PART_TRAIN, LL_VIEW_JOINT, &r);
    ll_example_list_destroy(r);
    ll_split_destroy(s);
    ll_windows_destroy(w);
    return st;
}

static void failing_allocations_lose_nothing(void **state)
{
    (void)state;
    const random_shape s = { 6, 2, 100, true, 0, 0.2, 0 };
    llap_panel        *p = random_panel(1, &s);
    check_every_failed_allocation(make_all, p);
    llap_panel_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_by_rows_are_as_defined),
        cmocka_unit_test(windows_by_duration_are_as_defined),
        cmocka_unit_test(offsets_are_in_the_unit),
        cmocka_unit_test(impossible_windows_are_refused),
        cmocka_unit_test(rows_hold_what_belongs_together),
        cmocka_unit_test(failing_allocations_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
